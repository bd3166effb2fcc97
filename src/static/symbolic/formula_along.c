/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formula_along.c - see formula_along.h.
 *
 * Quotients of sums with whole factors repeat their rounding after some values of the variable, the period.
 * Values that are a period apart are first + r + period * y: for a fixed r every column is a polynomial in y
 * with whole factors, and so are conditions and the value. Conditions up to degree 2 hold in some intervals
 * of y, which are found in floating point and corrected exactly; over an interval the polynomial is summed by
 * its differences: f(0) + … + f(n - 1) = sum over k of (k-th difference at 0) * binomial(n, k + 1).
 */
#include "static/symbolic/formula_along.h"

#include "static/polyhedra/affine.h"

#include <math.h>
#include <string.h>

enum { MOST_PERIOD = 4096, MOST_SUM_DEGREE = 8, MOST_INTERVALS = 16 };

bool fm_formula_line_at(const fm_formula_piece *piece, const int64_t *line, const int64_t *at, int64_t *value)
{
    __int128 sum = line[piece->columns];
    for (unsigned i = 0; i < piece->columns; i++)
        if (line[i]) sum += (__int128)line[i] * at[i];
    *value = (int64_t)sum;
    return *value == sum;
}

/* mask: the columns that the line of a quotient has. */
bool fm_formula_derive(const fm_formula_piece *piece, const fm_derived *one, uint64_t mask, int64_t *at)
{
    int64_t value = 1;
    if (one->by) {
        if (!fm_formula_masked_line_at(piece, &piece->numbers[one->line], mask, at, &value)) return false;
        /* A shift of a negative number rounds down, as gcc and clang define it. */
        value = (one->by & (one->by - 1)) == 0 ? value >> __builtin_ctzll((uint64_t)one->by)
                                               : fm_floor_divide(value, one->by);
    }
    for (unsigned i = 0; i < one->count; i++)
        if (__builtin_mul_overflow(value, at[one->factors[i]], &value)) return false;
    at[one->column] = value;
    return true;
}

bool fm_formula_poly_at(const fm_formula_piece *piece, const int64_t *at, __int128 *value)
{
    __int128 sum = 0;
    for (size_t i = 0; i < piece->term_count; i++) {
        const fm_formula_term *term = &piece->terms[i];
        __int128 product = term->factor;
        for (unsigned k = 0; k < term->count; k++)
            if (__builtin_mul_overflow(product, (__int128)at[term->columns[k]], &product)) return false;
        if (__builtin_add_overflow(sum, product, &sum)) return false;
    }
    if (sum % piece->denominator) return false;
    *value = sum / piece->denominator;
    return true;
}

/* ---- periods and degrees ---- */

enum { MOST_CONDITIONS = 128 };

typedef struct shape {
    int64_t period;
    unsigned value; /* its degree */
    bool curved;    /* there are conditions of degree 2 */
    uint8_t degrees[MOST_CONDITIONS];
    /* Over a period: the change of a condition of degree 1, and the change of the change of one of degree 2,
     * are the same everywhere. */
    int64_t slopes[MOST_CONDITIONS], bends[MOST_CONDITIONS];
} shape;

static bool join_periods(int64_t *period, int64_t other)
{
    *period = *period / fm_greatest_divisor(*period, other) * other;
    return *period <= MOST_PERIOD;
}

static bool find_shape(const fm_formula_along *along, shape *found)
{
    const fm_formula_piece *piece = along->piece;
    int64_t periods[FM_COLUMNS];
    unsigned degrees[FM_COLUMNS] = {0};
    if (along->condition_count > MOST_CONDITIONS) return false;
    for (unsigned i = 0; i < piece->columns; i++) periods[i] = 1;
    degrees[along->variable] = 1;
    found->period = 1;
    found->value = 0;
    found->curved = false;
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        int64_t period = 1;
        unsigned degree = 0;
        if (!along->varies[one->column]) continue;
        for (uint64_t mask = along->masks[i] & along->varying; mask; mask &= mask - 1) {
            const unsigned k = (unsigned)__builtin_ctzll(mask);
            if (!join_periods(&period, periods[k])) return false;
            if (degrees[k] > degree) degree = degrees[k];
        }
        if (one->by && degree && (period > MOST_PERIOD / one->by)) return false;
        if (one->by && degree) period *= one->by;
        for (unsigned k = 0; k < one->count; k++) {
            if (!along->varies[one->factors[k]]) continue;
            if (!join_periods(&period, periods[one->factors[k]])) return false;
            degree += degrees[one->factors[k]];
        }
        periods[one->column] = period;
        degrees[one->column] = degree;
        if (!join_periods(&found->period, period)) return false;
    }
    for (size_t i = 0; i < along->condition_count; i++) {
        unsigned degree = 0;
        for (uint64_t mask = along->varying; mask; mask &= mask - 1) {
            const unsigned k = (unsigned)__builtin_ctzll(mask);
            if (along->conditions[i][k] && degrees[k] > degree) degree = degrees[k];
        }
        if (degree > 2) return false;
        found->degrees[i] = (uint8_t)degree;
        found->curved |= degree == 2;
    }
    for (size_t i = 0; i < piece->term_count; i++) {
        unsigned degree = 0;
        for (unsigned k = 0; k < piece->terms[i].count; k++) degree += degrees[piece->terms[i].columns[k]];
        if (degree > found->value) found->value = degree;
    }
    return found->value <= MOST_SUM_DEGREE;
}

