/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lower_expression.c - expressions and conditions as affine forms and rows (lower.h).
 *
 * An expression becomes a sum first: an affine form and *atoms*, the parts that are not affine (minimum,
 * maximum, quotient), each with a factor. Atoms are then replaced one after the other. Conditions E >= 0 need
 * fewer cases than forms: min(a, b) >= e is two rows, floor(a / b) >= e is b * e <= a.
 */
#include "static/lower.h"

#include "base/error.h"
#include "base/memory.h"
#include "static/region_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_ATOMS = 32 };

typedef struct atom {
    int64_t factor;
    fm_expr_kind kind; /* MIN, MAX, FLOOR or QUOTIENT */
    const fm_expr *left, *right;
    int64_t divisor; /* FLOOR, QUOTIENT */
} atom;

typedef struct sum {
    fm_row form;
    size_t count;
    atom atoms[MOST_ATOMS];
} sum;

fm_status fm_lower_fail(lowering *work, fm_status status, const char *format, ...)
{
    char reason[sizeof work->error->reason];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return fm_region_fail(work->error, status, work->region, &work->place, "%s", reason);
}

static fm_status too_large(lowering *work)
{
    return fm_lower_fail(work, FM_E_LIMIT, "%s has numbers beyond 2^62", work->what);
}

static fm_status no_memory(lowering *work)
{
    return fm_fail_memory(work->error, sizeof(lower_case), "the references of a region");
}

void fm_lower_cases_clear(lower_cases *cases)
{
    free(cases->items);
    *cases = (lower_cases){0};
}

fm_status fm_lower_put(lowering *work, lower_cases *cases, const lower_case *one)
{
    if (cases->count >= FM_LOWER_MOST_CASES)
        return fm_lower_fail(work, FM_E_LIMIT, "%s has more than %d cases", work->what, FM_LOWER_MOST_CASES);
    if (fm_array_reserve((void **)&cases->items, &cases->capacity, cases->count + 1, sizeof *one))
        return no_memory(work);
    cases->items[cases->count++] = *one;
    return FM_OK;
}

fm_status fm_lower_variable(lowering *work, lower_case *one, unsigned *index)
{
    if (one->depth >= FM_REFERENCE_DEPTH)
        return fm_lower_fail(work, FM_E_LIMIT, "more than %d loops and quotients inside each other",
                             FM_REFERENCE_DEPTH);
    *index = one->depth++;
    one->least[*index] = -FM_AFFINE_MOST;
    one->most[*index] = FM_AFFINE_MOST;
    one->position[one->depth] = 0;
    return FM_OK;
}

fm_status fm_lower_require(lowering *work, lower_case *one, const fm_row *form, bool *possible)
{
    fm_row row = *form;
    fm_row_kind kind = fm_row_normalise(&row);
    if (kind == FM_ROW_NEVER) *possible = false;
    if (kind != FM_ROW_PLAIN) return FM_OK;
    if (!fm_box_tighten(&row, 1, one->depth, one->least, one->most)) *possible = false;
    for (const lower_row *at = one->rows; at; at = at->next)
        if (fm_affine_equal(&at->row, &row)) return FM_OK;
    lower_row *link = fm_arena_allocate(work->scratch, 1, sizeof *link);
    if (!link) return no_memory(work);
    *link = (lower_row){.row = row, .next = one->rows};
    one->rows = link;
    one->row_count++;
    return FM_OK;
}

static void range(const lower_case *one, const fm_row *form, __int128 *low, __int128 *high)
{
    fm_affine_range(form, one->depth, one->least, one->most, low, high);
}

