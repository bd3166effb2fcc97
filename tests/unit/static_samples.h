/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static_samples.h - random regions as text, and a brute force over the points of references: every point of
 * every reference, in the order of time. It uses nothing of what it judges.
 */
#ifndef FATHOM_TESTS_STATIC_SAMPLES_H
#define FATHOM_TESTS_STATIC_SAMPLES_H

#include "static/polyhedra/polyhedra.h"
#include "static/region/region.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random text ---- */

typedef struct sample_text {
    uint64_t random;
    char text[16384];
    size_t used;
    unsigned variables, accesses, arrays;
    unsigned dimensions[4];
    unsigned budget; /* of accesses */
} sample_text;

static uint64_t sample_random(sample_text *self)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return self->random * UINT64_C(0x2545F4914F6CDD1D) >> 20;
}

static int sample_between(sample_text *self, int least, int most)
{
    return least + (int)(sample_random(self) % (uint64_t)(most - least + 1));
}

__attribute__((format(printf, 2, 3))) static void sample_put(sample_text *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    self->used +=
        (size_t)vsnprintf(self->text + self->used, sizeof self->text - self->used, format, arguments);
    va_end(arguments);
    assert_true(self->used < sizeof self->text);
}

/* A sum of variables that are in scope (they are called v0, v1, … from outside to inside). */
static void sample_affine(sample_text *self, unsigned scope, int size)
{
    sample_put(self, "%d", sample_between(self, -1, 4));
    if (sample_between(self, 0, 5) == 0) sample_put(self, " + n");
    for (unsigned i = 0; i < scope; i++) {
        int factor = sample_between(self, -size, size);
        if (factor) sample_put(self, " %c %d * v%u", factor < 0 ? '-' : '+', abs(factor), i);
    }
}

static void sample_expression(sample_text *self, unsigned scope, int size, int simple)
{
    int kind = sample_between(self, 0, simple ? 3 : 11);
    switch (kind) {
    case 4:
        sample_put(self, "floor(");
        break;
    case 5:
        sample_put(self, "mod(");
        break;
    case 6:
        sample_put(self, "ceil(");
        break;
    case 7:
    case 8:
        sample_put(self, "((");
        break;
    case 9:
        sample_put(self, "min(");
        break;
    case 10:
        sample_put(self, "max(");
        break;
    case 11:
        sample_put(self, "2 * floor(");
        break;
    default:
        sample_affine(self, scope, size);
        return;
    }
    sample_expression(self, scope, size, sample_between(self, 0, 3) != 0);
    if (kind == 7 || kind == 8)
        sample_put(self, ") %c %d)", kind == 7 ? '/' : '%', sample_between(self, 2, 4));
    else if (kind == 9 || kind == 10) {
        sample_put(self, ", ");
        sample_expression(self, scope, size, 1);
        sample_put(self, ")");
    } else
        sample_put(self, ", %d)", sample_between(self, 2, 4));
}

static void sample_condition(sample_text *self, unsigned scope, int deeper)
{
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
    int kind = sample_between(self, 0, deeper ? 6 : 3);
    if (kind == 4) {
        sample_put(self, "not (");
        sample_condition(self, scope, 0);
        sample_put(self, ")");
    } else if (kind > 4) {
        sample_put(self, "(");
        sample_condition(self, scope, 0);
        sample_put(self, kind == 5 ? ") and (" : ") or (");
        sample_condition(self, scope, 0);
        sample_put(self, ")");
    } else {
        sample_expression(self, scope, 1, sample_between(self, 0, 1));
        sample_put(self, " %s ", compare[sample_between(self, 0, 5)]);
        sample_put(self, "%d", sample_between(self, -1, 4));
    }
}

static void sample_statement(sample_text *self, unsigned scope)
{
    sample_put(self, "do {");
    int count = sample_between(self, 1, 2);
    for (int i = 0; i < count && self->budget; i++, self->budget--) {
        unsigned array = (unsigned)sample_between(self, 0, (int)self->arrays - 1);
        sample_put(self, " %s A%u", sample_between(self, 0, 1) ? "load" : "store", array);
        for (unsigned d = 0; d < self->dimensions[array]; d++) {
            sample_put(self, "[");
            sample_expression(self, scope, 2, sample_between(self, 0, 2));
            sample_put(self, "]");
        }
        if (sample_between(self, 0, 9) == 0) sample_put(self, " member 1 2");
        self->accesses++;
    }
    sample_put(self, " }\n");
}

