/* SPDX-License-Identifier: Apache-2.0 */
/*
 * points.c - f(v), the number of points behind a value of a variable, is a polynomial in v on each residue
 * of v modulo a period, if every later variable has one lower and one upper bound: a bound is the quotient
 * of a sum by a constant, and its range is never shorter than nothing, because the projection says that the
 * bounds do not cross. So its sum is worked out from degree + 1 values of each residue, by Newton's
 * differences. The period: a later variable u with factor a in a row, where v has factor c, repeats after
 * |a| * (period of u) / gcd(that, c) values of v.
 */
#include "static/polyhedra/polyhedra.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PERIOD = 256, TABLE = 1 << 20, STEPS_PER_LOOK = 4096 };
typedef unsigned __int128 wide;
#define TOO_MANY ((wide)1 << 63)

struct fm_points {
    fm_arena *arena;
    fm_projection *projection;
    unsigned depth;
    bool used_later[FM_REFERENCE_DEPTH]; /* bounds of later variables depend on it */
    int64_t period[FM_REFERENCE_DEPTH];  /* 0: none, it is enumerated */
    uint64_t count;
    uint64_t *table; /* where the first variable is enumerated: points up to each of its values */
    int64_t table_low;
    size_t table_size;
    double deadline;
    unsigned steps;
    bool late;
};

uint64_t fm_static_random_next(fm_static_random *random)
{
    return fm_random_next(&random->state);
}

uint64_t fm_static_random_below(fm_static_random *random, uint64_t limit)
{
    const uint64_t least = -limit % limit; /* 2^64 modulo limit */
    wide product;
    do product = (wide)fm_static_random_next(random) * limit;
    while ((uint64_t)product < least);
    return (uint64_t)(product >> 64);
}

/* ---- what kind of variable each is ---- */

static const int64_t *row_of(const fm_projection *projection, unsigned variable, size_t row)
{
    return projection->levels[variable + 1].rows + row * (variable + 2);
}

/* The range of a row's sum over earlier variables. */
static void range_before(const fm_projection *projection, const int64_t *row, unsigned variable,
                         __int128 *low, __int128 *high)
{
    *low = *high = row[0];
    for (unsigned c = 0; c < variable; c++) {
        const __int128 factor = row[c + 1];
        *low += factor * (factor > 0 ? projection->least[c] : projection->most[c]);
        *high += factor * (factor > 0 ? projection->most[c] : projection->least[c]);
    }
}

/* At most one bound on each side, the box among them. */
static bool single_bounds(const fm_projection *projection, unsigned variable)
{
    unsigned below = 0, above = 0;
    for (size_t i = 0; i < projection->levels[variable + 1].count; i++) {
        const int64_t *row = row_of(projection, variable, i);
        const __int128 factor = row[variable + 1];
        __int128 low, high;
        range_before(projection, row, variable, &low, &high);
        if (factor > 0) { /* v >= ceil(-sum / factor): never below the box? */
            below++;
            if (-fm_floor_divide_wide(high, factor) < projection->least[variable]) below++;
        } else {
            above++;
            if (fm_floor_divide_wide(high, -factor) > projection->most[variable]) above++;
        }
    }
    return below <= 1 && above <= 1;
}

static void classify_variables(fm_points *self)
{
    const fm_projection *projection = self->projection;
    bool smooth = projection->complete; /* every later variable has single bounds that never cross */
    for (unsigned v = self->depth; v-- > 0;) {
        int64_t period = 1;
        for (unsigned later = v + 1; later < self->depth; later++)
            for (size_t i = 0; i < projection->levels[later + 1].count; i++) {
                const int64_t *row = row_of(projection, later, i), factor = row[v + 1];
                if (!factor) continue;
                self->used_later[v] = true;
                int64_t own = row[later + 1] < 0 ? -row[later + 1] : row[later + 1];
                if (!period || !self->period[later] || own > MOST_PERIOD) {
                    period = 0;
                    continue;
                }
                own *= self->period[later];
                own /= fm_greatest_divisor(own, factor);
                period = period / fm_greatest_divisor(period, own) * own;
                if (period > MOST_PERIOD) period = 0;
            }
        self->period[v] = smooth ? period : 0;
        smooth = smooth && single_bounds(projection, v);
    }
}

