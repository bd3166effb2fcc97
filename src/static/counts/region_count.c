/* SPDX-License-Identifier: Apache-2.0 */
/* region_count.c - loads, stores and operations of a region: numbers, or formulas (fathom/static.h). */
#include "static/counts/counts.h"
#include "static/counts/formulas.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
