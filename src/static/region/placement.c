/* SPDX-License-Identifier: Apache-2.0 */
/* placement.c - Array after array from a fixed address on, each in blocks of its own. */
#include "static/region/region.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum { FIRST_ADDRESS = 1 << 16 };
static const int64_t largest = INT64_C(1) << 56; /* of an address: sums of a few fit 64 bits */

static bool add_ranges(fm_range left, fm_range right, fm_range *sum)
{
    return !__builtin_add_overflow(left.least, right.least, &sum->least) &&
           !__builtin_add_overflow(left.most, right.most, &sum->most);
}

static bool multiply_ranges(fm_range left, fm_range right, fm_range *product)
{
    const int64_t a[] = {left.least, left.most}, b[] = {right.least, right.most};
    for (int i = 0; i < 4; i++) {
        int64_t value;
        if (__builtin_mul_overflow(a[i / 2], b[i % 2], &value)) return false;
        if (i == 0 || value < product->least) product->least = value;
        if (i == 0 || value > product->most) product->most = value;
    }
    return true;
}

static bool divide_ranges(fm_expr_kind kind, fm_range left, fm_range right, fm_range *result)
{
    int64_t by = right.least;
    if (right.least != right.most || by <= 0) return false;
    switch (kind) {
    case FM_EXPR_QUOTIENT:
        *result = (fm_range){left.least / by, left.most / by};
        return true;
    case FM_EXPR_FLOOR:
        *result = (fm_range){fm_floor_divide(left.least, by), fm_floor_divide(left.most, by)};
        return true;
    case FM_EXPR_MODULO:
        *result = (fm_range){0, by - 1};
        if (fm_floor_divide(left.least, by) == fm_floor_divide(left.most, by))
            *result = (fm_range){left.least - by * fm_floor_divide(left.least, by),
                                 left.most - by * fm_floor_divide(left.most, by)};
        return true;
    default:
        break;
    }
    if (left.least / by == left.most / by && (left.least >= 0 || left.most <= 0)) {
        *result = (fm_range){left.least % by, left.most % by};
        return true;
    }
    result->least = left.least >= 0 ? 0 : left.least > -by ? left.least : 1 - by;
    result->most = left.most <= 0 ? 0 : left.most < by ? left.most : by - 1;
    return true;
}

bool fm_expr_range(const fm_expr *expression, const int64_t *parameters, const fm_range *variables,
                   fm_range *range)
{
    fm_range left, right;
    switch (expression->kind) {
    case FM_EXPR_NUMBER:
        *range = (fm_range){expression->number, expression->number};
        return true;
    case FM_EXPR_PARAMETER:
        *range = (fm_range){parameters[expression->index], parameters[expression->index]};
        return true;
    case FM_EXPR_VARIABLE:
        *range = variables[expression->index];
        return true;
    default:
        break;
    }
    if (!fm_expr_range(expression->left, parameters, variables, &left) ||
        !fm_expr_range(expression->right, parameters, variables, &right))
        return false;
    switch (expression->kind) {
    case FM_EXPR_ADD:
        return add_ranges(left, right, range);
    case FM_EXPR_MULTIPLY:
        return multiply_ranges(left, right, range);
    case FM_EXPR_MIN:
        range->least = left.least < right.least ? left.least : right.least;
        range->most = left.most < right.most ? left.most : right.most;
        return true;
    case FM_EXPR_MAX:
        range->least = left.least > right.least ? left.least : right.least;
        range->most = left.most > right.most ? left.most : right.most;
        return true;
    default:
        return divide_ranges(expression->kind, left, right, range);
    }
}

/* ---- arrays whose length nobody knows: what the region touches ---- */

typedef struct survey {
    const fm_region *region;
    fm_placement *placement;
    fm_range *variables;
    fm_range *touched; /* of each array: bytes from the element [0]…[0] on; least > most: nothing */
} survey;

