/* SPDX-License-Identifier: Apache-2.0 */
/*
 * description.c - Expanding evaluates the inner numbers of every block of a run, down to the leaves. Three
 * short cuts: numbers that do not depend on the block are expanded once, times the blocks; a leaf whose
 * distance does not depend on the block is one visit; and an inner run whose leaves keep their distances,
 * while its count changes, is summed in closed form.
 */
#include "static/reconstruct/reconstruct_parts.h"

#include <stdlib.h>

enum { ON_STACK = 512 };

/* The parts of a run's shape. */
typedef struct run_shape {
    unsigned period, degree;
    const int32_t *values; /* of each: length of shape, how many numbers, shape */
} run_shape;

static run_shape read_run(const int32_t *shape)
{
    return (run_shape){.period = (unsigned)shape[0], .degree = (unsigned)shape[1], .values = shape + 2};
}

/* Inner numbers at a block. */
static bool evaluate_numbers(const int64_t *coefficients, uint32_t count, unsigned degree, int64_t block,
                             int64_t *numbers)
{
    int64_t basis[FM_DESCRIPTION_DEGREE + 1];
    fm_newton_basis(block, degree, basis);
    for (uint32_t i = 0; i < count; i++) {
        const __int128 value = fm_newton_value(coefficients + (size_t)i * (degree + 1), basis, degree);
        if (value > INT64_MAX || value < INT64_MIN) return false;
        numbers[i] = (int64_t)value;
    }
    return true;
}

bool fm_description_find(const int32_t *shape, const int64_t *numbers, unsigned levels, const int64_t *x,
                         bool *first, uint32_t *before, uint64_t *distance)
{
    if (!levels) {
        *first = *shape == 0;
        *before = *first ? 0 : (uint32_t)(*shape - 1);
        *distance = (uint64_t)numbers[0];
        return numbers[0] >= 0;
    }
    const int32_t runs = *shape++;
    for (int32_t r = 0; r < runs; r++) {
        const run_shape run = read_run(shape);
        const int64_t start = numbers[0], count = numbers[1];
        const bool here = x[0] >= start && (x[0] - start) / run.period < count;
        shape = run.values;
        numbers += 2;
        for (unsigned i = 0; i < run.period; i++) {
            const uint32_t inner = (uint32_t)shape[1];
            if (here && (x[0] - start) % run.period == i) {
                if (!shape[0]) return false; /* nothing there */
                int64_t stack[ON_STACK], *values = inner <= ON_STACK ? stack : malloc(inner * sizeof *values);
                bool found =
                    values &&
                    evaluate_numbers(numbers, inner, run.degree, (x[0] - start) / run.period, values) &&
                    fm_description_find(shape + 2, values, levels - 1, x + 1, first, before, distance);
                if (values != stack) free(values);
                return found;
            }
            numbers += (size_t)inner * (run.degree + 1);
            shape += 2 + shape[0];
        }
    }
    return false;
}

/* ---- expanding ---- */

typedef struct expansion {
    fm_description_visit visit;
    void *context;
} expansion;

static bool expand_level(const expansion *self, const int32_t *shape, const int64_t *numbers, unsigned levels,
                         uint64_t times);

static bool visit_leaf(const expansion *self, const int32_t *shape, int64_t distance, __int128 count)
{
    if (!count) return true;
    if (count < 0 || count > INT64_MAX || distance < 0) return false;
    return self->visit(self->context, *shape == 0, *shape ? (uint32_t)(*shape - 1) : 0, distance,
                       (uint64_t)count);
}

static bool is_constant(const int64_t *coefficients, uint32_t count, unsigned degree)
{
    for (uint32_t i = 0; i < count; i++)
        for (unsigned k = 1; k <= degree; k++)
            if (coefficients[(size_t)i * (degree + 1) + k]) return false;
    return true;
}

