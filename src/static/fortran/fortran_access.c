/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_access.c - what a statement touches and computes: loads of its operands from left to right, and
 * operations by kind (docs/STATIC-IR.md). Constants are worked out by the compiler, and cost nothing.
 */
#include "static/fortran/fortran_walker.h"

#include <stdlib.h>
#include <string.h>

static bool data_of_intrinsic(ft_walker *walker, const ft_expression *call, const ft_positions *positions,
                              ft_base *base, bool *known);

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
    if (left == FT_INTEGER_TYPE && right == FT_INTEGER_TYPE)
        operations->integers++;
    else
        fm_front_count_product(operations, divide, left == FT_COMPLEX_TYPE, right == FT_COMPLEX_TYPE);
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

static bool data_of_variable(ft_walker *walker, const ft_expression *expression,
                             const ft_positions *positions, ft_base *base)
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
        if (!data_of_intrinsic(walker, expression, positions, base, &known)) return false;
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

/* ---- Functions of the language: what they touch and what they count as ---- */

typedef enum intrinsic_kind {
    SPECIAL,    /* a function of the mathematical library */
    CONVERSION, /* costs nothing */
    SIGN,       /* as a change of sign */
    EXTREME,    /* comparisons, one less than it has arguments */
    REMAINDER,  /* of whole numbers an operation, of others a special one */
    ROUND,      /* to a whole number, by the mathematical library */
    BITS,       /* one operation on whole numbers */
    MERGE,
    INQUIRY, /* touches nothing */
    REDUCTION,
    TRANSPOSE,
    MATMUL,
} intrinsic_kind;

/* result: FT_NO_TYPE is that of the first argument. */
typedef struct intrinsic {
    const char *name;
    intrinsic_kind kind;
    ft_base result;
} intrinsic;

