/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intervals.h - a heap of intervals of addresses that may overlap, and how many blocks there are in all of
 * them together. Every block between the first and the last byte of an interval is touched.
 */
#ifndef FATHOM_STATIC_INTERVALS_H
#define FATHOM_STATIC_INTERVALS_H

#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fm_interval {
    int64_t first, last; /* bytes; both are in it */
} fm_interval;

typedef struct fm_intervals {
    unsigned shift; /* blocks are 2^shift bytes */
    size_t barrier; /* those before this one are left alone by fm_intervals_put */
    size_t count, capacity, spare_capacity, run_capacity;
    fm_interval *items, *spare;
    size_t *runs;
} fm_intervals;

void fm_intervals_clear(fm_intervals *self); /* gives the memory back */

/* false: no memory */
static inline bool fm_intervals_reserve(fm_intervals *self, size_t more)
{
    return self->count + more <= self->capacity ||
           !fm_array_reserve((void **)&self->items, &self->capacity, self->count + more, sizeof *self->items);
}

/* There is room for it. What overlaps the last one, or is at most a block away from it, makes that one
 * longer: no block is between them, wherever both are moved. */
static inline void fm_intervals_put(fm_intervals *self, int64_t first, int64_t last)
{
    if (self->count > self->barrier) {
        fm_interval *end = &self->items[self->count - 1];
        const int64_t block = (int64_t)1 << self->shift;
        if (first <= end->last + block && last >= end->first - block) {
            if (first < end->first) end->first = first;
            if (last > end->last) end->last = last;
            return;
        }
    }
    self->items[self->count++] = (fm_interval){first, last};
}

/* Sorts them and joins those that have no block between them. false: no memory */
bool fm_intervals_join(fm_intervals *self);

/* How many blocks; after a join. sets > 1: only those whose number is `set` modulo `sets`. */
uint64_t fm_intervals_blocks(const fm_intervals *self, uint64_t sets, uint64_t set);

#endif