/* ---- sums ---- */

/* Newton's differences of f at the first values of each residue. */
typedef struct differences {
    int64_t low, high, period;
    unsigned degree;
    __int128 *values; /* [residue * (degree + 1) + order] */
} differences;

static wide count_from(fm_points *self, unsigned variable, int64_t *x);

static bool find_differences(fm_points *self, unsigned variable, int64_t *x, int64_t low, int64_t high,
                             differences *made)
{
    *made = (differences){
        .low = low, .high = high, .period = self->period[variable], .degree = self->depth - variable - 1};
    const size_t width = made->degree + 1;
    made->values = malloc((size_t)made->period * width * sizeof *made->values);
    if (!made->values) return false;
    for (int64_t residue = 0; residue < made->period; residue++) {
        __int128 *values = made->values + (size_t)residue * width;
        for (unsigned k = 0; k < width; k++) {
            x[variable] = low + residue + made->period * k;
            values[k] = (__int128)count_from(self, variable + 1, x);
        }
        for (unsigned order = 1; order < width; order++)
            for (unsigned k = made->degree; k >= order; k--) values[k] -= values[k - 1];
    }
    return true;
}

/* Points for the values from low to `value`. */
static __int128 sum_up_to(const differences *of, int64_t value)
{
    __int128 sum = 0;
    const int64_t all = value - of->low + 1;
    for (int64_t residue = 0; residue < of->period && residue < all; residue++) {
        const int64_t count = (all - residue - 1) / of->period + 1;
        const __int128 *values = of->values + (size_t)residue * (of->degree + 1);
        for (unsigned k = 0; k <= of->degree; k++)
            if (values[k]) sum += values[k] * fm_binomial(count, k + 1);
    }
    return sum;
}

static bool in_closed_form(const fm_points *self, unsigned variable, int64_t low, int64_t high)
{
    return self->period[variable] && high - low + 1 > self->period[variable] * (self->depth - variable + 1);
}

static bool too_late(fm_points *self)
{
    if (!self->late && self->deadline > 0 && ++self->steps % STEPS_PER_LOOK == 0)
        self->late = fm_now() > self->deadline;
    return self->late;
}

/* Points that have the first `variable` values of x; never much more than TOO_MANY. */
static wide count_from(fm_points *self, unsigned variable, int64_t *x)
{
    int64_t low, high;
    if (variable == self->depth) return 1;
    if (!fm_projection_bounds(self->projection, variable, x, &low, &high)) return 0;
    const wide range = (wide)(high - low) + 1;
    if (variable + 1 == self->depth) return range;
    wide sum = 0;
    if (!self->used_later[variable]) {
        x[variable] = low;
        sum = count_from(self, variable + 1, x);
        return sum && range > TOO_MANY / sum ? TOO_MANY : range * sum;
    }
    if (in_closed_form(self, variable, low, high)) {
        differences made;
        if (find_differences(self, variable, x, low, high, &made)) {
            const __int128 total = sum_up_to(&made, high);
            free(made.values);
            return total > (__int128)TOO_MANY ? TOO_MANY : (wide)total;
        }
    }
    for (int64_t value = low; value <= high && sum < TOO_MANY && !too_late(self); value++) {
        x[variable] = value;
        sum += count_from(self, variable + 1, x);
    }
    return sum > TOO_MANY ? TOO_MANY : sum;
}

/* ---- the n-th point ---- */

static bool find_in_closed_form(fm_points *self, unsigned variable, int64_t *x, int64_t low, int64_t high,
                                uint64_t *rank)
{
    differences made;
    if (!find_differences(self, variable, x, low, high, &made)) return false;
    int64_t first = low, last = high; /* the smallest value with more than rank points up to it */
    while (first < last) {
        const int64_t middle = first + (last - first) / 2;
        if (sum_up_to(&made, middle) > (__int128)*rank)
            last = middle;
        else
            first = middle + 1;
    }
    if (first > low) *rank -= (uint64_t)sum_up_to(&made, first - 1);
    x[variable] = first;
    free(made.values);
    return true;
}

