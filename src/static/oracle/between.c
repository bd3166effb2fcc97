/* SPDX-License-Identifier: Apache-2.0 */
/*
 * between.c - the distinct blocks that are touched between two accesses (oracle.h).
 *
 * The points of a reference in a stretch of time are at most two *pieces* per loop: some loops fixed to
 * those of an end of the stretch, and the next one bounded below, above, or on both sides. A piece is a
 * *family*, made once for each reference, number of fixed loops and kind of bounds, with the fixed values
 * and bounds as parameters. The variables of a family are the free loops that the address depends on, from
 * the largest factor to the smallest; loops that it does not depend on are eliminated. Addresses are emitted
 * as intervals of blocks: the last variable makes one where its factor is at most a block; an interval that
 * is repeated without a gap by an outer variable becomes one longer interval.
 *
 * Where the elimination is not exact, every combination of the variables is looked at by itself, and a
 * search says whether the eliminated loops have a point.
 */
#include "static/oracle/oracle_parts.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 1 << 16 };

/* ---- intervals ---- */

/* They come in runs that ascend (or descend), so they are sorted by merging runs. */

enum { SHORT = 24 }; /* sorted by insertion */

void fm_intervals_clear(fm_intervals *self)
{
    free(self->items);
    free(self->spare);
    free(self->runs);
    *self = (fm_intervals){.shift = self->shift};
}

static void sort_short(fm_interval *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const fm_interval one = items[i];
        size_t at = i;
        for (; at && items[at - 1].first > one.first; at--) items[at] = items[at - 1];
        items[at] = one;
    }
}

static void merge_runs(const fm_interval *left, size_t left_count, const fm_interval *right,
                       size_t right_count, fm_interval *to)
{
    const fm_interval *left_end = left + left_count, *right_end = right + right_count;
    while (left < left_end && right < right_end) {
        const bool take = right->first < left->first;
        *to++ = take ? *right : *left;
        right += take;
        left += !take;
    }
    memcpy(to, left, (size_t)(left_end - left) * sizeof *to);
    to += left_end - left;
    memcpy(to, right, (size_t)(right_end - right) * sizeof *to);
}

/* Where runs begin, and the end; descending ones are turned round. 0: no memory. */
static size_t find_runs(fm_intervals *self)
{
    size_t runs = 0, at = 0;
    fm_interval *items = self->items;
    while (at < self->count) {
        if (fm_array_reserve((void **)&self->runs, &self->run_capacity, runs + 2, sizeof *self->runs))
            return 0;
        self->runs[runs++] = at;
        size_t end = at + 1;
        if (end < self->count && items[end].first < items[at].first) {
            while (end < self->count && items[end].first < items[end - 1].first) end++;
            for (size_t low = at, high = end - 1; low < high; low++, high--) {
                const fm_interval swap = items[low];
                items[low] = items[high];
                items[high] = swap;
            }
        }
        while (end < self->count && items[end].first >= items[end - 1].first) end++;
        at = end;
    }
    self->runs[runs] = self->count;
    return runs;
}

static bool sort_intervals(fm_intervals *self)
{
    if (self->count <= SHORT) {
        sort_short(self->items, self->count);
        return true;
    }
    size_t runs = find_runs(self);
    if (!runs) return false;
    if (runs > 1 &&
        fm_array_reserve((void **)&self->spare, &self->spare_capacity, self->count, sizeof *self->spare))
        return false;
    while (runs > 1) {
        size_t kept = 0;
        for (size_t i = 0; i < runs; i += 2) {
            const size_t begin = self->runs[i], middle = self->runs[i + 1],
                         end = i + 2 <= runs ? self->runs[i + 2] : middle;
            merge_runs(self->items + begin, middle - begin, self->items + middle, end - middle,
                       self->spare + begin);
            self->runs[kept++] = begin;
        }
        self->runs[kept] = self->count;
        runs = kept;
        fm_interval *swap = self->items;
        self->items = self->spare;
        self->spare = swap;
        const size_t swap_capacity = self->capacity;
        self->capacity = self->spare_capacity;
        self->spare_capacity = swap_capacity;
    }
    return true;
}

