/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_expressions.c - values of expressions. Loads happen in the order of the text, operations are counted:
 * of floating-point numbers always, of integers unless they only compute subscripts and bounds.
 */
#include "clang_maker.h"

#include <string.h>

static value conditional_value(fm_front *f, CXCursor expression);

void count_operation(fm_front *f, CXType type, char operation)
{
    fm_region_operations *o = operations_of(f);
    if (!o) return;
    switch (classify(type)) {
    case TYPE_FLOAT:
        if (is_complex(type) && operation != 's') o->adds++; /* a sum, a change of sign: of both parts */
        *(operation == '*'   ? &o->multiplies
          : operation == '/' ? &o->divides
          : operation == 's' ? &o->specials
                             : &o->adds) += 1;
        break;
    case TYPE_INTEGER:
        if (!f->own->quiet) o->integers++;
        break;
    default:
        break;
    }
}

/* + * / s(pecial) */
static const fm_form *form_of_value(fm_front *f, CXCursor where, const value *v, const char *what)
{
    if (v->kind == VALUE_INTEGER) return v->number;
    refuse(f, where, "%s depends on data: '%s'%s%s", what, source_text(f, where), v->why ? ", " : "",
           v->why ? v->why : "");
}

const fm_form *number_of(fm_front *f, CXCursor expression, const char *what)
{
    f->own->quiet++;
    value v = evaluate(f, expression);
    f->own->quiet--;
    return form_of_value(f, expression, &v, what);
}

/* ---- arithmetic ---- */

static int64_t power_of_two(int64_t exponent)
{
    return exponent >= 0 && exponent < 62 ? (int64_t)1 << exponent : 0;
}

static value shifted_value(fm_front *f, const value *left, const value *right, bool up)
{
    int64_t exponent;
    if (!fm_form_is_number(right->number, &exponent) || !power_of_two(exponent))
        return data("which shifts by something that is not a number");
    if (up) return integer(fm_form_scale(f, left->number, power_of_two(exponent)));
    return integer(fm_form_divide(f, FM_ATOM_FLOOR, left->number, fm_form_number(f, power_of_two(exponent))));
}

static value combined_value(fm_front *f, char operation, const value *left, const value *right)
{
    int64_t number;
    switch (operation) {
    case '+':
        return integer(fm_form_add(f, left->number, right->number));
    case '-':
        return integer(fm_form_subtract(f, left->number, right->number));
    case '*':
        return integer(fm_form_multiply(f, left->number, right->number));
    case '/':
        return integer(fm_form_divide(f, FM_ATOM_QUOTIENT, left->number, right->number));
    case '%':
        return integer(fm_form_divide(f, FM_ATOM_REMAINDER, left->number, right->number));
    case '<':
        return shifted_value(f, left, right, true);
    case '>':
        return shifted_value(f, left, right, false);
    case '&':
        if (fm_form_is_number(right->number, &number) && number > 0 && (number & (number + 1)) == 0 &&
            number < INT64_MAX)
            return integer(fm_form_divide(f, FM_ATOM_MODULO, left->number, fm_form_number(f, number + 1)));
        break;
    default:
        break;
    }
    return data("which is computed bit by bit");
}

/* pointer + number, pointer - number, pointer - pointer */
static value pointer_arithmetic(fm_front *f, CXCursor where, char operation, const value *left,
                                const value *right)
{
    const value *pointer = left->kind == VALUE_POINTER ? left : right,
                *number = pointer == left ? right : left;
    if (number->kind == VALUE_INTEGER && (operation == '+' || (operation == '-' && pointer == left))) {
        const fm_form *distance = operation == '-' ? fm_form_scale(f, number->number, -1) : number->number;
        location at = step(f, where, &pointer->at, distance);
        return pointer_to(&at);
    }
    if (operation == '-' && number->kind == VALUE_POINTER && left->at.array &&
        left->at.array == right->at.array && left->at.array->rank == 1)
        return integer(fm_form_subtract(f, left->at.subscripts[0], right->at.subscripts[0]));
    return data("which is a pointer that cannot be followed");
}