static fm_status survey_access(survey *self, const fm_region_access *access, fm_error *error)
{
    const fm_region_array *array = &self->region->arrays[access->array];
    const fm_placed_array *placed = &self->placement->arrays[access->array];
    int64_t bytes = (int64_t)fm_access_reach(array, access) - 1;
    fm_range all = {0, bytes};
    for (unsigned i = 0; i < array->dimensions; i++) {
        fm_range one, stride = {placed->strides[i], placed->strides[i]};
        if (!fm_expr_range(access->subscripts[i], self->placement->parameters, self->variables, &one) ||
            !multiply_ranges(one, stride, &one) || !add_ranges(all, one, &all) || all.least < -largest ||
            all.most > largest)
            return fm_region_fail(error, FM_E_LIMIT, self->region, &access->place,
                                  "subscript %u of '%.60s' reaches further than 2^56 bytes", i + 1,
                                  array->name);
    }
    fm_range *touched = &self->touched[access->array];
    if (all.least < touched->least) touched->least = all.least;
    if (all.most > touched->most) touched->most = all.most;
    return FM_OK;
}

static fm_status survey_nodes(survey *self, const fm_region_node *node, fm_error *error)
{
    fm_status status = FM_OK;
    for (; node && status == FM_OK; node = node->next) {
        if (node->kind == FM_NODE_STATEMENT) {
            for (size_t i = 0; i < node->access_count && status == FM_OK; i++)
                status = survey_access(self, &node->accesses[i], error);
            continue;
        }
        if (node->kind == FM_NODE_LOOP) {
            fm_range first, last;
            if (!fm_expr_range(node->first, self->placement->parameters, self->variables, &first) ||
                !fm_expr_range(node->last, self->placement->parameters, self->variables, &last))
                return fm_region_fail(
                    error, FM_E_LIMIT, self->region, &node->place,
                    "a bound of the loop over '%.60s' does not fit 64 bits, or divides by a "
                    "number that is not positive",
                    self->region->variables[node->variable]);
            fm_range all =
                node->step > 0 ? (fm_range){first.least, last.most} : (fm_range){last.least, first.most};
            if (all.least > all.most) continue; /* never runs */
            self->variables[node->variable] = all;
        }
        status = survey_nodes(self, node->body, error);
        if (status == FM_OK) status = survey_nodes(self, node->otherwise, error);
    }
    return status;
}

/* ---- placing ---- */

static fm_status fix_parameters(fm_placement *placement, const fm_region *region, fm_error *error)
{
    fm_status status = fm_region_values(region, placement->parameters, error);
    if (status != FM_OK) return status;
    for (size_t i = 0; i < region->assumption_count; i++) {
        bool holds = false;
        if (!fm_condition_value(region->assumptions[i], placement->parameters, NULL, &holds) || !holds)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "the values of the parameters contradict assumption %zu of the region", i + 1);
    }
    return FM_OK;
}

static bool round_up(int64_t number, int64_t to, int64_t *rounded)
{
    return !__builtin_add_overflow(number, to - 1, rounded) && (*rounded -= *rounded % to, true);
}

/* Strides from the innermost dimension on, and the bytes of the whole array; those of its innermost row where
 * the length of the array is not known. */
static bool find_strides(const fm_region_array *array, const int64_t *extents, int64_t granularity,
                         fm_layout layout, fm_placed_array *placed, int64_t *bytes)
{
    *bytes = (int64_t)array->element;
    for (unsigned k = 0; k < array->dimensions; k++) {
        unsigned i = array->column_major ? k : array->dimensions - 1 - k;
        placed->strides[i] = *bytes;
        if (!array->extents[i]) return true; /* the outermost */
        if (__builtin_mul_overflow(*bytes, extents[i], bytes)) return false;
        if (k == 0 && layout == FM_LAYOUT_ALIGNED && array->dimensions > 1 &&
            !round_up(*bytes, granularity, bytes))
            return false;
        if (*bytes > largest) return false;
    }
    return true;
}

static fm_status find_extents(const fm_region *region, const fm_placement *placement,
                              const fm_region_array *array, int64_t *extents, fm_error *error)
{
    for (unsigned i = 0; i < array->dimensions; i++) {
        if (!array->extents[i]) continue;
        if (!fm_expr_value(array->extents[i], placement->parameters, NULL, &extents[i]))
            return fm_region_fail(error, FM_E_ARGUMENT, region, &array->place,
                                  "extent %u of '%.60s' cannot be worked out", i + 1, array->name);
        if (extents[i] < 0)
            return fm_region_fail(error, FM_E_ARGUMENT, region, &array->place, "extent %u of '%.60s' is %lld",
                                  i + 1, array->name, (long long)extents[i]);
    }
    return FM_OK;
}

