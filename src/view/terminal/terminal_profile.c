/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_profile.c - what a profile covers, in a few lines: no number is printed without it. What is
 * missing is said in capitals.
 */
#include "base/plain_text.h"
#include "view/miss_table.h"
#include "view/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void header_label(FILE *out, const fm_view_options *options, const char *text)
{
    fm_text_ink(out, options, FM_INK_DIM);
    fprintf(out, "%-12s", text);
    fm_text_ink(out, options, FM_INK_NONE);
}

static void header_warning(FILE *out, const fm_view_options *options, const char *text)
{
    fm_text_ink(out, options, FM_INK_WARNING);
    fprintf(out, "%-12s", text);
    fm_text_ink(out, options, FM_INK_NONE);
}

static void text_line(FILE *out, const fm_view_options *options, const char *name, const char *text)
{
    if (!text || !text[0]) return;
    header_label(out, options, name);
    fm_text_write_name(out, text, options->unicode);
    putc('\n', out);
}

/* Which part of which run, and how that went. */
static void write_run(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    const fm_run *run = profile->run;
    if (!profile->name || !run->command || strcmp(profile->name, run->command) != 0)
        text_line(out, options, "command", run->command);
    if (run->process || run->thread) {
        header_label(out, options, run->thread ? "thread" : "process");
        if (run->thread) fprintf(out, "%" PRIu32 "%s", run->thread, run->process ? " of process " : "");
        if (run->process) fprintf(out, "%" PRIu32, run->process);
        if (run->parent && !run->thread) fprintf(out, ", started by %" PRIu32, run->parent);
        if (run->by_exec && !run->thread) fputs(", by exec", out);
        putc('\n', out);
    }
    if (run->what || run->collector) {
        header_label(out, options, "watched");
        fm_text_write_name(out, run->what ? run->what : "", options->unicode);
        if (run->collector) {
            fputs(run->what ? ", by " : "by ", out);
            fm_text_write_name(out, run->collector, options->unicode);
        }
        putc('\n', out);
    }
    if (run->ending || run->seconds > 0) {
        header_label(out, options, "ended");
        fm_text_write_name(out, run->ending ? run->ending : "", options->unicode);
        if (run->seconds > 0) fprintf(out, "%safter %.2f s", run->ending ? ", " : "", run->seconds);
        putc('\n', out);
    }
}

/* One line of the notes, behind its label. */
static void write_note(FILE *out, const char *note, size_t length, const fm_view_options *options)
{
    fm_text_write_wrapped(out, note, length, 12, options);
    putc('\n', out);
}

/* A number as numbers are shown, or a formula. */
static void write_count(FILE *out, const char *count, const char *what, const fm_view_options *options)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(count, &end, 10);
    if (*end || end == count || errno)
        fm_text_write_name(out, count, options->unicode);
    else
        fputs(fm_text_count(number).text, out);
    fputs(what, out);
}

/* Which source code it was computed from, and how sure that is. */
static void write_kernel(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    const fm_kernel *kernel = profile->kernel;
    if (kernel->file) {
        header_label(out, options, "source");
        fm_text_write_name(out, kernel->file, options->unicode);
        if (kernel->first_line) fprintf(out, ":%" PRIu32 "-%" PRIu32, kernel->first_line, kernel->last_line);
        putc('\n', out);
    }
    text_line(out, options, "parameters", kernel->parameters);
    if (kernel->loads && kernel->stores) {
        header_label(out, options, "does");
        write_count(out, kernel->loads, " loads, ", options);
        write_count(out, kernel->stores, " stores", options);
        if (kernel->flops && strcmp(kernel->flops, "0") != 0) {
            fputs(", ", out);
            write_count(out, kernel->flops, " flops", options);
        }
        putc('\n', out);
    }
    if (kernel->certainty) {
        char text[600];
        const char *method =
            profile->exact && kernel->method ? kernel->method : NULL; /* else with the accuracy */
        snprintf(text, sizeof text, "%s%s%s; %s rows; %.2f s", kernel->certainty, method ? ": " : "",
                 method ? method : "", kernel->layout ? kernel->layout : "contiguous", kernel->seconds);
        header_label(out, options, "certainty");
        write_note(out, text, strlen(text), options);
    }
}

