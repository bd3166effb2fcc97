/* SPDX-License-Identifier: Apache-2.0 */
/* nests.c - what each loop of a region that is in no other does: operations, bytes, misses
 * (fathom/static.h). */
#include "static/counts/counts.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct survey {
    const fm_region *region;
    const uint64_t *executions; /* of each statement */
    uint32_t *nest_of;          /* of each tag: number of the nest */
} survey;

static bool add_product(uint64_t *sum, uint64_t one, uint64_t times)
{
    uint64_t product;
    return !__builtin_mul_overflow(one, times, &product) && !__builtin_add_overflow(*sum, product, sum);
}

static void see_place(const fm_region_place *place, fm_nest *nest, uint32_t *file)
{
    if (place->file == 0 || place->line == 0) return;
    if (*file == 0) *file = place->file;
    if (place->file != *file) return; /* a function of another file, inlined */
    if (nest->first_line == 0 || place->line < nest->first_line) nest->first_line = place->line;
    if (place->line > nest->last_line) nest->last_line = place->line;
}

/* Everything in a node, added to the nest; false: beyond 2^64. */
static bool add_node(survey *self, const fm_region_node *node, uint32_t number, fm_nest *nest, uint32_t *file)
{
    bool fits = true;
    see_place(&node->place, nest, file);
    if (node->kind == FM_NODE_STATEMENT) {
        const uint64_t times = self->executions[node->statement];
        const fm_region_operations *of = &node->operations;
        fits &= add_product(&nest->flops, of->adds + of->multiplies + of->divides + of->specials, times);
        fits &= add_product(&nest->integer_operations, of->integers, times);
        for (size_t i = 0; i < node->access_count; i++) {
            const fm_region_access *access = &node->accesses[i];
            see_place(&access->place, nest, file);
            fits &= add_product(access->store ? &nest->stores : &nest->loads, 1, times);
            fits &= add_product(access->store ? &nest->stored_bytes : &nest->loaded_bytes,
                                access->member_bytes, times);
            self->nest_of[node->first_access + i + 1] = number;
        }
        return fits;
    }
    for (const fm_region_node *child = node->body; child; child = child->next)
        fits &= add_node(self, child, number, nest, file);
    for (const fm_region_node *child = node->otherwise; child; child = child->next)
        fits &= add_node(self, child, number, nest, file);
    return fits;
}

static fm_status add_nests(survey *self, fm_nest *nests, size_t edge_count, fm_error *error)
{
    uint32_t number = 0;
    for (const fm_region_node *node = self->region->body; node; node = node->next, number++) {
        fm_nest *nest = &nests[number];
        uint32_t file = 0;
        if (!add_node(self, node, number, nest, &file))
            return fm_fail(error, FM_E_LIMIT, NULL, "the region does more than 2^64 operations");
        nest->file = file ? strdup(self->region->files[file - 1]) : NULL;
        nest->range_count = edge_count;
        nest->ranges = fm_calloc(edge_count + 1, sizeof *nest->ranges);
        if (!nest->ranges || (file && !nest->file))
            return fm_fail_memory(error, edge_count * sizeof *nest->ranges, "the nests of a region");
    }
    return FM_OK;
}

static void add_pairs(const survey *self, const fm_raw_pair *pairs, size_t count, fm_nest *nests)
{
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].reuse == 0 || pairs[i].reuse > self->region->access_count) continue;
        fm_nest *nest = &nests[self->nest_of[pairs[i].reuse]];
        if (pairs[i].range < nest->range_count)
            nest->ranges[pairs[i].range] += pairs[i].count; /* fewer than 2^64 in all */
        else
            nest->first_touches += pairs[i].count;
    }
}

fm_status fm_region_nests(const fm_region *region, double limit_seconds, const fm_raw_pair *pairs,
                          size_t pair_count, size_t edge_count, fm_nest **nests, size_t *count,
                          fm_error *error)
{
    *nests = NULL;
    *count = 0;
    FM_REQUIRE(region, error);
    for (const fm_region_node *node = region->body; node; node = node->next) ++*count;
    uint64_t *executions = fm_calloc((size_t)region->statement_count + 1, sizeof *executions);
    int64_t *parameters = fm_calloc(region->parameter_count + 1, sizeof *parameters);
    survey self = {region, executions, fm_calloc((size_t)region->access_count + 1, sizeof *self.nest_of)};
    fm_nest *made = fm_calloc(*count + 1, sizeof *made);
    fm_status status = FM_OK;
    if (!executions || !parameters || !self.nest_of || !made)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the nests of a region");
    for (size_t i = 0; i < region->parameter_count && status == FM_OK; i++) {
        if (!region->parameters[i].has_value)
            status = fm_fail(error, FM_E_ARGUMENT, NULL, "parameter '%.60s' has no value",
                             region->parameters[i].name);
        parameters[i] = region->parameters[i].value;
    }
    const double deadline = limit_seconds > 0 ? fm_now() + limit_seconds : 0;
    if (status == FM_OK) status = fm_count_executions(region, parameters, deadline, executions, error);
    if (status == FM_OK) status = add_nests(&self, made, edge_count, error);
    if (status == FM_OK) {
        add_pairs(&self, pairs, pair_count, made);
        *nests = made;
    } else {
        if (made) fm_nests_destroy(made, *count);
        *count = 0;
    }
    free(executions);
    free(parameters);
    free(self.nest_of);
    return status;
}

void fm_nests_destroy(fm_nest *nests, size_t count)
{
    for (size_t i = 0; i < count && nests; i++) {
        free(nests[i].file);
        free(nests[i].ranges);
    }
    free(nests);
}