/* Blocks 0 … blocks-1 of a run; inner is a level of leaves only, whose distances depend on neither block. */
static bool constant_leaves(const int32_t *shape, const int64_t *coefficients, unsigned degree)
{
    const int32_t runs = *shape++;
    const size_t width = degree + 1;
    for (int32_t r = 0; r < runs; r++) {
        const run_shape run = read_run(shape);
        shape = run.values;
        coefficients += 2 * width;
        for (unsigned i = 0; i < run.period; i++) {
            if (!is_constant(coefficients, run.degree + 1, degree)) return false;
            for (unsigned k = 1; k <= run.degree; k++)
                if (coefficients[k * width]) return false;
            coefficients += (run.degree + 1) * width;
            shape += 2 + shape[0];
        }
    }
    return true;
}

static bool sum_leaves(const expansion *self, const int32_t *shape, const int64_t *coefficients,
                       unsigned degree, int64_t blocks, uint64_t times)
{
    const int32_t runs = *shape++;
    const size_t width = degree + 1;
    for (int32_t r = 0; r < runs; r++) {
        const run_shape run = read_run(shape);
        const int64_t *counts = coefficients + width;
        __int128 sum = 0;
        for (unsigned k = 0; k <= degree; k++)
            if (counts[k]) sum += counts[k] * fm_binomial(blocks, k + 1);
        shape = run.values;
        coefficients += 2 * width;
        for (unsigned i = 0; i < run.period; i++) {
            if (!visit_leaf(self, shape + 2, coefficients[0], sum * times)) return false;
            coefficients += (run.degree + 1) * width;
            shape += 2 + shape[0];
        }
    }
    return true;
}

/* One of a run's values, for all blocks. */
static bool expand_value(const expansion *self, const int32_t *value, const int64_t *coefficients,
                         unsigned degree, int64_t blocks, unsigned levels, uint64_t times)
{
    const uint32_t inner = (uint32_t)value[1];
    const int32_t *shape = value + 2;
    if (!value[0]) return true; /* nothing there */
    if (blocks == 1 && !degree) return expand_level(self, shape, coefficients, levels, times);
    int64_t stack[ON_STACK], *values = inner <= ON_STACK ? stack : malloc(inner * sizeof *values);
    bool ok = values != NULL;
    if (ok && is_constant(coefficients, inner, degree)) {
        uint64_t all;
        ok = !__builtin_mul_overflow(times, (uint64_t)blocks, &all) &&
             evaluate_numbers(coefficients, inner, degree, 0, values) &&
             expand_level(self, shape, values, levels, all);
    } else if (ok && levels == 1 && constant_leaves(shape, coefficients, degree)) {
        ok = sum_leaves(self, shape, coefficients, degree, blocks, times);
    } else {
        for (int64_t block = 0; block < blocks && ok; block++)
            ok = evaluate_numbers(coefficients, inner, degree, block, values) &&
                 expand_level(self, shape, values, levels, times);
    }
    if (values != stack) free(values);
    return ok;
}

static bool expand_level(const expansion *self, const int32_t *shape, const int64_t *numbers, unsigned levels,
                         uint64_t times)
{
    if (!levels) return visit_leaf(self, shape, numbers[0], times);
    const int32_t runs = *shape++;
    for (int32_t r = 0; r < runs; r++) {
        const run_shape run = read_run(shape);
        const int64_t blocks = numbers[1];
        if (blocks < 0) return false;
        shape = run.values;
        numbers += 2;
        for (unsigned i = 0; i < run.period; i++) {
            const uint32_t inner = (uint32_t)shape[1];
            if (!expand_value(self, shape, numbers, run.degree, blocks, levels - 1, times)) return false;
            numbers += (size_t)inner * (run.degree + 1);
            shape += 2 + shape[0];
        }
    }
    return true;
}

bool fm_description_expand(const int32_t *shape, const int64_t *numbers, unsigned levels, uint64_t times,
                           fm_description_visit visit, void *context)
{
    const expansion self = {visit, context};
    return expand_level(&self, shape, numbers, levels, times);
}
