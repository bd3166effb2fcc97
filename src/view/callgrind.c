/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callgrind.c - costs by source line in callgrind's format, version 1 (Valgrind's Technical Documentation,
 * chapter 3), for callgrind_annotate and KCachegrind. docs/PROFILE.md says what the events mean.
 *
 * How often a call was made is not known: every call is written as made once. Names have no newlines: what a
 * terminal would not show is written as \xNN.
 */
#include <fathom/view.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "view/miss_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Refs, MissL1, MissL2, MissLL. */
enum { FM_COSTS = 4 };
typedef struct fm_cost {
    double of[FM_COSTS];
} fm_cost;

/* A function as the linker knows it: inlined functions are part of it. */
typedef struct fm_cost_function {
    uint32_t module;  /* FM_NONE: none */
    uint32_t file;    /* number of its file */
    const char *name; /* NULL: not known */
    uint64_t address; /* of a site in it, for those without a name */
} fm_cost_function;

/* What a line costs, or a call made from it. */
typedef struct fm_cost_line {
    uint32_t function, file, line;
    uint32_t callee; /* function; FM_NONE: the line itself */
    fm_cost cost;
} fm_cost_line;

/* What is written. The rows of `misses` are what lines cost themselves. */
typedef struct fm_cost_table {
    fm_miss_table misses; /* by position; levels: MissL1, MissL2, MissLL */
    size_t file_count, function_count, line_count;
    const char **files; /* NULL: not known */
    fm_cost_function *functions;
    fm_cost_line
        *lines; /* by function (those of its own file first), file, line; calls behind the line itself */
} fm_cost_table;

/*
 * ======== costs ========
 * A reference costs the site that makes it: the re-using one. It also costs the calls that led there, each
 * function on the path once: the call that entered it first. A function that is entered again while it runs
 * (recursion) has the cost already. So what comes in through all calls of a function is what is spent while
 * it runs.
 */

enum { MOST_FUNCTIONS = 4096 }; /* on one path that are told apart: nobody looks at more */

/* Where a row is. */
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
    fm_table files, functions, calls, leaf_keys;
    position *positions; /* of each row */
    leaf *leaves;
    uint32_t *entry; /* of each node: itself where its function is on the path for the first time, else the
                        nearest node above of which that is true */
    bool failed;     /* memory was short */
} cost_builder;

static void add_cost(fm_cost *to, const fm_cost *more)
{
    for (size_t i = 0; i < FM_COSTS; i++) to->of[i] += more->of[i];
}

/* The number of a key, and room for one more where it is new; 0, and failed, without memory. */
static uint32_t key_number(cost_builder *by, fm_table *keys, const void *key, void *array, size_t *room,
                           size_t count, size_t size)
{
    if (by->failed || count >= FM_NONE - 1 || fm_array_reserve(array, room, count + 1, size)) {
        by->failed = true;
        return 0;
    }
    const uint32_t number = fm_table_add(keys, key);
    by->failed |= number == FM_KEY_NONE;
    return by->failed ? 0 : number;
}

/* ---- names ---- */

static const char *text_kept(cost_builder *by, const char *text)
{
    const char *own = text ? fm_arena_intern(by->table->misses.texts, text) : NULL;
    by->failed |= text && !own;
    return own;
}

static uint32_t file_of(cost_builder *by, const char *path)
{
    const char *own = text_kept(by, path);
    fm_cost_table *table = by->table;
    const uint32_t number = key_number(by, &by->files, &own, &table->files, &by->file_room, table->file_count,
                                       sizeof *table->files);
    if (!by->failed && number == table->file_count) table->files[table->file_count++] = own;
    return number;
}

static position position_of(cost_builder *by, const fm_site *site)
{
    fm_cost_table *table = by->table;
    const fm_frame *inner = site->frame_count ? &site->frames[0] : NULL;
    const fm_frame *outer = site->frame_count ? &site->frames[site->frame_count - 1] : NULL;
    position at = {0, file_of(by, inner ? inner->file : NULL), inner ? inner->line : 0};
    fm_cost_function function = {.module = site->module, .file = file_of(by, outer ? outer->file : NULL)};
    function.name = text_kept(by, outer && outer->function ? outer->function : site->symbol);
    function.address = function.name ? 0 : site->address;
    const fm_key key = {(uint64_t)(uintptr_t)function.name, (uint64_t)function.module << 32 | function.file,
                        function.address};
    at.function = key_number(by, &by->functions, &key, &table->functions, &by->function_room,
                             table->function_count, sizeof function);
    if (!by->failed && at.function == table->function_count)
        table->functions[table->function_count++] = function;
    return at;
}