/* Sorts them and joins those that have no block between them. false: no memory */
static bool intervals_join(fm_intervals *self)
{
    if (self->count < 2) return true;
    if (!sort_intervals(self)) return false;
    size_t kept = 0;
    for (size_t i = 1; i < self->count; i++) {
        if (self->items[i].first >> self->shift <= (self->items[kept].last >> self->shift) + 1) {
            if (self->items[i].last > self->items[kept].last) self->items[kept].last = self->items[i].last;
        } else
            self->items[++kept] = self->items[i];
    }
    self->count = kept + 1;
    return true;
}

/* Do the intervals ascend, with a block between each and the next? */
static inline bool intervals_ascend(const fm_intervals *self)
{
    for (size_t i = 1; i < self->count; i++)
        if (self->items[i].first >> self->shift <= (self->items[i - 1].last >> self->shift) + 1) return false;
    return true;
}

/* Numbers up to `last` that are `set` modulo `sets`, less a constant. */
static int64_t up_to(int64_t last, int64_t sets, int64_t set)
{
    const int64_t above = last - set;
    return above / sets - (above % sets < 0);
}

/* How many blocks; after a join. sets > 1: only those whose number is `set` modulo `sets`. */
static uint64_t intervals_blocks(const fm_intervals *self, uint64_t sets, uint64_t set)
{
    uint64_t blocks = 0;
    FM_ASSERT(intervals_ascend(self));
    for (size_t i = 0; i < self->count; i++) {
        const int64_t first = self->items[i].first >> self->shift, last = self->items[i].last >> self->shift;
        blocks += sets > 1 ? (uint64_t)(up_to(last, (int64_t)sets, (int64_t)set) -
                                        up_to(first - 1, (int64_t)sets, (int64_t)set))
                           : (uint64_t)(last - first + 1);
    }
    return blocks;
}

/* ---- families ---- */

struct oracle_family {
    fm_projection *projection;
    unsigned variables; /* that the address depends on: the first ones of the projection */
    bool exact;         /* all others are eliminated exactly */
    int64_t constant;   /* of the address */
    int64_t *factors;   /* of the address, by columns of the projection */
    bool *used_later;   /* by variables: do bounds of later ones depend on it? */
};

typedef struct piece {
    fm_oracle *oracle;
    const oracle_family *family;
    int64_t width; /* bytes that each address is wider than one */
    int64_t values[FM_PROJECTION_COLUMNS];
    fm_error *error;
} piece;

static unsigned order_variables(const fm_reference *reference, unsigned fixed, unsigned *order)
{
    unsigned count = 0;
    for (unsigned k = fixed; k < reference->depth; k++) {
        if (!reference->address.factors[k]) continue;
        unsigned at = count++;
        const int64_t size = llabs(reference->address.factors[k]);
        for (; at && llabs(reference->address.factors[order[at - 1]]) < size; at--) order[at] = order[at - 1];
        order[at] = k;
    }
    unsigned all = count;
    for (unsigned k = fixed; k < reference->depth; k++)
        if (!reference->address.factors[k]) order[all++] = k;
    return count;
}

static void find_dependences(oracle_family *made)
{
    const fm_projection *projection = made->projection;
    for (unsigned v = 0; v < made->variables; v++)
        for (unsigned later = v + 1; later < made->variables; later++) {
            const unsigned width = projection->parameters + later + 2;
            const fm_projection_level *level = &projection->levels[later + 1];
            for (size_t i = 0; i < level->count; i++)
                if (level->rows[i * width + 1 + projection->parameters + v]) made->used_later[v] = true;
        }
}

