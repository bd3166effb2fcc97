/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_integers.c - what a whole-number expression is worth, in parameters and variables of loops: bounds,
 * subscripts, steps, kinds. What is not affine is refused, with the part that is not.
 */
#include "static/fortran/fortran_walker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Is the array NAME such that NAME(i) is i? */
static bool is_assumed_identity(ft_walker *walker, const char *name);

static const fm_form *refuse_integer(ft_walker *walker, const ft_expression *expression, const char *why)
{
    const char *text = fm_ft_text(walker->context, &expression->place);
    fm_ft_refuse(walker->context, &expression->place, "'%.150s' is not affine: %s", text ? text : "", why);
    return NULL;
}

/* 12, 12_8 */
static const fm_form *integer_of_literal(ft_walker *walker, const ft_expression *expression)
{
    int64_t number = 0;
    for (const char *c = expression->text; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *c - '0', &number)) {
            fm_ft_refuse(walker->context, &expression->place, "'%.60s' does not fit 64 bits",
                         expression->text);
            return NULL;
        }
    return fm_form_number(&walker->front, number);
}

/* Constants of the intrinsic modules: bytes of a kind; 0: no such name. */
static int intrinsic_kind(const char *name)
{
    static const struct {
        const char *name;
        int bytes;
    } kinds[] = {{"real32", 4},          {"real64", 8},
                 {"real128", 16},        {"int8", 1},
                 {"int16", 2},           {"int32", 4},
                 {"int64", 8},           {"c_double", 8},
                 {"c_float", 4},         {"c_int", 4},
                 {"c_long", 8},          {"c_size_t", 8},
                 {"c_bool", 1},          {"c_char", 1},
                 {"c_long_long", 8},     {"c_short", 2},
                 {"c_int8_t", 1},        {"c_int16_t", 2},
                 {"c_int32_t", 4},       {"c_int64_t", 8},
                 {"c_float_complex", 4}, {"c_double_complex", 8},
                 {"c_signed_char", 1}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) return kinds[i].bytes;
    return 0;
}

/* The same where such a module is used, here or by a module that is. */
static int named_kind(const ft_walker *walker, const ft_unit *unit, const char *name, unsigned depth)
{
    for (; unit && depth < 20; unit = unit->host)
        for (const ft_use *use = unit->uses; use; use = use->next) {
            const char *inside = fm_ft_used_name(use, name);
            const ft_unit *module = fm_ft_module(walker, use->module);
            int bytes = 0;
            if (inside && module)
                bytes = named_kind(walker, module, inside, depth + 1);
            else if (inside && strncmp(use->module, "iso_", 4) == 0)
                bytes = intrinsic_kind(inside);
            if (bytes) return bytes;
        }
    return 0;
}

static const fm_form *of_object(ft_walker *walker, const ft_expression *expression, ft_object *object)
{
    if (object->is_array) return refuse_integer(walker, expression, "it is a whole array");
    if (object->layout.base != FT_INTEGER_TYPE && object->layout.base != FT_LOGICAL_TYPE)
        return refuse_integer(walker, expression, "it is not a whole number");
    const fm_form *value = fm_ft_known(walker, object);
    return value ? value
                 : refuse_integer(walker, expression, object->why ? object->why : "its value is not known");
}

static const fm_form *name_value(ft_walker *walker, const ft_expression *expression)
{
    ft_symbol *symbol = fm_ft_lookup(walker, walker->activation->unit, expression->text, false);
    int kind = symbol ? 0 : named_kind(walker, walker->activation->unit, expression->text, 0);
    if (kind) return fm_form_number(&walker->front, kind);
    if (!symbol && walker->activation->unit->uses) {
        /* It could come from a module that is not here. */
        for (const ft_unit *unit = walker->activation->unit; unit; unit = unit->host)
            for (const ft_use *use = unit->uses; use; use = use->next) {
                if (strncmp(use->module, "iso_", 4) == 0 || fm_ft_module(walker, use->module)) continue;
                fm_ft_refuse(walker->context, &expression->place,
                             "'%.100s' is not declared here, and module '%.100s' is not in this file",
                             expression->text, use->module);
                return NULL;
            }
    }
    ft_object *object = fm_ft_object_of_name(walker, expression->text, &expression->place);
    return object ? of_object(walker, expression, object) : NULL;
}