static void write_notes(FILE *out, const char *notes, const fm_view_options *options)
{
    while (notes && *notes) {
        size_t length = strcspn(notes, "\n");
        if (strspn(notes, " ") < length) {
            header_label(out, options, "note");
            write_note(out, notes, length, options);
        }
        notes += length + (notes[length] == '\n');
    }
}

void fm_view_header(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    header_label(out, options, "profile of");
    fm_text_ink(out, options, FM_INK_BOLD);
    fm_text_write_name(out, profile->name, options->unicode);
    fm_text_ink(out, options, FM_INK_NONE);
    putc('\n', out);
    if (profile->run) write_run(out, profile, options);
    if (profile->kernel) write_kernel(out, profile, options);

    header_label(out, options, "references");
    fprintf(out, "%s\n", fm_text_count(profile->references).text);

    header_label(out, options, "distinct");
    const char *least = profile->cold_known ? "" : "at least ";
    fprintf(out, "%s%s %s", least, fm_text_count(profile->distinct).text,
            profile->elements ? "elements: addresses, whatever the accesses' sizes" : "blocks");
    if (profile->granularity > 1)
        fprintf(out, " of %s bytes: a footprint of %s%s", fm_text_count(profile->granularity).text, least,
                fm_text_bytes(profile->distinct, profile->granularity).text);
    putc('\n', out);

    header_label(out, options, "cold");
    fprintf(out, "%s%s %s", least, fm_text_count(profile->cold).text, fm_text_cold(profile));
    if (profile->references)
        fprintf(out, ", %s of the references",
                fm_text_percent((double)profile->cold / (double)profile->references).text);
    putc('\n', out);

    if (profile->bound) {
        header_label(out, options, "bound");
        fprintf(out, "distances from %s blocks on are counted as one: %s beyond\n",
                fm_text_count(profile->bound).text, fm_text_count(profile->beyond).text);
        if (!profile->cold_known) {
            header_warning(out, options, "UNKNOWN");
            fputs("first touches among the references beyond the bound: memory to tell them ran out\n", out);
        }
    }
    header_label(out, options, "engine");
    fm_text_write_name(out, profile->engine, options->unicode);
    fprintf(out, ", %s; %s bins\n", profile->exact ? "every distance exact" : "distances estimated",
            fm_bins_name(profile->bins));
    if (!profile->exact) {
        const char *statement = profile->accuracy ? profile->accuracy->statement : "nothing is promised";
        header_warning(out, options, "APPROXIMATE");
        write_note(out, statement, strlen(statement), options);
    }
    if (profile->stage_count) {
        header_label(out, options, "time");
        for (size_t i = 0; i < profile->stage_count; i++)
            fprintf(out, "%s%s %.3f s", i ? ", " : "", profile->stages[i].name, profile->stages[i].seconds);
        putc('\n', out);
    }
    if (!profile->complete) {
        header_warning(out, options, "INCOMPLETE");
        if (profile->lost)
            fprintf(out, "%s references are known to be missing", fm_text_count(profile->lost).text);
        else
            fputs("an unknown number of references is missing", out);
        if (profile->what_missing) {
            fputs(": ", out);
            fm_text_write_name(out, profile->what_missing, options->unicode);
        }
        putc('\n', out);
    }
    if (profile->run) write_notes(out, profile->run->notes, options);
    if (profile->kernel) write_notes(out, profile->kernel->notes, options);
}

/*
 * ======== terminal caches ========
 * Miss ratios at given caches.
 *
 * The set-associative column is an estimate and called one. It needs to know the ways, and blocks
 * that are as large as the cache's lines; else it stays empty and a note says why.
 */