/* The form of floor(numerator / divisor) where it has no quotient in it, or of a new variable that is one. */
static fm_status quotient(lowering *work, lower_case *one, const fm_row *numerator, int64_t divisor,
                          fm_row *form, bool *possible)
{
    fm_row rest = *numerator;
    *form = (fm_row){0};
    for (unsigned i = 0; i < one->depth; i++)
        if (rest.factors[i] % divisor == 0) {
            form->factors[i] = rest.factors[i] / divisor;
            rest.factors[i] = 0;
        }
    form->constant = fm_floor_divide(rest.constant, divisor);
    rest.constant -= form->constant * divisor;
    __int128 low, high;
    range(one, &rest, &low, &high);
    low = fm_floor_divide_wide(low, divisor);
    high = fm_floor_divide_wide(high, divisor);
    if (low == high && low <= FM_AFFINE_MOST && low >= -FM_AFFINE_MOST)
        return fm_affine_add_constant(form, (int64_t)low) ? FM_OK : too_large(work);
    if (low < -FM_AFFINE_MOST || high > FM_AFFINE_MOST) return too_large(work);
    for (const lower_quotient *at = one->quotients; at; at = at->next)
        if (at->divisor == divisor && fm_affine_equal(&at->numerator, &rest)) {
            fm_row found = {0};
            found.factors[at->index] = 1;
            return fm_affine_add(form, &found, 1) ? FM_OK : too_large(work);
        }
    unsigned index = 0;
    fm_status status = fm_lower_variable(work, one, &index);
    if (status != FM_OK) return status;
    one->least[index] = (int64_t)low;
    one->most[index] = (int64_t)high;
    lower_quotient *link = fm_arena_allocate(work->scratch, 1, sizeof *link);
    if (!link) return no_memory(work);
    *link = (lower_quotient){.numerator = rest, .divisor = divisor, .index = index, .next = one->quotients};
    one->quotients = link;
    form->factors[index] = 1;
    /* 0 <= rest - divisor * q <= divisor - 1 */
    fm_row lower = rest, upper = {0};
    lower.factors[index] = -divisor;
    if (!fm_affine_add(&upper, &lower, -1) || !fm_affine_add_constant(&upper, divisor - 1))
        return too_large(work);
    status = fm_lower_require(work, one, &lower, possible);
    return status == FM_OK ? fm_lower_require(work, one, &upper, possible) : status;
}

/* ---- sums ---- */

static fm_status add_atom(lowering *work, sum *to, int64_t factor, const fm_expr *expression)
{
    atom made = {
        .factor = factor, .kind = expression->kind, .left = expression->left, .right = expression->right};
    if (made.kind == FM_EXPR_FLOOR || made.kind == FM_EXPR_QUOTIENT || made.kind == FM_EXPR_REMAINDER ||
        made.kind == FM_EXPR_MODULO) {
        if (fm_expr_has_variable(expression->right))
            return fm_lower_fail(work, FM_E_UNSUPPORTED, "%s divides by something that varies", work->what);
        if (!fm_expr_value(expression->right, work->placement->parameters, NULL, &made.divisor) ||
            made.divisor <= 0)
            return fm_lower_fail(work, FM_E_UNSUPPORTED, "%s divides by something that is not positive",
                                 work->what);
        if (made.divisor > FM_AFFINE_MOST) return too_large(work);
    }
    if (to->count == MOST_ATOMS)
        return fm_lower_fail(work, FM_E_LIMIT, "%s has more than %d quotients, minima and maxima", work->what,
                             MOST_ATOMS);
    to->atoms[to->count++] = made;
    return FM_OK;
}