/* 2 * REACH + 1: the compiler computes with it. */
static bool is_constant(const value *of)
{
    int64_t number;
    return of->kind == VALUE_INTEGER ? fm_form_is_number(of->number, &number)
                                     : of->kind == VALUE_DATA && of->constant;
}

/* one, other: the operands in the source, whose types count for complex numbers. */
static value arithmetic_value(fm_front *f, CXCursor where, CXType type, char operation, CXCursor one,
                              const value *left, CXCursor other, const value *right)
{
    if (left->kind == VALUE_POINTER || right->kind == VALUE_POINTER)
        return pointer_arithmetic(f, where, operation, left, right);
    type_class class = classify(type);
    if (class == TYPE_OTHER)
        refuse(f, where, "'%s' computes with the type '%s', which is not counted", source_text(f, where),
               type_name(f, type));
    const bool constant = is_constant(left) && is_constant(right);
    const bool product = is_complex(type) && (operation == '*' || operation == '/');
    if (!constant && !product) count_operation(f, type, operation);
    if (!constant && product && operations_of(f))
        fm_front_count_product(operations_of(f), operation == '/',
                               is_complex(clang_getCursorType(bare(f, one))),
                               is_complex(clang_getCursorType(bare(f, other))));
    if (class == TYPE_INTEGER && left->kind == VALUE_INTEGER && right->kind == VALUE_INTEGER)
        return combined_value(f, operation, left, right);
    if (class == TYPE_INTEGER) return data(left->kind == VALUE_DATA ? left->why : right->why);
    return (value){
        .kind = VALUE_DATA, .why = "which is computed with floating-point numbers", .constant = constant};
}

static bool is_comparison(const char *sign)
{
    return strcmp(sign, "<") == 0 || strcmp(sign, ">") == 0 || strcmp(sign, "<=") == 0 ||
           strcmp(sign, ">=") == 0 || strcmp(sign, "==") == 0 || strcmp(sign, "!=") == 0;
}

static value assign_value(fm_front *f, CXCursor expression, CXCursor left, CXCursor right)
{
    /* p = malloc(…) makes an array with the variable's name. */
    if (is_allocation(f, right)) {
        location at = locate(f, left);
        if (!at.variable)
            refuse(f, expression, "'%s' keeps a pointer in an array", source_text(f, expression));
        value made = allocation(f, expression, right, at.variable->type, at.variable->name);
        variable_set(f, at.variable, made);
        return made;
    }
    CXCursor target = bare(f, left);
    bool integers = classify(clang_getCursorType(left)) == TYPE_INTEGER;
    enum CXCursorKind kind = clang_getCursorKind(target);
    /* An integer variable that stays a formula only computes subscripts and bounds. */
    fm_region_operations before = operations_of(f) ? *operations_of(f) : (fm_region_operations){0};
    value to = evaluate(f, right);
    location at = locate(f, left);
    if (integers && to.kind == VALUE_INTEGER && at.variable && kind != CXCursor_ArraySubscriptExpr &&
        operations_of(f))
        operations_of(f)->integers = before.integers;
    store(f, left, &at, to);
    return at.variable ? variable_value(f, at.variable) : data(to.why);
}

static value compound_value(fm_front *f, CXCursor expression)
{
    cursors all = children(f, expression);
    const char *sign = all.count == 2 ? operator_between(f, all.at[0], all.at[1]) : "";
    size_t length = strlen(sign);
    if (length < 2 || sign[length - 1] != '=')
        refuse(f, expression, "the operator of '%s' is not understood (is it in a macro?)",
               source_text(f, expression));
    location at = locate(f, all.at[0]);
    fm_region_operations before = operations_of(f) ? *operations_of(f) : (fm_region_operations){0};
    bool address = classify(clang_getCursorType(expression)) == TYPE_POINTER;
    value left = load(f, all.at[0], &at);
    f->own->quiet += address;
    value right = evaluate(f, all.at[1]);
    f->own->quiet -= address;
    /* int += double computes in double */
    CXType type = clang_getCursorType(expression);
    if (classify(clang_getCursorType(all.at[1])) == TYPE_FLOAT && !is_complex(type))
        type = clang_getCursorType(all.at[1]);
    value to = arithmetic_value(f, expression, type, sign[0], all.at[0], &left, all.at[1], &right);
    if (at.variable && to.kind == VALUE_INTEGER && operations_of(f))
        operations_of(f)->integers = before.integers;
    store(f, all.at[0], &at, to);
    return at.variable ? variable_value(f, at.variable) : data(to.why);
}

