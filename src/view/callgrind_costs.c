/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callgrind_costs.c - see callgrind_costs.h.
 *
 * A reference costs the site that makes it: the re-using one. Call paths are a tree whose nodes are calls;
 * what is spent under a node is added up from the leaves, since a child always has a larger number than its
 * parent. A call that stands twice on one path (recursion) is counted where it stands outermost only, so that
 * no call costs more than the program.
 */
#include "view/callgrind_costs.h"

#include "base/error.h"
#include "base/memory.h"
#include "profile/arena.h"
#include "profile/key_table.h"

#include <stdlib.h>

enum { FARTHEST_ANCESTOR = 1024 }; /* how far up the same call is looked for */

/* Where a site is. */
typedef struct position {
    uint32_t function, file, line;
} position;

/* What is spent under a node of the tree of calls, in one of the functions that are called there. */
typedef struct branch {
    uint32_t function;
    uint32_t next; /* branch of the same node + 1; 0: none */
    fm_cost cost;
} branch;

typedef struct cost_builder {
    const fm_attribution *of;
    fm_cost_table *table;
    size_t file_room, function_room, line_room, branch_count, branch_room;
    fm_key_table files, functions, lines, branch_keys;
    position *sites;
    branch *branches;
    uint32_t *first; /* of each node: branch + 1 */
    bool failed;     /* memory was short */
} cost_builder;

static void add_cost(fm_cost *to, const fm_cost *more)
{
    for (size_t i = 0; i < FM_COSTS; i++) to->of[i] += more->of[i];
}

/* Room for one more; false, and failed, where there is none. */
static bool reserve(cost_builder *by, void **array, size_t *capacity, size_t count, size_t size)
{
    if (by->failed || count >= FM_NONE - 1 || fm_array_reserve(array, capacity, count + 1, size) || !*array)
        by->failed = true;
    return !by->failed;
}

/* ---- names ---- */

static const char *kept(cost_builder *by, const char *text)
{
    if (!text) return NULL;
    const char *own = fm_arena_intern(by->table->texts, text);
    by->failed |= !own;
    return own;
}

static uint32_t file_of(cost_builder *by, const char *path)
{
    const char *own = kept(by, path);
    fm_cost_table *table = by->table;
    void *grown = table->files;
    if (!reserve(by, &grown, &by->file_room, table->file_count, sizeof *table->files)) return 0;
    table->files = grown;
    uint32_t number =
        fm_key_table_add(&by->files, (fm_key){(uint64_t)(uintptr_t)own, 0, 0}, (uint32_t)table->file_count);
    by->failed |= number == FM_KEY_NONE;
    if (number == table->file_count) table->files[table->file_count++] = own;
    return number;
}

static position position_of(cost_builder *by, const fm_site *site)
{
    fm_cost_table *table = by->table;
    const fm_frame *inner = site->frame_count ? &site->frames[0] : NULL;
    const fm_frame *outer = site->frame_count ? &site->frames[site->frame_count - 1] : NULL;
    position at = {0, file_of(by, inner ? inner->file : NULL), inner ? inner->line : 0};
    fm_cost_function function = {.module = site->module, .file = file_of(by, outer ? outer->file : NULL)};
    function.name = kept(by, outer && outer->function ? outer->function : site->symbol);
    function.address = function.name ? 0 : site->address;
    void *grown = table->functions;
    if (!reserve(by, &grown, &by->function_room, table->function_count, sizeof function)) return at;
    table->functions = grown;
    fm_key key = {(uint64_t)(uintptr_t)function.name, (uint64_t)function.module << 32 | function.file,
                  function.address};
    at.function = fm_key_table_add(&by->functions, key, (uint32_t)table->function_count);
    by->failed |= at.function == FM_KEY_NONE;
    if (at.function == table->function_count) table->functions[table->function_count++] = function;
    return at;
}

/* ---- lines and calls ---- */

/* The line's number; it is new where nothing was spent there yet. */
static uint32_t line_of(cost_builder *by, position at, uint32_t callee)
{
    fm_cost_table *table = by->table;
    void *grown = table->lines;
    if (!reserve(by, &grown, &by->line_room, table->line_count, sizeof *table->lines)) return 0;
    table->lines = grown;
    fm_key key = {(uint64_t)at.function << 32 | at.file, (uint64_t)at.line << 32 | callee, 0};
    uint32_t number = fm_key_table_add(&by->lines, key, (uint32_t)table->line_count);
    by->failed |= number == FM_KEY_NONE;
    if (number == table->line_count)
        table->lines[table->line_count++] =
            (fm_cost_line){.function = at.function, .file = at.file, .line = at.line, .callee = callee};
    return number;
}

static void add_line(cost_builder *by, position at, uint32_t callee, const fm_cost *cost)
{
    uint32_t number = line_of(by, at, callee);
    if (!by->failed) add_cost(&by->table->lines[number].cost, cost);
}

