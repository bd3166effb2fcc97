/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_run.c - the parts of a run as a table: its processes under those that started them, each with
 * its threads.
 *
 *     part                   references    distinct     cold      L1d       L2
 *     make 4711               1,234,567      12,345   1.00 %   3.20 %   1.10 %
 *       thread 1              1,000,000       …
 *       cc1 4712              …
 */
#include <fathom/view.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "base/table.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS = 16 + 12 + 9, RATIO = 9, LEAST_LABEL = 16, MOST_LABEL = 44 };

typedef struct parts_table {
    FILE *out;
    const fm_cache *caches;
    size_t count; /* of caches that have room */
    const fm_view_options *options;
    unsigned label;
} parts_table;

/* Where a part stands in the tree: parts are numbered, a parent always comes before its children. */
typedef struct part_tree {
    uint32_t *first, *next, *last, *up; /* child, sibling, last child so far, parent; number + 1, 0: none */
} part_tree;

static const char *name_of(const fm_profile *part)
{
    const char *name = part->name ? part->name : part->run ? part->run->command : NULL;
    return name ? fm_base_name(name) : NULL;
}

/* "cc1 4712", "thread 3", "cc1": in the columns that there are, a long name gives way to the number. */
static void write_label(const parts_table *table, const fm_profile *part, unsigned depth)
{
    const fm_run *run = part->run;
    unsigned indent = 2 * (depth < 8 ? depth : 8);
    unsigned room = table->label > indent + 8 ? table->label - indent : 8, used = 0;
    const char *name = run && run->thread ? "thread" : name_of(part);
    if (!name) name = run && run->process ? "pid" : "(unnamed)";
    char number[16] = "";
    if (run && (run->thread || run->process))
        snprintf(number, sizeof number, " %" PRIu32, run->thread ? run->thread : run->process);
    unsigned behind = (unsigned)strlen(number);
    fprintf(table->out, "%*s", (int)indent, "");
    used += fm_text_write_short(table->out, name, room > behind ? room - behind : 0, FM_CUT_END,
                                table->options->unicode);
    fputs(number, table->out);
    used += behind;
    if (used < room) fprintf(table->out, "%*s", (int)(room - used), "");
}

static void write_part(const parts_table *table, const fm_profile *part, unsigned depth)
{
    double references = (double)part->references;
    write_label(table, part, depth);
    fprintf(table->out, " %15s %11s %8s", fm_text_count(part->references).text,
            fm_text_count(part->distinct).text,
            part->references ? fm_text_percent((double)part->cold / references).text : "-");
    for (size_t i = 0; i < table->count; i++) {
        uint64_t blocks = part->granularity ? table->caches[i].bytes / part->granularity : 0;
        fm_misses misses = fm_profile_misses(part, blocks);
        fprintf(table->out, " %8s",
                !part->references ? "-"
                : misses.known    ? fm_text_percent(misses.expected / references).text
                                  : "unknown");
    }
    putc('\n', table->out);
    if (part->complete) return;
    unsigned indent = 2 * (depth < 8 ? depth : 8) + 2,
             width = table->options->width ? table->options->width : 80;
    fprintf(table->out, "%*s", (int)indent, "");
    fm_text_ink(table->out, table->options, FM_INK_WARNING);
    fputs("INCOMPLETE", table->out);
    fm_text_ink(table->out, table->options, FM_INK_NONE);
    fm_text lost = fm_text_count(part->lost);
    unsigned used = indent + 10 + 2;
    if (part->lost) {
        fprintf(table->out, " %s lost", lost.text);
        used += (unsigned)strlen(lost.text) + 6;
    }
    if (part->what_missing) {
        fputs(": ", table->out);
        fm_text_write_short(table->out, part->what_missing, width > used + 20 ? width - used : 20, FM_CUT_END,
                            table->options->unicode);
    }
    putc('\n', table->out);
}

/* ---- the tree ---- */

