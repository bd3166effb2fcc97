/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_conditions.c - conditions over parameters and variables of loops, as the region's text has them. */
#include "static/fortran/fortran_walker.h"

#include <string.h>

static bool comparison(ft_walker *walker, const ft_expression *expression, ft_condition *condition)
{
    static const struct {
        int operator;
        const char *text;
    } signs[] = {{FT_EQ, "=="}, {FT_NE, "!="}, {FT_LT, "<"}, {FT_LE, "<="}, {FT_GT, ">"}, {FT_GE, ">="}};
    fm_front *f = &walker->front;
    size_t i = 0;
    while (i < 6 && signs[i].operator!= expression->operator) i++;
    if (i == 6) return fm_ft_refuse(walker->context, &expression->place, "this is no condition");
    const fm_form *left = fm_ft_integer(walker, expression->left);
    const fm_form *right = left ? fm_ft_integer(walker, expression->right) : NULL;
    if (!right) return false;
    const char *first = fm_form_written(f, left), *second = fm_form_written(f, right);
    if (!first || !second) return false;
    condition->text = fm_ft_print(walker->context, "%s %s %s", first, signs[i].text, second);
    condition->simple = i >= 2;
    bool less = i == 2 || i == 3, strict = i == 2 || i == 4;
    if (condition->simple)
        condition->value = fm_form_add_number(
            f, less ? fm_form_plus(f, right, left, -1) : fm_form_plus(f, left, right, -1), strict ? -1 : 0);
    condition->equal = i == 0;
    condition->unequal = i == 1;
    if (i < 2) condition->value = fm_form_plus(f, left, right, -1);
    return condition->text && walker->context->status == FM_OK;
}

/* A truth value that somebody else knows: a parameter that is 0 or 1. */
static bool truth(ft_walker *walker, const ft_expression *expression, ft_condition *condition)
{
    ft_reference reference;
    if (!fm_ft_is_variable(walker, expression) || !fm_ft_resolve(walker, expression, &reference)) {
        const char *text = fm_ft_text(walker->context, &expression->place);
        return fm_ft_refuse(walker->context, &expression->place,
                            "the condition '%.150s' depends on data: which way it goes is not known",
                            text ? text : "");
    }
    const fm_form *value = reference.rank || reference.memory ? NULL : fm_ft_known(walker, reference.object);
    const char *text = fm_ft_text(walker->context, &expression->place);
    if (!value || reference.layout.base != FT_LOGICAL_TYPE)
        return fm_ft_refuse(walker->context, &expression->place, "the condition '%.150s' depends on data: %s",
                            text ? text : "",
                            reference.object->why ? reference.object->why : "which way it goes is not known");
    const char *shown = fm_form_written(&walker->front, value);
    condition->text = shown ? fm_ft_print(walker->context, "%s != 0", shown) : NULL;
    return condition->text != NULL;
}

static bool joined(ft_walker *walker, const ft_expression *expression, ft_condition *condition)
{
    ft_condition left = {0}, right = {0};
    if (!fm_ft_condition(walker, expression->left, &left) ||
        !fm_ft_condition(walker, expression->right, &right))
        return false;
    int operator= expression->operator;
    const char *l = left.text, *r = right.text;
    condition->simple = false;
    if (strlen(l) + strlen(r) > 4 * FT_MOST_ATOM)
        return fm_ft_fail(walker->context, FM_E_LIMIT, &expression->place, "a condition is too long");
    if (operator== FT_EQV)
        condition->text =
            fm_ft_print(walker->context, "((%s) and (%s)) or (not (%s) and not (%s))", l, r, l, r);
    else if (operator== FT_NEQV)
        condition->text =
            fm_ft_print(walker->context, "((%s) and not (%s)) or (not (%s) and (%s))", l, r, l, r);
    else
        condition->text = operator== FT_AND ? fm_ft_print(walker->context, "(%s) and (%s)", l, r)
                                            : fm_ft_print(walker->context, "(%s) or (%s)", l, r);
    return condition->text != NULL;
}

/* Says "depends on data" rather than "not affine", which is what is wrong with a(i) > 0. */
static bool compares_data(ft_walker *walker, const ft_expression *expression)
{
    ft_base base;
    fm_region_operations operations = walker->operations;
    size_t accesses = walker->accesses.size;
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
                (walker->accesses.size > accesses || base != FT_INTEGER_TYPE);
    context->error = error;
    if (context->status != FM_E_NOMEM) context->status = FM_OK;
    walker->operations = operations;
    walker->accesses.size = accesses;
    return touched || real;
}

bool fm_ft_condition(ft_walker *walker, const ft_expression *expression, ft_condition *condition)
{
    *condition = (ft_condition){0};
    if (walker->context->status != FM_OK) return false;
    if (expression->kind == FT_X_LOGICAL) {
        condition->text = expression->operator== FT_TRUE ? "true" : "false";
        return true;
    }
    if (expression->kind == FT_X_UNARY && expression->operator== FT_NOT) {
        ft_condition inner;
        if (!fm_ft_condition(walker, expression->left, &inner)) return false;
        condition->text = fm_ft_print(walker->context, "not (%s)", inner.text);
        return condition->text != NULL;
    }
    if (expression->kind == FT_X_BINARY) {
        int operator= expression->operator;
        if (operator== FT_AND || operator== FT_OR || operator== FT_EQV || operator== FT_NEQV)
            return joined(walker, expression, condition);
        if (compares_data(walker, expression->left) || compares_data(walker, expression->right)) {
            const char *text = fm_ft_text(walker->context, &expression->place);
            return fm_ft_refuse(walker->context, &expression->place,
                                "the condition '%.150s' depends on data: which way it goes is not known",
                                text ? text : "");
        }
        return comparison(walker, expression, condition);
    }
    return truth(walker, expression, condition);
}