/* *to += factor * expression */
static fm_status add_expression(lowering *work, const lower_case *one, sum *to, int64_t factor,
                                const fm_expr *expression)
{
    if (!factor) return FM_OK;
    if (!fm_expr_has_variable(expression)) {
        int64_t value;
        if (!fm_expr_value(expression, work->placement->parameters, NULL, &value))
            return fm_lower_fail(work, FM_E_LIMIT,
                                 "%s has a number beyond 64 bits, or divides by something not positive",
                                 work->what);
        const fm_row number = {.constant = value};
        if (value > FM_AFFINE_MOST || value < -FM_AFFINE_MOST) return too_large(work);
        return fm_affine_add(&to->form, &number, factor) ? FM_OK : too_large(work);
    }
    fm_status status;
    int64_t product;
    switch (expression->kind) {
    case FM_EXPR_VARIABLE:
        for (const lower_variable *at = one->variables; at; at = at->next)
            if (at->variable == expression->index)
                return fm_affine_add(&to->form, &at->form, factor) ? FM_OK : too_large(work);
        return fm_lower_fail(work, FM_E_FORMAT, "%s uses a variable outside its loop", work->what);
    case FM_EXPR_ADD:
        status = add_expression(work, one, to, factor, expression->left);
        return status == FM_OK ? add_expression(work, one, to, factor, expression->right) : status;
    case FM_EXPR_MULTIPLY: {
        const fm_expr *number = expression->left, *other = expression->right;
        if (fm_expr_has_variable(number)) {
            number = expression->right;
            other = expression->left;
        }
        if (fm_expr_has_variable(number))
            return fm_lower_fail(work, FM_E_UNSUPPORTED,
                                 "%s is not affine: it multiplies two things that vary", work->what);
        if (!fm_expr_value(number, work->placement->parameters, NULL, &product) ||
            __builtin_mul_overflow(product, factor, &product) || product > FM_AFFINE_MOST ||
            product < -FM_AFFINE_MOST)
            return too_large(work);
        return add_expression(work, one, to, product, other);
    }
    case FM_EXPR_MIN:
    case FM_EXPR_MAX:
    case FM_EXPR_FLOOR:
    case FM_EXPR_QUOTIENT:
        return add_atom(work, to, factor, expression);
    case FM_EXPR_MODULO:
    case FM_EXPR_REMAINDER: { /* a - b * quotient */
        status = add_atom(work, to, factor, expression);
        if (status != FM_OK) return status;
        atom *made = &to->atoms[to->count - 1];
        made->kind = expression->kind == FM_EXPR_MODULO ? FM_EXPR_FLOOR : FM_EXPR_QUOTIENT;
        if (__builtin_mul_overflow(-factor, made->divisor, &made->factor)) return too_large(work);
        return add_expression(work, one, to, factor, expression->left);
    }
    case FM_EXPR_NUMBER:
    case FM_EXPR_PARAMETER:
        break;
    }
    return fm_lower_fail(work, FM_E_UNSUPPORTED, "%s is not affine", work->what);
}

/* ---- atoms to forms ---- */

/* one, where form >= 0: appended with the value `value`. */
static fm_status put_where(lowering *work, const lower_case *one, const fm_row *form, const fm_row *value,
                           lower_cases *cases)
{
    lower_case copy = *one;
    bool possible = true;
    fm_status status = fm_lower_require(work, &copy, form, &possible);
    if (status != FM_OK || !possible) return status;
    copy.form = *value;
    return fm_lower_put(work, cases, &copy);
}

static fm_status put_quotient(lowering *work, const lower_case *one, const fm_row *numerator, int64_t divisor,
                              int sign, lower_cases *cases)
{
    lower_case copy = *one;
    fm_row value, result = {0};
    bool possible = true;
    fm_status status = quotient(work, &copy, numerator, divisor, &value, &possible);
    if (status != FM_OK || !possible) return status;
    if (!fm_affine_add(&result, &value, sign)) return too_large(work);
    copy.form = result;
    return fm_lower_put(work, cases, &copy);
}

/* -form - 1 */
static bool complement(const fm_row *form, fm_row *result)
{
    *result = (fm_row){0};
    return fm_affine_add(result, form, -1) && fm_affine_add_constant(result, -1);
}

static fm_status lower_quotient_atom(lowering *work, const lower_case *from, const atom *what,
                                     lower_cases *cases)
{
    /* `from` has the numerator in its form. */
    const fm_row numerator = from->form;
    __int128 low, high;
    range(from, &numerator, &low, &high);
    if (what->kind == FM_EXPR_FLOOR || low >= 0)
        return put_quotient(work, from, &numerator, what->divisor, 1, cases);
    fm_row negative = {0}, below;
    if (!fm_affine_add(&negative, &numerator, -1) || !complement(&numerator, &below)) return too_large(work);
    lower_cases signs = {0};
    fm_status status = put_where(work, from, &numerator, &numerator, &signs);
    const size_t not_negative = signs.count;
    if (status == FM_OK) status = put_where(work, from, &below, &negative, &signs);
    for (size_t i = 0; i < signs.count && status == FM_OK; i++)
        status = put_quotient(work, &signs.items[i], &signs.items[i].form, what->divisor,
                              i < not_negative ? 1 : -1, cases);
    fm_lower_cases_clear(&signs);
    return status;
}

