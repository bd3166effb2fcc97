/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lower_expression.c - expressions as affine forms (lower.h). Conditions: lower.c.
 *
 * An expression becomes a sum first: an affine form and *atoms*, the parts that are not affine (minimum,
 * maximum, quotient), each with a factor. Atoms are then replaced one after the other.
 */
#include "static/polyhedra/lower.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

fm_status fm_lower_fail(lowering *work, fm_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    status = fm_region_fail_list(work->error, status, work->region, &work->place, format, arguments);
    va_end(arguments);
    return status;
}

fm_status fm_lower_too_large(lowering *work)
{
    return fm_lower_fail(work, FM_E_LIMIT, "%s has numbers beyond 2^62", work->what);
}

fm_status fm_lower_no_memory(lowering *work)
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
        return fm_lower_no_memory(work);
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
    if (!link) return fm_lower_no_memory(work);
    *link = (lower_row){.row = row, .next = one->rows};
    one->rows = link;
    one->row_count++;
    return FM_OK;
}

void fm_lower_range(const lower_case *one, const fm_row *form, __int128 *low, __int128 *high)
{
    fm_affine_range(form, one->depth, one->least, one->most, low, high);
}

/* The form of floor(numerator / divisor) where it has no quotient in it, or of a new variable that is one. */
static fm_status lower_quotient_of(lowering *work, lower_case *one, const fm_row *numerator, int64_t divisor,
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
    fm_lower_range(one, &rest, &low, &high);
    low = fm_floor_divide_wide(low, divisor);
    high = fm_floor_divide_wide(high, divisor);
    if (low == high && low <= FM_AFFINE_MOST && low >= -FM_AFFINE_MOST)
        return fm_affine_add_constant(form, (int64_t)low) ? FM_OK : fm_lower_too_large(work);
    if (low < -FM_AFFINE_MOST || high > FM_AFFINE_MOST) return fm_lower_too_large(work);
    for (const lower_quotient *at = one->quotients; at; at = at->next)
        if (at->divisor == divisor && fm_affine_equal(&at->numerator, &rest)) {
            fm_row found = {0};
            found.factors[at->index] = 1;
            return fm_affine_add(form, &found, 1) ? FM_OK : fm_lower_too_large(work);
        }
    unsigned index = 0;
    fm_status status = fm_lower_variable(work, one, &index);
    if (status != FM_OK) return status;
    one->least[index] = (int64_t)low;
    one->most[index] = (int64_t)high;
    lower_quotient *link = fm_arena_allocate(work->scratch, 1, sizeof *link);
    if (!link) return fm_lower_no_memory(work);
    *link = (lower_quotient){.numerator = rest, .divisor = divisor, .index = index, .next = one->quotients};
    one->quotients = link;
    form->factors[index] = 1;
    /* 0 <= rest - divisor * q <= divisor - 1 */
    fm_row lower = rest, upper = {0};
    lower.factors[index] = -divisor;
    if (!fm_affine_add(&upper, &lower, -1) || !fm_affine_add_constant(&upper, divisor - 1))
        return fm_lower_too_large(work);
    status = fm_lower_require(work, one, &lower, possible);
    return status == FM_OK ? fm_lower_require(work, one, &upper, possible) : status;
}

/* ---- sums ---- */

static fm_status add_atom(lowering *work, lower_sum *to, int64_t factor, const fm_expr *expression)
{
    lower_atom made = {
        .factor = factor, .kind = expression->kind, .left = expression->left, .right = expression->right};
    if (made.kind == FM_EXPR_FLOOR || made.kind == FM_EXPR_QUOTIENT || made.kind == FM_EXPR_REMAINDER ||
        made.kind == FM_EXPR_MODULO) {
        if (fm_expr_has_variable(expression->right))
            return fm_lower_fail(work, FM_E_UNSUPPORTED, "%s divides by something that varies", work->what);
        if (!fm_expr_value(expression->right, work->placement->parameters, NULL, &made.divisor) ||
            made.divisor <= 0)
            return fm_lower_fail(work, FM_E_UNSUPPORTED, "%s divides by something that is not positive",
                                 work->what);
        if (made.divisor > FM_AFFINE_MOST) return fm_lower_too_large(work);
    }
    if (to->count == FM_LOWER_MOST_ATOMS)
        return fm_lower_fail(work, FM_E_LIMIT, "%s has more than %d quotients, minima and maxima", work->what,
                             FM_LOWER_MOST_ATOMS);
    to->atoms[to->count++] = made;
    return FM_OK;
}