static value binary_value(fm_front *f, CXCursor expression)
{
    cursors all = children(f, expression);
    int64_t number;
    const char *sign = all.count == 2 ? operator_between(f, all.at[0], all.at[1]) : "";
    if (sign[0] == '\0') {
        if (constant_of(expression, &number)) return integer(fm_form_number(f, number));
        refuse(f, expression, "the operator of '%s' is not understood (is it in a macro?)",
               source_text(f, expression));
    }
    if (strcmp(sign, "=") == 0) return assign_value(f, expression, all.at[0], all.at[1]);
    if (strcmp(sign, ",") == 0) {
        evaluate(f, all.at[0]);
        return evaluate(f, all.at[1]);
    }
    if (is_comparison(sign) || strcmp(sign, "&&") == 0 || strcmp(sign, "||") == 0)
        return conditional_value(f, expression);
    bool address = classify(clang_getCursorType(expression)) == TYPE_POINTER;
    f->own->quiet += address;
    value left = evaluate(f, all.at[0]), right = evaluate(f, all.at[1]);
    f->own->quiet -= address;
    return arithmetic_value(f, expression, clang_getCursorType(expression), sign[0], all.at[0], &left,
                            all.at[1], &right);
}

/* ---- one operand ---- */

static value counted_value(fm_front *f, CXCursor expression, CXCursor operand, bool up, bool before)
{
    location at = locate(f, operand);
    fm_region_operations kept = operations_of(f) ? *operations_of(f) : (fm_region_operations){0};
    value old = load(f, operand, &at), one = integer(fm_form_number(f, 1));
    value new = arithmetic_value(f, expression, clang_getCursorType(operand), up ? '+' : '-', operand, &old,
                                 operand, &one);
    if (at.variable && new.kind == VALUE_INTEGER && operations_of(f))
        operations_of(f)->integers = kept.integers;
    store(f, operand, &at, new);
    return before ? new : old;
}

static value address_of(fm_front *f, CXCursor operand)
{
    location at = locate(f, operand);
    return pointer_to(&at);
}

static value unary_value(fm_front *f, CXCursor expression)
{
    cursors all = children(f, expression);
    int64_t number;
    if (all.count != 1) refuse(f, expression, "'%s' is not understood", source_text(f, expression));
    CXCursor operand = all.at[0];
    const char *sign = operator_before(f, expression, operand),
               *last = operator_behind(f, expression, operand);
    if (strcmp(sign, "++") == 0 || strcmp(sign, "--") == 0)
        return counted_value(f, expression, operand, sign[0] == '+', true);
    if (strcmp(last, "++") == 0 || strcmp(last, "--") == 0)
        return counted_value(f, expression, operand, last[0] == '+', false);
    if (strcmp(sign, "*") == 0) {
        location at = locate(f, expression);
        return load(f, expression, &at);
    }
    if (strcmp(sign, "&") == 0) return address_of(f, operand);
    if (strcmp(sign, "+") == 0 || strcmp(sign, "__extension__") == 0) return evaluate(f, operand);
    if (strcmp(sign, "__real__") == 0 || strcmp(sign, "__imag__") == 0) {
        value of = evaluate(f, operand);
        return (value){.kind = VALUE_DATA, .why = of.why, .constant = of.constant};
    }
    if (strcmp(sign, "!") == 0) return conditional_value(f, expression);
    if (strcmp(sign, "-") == 0 || strcmp(sign, "~") == 0) {
        value of = evaluate(f, operand);
        if (!is_constant(&of)) count_operation(f, clang_getCursorType(expression), '+');
        if (of.kind != VALUE_INTEGER || classify(clang_getCursorType(expression)) != TYPE_INTEGER)
            return (value){.kind = VALUE_DATA, .why = of.why, .constant = of.constant};
        const fm_form *minus = fm_form_scale(f, of.number, -1);
        return integer(sign[0] == '-' ? minus : fm_form_subtract(f, minus, fm_form_number(f, 1)));
    }
    if (constant_of(expression, &number)) return integer(fm_form_number(f, number));
    refuse(f, expression, "the operator of '%s' is not understood (is it in a macro?)",
           source_text(f, expression));
}