static fm_status lower_extreme_atom(lowering *work, const lower_case *from, const atom *what,
                                    lower_cases *cases)
{
    /* `from` has the left side in its form. */
    const fm_row left = from->form, nothing = {0};
    lower_cases sides = {0};
    fm_status status = fm_lower_form(work, from, &nothing, 1, what->right, &sides);
    for (size_t i = 0; i < sides.count && status == FM_OK; i++) {
        const fm_row right = sides.items[i].form;
        fm_row left_wins = what->kind == FM_EXPR_MIN ? right : left, right_wins;
        if (!fm_affine_add(&left_wins, what->kind == FM_EXPR_MIN ? &left : &right, -1) ||
            !complement(&left_wins, &right_wins))
            status = too_large(work);
        if (status == FM_OK) status = put_where(work, &sides.items[i], &left_wins, &left, cases);
        if (status == FM_OK) status = put_where(work, &sides.items[i], &right_wins, &right, cases);
    }
    fm_lower_cases_clear(&sides);
    return status;
}

static fm_status lower_atom(lowering *work, const lower_case *from, const atom *what, lower_cases *cases)
{
    const fm_row nothing = {0};
    lower_cases lefts = {0};
    fm_status status = fm_lower_form(work, from, &nothing, 1, what->left, &lefts);
    for (size_t i = 0; i < lefts.count && status == FM_OK; i++)
        status = what->kind == FM_EXPR_MIN || what->kind == FM_EXPR_MAX
                     ? lower_extreme_atom(work, &lefts.items[i], what, cases)
                     : lower_quotient_atom(work, &lefts.items[i], what, cases);
    fm_lower_cases_clear(&lefts);
    return status;
}

static fm_status lower_sum(lowering *work, const lower_case *from, const sum *what, lower_cases *cases)
{
    lower_cases now = {0}, next = {0};
    lower_case start = *from;
    start.form = what->form;
    fm_status status = fm_lower_put(work, &now, &start);
    for (size_t a = 0; a < what->count && status == FM_OK; a++) {
        next.count = 0;
        for (size_t i = 0; i < now.count && status == FM_OK; i++) {
            size_t first = next.count;
            status = lower_atom(work, &now.items[i], &what->atoms[a], &next);
            for (size_t k = first; k < next.count && status == FM_OK; k++) {
                fm_row form = now.items[i].form;
                if (!fm_affine_add(&form, &next.items[k].form, what->atoms[a].factor))
                    status = too_large(work);
                next.items[k].form = form;
            }
        }
        lower_cases swap = now;
        now = next;
        next = swap;
    }
    for (size_t i = 0; i < now.count && status == FM_OK; i++)
        status = fm_lower_put(work, cases, &now.items[i]);
    fm_lower_cases_clear(&now);
    fm_lower_cases_clear(&next);
    return status;
}

fm_status fm_lower_form(lowering *work, const lower_case *from, const fm_row *base, int64_t factor,
                        const fm_expr *expression, lower_cases *cases)
{
    sum whole = {.form = *base};
    fm_status status = add_expression(work, from, &whole, factor, expression);
    return status == FM_OK ? lower_sum(work, from, &whole, cases) : status;
}

/* ---- conditions ---- */

/* The sum without its atom number `index`, plus the atom's factor times `side`. */
static fm_status replace_atom(lowering *work, const lower_case *one, const sum *what, size_t index,
                              const fm_expr *side, sum *result)
{
    *result = *what;
    result->atoms[index] = result->atoms[--result->count];
    return add_expression(work, one, result, what->atoms[index].factor, side);
}

