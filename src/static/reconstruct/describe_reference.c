/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe_reference.c - the description of a reference (reconstruct_parts.h) from single accesses.
 *
 * Level v with all outer loops given: from the lowest value on, look whether the descriptions of the next
 * blocks of `period` values have one shape and polynomial numbers. If so, the run goes as far as tests say;
 * else the value is a run by itself. Descriptions of single values are kept while the level is worked on. A
 * test compares what the polynomials say of one value with its description.
 */
#include "static/reconstruct/reconstruct_parts.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOK_EVERY = 32,
    MOST_VALUES = 24,
    MORE_VALUES = 6, /* of the innermost loop, at random */
    PATIENCE = 2     /* single values in a row before the longer period is tried */
};

/* ---- descriptions in memory ---- */

static uint64_t bytes_of(const fm_description *one)
{
    return sizeof *one + one->number_count * sizeof(int64_t) + one->shape_count * sizeof(int32_t) + 32;
}

static fm_description *allocate_description(fm_describer *self, size_t shape_count, size_t number_count)
{
    if (shape_count > INT32_MAX || number_count > INT32_MAX) {
        fm_fail(self->error, FM_E_LIMIT, NULL, "a description is too large");
        return NULL;
    }
    const size_t numbers = number_count * sizeof(int64_t);
    fm_description *made = malloc(sizeof *made + numbers + shape_count * sizeof(int32_t));
    if (!made) {
        fm_fail_memory(self->error, numbers, "a description");
        return NULL;
    }
    made->shape_count = (uint32_t)shape_count;
    made->number_count = (uint32_t)number_count;
    made->numbers = (int64_t *)(made + 1);
    made->shape = (int32_t *)(made->numbers + number_count);
    self->memory += bytes_of(made);
    if (self->memory > self->memory_limit) {
        fm_fail(self->error, FM_E_LIMIT, NULL, "descriptions need more than %llu bytes",
                (unsigned long long)self->memory_limit);
        fm_description_free(self, made);
        return NULL;
    }
    return made;
}

void fm_description_free(fm_describer *self, fm_description *description)
{
    if (!description) return;
    self->memory -= bytes_of(description);
    free(description);
}

/* ---- the values of a level ---- */

typedef struct level {
    fm_describer *describer;
    unsigned loop;
    int64_t *x;
    int64_t low, high;
    unsigned degree, singles; /* of polynomials; values without a run, in a row */
    size_t slots, used;       /* descriptions of values: a table with open places */
    int64_t *keys;
    fm_description **values;
    size_t shape_count, shape_capacity, number_count, number_capacity; /* what is made */
    int32_t *shape;
    int64_t *numbers;
    int32_t runs;
} level;

static fm_description *describe_level(fm_describer *self, unsigned loop, int64_t *x);

static bool no_memory(level *self)
{
    fm_fail_memory(self->describer->error, self->number_count * sizeof(int64_t), "a description");
    return false;
}