/* ---- operators ---- */

static const fm_form *integer_of_power(ft_walker *walker, const ft_expression *expression,
                                       const fm_form *left, const fm_form *right)
{
    int64_t exponent;
    if (!left || !right) return NULL;
    if (!fm_form_fold(right, &exponent) || exponent < 0 || exponent > 62)
        return refuse_integer(walker, expression, "a power whose exponent is not a small number");
    const fm_form *product = fm_form_number(&walker->front, 1);
    for (int64_t i = 0; i < exponent; i++) product = fm_ft_times(walker, product, left);
    return product;
}

static const fm_form *integer_of_binary(ft_walker *walker, const ft_expression *expression)
{
    fm_front *f = &walker->front;
    const fm_form *left = fm_ft_integer(walker, expression->left);
    const fm_form *right = left ? fm_ft_integer(walker, expression->right) : NULL;
    if (!right) return NULL;
    walker->place = expression->place;
    switch (expression->operator) {
    case '+':
        return fm_form_plus(f, left, right, 1);
    case '-':
        return fm_form_plus(f, left, right, -1);
    case '*':
        return fm_ft_times(walker, left, right);
    case '/':
        return fm_ft_divide(walker, FM_ATOM_QUOTIENT, left, right);
    case FT_POWER:
        return integer_of_power(walker, expression, left, right);
    default:
        return refuse_integer(walker, expression, "it is no sum, product or quotient");
    }
}

/* ---- functions ---- */

static const fm_form *integer_of_extreme(ft_walker *walker, const ft_expression *call, bool most)
{
    const fm_form *found = NULL;
    for (const ft_expression *a = call->arguments; a; a = a->next) {
        const fm_form *next = fm_ft_integer(walker, a);
        walker->place = call->place;
        found = a == call->arguments
                    ? next
                    : fm_form_extremum(&walker->front, most ? FM_ATOM_MAX : FM_ATOM_MIN, found, next);
        if (!found) return NULL;
    }
    return found;
}

/* size(a), size(a, 1), lbound, ubound */
static const fm_form *integer_of_inquiry(ft_walker *walker, const ft_expression *call)
{
    fm_front *f = &walker->front;
    const ft_expression *second = call->arguments->next;
    ft_reference reference;
    if (second && second->kind == FT_X_KEYWORD) second = second->left;
    if (!fm_ft_is_variable(walker, call->arguments) || !fm_ft_resolve(walker, call->arguments, &reference)) {
        if (walker->context->status == FM_OK) refuse_integer(walker, call, "its argument is no array");
        return NULL;
    }
    int64_t dimension = 0;
    if (second && !fm_ft_constant(walker, second, "a dimension", &dimension)) return NULL;
    if (!reference.rank || dimension < 0 || dimension > (int64_t)reference.rank ||
        (!second && call->left->text[0] != 's'))
        return refuse_integer(walker, call, "it asks for a dimension that is not there");
    bool whole = call->arguments->kind == FT_X_NAME || call->arguments->kind == FT_X_MEMBER;
    const ft_object *object = reference.object;
    if (call->left->text[0] == 'l') return whole ? object->lows[dimension - 1] : fm_form_number(f, 1);
    const fm_form *found = NULL;
    for (unsigned i = 0; i < reference.rank; i++) {
        if (second && (int64_t)i + 1 != dimension) continue;
        const fm_form *extent = reference.sections[i].extent;
        if (!extent)
            return refuse_integer(walker, call, "the last extent of an array of assumed size is not known");
        found = found ? fm_ft_times(walker, found, extent) : extent;
    }
    if (call->left->text[0] == 'u' && whole)
        return fm_form_add_number(f, fm_form_plus(f, found, object->lows[dimension - 1], 1), -1);
    return found;
}