/* ---- lines and calls ---- */

static void add_line(cost_builder *by, const position *at, uint32_t callee, const fm_cost *cost)
{
    fm_cost_table *table = by->table;
    const fm_key key = {(uint64_t)at->function << 32 | at->file, (uint64_t)at->line << 32 | callee, 0};
    const uint32_t number = key_number(by, &by->calls, &key, &table->lines, &by->line_room, table->line_count,
                                       sizeof *table->lines);
    if (by->failed) return;
    if (number == table->line_count)
        table->lines[table->line_count++] =
            (fm_cost_line){.function = at->function, .file = at->file, .line = at->line, .callee = callee};
    add_cost(&table->lines[number].cost, cost);
}

static void add_leaf(cost_builder *by, uint32_t path, uint32_t function, const fm_cost *cost)
{
    const uint32_t number = key_number(by, &by->leaf_keys, &(fm_key){path, function, 0}, &by->leaves,
                                       &by->leaf_room, by->leaf_count, sizeof *by->leaves);
    if (by->failed) return;
    if (number == by->leaf_count) by->leaves[by->leaf_count++] = (leaf){.path = path, .function = function};
    add_cost(&by->leaves[number].cost, cost);
}

static const position *call_of(const cost_builder *by, uint32_t node)
{
    FM_ASSERT(node < by->of->path_count);
    return &by->positions[by->table->misses.of_site[by->of->paths[node].call]];
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
            if (node != FM_NONE) add_line(by, call_of(by, node), function, &from->cost);
        }
        if (!entered) add_line(by, call_of(by, from->path), from->function, &from->cost);
    }
}

/* What lines cost themselves: a row each. */
static void add_rows(cost_builder *by)
{
    const fm_miss_table *misses = &by->table->misses;
    for (size_t i = 0; i < misses->count && !by->failed; i++) {
        const fm_miss_row *row = &misses->rows[i];
        fm_cost cost = {{(double)row->references}};
        for (size_t j = 0; j < misses->level_count; j++) cost.of[j + 1] = row->misses[j];
        if (row->references) add_line(by, &by->positions[i], FM_NONE, &cost);
    }
}