void fm_view_caches_sized(size_t given_size, FILE *out, const fm_profile *profile, const fm_cache *caches,
                          size_t count, const fm_view_options *given)
{
    const fm_view_options known = fm_text_options(given, given_size), *options = &known;
    if (count == 0) return;
    bool other_line = false, unknown = false;
    const bool band = profile->accuracy && profile->accuracy->band_count > 0;
    const bool keys = fm_text_counts_keys(profile);
    fm_text_ink(out, options, FM_INK_DIM);
    fprintf(out, "%-12s %10s %13s %5s %12s %20s%s\n", "cache", "size", "blocks", "ways", "miss ratio",
            "with sets (estimate)", band ? "   between" : "");
    fm_text_ink(out, options, FM_INK_NONE);
    for (size_t i = 0; i < count; i++) {
        const fm_cache *cache = &caches[i];
        fm_cache_fit fit = fm_cache_fit_make(profile, cache);
        fm_text_write_name(out, cache->name, options->unicode);
        size_t length = 0;
        while (length < sizeof cache->name && cache->name[length]) length++;
        fprintf(out, "%*s", length < 12 ? (int)(12 - length) : 0, "");
        fprintf(out, " %10s %13s ",
                (keys ? fm_text_scaled(cache->bytes) : fm_text_bytes(cache->bytes, 1)).text,
                fm_text_count(fit.blocks).text);
        if (cache->ways)
            fprintf(out, "%5llu", (unsigned long long)cache->ways);
        else
            fprintf(out, "%5s", "-");
        fprintf(out, " %12s", fit.misses.known ? fm_text_percent(fit.ratio).text : "unknown");
        fprintf(out, " %20s", fit.estimated ? fm_text_percent(fit.estimate).text : "-");
        if (fit.has_band)
            fprintf(out, "   %s and %s", fm_text_percent(fit.least).text, fm_text_percent(fit.most).text);
        putc('\n', out);
        other_line |= fit.other_line;
        unknown |= !fit.misses.known;
    }
    fprintf(out, "miss ratio: fully associative LRU, of all %s references\n",
            fm_text_count(profile->references).text);
    if (profile->elements)
        fputs("size: in elements, not bytes: an access is one reference to its address, whatever its size\n",
              out);
    else if (keys)
        fputs("size: in keys, not bytes: with granularity 1 a block is one key (in a trace of memory, a "
              "byte)\n",
              out);
    if (band)
        fprintf(out, "between: where the miss ratio lies with %.0f %% confidence, at each size by itself\n",
                profile->accuracy->confidence * 100);
    fputs("with sets: an estimate, by Hill & Smith's binomial model (sets chosen at random)\n", out);
    if (other_line)
        fprintf(out,
                "no estimate where the cache's line is not the profile's block of %s byte%s:\n"
                "analyze with the line's size as the granularity\n",
                fm_text_count(profile->granularity).text, profile->granularity == 1 ? "" : "s");
    if (unknown)
        fprintf(out, "unknown: larger than the profile's bound of %s blocks\n",
                fm_text_count(profile->bound).text);
}

/*
 * ======== terminal bounds ========
 * Upper bounds on performance: which resource bounds each nest, the least time, and the
 * largest share of the peak.
 *
 *     nest                      bound by             takes least peak at most
 *     blur.c:20-28              flops                   31.2 ms       100 %  proved
 */

static fm_text seconds_text(double seconds)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    fm_text text;
    size_t i = 0;
    while (i < 3 && seconds < units[i].unit) i++;
    if (seconds == 0) i = 0;
    snprintf(text.text, sizeof text.text, "%.4g %s", seconds / units[i].unit, units[i].name);
    return text;
}

/* Powers of 1000. */
static fm_text amount_text(double amount, const char *unit)
{
    static const char *const letters[] = {"", "K", "M", "G", "T", "P", "E"};
    fm_text text;
    size_t i = 0;
    while (i < 6 && amount >= 999.5) {
        amount /= 1000;
        i++;
    }
    snprintf(text.text, sizeof text.text, "%.3g %s%s", amount, letters[i], unit);
    return text;
}

static void write_slowest(FILE *out, const fm_bounds_part *part, size_t index, double peak, const char *kind)
{
    if (index >= part->count) {
        fprintf(out, " %-20s %11s %11s  %s\n", "nothing", "-", "-", kind);
        return;
    }
    const fm_bound *bound = &part->bounds[index];
    fprintf(out, " %-20.20s %11s", bound->resource, seconds_text(bound->seconds).text);
    if (peak > 0 && part->work.flops > 0)
        fprintf(out, " %11s", fm_text_percent((double)part->work.flops / bound->seconds / peak).text);
    else
        fprintf(out, " %11s", "-");
    fprintf(out, "  %s\n", kind);
}

