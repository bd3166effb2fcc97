/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expression.h - whole numbers and conditions over the parameters of a region and the variables of its loops,
 * as trees (docs/STATIC-IR.md). They live in the region's arena and never change.
 */
#ifndef FATHOM_STATIC_EXPRESSION_H
#define FATHOM_STATIC_EXPRESSION_H

#include "base/arena.h"

#include <fathom/status.h>

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

/* Does it use any variable of a loop? This one? */
bool fm_expr_has_variable(const fm_expr *expression);
bool fm_expr_uses(const fm_expr *expression, uint32_t variable);

#endif
