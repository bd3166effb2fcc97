/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.c - works a region off as a program would, and hands out every access in order.
 *
 * It is the judge of what is found out without it, so it knows nothing of polyhedra: values are worked out
 * node by node (fm_expr_value). One short cut: in a loop whose body is statements only, addresses that are
 * sums of the loop's variable advance by a constant.
 */
#include "static/region/region.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum { BATCH = 65536 };

typedef struct walker {
    const fm_region *region;
    const fm_placement *placement;
    fm_region_visit visit;
    void *context;
    int64_t *variables;
    size_t count; /* accesses that wait */
    uint64_t addresses[BATCH];
    uint32_t sizes[BATCH], tags[BATCH];
} walker;

static fm_status deliver_accesses(walker *self, fm_error *error)
{
    size_t count = self->count;
    self->count = 0;
    if (count == 0) return FM_OK;
    return self->visit(self->context, self->addresses, self->sizes, self->tags, count, error);
}

static inline fm_status emit_access(walker *self, int64_t address, uint32_t size, uint32_t tag,
                                    fm_error *error)
{
    if (self->count == BATCH) {
        fm_status status = deliver_accesses(self, error);
        if (status != FM_OK) return status;
    }
    FM_ASSERT(self->count < BATCH);
    self->addresses[self->count] = (uint64_t)address;
    self->sizes[self->count] = size;
    self->tags[self->count++] = tag;
    return FM_OK;
}

static fm_status find_address(const walker *self, const fm_region_access *access, int64_t *address,
                              fm_error *error)
{
    const fm_region_array *array = &self->region->arrays[access->array];
    const fm_placed_array *placed = &self->placement->arrays[access->array];
    *address = placed->origin;
    for (unsigned i = 0; i < array->dimensions; i++) {
        int64_t subscript, bytes;
        if (!fm_expr_value(access->subscripts[i], self->placement->parameters, self->variables, &subscript) ||
            __builtin_mul_overflow(subscript, placed->strides[i], &bytes) ||
            __builtin_add_overflow(*address, bytes, address))
            return fm_region_fail(error, FM_E_ARGUMENT, self->region, &access->place,
                                  "subscript %u of '%.60s' cannot be worked out", i + 1, array->name);
    }
    if (*address < placed->base || *address > placed->end - (int64_t)fm_access_reach(array, access))
        return fm_region_fail(error, FM_E_ARGUMENT, self->region, &access->place,
                              "%s touches what is outside of '%.60s', at byte %lld of %lld",
                              access->text ? access->text : "an access", array->name,
                              (long long)(*address - placed->base), (long long)(placed->end - placed->base));
    *address += (int64_t)access->member_offset;
    return FM_OK;
}

/* ---- the short cut ---- */

/* Does the expression grow by a constant when the variable grows by 1? */
static bool is_linear(const fm_expr *expression, uint32_t variable)
{
    if (!fm_expr_uses(expression, variable) || expression->kind == FM_EXPR_VARIABLE) return true;
    /* Of a product, one side has no variables at all (region_words.c). */
    return (expression->kind == FM_EXPR_ADD || expression->kind == FM_EXPR_MULTIPLY) &&
           is_linear(expression->left, variable) && is_linear(expression->right, variable);
}

enum { MOST_STREAMS = 64 }; /* accesses in the body of a loop */

typedef struct stream {
    int64_t address, advance;
    uint32_t size, tag;
} stream;

static size_t count_accesses(const fm_region *region, const fm_region_node *loop)
{
    size_t count = 0;
    for (const fm_region_node *node = loop->body; node; node = node->next) {
        if (node->kind != FM_NODE_STATEMENT || count + node->access_count > MOST_STREAMS) return 0;
        for (size_t i = 0; i < node->access_count; i++)
            for (unsigned d = 0; d < region->arrays[node->accesses[i].array].dimensions; d++)
                if (!is_linear(node->accesses[i].subscripts[d], loop->variable)) return 0;
        count += node->access_count;
    }
    return count;
}

/* The iterations first, first + step, … of which there are `times`, 2 at least. Both ends are worked out, so
 * that an access outside of its array is found. */