static fm_status require_sum(lowering *work, const lower_case *from, const sum *what, lower_cases *cases);

/* Both sides must hold. */
static fm_status require_both(lowering *work, const lower_case *from, const sum *what, size_t index,
                              lower_cases *cases)
{
    lower_cases lefts = {0};
    sum *part = fm_arena_allocate(work->scratch, 1, sizeof *part);
    if (!part) return no_memory(work);
    fm_status status = replace_atom(work, from, what, index, what->atoms[index].left, part);
    if (status == FM_OK) status = require_sum(work, from, part, &lefts);
    for (size_t i = 0; i < lefts.count && status == FM_OK; i++) {
        status = replace_atom(work, &lefts.items[i], what, index, what->atoms[index].right, part);
        if (status == FM_OK) status = require_sum(work, &lefts.items[i], part, cases);
    }
    fm_lower_cases_clear(&lefts);
    return status;
}

/* form + sign * floor(numerator / divisor) >= 0 */
static fm_status require_floor(lowering *work, const lower_case *one, const fm_row *form, int sign,
                               const fm_row *numerator, int64_t divisor, lower_cases *cases)
{
    fm_row row = {0};
    if (!fm_affine_add(&row, form, divisor) || !fm_affine_add(&row, numerator, sign) ||
        (sign < 0 && !fm_affine_add_constant(&row, divisor - 1)))
        return too_large(work);
    return put_where(work, one, &row, form, cases);
}

/* The only atom is a quotient, with a factor that divides all others. */
static fm_status require_one_floor(lowering *work, const lower_case *from, const sum *what, bool *done,
                                   lower_cases *cases)
{
    const atom *only = &what->atoms[0];
    const int64_t size = only->factor < 0 ? -only->factor : only->factor;
    fm_row form = what->form;
    *done = false;
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++) {
        if (form.factors[i] % size) return FM_OK;
        form.factors[i] /= size;
    }
    form.constant = fm_floor_divide(form.constant, size);
    *done = true;
    const fm_row nothing = {0};
    const int sign = only->factor < 0 ? -1 : 1;
    lower_cases lefts = {0}, parts = {0};
    fm_status status = fm_lower_form(work, from, &nothing, 1, only->left, &lefts);
    for (size_t i = 0; i < lefts.count && status == FM_OK; i++) {
        const lower_case *one = &lefts.items[i];
        const fm_row numerator = one->form;
        __int128 low, high;
        range(one, &numerator, &low, &high);
        if (only->kind == FM_EXPR_FLOOR || low >= 0) {
            status = require_floor(work, one, &form, sign, &numerator, only->divisor, cases);
            continue;
        }
        fm_row below, negative = {0};
        if (!complement(&numerator, &below) || !fm_affine_add(&negative, &numerator, -1)) {
            status = too_large(work);
            break;
        }
        parts.count = 0;
        status = put_where(work, one, &numerator, &numerator, &parts);
        const size_t not_negative = parts.count;
        if (status == FM_OK) status = put_where(work, one, &below, &negative, &parts);
        for (size_t k = 0; k < parts.count && status == FM_OK; k++)
            status = require_floor(work, &parts.items[k], &form, k < not_negative ? sign : -sign,
                                   &parts.items[k].form, only->divisor, cases);
    }
    fm_lower_cases_clear(&lefts);
    fm_lower_cases_clear(&parts);
    return status;
}

static fm_status require_sum(lowering *work, const lower_case *from, const sum *what, lower_cases *cases)
{
    for (size_t i = 0; i < what->count; i++) {
        const atom *at = &what->atoms[i];
        if ((at->kind == FM_EXPR_MIN && at->factor > 0) || (at->kind == FM_EXPR_MAX && at->factor < 0))
            return require_both(work, from, what, i, cases);
    }
    if (what->count == 1 &&
        (what->atoms[0].kind == FM_EXPR_FLOOR || what->atoms[0].kind == FM_EXPR_QUOTIENT)) {
        bool done;
        fm_status status = require_one_floor(work, from, what, &done, cases);
        if (status != FM_OK || done) return status;
    }
    lower_cases forms = {0};
    fm_status status = lower_sum(work, from, what, &forms);
    for (size_t i = 0; i < forms.count && status == FM_OK; i++)
        status = put_where(work, &forms.items[i], &forms.items[i].form, &forms.items[i].form, cases);
    fm_lower_cases_clear(&forms);
    return status;
}