static void add_branch(cost_builder *by, uint32_t node, uint32_t function, const fm_cost *cost)
{
    void *grown = by->branches;
    if (!reserve(by, &grown, &by->branch_room, by->branch_count, sizeof *by->branches)) return;
    by->branches = grown;
    uint32_t number =
        fm_key_table_add(&by->branch_keys, (fm_key){node, function, 0}, (uint32_t)by->branch_count);
    if (number == FM_KEY_NONE) {
        by->failed = true;
        return;
    }
    if (number == by->branch_count) {
        by->branches[by->branch_count++] = (branch){.function = function, .next = by->first[node]};
        by->first[node] = number + 1;
    }
    add_cost(&by->branches[number].cost, cost);
}

static const position *call_of(const cost_builder *by, uint32_t node)
{
    return &by->sites[by->of->paths[node].call];
}

/* Whether the call at a position to a function stands on the path above the node as well. */
static bool called_above(const cost_builder *by, uint32_t node, uint32_t function)
{
    const position *at = call_of(by, node);
    for (size_t steps = 0; steps < FARTHEST_ANCESTOR; steps++) {
        uint32_t callee = call_of(by, node)->function; /* of the call that is the parent */
        node = by->of->paths[node].parent;
        if (node == FM_NONE) return false;
        const position *above = call_of(by, node);
        if (callee == function && above->function == at->function && above->file == at->file &&
            above->line == at->line)
            return true;
    }
    return false;
}

static void add_calls(cost_builder *by)
{
    for (size_t i = by->of->path_count; i-- > 0 && !by->failed;) {
        uint32_t node = (uint32_t)i, parent = by->of->paths[i].parent;
        fm_cost all = {{0}};
        for (uint32_t b = by->first[node]; b && by->branches; b = by->branches[b - 1].next) {
            const branch *at = &by->branches[b - 1];
            add_cost(&all, &at->cost);
            if (!called_above(by, node, at->function))
                add_line(by, *call_of(by, node), at->function, &at->cost);
        }
        if (by->first[node] && parent != FM_NONE && !by->failed)
            add_branch(by, parent, call_of(by, node)->function, &all);
    }
}

static void add_pairs(cost_builder *by, const uint64_t blocks[3])
{
    for (size_t i = 0; i < by->of->pair_count && !by->failed; i++) {
        const fm_pair *pair = &by->of->pairs[i];
        fm_cost cost = {{(double)pair->count}};
        for (size_t j = 0; j < 3 && blocks; j++) cost.of[j + 1] = fm_pair_misses(pair, blocks[j]);
        add_line(by, by->sites[pair->reuse], FM_NONE, &cost);
        uint32_t path = by->of->sites[pair->reuse].path;
        if (path != FM_NONE) add_branch(by, path, by->sites[pair->reuse].function, &cost);
    }
}

/* The function's own file comes first: its lines are written under "fl=", others under "fi=". */
static int by_place(const void *a, const void *b)
{
    const fm_cost_line *x = a, *y = b;
    if (x->function != y->function) return x->function < y->function ? -1 : 1;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    uint32_t callee_x = x->callee + 1, callee_y = y->callee + 1; /* none first */
    return callee_x < callee_y ? -1 : callee_x > callee_y;
}

/* Rotates each function's lines so that those of its own file come first. */
static fm_status own_file_first(fm_cost_table *table, fm_error *error)
{
    fm_cost_line *sorted = fm_calloc(table->line_count, sizeof *sorted);
    if (!sorted) return fm_fail_memory(error, (uint64_t)table->line_count * sizeof *sorted, "costs by line");
    size_t made = 0;
    for (size_t first = 0, end; first < table->line_count; first = end) {
        uint32_t function = table->lines[first].function, own = table->functions[function].file;
        for (end = first; end < table->line_count && table->lines[end].function == function; end++)
            if (table->lines[end].file == own) sorted[made++] = table->lines[end];
        for (size_t i = first; i < end; i++)
            if (table->lines[i].file != own) sorted[made++] = table->lines[i];
    }
    free(table->lines);
    table->lines = sorted;
    return FM_OK;
}

fm_status fm_cost_table_make(fm_cost_table *table, const fm_attribution *of, const uint64_t blocks[3],
                             fm_error *error)
{
    *table = (fm_cost_table){.texts = fm_arena_create()};
    cost_builder by = {.of = of, .table = table};
    by.sites = fm_calloc(of->site_count, sizeof *by.sites);
    by.first = fm_calloc(of->path_count, sizeof *by.first);
    by.failed = !table->texts || !by.sites || !by.first;
    for (size_t i = 0; i < of->site_count && !by.failed; i++) by.sites[i] = position_of(&by, &of->sites[i]);
    add_pairs(&by, blocks);
    add_calls(&by);
    fm_key_table_clear(&by.files);
    fm_key_table_clear(&by.functions);
    fm_key_table_clear(&by.lines);
    fm_key_table_clear(&by.branch_keys);
    free(by.sites);
    free(by.first);
    free(by.branches);
    fm_status status = FM_OK;
    if (by.failed) {
        status = fm_fail_memory(error, (uint64_t)of->site_count * 64, "costs by line");
    } else if (table->line_count) {
        qsort(table->lines, table->line_count, sizeof *table->lines, by_place);
        status = own_file_first(table, error);
    }
    if (status) fm_cost_table_clear(table);
    return status;
}

void fm_cost_table_clear(fm_cost_table *table)
{
    fm_arena_destroy(table->texts);
    free(table->files);
    free(table->functions);
    free(table->lines);
    *table = (fm_cost_table){0};
}
