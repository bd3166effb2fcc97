/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_bounds.c - upper bounds on performance: which resource bounds each nest, the least time, and the
 * largest share of the peak.
 *
 *     nest                      bound by             takes least peak at most
 *     blur.c:20-28              flops                   31.2 ms       100 %  proved
 */
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static void write_part(FILE *out, const fm_bounds_part *part, const char *name, double peak,
                       const fm_view_options *options)
{
    char place[400];
    const fm_nest *work = &part->work;
    if (!name) {
        const char *slash = work->file ? strrchr(work->file, '/') : NULL;
        const char *file = slash ? slash + 1 : work->file ? work->file : "nest";
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
        write_part(out, &bounds->nests[i], NULL, bounds->flops, options);
    write_part(out, &bounds->whole, bounds->count > 1 ? "all together" : NULL, bounds->flops, options);
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