static fm_status make_family(fm_oracle *self, const fm_reference *reference, unsigned fixed, bool below,
                             bool above, oracle_family **family, fm_error *error)
{
    const unsigned parameters = fixed + below + above, free = reference->depth - fixed;
    unsigned order[FM_REFERENCE_DEPTH], column[FM_REFERENCE_DEPTH];
    int64_t least[FM_PROJECTION_COLUMNS], most[FM_PROJECTION_COLUMNS];
    fm_line rows[reference->row_count + 2];
    oracle_family *made = fm_arena_allocate(self->arena, 1, sizeof *made);
    if (made) {
        made->factors = fm_arena_allocate(self->arena, parameters + free, sizeof made->factors[0]);
        made->used_later = fm_arena_allocate(self->arena, free, sizeof made->used_later[0]);
    }
    if (!made || !made->factors || !made->used_later)
        return fm_fail_memory(error, sizeof *made, "the oracle");
    made->variables = order_variables(reference, fixed, order);
    for (unsigned k = 0; k < fixed; k++) column[k] = k;
    for (unsigned i = 0; i < free; i++) column[order[i]] = parameters + i;
    for (unsigned k = 0; k < reference->depth; k++) {
        made->factors[column[k]] = reference->address.factors[k];
        least[column[k]] = reference->least[k];
        most[column[k]] = reference->most[k];
    }
    memset(rows, 0, (reference->row_count + 2) * sizeof rows[0]);
    size_t count = 0;
    for (; count < reference->row_count; count++) {
        rows[count].at[FM_CONSTANT] = reference->rows[count].constant;
        for (unsigned k = 0; k < reference->depth; k++)
            rows[count].at[column[k]] = reference->rows[count].factors[k];
    }
    for (int side = 0; side < 2; side++) { /* x[fixed] >= a, x[fixed] <= b */
        if (side ? !above : !below) continue;
        const unsigned limit = fixed + (side && below);
        rows[count].at[column[fixed]] = side ? -1 : 1;
        rows[count++].at[limit] = side ? 1 : -1;
        least[limit] = reference->least[fixed];
        most[limit] = reference->most[fixed];
    }
    fm_status status = fm_projection_create(&made->projection, self->arena, parameters, free, rows, count,
                                            least, most, error);
    if (status != FM_OK) return status;
    made->exact = made->projection->levels[made->variables].exact;
    find_dependences(made);
    *family = made;
    return FM_OK;
}

/* ---- emitting ---- */

static fm_status no_memory(piece *self)
{
    return fm_fail_memory(self->error, self->oracle->intervals.capacity * sizeof(fm_interval),
                          "the blocks between");
}

/* Room for more intervals, within the limits of time and memory. */
static fm_status make_room(piece *self, uint64_t more)
{
    fm_oracle *oracle = self->oracle;
    if (more > oracle->most_intervals - oracle->intervals.count)
        return fm_fail(self->error, FM_E_LIMIT, NULL,
                       "the blocks between two accesses need more than %zu bytes",
                       oracle->most_intervals * sizeof(fm_interval));
    if ((oracle->emitted += more) >= LOOK_EVERY) {
        oracle->emitted = 0;
        if (oracle->deadline > 0 && fm_now() > oracle->deadline)
            return fm_fail(self->error, FM_E_LIMIT, NULL,
                           "no time is left to find the blocks between two accesses");
    }
    return fm_intervals_reserve(&oracle->intervals, (size_t)more) ? FM_OK : no_memory(self);
}

/* Addresses from one byte to another, without a block left out. */
static inline fm_status emit_interval(piece *self, int64_t first, int64_t last)
{
    const fm_status status = make_room(self, 1);
    if (status == FM_OK) fm_intervals_put(&self->oracle->intervals, first, last + self->width);
    return status;
}

static fm_status emit_steps(piece *self, int64_t first, int64_t factor, int64_t count)
{
    fm_intervals *intervals = &self->oracle->intervals;
    const fm_status status = make_room(self, (uint64_t)count);
    if (status != FM_OK) return status;
    fm_interval *items = intervals->items + intervals->count;
    for (int64_t i = 0; i < count; i++, first += factor) items[i] = (fm_interval){first, first + self->width};
    intervals->count += (size_t)count;
    return FM_OK;
}

/* The last variable, between two values that all have points. */
static inline fm_status emit_last(piece *self, int64_t address, int64_t factor, int64_t low, int64_t high)
{
    const int64_t first = address + factor * low, last = address + factor * high;
    const int64_t size = factor < 0 ? -factor : factor;
    if (size <= (int64_t)1 << self->oracle->shift || low == high)
        return factor > 0 ? emit_interval(self, first, last) : emit_interval(self, last, first);
    return emit_steps(self, first, factor, high - low + 1);
}

