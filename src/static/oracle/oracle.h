/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle.h - the truth about single accesses: which access touched the same block before, and how many other
 * blocks were touched in between. Exact, for any region that has references; worked out from the rows without
 * a walk over the region, so that it does not matter how long the region runs.
 *
 * An oracle has scratch memory: one thread uses it at a time.
 */
#ifndef FATHOM_STATIC_ORACLE_H
#define FATHOM_STATIC_ORACLE_H

#include "static/polyhedra/reference.h"

typedef struct fm_point {
    uint32_t reference; /* number in the list */
    int64_t x[FM_REFERENCE_DEPTH];
} fm_point;

typedef struct fm_reuse {
    bool first; /* the block was never touched before; what follows means nothing then */
    fm_point previous;
    uint64_t distance; /* blocks between, without its own */
} fm_reuse;

typedef struct fm_oracle fm_oracle;

/* sets: 0 or 1: all blocks count; else only those of the same set (block number modulo sets). The list must
 * live as long as the oracle. */
fm_status fm_oracle_create(fm_oracle **oracle, const fm_reference_list *list, uint64_t sets, fm_error *error);
void fm_oracle_destroy(fm_oracle *oracle); /* NULL is fine */
/* What goes on beyond the deadline (fm_now; 0: none), or needs more bytes for intervals of blocks (0:
 * 1 GiB), ends with FM_E_LIMIT. */
void fm_oracle_limit(fm_oracle *oracle, double deadline, uint64_t memory);

/* point must be one of its reference's. FM_E_NOMEM; FM_E_LIMIT where the rows are so involved that a search
 * took too many steps (never for unit factors). */
fm_status fm_oracle_ask(fm_oracle *oracle, const fm_point *point, fm_reuse *reuse, fm_error *error);

/* How many blocks the whole region touches. */
fm_status fm_oracle_first_touches(fm_oracle *oracle, uint64_t *blocks, fm_error *error);

/* Negative, 0 or positive: left is before, at or behind right. */
int fm_point_compare(const fm_reference_list *list, const fm_point *left, const fm_point *right);

#endif