/* ---- conversions ---- */

static value converted_value(fm_front *f, CXCursor expression, CXType type, value of)
{
    switch (classify(type)) {
    case TYPE_FLOAT:
        return (value){
            .kind = VALUE_DATA, .why = "which is a floating-point number", .constant = is_constant(&of)};
    case TYPE_INTEGER:
        if (clang_getCanonicalType(type).kind == CXType_Bool && of.kind == VALUE_INTEGER) {
            int64_t number;
            return fm_form_is_number(of.number, &number) ? integer(fm_form_number(f, number != 0))
                                                         : data("which is true or false");
        }
        return of.kind == VALUE_POINTER ? data("which is a pointer made a number") : of;
    case TYPE_POINTER:
        if (of.kind != VALUE_POINTER) return of;
        if (classify(pointee(type)) != TYPE_VOID) {
            /* Seen with other extents, perhaps. */
            shape seen = shape_behind(f, expression, type, expression);
            type_class class = classify(seen.element);
            if (class == TYPE_OTHER) return data("which is a pointer to something that is not counted");
            of.at.shape = seen;
        }
        return of;
    default:
        return of;
    }
}

static value cast_value(fm_front *f, CXCursor expression)
{
    cursors all = children(f, expression);
    CXCursor operand = clang_getNullCursor();
    for (size_t i = 0; i < all.count; i++)
        if (clang_isExpression(clang_getCursorKind(all.at[i]))) operand = all.at[i];
    if (clang_Cursor_isNull(operand))
        refuse(f, expression, "'%s' is not understood", source_text(f, expression));
    value of = evaluate(f, operand);
    return converted_value(f, expression, clang_getCursorType(expression), of);
}

/* What the compiler adds without showing it: conversions, mostly. */
static value unexposed_value(fm_front *f, CXCursor expression)
{
    cursors all = children(f, expression);
    CXCursor operand = clang_getNullCursor();
    size_t operands = 0;
    int64_t number;
    for (size_t i = 0; i < all.count; i++)
        if (clang_isExpression(clang_getCursorKind(all.at[i]))) {
            operand = all.at[i];
            operands++;
        }
    if (operands != 1) {
        if (constant_of(expression, &number)) return integer(fm_form_number(f, number));
        refuse(f, expression, "'%s' is not understood", source_text(f, expression));
    }
    source_file *file, *other;
    size_t begin, end, first, last;
    if (extent(f, expression, &file, &begin, &end) && extent(f, operand, &other, &first, &last) &&
        (file != other || begin != first || end != last) &&
        classify(clang_getCursorType(expression)) != TYPE_VOID) {
        /* More than its operand: not a mere conversion. */
        if (constant_of(expression, &number)) return integer(fm_form_number(f, number));
        if (begin > first || end < last)
            refuse(f, expression, "'%s' is not understood", source_text(f, expression));
    }
    value of = evaluate(f, operand);
    CXType type = clang_getCursorType(expression);
    type_class class = classify(type);
    if (class == TYPE_POINTER && of.kind == VALUE_POINTER) return of; /* arrays become pointers */
    return converted_value(f, expression, type, of);
}

static value reference_value(fm_front *f, CXCursor expression)
{
    CXCursor declaration = clang_getCursorReferenced(expression);
    cursors all = children(f, expression);
    if (clang_getCursorKind(declaration) == CXCursor_EnumConstantDecl)
        return integer(fm_form_number(f, clang_getEnumConstantDeclValue(declaration)));
    for (size_t i = 0; i < all.count; i++) /* a template's parameter, replaced */
        if (clang_isExpression(clang_getCursorKind(all.at[i]))) return evaluate(f, all.at[i]);
    if (clang_getCursorKind(declaration) == CXCursor_NonTypeTemplateParameter)
        refuse(f, expression, "the template's parameter '%s' has no value here", source_text(f, expression));
    location at = locate(f, expression);
    return load(f, expression, &at);
}