/* Of a loop: below 0 and above n it never is. */
static void sample_bound(sample_text *self, unsigned scope, int upper)
{
    int kind = sample_between(self, 0, 5);
    unsigned other = scope ? (unsigned)sample_between(self, 0, (int)scope - 1) : 0;
    if (kind < 2 || (kind < 4 && !scope))
        sample_put(self, "%s", upper ? "n" : "0");
    else if (kind == 2)
        sample_put(self, "v%u", other);
    else if (kind == 3)
        sample_put(self, "n - v%u", other);
    else {
        sample_put(self, "%s", upper ? "min(n, " : "max(0, ");
        if (kind == 4 && upper) sample_put(self, "3 + ");
        sample_expression(self, scope, 1, sample_between(self, 0, 2) == 0);
        sample_put(self, ")");
    }
}

static void sample_body(sample_text *self, unsigned scope, unsigned depth)
{
    int items = scope == 0 ? sample_between(self, 1, 3) : sample_between(self, 1, 2);
    for (int i = 0; i < items && self->budget; i++) {
        if (scope < depth && sample_between(self, 0, 4) != 0) {
            const int down = sample_between(self, 0, 3) == 0, step = sample_between(self, 0, 3);
            sample_put(self, "for v%u = ", scope);
            sample_bound(self, scope, down);
            sample_put(self, down ? " downto " : " to ");
            sample_bound(self, scope, !down);
            if (step > 1) sample_put(self, " step %d", step);
            sample_put(self, " {\n");
            self->variables++;
            sample_body(self, scope + 1, depth);
            sample_put(self, "}\n");
        } else if (scope && sample_between(self, 0, 3) == 0) {
            sample_put(self, "if ");
            sample_condition(self, scope, 1);
            sample_put(self, " {\n");
            sample_body(self, scope, depth);
            sample_put(self, "}");
            if (self->budget && sample_between(self, 0, 1)) {
                sample_put(self, " else {\n");
                sample_body(self, scope, depth);
                sample_put(self, "}");
            }
            sample_put(self, "\n");
        } else
            sample_statement(self, scope);
    }
}

/* A region with at most 4 accesses, `deepest` loops inside each other, and `longest` iterations of each. */
static void sample_region_of(sample_text *self, uint64_t seed, int deepest, int longest)
{
    static const int elements[] = {8, 8, 4, 1, 24, 12, 64, 3};
    *self = (sample_text){.random = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15)};
    for (int i = 0; i < 8; i++) sample_random(self);
    unsigned depth = (unsigned)sample_between(self, 1, deepest);
    self->budget = (unsigned)sample_between(self, 1, 4);
    self->arrays = (unsigned)sample_between(self, 1, 3);
    sample_put(self, "fathom-region 1\nparam n = %d\n", sample_between(self, longest / 2, longest));
    for (unsigned a = 0; a < self->arrays; a++) {
        int element = elements[sample_between(self, 0, 7)];
        if (element < 3) element = 3; /* members of it are touched */
        self->dimensions[a] = (unsigned)sample_between(self, 0, 4) ? (unsigned)sample_between(self, 1, 2) : 0;
        sample_put(self, "array A%u", a);
        if (self->dimensions[a]) sample_put(self, "[]");
        if (self->dimensions[a] == 2) sample_put(self, "[%d]", sample_between(self, 1, 11));
        sample_put(self, " of %d", element);
        if (sample_between(self, 0, 3) == 0) sample_put(self, " offset %d", sample_between(self, 1, 70));
        sample_put(self, "\n");
    }
    sample_body(self, 0, depth);
}

/* The same with 4 loops, and some thousand points. */
__attribute__((unused)) static void sample_region(sample_text *self, uint64_t seed)
{
    sample_region_of(self, seed, seed % 3 ? 4 : 2, seed % 3 ? 5 : 12);
}

/* ---- all points of references ---- */

typedef struct sample_point {
    uint32_t reference;
    int64_t x[FM_REFERENCE_DEPTH];
    int64_t block;
    int64_t address;
} sample_point;

typedef struct sample_points {
    const fm_reference_list *list;
    size_t count, capacity;
    sample_point *points;
} sample_points;

static bool sample_rows_hold(const fm_reference *reference, const int64_t *x, unsigned known)
{
    for (size_t i = 0; i < reference->row_count; i++) {
        int64_t sum = reference->rows[i].constant;
        bool later = false;
        for (unsigned k = 0; k < reference->depth; k++) {
            if (k < known)
                sum += reference->rows[i].factors[k] * x[k];
            else if (reference->rows[i].factors[k])
                later = true;
        }
        if (!later && sum < 0) return false;
    }
    return true;
}

