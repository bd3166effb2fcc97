/* SPDX-License-Identifier: Apache-2.0 */
/* expression.c - makes expressions and conditions, and works them out for given values. */
#include "static/region/region.h"

static const fm_expr *make_expression(fm_arena *arena, fm_expr expression)
{
    fm_expr *made = fm_arena_allocate(arena, 1, sizeof *made);
    if (made) *made = expression;
    return made;
}

const fm_expr *fm_expr_number(fm_arena *arena, int64_t number)
{
    return make_expression(arena, (fm_expr){.kind = FM_EXPR_NUMBER, .number = number});
}

const fm_expr *fm_expr_parameter(fm_arena *arena, uint32_t index)
{
    return make_expression(arena, (fm_expr){.kind = FM_EXPR_PARAMETER, .index = index});
}

const fm_expr *fm_expr_variable(fm_arena *arena, uint32_t index)
{
    return make_expression(arena, (fm_expr){.kind = FM_EXPR_VARIABLE, .index = index});
}

/* Right sides of divisions are positive, so that nothing but sums and products can overflow. */
bool fm_expr_compute(fm_expr_kind kind, int64_t left, int64_t right, int64_t *value)
{
    switch (kind) {
    case FM_EXPR_ADD:
        return !__builtin_add_overflow(left, right, value);
    case FM_EXPR_MULTIPLY:
        return !__builtin_mul_overflow(left, right, value);
    case FM_EXPR_MIN:
        *value = left < right ? left : right;
        return true;
    case FM_EXPR_MAX:
        *value = left > right ? left : right;
        return true;
    default:
        break;
    }
    if (right <= 0) return false;
    switch (kind) {
    case FM_EXPR_QUOTIENT:
        *value = left / right;
        return true;
    case FM_EXPR_REMAINDER:
        *value = left % right;
        return true;
    case FM_EXPR_FLOOR:
        *value = fm_floor_divide(left, right);
        return true;
    case FM_EXPR_MODULO:
        *value = left - right * fm_floor_divide(left, right);
        return true;
    default:
        return false;
    }
}

const fm_expr *fm_expr_binary(fm_arena *arena, fm_expr_kind kind, const fm_expr *left, const fm_expr *right)
{
    if (!left || !right) return NULL;
    int64_t value;
    if (left->kind == FM_EXPR_NUMBER && right->kind == FM_EXPR_NUMBER &&
        fm_expr_compute(kind, left->number, right->number, &value))
        return fm_expr_number(arena, value);
    if (kind == FM_EXPR_ADD && left->kind == FM_EXPR_NUMBER && left->number == 0) return right;
    if (kind == FM_EXPR_ADD && right->kind == FM_EXPR_NUMBER && right->number == 0) return left;
    if (kind == FM_EXPR_MULTIPLY && left->kind == FM_EXPR_NUMBER && left->number == 1) return right;
    if (kind == FM_EXPR_MULTIPLY && right->kind == FM_EXPR_NUMBER && right->number == 1) return left;
    return make_expression(arena, (fm_expr){.kind = kind, .left = left, .right = right});
}

const fm_expr *fm_expr_add(fm_arena *arena, const fm_expr *left, const fm_expr *right)
{
    return fm_expr_binary(arena, FM_EXPR_ADD, left, right);
}

const fm_expr *fm_expr_scale(fm_arena *arena, int64_t factor, const fm_expr *expression)
{
    return fm_expr_binary(arena, FM_EXPR_MULTIPLY, fm_expr_number(arena, factor), expression);
}

const fm_expr *fm_expr_subtract(fm_arena *arena, const fm_expr *left, const fm_expr *right)
{
    return fm_expr_add(arena, left, fm_expr_scale(arena, -1, right));
}

static const fm_condition *make_condition(fm_arena *arena, fm_condition condition)
{
    fm_condition *made = fm_arena_allocate(arena, 1, sizeof *made);
    if (made) *made = condition;
    return made;
}

const fm_condition *fm_condition_constant(fm_arena *arena, bool value)
{
    return make_condition(arena, (fm_condition){.kind = value ? FM_CONDITION_TRUE : FM_CONDITION_FALSE});
}

const fm_condition *fm_condition_of(fm_arena *arena, fm_condition_kind kind, const fm_expr *expression)
{
    if (!expression) return NULL;
    return make_condition(arena, (fm_condition){.kind = kind, .expression = expression});
}

const fm_condition *fm_condition_join(fm_arena *arena, fm_condition_kind kind, const fm_condition *left,
                                      const fm_condition *right)
{
    if (!left || (!right && kind != FM_CONDITION_NOT)) return NULL;
    return make_condition(arena, (fm_condition){.kind = kind, .left = left, .right = right});
}

bool fm_expr_value(const fm_expr *expression, const int64_t *parameters, const int64_t *variables,
                   int64_t *value)
{
    int64_t left, right;
    switch (expression->kind) {
    case FM_EXPR_NUMBER:
        *value = expression->number;
        return true;
    case FM_EXPR_PARAMETER:
        *value = parameters[expression->index];
        return true;
    case FM_EXPR_VARIABLE:
        *value = variables[expression->index];
        return true;
    default:
        break;
    }
    return fm_expr_value(expression->left, parameters, variables, &left) &&
           fm_expr_value(expression->right, parameters, variables, &right) &&
           fm_expr_compute(expression->kind, left, right, value);
}

bool fm_condition_value(const fm_condition *condition, const int64_t *parameters, const int64_t *variables,
                        bool *value)
{
    int64_t number;
    switch (condition->kind) {
    case FM_CONDITION_TRUE:
        *value = true;
        return true;
    case FM_CONDITION_FALSE:
        *value = false;
        return true;
    case FM_CONDITION_NOT_NEGATIVE:
    case FM_CONDITION_ZERO:
        if (!fm_expr_value(condition->expression, parameters, variables, &number)) return false;
        *value = condition->kind == FM_CONDITION_ZERO ? number == 0 : number >= 0;
        return true;
    case FM_CONDITION_NOT:
        if (!fm_condition_value(condition->left, parameters, variables, value)) return false;
        *value = !*value;
        return true;
    case FM_CONDITION_AND:
    case FM_CONDITION_OR:
        if (!fm_condition_value(condition->left, parameters, variables, value)) return false;
        if (*value == (condition->kind == FM_CONDITION_OR)) return true;
        return fm_condition_value(condition->right, parameters, variables, value);
    }
    return false;
}

bool fm_expr_has_variable(const fm_expr *expression)
{
    if (expression->kind == FM_EXPR_VARIABLE) return true;
    if (!expression->left) return false;
    return fm_expr_has_variable(expression->left) || fm_expr_has_variable(expression->right);
}

bool fm_expr_uses(const fm_expr *expression, uint32_t variable)
{
    if (expression->kind == FM_EXPR_VARIABLE) return expression->index == variable;
    return expression->left &&
           (fm_expr_uses(expression->left, variable) || fm_expr_uses(expression->right, variable));
}