/* ({ int a = x, b = y; a > b ? a : b; }): variables of its own, and what it is worth. */
static value statement_value(fm_front *f, CXCursor expression)
{
    cursors all = children(f, only_child(f, expression));
    for (size_t i = 0; i < all.count; i++) {
        if (i + 1 == all.count && clang_isExpression(clang_getCursorKind(all.at[i])))
            return evaluate(f, all.at[i]);
        cursors declared = children(f, all.at[i]);
        if (clang_getCursorKind(all.at[i]) != CXCursor_DeclStmt) break;
        for (size_t k = 0; k < declared.count; k++)
            if (clang_getCursorKind(declared.at[k]) == CXCursor_VarDecl) declare(f, declared.at[k]);
    }
    refuse(f, expression, "a statement inside an expression is not followed");
}

static value evaluate_one(fm_front *f, CXCursor expression)
{
    int64_t number;
    location at;
    switch (clang_getCursorKind(expression)) {
    case CXCursor_IntegerLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_CXXBoolLiteralExpr:
    case CXCursor_UnaryExpr: /* sizeof, alignof */
    case CXCursor_SizeOfPackExpr:
        if (constant_of(expression, &number)) return integer(fm_form_number(f, number));
        refuse(f, expression, "the value of '%s' is not known", source_text(f, expression));
    case CXCursor_FloatingLiteral:
        return (value){.kind = VALUE_DATA, .why = "which is a floating-point number", .constant = true};
    case CXCursor_StringLiteral:
    case CXCursor_CXXNullPtrLiteralExpr:
        return data("which is a text or a null pointer");
    case CXCursor_ParenExpr:
        return evaluate(f, only_child(f, expression));
    case CXCursor_UnexposedExpr:
        return unexposed_value(f, expression);
    case CXCursor_CStyleCastExpr:
    case CXCursor_CXXStaticCastExpr:
    case CXCursor_CXXConstCastExpr:
    case CXCursor_CXXReinterpretCastExpr:
    case CXCursor_CXXFunctionalCastExpr:
        return cast_value(f, expression);
    case CXCursor_DeclRefExpr:
        return reference_value(f, expression);
    case CXCursor_MemberRefExpr:
    case CXCursor_ArraySubscriptExpr:
        at = locate(f, expression);
        return load(f, expression, &at);
    case CXCursor_CXXThisExpr:
        at = locate(f, expression);
        return pointer_to(&at);
    case CXCursor_BinaryOperator:
        return binary_value(f, expression);
    case CXCursor_CompoundAssignOperator:
        return compound_value(f, expression);
    case CXCursor_UnaryOperator:
        return unary_value(f, expression);
    case CXCursor_ConditionalOperator:
        return conditional_value(f, expression);
    case CXCursor_CallExpr: {
        location made = {0};
        value result = call(f, expression, &made);
        if (made.variable || made.array) return load(f, expression, &made);
        return result;
    }
    case CXCursor_LambdaExpr:
        refuse(f, expression, "a lambda is not followed: write the loop where it is used");
    case CXCursor_StmtExpr:
        return statement_value(f, expression);
    case CXCursor_CXXNewExpr:
        return allocation(f, expression, expression, clang_getCursorType(expression), "new");
    case CXCursor_InitListExpr: {
        cursors all = children(f, expression);
        if (all.count == 1) return evaluate(f, all.at[0]); /* double x{1.0} */
        if (all.count == 0) return integer(fm_form_number(f, 0));
        refuse(f, expression, "a list of values is not understood here");
    }
    default:
        if (constant_of(expression, &number)) return integer(fm_form_number(f, number));
        refuse(f, expression, "'%s' is not understood", source_text(f, expression));
    }
}

