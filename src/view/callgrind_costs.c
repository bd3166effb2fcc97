/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callgrind_costs.c - see callgrind_costs.h.
 *
 * A reference costs the site that makes it: the re-using one. It also costs the calls that led there, each
 * function on the path once: the call that entered it first. A function that is entered again while it runs
 * (recursion) has the cost already. So what comes in through all calls of a function is what is spent while
 * it runs.
 */
#include "view/callgrind_costs.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"

#include <stdlib.h>

enum { MOST_FUNCTIONS = 4096 }; /* on one path that are told apart: nobody looks at more */

/* Where a site is. */
typedef struct position {
    uint32_t function, file, line;
} position;

/* What a function spends at the end of a path. */
typedef struct leaf {
    uint32_t path, function;
    fm_cost cost;
} leaf;

typedef struct cost_builder {
    const fm_attribution *of;
    fm_cost_table *table;
    size_t file_room, function_room, line_room, leaf_count, leaf_room;
    fm_table files, functions, lines, leaf_keys;
    position *sites;
    leaf *leaves;
    uint32_t *entry; /* of each node: itself where its function is on the path for the first time, else the
                        nearest node above of which that is true */
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
    uint32_t number = fm_table_add(&by->files, &own);
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
    at.function = fm_table_add(&by->functions, &key);
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
    uint32_t number = fm_table_add(&by->lines, &key);
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

static void add_leaf(cost_builder *by, uint32_t path, uint32_t function, const fm_cost *cost)
{
    void *grown = by->leaves;
    if (!reserve(by, &grown, &by->leaf_room, by->leaf_count, sizeof *by->leaves)) return;
    by->leaves = grown;
    uint32_t number = fm_table_add(&by->leaf_keys, &(fm_key){path, function, 0});
    if (number == FM_KEY_NONE) {
        by->failed = true;
        return;
    }
    if (number == by->leaf_count) by->leaves[by->leaf_count++] = (leaf){.path = path, .function = function};
    add_cost(&by->leaves[number].cost, cost);
}

static const position *call_of(const cost_builder *by, uint32_t node)
{
    return &by->sites[by->of->paths[node].call];
}

/* Parents come before their children. */
static void find_entries(cost_builder *by)
{
    for (uint32_t node = 0; node < by->of->path_count && !by->failed; node++) {
        uint32_t parent = by->of->paths[node].parent, at = parent;
        by->entry[node] = node;
        for (size_t n = 0; at != FM_NONE && n < MOST_FUNCTIONS; n++) {
            at = by->entry[at];
            if (call_of(by, at)->function == call_of(by, node)->function) {
                by->entry[node] = by->entry[parent];
                break;
            }
            at = by->of->paths[at].parent;
        }
    }
}

static void add_calls(cost_builder *by)
{
    for (size_t i = 0; i < by->leaf_count && !by->failed; i++) {
        const leaf *from = &by->leaves[i];
        bool entered = false; /* the function that spends it, further out */
        uint32_t node = from->path;
        for (size_t n = 0; node != FM_NONE && n < MOST_FUNCTIONS; n++) {
            uint32_t at = by->entry[node], function = call_of(by, at)->function;
            entered |= function == from->function;
            node = by->of->paths[at].parent;
            if (node != FM_NONE) add_line(by, *call_of(by, node), function, &from->cost);
        }
        if (!entered) add_line(by, *call_of(by, from->path), from->function, &from->cost);
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
        if (path != FM_NONE) add_leaf(by, path, by->sites[pair->reuse].function, &cost);
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
    cost_builder by = {.of = of,
                       .table = table,
                       .files = FM_TABLE_OF(char *),
                       .functions = FM_TABLE_OF(fm_key),
                       .lines = FM_TABLE_OF(fm_key),
                       .leaf_keys = FM_TABLE_OF(fm_key)};
    by.sites = fm_calloc(of->site_count, sizeof *by.sites);
    by.entry = fm_calloc(of->path_count, sizeof *by.entry);
    by.failed = !table->texts || !by.sites || !by.entry;
    for (size_t i = 0; i < of->site_count && !by.failed; i++) by.sites[i] = position_of(&by, &of->sites[i]);
    find_entries(&by);
    add_pairs(&by, blocks);
    add_calls(&by);
    fm_table_clear(&by.files);
    fm_table_clear(&by.functions);
    fm_table_clear(&by.lines);
    fm_table_clear(&by.leaf_keys);
    free(by.sites);
    free(by.entry);
    free(by.leaves);
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
