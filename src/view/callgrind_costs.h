/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callgrind_costs.h - the costs of an attribution as callgrind's format has them: of each line of each
 * function itself, and of each call with all that it led to. Without any text.
 */
#ifndef FATHOM_VIEW_CALLGRIND_COSTS_H
#define FATHOM_VIEW_CALLGRIND_COSTS_H

#include <fathom/model.h>

/* Refs, MissL1, MissL2, MissLL. */
enum { FM_COSTS = 4 };
typedef struct fm_cost {
    double of[FM_COSTS];
} fm_cost;

/* A function as the linker knows it: inlined functions are part of it. */
typedef struct fm_cost_function {
    uint32_t module;  /* FM_NONE: none */
    uint32_t file;    /* number of its file */
    const char *name; /* NULL: not known */
    uint64_t address; /* of a site in it, for those without a name */
} fm_cost_function;

/* What a line costs, or a call made from it. */
typedef struct fm_cost_line {
    uint32_t function, file, line;
    uint32_t callee; /* function; FM_NONE: the line itself */
    fm_cost cost;
} fm_cost_line;

typedef struct fm_cost_table {
    struct fm_arena *texts;
    size_t file_count, function_count, line_count;
    const char **files; /* NULL: not known */
    fm_cost_function *functions;
    fm_cost_line
        *lines; /* by function (those of its own file first), file, line; calls behind the line itself */
} fm_cost_table;

/* blocks: sizes of the caches for MissL1, MissL2, MissLL; NULL: Refs only. The attribution is sound. */
fm_status fm_cost_table_make(fm_cost_table *table, const fm_attribution *of, const uint64_t blocks[3],
                             fm_error *error);
void fm_cost_table_clear(fm_cost_table *table);

#endif