/* Not exact: every combination by itself. */
static fm_status enumerate_all(piece *self, unsigned variable, int64_t address)
{
    const oracle_family *family = self->family;
    if (variable == family->variables) {
        uint64_t budget = FM_ORACLE_BUDGET;
        fm_search_result result =
            fm_projection_search(family->projection, variable, true, self->values, &budget);
        if (result == FM_SEARCH_GIVEN_UP)
            return fm_fail(self->error, FM_E_LIMIT, NULL,
                           "the search for accesses between took too many steps");
        return result == FM_SEARCH_FOUND ? emit_interval(self, address, address) : FM_OK;
    }
    int64_t low, high;
    const unsigned column = family->projection->parameters + variable;
    if (!fm_projection_bounds(family->projection, variable, self->values, &low, &high)) return FM_OK;
    for (int64_t value = low; value <= high; value++) {
        self->values[column] = value;
        fm_status status = enumerate_all(self, variable + 1, address + family->factors[column] * value);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

/* The last but one variable, from low to high, and the bounds of the last one depend on it. */
static fm_status emit_pair(piece *self, unsigned variable, int64_t address, int64_t low, int64_t high)
{
    const fm_projection *projection = self->family->projection;
    const fm_projection_level *level = &projection->levels[variable + 2];
    const unsigned column = projection->parameters + variable, width = column + 3;
    const int64_t factor = self->family->factors[column], inner = self->family->factors[column + 1];
    const int64_t least = projection->least[column + 1], most = projection->most[column + 1];
    int64_t sums[level->count + 1];
    const int64_t start = factor > 0 ? low : high, step = factor > 0 ? 1 : -1;
    for (size_t i = 0; i < level->count; i++) {
        const int64_t *row = level->rows + i * width;
        sums[i] = row[0] + row[1 + column] * start;
        for (unsigned c = 0; c < column; c++) sums[i] += row[1 + c] * self->values[c];
    }
    address += factor * start;
    for (int64_t count = high - low; count >= 0; count--, address += factor * step) {
        int64_t first = least, last = most;
        for (size_t i = 0; i < level->count; i++) {
            const int64_t *row = level->rows + i * width;
            const int64_t by = row[width - 1], sum = sums[i];
            if (by > 0) {
                const int64_t bound = by == 1 ? -sum : fm_ceil_divide(-sum, by);
                if (bound > first) first = bound;
            } else {
                const int64_t bound = by == -1 ? sum : fm_floor_divide(sum, -by);
                if (bound < last) last = bound;
            }
            sums[i] += row[1 + column] * step;
        }
        if (first > last) continue;
        fm_status status = emit_last(self, address, inner, first, last);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

static fm_status enumerate_variable(piece *self, unsigned variable, int64_t address);

/* The variable is between low and high, and no later bound depends on it: all values have the same intervals,
 * moved by its factor. */
static fm_status repeat_interval(piece *self, unsigned variable, int64_t address, int64_t low, int64_t high)
{
    fm_intervals *intervals = &self->oracle->intervals;
    const unsigned column = self->family->projection->parameters + variable;
    const int64_t factor = self->family->factors[column], step = factor < 0 ? -factor : factor;
    const size_t begin = intervals->count, barrier = intervals->barrier;
    self->values[column] = factor > 0 ? low : high;
    intervals->barrier = begin;
    fm_status status = enumerate_variable(self, variable + 1, address + factor * self->values[column]);
    const size_t count = intervals->count - begin;
    intervals->barrier = barrier;
    if (status != FM_OK || !count || low == high) return status;
    fm_interval *first = &intervals->items[begin];
    if (count == 1 && step <= first->last - first->first + ((int64_t)1 << self->oracle->shift)) {
        first->last += step * (high - low);
        return FM_OK;
    }
    const unsigned __int128 more = (unsigned __int128)count * (uint64_t)(high - low);
    status = make_room(self, more < SIZE_MAX ? (uint64_t)more : SIZE_MAX);
    if (status != FM_OK) return status;
    const fm_interval *from = intervals->items + begin;
    intervals->barrier = begin + count;
    for (int64_t by = step; by <= step * (high - low); by += step)
        for (size_t i = 0; i < count; i++) fm_intervals_put(intervals, from[i].first + by, from[i].last + by);
    intervals->barrier = barrier;
    return FM_OK;
}

static fm_status enumerate_variable(piece *self, unsigned variable, int64_t address)
{
    const oracle_family *family = self->family;
    int64_t low, high;
    if (!fm_projection_bounds(family->projection, variable, self->values, &low, &high)) return FM_OK;
    const unsigned column = family->projection->parameters + variable;
    const int64_t factor = family->factors[column];
    if (variable + 1 == family->variables) return emit_last(self, address, factor, low, high);
    if (family->used_later[variable]) {
        if (variable + 2 == family->variables) return emit_pair(self, variable, address, low, high);
        for (int64_t value = low; value <= high; value++) {
            self->values[column] = value;
            fm_status status = enumerate_variable(self, variable + 1, address + factor * value);
            if (status != FM_OK) return status;
        }
        return FM_OK;
    }
    return repeat_interval(self, variable, address, low, high);
}

/* ---- pieces ---- */

/* Adds a piece of a reference; its loop may go beyond the reference's box. */
static fm_status add_piece(fm_oracle *oracle, uint32_t number, unsigned fixed, const int64_t *x, int64_t low,
                           int64_t high, fm_error *error)
{
    const fm_reference *reference = &oracle->list->references[number];
    const int64_t constant = reference->address.constant, block = (int64_t)1 << oracle->shift;
    const uint32_t class_number = oracle->places[number].class_number;
    oracle_class *class = &oracle->classes[class_number];
    if (fixed < reference->depth) {
        if (low < reference->least[fixed]) low = reference->least[fixed];
        if (high > reference->most[fixed]) high = reference->most[fixed];
        if (low > high) return FM_OK;
    }
    for (size_t at = class->last_piece; at; at = oracle->pieces[at - 1].before) {
        oracle_piece *other = &oracle->pieces[at - 1];
        if (other->fixed != fixed || other->low != low || other->high != high ||
            constant > other->most + block || constant < other->least - block ||
            (other->x != x && memcmp(other->x, x, fixed * sizeof *x)))
            continue;
        if (constant < other->least) other->least = constant;
        if (constant > other->most) other->most = constant;
        return FM_OK;
    }
    if (fm_array_reserve((void **)&oracle->pieces, &oracle->piece_capacity, oracle->piece_count + 1,
                         sizeof(oracle_piece)))
        return fm_fail_memory(error, oracle->piece_count * sizeof(oracle_piece), "the blocks between");
    oracle->pieces[oracle->piece_count++] = (oracle_piece){.class_number = class_number,
                                                           .fixed = fixed,
                                                           .x = x,
                                                           .low = low,
                                                           .high = high,
                                                           .least = constant,
                                                           .most = constant,
                                                           .before = class->last_piece};
    class->last_piece = oracle->piece_count;
    return FM_OK;
}

static fm_status emit_piece(fm_oracle *oracle, const oracle_piece *what, fm_error *error)
{
    oracle_class *class = &oracle->classes[what->class_number];
    const fm_reference *reference = &oracle->list->references[class->reference];
    const unsigned fixed = what->fixed;
    const bool loop = fixed < reference->depth, below = loop && what->low > reference->least[fixed],
               above = loop && what->high < reference->most[fixed];
    oracle_family **family = &class->families[4 * fixed + 2 * below + above];
    if (!*family) {
        fm_status status = make_family(oracle, reference, fixed, below, above, family, error);
        if (status != FM_OK) return status;
    }
    piece self = {.oracle = oracle, .family = *family, .width = what->most - what->least, .error = error};
    unsigned parameters = fixed;
    memcpy(self.values, what->x, fixed * sizeof self.values[0]);
    if (below) self.values[parameters++] = what->low;
    if (above) self.values[parameters++] = what->high;
    if (!fm_projection_possible((*family)->projection, self.values)) return FM_OK;
    int64_t address = what->least;
    for (unsigned k = 0; k < fixed; k++) address += (*family)->factors[k] * what->x[k];
    if (!(*family)->exact) return enumerate_all(&self, 0, address);
    return (*family)->variables ? enumerate_variable(&self, 0, address)
                                : emit_interval(&self, address, address);
}

typedef struct stretch {
    fm_oracle *oracle;
    const fm_point *from, *to; /* behind, before */
    const fm_reference *from_reference, *to_reference;
    fm_error *error;
} stretch;

static bool in_box(const fm_reference *reference, unsigned level, int64_t value)
{
    return value >= reference->least[level] && value <= reference->most[level];
}

/* The points of a reference whose first `level` loops are x. after_from: these are those of `from`, so that
 * the rest must be behind it; before_to: likewise. */
static fm_status emit_between(const stretch *time, uint32_t number, unsigned level, const int64_t *x,
                              bool after_from, bool before_to)
{
    fm_oracle *oracle = time->oracle;
    const fm_reference *reference = &oracle->list->references[number];
    const uint32_t position = reference->position[level];
    if (after_from) {
        const uint32_t begin = time->from_reference->position[level];
        if (position < begin) return FM_OK;
        after_from = position == begin;
    }
    if (before_to) {
        const uint32_t end = time->to_reference->position[level];
        if (position > end) return FM_OK;
        before_to = position == end;
    }
    if (level == reference->depth) {
        if (after_from && reference->order <= time->from_reference->order) return FM_OK;
        if (before_to && reference->order >= time->to_reference->order) return FM_OK;
        return add_piece(oracle, number, level, x, 0, 0, time->error);
    }
    const int64_t begin = after_from ? time->from->x[level] : reference->least[level] - 1;
    const int64_t end = before_to ? time->to->x[level] : reference->most[level] + 1;
    fm_status status = FM_OK;
    if (after_from && before_to && begin == end)
        return in_box(reference, level, begin) ? emit_between(time, number, level + 1, x, true, true) : FM_OK;
    if (end - begin > 1) status = add_piece(oracle, number, level, x, begin + 1, end - 1, time->error);
    if (status == FM_OK && after_from && in_box(reference, level, begin))
        status = emit_between(time, number, level + 1, time->from->x, true, false);
    if (status == FM_OK && before_to && in_box(reference, level, end))
        status = emit_between(time, number, level + 1, time->to->x, false, true);
    return status;
}

static void begin_array(fm_oracle *oracle)
{
    for (size_t i = 0; i < oracle->piece_count; i++)
        oracle->classes[oracle->pieces[i].class_number].last_piece = 0;
    oracle->piece_count = 0;
    oracle->intervals.count = oracle->intervals.barrier = 0;
}

/* Emits and joins the pieces of one array, and counts its blocks. */
static fm_status count_array(fm_oracle *oracle, uint64_t sets, int64_t block, uint64_t *blocks,
                             fm_error *error)
{
    for (size_t i = 0; i < oracle->piece_count; i++) {
        fm_status status = emit_piece(oracle, &oracle->pieces[i], error);
        if (status != FM_OK) return status;
    }
    if (!intervals_join(&oracle->intervals))
        return fm_fail_memory(error, oracle->intervals.count * sizeof(fm_interval), "the blocks between");
    *blocks += intervals_blocks(&oracle->intervals, sets, sets > 1 ? (uint64_t)block % sets : 0);
    return FM_OK;
}

fm_status fm_oracle_between(fm_oracle *self, const fm_point *from, const fm_point *to, int64_t block,
                            uint64_t *blocks, fm_error *error)
{
    const stretch time = {.oracle = self,
                          .from = from,
                          .to = to,
                          .from_reference = &self->list->references[from->reference],
                          .to_reference = &self->list->references[to->reference],
                          .error = error};
    *blocks = 0;
    for (size_t a = 0; a < self->array_count; a++) {
        begin_array(self);
        for (size_t i = self->arrays[a].begin; i < self->arrays[a].end; i++) {
            fm_status status = emit_between(&time, self->by_array[i], 0, from->x, true, true);
            if (status != FM_OK) return status;
        }
        fm_status status = count_array(self, self->sets, block, blocks, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

fm_status fm_oracle_first_touches(fm_oracle *oracle, uint64_t *blocks, fm_error *error)
{
    *blocks = 0;
    for (size_t a = 0; a < oracle->array_count; a++) {
        begin_array(oracle);
        for (size_t i = oracle->arrays[a].begin; i < oracle->arrays[a].end; i++) {
            const uint32_t number = oracle->by_array[i];
            const fm_reference *reference = &oracle->list->references[number];
            fm_status status = add_piece(oracle, number, 0, reference->least, reference->least[0],
                                         reference->most[0], error);
            if (status != FM_OK) return status;
        }
        fm_status status = count_array(oracle, 0, 0, blocks, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}
