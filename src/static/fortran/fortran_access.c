/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_access.c - what a statement touches and computes: loads of its operands from left to right, and
 * operations by kind (docs/STATIC-IR.md). Constants are worked out by the compiler, and cost nothing.
 */
#include "static/fortran/fortran_walker.h"

#include <stdlib.h>
#include <string.h>

/* Known before the program runs. */
static bool is_constant(ft_walker *walker, const ft_expression *expression)
{
    switch (expression->kind) {
    case FT_X_INTEGER:
    case FT_X_REAL:
    case FT_X_LOGICAL:
    case FT_X_STRING:
    case FT_X_COMPLEX:
        return true;
    case FT_X_NAME: {
        const ft_symbol *symbol = fm_ft_lookup(walker, walker->activation->unit, expression->text, false);
        return symbol && symbol->constant && !symbol->rank;
    }
    case FT_X_UNARY:
        return is_constant(walker, expression->left);
    case FT_X_BINARY:
        return is_constant(walker, expression->left) && is_constant(walker, expression->right);
    default:
        return false;
    }
}

static void count_sum(fm_region_operations *operations, ft_base base, bool comparison)
{
    if (base == FT_REAL_TYPE)
        operations->adds++;
    else if (base == FT_COMPLEX_TYPE)
        operations->adds += 2;
    else if (base == FT_INTEGER_TYPE || (comparison && base == FT_CHARACTER_TYPE))
        operations->integers++;
}

/* left * right, left / right */
static void count_product(fm_region_operations *operations, ft_base left, ft_base right, bool divide)
{
    bool l = left == FT_COMPLEX_TYPE, r = right == FT_COMPLEX_TYPE;
    if (left == FT_INTEGER_TYPE && right == FT_INTEGER_TYPE) {
        operations->integers++;
    } else if (!l && !r) {
        *(divide ? &operations->divides : &operations->multiplies) += 1;
    } else if (divide && r) { /* by the conjugate: numerator, square of the right side, two quotients */
        operations->multiplies += l ? 6 : 4;
        operations->adds += l ? 3 : 1;
        operations->divides += 2;
    } else if (divide) {
        operations->divides += 2;
    } else if (l && r) {
        operations->multiplies += 4;
        operations->adds += 2;
    } else {
        operations->multiplies += 2;
    }
}

/* A small whole exponent is products, any other a function of the mathematical library. */
static void count_power(fm_region_operations *operations, const ft_expression *expression, ft_base left,
                        ft_base right)
{
    const ft_expression *exponent = expression->right;
    if (exponent->kind == FT_X_INTEGER && strlen(exponent->text) < 3) {
        int number = atoi(exponent->text), products = -1;
        for (int rest = number; rest > 0; rest /= 2) products += 1 + rest % 2;
        for (int i = 1; i < products; i++) count_product(operations, left, left, false);
    } else if (left == FT_INTEGER_TYPE && right == FT_INTEGER_TYPE) {
        operations->integers++;
    } else {
        operations->specials++;
    }
}

static ft_base wider_type(ft_base left, ft_base right)
{
    if (left == FT_COMPLEX_TYPE || right == FT_COMPLEX_TYPE) return FT_COMPLEX_TYPE;
    if (left == FT_REAL_TYPE || right == FT_REAL_TYPE) return FT_REAL_TYPE;
    return left;
}

static bool data_of_binary(ft_walker *walker, const ft_expression *expression, const ft_positions *positions,
                   ft_base *base)
{
    ft_base left, right;
    fm_region_operations *operations = &walker->operations;
    if (!fm_ft_data(walker, expression->left, positions, &left) ||
        !fm_ft_data(walker, expression->right, positions, &right))
        return false;
    bool constant = is_constant(walker, expression);
    fm_region_operations before = *operations;
    *base = wider_type(left, right);
    switch (expression->operator) {
    case '+':
    case '-':
        count_sum(operations, *base, false);
        break;
    case '*':
    case '/':
        count_product(operations, left, right, expression->operator== '/');
        break;
    case FT_POWER:
        count_power(operations, expression, left, right);
        *base = left == FT_INTEGER_TYPE ? right : left;
        break;
    case FT_CONCATENATE:
        break;
    case FT_AND:
    case FT_OR:
    case FT_EQV:
    case FT_NEQV:
        *base = FT_LOGICAL_TYPE;
        break;
    default:
        count_sum(operations, *base, true);
        *base = FT_LOGICAL_TYPE;
    }
    if (constant) *operations = before;
    return true;
}

/* A scalar in a register, or in memory where that is asked for. Whole numbers that the region knows are
 * bounds and subscripts: they stay in registers. */
static bool scalar_memory(ft_walker *walker, const ft_reference *reference)
{
    ft_object *object = reference->object;
    if (!walker->context->options || !walker->context->options->scalars || object->symbol->constant ||
        object->loop)
        return true;
    bool counted = object->layout.base == FT_INTEGER_TYPE || object->layout.base == FT_LOGICAL_TYPE;
    if (counted && (object->value || object->untouched)) return true;
    if (!object->scalar) {
        const char *name = object->member ? object->member : object->symbol->name;
        const fm_front_array like = {.bytes = object->layout.bytes ? object->layout.bytes : 1};
        object->scalar = fm_ft_new_memory(walker, name, &like,
                                          object->symbol->place.line ? &object->symbol->place
                                                                     : &reference->expression->place);
        if (!object->scalar) return false;
    }
    return true;
}

