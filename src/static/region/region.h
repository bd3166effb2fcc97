/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region.h - a region of source code as a tree: parameters, arrays, loops, guards, statements with their
 * accesses. docs/STATIC-IR.md says what each part means; region_read.c and region_write.c are its text form.
 *
 * Front ends make a region, everything else only reads it. All of it lives in the region's arena.
 */
#ifndef FATHOM_STATIC_REGION_H
#define FATHOM_STATIC_REGION_H

#include "static/region/expression.h"

#include <fathom/static.h>

typedef struct fm_region_place {
    uint32_t file; /* number from 1; 0: not known */
    uint32_t line, column;
    uint32_t last_line; /* of a function; else 0 */
} fm_region_place;

typedef struct fm_region_parameter {
    const char *name;
    bool has_value;
    int64_t value;
} fm_region_parameter;

enum {
    FM_MOST_DIMENSIONS = 16,  /* of an array */
    FM_MOST_LOOPS = 24,       /* inside each other */
    FM_MOST_ELEMENT = 1 << 24 /* bytes */
};

typedef struct fm_region_array {
    const char *name;
    uint64_t element; /* bytes */
    unsigned dimensions;
    const fm_expr **extents; /* NULL at one end: not known */
    const int64_t *lows;     /* smallest subscript of each dimension; NULL: 0 */
    bool column_major;
    uint64_t align, offset; /* align 0: not said */
    fm_region_place place;
} fm_region_array;

typedef struct fm_region_access {
    bool store;
    uint32_t array;
    const fm_expr **subscripts; /* as many as the array has dimensions */
    uint64_t member_offset,
        member_bytes; /* bytes from the element on that are touched; 0 and its size: all */
    fm_region_place place;
    const char *text; /* as the source has it; NULL: not known */
} fm_region_access;

/* Bytes from the beginning of the element on that an access needs to be inside the array: its own, and those
 * that a member reaches over into the elements behind. */
static inline uint64_t fm_access_reach(const fm_region_array *of, const fm_region_access *access)
{
    uint64_t end = access->member_offset + access->member_bytes;
    return end > of->element ? end : of->element;
}

/* Operations of one execution of a statement. */
typedef struct fm_region_operations {
    uint64_t adds, multiplies, divides, specials; /* floating point */
    uint64_t integers;
} fm_region_operations;

typedef enum fm_node_kind { FM_NODE_LOOP, FM_NODE_IF, FM_NODE_STATEMENT } fm_node_kind;

typedef struct fm_region_node {
    fm_node_kind kind;
    fm_region_place place;
    struct fm_region_node *next; /* in the same body */
    /* LOOP: variable = first, first + step, … while it has not passed last. */
    uint32_t variable;
    const fm_expr *first, *last;
    int64_t step; /* not 0 */
    /* IF */
    const fm_condition *condition;
    /* LOOP, IF (when it holds); IF (when it does not) */
    struct fm_region_node *body, *otherwise;
    /* STATEMENT */
    uint32_t statement; /* number in the text, from 0 */
    fm_region_operations operations;
    size_t access_count;
    fm_region_access *accesses; /* in the order in which they happen */
    uint32_t first_access;      /* number of accesses[0] among all of the region's, from 0 */
} fm_region_node;

struct fm_region {
    fm_arena *arena;
    const char *function; /* NULL: no name */
    fm_region_place place;
    size_t file_count, parameter_count, array_count, variable_count, assumption_count, note_count;
    const char **files; /* files[number - 1] */
    fm_region_parameter *parameters;
    fm_region_array *arrays;
    const char **variables; /* names, for people */
    const fm_condition **assumptions;
    const char **notes;
    fm_region_node *body;
    uint32_t statement_count, access_count;
    const struct fm_region_origin *origin; /* of a changed copy (transform.h); NULL: it was read */
};

/* The access with that number. */
const fm_region_access *fm_region_access_at(const fm_region *region, uint32_t number);

#endif