value evaluate(fm_front *f, CXCursor expression)
{
    if (f->own->expression_depth == MOST_NESTED)
        refuse(f, expression, "an expression has more than %d others inside each other", MOST_NESTED);
    f->own->expression_depth++;
    value result = evaluate_one(f, expression);
    f->own->expression_depth--;
    return result;
}

/*
 * Comparisons, and, or, not, and ?:. A condition is one of formulas, or it depends on data: then its loads
 * have happened, in the order of the text, whether the program would have come so far or not.
 */

/* How many elements two pointers into one array are apart; NULL: not known. */
static const fm_form *pointers_apart(fm_front *f, const location *left, const location *right)
{
    const fm_form *sum = fm_form_number(f, 0), *stride = fm_form_number(f, 1);
    if (!left->array || left->array != right->array || left->offset != right->offset) return NULL;
    for (unsigned d = left->array->rank; d-- > 0;) {
        const fm_form *far =
            stride
                ? fm_form_multiply(f, stride, fm_form_subtract(f, left->subscripts[d], right->subscripts[d]))
                : NULL;
        if (!far) return NULL;
        sum = fm_form_add(f, sum, far);
        if (d > 0)
            stride = left->array->extents[d] ? fm_form_multiply(f, stride, left->array->extents[d]) : NULL;
    }
    return sum;
}

static const fm_guard *comparison_from(fm_front *f, CXCursor left, CXCursor right, const char *sign,
                                       const char **why)
{
    fm_region_operations before = operations_of(f) ? *operations_of(f) : (fm_region_operations){0};
    value l = evaluate(f, left), r = evaluate(f, right);
    if (l.kind == VALUE_POINTER && r.kind == VALUE_POINTER) {
        const fm_form *distance = pointers_apart(f, &l.at, &r.at);
        if (distance) return fm_guard_compare(f, sign, distance);
        *why = fm_front_text(f, "'%s' and '%s' are pointers that cannot be compared", source_text(f, left),
                             source_text(f, right));
        return NULL;
    }
    if (l.kind == VALUE_INTEGER && r.kind == VALUE_INTEGER) {
        if (operations_of(f)) operations_of(f)->integers = before.integers;
        /* An unsigned number is never negative: n - 1 >= 0 goes on for ever. */
        int64_t number;
        if (is_unsigned(clang_getCursorType(left)) && strcmp(sign, ">=") == 0 &&
            fm_form_is_number(r.number, &number) && number == 0)
            return fm_guard_constant(f, true);
        return fm_guard_compare(f, sign, fm_form_subtract(f, l.number, r.number));
    }
    CXType type = classify(clang_getCursorType(left)) == TYPE_FLOAT ? clang_getCursorType(left)
                                                                    : clang_getCursorType(right);
    count_operation(f, type, '+');
    const value *unknown = l.kind != VALUE_INTEGER ? &l : &r;
    *why = fm_front_text(f, "'%s'%s%s", source_text(f, unknown == &l ? left : right),
                         unknown->why ? ", " : "", unknown->why ? unknown->why : "");
    return NULL;
}

static bool joins_conditions(const char *sign)
{
    return strcmp(sign, "&&") == 0 || strcmp(sign, "||") == 0;
}

const fm_guard *condition_from(fm_front *f, CXCursor expression, const char **why)
{
    enum CXCursorKind kind = clang_getCursorKind(expression);
    cursors all = children(f, expression);
    if ((kind == CXCursor_ParenExpr || kind == CXCursor_UnexposedExpr) && all.count == 1 &&
        clang_isExpression(clang_getCursorKind(all.at[0])))
        return condition_from(f, all.at[0], why);
    if (kind == CXCursor_BinaryOperator && all.count == 2) {
        const char *sign = operator_between(f, all.at[0], all.at[1]);
        if (joins_conditions(sign)) {
            const fm_guard *left = condition_from(f, all.at[0], why),
                           *right = condition_from(f, all.at[1], why);
            if (!left || !right) return NULL;
            return fm_guard_join(f, sign[0] == '&' ? FM_GUARD_AND : FM_GUARD_OR, left, right);
        }
        if (is_comparison(sign)) return comparison_from(f, all.at[0], all.at[1], sign, why);
    }
    if (kind == CXCursor_UnaryOperator && all.count == 1 &&
        strcmp(operator_before(f, expression, all.at[0]), "!") == 0) {
        const fm_guard *of = condition_from(f, all.at[0], why);
        return of ? fm_guard_not(f, of) : NULL;
    }
    fm_region_operations before = operations_of(f) ? *operations_of(f) : (fm_region_operations){0};
    value v = evaluate(f, expression);
    if (v.kind == VALUE_INTEGER) {
        if (operations_of(f)) operations_of(f)->integers = before.integers;
        return fm_guard_of(f, FM_GUARD_NOT_ZERO, v.number);
    }
    *why = fm_front_text(f, "'%s'%s%s", source_text(f, expression), v.why ? ", " : "", v.why ? v.why : "");
    return NULL;
}