static size_t place_of(const level *self, int64_t value)
{
    size_t at = ((uint64_t)value * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (self->slots - 1);
    while (self->values[at] && self->keys[at] != value) at = (at + 1) & (self->slots - 1);
    return at;
}

static bool grow_table(level *self)
{
    level old = *self;
    self->slots = old.slots ? old.slots * 2 : 64;
    self->keys = fm_calloc(self->slots, sizeof *self->keys);
    self->values = fm_calloc(self->slots, sizeof *self->values);
    if (!self->keys || !self->values) {
        free(self->keys);
        free(self->values);
        *self = old;
        return no_memory(self);
    }
    for (size_t i = 0; i < old.slots; i++) {
        if (!old.values[i]) continue;
        const size_t at = place_of(self, old.keys[i]);
        self->keys[at] = old.keys[i];
        self->values[at] = old.values[i];
    }
    free(old.keys);
    free(old.values);
    return true;
}

/* The description behind a value of this loop. */
static const fm_description *value_at(level *self, int64_t value)
{
    if (2 * self->used >= self->slots && !grow_table(self)) return NULL;
    size_t at = place_of(self, value);
    if (self->values[at]) return self->values[at];
    self->x[self->loop] = value;
    fm_description *made = describe_level(self->describer, self->loop + 1, self->x);
    if (!made) return NULL;
    self->keys[at] = value;
    self->values[at] = made;
    self->used++;
    return made;
}

/* ---- what is made ---- */

static bool put_shape(level *self, const int32_t *shape, size_t count)
{
    if (fm_array_reserve((void **)&self->shape, &self->shape_capacity, self->shape_count + count,
                         sizeof *shape))
        return no_memory(self);
    memcpy(self->shape + self->shape_count, shape, count * sizeof *shape);
    self->shape_count += count;
    return true;
}

static bool put_numbers(level *self, const int64_t *numbers, size_t count)
{
    if (fm_array_reserve((void **)&self->numbers, &self->number_capacity, self->number_count + count,
                         sizeof *numbers))
        return no_memory(self);
    memcpy(self->numbers + self->number_count, numbers, count * sizeof *numbers);
    self->number_count += count;
    return true;
}

static bool put_inner_shape(level *self, const fm_description *inner)
{
    const int32_t lengths[2] = {(int32_t)inner->shape_count, (int32_t)inner->number_count};
    return put_shape(self, lengths, 2) && put_shape(self, inner->shape, inner->shape_count);
}

static bool put_single(level *self, int64_t value)
{
    const int32_t head[2] = {1, 0};
    const int64_t numbers[2] = {value, 1};
    const fm_description *inner = value_at(self, value);
    if (!inner) return false;
    if (!inner->number_count) return true; /* nothing there */
    self->runs++;
    return put_shape(self, head, 2) && put_inner_shape(self, inner) && put_numbers(self, numbers, 2) &&
           put_numbers(self, inner->numbers, inner->number_count);
}

/* ---- runs ---- */

typedef struct run {
    level *of;
    int64_t start, period;
    int64_t blocks;               /* as many as there is room for */
    size_t *offsets;              /* of each of the period's values, in coefficients */
    const fm_description **first; /* description of each value of the first block */
    int64_t *coefficients;        /* as in reconstruct_parts.h */
} run;

static bool same_shape(const fm_description *left, const fm_description *right)
{
    return left->shape_count == right->shape_count && left->number_count == right->number_count &&
           !memcmp(left->shape, right->shape, left->shape_count * sizeof left->shape[0]);
}

typedef enum answer { ANSWER_NO, ANSWER_YES, ANSWER_FAILED } answer;

/* Does a value that is not in the first blocks follow the polynomials? */
static answer test_value(run *self, int64_t value)
{
    level *of = self->of;
    const int64_t block = (value - self->start) / self->period,
                  residue = (value - self->start) % self->period;
    const fm_description *here = value_at(of, value);
    if (!here) return ANSWER_FAILED;
    if (!same_shape(here, self->first[residue])) return ANSWER_NO;
    int64_t basis[FM_DESCRIPTION_DEGREE + 1];
    const int64_t *coefficients = self->coefficients + self->offsets[residue];
    fm_newton_basis(block, of->degree, basis);
    for (uint32_t i = 0; i < here->number_count; i++, coefficients += of->degree + 1)
        if (fm_newton_value(coefficients, basis, of->degree) != here->numbers[i]) return ANSWER_NO;
    return ANSWER_YES;
}

static answer test_block(run *self, int64_t block)
{
    answer result = ANSWER_YES;
    for (int64_t i = self->period; i-- > 0 && result == ANSWER_YES;)
        result = test_value(self, self->start + block * self->period + i);
    return result;
}

/* The polynomials of the first degree + 1 blocks, and whether the next one follows them (where there is one).
 */
static answer begin_run(run *self)
{
    level *of = self->of;
    const size_t width = of->degree + 1;
    size_t numbers = 0;
    for (int64_t i = 0; i < self->period; i++) {
        self->first[i] = value_at(of, self->start + i);
        if (!self->first[i]) return ANSWER_FAILED;
        /* The shapes first: the next block differs where there is no run. */
        const fm_description *next = value_at(of, self->start + self->period + i);
        if (!next) return ANSWER_FAILED;
        if (!same_shape(self->first[i], next)) return ANSWER_NO;
        self->offsets[i] = numbers;
        numbers += self->first[i]->number_count * width;
    }
    self->coefficients = malloc((numbers + 1) * sizeof *self->coefficients);
    if (!self->coefficients) return no_memory(of) ? ANSWER_YES : ANSWER_FAILED;
    for (int64_t i = 0; i < self->period; i++)
        for (size_t block = 0; block < width; block++) {
            const fm_description *here = value_at(of, self->start + (int64_t)block * self->period + i);
            if (!here) return ANSWER_FAILED;
            if (!same_shape(self->first[i], here)) return ANSWER_NO;
            int64_t *to = self->coefficients + self->offsets[i] + block;
            for (uint32_t n = 0; n < here->number_count; n++) to[n * width] = here->numbers[n];
        }
    for (size_t n = 0; n < numbers; n += width)
        for (size_t order = 1; order < width; order++)
            for (size_t k = width - 1; k >= order; k--)
                self->coefficients[n + k] -= self->coefficients[n + k - 1];
    return self->blocks > (int64_t)width ? test_block(self, (int64_t)width) : ANSWER_YES;
}

/* Values beyond the first blocks that are worth a test, ascending. */
static size_t find_tests(run *self, fm_special *values)
{
    level *of = self->of;
    fm_describer *describer = of->describer;
    const int64_t low = self->start + (of->degree + 2) * self->period,
                  end = self->start + self->blocks * self->period; /* of the room */
    if (low >= end) return 0;
    /* What meets just before or behind is near, too. */
    size_t count = fm_specials_find(describer->specials, describer->number, of->loop, of->x,
                                    low - self->period, end - 1 + self->period, values, MOST_VALUES);
    const uint64_t range = (uint64_t)(end - low);
    const int64_t more[] = {low + (int64_t)(range / 2),
                            low + (int64_t)fm_static_random_below(&describer->random, range),
                            end - 1 - self->period, end - 2 * self->period, end - 1 - 2 * self->period};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        count = fm_special_put(values, count, (fm_special){more[i], false});
    for (int i = 0; i < MORE_VALUES && of->loop + 1 == describer->reference->depth;
         i++) /* they cost little */
        count = fm_special_put(
            values, count,
            (fm_special){low + (int64_t)fm_static_random_below(&describer->random, range), false});
    for (size_t i = 0; i < describer->learned_count; i++)
        count = fm_special_put(values, count, (fm_special){describer->learned[i][of->loop], true});
    return count;
}

/* The first block below *bad that does not follow becomes *bad; *good: the last one below it that was tested.
 */
static answer test_specials(run *self, const fm_special *values, size_t count, int64_t *good, int64_t *bad)
{
    const level *of = self->of;
    const int64_t known = of->degree + 1;
    for (size_t i = 0; i < count; i++) {
        const int64_t away = values[i].value - self->start;
        const int64_t block = fm_floor_divide(away, self->period);
        if (!values[i].whole) {
            if (block >= *bad) break;
            if (block <= known) continue;
            const answer result = test_value(self, values[i].value);
            if (result == ANSWER_NO) *bad = block;
            if (result != ANSWER_YES) return result;
            continue;
        }
        for (int64_t near = block - 1; near <= block + 1; near++) {
            if (near >= *bad) break;
            if (near <= *good) continue;
            const answer result = test_block(self, near);
            if (result == ANSWER_NO) *bad = near;
            if (result != ANSWER_YES) return result;
            *good = near;
        }
    }
    return ANSWER_YES;
}

/* Between a block that follows and one that does not: the last that does, if there is one border. */
static answer find_border(run *self, int64_t *good, int64_t bad)
{
    while (bad - *good > 1) {
        const int64_t middle = *good + (bad - *good) / 2;
        const answer result = test_block(self, middle);
        if (result == ANSWER_FAILED) return result;
        if (result == ANSWER_YES)
            *good = middle;
        else
            bad = middle;
    }
    return ANSWER_YES;
}

/* How many blocks the run has: 0: it is none. */
static answer measure_run(run *self, int64_t *blocks)
{
    const int64_t known = self->of->degree + 1; /* the last block that begin_run looks at */
    answer result = begin_run(self);
    *blocks = 0;
    if (result != ANSWER_YES) return result;
    if (self->blocks <= known + 1) { /* at the end of the loop: all of them were looked at */
        *blocks = self->blocks;
        return ANSWER_YES;
    }
    int64_t good = known, bad = self->blocks; /* the last block that follows, the first that does not */
    fm_special values[MOST_VALUES + MORE_VALUES + 6 + FM_MOST_LEARNED];
    const size_t count = find_tests(self, values);
    result = test_block(self, bad - 1);
    if (result == ANSWER_NO) bad--;
    if (result != ANSWER_FAILED) result = test_specials(self, values, count, &good, &bad);
    if (result == ANSWER_FAILED) return result;
    if (bad == self->blocks)
        good = bad - 1;
    else if (find_border(self, &good, bad) == ANSWER_FAILED)
        return ANSWER_FAILED;
    *blocks = good + 1;
    return ANSWER_YES;
}

static bool put_run(run *self, int64_t blocks)
{
    level *of = self->of;
    const int32_t head[2] = {(int32_t)self->period, (int32_t)of->degree};
    const int64_t numbers[2] = {self->start, blocks};
    bool something = false;
    for (int64_t i = 0; i < self->period; i++) something = something || self->first[i]->number_count;
    if (!something) return true;
    of->runs++;
    if (!put_shape(of, head, 2) || !put_numbers(of, numbers, 2)) return false;
    for (int64_t i = 0; i < self->period; i++) {
        const fm_description *inner = self->first[i];
        if (!put_inner_shape(of, inner) ||
            !put_numbers(of, self->coefficients + self->offsets[i], inner->number_count * (of->degree + 1)))
            return false;
    }
    return true;
}

static void forget_run(run *self)
{
    free(self->offsets);
    free(self->first);
    free(self->coefficients);
}

/* A run of that period from `start` on; *blocks: 0 where there is none. False: failed. */
static bool try_run(run *self, level *of, int64_t start, int64_t period, int64_t *blocks)
{
    *self = (run){.of = of, .start = start, .period = period};
    *blocks = 0;
    if (!period) return true;
    self->blocks = (of->high - start + 1) / period;
    if (self->blocks <= of->degree) return true;
    self->offsets = malloc((size_t)period * sizeof *self->offsets);
    self->first = malloc((size_t)period * sizeof *self->first);
    if (!self->offsets || !self->first) return no_memory(of);
    return measure_run(self, blocks) != ANSWER_FAILED;
}

/* The run that begins at `start`, or the value alone; *next: where it goes on. A run of the shorter period
 * may be only the piece between two blocks of the longer one: the run that goes further is taken. */
static bool put_next(level *self, int64_t start, int64_t period, int64_t longer, int64_t *next)
{
    run one, other = {0};
    int64_t blocks, more = 0;
    bool ok = try_run(&one, self, start, period, &blocks);
    const bool look = blocks ? blocks * period < longer * (self->degree + 2) : self->singles >= PATIENCE;
    if (ok && longer != period && look) ok = try_run(&other, self, start, longer, &more);
    self->singles = blocks || more ? 0 : self->singles + 1;
    if (ok && more * longer > blocks * period) {
        ok = put_run(&other, more);
        *next = start + more * longer;
    } else if (ok && blocks) {
        ok = put_run(&one, blocks);
        *next = start + blocks * period;
    } else if (ok) {
        ok = put_single(self, start);
        *next = start + 1;
    }
    forget_run(&one);
    forget_run(&other);
    return ok;
}

/* ---- levels ---- */

static fm_description *describe_access(fm_describer *self, const int64_t *x)
{
    fm_point point = {.reference = self->number};
    fm_reuse reuse;
    memcpy(point.x, x, self->reference->depth * sizeof x[0]);
    if (++self->asked % LOOK_EVERY == 0 && self->deadline > 0 && fm_now() > self->deadline) {
        fm_fail(self->error, FM_E_LIMIT, NULL, "no time is left after %llu accesses",
                (unsigned long long)self->asked);
        return NULL;
    }
    if (fm_oracle_ask(self->oracle, &point, &reuse, self->error) != FM_OK) return NULL;
    fm_description *made = allocate_description(self, 1, 1);
    if (!made) return NULL;
    made->shape[0] = reuse.first ? 0 : (int32_t)reuse.previous.reference + 1;
    made->numbers[0] = reuse.first ? 0 : (int64_t)reuse.distance;
    return made;
}

static void clear_level(level *self)
{
    for (size_t i = 0; i < self->slots; i++) fm_description_free(self->describer, self->values[i]);
    free(self->keys);
    free(self->values);
    free(self->shape);
    free(self->numbers);
}

static fm_description *describe_level(fm_describer *self, unsigned loop, int64_t *x)
{
    if (loop == self->reference->depth) return describe_access(self, x);
    level here = {.describer = self, .loop = loop, .x = x, .degree = self->reference->depth - loop};
    const int64_t period = fm_specials_period(self->specials, self->number, loop),
                  longer = fm_specials_longer_period(self->specials, self->number, loop);
    if (here.degree > FM_DESCRIPTION_DEGREE) here.degree = FM_DESCRIPTION_DEGREE;
    bool ok = put_shape(&here, &here.runs, 1);
    if (fm_projection_bounds(self->bounds, loop, x, &here.low, &here.high)) {
        for (int64_t value = here.low; value <= here.high && ok;) {
            int64_t next = value;
            ok = put_next(&here, value, period, longer, &next);
            value = next;
        }
    }
    fm_description *made = NULL;
    if (ok) {
        if (!here.runs) here.shape_count = 0; /* nothing at all */
        made = allocate_description(self, here.shape_count, here.number_count);
    }
    if (made && made->shape_count) {
        here.shape[0] = here.runs;
        memcpy(made->shape, here.shape, here.shape_count * sizeof *here.shape);
        memcpy(made->numbers, here.numbers, here.number_count * sizeof *here.numbers);
    }
    clear_level(&here);
    return made;
}

fm_description *fm_describe(fm_describer *self, uint32_t number)
{
    self->number = number;
    self->reference = &self->list->references[number];
    const fm_reference *reference = self->reference;
    fm_arena *arena = fm_arena_create();
    fm_description *made = NULL;
    int64_t x[FM_REFERENCE_DEPTH];
    if (!arena)
        fm_fail_memory(self->error, sizeof *reference, "a description");
    else if (fm_projection_of_reference(&self->bounds, arena, reference, self->error) == FM_OK)
        made = describe_level(self, 0, x);
    fm_arena_destroy(arena);
    return made;
}