static const fm_form *kind_function(ft_walker *walker, const ft_expression *call)
{
    const char *name = call->left->text;
    const ft_expression *argument = call->arguments;
    if (argument->kind == FT_X_KEYWORD) argument = argument->left;
    int64_t digits;
    if (strcmp(name, "kind") == 0) {
        ft_layout layout = {0};
        if (argument->kind == FT_X_REAL) {
            bool twice = strchr(argument->text, 'd') != NULL;
            return fm_form_number(&walker->front, twice ? 8 : 4);
        }
        if (argument->kind == FT_X_INTEGER) return fm_form_number(&walker->front, 4);
        if (argument->kind != FT_X_NAME) return refuse_integer(walker, call, "the kind of an expression");
        ft_object *object = fm_ft_object_of_name(walker, argument->text, &argument->place);
        if (!object) return NULL;
        layout = object->layout;
        return fm_form_number(&walker->front,
                              (int64_t)(layout.base == FT_COMPLEX_TYPE ? layout.bytes / 2 : layout.bytes));
    }
    if (!fm_ft_constant(walker, argument, "a number of digits", &digits)) return NULL;
    if (strcmp(name, "selected_int_kind") == 0)
        return fm_form_number(&walker->front, digits <= 2 ? 1 : digits <= 4 ? 2 : digits <= 9 ? 4 : 8);
    return fm_form_number(&walker->front, digits <= 6 ? 4 : digits <= 15 ? 8 : 16);
}

static const fm_form *integer_of_function(ft_walker *walker, const ft_expression *call)
{
    fm_front *f = &walker->front;
    const char *name = call->left->text;
    const ft_expression *first = call->arguments, *second = first ? first->next : NULL;
    if (!first) return refuse_integer(walker, call, "a call");
    if (strcmp(name, "min") == 0 || strcmp(name, "min0") == 0) return integer_of_extreme(walker, call, false);
    if (strcmp(name, "max") == 0 || strcmp(name, "max0") == 0) return integer_of_extreme(walker, call, true);
    if (strcmp(name, "size") == 0 || strcmp(name, "ubound") == 0 || strcmp(name, "lbound") == 0)
        return integer_of_inquiry(walker, call);
    if (strcmp(name, "kind") == 0 || strncmp(name, "selected_", 9) == 0) return kind_function(walker, call);
    bool one = strcmp(name, "abs") == 0 || strcmp(name, "iabs") == 0 || strcmp(name, "int") == 0;
    bool two = strcmp(name, "mod") == 0 || strcmp(name, "modulo") == 0 || strcmp(name, "dim") == 0;
    if (!one && !two) return refuse_integer(walker, call, "a call of a function");
    if (two && (!second || second->next)) return refuse_integer(walker, call, "it has not two arguments");
    const fm_form *left = fm_ft_integer(walker, first);
    if (!left) return NULL;
    if (one && name[0] == 'i' && name[1] == 'n') return left;
    walker->place = call->place;
    if (one) return fm_form_extremum(f, FM_ATOM_MAX, left, fm_form_plus(f, fm_form_number(f, 0), left, -1));
    const fm_form *right = fm_ft_integer(walker, second);
    walker->place = call->place;
    if (name[0] == 'd')
        return fm_form_extremum(f, FM_ATOM_MAX, fm_form_plus(f, left, right, -1), fm_form_number(f, 0));
    return fm_ft_divide(walker, strcmp(name, "mod") == 0 ? FM_ATOM_REMAINDER : FM_ATOM_MODULO, left, right);
}

const fm_form *fm_ft_integer(ft_walker *walker, const ft_expression *expression)
{
    fm_front *f = &walker->front;
    if (walker->context->status != FM_OK) return NULL;
    walker->place = expression->place;
    switch (expression->kind) {
    case FT_X_INTEGER:
        return integer_of_literal(walker, expression);
    case FT_X_NAME:
        return name_value(walker, expression);
    case FT_X_UNARY: {
        if (expression->operator!= '+' && expression->operator!= '-')
            return refuse_integer(walker, expression, "it is a truth value");
        const fm_form *inner = fm_ft_integer(walker, expression->left);
        return fm_form_plus(f, fm_form_number(f, 0), inner, expression->operator== '-' ? -1 : 1);
    }
    case FT_X_BINARY:
        return integer_of_binary(walker, expression);
    case FT_X_INDEX:
        if (expression->left->kind == FT_X_NAME && expression->arguments && !expression->arguments->next &&
            is_assumed_identity(walker, expression->left->text))
            return fm_ft_integer(walker, expression->arguments);
        if (expression->left->kind != FT_X_NAME || fm_ft_is_variable(walker, expression))
            return refuse_integer(walker, expression, "its value comes out of an array");
        return integer_of_function(walker, expression);
    case FT_X_MEMBER: {
        ft_reference reference;
        if (!fm_ft_resolve(walker, expression, &reference)) return NULL;
        if (reference.memory || reference.rank)
            return refuse_integer(walker, expression, "its value comes out of an array");
        return of_object(walker, expression, reference.object);
    }
    case FT_X_REAL:
        return refuse_integer(walker, expression, "it is not a whole number");
    default:
        return refuse_integer(walker, expression, "it is not a whole number");
    }
}

