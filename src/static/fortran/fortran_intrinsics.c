/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_intrinsics.c - functions of the language: what they touch and what they count as. */
#include "static/fortran/fortran_walker.h"

#include <string.h>

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

bool fm_ft_intrinsic(ft_walker *walker, const ft_expression *call, const ft_positions *positions,
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
