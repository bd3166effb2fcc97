/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lower.c - a region's tree to polyhedral references (reference.h). Expressions: lower_expression.c.
 *
 * Every loop that a case is in has an x of its own; a loop by 1 counts by its variable, one by -1 by its
 * negative, any other by the number of the iteration. Quotients that a condition or a bound needs are loops
 * of one iteration around what depends on it, those of a subscript around the access. Wherever a case splits,
 * each part gets positions of its own: at most one of them has points for the same outer variables.
 *
 * An access that may cross the border of a block becomes one reference for each block that it can touch; each
 * stands for the part in its block and says that it touches one byte there.
 */
#include "static/polyhedra/lower.h"

#include "base/error.h"
#include "base/memory.h"
#include "static/polyhedra/projection.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REFERENCES = 65536, SEARCH_BUDGET = 2000000 };

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
        fm_status status = fm_lower_not_negative(work, &from->items[i], &base, -sign, bound, cases);
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
    fm_status status = fm_lower_condition(work, from, node->condition, value, &cases);
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
static fm_status extreme(lowering *work, const fm_reference *made, const fm_row *form, bool largest,
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
    status = extreme(work, &made, &nothing, true, &result, &value, point);
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
        status = extreme(work, &made, &made.address, largest, &result, &address, point);
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