static void write_bounds_part(FILE *out, const fm_bounds_part *part, const char *name, double peak,
                              const fm_view_options *options)
{
    char place[400];
    const fm_nest *work = &part->work;
    if (!name) {
        const char *file = work->file ? fm_base_name(work->file) : "nest";
        if (work->first_line == 0)
            snprintf(place, sizeof place, "%s", file);
        else if (work->first_line == work->last_line)
            snprintf(place, sizeof place, "%.300s:%" PRIu32, file, work->first_line);
        else
            snprintf(place, sizeof place, "%.300s:%" PRIu32 "-%" PRIu32, file, work->first_line,
                     work->last_line);
        name = place;
    }
    enum { COLUMNS = 25 };
    unsigned used = fm_text_write_short(out, name, COLUMNS, FM_CUT_BEGINNING, options->unicode);
    fprintf(out, "%*s", used < COLUMNS ? (int)(COLUMNS - used) : 0, "");
    write_slowest(out, part, part->slowest_proved, peak, "proved");
    fprintf(out, "%*s", (int)COLUMNS, "");
    write_slowest(out, part, part->slowest, peak, "model");
}

static void write_resources(FILE *out, const fm_bounds_part *whole, const fm_view_options *options)
{
    fm_text_ink(out, options, FM_INK_DIM);
    fprintf(out, "\n%-28s %10s %12s %10s  %s\n", "resource", "work", "rate", "takes", "this much work is");
    fm_text_ink(out, options, FM_INK_NONE);
    for (size_t i = 0; i < whole->count; i++) {
        const fm_bound *bound = &whole->bounds[i];
        const char *why = bound->proved ? bound->bytes ? "proved: any cache" : "proved: of the source"
                          : bound->bytes && strstr(bound->resource, " to processor") == NULL
                              ? "a model: LRU caches"
                              : "a model: no registers";
        if (!bound->bytes && strcmp(bound->resource, "integer operations") == 0)
            why = "a model: no optimisation";
        fprintf(out, "%-28.28s %10s %12s %10s  %s\n", bound->resource,
                amount_text(bound->work, bound->bytes ? "B" : "").text,
                amount_text(bound->rate, bound->bytes ? "B/s" : "/s").text, seconds_text(bound->seconds).text,
                why);
    }
}

void fm_view_bounds_sized(size_t given_size, FILE *out, const fm_profile *profile,
                          const fm_view_options *given)
{
    const fm_view_options known = fm_text_options(given, given_size), *options = &known;
    const fm_bounds *bounds = profile->bounds;
    if (!bounds) return;
    fputs("upper bounds on performance: ", out);
    fm_text_write_name(out, bounds->machine, options->unicode);
    putc('\n', out);
    if (bounds->whole.count == 0) {
        fputs("none: the description of the machine has no rates\n", out);
        return;
    }
    fm_text_ink(out, options, FM_INK_DIM);
    fprintf(out, "%-25s %-20s %11s %11s\n", "nest", "bound by", "takes least", "peak at most");
    fm_text_ink(out, options, FM_INK_NONE);
    for (size_t i = 0; bounds->count > 1 && i < bounds->count; i++)
        write_bounds_part(out, &bounds->nests[i], NULL, bounds->flops, options);
    write_bounds_part(out, &bounds->whole, bounds->count > 1 ? "all together" : NULL, bounds->flops, options);
    write_resources(out, &bounds->whole, options);
    fputs("takes least: no run takes less time. peak at most: no run reaches more of the peak flops.\n"
          "proved: it does the source's floating-point operations, and brings blocks from afar\n"
          "that no cache of this size, empty at first, could have kept, whatever it replaces.\n"
          "model: it makes the source's loads and stores too (a compiler may keep values in\n"
          "registers), and its caches are fully associative and replace the block unused longest.\n",
          out);
    if (!profile->exact)
        fputs("misses are not exact: what nests bring from afar is by the model only\n", out);
}