/* Loads of subscripts that are elements themselves come first: the array is assumed to be the identity. */
static bool subscript_loads(ft_walker *walker, const ft_expression *expression, bool inside)
{
    for (; expression; expression = expression->next) {
        if (!subscript_loads(walker, expression->left, inside) ||
            !subscript_loads(walker, expression->right, inside) ||
            !subscript_loads(walker, expression->third, inside) ||
            !subscript_loads(walker, expression->arguments, true))
            return false;
        if (inside && expression->kind == FT_X_INDEX && fm_ft_is_variable(walker, expression)) {
            ft_reference reference;
            if (!fm_ft_resolve(walker, expression, &reference) ||
                !fm_ft_access(walker, false, &reference, NULL))
                return false;
        }
        if (!inside) break; /* its own neighbours are other operands */
    }
    return true;
}

bool fm_ft_touch(ft_walker *walker, bool store, ft_reference *reference, const ft_positions *positions)
{
    if (!reference->memory) {
        if (!scalar_memory(walker, reference)) return false;
        const ft_object *object = reference->object;
        if (object->loop || !object->scalar) return true;
        bool counted = object->layout.base == FT_INTEGER_TYPE || object->layout.base == FT_LOGICAL_TYPE;
        if (counted && (object->value || object->untouched)) return true;
        reference->memory = object->scalar;
    }
    if (reference->layout.base == FT_DERIVED_TYPE && reference->object->layout.unit)
        return fm_ft_refuse(walker->context, &reference->expression->place,
                            "a whole element of derived type '%.100s' is not followed",
                            reference->layout.record->name);
    if (walker->front.assumptions && !subscript_loads(walker, reference->expression, false)) return false;
    return fm_ft_access(walker, store, reference, positions);
}

static bool data_of_variable(ft_walker *walker, const ft_expression *expression, const ft_positions *positions,
                     ft_base *base)
{
    ft_reference reference;
    if (!fm_ft_resolve(walker, expression, &reference)) return false;
    *base = reference.layout.base;
    return fm_ft_touch(walker, false, &reference, positions);
}

static bool data_of_call(ft_walker *walker, const ft_expression *expression, const ft_positions *positions,
                 ft_base *base)
{
    const char *name = expression->left->text;
    ft_unit *unit = fm_ft_procedure(walker, walker->activation->unit, name);
    if (unit) {
        if (unit->kind != FT_FUNCTION)
            return fm_ft_fail(walker->context, FM_E_FORMAT, &expression->place, "'%.100s' is a subroutine",
                              name);
        if (positions)
            return fm_ft_refuse(walker->context, &expression->place,
                                "a call of '%.100s' inside an assignment of arrays", name);
        return fm_ft_call(walker, expression, unit, base);
    }
    const ft_symbol *symbol = fm_ft_lookup(walker, walker->activation->unit, name, false);
    bool known = false;
    if (symbol && symbol->function)
        return fm_ft_refuse(walker->context, &expression->place,
                            "'%.100s' is a statement function (line %u), which is not followed", name,
                            symbol->place.line);
    if (!symbol || !symbol->external) {
        if (!fm_ft_intrinsic(walker, expression, positions, base, &known)) return false;
        if (known) return true;
    }
    return fm_ft_refuse(walker->context, &expression->place, "a call of '%.100s', which is not in this file",
                        name);
}

bool fm_ft_data(ft_walker *walker, const ft_expression *expression, const ft_positions *positions,
                ft_base *base)
{
    if (walker->context->status != FM_OK) return false;
    switch (expression->kind) {
    case FT_X_INTEGER:
        *base = FT_INTEGER_TYPE;
        return true;
    case FT_X_REAL:
        *base = FT_REAL_TYPE;
        return true;
    case FT_X_LOGICAL:
        *base = FT_LOGICAL_TYPE;
        return true;
    case FT_X_STRING:
        *base = FT_CHARACTER_TYPE;
        return true;
    case FT_X_COMPLEX:
        *base = FT_COMPLEX_TYPE;
        return true;
    case FT_X_UNARY:
        if (!fm_ft_data(walker, expression->left, positions, base)) return false;
        if (expression->operator== '-' && !is_constant(walker, expression->left))
            count_sum(&walker->operations, *base, false);
        return true;
    case FT_X_BINARY:
        return data_of_binary(walker, expression, positions, base);
    case FT_X_NAME:
    case FT_X_MEMBER:
    case FT_X_INDEX:
        return fm_ft_is_variable(walker, expression) ? data_of_variable(walker, expression, positions, base)
                                                     : data_of_call(walker, expression, positions, base);
    default:
        return fm_ft_refuse(walker->context, &expression->place, "this is no operand");
    }
}