bool fm_ft_constant(ft_walker *walker, const ft_expression *expression, const char *what, int64_t *number)
{
    const fm_form *value = fm_ft_integer(walker, expression);
    if (!value) return false;
    if (fm_form_fold(value, number)) return true;
    const char *text = fm_ft_text(walker->context, &expression->place);
    return fm_ft_refuse(walker->context, &expression->place,
                        "%s must be a number that the source tells: '%.150s' is not", what, text ? text : "");
}

/* The value, or NULL without a failure where there is none; false: another failure. */
bool fm_ft_quiet_integer(ft_walker *walker, const ft_expression *expression, const fm_form **value)
{
    ft_context *context = walker->context;
    fm_error kept, *error = context->error;
    context->error = &kept;
    *value = fm_ft_integer(walker, expression);
    context->error = error;
    if (context->status == FM_E_UNSUPPORTED || context->status == FM_E_LIMIT) context->status = FM_OK;
    if (context->status == FM_OK) return true;
    if (error) *error = kept;
    return false;
}

/* ---- Conditions over parameters and variables of loops, as the region's text has them ---- */

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

/*
 * Forms (front_middle.h) as Fortran's front end has them: terms as they were made, what is not affine
 * refused at once, with the part that is not; and what the user states about the program.
 */

static ft_walker *walker_of(fm_front *f)
{
    return (ft_walker *)f;
}

static void forms_fail(fm_front *f, fm_status status, const fm_front_place *where, const char *reason)
{
    const ft_place place =
        where && where->file ? (ft_place){.file = where->file->number, .line = where->line} : (ft_place){0};
    fm_ft_fail(walker_of(f)->context, status, &place, "%s", reason);
}

static void forms_fault(fm_front *f, fm_form_fault fault)
{
    if (fault == FM_FORM_TOO_LARGE)
        fm_ft_refuse(walker_of(f)->context, &walker_of(f)->place,
                     "a number of a bound or subscript does not fit 64 bits");
    else
        fm_ft_fail(walker_of(f)->context, FM_E_LIMIT, &walker_of(f)->place,
                   "a bound or subscript has more than %d terms", FT_MOST_TERMS);
}

static void forms_no_memory(fm_front *f, size_t bytes)
{
    (void)bytes;
    fm_ft_no_memory(walker_of(f)->context);
}

void fm_ft_begin_forms(ft_walker *walker)
{
    enum { MOST_FACTORS = 100, MOST_NESTED = 160 };
    walker->front = (fm_front){.arena = walker->context->arena,
                               .fail = forms_fail,
                               .fault = forms_fault,
                               .no_memory = forms_no_memory,
                               .any_case = true,
                               .as_made = true,
                               .most_degree = MOST_FACTORS,
                               .most_nested = MOST_NESTED,
                               .most_terms = FT_MOST_TERMS,
                               .most_atom = FT_MOST_ATOM};
}

const fm_form *fm_ft_times(ft_walker *walker, const fm_form *left, const fm_form *right)
{
    fm_front *f = &walker->front;
    if (!left || !right) return NULL;
    for (size_t l = 0; l < left->count; l++)
        for (size_t r = 0; r < right->count; r++) {
            const fm_term one = {1, left->terms[l].product}, other = {1, right->terms[r].product};
            if (!one.product->varies || !other.product->varies) continue;
            const char *first = fm_form_text(f, fm_form_of_term(f, &one)),
                       *second = fm_form_text(f, fm_form_of_term(f, &other));
            fm_ft_refuse(walker->context, &walker->place,
                         "not affine: the product of '%.100s' and '%.100s', which both change in loops",
                         first ? first : "", second ? second : "");
            return NULL;
        }
    const fm_form *product = fm_form_multiply(f, left, right);
    if (!product) forms_fault(f, FM_FORM_TOO_LONG); /* or it has failed already */
    return product;
}