/* ---- where conditions hold ---- */

typedef struct interval {
    int64_t first, last;
} interval;

typedef struct intervals {
    size_t count;
    interval at[MOST_INTERVALS];
} intervals;

/* A condition: value + slope * y + bend * y (y - 1) / 2. The numbers are below 2^62. */
typedef struct curve {
    int64_t value, slope, bend;
} curve;

static __int128 curve_at(const curve *of, int64_t y)
{
    return of->value + (__int128)of->slope * y + of->bend * ((__int128)y * (y - 1) / 2);
}

/* The last y from `low` on up to `high` with curve >= 0 (sign 1) or < 0 (sign -1), which is so from low on up
 * to some place, near `guess`; low - 1: none. */
static int64_t last_with(const curve *of, int sign, int64_t low, int64_t high, double guess)
{
    int64_t y = guess < (double)low ? low - 1 : guess > (double)high ? high : (int64_t)guess;
    while (y >= low && (curve_at(of, y) >= 0) != (sign > 0)) y--;
    while (y < high && (curve_at(of, y + 1) >= 0) == (sign > 0)) y++;
    return y;
}

/* The intervals inside [low, high] where the curve is not negative. */
static size_t not_negative(const curve *of, int64_t low, int64_t high, interval *made)
{
    size_t count = 0;
    if (of->bend <= 0) { /* between two places where it holds it holds everywhere */
        const bool begins = curve_at(of, low) >= 0, ends = curve_at(of, high) >= 0;
        if (begins && ends) made[count++] = (interval){low, high};
        if (begins == ends && (begins || of->bend == 0)) return count;
    }
    if (of->bend == 0) {   /* it changes its sign once */
        if (of->slope > 0) /* y >= -value / slope, rounded up */
            made[count++] = (interval){-fm_floor_divide(of->value, of->slope), high};
        else
            made[count++] = (interval){low, fm_floor_divide(of->value, -of->slope)};
        return count;
    }
    /* value + (slope - bend / 2) y + bend / 2 y^2 */
    const double a = (double)of->bend / 2, b = (double)of->slope - a, c = (double)of->value;
    const double inside = b * b - 4 * a * c, root = inside > 0 ? sqrt(inside) : 0, top = -b / (2 * a);
    const double left = top - root / (2 * fabs(a)), right = top + root / (2 * fabs(a));
    /* The two halves, up to the highest (lowest) value and behind it: each side changes its sign once at
     * most. */
    const int64_t middle = top < (double)low ? low - 1 : top >= (double)high ? high : (int64_t)floor(top);
    const int rising = of->bend < 0 ? 1 : -1; /* on the left side */
    for (int side = 0; side < 2; side++) {
        const int64_t begin = side ? middle + 1 : low, end = side ? high : middle;
        if (begin > end) continue;
        const int first_sign = side ? rising : -rising; /* of the part that comes first on this side */
        const int64_t last = last_with(of, first_sign, begin, end, side ? right : left);
        interval one = first_sign > 0 ? (interval){begin, last} : (interval){last + 1, end};
        if (one.first > one.last) continue;
        if (count && made[count - 1].last + 1 == one.first)
            made[count - 1].last = one.last;
        else
            made[count++] = one;
    }
    return count;
}

static bool keep_where(const curve *of, intervals *all)
{
    interval left[MOST_INTERVALS];
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (count + 2 > MOST_INTERVALS) return false;
        count += not_negative(of, all->at[i].first, all->at[i].last, &left[count]);
    }
    for (size_t i = 0; i < count; i++) all->at[i] = left[i];
    all->count = count;
    return true;
}

/* ---- one residue ---- */

/* The columns at a value of the variable. */
static bool place(const fm_formula_along *along, int64_t *at, int64_t value)
{
    const fm_formula_piece *piece = along->piece;
    at[along->variable] = value;
    for (size_t i = 0; i < piece->derived_count; i++)
        if (along->varies[piece->derived[i].column] &&
            !fm_formula_derive(piece, &piece->derived[i], along->masks[i], at))
            return false;
    return true;
}

/* A condition at a point; false: too large for curves. */
static bool condition_at(const fm_formula_along *along, size_t number, const int64_t *at, int64_t *value)
{
    return fm_formula_masked_line_at(along->piece, along->conditions[number], along->condition_masks[number],
                                     at, value) &&
           *value < INT64_MAX / 8 && *value > -(INT64_MAX / 8);
}