static const intrinsic table[] = {
    {"sqrt", SPECIAL, FT_NO_TYPE},
    {"exp", SPECIAL, FT_NO_TYPE},
    {"log", SPECIAL, FT_NO_TYPE},
    {"log10", SPECIAL, FT_NO_TYPE},
    {"alog", SPECIAL, FT_REAL_TYPE},
    {"alog10", SPECIAL, FT_REAL_TYPE},
    {"sin", SPECIAL, FT_NO_TYPE},
    {"cos", SPECIAL, FT_NO_TYPE},
    {"tan", SPECIAL, FT_NO_TYPE},
    {"asin", SPECIAL, FT_NO_TYPE},
    {"acos", SPECIAL, FT_NO_TYPE},
    {"atan", SPECIAL, FT_NO_TYPE},
    {"atan2", SPECIAL, FT_NO_TYPE},
    {"sinh", SPECIAL, FT_NO_TYPE},
    {"cosh", SPECIAL, FT_NO_TYPE},
    {"tanh", SPECIAL, FT_NO_TYPE},
    {"asinh", SPECIAL, FT_NO_TYPE},
    {"acosh", SPECIAL, FT_NO_TYPE},
    {"atanh", SPECIAL, FT_NO_TYPE},
    {"erf", SPECIAL, FT_NO_TYPE},
    {"erfc", SPECIAL, FT_NO_TYPE},
    {"gamma", SPECIAL, FT_NO_TYPE},
    {"log_gamma", SPECIAL, FT_NO_TYPE},
    {"hypot", SPECIAL, FT_NO_TYPE},
    {"dsqrt", SPECIAL, FT_REAL_TYPE},
    {"dexp", SPECIAL, FT_REAL_TYPE},
    {"dlog", SPECIAL, FT_REAL_TYPE},
    {"dlog10", SPECIAL, FT_REAL_TYPE},
    {"dsin", SPECIAL, FT_REAL_TYPE},
    {"dcos", SPECIAL, FT_REAL_TYPE},
    {"dtan", SPECIAL, FT_REAL_TYPE},
    {"datan", SPECIAL, FT_REAL_TYPE},
    {"datan2", SPECIAL, FT_REAL_TYPE},
    {"csqrt", SPECIAL, FT_COMPLEX_TYPE},
    {"cexp", SPECIAL, FT_COMPLEX_TYPE},
    {"cabs", SPECIAL, FT_REAL_TYPE},
    {"real", CONVERSION, FT_REAL_TYPE},
    {"dble", CONVERSION, FT_REAL_TYPE},
    {"dreal", CONVERSION, FT_REAL_TYPE},
    {"float", CONVERSION, FT_REAL_TYPE},
    {"dfloat", CONVERSION, FT_REAL_TYPE},
    {"sngl", CONVERSION, FT_REAL_TYPE},
    {"int", CONVERSION, FT_INTEGER_TYPE},
    {"ifix", CONVERSION, FT_INTEGER_TYPE},
    {"idint", CONVERSION, FT_INTEGER_TYPE},
    {"cmplx", CONVERSION, FT_COMPLEX_TYPE},
    {"dcmplx", CONVERSION, FT_COMPLEX_TYPE},
    {"aimag", CONVERSION, FT_REAL_TYPE},
    {"dimag", CONVERSION, FT_REAL_TYPE},
    {"logical", CONVERSION, FT_LOGICAL_TYPE},
    {"ichar", CONVERSION, FT_INTEGER_TYPE},
    {"iachar", CONVERSION, FT_INTEGER_TYPE},
    {"char", CONVERSION, FT_CHARACTER_TYPE},
    {"achar", CONVERSION, FT_CHARACTER_TYPE},
    {"conjg", SIGN, FT_NO_TYPE},
    {"dconjg", SIGN, FT_COMPLEX_TYPE},
    {"abs", SIGN, FT_NO_TYPE},
    {"dabs", SIGN, FT_REAL_TYPE},
    {"iabs", SIGN, FT_INTEGER_TYPE},
    {"sign", SIGN, FT_NO_TYPE},
    {"dsign", SIGN, FT_REAL_TYPE},
    {"dim", SIGN, FT_NO_TYPE},
    {"min", EXTREME, FT_NO_TYPE},
    {"max", EXTREME, FT_NO_TYPE},
    {"amin1", EXTREME, FT_REAL_TYPE},
    {"amax1", EXTREME, FT_REAL_TYPE},
    {"dmin1", EXTREME, FT_REAL_TYPE},
    {"dmax1", EXTREME, FT_REAL_TYPE},
    {"min0", EXTREME, FT_INTEGER_TYPE},
    {"max0", EXTREME, FT_INTEGER_TYPE},
    {"mod", REMAINDER, FT_NO_TYPE},
    {"amod", REMAINDER, FT_REAL_TYPE},
    {"dmod", REMAINDER, FT_REAL_TYPE},
    {"modulo", REMAINDER, FT_NO_TYPE},
    {"floor", ROUND, FT_INTEGER_TYPE},
    {"ceiling", ROUND, FT_INTEGER_TYPE},
    {"nint", ROUND, FT_INTEGER_TYPE},
    {"aint", ROUND, FT_NO_TYPE},
    {"anint", ROUND, FT_NO_TYPE},
    {"iand", BITS, FT_INTEGER_TYPE},
    {"ior", BITS, FT_INTEGER_TYPE},
    {"ieor", BITS, FT_INTEGER_TYPE},
    {"not", BITS, FT_INTEGER_TYPE},
    {"ishft", BITS, FT_INTEGER_TYPE},
    {"shiftl", BITS, FT_INTEGER_TYPE},
    {"shiftr", BITS, FT_INTEGER_TYPE},
    {"btest", BITS, FT_LOGICAL_TYPE},
    {"popcnt", BITS, FT_INTEGER_TYPE},
    {"merge", MERGE, FT_NO_TYPE},
    {"tiny", INQUIRY, FT_REAL_TYPE},
    {"huge", INQUIRY, FT_REAL_TYPE},
    {"epsilon", INQUIRY, FT_REAL_TYPE},
    {"size", INQUIRY, FT_INTEGER_TYPE},
    {"lbound", INQUIRY, FT_INTEGER_TYPE},
    {"ubound", INQUIRY, FT_INTEGER_TYPE},
    {"kind", INQUIRY, FT_INTEGER_TYPE},
    {"len", INQUIRY, FT_INTEGER_TYPE},
    {"present", INQUIRY, FT_LOGICAL_TYPE},
    {"allocated", INQUIRY, FT_LOGICAL_TYPE},
    {"sum", REDUCTION, FT_NO_TYPE},
    {"product", REDUCTION, FT_NO_TYPE},
    {"maxval", REDUCTION, FT_NO_TYPE},
    {"minval", REDUCTION, FT_NO_TYPE},
    {"dot_product", REDUCTION, FT_NO_TYPE},
    {"transpose", TRANSPOSE, FT_NO_TYPE},
    {"matmul", MATMUL, FT_NO_TYPE},
};

