/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_walk.h - going through the variables of a plan (counter_plan.h): in which order, between which
 * bounds, and what is even along the innermost one. counter_values.c does it.
 */
#ifndef FATHOM_STATIC_COUNTER_WALK_H
#define FATHOM_STATIC_COUNTER_WALK_H

#include "static/counter/counter_runs.h"
#include "static/counter/counter_system.h"

/* A line without its zeros. */
typedef struct fm_sparse {
    unsigned count;
    uint8_t columns[FM_COLUMNS];
    int64_t factors[FM_COLUMNS], constant, by; /* by: of a quotient */
} fm_sparse;

/* Of the domain; growth: in one period of the innermost variable. */
typedef struct fm_walk_condition {
    fm_sparse line;
    int64_t growth;
    bool equality;
} fm_walk_condition;

typedef struct fm_walk {
    fm_isl_work *work;
    const fm_system *domain; /* of the counts */
    const fm_system *value_system;
    fm_quick_poly value, count;
    unsigned value_degree, count_degree; /* in the innermost variable */
    unsigned order[FM_COLUMNS];          /* of the variables, from outside to inside */
    fm_counter_lines bounds[FM_COLUMNS]; /* of the variable at each place of the order */
    int64_t period; /* of the innermost variable, after which all quotients have grown by whole numbers; 0:
                       too long */
    int64_t growth[FM_COLUMNS], value_growth[FM_COLUMNS]; /* of the columns of both systems in this time */
    fm_sparse *floors, *value_floors;                     /* their quotients */
    fm_walk_condition *conditions;
    size_t condition_count;
    fm_runs *runs;
    uint64_t *points;
    double cost;               /* about how many steps it takes */
    uint64_t steps, next_look; /* so far; at how many the clock is looked at */
    int64_t at[FM_COLUMNS];    /* the variables, then quotients of the domain */
} fm_walk;

/* domain, value_system and work are filled in: finds the best order, and all that depends on it. False: see
 * work. */
bool fm_walk_prepare(fm_walk *walk, const fm_poly *value, const fm_poly *count);
void fm_walk_clear(fm_walk *walk);

/* The range of the variable at a place of the order, when those before it have their values. */
bool fm_walk_bounds(fm_walk *walk, unsigned place, int64_t *first, int64_t *last);
/* Are value and count polynomials along the innermost variable, for each remainder of it? */
bool fm_walk_goes_evenly(const fm_walk *walk);
/* Says that numbers are too large. Returns false. */
bool fm_walk_too_large(fm_isl_work *work);

static inline bool fm_sparse_at(const fm_sparse *line, const int64_t *at, int64_t *value)
{
    __int128 sum = line->constant;
    for (unsigned i = 0; i < line->count; i++) sum += (__int128)line->factors[i] * at[line->columns[i]];
    *value = (int64_t)sum;
    return *value == sum;
}

#endif
