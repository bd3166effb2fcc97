/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_parts.h - what oracle.c and between.c share. */
#ifndef FATHOM_STATIC_ORACLE_PARTS_H
#define FATHOM_STATIC_ORACLE_PARTS_H

#include "static/oracle/oracle.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- intervals of blocks ---- */

/*
 * A heap of intervals of addresses that may overlap, and how many blocks there are in all of them together.
 * Every block between the first and the last byte of an interval is touched.
 */

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

/* ---- the oracle ---- */

#define FM_ORACLE_MEMORY (UINT64_C(1) << 30)
#define FM_ORACLE_BUDGET UINT64_C(50000000) /* choices of one search */

/* A reference to the same array: how many loops it shares, and whether it is earlier inside them. */
typedef struct oracle_companion {
    uint32_t reference;
    unsigned shared;
    bool earlier;
} oracle_companion;

/* between.c: the addresses of a reference with some loops fixed, by bounds of the next one. */
typedef struct oracle_family oracle_family;
/* oracle.c: the last point of a reference in a block, with some loops fixed. */
typedef struct oracle_query oracle_query;

typedef struct oracle_place {
    uint32_t class_number;
    size_t companion_count;
    oracle_companion *companions;
    oracle_query **queries; /* [2 * loops fixed + bounded]; made when first needed */
} oracle_place;

/* References to one array that differ only in when they happen, and in the constant of the address: as a load
 * and a store of the same element, or neighbours. They share families, and pieces that begin and end alike.
 */
typedef struct oracle_class {
    uint32_t reference; /* one of them */
    oracle_family *
        *families;     /* [4 * loops fixed + 2 * bounded below + bounded above]; made when first needed */
    size_t last_piece; /* + 1; 0: none */
} oracle_class;

/* x[0 … fixed-1] given, low <= x[fixed] <= high where there is such a loop. */
typedef struct oracle_piece {
    uint32_t class_number;
    unsigned fixed;
    const int64_t *x;
    int64_t low, high;
    int64_t least, most; /* constants of addresses; no block is between them */
    size_t before;       /* the piece before it of the same class, + 1; 0: none */
} oracle_piece;

typedef struct oracle_array {
    int64_t first, last; /* blocks */
    size_t begin, end;   /* of by_array */
} oracle_array;

struct fm_oracle {
    const fm_reference_list *list;
    uint64_t sets;
    unsigned shift;
    fm_arena *arena;
    oracle_place *places; /* of each reference */
    size_t array_count;
    oracle_array *arrays;
    uint32_t *by_array; /* references */
    size_t class_count;
    oracle_class *classes;
    size_t piece_count, piece_capacity;
    oracle_piece *pieces; /* of the array that is worked on */
    fm_intervals intervals;
    double deadline; /* 0: none */
    size_t most_intervals;
    uint64_t emitted; /* to look at the clock now and then */
};

/* The distinct blocks that are touched behind `from` and before `to`, of the set of `block`. */
fm_status fm_oracle_between(fm_oracle *self, const fm_point *from, const fm_point *to, int64_t block,
                            uint64_t *blocks, fm_error *error);

#endif