static bool is_open(const fm_region_array *array)
{
    return array->dimensions > 0 && !array->extents[array->column_major ? array->dimensions - 1 : 0];
}

static fm_status place_arrays(fm_placement *placement, const fm_region *region, const int64_t *bytes,
                              const fm_range *touched, fm_error *error)
{
    int64_t at = FIRST_ADDRESS;
    for (size_t i = 0; i < region->array_count; i++) {
        const fm_region_array *array = &region->arrays[i];
        fm_placed_array *placed = &placement->arrays[i];
        int64_t unit = (int64_t)placement->granularity, room = bytes[i], before = 0;
        if ((int64_t)array->align > unit) unit = (int64_t)array->align;
        if (is_open(array)) {
            fm_range all = touched[i].least <= touched[i].most ? touched[i] : (fm_range){0, -1};
            room = all.most + 1 > 0 ? all.most + 1 : 0;
            if (all.least < 0 && !round_up(-all.least, unit, &before)) before = largest;
        }
        bool fits = round_up(at, unit, &at) && at <= largest && before <= largest && room <= largest;
        if (!fits)
            return fm_region_fail(error, FM_E_LIMIT, region, &array->place,
                                  "the arrays up to '%.60s' do not fit an address space of 2^56 bytes",
                                  array->name);
        placed->base = at;
        placed->origin = at + before + (int64_t)array->offset;
        placed->end = placed->origin + room;
        at = placed->end;
        for (unsigned d = 0; d < array->dimensions && array->lows && !is_open(array); d++) {
            int64_t back;
            if (__builtin_mul_overflow(array->lows[d], placed->strides[d], &back) || back > largest ||
                back < -largest)
                return fm_region_fail(error, FM_E_LIMIT, region, &array->place,
                                      "the smallest subscripts of '%.60s' reach further than 2^56 bytes",
                                      array->name);
            placed->origin -= back;
        }
        if (!is_open(array)) placed->base += (int64_t)array->offset;
    }
    return FM_OK;
}

fm_status fm_placement_create(fm_placement **placement, const fm_region *region, uint64_t granularity,
                              fm_layout layout, fm_error *error)
{
    *placement = NULL;
    if (granularity == 0 || (granularity & (granularity - 1)) || granularity > UINT64_C(1) << 40)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the granularity must be a power of two up to 2^40");
    fm_placement *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the places of arrays");
    self->granularity = granularity;
    self->array_count = region->array_count;
    self->parameters = fm_calloc(region->parameter_count + 1, sizeof *self->parameters);
    self->arrays = fm_calloc(region->array_count + 1, sizeof *self->arrays);
    int64_t *bytes = fm_calloc(region->array_count + 1, sizeof *bytes);
    survey look = {
        .region = region,
        .placement = self,
        .variables = fm_calloc(region->variable_count + 1, sizeof *look.variables),
        .touched = fm_calloc(region->array_count + 1, sizeof *look.touched),
    };
    fm_status status = FM_OK;
    if (!self->parameters || !self->arrays || !bytes || !look.variables || !look.touched)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the places of arrays");
    if (status == FM_OK) status = fix_parameters(self, region, error);
    for (size_t i = 0; i < region->array_count && status == FM_OK; i++) {
        const fm_region_array *array = &region->arrays[i];
        int64_t extents[FM_MOST_DIMENSIONS] = {0};
        look.touched[i] = (fm_range){INT64_MAX, INT64_MIN};
        status = find_extents(region, self, array, extents, error);
        if (status == FM_OK &&
            !find_strides(array, extents, (int64_t)granularity, layout, &self->arrays[i], &bytes[i]))
            status = fm_region_fail(error, FM_E_LIMIT, region, &array->place,
                                    "'%.60s' is larger than 2^56 bytes", array->name);
    }
    if (status == FM_OK) status = survey_nodes(&look, region->body, error);
    if (status == FM_OK) status = place_arrays(self, region, bytes, look.touched, error);
    free(bytes);
    free(look.variables);
    free(look.touched);
    if (status != FM_OK)
        fm_placement_destroy(self);
    else
        *placement = self;
    return status;
}

void fm_placement_destroy(fm_placement *placement)
{
    if (!placement) return;
    free(placement->parameters);
    free(placement->arrays);
    free(placement);
}