static void find_in_table(fm_points *self, int64_t *x, uint64_t *rank)
{
    size_t first = 0, last = self->table_size - 1;
    while (first < last) {
        const size_t middle = first + (last - first) / 2;
        if (self->table[middle] > *rank)
            last = middle;
        else
            first = middle + 1;
    }
    if (first) *rank -= self->table[first - 1];
    x[0] = self->table_low + (int64_t)first;
}

fm_status fm_points_at(fm_points *points, uint64_t rank, int64_t *x, fm_error *error)
{
    FM_ASSERT(rank < points->count);
    for (unsigned variable = 0; variable < points->depth; variable++) {
        int64_t low, high;
        if (!fm_projection_bounds(points->projection, variable, x, &low, &high))
            return fm_fail(error, FM_E_CORRUPT, NULL, "the points of a reference were miscounted");
        if (variable + 1 == points->depth) {
            x[variable] = low + (int64_t)rank;
            break;
        }
        if (!points->used_later[variable]) {
            x[variable] = low;
            const uint64_t each = (uint64_t)count_from(points, variable + 1, x);
            x[variable] = low + (int64_t)(rank / each);
            rank %= each;
        } else if (variable == 0 && points->table) {
            find_in_table(points, x, &rank);
        } else if (!in_closed_form(points, variable, low, high) ||
                   !find_in_closed_form(points, variable, x, low, high, &rank)) {
            for (x[variable] = low; x[variable] < high; x[variable]++) {
                const uint64_t here = (uint64_t)count_from(points, variable + 1, x);
                if (rank < here) break;
                rank -= here;
            }
        }
    }
    return points->late ? fm_fail(error, FM_E_LIMIT, NULL, "no time is left to count points") : FM_OK;
}

/* ---- making one ---- */

/* The first variable is enumerated at every question: its sums are kept. */
static void make_table(fm_points *self)
{
    int64_t low, high, x[FM_REFERENCE_DEPTH];
    if (self->depth < 2 || !self->used_later[0] ||
        !fm_projection_bounds(self->projection, 0, NULL, &low, &high) || in_closed_form(self, 0, low, high) ||
        high - low >= TABLE)
        return;
    self->table = fm_arena_allocate(self->arena, (size_t)(high - low + 1), sizeof self->table[0]);
    if (!self->table) return; /* it works without */
    self->table_low = low;
    uint64_t sum = 0;
    for (x[0] = low; x[0] <= high; x[0]++) {
        sum += (uint64_t)count_from(self, 1, x);
        self->table[self->table_size++] = sum;
    }
}

fm_status fm_points_create(fm_points **points, const fm_reference *reference, double deadline,
                           fm_error *error)
{
    *points = NULL;
    fm_points *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the points of a reference");
    self->depth = reference->depth;
    self->deadline = deadline;
    self->arena = fm_arena_create();
    fm_status status = self->arena
                           ? fm_projection_of_reference(&self->projection, self->arena, reference, error)
                           : fm_fail_memory(error, sizeof *self, "the points of a reference");
    if (status == FM_OK) {
        classify_variables(self);
        int64_t x[FM_REFERENCE_DEPTH + 1];
        const wide count = self->projection->empty ? 0 : count_from(self, 0, x);
        if (self->late)
            status = fm_fail(error, FM_E_LIMIT, NULL, "no time is left to count points");
        else if (count >= TOO_MANY)
            status = fm_fail(error, FM_E_LIMIT, NULL, "a reference has 2^63 points or more");
        self->count = (uint64_t)count;
        if (status == FM_OK && count) make_table(self);
    }
    if (status != FM_OK) {
        fm_points_destroy(self);
        return status;
    }
    *points = self;
    return FM_OK;
}

void fm_points_destroy(fm_points *points)
{
    if (!points) return;
    fm_arena_destroy(points->arena);
    free(points);
}

uint64_t fm_points_count(const fm_points *points)
{
    return points->count;
}