/* *to += factor * expression */
fm_status fm_lower_add(lowering *work, const lower_case *one, lower_sum *to, int64_t factor,
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
        if (value > FM_AFFINE_MOST || value < -FM_AFFINE_MOST) return fm_lower_too_large(work);
        return fm_affine_add(&to->form, &number, factor) ? FM_OK : fm_lower_too_large(work);
    }
    fm_status status;
    int64_t product;
    switch (expression->kind) {
    case FM_EXPR_VARIABLE:
        for (const lower_variable *at = one->variables; at; at = at->next)
            if (at->variable == expression->index)
                return fm_affine_add(&to->form, &at->form, factor) ? FM_OK : fm_lower_too_large(work);
        return fm_lower_fail(work, FM_E_FORMAT, "%s uses a variable outside its loop", work->what);
    case FM_EXPR_ADD:
        status = fm_lower_add(work, one, to, factor, expression->left);
        return status == FM_OK ? fm_lower_add(work, one, to, factor, expression->right) : status;
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
            return fm_lower_too_large(work);
        return fm_lower_add(work, one, to, product, other);
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
        lower_atom *made = &to->atoms[to->count - 1];
        made->kind = expression->kind == FM_EXPR_MODULO ? FM_EXPR_FLOOR : FM_EXPR_QUOTIENT;
        if (__builtin_mul_overflow(-factor, made->divisor, &made->factor)) return fm_lower_too_large(work);
        return fm_lower_add(work, one, to, factor, expression->left);
    }
    case FM_EXPR_NUMBER:
    case FM_EXPR_PARAMETER:
        break;
    }
    return fm_lower_fail(work, FM_E_UNSUPPORTED, "%s is not affine", work->what);
}

/* ---- atoms to forms ---- */

/* one, where form >= 0: appended with the value `value`. */
fm_status fm_lower_put_where(lowering *work, const lower_case *one, const fm_row *form, const fm_row *value,
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
    fm_status status = lower_quotient_of(work, &copy, numerator, divisor, &value, &possible);
    if (status != FM_OK || !possible) return status;
    if (!fm_affine_add(&result, &value, sign)) return fm_lower_too_large(work);
    copy.form = result;
    return fm_lower_put(work, cases, &copy);
}

/* -form - 1 */
bool fm_lower_complement(const fm_row *form, fm_row *result)
{
    *result = (fm_row){0};
    return fm_affine_add(result, form, -1) && fm_affine_add_constant(result, -1);
}

static fm_status lower_quotient_atom(lowering *work, const lower_case *from, const lower_atom *what,
                                     lower_cases *cases)
{
    /* `from` has the numerator in its form. */
    const fm_row numerator = from->form;
    __int128 low, high;
    fm_lower_range(from, &numerator, &low, &high);
    if (what->kind == FM_EXPR_FLOOR || low >= 0)
        return put_quotient(work, from, &numerator, what->divisor, 1, cases);
    fm_row negative = {0}, below;
    if (!fm_affine_add(&negative, &numerator, -1) || !fm_lower_complement(&numerator, &below))
        return fm_lower_too_large(work);
    lower_cases signs = {0};
    fm_status status = fm_lower_put_where(work, from, &numerator, &numerator, &signs);
    const size_t not_negative = signs.count;
    if (status == FM_OK) status = fm_lower_put_where(work, from, &below, &negative, &signs);
    for (size_t i = 0; i < signs.count && status == FM_OK; i++)
        status = put_quotient(work, &signs.items[i], &signs.items[i].form, what->divisor,
                              i < not_negative ? 1 : -1, cases);
    fm_lower_cases_clear(&signs);
    return status;
}

static fm_status lower_extreme_atom(lowering *work, const lower_case *from, const lower_atom *what,
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
            !fm_lower_complement(&left_wins, &right_wins))
            status = fm_lower_too_large(work);
        if (status == FM_OK) status = fm_lower_put_where(work, &sides.items[i], &left_wins, &left, cases);
        if (status == FM_OK) status = fm_lower_put_where(work, &sides.items[i], &right_wins, &right, cases);
    }
    fm_lower_cases_clear(&sides);
    return status;
}

static fm_status resolve_atom(lowering *work, const lower_case *from, const lower_atom *what,
                              lower_cases *cases)
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

fm_status fm_lower_sum(lowering *work, const lower_case *from, const lower_sum *what, lower_cases *cases)
{
    lower_cases now = {0}, next = {0};
    lower_case start = *from;
    start.form = what->form;
    fm_status status = fm_lower_put(work, &now, &start);
    for (size_t a = 0; a < what->count && status == FM_OK; a++) {
        next.count = 0;
        for (size_t i = 0; i < now.count && status == FM_OK; i++) {
            size_t first = next.count;
            status = resolve_atom(work, &now.items[i], &what->atoms[a], &next);
            for (size_t k = first; k < next.count && status == FM_OK; k++) {
                fm_row form = now.items[i].form;
                if (!fm_affine_add(&form, &next.items[k].form, what->atoms[a].factor))
                    status = fm_lower_too_large(work);
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
    lower_sum whole = {.form = *base};
    fm_status status = fm_lower_add(work, from, &whole, factor, expression);
    return status == FM_OK ? fm_lower_sum(work, from, &whole, cases) : status;
}
