/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lower_condition.c - conditions as rows (lower.h).
 *
 * A condition E >= 0 needs fewer cases than the form of E: min(a, b) >= e is two rows, floor(a / b) >= e is
 * b * e <= a.
 */
#include "static/polyhedra/lower.h"

/* The sum without its atom number `index`, plus the atom's factor times `side`. */
static fm_status replace_atom(lowering *work, const lower_case *one, const lower_sum *what, size_t index,
                              const fm_expr *side, lower_sum *result)
{
    *result = *what;
    result->atoms[index] = result->atoms[--result->count];
    return fm_lower_add(work, one, result, what->atoms[index].factor, side);
}

static fm_status require_sum(lowering *work, const lower_case *from, const lower_sum *what,
                             lower_cases *cases);

/* Both sides must hold. */
static fm_status require_both(lowering *work, const lower_case *from, const lower_sum *what, size_t index,
                              lower_cases *cases)
{
    lower_cases lefts = {0};
    lower_sum *part = fm_arena_allocate(work->scratch, 1, sizeof *part);
    if (!part) return fm_lower_no_memory(work);
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
        return fm_lower_too_large(work);
    return fm_lower_put_where(work, one, &row, form, cases);
}

/* The only atom is a quotient, with a factor that divides all others. */
static fm_status require_one_floor(lowering *work, const lower_case *from, const lower_sum *what, bool *done,
                                   lower_cases *cases)
{
    const lower_atom *only = &what->atoms[0];
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
        fm_lower_range(one, &numerator, &low, &high);
        if (only->kind == FM_EXPR_FLOOR || low >= 0) {
            status = require_floor(work, one, &form, sign, &numerator, only->divisor, cases);
            continue;
        }
        fm_row below, negative = {0};
        if (!fm_lower_complement(&numerator, &below) || !fm_affine_add(&negative, &numerator, -1)) {
            status = fm_lower_too_large(work);
            break;
        }
        parts.count = 0;
        status = fm_lower_put_where(work, one, &numerator, &numerator, &parts);
        const size_t not_negative = parts.count;
        if (status == FM_OK) status = fm_lower_put_where(work, one, &below, &negative, &parts);
        for (size_t k = 0; k < parts.count && status == FM_OK; k++)
            status = require_floor(work, &parts.items[k], &form, k < not_negative ? sign : -sign,
                                   &parts.items[k].form, only->divisor, cases);
    }
    fm_lower_cases_clear(&lefts);
    fm_lower_cases_clear(&parts);
    return status;
}

static fm_status require_sum(lowering *work, const lower_case *from, const lower_sum *what,
                             lower_cases *cases)
{
    for (size_t i = 0; i < what->count; i++) {
        const lower_atom *at = &what->atoms[i];
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
    fm_status status = fm_lower_sum(work, from, what, &forms);
    for (size_t i = 0; i < forms.count && status == FM_OK; i++)
        status = fm_lower_put_where(work, &forms.items[i], &forms.items[i].form, &forms.items[i].form, cases);
    fm_lower_cases_clear(&forms);
    return status;
}

fm_status fm_lower_not_negative(lowering *work, const lower_case *from, const fm_row *base, int64_t factor,
                                const fm_expr *expression, lower_cases *cases)
{
    lower_sum *whole = fm_arena_allocate(work->scratch, 1, sizeof *whole);
    if (!whole) return fm_lower_no_memory(work);
    whole->form = *base;
    fm_status status = fm_lower_add(work, from, whole, factor, expression);
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
        if (!fm_affine_add(&negative, &forms.items[i].form, -1)) status = fm_lower_too_large(work);
        if (status == FM_OK)
            status = fm_lower_require(work, &forms.items[i], &forms.items[i].form, &possible);
        if (status == FM_OK && possible)
            status = fm_lower_put_where(work, &forms.items[i], &negative, &negative, cases);
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
