/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lower.c - a region's tree to polyhedral references (polyhedra.h). Expressions: lower_expression.c.
 *
 * Every loop that a case is in has an x of its own; a loop by 1 counts by its variable, one by -1 by its
 * negative, any other by the number of the iteration. Quotients that a condition or a bound needs are loops
 * of one iteration around what depends on it, those of a subscript around the access. Wherever a case
 * splits, each part gets positions of its own: at most one of them has points for the same outer variables.
 *
 * An access that may cross the border of a block becomes one reference for each block that it can touch;
 * each stands for the part in its block and says that it touches one byte there.
 */
#include "static/polyhedra/lower.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REFERENCES = 65536, SEARCH_BUDGET = 2000000 };

/* ---- conditions ---- */

/*
 * Conditions as rows (lower.h).
 *
 * A condition E >= 0 needs fewer cases than the form of E: min(a, b) >= e is two rows, floor(a / b) >= e is
 * b * e <= a.
 */

static fm_status lower_condition(lowering *work, const lower_case *from, const fm_condition *condition,
                                 bool value, lower_cases *cases);

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

/* The cases in which base + factor * expression >= 0. */
static fm_status lower_not_negative(lowering *work, const lower_case *from, const fm_row *base,
                                    int64_t factor, const fm_expr *expression, lower_cases *cases)
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
    fm_status status = lower_condition(work, from, condition->left, left_value, &lefts);
    for (size_t i = 0; i < lefts.count && status == FM_OK; i++)
        status = lower_condition(work, &lefts.items[i], condition->right, right_value, cases);
    fm_lower_cases_clear(&lefts);
    return status;
}

