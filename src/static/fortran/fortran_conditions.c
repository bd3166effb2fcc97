/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_conditions.c - conditions over parameters and variables of loops, as the region's text has them. */
#include "static/fortran/fortran_walker.h"

#include <string.h>

static const fm_guard *guard_of_comparison(ft_walker *walker, const ft_expression *expression)
{
    static const struct {
        int operator;
        const char *text;
    } signs[] = {{FT_EQ, "=="}, {FT_NE, "!="}, {FT_LT, "<"}, {FT_LE, "<="}, {FT_GT, ">"}, {FT_GE, ">="}};
    size_t i = 0;
    while (i < 6 && signs[i].operator!= expression->operator) i++;
    if (i == 6) {
        fm_ft_refuse(walker->context, &expression->place, "this is no condition");
        return NULL;
    }
    const fm_form *left = fm_ft_integer(walker, expression->left);
    const fm_form *right = left ? fm_ft_integer(walker, expression->right) : NULL;
    return right ? fm_guard_compared(&walker->front, signs[i].text, left, right) : NULL;
}

/* A truth value that somebody else knows: a parameter that is 0 or 1. */
static const fm_guard *guard_of_truth(ft_walker *walker, const ft_expression *expression)
{
    ft_reference reference;
    const char *text = fm_ft_text(walker->context, &expression->place),
               *why = "which way it goes is not known";
    if (fm_ft_is_variable(walker, expression) && fm_ft_resolve(walker, expression, &reference)) {
        const fm_form *value =
            reference.rank || reference.memory ? NULL : fm_ft_known(walker, reference.object);
        if (value && reference.layout.base == FT_LOGICAL_TYPE)
            return fm_guard_compared(&walker->front, "!=", value, fm_form_number(&walker->front, 0));
        if (reference.object->why) why = reference.object->why;
    }
    fm_ft_refuse(walker->context, &expression->place, "the condition '%.150s' depends on data: %s",
                 text ? text : "", why);
    return NULL;
}

const fm_guard *fm_ft_joined(ft_walker *walker, fm_guard_kind kind, const fm_guard *left,
                             const fm_guard *right, const ft_place *place, const char *too_long)
{
    if (!left || !right) return NULL;
    if (left->size + right->size > 4 * FT_MOST_ATOM) {
        fm_ft_fail(walker->context, FM_E_LIMIT, place, "%s", too_long);
        return NULL;
    }
    return fm_guard_joined(&walker->front, kind, left, right);
}

static const fm_guard *guard_of_joined(ft_walker *walker, const ft_expression *expression)
{
    fm_front *f = &walker->front;
    const int operator= expression->operator;
    const fm_guard *left = fm_ft_condition(walker, expression->left);
    const fm_guard *right = left ? fm_ft_condition(walker, expression->right) : NULL;
    const fm_guard *both = fm_ft_joined(walker, operator== FT_OR ? FM_GUARD_OR : FM_GUARD_AND, left, right,
                                        &expression->place, "a condition is too long");
    if (!both || operator== FT_AND || operator== FT_OR) return both;
    /* Both or none; one and not the other. */
    const fm_guard *not_left = fm_guard_joined(f, FM_GUARD_NOT, left, NULL),
                   *not_right = fm_guard_joined(f, FM_GUARD_NOT, right, NULL);
    if (!not_left || !not_right) return NULL;
    const bool same = operator== FT_EQV;
    const fm_guard *one = same ? both : fm_guard_joined(f, FM_GUARD_AND, left, not_right),
                   *other = fm_guard_joined(f, FM_GUARD_AND, not_left, same ? not_right : right);
    return one && other ? fm_guard_joined(f, FM_GUARD_OR, one, other) : NULL;
}

/* Says "depends on data" rather than "not affine", which is what is wrong with a(i) > 0. */
static bool compares_data(ft_walker *walker, const ft_expression *expression)
{
    ft_base base;
    fm_region_operations operations = walker->operations;
    const fm_front_node *statement = walker->front.statement;
    fm_front_touch **accesses = statement->accesses_end;
    ft_context *context = walker->context;
    if (expression->kind == FT_X_INTEGER) return false;
    if (expression->kind == FT_X_REAL || expression->kind == FT_X_STRING) return true;
    const fm_form *value;
    if (!fm_ft_quiet_integer(walker, expression, &value) || value) return false;
    /* A plain scalar has a reason of its own. */
    if (expression->kind == FT_X_NAME) {
        ft_object *object = fm_ft_object_of_name(walker, expression->text, &expression->place);
        return object && object->layout.base != FT_INTEGER_TYPE;
    }
    fm_error kept, *error = context->error;
    context->error = &kept;
    bool touched = expression->kind == FT_X_INDEX && fm_ft_is_variable(walker, expression);
    bool real = !touched && expression->kind != FT_X_INDEX && fm_ft_data(walker, expression, NULL, &base) &&
                (*accesses || walker->front.statement != statement || base != FT_INTEGER_TYPE);
    context->error = error;
    if (context->status != FM_E_NOMEM) context->status = FM_OK;
    walker->operations = operations;
    if (walker->front.statement == statement) {
        walker->front.statement->accesses_end = accesses;
        *accesses = NULL;
    }
    return touched || real;
}

const fm_guard *fm_ft_condition(ft_walker *walker, const ft_expression *expression)
{
    if (walker->context->status != FM_OK) return NULL;
    if (expression->kind == FT_X_LOGICAL)
        return fm_guard_constant(&walker->front, expression->operator== FT_TRUE);
    if (expression->kind == FT_X_UNARY && expression->operator== FT_NOT)
        return fm_guard_joined(&walker->front, FM_GUARD_NOT, fm_ft_condition(walker, expression->left), NULL);
    if (expression->kind != FT_X_BINARY) return guard_of_truth(walker, expression);
    const int operator= expression->operator;
    if (operator== FT_AND || operator== FT_OR || operator== FT_EQV || operator== FT_NEQV)
        return guard_of_joined(walker, expression);
    if (!compares_data(walker, expression->left) && !compares_data(walker, expression->right))
        return guard_of_comparison(walker, expression);
    const char *text = fm_ft_text(walker->context, &expression->place);
    fm_ft_refuse(walker->context, &expression->place,
                 "the condition '%.150s' depends on data: which way it goes is not known", text ? text : "");
    return NULL;
}
