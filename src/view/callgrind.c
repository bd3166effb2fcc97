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
#include "profile/attribution/attribution_check.h"
#include "view/callgrind_costs.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static void write_name(FILE *out, const char *name)
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
    write_name(to->out, module == FM_NONE ? NULL : to->of->modules[module].path);
    putc('\n', to->out);
}

static void name_file(callgrind_writer *to, const char *key, uint32_t file)
{
    if (!begin_name(to->out, key, file, &to->file_named[file])) return;
    write_name(to->out, to->table->files[file]);
    putc('\n', to->out);
}

static void name_function(callgrind_writer *to, const char *key, uint32_t number)
{
    const fm_cost_function *function = &to->table->functions[number];
    if (!begin_name(to->out, key, number, &to->function_named[number])) return;
    if (function->name || function->address == 0)
        write_name(to->out, function->name);
    else
        fprintf(to->out, "0x%" PRIx64, function->address);
    putc('\n', to->out);
}

/* ---- header ---- */

static void write_line(FILE *out, const char *key, const char *text)
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
    write_line(to->out, "cmd", profile->run && profile->run->command ? profile->run->command : profile->name);
    fputs("part: 1\n", to->out);
    fprintf(to->out, "desc: Refs: references to blocks of %" PRIu64 " bytes\n", profile->granularity);
    for (size_t i = 1; i < to->events && chosen[i - 1]; i++) {
        const fm_cache *cache = chosen[i - 1];
        char name[sizeof cache->name + 1] = "";
        memcpy(name, cache->name, sizeof cache->name);
        fprintf(to->out, "desc: %s: misses at ", events[i]);
        fm_text_write_name(to->out, name, true);
        fprintf(to->out, " (%s, fully associative, LRU)\n", fm_text_cache_size(profile, cache->bytes).text);
    }
    if (!profile->complete)
        write_line(to->out, "desc: Incomplete",
                   profile->what_missing ? profile->what_missing : "references are missing");
    fputs("positions: line\n", to->out);
    fputs("event: Refs : References\n", to->out);
    for (size_t i = 1; i < to->events && chosen[i - 1]; i++) {
        char name[sizeof chosen[0]->name + 1] = "";
        memcpy(name, chosen[i - 1]->name, sizeof chosen[0]->name);
        fprintf(to->out, "event: %s : Misses at ", events[i]);
        fm_text_write_name(to->out, name, true);
        putc('\n', to->out);
    }
    fputs("events:", to->out);
    for (size_t i = 0; i < to->events; i++) fprintf(to->out, " %s", events[i]);
    putc('\n', to->out);
}

/* ---- costs ---- */

static uint64_t whole(double cost)
{
    return cost < 1.8e19 ? (uint64_t)(cost + 0.5) : UINT64_MAX;
}

static void write_costs(callgrind_writer *to, const fm_cost_line *line)
{
    fprintf(to->out, "%" PRIu32, line->line);
    for (size_t i = 0; i < to->events; i++) fprintf(to->out, " %" PRIu64, whole(line->cost.of[i]));
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
            for (size_t j = 0; j < to->events; j++) to->totals[j] += whole(to->table->lines[i].cost.of[j]);
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
    char why[300];
    if (!of)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "the profile does not say which code its references come from");
    if (!fm_attribution_sound(profile, why, sizeof why))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the profile's attribution is unsound: %s", why);
    const fm_cache *chosen[3] = {NULL, NULL, NULL};
    uint64_t blocks[3] = {0};
    for (size_t i = 0; i < 3 && count; i++) {
        chosen[i] = i == 2 || i >= count ? &caches[count - 1] : &caches[i];
        blocks[i] = chosen[i]->bytes / (profile->granularity ? profile->granularity : 1);
    }
    fm_cost_table table;
    fm_status status = fm_cost_table_make(&table, of, count ? blocks : NULL, error);
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
    fm_cost_table_clear(&table);
    return status;
}
