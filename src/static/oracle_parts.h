/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_parts.h - what oracle.c and between.c share. */
#ifndef FATHOM_STATIC_ORACLE_PARTS_H
#define FATHOM_STATIC_ORACLE_PARTS_H

#include "static/intervals.h"
#include "static/oracle.h"
#include "static/projection.h"

#define FM_ORACLE_BUDGET UINT64_C(50000000) /* choices of one search */

/* A reference to the same array: how many loops it shares, and whether it is earlier inside them. */
typedef struct oracle_companion {
    uint32_t reference;
    unsigned shared;
    bool earlier;
} oracle_companion;

/* between.c: the addresses of a reference with some loops fixed, by bounds of the next one. */
typedef struct oracle_family oracle_family;

typedef struct oracle_place {
    size_t companion_count;
    oracle_companion *companions;
    fm_projection **queries;  /* [2 * loops fixed + bounded]; made when first needed */
    oracle_family **families; /* [4 * loops fixed + 2 * bounded below + bounded above]; likewise */
} oracle_place;

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
    fm_intervals intervals;
};

/* The distinct blocks that are touched behind `from` and before `to`, of the set of `block`. */
fm_status fm_oracle_between(fm_oracle *self, const fm_point *from, const fm_point *to, int64_t block,
                            uint64_t *blocks, fm_error *error);

#endif