static void sample_enumerate(sample_points *all, uint32_t number, int64_t *x, unsigned level)
{
    const fm_reference *reference = &all->list->references[number];
    if (!sample_rows_hold(reference, x, level)) return;
    if (level < reference->depth) {
        for (x[level] = reference->least[level]; x[level] <= reference->most[level]; x[level]++)
            sample_enumerate(all, number, x, level + 1);
        return;
    }
    if (all->count == all->capacity) {
        all->capacity = all->capacity ? all->capacity * 2 : 1024;
        all->points = realloc(all->points, all->capacity * sizeof *all->points);
        assert_non_null(all->points);
    }
    sample_point *point = &all->points[all->count++];
    *point = (sample_point){.reference = number, .address = reference->address.constant};
    for (unsigned k = 0; k < reference->depth; k++) {
        point->x[k] = x[k];
        point->address += reference->address.factors[k] * x[k];
    }
    const int64_t granularity = (int64_t)all->list->granularity;
    point->block =
        (point->address - ((point->address % granularity) + granularity) % granularity) / granularity;
}

static const fm_reference_list *sample_sorted;
static int sample_compare(const void *left, const void *right)
{
    const sample_point *a = left, *b = right;
    const fm_reference *p = &sample_sorted->references[a->reference],
                       *q = &sample_sorted->references[b->reference];
    for (unsigned level = 0;; level++) {
        if (p->position[level] != q->position[level]) return p->position[level] < q->position[level] ? -1 : 1;
        if (level == p->depth || level == q->depth) {
            assert_int_equal(p->depth, q->depth);
            return p->order < q->order ? -1 : p->order > q->order;
        }
        if (a->x[level] != b->x[level]) return a->x[level] < b->x[level] ? -1 : 1;
    }
}

/* Every point in the order of time. */
__attribute__((unused)) static void sample_all_points(sample_points *all, const fm_reference_list *list)
{
    *all = (sample_points){.list = list};
    for (size_t i = 0; i < list->count; i++) {
        int64_t x[FM_REFERENCE_DEPTH];
        size_t before = all->count;
        sample_enumerate(all, (uint32_t)i, x, 0);
        if (all->count == before) fail_msg("reference %zu is empty", i);
    }
    sample_sorted = list;
    if (all->count) qsort(all->points, all->count, sizeof *all->points, sample_compare);
    for (size_t i = 1; i < all->count; i++) /* no two at the same time */
        assert_true(sample_compare(&all->points[i - 1], &all->points[i]) < 0);
}

/* ---- distances by a list ---- */

typedef struct sample_distance {
    size_t before;     /* number of the point that touched the block last; SIZE_MAX: none */
    uint64_t distance; /* blocks between */
} sample_distance;

/* One for each point; the caller frees it. A stack of blocks is searched from the top. */
__attribute__((unused)) static sample_distance *sample_distances(const sample_points *points, uint64_t sets,
                                                                 size_t *blocks)
{
    sample_distance *all = calloc(points->count + 1, sizeof *all);
    size_t *stack = calloc(points->count + 1, sizeof *stack), depth = 0; /* last point of each block */
    assert_true(all && stack);
    for (size_t i = 0; i < points->count; i++) {
        const int64_t block = points->points[i].block;
        size_t place = depth;
        all[i] = (sample_distance){.before = SIZE_MAX};
        while (place && points->points[stack[place - 1]].block != block) {
            const int64_t other = points->points[stack[--place]].block;
            if (!sets || (uint64_t)other % sets == (uint64_t)block % sets) all[i].distance++;
        }
        if (!place) {
            stack[depth++] = i;
            continue;
        }
        all[i].before = stack[place - 1];
        memmove(&stack[place - 1], &stack[place], (depth - place) * sizeof *stack);
        stack[depth - 1] = i;
    }
    free(stack);
    if (blocks) *blocks = depth;
    return all;
}

/* ---- regions for tests ---- */

typedef struct sample_lowered {
    fm_region *region;
    fm_placement *placement;
    fm_reference_list list;
} sample_lowered;

__attribute__((unused)) static void sample_lower(sample_lowered *self, const char *text, uint64_t granularity,
                                                 fm_layout layout)
{
    fm_error error;
    *self = (sample_lowered){0};
    if (fm_region_parse(&self->region, text, strlen(text), "sample.fir", &error) != FM_OK ||
        fm_placement_create(&self->placement, self->region, granularity, layout, &error) != FM_OK ||
        fm_references_create(&self->list, self->region, self->placement, &error) != FM_OK)
        fail_msg("%s line %llu: %s\n%s", error.path, (unsigned long long)error.offset, error.reason, text);
}

__attribute__((unused)) static void sample_clear(sample_lowered *self)
{
    fm_references_clear(&self->list);
    fm_placement_destroy(self->placement);
    fm_region_destroy(self->region);
}

#endif