static const intrinsic *find_intrinsic(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0) return &table[i];
    return NULL;
}

bool fm_ft_is_elemental(const char *name)
{
    const intrinsic *known = find_intrinsic(name);
    return known && known->kind < INQUIRY;
}

static void count_intrinsic(ft_walker *walker, const intrinsic *known, ft_base base, unsigned arguments)
{
    fm_region_operations *operations = &walker->operations;
    bool whole = base == FT_INTEGER_TYPE;
    switch (known->kind) {
    case SPECIAL:
    case ROUND:
        operations->specials++;
        break;
    case SIGN: /* of a complex number it is a root */
        *(whole                                                        ? &operations->integers
          : base == FT_COMPLEX_TYPE && strcmp(known->name, "abs") == 0 ? &operations->specials
                                                                       : &operations->adds) += 1;
        break;
    case EXTREME:
        *(whole ? &operations->integers : &operations->adds) += arguments - 1;
        break;
    case REMAINDER:
        *(whole ? &operations->integers : &operations->specials) += 1;
        break;
    case BITS:
        operations->integers++;
        break;
    default:
        break;
    }
}

/* The element at the other place. */
static bool transposed_data(ft_walker *walker, const ft_expression *call, const ft_positions *positions,
                            ft_base *base)
{
    if (!positions || positions->rank != 2)
        return fm_ft_refuse(walker->context, &call->place,
                            "transpose is followed in assignments of whole arrays only");
    ft_positions other = {2, {positions->at[1], positions->at[0]}};
    return fm_ft_data(walker, call->arguments, &other, base);
}

static bool elemental_data(ft_walker *walker, const intrinsic *known, const ft_expression *call,
                           const ft_positions *positions, ft_base *base)
{
    unsigned arguments = 0;
    ft_base first = FT_REAL_TYPE;
    bool plain = known->kind == CONVERSION;
    for (const ft_expression *a = call->arguments; a; a = a->next) {
        ft_base own;
        const ft_expression *value = a;
        if (a->kind == FT_X_KEYWORD) {
            if (strcmp(a->text, "kind") == 0) continue;
            value = a->left;
        }
        /* real(x, 8): a kind is no operand. */
        if (plain && arguments == 1 && known->result != FT_COMPLEX_TYPE) break;
        if (!fm_ft_data(walker, value, positions, &own)) return false;
        if (arguments++ == 0) first = own;
    }
    if (!arguments)
        return fm_ft_fail(walker->context, FM_E_FORMAT, &call->place, "'%.60s' without an argument",
                          known->name);
    count_intrinsic(walker, known, first, arguments);
    *base = known->result == FT_NO_TYPE ? first : known->result;
    if (strcmp(known->name, "abs") == 0 && first == FT_COMPLEX_TYPE) *base = FT_REAL_TYPE;
    return true;
}

static bool data_of_intrinsic(ft_walker *walker, const ft_expression *call, const ft_positions *positions,
                              ft_base *base, bool *known)
{
    const char *name = call->left->text;
    const intrinsic *found = find_intrinsic(name);
    *known = found != NULL;
    if (!found) return true;
    if (!call->arguments)
        return fm_ft_fail(walker->context, FM_E_FORMAT, &call->place, "'%.60s' without an argument", name);
    *base = found->result;
    switch (found->kind) {
    case INQUIRY:
        return true;
    case REDUCTION:
        if (positions)
            return fm_ft_refuse(
                walker->context, &call->place,
                "'%.60s' inside an assignment of arrays is not followed: give it a statement of its own",
                name);
        return fm_ft_reduction(walker, call, base);
    case TRANSPOSE:
        return transposed_data(walker, call, positions, base);
    case MATMUL:
        return fm_ft_refuse(walker->context, &call->place,
                            "matmul is followed only where it is the whole right side");
    default:
        return elemental_data(walker, found, call, positions, base);
    }
}