static fm_status lower_zero(lowering *work, const lower_case *from, const fm_expr *expression, bool value,
                            lower_cases *cases)
{
    if (!value) {
        const fm_row less = {.constant = -1};
        fm_status status = lower_not_negative(work, from, &less, 1, expression, cases);
        return status == FM_OK ? lower_not_negative(work, from, &less, -1, expression, cases) : status;
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

/* The cases in which the condition has that value. */
static fm_status lower_condition(lowering *work, const lower_case *from, const fm_condition *condition,
                                 bool value, lower_cases *cases)
{
    const fm_row nothing = {0}, less = {.constant = -1};
    fm_status status;
    switch (condition->kind) {
    case FM_CONDITION_TRUE:
    case FM_CONDITION_FALSE:
        return value == (condition->kind == FM_CONDITION_TRUE) ? fm_lower_put(work, cases, from) : FM_OK;
    case FM_CONDITION_NOT_NEGATIVE:
        return value ? lower_not_negative(work, from, &nothing, 1, condition->expression, cases)
                     : lower_not_negative(work, from, &less, -1, condition->expression, cases);
    case FM_CONDITION_ZERO:
        return lower_zero(work, from, condition->expression, value, cases);
    case FM_CONDITION_NOT:
        return lower_condition(work, from, condition->left, !value, cases);
    case FM_CONDITION_AND:
    case FM_CONDITION_OR: {
        /* A join that holds when both sides do, or otherwise one side, or the other alone. */
        const bool both = (condition->kind == FM_CONDITION_AND) == value;
        if (both) return both_conditions(work, from, condition, value, value, cases);
        status = lower_condition(work, from, condition->left, value, cases);
        return status == FM_OK ? both_conditions(work, from, condition, !value, value, cases) : status;
    }
    }
    return fm_lower_fail(work, FM_E_FORMAT, "%s is no condition", work->what);
}

static fm_status lower_body(lowering *work, const lower_case *from, const fm_region_node *node,
                            uint32_t *item);

static fm_status set_variable(lowering *work, lower_case *one, uint32_t variable, const fm_row *form)
{
    lower_variable *link = fm_arena_allocate(work->scratch, 1, sizeof *link);
    if (!link) return fm_fail_memory(work->error, sizeof *link, "the references of a region");
    *link = (lower_variable){.variable = variable, .form = *form, .next = one->variables};
    one->variables = link;
    return FM_OK;
}

/* ---- loops and guards ---- */

/* sign * (variable - bound) >= 0, for every case of `from`. */
static fm_status bound_loop(lowering *work, const lower_cases *from, int sign, const fm_expr *bound,
                            lower_cases *cases)
{
    for (size_t i = 0; i < from->count; i++) {
        fm_row base = {0};
        const fm_row *form = &from->items[i].variables->form; /* the loop's own: it came last */
        if (!fm_affine_add(&base, form, sign))
            return fm_lower_fail(work, FM_E_LIMIT, "%s has numbers beyond 2^62", work->what);
        fm_status status = lower_not_negative(work, &from->items[i], &base, -sign, bound, cases);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

static fm_status begin_by_one(lowering *work, const lower_case *from, const fm_region_node *node,
                              lower_cases *cases)
{
    lower_cases start = {0};
    lower_case one = *from;
    unsigned index;
    fm_row form = {0};
    fm_status status = fm_lower_variable(work, &one, &index);
    if (status != FM_OK) return status;
    form.factors[index] = node->step;
    status = set_variable(work, &one, node->variable, &form);
    if (status == FM_OK) status = fm_lower_put(work, &start, &one);
    if (status == FM_OK) status = bound_loop(work, &start, node->step > 0 ? 1 : -1, node->first, cases);
    fm_lower_cases_clear(&start);
    return status;
}

static fm_status begin_by_steps(lowering *work, const lower_case *from, const fm_region_node *node,
                                lower_cases *cases)
{
    const fm_row nothing = {0};
    lower_cases starts = {0};
    fm_status status = fm_lower_form(work, from, &nothing, 1, node->first, &starts);
    for (size_t i = 0; i < starts.count && status == FM_OK; i++) {
        lower_case one = starts.items[i];
        fm_row form = one.form, count = {0};
        unsigned index;
        bool possible = true;
        status = fm_lower_variable(work, &one, &index);
        if (status != FM_OK) break;
        form.factors[index] = node->step;
        count.factors[index] = 1;
        status = set_variable(work, &one, node->variable, &form);
        if (status == FM_OK) status = fm_lower_require(work, &one, &count, &possible);
        if (status == FM_OK) status = fm_lower_put(work, cases, &one);
    }
    fm_lower_cases_clear(&starts);
    return status;
}

static fm_status lower_loop(lowering *work, const lower_case *from, const fm_region_node *node,
                            uint32_t *item)
{
    lower_cases begun = {0}, cases = {0};
    work->place = node->place;
    work->what = "the first value of the loop";
    if (node->step > FM_AFFINE_MOST || node->step < -FM_AFFINE_MOST)
        return fm_lower_fail(work, FM_E_LIMIT, "the step of the loop is beyond 2^62");
    fm_status status = node->step == 1 || node->step == -1 ? begin_by_one(work, from, node, &begun)
                                                           : begin_by_steps(work, from, node, &begun);
    work->what = "the last value of the loop";
    if (status == FM_OK) status = bound_loop(work, &begun, node->step > 0 ? -1 : 1, node->last, &cases);
    for (size_t i = 0; i < cases.count && status == FM_OK; i++) {
        uint32_t inside = 0;
        cases.items[i].position[from->depth] = (*item)++;
        status = lower_body(work, &cases.items[i], node->body, &inside);
    }
    fm_lower_cases_clear(&begun);
    fm_lower_cases_clear(&cases);
    return status;
}

static fm_status lower_branch(lowering *work, const lower_case *from, const fm_region_node *node, bool value,
                              uint32_t *item)
{
    const fm_region_node *body = value ? node->body : node->otherwise;
    if (!body) return FM_OK;
    lower_cases cases = {0};
    work->place = node->place;
    work->what = "the condition";
    fm_status status = lower_condition(work, from, node->condition, value, &cases);
    for (size_t i = 0; i < cases.count && status == FM_OK; i++) {
        uint32_t inside = 0;
        const bool deeper = cases.items[i].depth > from->depth;
        if (deeper) cases.items[i].position[from->depth] = (*item)++;
        status = lower_body(work, &cases.items[i], body, deeper ? &inside : item);
    }
    fm_lower_cases_clear(&cases);
    return status;
}

/* ---- accesses ---- */

static fm_status fill_reference(lowering *work, const lower_case *one, fm_reference *made)
{
    made->depth = one->depth;
    memcpy(made->position, one->position, sizeof made->position);
    memcpy(made->least, one->least, sizeof made->least);
    memcpy(made->most, one->most, sizeof made->most);
    made->row_count = one->row_count;
    made->rows = fm_arena_allocate(work->list->arena, one->row_count, sizeof made->rows[0]);
    if (!made->rows)
        return fm_fail_memory(work->error, one->row_count * sizeof made->rows[0], "the rows of a reference");
    size_t at = one->row_count;
    for (const lower_row *row = one->rows; row; row = row->next) made->rows[--at] = row->row;
    return FM_OK;
}

/* Rows and address stay below 2^62 inside the box. */
static bool in_range(const fm_reference *made)
{
    for (size_t i = 0; i <= made->row_count; i++) {
        const fm_row *row = i < made->row_count ? &made->rows[i] : &made->address;
        __int128 low, high;
        fm_affine_range(row, made->depth, made->least, made->most, &low, &high);
        if (low < -FM_AFFINE_MOST || high > FM_AFFINE_MOST) return false;
    }
    for (unsigned i = 0; i < made->depth; i++)
        if (made->least[i] <= -FM_AFFINE_MOST || made->most[i] >= FM_AFFINE_MOST) return false;
    return true;
}

/* An end of the values of form over the reference's points. */
static fm_status extreme_value(lowering *work, const fm_reference *made, const fm_row *form, bool largest,
                               fm_search_result *result, int64_t *value, int64_t *point)
{
    fm_status status = fm_form_extreme(made->rows, made->row_count, made->depth, made->least, made->most,
                                       form, largest, SEARCH_BUDGET, result, value, point, work->error);
    if (status == FM_OK && *result == FM_SEARCH_GIVEN_UP)
        return fm_lower_fail(work, FM_E_LIMIT, "the bounds around it are too involved to be worked out");
    return status;
}

static fm_status put_reference(lowering *work, const lower_case *one, const fm_reference *model, bool *exists)
{
    fm_reference made = *model;
    const fm_row nothing = {0};
    fm_search_result result;
    int64_t value, point[FM_REFERENCE_DEPTH];
    *exists = false;
    fm_status status = fill_reference(work, one, &made);
    if (status != FM_OK) return status;
    if (!fm_box_tighten(made.rows, made.row_count, made.depth, made.least, made.most)) return FM_OK;
    if (!in_range(&made))
        return fm_lower_fail(work, FM_E_LIMIT, "addresses or bounds of loops are beyond 2^62");
    status = extreme_value(work, &made, &nothing, true, &result, &value, point);
    if (status != FM_OK || result == FM_SEARCH_NONE) return status;
    *exists = true;
    fm_reference_list *list = work->list;
    if (list->count >= MOST_REFERENCES)
        return fm_lower_fail(work, FM_E_LIMIT, "the region has more than %d references", MOST_REFERENCES);
    if (fm_array_reserve((void **)&list->references, &work->capacity, list->count + 1, sizeof made))
        return fm_fail_memory(work->error, sizeof made, "the references of a region");
    list->references[list->count++] = made;
    return FM_OK;
}

/* The element that a point touches, in words. */
static void describe_element(lowering *work, const lower_case *one, const fm_region_access *access,
                             const int64_t *point, char *text, size_t size)
{
    const fm_region *region = work->region;
    const fm_region_array *array = &region->arrays[access->array];
    int64_t *variables = fm_arena_allocate(work->scratch, region->variable_count, sizeof *variables);
    size_t used = (size_t)snprintf(text, size, "%s", array->name);
    for (const lower_variable *at = one->variables; at && variables; at = at->next)
        variables[at->variable] = fm_affine_at(&at->form, one->depth, point);
    for (unsigned d = 0; d < array->dimensions && used < size && variables; d++) {
        int64_t value;
        if (fm_expr_value(access->subscripts[d], work->placement->parameters, variables, &value))
            used += (size_t)snprintf(text + used, size - used, "[%" PRId64 "]", value);
    }
}

/* Every address of the access is inside its array. */
static fm_status check_inside(lowering *work, const lower_case *one, const fm_reference *model,
                              const fm_region_access *access)
{
    const fm_placed_array *array = &work->placement->arrays[access->array];
    fm_reference made = *model;
    fm_status status = fill_reference(work, one, &made);
    if (status != FM_OK) return status;
    if (!fm_box_tighten(made.rows, made.row_count, made.depth, made.least, made.most)) return FM_OK;
    if (!in_range(&made))
        return fm_lower_fail(work, FM_E_LIMIT, "addresses or bounds of loops are beyond 2^62");
    const int64_t last_start = array->end - (int64_t)model->bytes;
    __int128 low, high;
    fm_affine_range(&made.address, made.depth, made.least, made.most, &low, &high);
    for (int largest = 0; largest <= 1; largest++) {
        if (largest ? high <= last_start : low >= array->base) continue;
        fm_search_result result;
        int64_t address, point[FM_REFERENCE_DEPTH];
        status = extreme_value(work, &made, &made.address, largest, &result, &address, point);
        if (status != FM_OK) return status;
        if (result == FM_SEARCH_NONE) return FM_OK; /* it touches nothing at all */
        if (largest ? address <= last_start : address >= array->base) continue;
        char element[256];
        describe_element(work, one, access, point, element, sizeof element);
        if (largest)
            return fm_lower_fail(work, FM_E_ARGUMENT,
                                 "%s touches element %s outside the array: its byte %" PRId64
                                 ", and the array has %" PRId64 " bytes",
                                 access->text ? access->text : "the access", element,
                                 address + (int64_t)model->bytes - 1 - array->base, array->end - array->base);
        return fm_lower_fail(work, FM_E_ARGUMENT,
                             "%s touches element %s outside the array: %" PRId64 " bytes before its begin",
                             access->text ? access->text : "the access", element, array->base - address);
    }
    return FM_OK;
}

/* Is every address a multiple of something that keeps the bytes within a block? */
static bool in_one_block(const fm_row *address, uint64_t bytes, int64_t granularity)
{
    int64_t divisor = granularity;
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++)
        divisor = fm_greatest_divisor(divisor, address->factors[i]);
    const int64_t rest = address->constant - fm_floor_divide(address->constant, divisor) * divisor;
    return bytes <= (uint64_t)(divisor - rest);
}

static const char address_too_large[] = "its address has numbers beyond 2^62";

/* The reference of the k-th block (from 1) that an access across borders touches, where it touches so many.
 */
static fm_status put_block(lowering *work, const lower_case *one, const fm_reference *model, int64_t k,
                           uint32_t *item, bool *exists)
{
    const int64_t granularity = (int64_t)work->list->granularity;
    lower_case copy = *one;
    fm_reference made = *model;
    *exists = true;
    if (granularity == 1) {
        if (!fm_affine_add_constant(&made.address, k))
            return fm_lower_fail(work, FM_E_LIMIT, "%s", address_too_large);
    } else { /* address = granularity * q + rest, and rest + bytes - 1 >= k * granularity */
        unsigned q;
        fm_status status = fm_lower_variable(work, &copy, &q);
        if (status != FM_OK) return status;
        fm_row rest = made.address, upper = {0}, reaches;
        rest.factors[q] = -granularity;
        reaches = rest;
        bool possible = true;
        if (!fm_affine_add(&upper, &rest, -1) || !fm_affine_add_constant(&upper, granularity - 1) ||
            !fm_affine_add_constant(&reaches, (int64_t)made.bytes - 1 - k * granularity))
            return fm_lower_fail(work, FM_E_LIMIT, "%s", address_too_large);
        status = fm_lower_require(work, &copy, &rest, &possible);
        if (status == FM_OK) status = fm_lower_require(work, &copy, &upper, &possible);
        if (status == FM_OK) status = fm_lower_require(work, &copy, &reaches, &possible);
        if (status != FM_OK) return status;
        made.address = (fm_row){.constant = k * granularity};
        made.address.factors[q] = granularity;
        *exists = possible;
    }
    made.bytes = 1;
    if (!*exists) return FM_OK;
    copy.position[one->depth] = *item;
    fm_status status = put_reference(work, &copy, &made, exists);
    if (status == FM_OK && *exists) ++*item;
    return status;
}

static fm_status put_access(lowering *work, const lower_case *one, const fm_region_access *access,
                            fm_reference *model, uint32_t *item)
{
    const int64_t granularity = (int64_t)work->list->granularity;
    fm_status status = check_inside(work, one, model, access);
    if (status != FM_OK) return status;
    const uint64_t blocks = (model->bytes - 1) / (uint64_t)granularity + 2; /* at most so many */
    const bool inside = in_one_block(&model->address, model->bytes, granularity);
    if (!inside && blocks > MOST_REFERENCES)
        return fm_lower_fail(work, FM_E_LIMIT, "an access touches more than %d blocks", MOST_REFERENCES);
    fm_reference first = *model;
    lower_case copy = *one;
    bool exists;
    if (!inside) first.bytes = 1;
    copy.position[one->depth] = *item;
    status = put_reference(work, &copy, &first, &exists);
    if (status != FM_OK || !exists) return status;
    ++*item;
    const uint64_t most = granularity == 1 ? model->bytes : blocks;
    for (uint64_t k = 1; k < most && !inside && exists && status == FM_OK; k++)
        status = put_block(work, one, model, (int64_t)k, item, &exists);
    return status;
}

static fm_status lower_access(lowering *work, const lower_case *from, const fm_region_node *node,
                              size_t number, uint32_t *item)
{
    const fm_region_access *access = &node->accesses[number];
    const fm_region_array *array = &work->region->arrays[access->array];
    const fm_placed_array *placed = &work->placement->arrays[access->array];
    lower_cases now = {0}, next = {0};
    lower_case start = *from;
    start.form = (fm_row){.constant = placed->origin};
    work->place = access->place.line ? access->place : node->place;
    work->what = access->text ? access->text : "a subscript";
    if (access->member_offset > (uint64_t)FM_AFFINE_MOST || array->element > (uint64_t)FM_AFFINE_MOST ||
        !fm_affine_add_constant(&start.form, (int64_t)access->member_offset))
        return fm_lower_fail(work, FM_E_LIMIT, "%s", address_too_large);
    fm_status status = fm_lower_put(work, &now, &start);
    for (unsigned d = 0; d < array->dimensions && status == FM_OK; d++) {
        next.count = 0;
        for (size_t i = 0; i < now.count && status == FM_OK; i++) {
            const fm_row base = now.items[i].form;
            status =
                fm_lower_form(work, &now.items[i], &base, placed->strides[d], access->subscripts[d], &next);
        }
        lower_cases swap = now;
        now = next;
        next = swap;
    }
    for (size_t i = 0; i < now.count && status == FM_OK; i++) {
        uint32_t inside = 0;
        const bool deeper = now.items[i].depth > from->depth;
        fm_reference model = {
            .access = node->first_access + (uint32_t)number,
            .array = access->array,
            .order = (uint32_t)number,
            .address = now.items[i].form,
            .bytes = access->member_bytes ? access->member_bytes : array->element,
        };
        if (!model.bytes || model.bytes > (uint64_t)FM_AFFINE_MOST) {
            status = fm_lower_fail(work, FM_E_ARGUMENT, "%s touches no bytes", work->what);
            break;
        }
        if (deeper) now.items[i].position[from->depth] = (*item)++;
        status = put_access(work, &now.items[i], access, &model, deeper ? &inside : item);
    }
    fm_lower_cases_clear(&now);
    fm_lower_cases_clear(&next);
    return status;
}

static fm_status lower_body(lowering *work, const lower_case *from, const fm_region_node *node,
                            uint32_t *item)
{
    fm_status status = FM_OK;
    for (; node && status == FM_OK; node = node->next) {
        switch (node->kind) {
        case FM_NODE_LOOP:
            status = lower_loop(work, from, node, item);
            break;
        case FM_NODE_IF:
            status = lower_branch(work, from, node, true, item);
            if (status == FM_OK) status = lower_branch(work, from, node, false, item);
            break;
        case FM_NODE_STATEMENT:
            for (size_t i = 0; i < node->access_count && status == FM_OK; i++)
                status = lower_access(work, from, node, i, item);
            break;
        }
    }
    return status;
}

fm_status fm_references_create(fm_reference_list *list, const fm_region *region,
                               const fm_placement *placement, fm_error *error)
{
    *list = (fm_reference_list){.granularity = placement->granularity};
    lowering work = {.region = region, .placement = placement, .error = error, .list = list, .what = "it"};
    if (!placement->granularity || placement->granularity > (uint64_t)FM_AFFINE_MOST)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "blocks of %" PRIu64 " bytes", placement->granularity);
    list->arena = fm_arena_create();
    work.scratch = fm_arena_create();
    lower_case all = {0};
    uint32_t item = 0;
    fm_status status = list->arena && work.scratch
                           ? lower_body(&work, &all, region->body, &item)
                           : fm_fail_memory(error, sizeof all, "the references of a region");
    fm_arena_destroy(work.scratch);
    if (status != FM_OK) fm_references_clear(list);
    return status;
}

void fm_references_clear(fm_reference_list *list)
{
    free(list->references);
    fm_arena_destroy(list->arena);
    *list = (fm_reference_list){0};
}
