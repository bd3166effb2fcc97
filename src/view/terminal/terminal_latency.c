/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_latency.c - how long sampled accesses took and where their data came from, as the processor told
 * it: the lines whose accesses took the most time together.
 */
#include <fathom/view.h>

#include "base/memory.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static void add(fm_site_latency *into, const fm_site_latency *from)
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
            add(&lines[kept].sum, &lines[i].sum);
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