/* What is the same for all values of the variable. */
static bool find_changes(const fm_formula_along *along, shape *of, int64_t *at, int64_t first)
{
    int64_t values[3][MOST_CONDITIONS];
    for (unsigned y = 0; y <= (of->curved ? 2u : 1u); y++) {
        if (!place(along, at, first + (int64_t)y * of->period)) return false;
        for (size_t i = 0; i < along->condition_count; i++)
            if (of->degrees[i] >= y && !condition_at(along, i, at, &values[y][i])) return false;
    }
    for (size_t i = 0; i < along->condition_count; i++) {
        of->slopes[i] = of->degrees[i] == 1 ? values[1][i] - values[0][i] : 0;
        of->bends[i] = of->degrees[i] == 2 ? values[2][i] - 2 * values[1][i] + values[0][i] : 0;
    }
    return true;
}

/* Where all conditions hold among y = 0 … count - 1. false: not found out. */
static bool find_intervals(const fm_formula_along *along, const shape *of, int64_t *at, int64_t first,
                           int64_t count, intervals *all)
{
    curve curves[MOST_CONDITIONS];
    all->count = 0;
    if (!place(along, at, first)) return false;
    for (size_t i = 0; i < along->condition_count; i++) {
        const bool equality = i < along->equality_count;
        curves[i] = (curve){.slope = of->slopes[i], .bend = of->bends[i]};
        if (!condition_at(along, i, at, &curves[i].value)) return false;
        const int64_t value = curves[i].value, slope = curves[i].slope;
        if (of->degrees[i] == 2) continue;
        /* It never holds, or it is an equality that is passed by. */
        if (equality ? (slope == 0 ? value != 0 : value % slope != 0) : value < 0 && slope <= 0) return true;
    }
    if (of->curved && !place(along, at, first + of->period)) return false;
    all->at[0] = (interval){0, count - 1};
    all->count = 1;
    for (size_t i = 0; i < along->condition_count && all->count; i++) {
        curve *one = &curves[i];
        if (of->degrees[i] == 2) {
            int64_t next;
            if (!condition_at(along, i, at, &next)) return false;
            one->slope = next - one->value;
        }
        if (!keep_where(one, all)) return false;
        if (i >= along->equality_count) continue;
        *one = (curve){-one->value, -one->slope, -one->bend};
        if (!keep_where(one, all)) return false;
    }
    return true;
}

/* The sum of n values of a polynomial whose first ones are given; they become its differences. */
static bool sum_differences(__int128 *values, unsigned degree, int64_t n, __int128 *sum)
{
    for (unsigned k = 1; k <= degree; k++)
        for (unsigned i = degree; i >= k; i--)
            if (__builtin_sub_overflow(values[i], values[i - 1], &values[i])) return false;
    __int128 binomial = n, product;
    for (unsigned k = 0;; k++) {
        if (__builtin_mul_overflow(values[k], binomial, &product) ||
            __builtin_add_overflow(*sum, product, sum))
            return false;
        if (k == degree) return true;
        if (__builtin_mul_overflow(binomial, (__int128)(n - 1 - (int64_t)k), &binomial)) return false;
        binomial /= k + 2;
    }
}

static bool sum_interval(const fm_formula_along *along, const shape *of, int64_t *at, int64_t first,
                         int64_t count, __int128 *sum)
{
    __int128 values[MOST_SUM_DEGREE + 1];
    const bool all = count <= (int64_t)of->value + 1;
    const unsigned points = all ? (unsigned)count : of->value + 1;
    for (unsigned i = 0; i < points; i++) {
        if (!place(along, at, first + (int64_t)i * of->period) ||
            !fm_formula_poly_at(along->piece, at, &values[i]))
            return false;
        if (all && __builtin_add_overflow(*sum, values[i], sum)) return false;
    }
    return all || sum_differences(values, of->value, count, sum);
}

bool fm_formula_sum_along(const fm_formula_along *along, int64_t *at, int64_t first, int64_t last,
                          __int128 *sum)
{
    shape of;
    int64_t length;
    __int128 made = 0;
    if (__builtin_sub_overflow(last, first, &length) || length < 16 || !find_shape(along, &of)) return false;
    if (length / of.period < 4) return false; /* one by one is as quick */
    if (!find_changes(along, &of, at, first)) return false;
    for (int64_t rest = 0; rest < of.period; rest++) {
        intervals all;
        if (!find_intervals(along, &of, at, first + rest, (length - rest) / of.period + 1, &all))
            return false;
        for (size_t i = 0; i < all.count; i++)
            if (!sum_interval(along, &of, at, first + rest + all.at[i].first * of.period,
                              all.at[i].last - all.at[i].first + 1, &made))
                return false;
    }
    return !__builtin_add_overflow(*sum, made, sum);
}
