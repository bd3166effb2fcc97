/* SPDX-License-Identifier: Apache-2.0 */
/* clang_loop.h - one iteration of a loop (clang_iteration.c), and the loop made of it (clang_loops.c). */
#ifndef FATHOM_CLANG_LOOP_H
#define FATHOM_CLANG_LOOP_H

#include "clang_maker.h"

typedef struct loop_parts {
    CXCursor where, condition, increment, body; /* null: not there */
    bool body_first;
} loop_parts;

/* A variable that an iteration changes. */
typedef struct entry {
    variable *variable;
    value before;          /* the loop */
    fm_atom *unknown;      /* at the beginning of an iteration; of a pointer: steps since the loop began */
    const fm_form *first;  /* of that: in the first iteration */
    const fm_form *amount; /* that it changes by; NULL: not the same every time */
} entry;

typedef struct entries {
    size_t count;
    entry *at;
} entries;

/* What may have to be worked off again: before one iteration. */
typedef struct beginning {
    variable_set_of changed;
    state *before;
    fm_front_list *list;
    fm_front_node **end;
} beginning;

entries loop_enter(fm_front *f, const loop_parts *p, const variable_set_of *set);
beginning loop_begin(fm_front *f, const loop_parts *p);
void loop_reset(fm_front *f, const beginning *b); /* everything as before the iteration */
/*
 * Variables that were changed though the text did not show it: those that were seen for the first time
 * inside (members, what a called function changes). Then the iteration is worked off once more, with them.
 */
bool loop_begin_again(fm_front *f, beginning *b);
/* What each variable changes by. Amounts may use others that do not change at all. */
void loop_find_amounts(fm_front *f, const loop_parts *p, entries *all);

/* Pointers that change places in every iteration: two and two of them; count 0: none. clang_swaps.c */
typedef struct swaps {
    size_t count;
    variable **variables;
    value *values;     /* before the loop */
    variable *counter; /* changes by 1 in every iteration */
} swaps;
swaps loop_find_swaps(fm_front *f, const loop_parts *p, entries *all);
void swaps_leave_out(const swaps *of, variable_set_of *set);
void swaps_set(fm_front *f, const swaps *of, unsigned side);
const fm_guard *swaps_condition(fm_front *f, const swaps *of, const entries *all);
void swaps_merge(fm_front *f, const loop_parts *p, const swaps *of, const entries *all, const state *even,
                 state *odd);

#endif
