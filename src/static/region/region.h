/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region.h - a region of source code: expressions, the tree of loops and accesses, and where its arrays are
 * in memory.
 */
#ifndef FATHOM_STATIC_REGION_H
#define FATHOM_STATIC_REGION_H

#include "base/table.h"

#include <fathom/static.h>
#include <fathom/status.h>

#include <stdarg.h>
#include <stdint.h>

/* ---- whole numbers ---- */

/* Whole numbers divided by positive ones, rounded down and up; the greatest common divisor. */

/* That both have in common; 0 for two zeros. */
static inline int64_t fm_greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static inline int64_t fm_floor_divide(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0);
}

static inline int64_t fm_ceil_divide(int64_t number, int64_t divisor)
{
    return number / divisor + (number % divisor > 0);
}

/* n over k */
static inline __int128 fm_binomial(__int128 n, unsigned k)
{
    __int128 result = 1;
    for (unsigned i = 0; i < k; i++) result = result * (n - i) / (i + 1);
    return result;
}

static inline __int128 fm_floor_divide_wide(__int128 number, __int128 divisor)
{
    return number / divisor - (number % divisor < 0);
}

/* ---- expressions ---- */

/*
 * Whole numbers and conditions over the parameters of a region and the variables of its loops, as trees
 * (docs/STATIC-IR.md). They live in the region's arena and never change.
 */

typedef enum fm_expr_kind {
    FM_EXPR_NUMBER,
    FM_EXPR_PARAMETER, /* index: of the region's parameters */
    FM_EXPR_VARIABLE,  /* index: of the region's variables; every loop has its own */
    FM_EXPR_ADD,
    FM_EXPR_MULTIPLY,
    FM_EXPR_QUOTIENT,  /* as in C: towards zero */
    FM_EXPR_REMAINDER, /* as in C: the sign of the left side */
    FM_EXPR_FLOOR,     /* left / right, rounded down */
    FM_EXPR_MODULO,    /* left - right * floor(left / right) */
    FM_EXPR_MIN,
    FM_EXPR_MAX,
} fm_expr_kind;

typedef struct fm_expr {
    fm_expr_kind kind;
    uint32_t index;
    int64_t number;
    const struct fm_expr *left, *right;
} fm_expr;

typedef enum fm_condition_kind {
    FM_CONDITION_TRUE,
    FM_CONDITION_FALSE,
    FM_CONDITION_NOT_NEGATIVE, /* expression >= 0 */
    FM_CONDITION_ZERO,         /* expression == 0 */
    FM_CONDITION_AND,
    FM_CONDITION_OR,
    FM_CONDITION_NOT, /* of left */
} fm_condition_kind;

typedef struct fm_condition {
    fm_condition_kind kind;
    const fm_expr *expression;
    const struct fm_condition *left, *right;
} fm_condition;

/* Each returns NULL where memory is short or an operand is NULL, so that only the last of several calls must
 * be looked at. Numbers are computed where both sides are numbers and the result fits. */
const fm_expr *fm_expr_number(fm_arena *arena, int64_t number);
const fm_expr *fm_expr_parameter(fm_arena *arena, uint32_t index);
const fm_expr *fm_expr_variable(fm_arena *arena, uint32_t index);
const fm_expr *fm_expr_binary(fm_arena *arena, fm_expr_kind kind, const fm_expr *left, const fm_expr *right);
const fm_expr *fm_expr_add(fm_arena *arena, const fm_expr *left, const fm_expr *right);
const fm_expr *fm_expr_subtract(fm_arena *arena, const fm_expr *left, const fm_expr *right);
const fm_expr *fm_expr_scale(fm_arena *arena, int64_t factor, const fm_expr *expression);
const fm_condition *fm_condition_constant(fm_arena *arena, bool value);
const fm_condition *fm_condition_of(fm_arena *arena, fm_condition_kind kind, const fm_expr *expression);
const fm_condition *fm_condition_join(fm_arena *arena, fm_condition_kind kind, const fm_condition *left,
                                      const fm_condition *right);

/*
 * The value, by the values of parameters and variables, worked out node by node: no simplification, so that
 * it can judge those that simplify. False: a division by something not positive, or a number that does not
 * fit 64 bits.
 */