fm_status fm_lower_not_negative(lowering *work, const lower_case *from, const fm_row *base, int64_t factor,
                                const fm_expr *expression, lower_cases *cases)
{
    sum *whole = fm_arena_allocate(work->scratch, 1, sizeof *whole);
    if (!whole) return no_memory(work);
    whole->form = *base;
    fm_status status = add_expression(work, from, whole, factor, expression);
    return status == FM_OK ? require_sum(work, from, whole, cases) : status;
}

/* The cases of left = left_value and right = right_value. */
static fm_status both_conditions(lowering *work, const lower_case *from, const fm_condition *condition,
                                 bool left_value, bool right_value, lower_cases *cases)
{
    lower_cases lefts = {0};
    fm_status status = fm_lower_condition(work, from, condition->left, left_value, &lefts);
    for (size_t i = 0; i < lefts.count && status == FM_OK; i++)
        status = fm_lower_condition(work, &lefts.items[i], condition->right, right_value, cases);
    fm_lower_cases_clear(&lefts);
    return status;
}

static fm_status lower_zero(lowering *work, const lower_case *from, const fm_expr *expression, bool value,
                            lower_cases *cases)
{
    if (!value) {
        const fm_row less = {.constant = -1};
        fm_status status = fm_lower_not_negative(work, from, &less, 1, expression, cases);
        return status == FM_OK ? fm_lower_not_negative(work, from, &less, -1, expression, cases) : status;
    }
    const fm_row nothing = {0};
    lower_cases forms = {0};
    fm_status status = fm_lower_form(work, from, &nothing, 1, expression, &forms);
    for (size_t i = 0; i < forms.count && status == FM_OK; i++) {
        fm_row negative = {0};
        bool possible = true;
        if (!fm_affine_add(&negative, &forms.items[i].form, -1)) status = too_large(work);
        if (status == FM_OK)
            status = fm_lower_require(work, &forms.items[i], &forms.items[i].form, &possible);
        if (status == FM_OK && possible)
            status = put_where(work, &forms.items[i], &negative, &negative, cases);
    }
    fm_lower_cases_clear(&forms);
    return status;
}

fm_status fm_lower_condition(lowering *work, const lower_case *from, const fm_condition *condition,
                             bool value, lower_cases *cases)
{
    const fm_row nothing = {0}, less = {.constant = -1};
    fm_status status;
    switch (condition->kind) {
    case FM_CONDITION_TRUE:
    case FM_CONDITION_FALSE:
        return value == (condition->kind == FM_CONDITION_TRUE) ? fm_lower_put(work, cases, from) : FM_OK;
    case FM_CONDITION_NOT_NEGATIVE:
        return value ? fm_lower_not_negative(work, from, &nothing, 1, condition->expression, cases)
                     : fm_lower_not_negative(work, from, &less, -1, condition->expression, cases);
    case FM_CONDITION_ZERO:
        return lower_zero(work, from, condition->expression, value, cases);
    case FM_CONDITION_NOT:
        return fm_lower_condition(work, from, condition->left, !value, cases);
    case FM_CONDITION_AND:
    case FM_CONDITION_OR: {
        /* A join that holds when both sides do, or otherwise one side, or the other alone. */
        const bool both = (condition->kind == FM_CONDITION_AND) == value;
        if (both) return both_conditions(work, from, condition, value, value, cases);
        status = fm_lower_condition(work, from, condition->left, value, cases);
        return status == FM_OK ? both_conditions(work, from, condition, !value, value, cases) : status;
    }
    }
    return fm_lower_fail(work, FM_E_FORMAT, "%s is no condition", work->what);
}