/* ---- ?: ---- */

/* A branch of ?:, aside: does it touch or compute anything? */
static value evaluate_aside(fm_front *f, CXCursor branch, bool *busy)
{
    fm_front_node *statement = f->statement, *tried = front_node(f, FM_FRONT_STATEMENT, branch);
    f->statement = tried;
    value v = evaluate(f, branch);
    *busy |= tried->accesses || tried->operations.adds || tried->operations.multiplies ||
             tried->operations.divides || tried->operations.specials || f->statement != tried;
    f->statement = statement;
    return v;
}

static value choose_value(fm_front *f, CXCursor expression, const cursors *all, const fm_guard *c)
{
    bool busy = false;
    for (const choice *made = f->own->choices; made; made = made->next)
        if (same(made->cursor, expression) && fm_guard_equal(made->condition, c))
            return evaluate(f, all->at[made->holds ? 1 : 2]);
    if (c->kind == FM_GUARD_TRUE || c->kind == FM_GUARD_FALSE)
        return evaluate(f, all->at[c->kind == FM_GUARD_TRUE ? 1 : 2]);
    state *now = f->own->now;
    f->own->now = state_copy(f, now);
    value yes = evaluate_aside(f, all->at[1], &busy);
    f->own->now = state_copy(f, now);
    value no = evaluate_aside(f, all->at[2], &busy);
    f->own->now = now;
    if (!busy) {
        value one = merge_values(f, expression, c, &yes, &no);
        if (one.kind != VALUE_UNSET) return one;
        if (yes.kind == VALUE_DATA && no.kind == VALUE_DATA) return yes;
    }
    fork_at(f, expression, expression, c);
}

/* One note for all of them. */
static void both_counted(fm_front *f, unsigned line)
{
    static const char start[] = "both sides of ?: are counted, as conditions depend on data: line";
    struct fm_front_lines *known = f->notes;
    while (known && strncmp(known->text, start, strlen(start)) != 0) known = known->next;
    if (!known) {
        fm_front_note(f, "%s %u", start, line);
        return;
    }
    const char *last = strrchr(known->text, ' '), *here = fm_front_text(f, " %u", line);
    if (!f->nowhere && strcmp(last, here) != 0) known->text = fm_front_text(f, "%s,%s", known->text, here);
}

static value conditional_value(fm_front *f, CXCursor expression)
{
    const char *why = NULL;
    cursors all = children(f, expression);
    if (clang_getCursorKind(expression) != CXCursor_ConditionalOperator) {
        const fm_guard *c = condition_from(f, expression, &why);
        count_operation(f, clang_getCursorType(expression), '+');
        if (!c) return data(why);
        if (c->kind == FM_GUARD_TRUE || c->kind == FM_GUARD_FALSE)
            return integer(fm_form_number(f, c->kind == FM_GUARD_TRUE));
        return data("which is true or false");
    }
    if (all.count != 3) refuse(f, expression, "'%s' is not understood", source_text(f, expression));
    const fm_guard *c = condition_from(f, all.at[0], &why);
    if (c) return choose_value(f, expression, &all, c);
    both_counted(f, line_of(f, expression));
    value yes = evaluate(f, all.at[1]), no = evaluate(f, all.at[2]);
    if (value_equal(f, &yes, &no)) return yes;
    return data(fm_front_text(f, "which depends on %s", why));
}