static bool tree_make(part_tree *tree, const fm_profile *whole)
{
    fm_table pids = FM_TABLE_OF(uint32_t);
    uint32_t *latest = fm_calloc(whole->part_count, sizeof *latest); /* part with the pid of that number */
    bool made = latest && whole->part_count < UINT32_MAX / 2;
    tree->first = fm_calloc(whole->part_count + 1, sizeof *tree->first);
    tree->next = fm_calloc(whole->part_count + 1, sizeof *tree->next);
    tree->last = fm_calloc(whole->part_count + 1, sizeof *tree->last);
    tree->up = fm_calloc(whole->part_count + 1, sizeof *tree->up);
    made &= tree->first && tree->next && tree->last && tree->up;
    for (size_t i = 0; i < whole->part_count && made; i++) {
        const fm_run *run = whole->parts[i]->run;
        uint32_t parent = 0; /* 0: the whole; else number + 1 */
        if (run && !run->thread) {
            uint32_t above = run->by_exec ? run->process : run->parent;
            uint32_t number = above ? fm_table_look_up(&pids, &above) : FM_KEY_NONE;
            if (number != FM_KEY_NONE) parent = latest[number] + 1;
            number = fm_table_add(&pids, &run->process);
            made = number != FM_KEY_NONE;
            if (made) latest[number] = (uint32_t)i; /* after exec, or when a number is used again */
        }
        if (tree->last[parent])
            tree->next[tree->last[parent]] = (uint32_t)i + 1;
        else
            tree->first[parent] = (uint32_t)i + 1;
        tree->last[parent] = (uint32_t)i + 1;
        tree->up[i + 1] = parent;
    }
    fm_table_clear(&pids);
    free(latest);
    return made;
}

static void tree_clear(part_tree *tree)
{
    free(tree->first);
    free(tree->next);
    free(tree->last);
    free(tree->up);
}

static void write_parts(const parts_table *table, const fm_profile *whole, unsigned depth);

/* A part, those that it started, and they in turn. Without recursion: a chain of processes may be long. */
static void write_tree(const parts_table *table, const fm_profile *whole, const part_tree *tree,
                       unsigned depth)
{
    for (uint32_t at = tree->first[0]; at;) {
        const fm_profile *part = whole->parts[at - 1];
        write_part(table, part, depth);
        if (part->part_count) write_parts(table, part, depth + 1);
        if (tree->first[at]) {
            at = tree->first[at];
            depth++;
            continue;
        }
        while (!tree->next[at] && tree->up[at]) {
            at = tree->up[at];
            depth--;
        }
        at = tree->next[at];
    }
}

static void write_parts(const parts_table *table, const fm_profile *whole, unsigned depth)
{
    part_tree tree = {0};
    if (tree_make(&tree, whole)) {
        write_tree(table, whole, &tree, depth);
    } else { /* no memory for a tree: a list */
        for (size_t i = 0; i < whole->part_count; i++) write_part(table, whole->parts[i], depth);
    }
    tree_clear(&tree);
}

void fm_view_parts_sized(size_t given_size, FILE *out, const fm_profile *profile, const fm_cache *caches,
                         size_t count, const fm_view_options *given)
{
    const fm_view_options known = fm_text_options(given, given_size), *options = &known;
    if (profile->part_count == 0) return;
    unsigned width = options->width ? options->width : 80;
    unsigned ratios = width > COUNTS + LEAST_LABEL ? (width - COUNTS - LEAST_LABEL) / RATIO : 0;
    parts_table table = {out, caches, count < ratios ? count : ratios, options, 0};
    unsigned used = COUNTS + (unsigned)table.count * RATIO;
    table.label = width > used + LEAST_LABEL ? width - used : LEAST_LABEL;
    if (table.label > MOST_LABEL) table.label = MOST_LABEL;
    fm_text_ink(out, options, FM_INK_DIM);
    fprintf(out, "%-*s %15s %11s %8s", (int)table.label, "part", "references", "distinct", "cold");
    for (size_t i = 0; i < table.count; i++) {
        char name[9] = "";
        memcpy(name, caches[i].name, sizeof name - 1); /* what is longer has no room */
        putc(' ', out);
        fprintf(out, "%*s", (int)(8 - strlen(name)), "");
        fm_text_write_name(out, name, options->unicode);
    }
    putc('\n', out);
    fm_text_ink(out, options, FM_INK_NONE);
    write_parts(&table, profile, 0);
    fprintf(out, "distinct: blocks; cold: %s", fm_text_cold(profile));
    if (table.count) fputs("; then miss ratios, fully associative", out);
    putc('\n', out);
}