static fm_status stream_loop(walker *self, const fm_region_node *loop, int64_t first, uint64_t times,
                             fm_error *error)
{
    stream streams[MOST_STREAMS];
    size_t count = 0;
    fm_status status = FM_OK;
    int64_t *variable = &self->variables[loop->variable];
    for (const fm_region_node *node = loop->body; node; node = node->next)
        for (size_t i = 0; i < node->access_count && status == FM_OK; i++) {
            int64_t begin = 0, second = 0, end;
            *variable = first;
            status = find_address(self, &node->accesses[i], &begin, error);
            *variable = first + loop->step;
            if (status == FM_OK) status = find_address(self, &node->accesses[i], &second, error);
            *variable = first + (int64_t)(times - 1) * loop->step;
            if (status == FM_OK) status = find_address(self, &node->accesses[i], &end, error);
            streams[count++] = (stream){begin, second - begin, (uint32_t)node->accesses[i].member_bytes,
                                        node->first_access + (uint32_t)i + 1};
        }
    for (uint64_t n = 0; n < times && status == FM_OK; n++)
        for (size_t i = 0; i < count && status == FM_OK; i++) {
            status = emit_access(self, streams[i].address, streams[i].size, streams[i].tag, error);
            streams[i].address += streams[i].advance;
        }
    return status;
}

/* ---- the walk ---- */

static fm_status walk_nodes(walker *self, const fm_region_node *node, fm_error *error);

static fm_status walk_loop(walker *self, const fm_region_node *node, fm_error *error)
{
    int64_t first, last;
    const int64_t *parameters = self->placement->parameters;
    if (!fm_expr_value(node->first, parameters, self->variables, &first) ||
        !fm_expr_value(node->last, parameters, self->variables, &last) || first > INT64_MAX / 2 ||
        first < -INT64_MAX / 2 || last > INT64_MAX / 2 || last < -INT64_MAX / 2)
        return fm_region_fail(error, FM_E_ARGUMENT, self->region, &node->place,
                              "a bound of the loop over '%.60s' cannot be worked out",
                              self->region->variables[node->variable]);
    bool down = node->step < 0;
    if (down ? first < last : first > last) return FM_OK;
    uint64_t times = down ? (uint64_t)(first - last) / (uint64_t)-node->step + 1
                          : (uint64_t)(last - first) / (uint64_t)node->step + 1;
    if (times > 1 && count_accesses(self->region, node) > 0)
        return stream_loop(self, node, first, times, error);
    fm_status status = FM_OK;
    for (uint64_t n = 0; n < times && status == FM_OK; n++) {
        self->variables[node->variable] = first + (int64_t)n * node->step;
        status = walk_nodes(self, node->body, error);
    }
    return status;
}

static fm_status walk_nodes(walker *self, const fm_region_node *node, fm_error *error)
{
    fm_status status = FM_OK;
    for (; node && status == FM_OK; node = node->next) {
        bool holds;
        switch (node->kind) {
        case FM_NODE_LOOP:
            status = walk_loop(self, node, error);
            break;
        case FM_NODE_IF:
            if (!fm_condition_value(node->condition, self->placement->parameters, self->variables, &holds))
                return fm_region_fail(error, FM_E_ARGUMENT, self->region, &node->place,
                                      "a condition cannot be worked out");
            status = walk_nodes(self, holds ? node->body : node->otherwise, error);
            break;
        case FM_NODE_STATEMENT:
            for (size_t i = 0; i < node->access_count && status == FM_OK; i++) {
                int64_t address;
                status = find_address(self, &node->accesses[i], &address, error);
                if (status == FM_OK)
                    status = emit_access(self, address, (uint32_t)node->accesses[i].member_bytes,
                                         node->first_access + (uint32_t)i + 1, error);
            }
            break;
        }
    }
    return status;
}

fm_status fm_region_walk(const fm_region *region, uint64_t granularity, fm_layout layout,
                         fm_region_visit visit, void *context, fm_error *error)
{
    FM_REQUIRE(region, error);
    fm_placement *placement;
    fm_status status = fm_placement_create(&placement, region, granularity, layout, error);
    if (status != FM_OK) return status;
    walker *self = fm_calloc(1, sizeof *self);
    int64_t *variables = fm_calloc(region->variable_count + 1, sizeof *variables);
    if (self && variables) {
        self->region = region;
        self->placement = placement;
        self->visit = visit;
        self->context = context;
        self->variables = variables;
        status = walk_nodes(self, region->body, error);
        if (status == FM_OK) status = deliver_accesses(self, error);
    } else {
        status = fm_fail_memory(error, sizeof *self, "working a region off");
    }
    free(self);
    free(variables);
    fm_placement_destroy(placement);
    return status;
}
