/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_count.c - loads, stores and operations of a region, and of each loop of it that is in no other
 * (fathom/static.h).
 */
#include "static/counts/counts.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- counts ---- */

enum { LOADS, STORES, FLOPS, INTEGERS, KINDS };

/* What one execution of a statement does. */
static void of_one(const fm_region_node *node, uint64_t counts[KINDS])
{
    const fm_region_operations *operations = &node->operations;
    for (int i = 0; i < KINDS; i++) counts[i] = 0;
    for (size_t i = 0; i < node->access_count; i++) counts[node->accesses[i].store ? STORES : LOADS]++;
    counts[FLOPS] = operations->adds + operations->multiplies + operations->divides + operations->specials;
    counts[INTEGERS] = operations->integers;
}

/* All statements of a tree, by their numbers. */
static void list_statements(const fm_region *region, const fm_region_node *node, fm_region_statement *list,
                            const fm_region_node **nodes)
{
    for (; node; node = node->next) {
        if (node->kind != FM_NODE_STATEMENT) {
            list_statements(region, node->body, list, nodes);
            list_statements(region, node->otherwise, list, nodes);
            continue;
        }
        uint64_t counts[KINDS];
        of_one(node, counts);
        nodes[node->statement] = node;
        list[node->statement] = (fm_region_statement){
            .file = node->place.file ? region->files[node->place.file - 1] : NULL,
            .line = node->place.line,
            .loads = counts[LOADS],
            .stores = counts[STORES],
            .flops = counts[FLOPS],
            .integer_operations = counts[INTEGERS],
        };
    }
}

static char *number_text(uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return strdup(text);
}

static char *formula_text(fm_poly *formula, const char *const *names)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return NULL;
    fm_poly_write(stream, formula, names);
    if (fclose(stream) == 0) return text;
    free(text);
    return NULL;
}

static fm_status count_numbers(const fm_region *region, const fm_region_node *const *nodes, double deadline,
                               fm_region_counts *counts, char **sums[KINDS], fm_error *error)
{
    uint64_t *executions = fm_calloc((size_t)region->statement_count + 1, sizeof *executions);
    int64_t *parameters = fm_calloc(region->parameter_count + 1, sizeof *parameters);
    uint64_t all[KINDS] = {0};
    fm_status status = FM_OK;
    if (!executions || !parameters)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for counts");
    for (size_t i = 0; i < region->parameter_count && status == FM_OK; i++)
        parameters[i] = region->parameters[i].value;
    if (status == FM_OK) status = fm_count_executions(region, parameters, deadline, executions, error);
    for (uint32_t s = 0; s < region->statement_count && status == FM_OK; s++) {
        uint64_t one[KINDS], product;
        of_one(nodes[s], one);
        for (int i = 0; i < KINDS && status == FM_OK; i++)
            if (__builtin_mul_overflow(one[i], executions[s], &product) ||
                __builtin_add_overflow(all[i], product, &all[i]))
                status = fm_fail(error, FM_E_LIMIT, NULL, "the region does more than 2^64 operations");
        if (status == FM_OK) counts->statements[s].executions = number_text(executions[s]);
    }
    for (int i = 0; i < KINDS && status == FM_OK; i++) *sums[i] = number_text(all[i]);
    free(executions);
    free(parameters);
    return status;
}

static fm_status count_formulas(const fm_region *region, const fm_region_node *const *nodes,
                                fm_region_counts *counts, char **sums[KINDS], fm_error *error)
{
    fm_formulas formulas;
    fm_status status = fm_formulas_find(&formulas, region, error);
    if (status != FM_OK) return status;
    fm_poly all[KINDS] = {{0}};
    bool fits = true;
    for (uint32_t s = 0; s < region->statement_count; s++) {
        uint64_t one[KINDS];
        of_one(nodes[s], one);
        for (int i = 0; i < KINDS; i++) fm_poly_add(&all[i], &formulas.executions[s], (int64_t)one[i], 1);
        counts->statements[s].executions = formula_text(&formulas.executions[s], formulas.names);
    }
    for (int i = 0; i < KINDS; i++) {
        *sums[i] = formula_text(&all[i], formulas.names);
        fits &= !all[i].failed;
        fm_poly_clear(&all[i]);
    }
    counts->condition = formulas.condition;
    formulas.condition = NULL;
    fm_formulas_clear(&formulas);
    if (fits) return FM_OK;
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for formulas");
}

fm_status fm_region_count(const fm_region *region, double limit_seconds, fm_region_counts **result,
                          fm_error *error)
{
    *result = NULL;
    FM_REQUIRE(region, error);
    fm_region_counts *counts = fm_calloc(1, sizeof *counts);
    if (!counts) return fm_fail_memory(error, sizeof *counts, "counts");
    counts->statement_count = region->statement_count;
    counts->statements = fm_calloc((size_t)region->statement_count + 1, sizeof *counts->statements);
    const fm_region_node **nodes = fm_calloc((size_t)region->statement_count + 1, sizeof *nodes);
    char **sums[KINDS] = {&counts->loads, &counts->stores, &counts->flops, &counts->integer_operations};
    fm_status status = FM_OK;
    bool open = false;
    for (size_t i = 0; i < region->parameter_count; i++) open |= !region->parameters[i].has_value;
    if (!counts->statements || !nodes) {
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for counts");
    } else {
        list_statements(region, region->body, counts->statements, nodes);
        const double deadline = fm_now() + limit_seconds;
        status = open ? count_formulas(region, nodes, counts, sums, error)
                      : count_numbers(region, nodes, limit_seconds > 0 ? deadline : 0, counts, sums, error);
    }
    bool whole = status == FM_OK;
    for (int i = 0; i < KINDS && whole; i++) whole = *sums[i];
    for (size_t i = 0; i < counts->statement_count && whole; i++) whole = counts->statements[i].executions;
    if (status == FM_OK && !whole)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for counts");
    free(nodes);
    if (status != FM_OK)
        fm_region_counts_destroy(counts);
    else
        *result = counts;
    return status;
}

void fm_region_counts_destroy(fm_region_counts *counts)
{
    if (!counts) return;
    for (size_t i = 0; i < counts->statement_count && counts->statements; i++)
        free(counts->statements[i].executions);
    free(counts->statements);
    free(counts->loads);
    free(counts->stores);
    free(counts->flops);
    free(counts->integer_operations);
    free(counts->condition);
    free(counts);
}

uint64_t fm_counted_accesses(const fm_region_counts *counts)
{
    const uint64_t loads = strtoull(counts->loads, NULL, 10), stores = strtoull(counts->stores, NULL, 10);
    uint64_t sum;
    return __builtin_add_overflow(loads, stores, &sum) ? UINT64_MAX : sum;
}

/* ---- nests ---- */

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