static void add_leaves(cost_builder *by)
{
    const fm_miss_table *misses = &by->table->misses;
    for (size_t i = 0; i < by->of->pair_count && !by->failed; i++) {
        const fm_pair *pair = &by->of->pairs[i];
        const uint32_t path = by->of->sites[pair->reuse].path;
        if (path == FM_NONE) continue;
        fm_cost cost = {{(double)pair->count}};
        for (size_t j = 0; j < misses->level_count; j++)
            cost.of[j + 1] = fm_pair_misses(pair, misses->blocks[j]);
        add_leaf(by, path, by->positions[misses->of_site[pair->reuse]].function, &cost);
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

static void cost_table_clear(fm_cost_table *table)
{
    fm_miss_table_clear(&table->misses);
    free(table->files);
    free(table->functions);
    free(table->lines);
    *table = (fm_cost_table){0};
}

/* blocks: sizes of the caches for MissL1, MissL2, MissLL; NULL: Refs only. The attribution is sound. */
static fm_status cost_table_make(fm_cost_table *table, const fm_attribution *of, const uint64_t blocks[3],
                                 fm_error *error)
{
    *table = (fm_cost_table){0};
    fm_status status = fm_miss_table_make(&table->misses, of, FM_BY_POSITION, blocks, blocks ? 3 : 0, error);
    if (status) return status;
    cost_builder by = {.of = of,
                       .table = table,
                       .files = FM_TABLE_OF(char *),
                       .functions = FM_TABLE_OF(fm_key),
                       .calls = FM_TABLE_OF(fm_key),
                       .leaf_keys = FM_TABLE_OF(fm_key)};
    by.positions = fm_calloc(table->misses.count, sizeof *by.positions);
    by.entry = fm_calloc(of->path_count, sizeof *by.entry);
    by.failed = !by.positions || !by.entry;
    for (size_t i = 0; i < table->misses.count && !by.failed; i++)
        by.positions[i] = position_of(&by, &of->sites[table->misses.rows[i].site]);
    find_entries(&by);
    add_rows(&by);
    add_leaves(&by);
    add_calls(&by);
    fm_table_clear(&by.files);
    fm_table_clear(&by.functions);
    fm_table_clear(&by.calls);
    fm_table_clear(&by.leaf_keys);
    free(by.positions);
    free(by.entry);
    free(by.leaves);
    if (by.failed) {
        status = fm_fail_memory(error, (uint64_t)of->site_count * 64, "costs by line");
    } else if (table->line_count) {
        qsort(table->lines, table->line_count, sizeof *table->lines, by_place);
        status = own_file_first(table, error);
    }
    if (status) cost_table_clear(table);
    return status;
}

/* ======== what is written ======== */

typedef struct callgrind_writer {
    FILE *out;
    const fm_attribution *of;
    const fm_cost_table *table;
    size_t events;
    bool *module_named, *file_named, *function_named; /* their numbers stand for their names from then on */
    uint32_t module;                                  /* the last "ob=", + 1 */
    uint64_t totals[FM_COSTS];
} callgrind_writer;

/* ---- names ---- */

static void write_cost_name(FILE *out, const char *name)
{
    /* A name of blanks would be taken for none. */
    if (!name || name[strspn(name, " \t")] == '\0')
        fputs("???", out);
    else
        fm_text_write_name(out, name, true);
}

/* "fl=(3) name" the first time, then "fl=(3)". Returns whether the name is to follow. */
static bool begin_name(FILE *out, const char *key, uint32_t number, bool *named)
{
    fprintf(out, "%s=(%" PRIu32 ")", key, number + 1);
    if (*named) {
        putc('\n', out);
        return false;
    }
    *named = true;
    putc(' ', out);
    return true;
}

static void name_module(callgrind_writer *to, const char *key, uint32_t module)
{
    uint32_t number = module == FM_NONE ? (uint32_t)to->of->module_count : module;
    if (!begin_name(to->out, key, number, &to->module_named[number])) return;
    write_cost_name(to->out, module == FM_NONE ? NULL : to->of->modules[module].path);
    putc('\n', to->out);
}

static void name_file(callgrind_writer *to, const char *key, uint32_t file)
{
    if (!begin_name(to->out, key, file, &to->file_named[file])) return;
    write_cost_name(to->out, to->table->files[file]);
    putc('\n', to->out);
}

static void name_function(callgrind_writer *to, const char *key, uint32_t number)
{
    const fm_cost_function *function = &to->table->functions[number];
    if (!begin_name(to->out, key, number, &to->function_named[number])) return;
    if (function->name || function->address == 0)
        write_cost_name(to->out, function->name);
    else
        fprintf(to->out, "0x%" PRIx64, function->address);
    putc('\n', to->out);
}

/* ---- header ---- */

static void write_header_line(FILE *out, const char *key, const char *text)
{
    if (!text || text[strspn(text, " \t")] == '\0') return;
    fprintf(out, "%s: ", key);
    fm_text_write_name(out, text, true);
    putc('\n', out);
}

static void write_header(callgrind_writer *to, const fm_profile *profile, const fm_cache *const chosen[3])
{
    static const char *const events[] = {"Refs", "MissL1", "MissL2", "MissLL"};
    fputs("# callgrind format\nversion: 1\ncreator: fathom " FATHOM_VERSION "\n", to->out);
    if (profile->run && profile->run->process) fprintf(to->out, "pid: %" PRIu32 "\n", profile->run->process);
    write_header_line(to->out, "cmd",
                      profile->run && profile->run->command ? profile->run->command : profile->name);
    fputs("part: 1\n", to->out);
    fprintf(to->out, "desc: Refs: references to blocks of %" PRIu64 " bytes\n", profile->granularity);
    for (size_t i = 1; i < to->events && chosen[i - 1]; i++) {
        const fm_cache *cache = chosen[i - 1];
        fprintf(to->out, "desc: %s: misses at ", events[i]);
        fm_text_write_name(to->out, fm_text_cache_name(cache).text, true);
        fprintf(to->out, " (%s, fully associative, LRU)\n", fm_text_cache_size(profile, cache->bytes).text);
    }
    if (!profile->complete)
        write_header_line(to->out, "desc: Incomplete",
                          profile->what_missing ? profile->what_missing : "references are missing");
    fputs("positions: line\n", to->out);
    fputs("event: Refs : References\n", to->out);
    for (size_t i = 1; i < to->events && chosen[i - 1]; i++) {
        fprintf(to->out, "event: %s : Misses at ", events[i]);
        fm_text_write_name(to->out, fm_text_cache_name(chosen[i - 1]).text, true);
        putc('\n', to->out);
    }
    fputs("events:", to->out);
    for (size_t i = 0; i < to->events; i++) fprintf(to->out, " %s", events[i]);
    putc('\n', to->out);
}

/* ---- costs ---- */

static uint64_t whole_cost(double cost)
{
    return cost < 1.8e19 ? (uint64_t)(cost + 0.5) : UINT64_MAX;
}

static void write_costs(callgrind_writer *to, const fm_cost_line *line)
{
    fprintf(to->out, "%" PRIu32, line->line);
    for (size_t i = 0; i < to->events; i++) fprintf(to->out, " %" PRIu64, whole_cost(line->cost.of[i]));
    putc('\n', to->out);
}

static void write_totals(const callgrind_writer *to, const char *key)
{
    fprintf(to->out, "%s:", key);
    for (size_t i = 0; i < to->events; i++) fprintf(to->out, " %" PRIu64, to->totals[i]);
    putc('\n', to->out);
}

/* The sum of what is written: totals and lines agree to the last digit. */
static void add_up(callgrind_writer *to)
{
    for (size_t i = 0; i < to->table->line_count; i++)
        if (to->table->lines[i].callee == FM_NONE)
            for (size_t j = 0; j < to->events; j++)
                to->totals[j] += whole_cost(to->table->lines[i].cost.of[j]);
}

static void write_body(callgrind_writer *to)
{
    const fm_cost_table *table = to->table;
    uint32_t file = 0;
    for (size_t i = 0; i < table->line_count && !ferror(to->out); i++) {
        const fm_cost_line *line = &table->lines[i];
        const fm_cost_function *function = &table->functions[line->function];
        if (i == 0 || line->function != line[-1].function) {
            putc('\n', to->out);
            if (to->module != function->module + 1 || i == 0) name_module(to, "ob", function->module);
            to->module = function->module + 1;
            name_file(to, "fl", function->file);
            name_function(to, "fn", line->function);
            file = function->file;
        }
        if (line->file != file) {
            name_file(to, line->file == function->file ? "fe" : "fi", line->file);
            file = line->file;
        }
        if (line->callee != FM_NONE) {
            const fm_cost_function *callee = &table->functions[line->callee];
            if (callee->module != function->module) name_module(to, "cob", callee->module);
            name_file(to, "cfi", callee->file);
            name_function(to, "cfn", line->callee);
            fputs("calls=1 0\n", to->out);
        }
        write_costs(to, line);
    }
}

fm_status fm_view_callgrind(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                            fm_error *error)
{
    FM_REQUIRE(profile, error);
    const fm_attribution *of = profile->attribution;
    fm_status status = fm_miss_table_check(profile, true, NULL, error);
    if (status) return status;
    const fm_cache *chosen[3] = {NULL, NULL, NULL};
    uint64_t blocks[3] = {0};
    for (size_t i = 0; i < 3 && count; i++) {
        chosen[i] = i == 2 || i >= count ? &caches[count - 1] : &caches[i];
        blocks[i] = chosen[i]->bytes / (profile->granularity ? profile->granularity : 1);
    }
    fm_cost_table table;
    status = cost_table_make(&table, of, count ? blocks : NULL, error);
    if (status) return status;
    callgrind_writer to = {.out = out, .of = of, .table = &table, .events = count ? FM_COSTS : 1};
    to.module_named = fm_calloc(of->module_count + 1, sizeof(bool));
    to.file_named = fm_calloc(table.file_count, sizeof(bool));
    to.function_named = fm_calloc(table.function_count, sizeof(bool));
    if (to.module_named && to.file_named && to.function_named) {
        add_up(&to);
        write_header(&to, profile, chosen);
        write_totals(&to, "summary");
        write_body(&to);
        putc('\n', out);
        write_totals(&to, "totals");
    } else {
        status = fm_fail_memory(error, table.function_count, "names of functions");
    }
    free(to.module_named);
    free(to.file_named);
    free(to.function_named);
    cost_table_clear(&table);
    return status;
}
