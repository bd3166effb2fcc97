/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_verdict.c - the answer before everything else, for source code that was analysed: what it does,
 * how sure the result is, and for each cache the misses and the lines that most of the late ones are at.
 *
 *     blur_columns (blur.c:20-28): 37.6 M loads, 4.18 M stores, 41.8 M flops
 *     exact, contiguous rows, blocks of 64 bytes; 0.30 s
 *
 *     cache         size   misses  of refs     late    first  late ones most at
 *     L1d         32 KiB   8.37 M  20.04 %  93.75 %   6.25 %  blur.c:25 from
 */
#include "view/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* 8.37 M; powers of 1000. */
static fm_text short_count(double value)
{
    static const char *const units[] = {"", " K", " M", " G", " T", " P", " E"};
    fm_text made;
    size_t unit = 0;
    while (value >= 999.5 && unit < 6) {
        value /= 1000;
        unit++;
    }
    snprintf(made.text, sizeof made.text, "%.*f%s",
             unit == 0       ? 0
             : value < 9.995 ? 2
             : value < 99.95 ? 1
                             : 0,
             value, units[unit]);
    return made;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void write_amount(FILE *out, const char *count, const char *what, const fm_view_options *options)
{
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(count, &end, 10);
    if (*end || end == count || errno)
        fm_text_write_name(out, count, options->unicode);
    else
        fputs(short_count((double)number).text, out);
    fprintf(out, " %s", what);
}

static void write_kernel(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    const fm_kernel *kernel = profile->kernel;
    fm_text_ink(out, options, FM_INK_BOLD);
    fm_text_write_name(out, kernel->function ? kernel->function : "region", options->unicode);
    fm_text_ink(out, options, FM_INK_NONE);
    if (kernel->file) {
        fputs(" (", out);
        fm_text_write_name(out, last_part(kernel->file), options->unicode);
        if (kernel->first_line) fprintf(out, ":%" PRIu32 "-%" PRIu32, kernel->first_line, kernel->last_line);
        putc(')', out);
    }
    const char *const counts[] = {kernel->loads, kernel->stores, kernel->flops, kernel->integer_operations};
    static const char *const names[] = {"loads", "stores", "flops", "integer operations"};
    bool begun = false;
    for (size_t i = 0; i < 4; i++) {
        if (!counts[i] || (i >= 2 && strcmp(counts[i], "0") == 0)) continue;
        fputs(begun ? ", " : ": ", out);
        write_amount(out, counts[i], names[i], options);
        begun = true;
    }
    fprintf(out, "\n%s, %s rows, blocks of %" PRIu64 " byte%s; %.2f s\n\n",
            kernel->certainty ? kernel->certainty : "exact", kernel->layout ? kernel->layout : "contiguous",
            profile->granularity, profile->granularity == 1 ? "" : "s", kernel->seconds);
}

/* ---- lines ---- */

typedef struct line {
    const char *file;
    uint32_t number, site; /* one of its sites */
    double late;
} line;

static int most_late(const void *left, const void *right)
{
    const line *a = left, *b = right;
    if (a->late != b->late) return a->late < b->late ? 1 : -1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Late misses by line, the most first. Returns how many lines; *found is to be freed. */
static size_t find_lines(const fm_attribution *attribution, uint64_t blocks, line **found)
{
    size_t count = 0;
    line *lines = *found = calloc(attribution->site_count + 1, sizeof *lines);
    for (size_t i = 0; lines && i < attribution->pair_count; i++) {
        const fm_pair *pair = &attribution->pairs[i];
        const double late = fm_pair_misses(pair, blocks) - (double)pair->cold;
        const fm_site *site = pair->reuse < attribution->site_count ? &attribution->sites[pair->reuse] : NULL;
        if (!site || !(late > 0) || site->frame_count == 0 || !site->frames[0].file) continue;
        size_t at = 0;
        while (at < count && (lines[at].number != site->frames[0].line ||
                              strcmp(lines[at].file, site->frames[0].file) != 0))
            at++;
        if (at == count) lines[count++] = (line){site->frames[0].file, site->frames[0].line, pair->reuse, 0};
        lines[at].late += late;
    }
    if (count) qsort(lines, count, sizeof *lines, most_late);
    return count;
}

/* The array that is missed on most at a line; NULL: not known. */
static const char *array_at(const fm_attribution *attribution, const line *at, uint64_t blocks)
{
    const char *name = NULL;
    double most = 0;
    for (size_t i = 0; i < attribution->object_use_count; i++) {
        const fm_object_use *use = &attribution->object_uses[i];
        const fm_site *site = &attribution->sites[use->site];
        if (site->frame_count == 0 || site->frames[0].line != at->number || !site->frames[0].file ||
            strcmp(site->frames[0].file, at->file) != 0)
            continue;
        const double late = fm_object_use_misses(use, blocks) - (double)use->cold;
        if (late > most) {
            most = late;
            name = attribution->objects[use->object].name;
        }
    }
    return name;
}

enum { BEFORE_LINES = 55 }; /* columns of the table */

/* One or two lines, where these have most of the late misses. */
static void write_lines(FILE *out, const fm_profile *profile, uint64_t blocks, double late,
                        const fm_view_options *options)
{
    line *lines = NULL;
    if (!(late > 0) || !profile->attribution) {
        fputs(late > 0 ? "-" : "(first touches only)", out);
        return;
    }
    const size_t count = find_lines(profile->attribution, blocks, &lines);
    unsigned used = BEFORE_LINES;
    for (size_t i = 0; i < count && i < 2 && (i == 0 || lines[i].late >= late / 4); i++) {
        const char *array = array_at(profile->attribution, &lines[i], blocks);
        used += fm_text_columns(last_part(lines[i].file), options->unicode) + (i > 0 ? 2 : 0) +
                (unsigned)snprintf(NULL, 0, ":%" PRIu32, lines[i].number) +
                (array ? 1 + fm_text_columns(array, options->unicode) : 0);
        if (i > 0 && used > (options->width ? options->width : 80)) break;
        fputs(i ? ", " : "", out);
        fm_text_write_name(out, last_part(lines[i].file), options->unicode);
        fprintf(out, ":%" PRIu32, lines[i].number);
        if (array) {
            putc(' ', out);
            fm_text_write_name(out, array, options->unicode);
        }
    }
    if (count == 0) putc('-', out);
    free(lines);
}

void fm_view_verdict_sized(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                           const fm_view_options *given, size_t given_size)
{
    const fm_view_options known = fm_text_options(given, given_size), *options = &known;
    if (profile->kernel) write_kernel(out, profile, options);
    if (count == 0 || profile->references == 0) return;
    fm_text_ink(out, options, FM_INK_DIM);
    fprintf(out, "%-8s %9s %8s %8s %8s %8s  %s\n", "cache", "size", "misses", "of refs", "late", "first",
            "late ones most at");
    fm_text_ink(out, options, FM_INK_NONE);
    for (size_t i = 0; i < count; i++) {
        const uint64_t blocks = caches[i].bytes / (profile->granularity ? profile->granularity : 1);
        const double misses = fm_profile_misses(profile, blocks).expected,
                     late = misses - (double)profile->cold;
        fm_text_write_name(out, caches[i].name, options->unicode);
        const unsigned used = fm_text_columns(caches[i].name, options->unicode);
        fprintf(out, "%*s %9s %8s %8s", used < 8 ? (int)(8 - used) : 0, "",
                fm_text_bytes(caches[i].bytes, 1).text, short_count(misses).text,
                fm_text_percent(misses / (double)profile->references).text);
        fprintf(out, " %8s", fm_text_percent(misses > 0 ? late / misses : 0).text);
        fprintf(out, " %8s  ", fm_text_percent(misses > 0 ? (double)profile->cold / misses : 0).text);
        write_lines(out, profile, blocks, late, options);
        putc('\n', out);
    }
    fputs("late: used before, and lost since; first: never used before\n", out);
}