/*
 * ======== terminal sampled ========
 * What was seen of a sampled run, and what it cost: a paragraph above the verdict.
 */

/* Words are added to a text, a blank before each but the first. */
__attribute__((format(printf, 2, 3))) static void add_words(char text[2000], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    if (used) used += (size_t)snprintf(text + used, 2000 - used, " ");
    va_start(arguments, format);
    vsnprintf(text + used, 2000 - used, format, arguments);
    va_end(arguments);
}

static void write_summary(FILE *out, const fm_profile *profile, const fm_sampled_facts *facts,
                          const fm_view_options *options)
{
    char text[2000] = "", beside[80] = "";
    const fm_sampling *sampling = profile->sampling;
    if (facts->received > 0)
        snprintf(beside, sizeof beside, " (and %s beside it)", fm_text_short_percent(facts->received).text);
    add_words(text, "%.300s, %.1f s, %s thread%s, slowed by %s%s: sampled, %s,",
              profile->name ? fm_base_name(profile->name) : "(unnamed)", facts->seconds,
              fm_text_count(facts->threads).text, facts->threads == 1 ? "" : "s",
              fm_text_short_percent(facts->share).text, beside, facts->clock);
    const uint64_t bursts = sampling ? sampling->bursts : 0;
    const uint64_t watches = sampling ? sampling->used + sampling->replaced + sampling->never : 0;
    if (sampling && bursts == 0 && strcmp(sampling->method, "pmu") == 0) {
        const uint64_t accesses = watches + sampling->not_armed;
        add_words(text, "%s access%s,", fm_text_count(accesses).text, accesses == 1 ? "" : "es");
    } else {
        add_words(text, "%s burst%s,", fm_text_count(bursts).text, bursts == 1 ? "" : "s");
    }
    const bool exact = sampling && sampling->burst_time > 0;
    add_words(text, "%s watch%s%s", watches ? fm_text_count(watches).text : "no", watches == 1 ? "" : "es",
              exact || bursts > 0 ? ";" : "");
    if (exact)
        add_words(text, "exact in bursts of up to %s accesses, estimated beyond",
                  fm_text_count(sampling->burst_time).text);
    fm_text_write_wrapped(out, text, strlen(text), 0, options);
    putc('\n', out);
    if (profile->complete || !profile->what_missing) return;
    fm_text_ink(out, options, FM_INK_WARNING);
    fputs("INCOMPLETE  ", out);
    fm_text_ink(out, options, FM_INK_NONE);
    fm_text_write_name(out, profile->what_missing, options->unicode);
    putc('\n', out);
}

void fm_view_sampled_sized(size_t facts_size, size_t given_size, FILE *out, const fm_profile *profile,
                           const fm_sampled_facts *given_facts, const fm_view_options *given)
{
    const fm_view_options options = fm_text_options(given, given_size);
    fm_sampled_facts facts = {0};
    fm_sized_copy(&facts, sizeof facts, given_facts, facts_size);
    if (!facts.clock) facts.clock = "no clock";
    write_summary(out, profile, &facts, &options);
}

/*
 * ======== terminal latency ========
 * How long sampled accesses took and where their data came from, as the processor told
 * it: the lines whose accesses took the most time together.
 */