bool fm_expr_value(const fm_expr *expression, const int64_t *parameters, const int64_t *variables,
                   int64_t *value);
bool fm_condition_value(const fm_condition *condition, const int64_t *parameters, const int64_t *variables,
                        bool *value);

/* The same of two numbers. */
bool fm_expr_compute(fm_expr_kind kind, int64_t left, int64_t right, int64_t *value);

/* Does it use any variable of a loop? This one? */
bool fm_expr_has_variable(const fm_expr *expression);
bool fm_expr_uses(const fm_expr *expression, uint32_t variable);

/* ---- the tree ---- */

/*
 * A region of source code as a tree: parameters, arrays, loops, guards, statements with their accesses.
 * docs/STATIC-IR.md says what each part means; region_read.c and region_write.c are its text form.
 *
 * Front ends make a region, everything else only reads it. All of it lives in the region's arena.
 */

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

/* ---- text ---- */

/* path: of the text, for messages. FM_E_FORMAT with the line in the text where something is wrong. */
fm_status fm_region_parse(fm_region **region, const char *text, size_t size, const char *path,
                          fm_error *error);

/* A failure at a place in the source; place->file 0: without. */
fm_status fm_region_fail(fm_error *error, fm_status status, const fm_region *region,
                         const fm_region_place *place, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
fm_status fm_region_fail_list(fm_error *error, fm_status status, const fm_region *region,
                              const fm_region_place *place, const char *format, va_list arguments);
/* The values of its parameters, for each one; FM_E_ARGUMENT: one has none. */
fm_status fm_region_values(const fm_region *region, int64_t *values, fm_error *error);

/* ---- copies ---- */

/*
 * A region once more, in an arena of its own, so that its tree may be changed; and expressions with a
 * variable replaced.
 */

/* Numbers of statements, accesses and variables stay. The copy is of no origin. */
fm_status fm_region_copy(fm_region **copy, const fm_region *region, fm_error *error);

/* The copy in `arena`, with every use of the variable replaced by `by`; by NULL: just a copy. NULL: no
 * memory. */
const fm_expr *fm_expr_replace(fm_arena *arena, const fm_expr *expression, uint32_t variable,
                               const fm_expr *by);
/* In all bounds, conditions and subscripts of these nodes and what is behind and inside them. False: no
 * memory. */
bool fm_nodes_replace(fm_arena *arena, const fm_region *region, fm_region_node *node, uint32_t variable,
                      const fm_expr *by);

/* Are they the same tree? Parameters are compared by their values, where they have any. */
bool fm_expr_same(const fm_region *region, const fm_expr *left, const fm_expr *right);

/* ---- memory ---- */

/*
 * Where the arrays of a region are in memory, for given values of the parameters.
 *
 * Every array begins a block of its own, so that arrays share no blocks. The address of an element is origin
 * + sum of subscript * stride.
 */

typedef struct fm_placed_array {
    int64_t origin; /* address of the element whose subscripts are all 0, be it in the array or not */
    int64_t strides[FM_MOST_DIMENSIONS]; /* bytes */
    int64_t base, end;                   /* the array is [base, end) */
} fm_placed_array;

typedef struct fm_placement {
    uint64_t granularity;
    int64_t *parameters; /* values */
    size_t array_count;
    fm_placed_array *arrays;
} fm_placement;

/* FM_E_ARGUMENT: a parameter is open, an assumption does not hold, an extent is negative, an address does not
 * fit. An array whose length nobody knows gets room for what the region touches. */
fm_status fm_placement_create(fm_placement **placement, const fm_region *region, uint64_t granularity,
                              fm_layout layout, fm_error *error);
void fm_placement_destroy(fm_placement *placement); /* NULL is fine */

/* Between which numbers an expression is, given those of the variables; false: it does not fit 64 bits, or
 * divides by something that is not positive. Never too narrow; exact for expressions that use a variable
 * once. */
typedef struct fm_range {
    int64_t least, most;
} fm_range;
bool fm_expr_range(const fm_expr *expression, const int64_t *parameters, const fm_range *variables,
                   fm_range *range);

/* Parameters that have values, "n = 100, m = 20", and notes, a line each. To be freed; NULL: no memory. */
char *fm_region_list_values(const fm_region *region);
char *fm_region_list_notes(const fm_region *region);

#endif