const fm_form *fm_ft_divide(ft_walker *walker, fm_atom_kind kind, const fm_form *left, const fm_form *right)
{
    fm_front *f = &walker->front;
    const bool towards_zero = kind == FM_ATOM_QUOTIENT || kind == FM_ATOM_REMAINDER,
               rest = kind == FM_ATOM_REMAINDER || kind == FM_ATOM_MODULO;
    int64_t divisor, number;
    if (!left || !right) return NULL;
    if (fm_form_varies(right)) {
        fm_ft_refuse(walker->context, &walker->place,
                     "not affine: a division by something that changes in a loop");
        return NULL;
    }
    if (!fm_form_fold(right, &divisor)) return fm_form_composed(f, kind, left, right);
    if (divisor == 0 || divisor == INT64_MIN || (divisor < 0 && !towards_zero)) {
        fm_ft_refuse(walker->context, &walker->place, "a division by %" PRId64, divisor);
        return NULL;
    }
    if (divisor < 0) { /* the quotient changes its sign, the remainder does not */
        const fm_form *same = fm_ft_divide(walker, kind, left, fm_form_number(f, -divisor));
        return rest ? same : fm_form_scale(f, same, -1);
    }
    if (fm_form_is_number(left, &number)) return fm_form_number(f, fm_form_divided(kind, number, divisor));
    if (divisor == 1) return rest ? fm_form_number(f, 0) : left;
    return fm_form_composed(f, kind, left, fm_form_number(f, divisor));
}

bool fm_ft_factor(ft_walker *walker, const fm_form *form, const fm_atom *atom, int64_t *factor)
{
    const fm_form *of_it, *rest;
    return fm_form_split(&walker->front, form, atom, &of_it, &rest) && fm_form_is_number(of_it, factor);
}

/* ---- what the user states ---- */

static const fm_assumption *assumption_used(ft_walker *walker, fm_assumption_kind kind, uint32_t line,
                                            const char *name)
{
    const fm_assumption *found = fm_assumptions_find(&walker->front, kind, line, name);
    const char *order =
        found && found->permutation ? ", in an order that is not known: counted as if it ascended" : "";
    return found && fm_ft_note(walker, fm_ft_print(walker->context, "assumed: %s%s", found->text, order))
               ? found
               : NULL;
}

static bool is_assumed_identity(ft_walker *walker, const char *name)
{
    return assumption_used(walker, FM_ASSUME_IDENTITY, 0, name) != NULL;
}

bool fm_ft_assumed_if(ft_walker *walker, uint32_t line, fm_outcome *outcome)
{
    const fm_assumption *found = assumption_used(walker, FM_ASSUME_IF, line, NULL);
    if (found) *outcome = found->outcome;
    return found != NULL;
}

bool fm_ft_assumed_loop(ft_walker *walker, uint32_t line, const fm_form **times)
{
    fm_front *f = &walker->front;
    const fm_assumption *found = assumption_used(walker, FM_ASSUME_LOOP, line, NULL);
    if (!found) return false;
    const char *name = found->amounts[0].name;
    if (!name) {
        *times = fm_form_number(f, found->amounts[0].number);
        return true;
    }
    /* A variable of the program has the value that it has there; another name is a new parameter. */
    if (fm_ft_lookup(walker, walker->activation->unit, name, false)) {
        const ft_expression variable = {.kind = FT_X_NAME, .text = name, .place = walker->statement};
        *times = fm_ft_integer(walker, &variable);
        return true;
    }
    name = fm_ft_safe_name(walker, name);
    fm_atom *made = name ? fm_atom_named(f, name, true) : NULL;
    *times = fm_form_atom(f, made ? made : fm_atom_new(f, FM_ATOM_PARAMETER, name));
    return true;
}