enum { NAME_COLUMNS = 40, NAME_MOST = 300, PARTS_SHOWN = 3 };

/* The sites of a line, together. */
typedef struct line {
    char name[NAME_MOST];
    fm_site_latency sum;
} line;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const line *)a)->name, ((const line *)b)->name);
}

static int slowest_first(const void *a, const void *b)
{
    const line *x = a, *y = b;
    if (x->sum.cycles != y->sum.cycles) return x->sum.cycles > y->sum.cycles ? -1 : 1;
    if (x->sum.samples != y->sum.samples) return x->sum.samples > y->sum.samples ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void latency_add(fm_site_latency *into, const fm_site_latency *from)
{
    into->samples += from->samples;
    into->timed += from->timed;
    into->cycles += from->cycles;
    for (size_t i = 0; i < FM_MEMORY_LEVELS; i++) into->levels[i] += from->levels[i];
}

/* Lines, the slowest first; NULL: no memory. */
static line *make_lines(const fm_attribution *attribution, size_t *count)
{
    line *lines = fm_calloc(attribution->latency_count, sizeof *lines);
    if (!lines) return NULL;
    for (size_t i = 0; i < attribution->latency_count; i++) {
        fm_site_text(attribution, attribution->latencies[i].site, lines[i].name, sizeof lines[i].name);
        lines[i].sum = attribution->latencies[i];
    }
    qsort(lines, attribution->latency_count, sizeof *lines, by_name);
    size_t kept = 0;
    for (size_t i = 1; i < attribution->latency_count; i++)
        if (by_name(&lines[kept], &lines[i]) == 0)
            latency_add(&lines[kept].sum, &lines[i].sum);
        else
            lines[++kept] = lines[i];
    *count = kept + 1;
    qsort(lines, *count, sizeof *lines, slowest_first);
    return lines;
}

/* "memory 61 %, L3 30 %": where the data came from, the most first. */
static void write_levels(FILE *out, const fm_site_latency *of)
{
    static const char *const names[FM_MEMORY_LEVELS] = {
        "not told", "L1", "on its way", "L2", "L3", "another's cache", "memory", "far memory", "uncached"};
    bool shown[FM_MEMORY_LEVELS] = {false};
    for (unsigned part = 0; part < PARTS_SHOWN; part++) {
        size_t most = 0;
        for (size_t i = 1; i < FM_MEMORY_LEVELS; i++)
            if (shown[most] || (!shown[i] && of->levels[i] > of->levels[most])) most = i;
        if (shown[most] || of->levels[most] == 0) return;
        shown[most] = true;
        fprintf(out, "%s%s %s", part ? ", " : "", names[most],
                fm_text_whole_percent((double)of->levels[most] / (double)of->samples).text);
    }
}

void fm_view_latencies_sized(size_t given_size, FILE *out, const fm_attribution *attribution, size_t most,
                             const fm_view_options *given)
{
    const fm_view_options options = fm_text_options(given, given_size);
    size_t count = 0;
    if (attribution->latency_count == 0) return;
    line *lines = make_lines(attribution, &count);
    if (!lines) return;
    fputs("\nsampled accesses, as the processor timed them: mean latency, where the data came from\n", out);
    for (size_t i = 0; i < count && i < most; i++) {
        const fm_site_latency *sum = &lines[i].sum;
        fputs("  ", out);
        const unsigned used =
            fm_text_write_short(out, lines[i].name, NAME_COLUMNS, FM_CUT_MIDDLE, options.unicode);
        fprintf(out, "%*s", (int)(NAME_COLUMNS - used), "");
        if (sum->timed > 0)
            fprintf(out, " %6.0f cycles  ", (double)sum->cycles / (double)sum->timed);
        else
            fputs("              -  ", out);
        write_levels(out, sum);
        putc('\n', out);
    }
    free(lines);
}
