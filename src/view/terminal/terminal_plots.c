/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_plots.c - the miss-ratio curve as a plot of filled columns.
 *
 * One column per size, sizes evenly spaced in their logarithm from 1 block to the power of two that
 * holds the footprint. The vertical axis is linear, from 0 to 100 %.
 */
#include "base/error.h"
#include "base/memory.h"
#include "view/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, MARGIN = 8 /* "  75 % ┤" */, MOST_COLUMNS = 400 };

static unsigned curve_doublings(uint64_t blocks)
{
    unsigned exponent = 0;
    while (exponent < 63 && (UINT64_C(1) << exponent) < blocks) exponent++;
    return exponent ? exponent : 1;
}

/* How much of a row's cell is filled, in eighths. What is not nothing shows in the lowest row. */
static unsigned filled_eighths(double ratio, unsigned from_bottom)
{
    double filled = ratio * ROWS - from_bottom;
    if (filled <= 0) return 0;
    unsigned eighths = filled >= 1 ? 8 : (unsigned)(filled * 8 + 0.5);
    return eighths || from_bottom ? eighths : 1;
}

static void filled_row(FILE *out, const double *ratios, unsigned columns, unsigned from_top,
                       const fm_view_options *options)
{
    static const char *const eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    unsigned from_bottom = ROWS - 1 - from_top;
    fm_text_ink(out, options, FM_INK_DIM);
    if (from_top % 4 == 0)
        fprintf(out, "%4u %% %s", 100 - from_top * 100 / ROWS, options->unicode ? "┤" : "+");
    else
        fprintf(out, "%7s%s", "", options->unicode ? "│" : "|");
    fm_text_ink(out, options, FM_INK_BAR);
    unsigned end = columns; /* no blanks at the end of a line */
    while (end && filled_eighths(ratios[end - 1], from_bottom) == 0) end--;
    for (unsigned i = 0; i < end; i++) {
        unsigned filled = filled_eighths(ratios[i], from_bottom);
        if (options->unicode)
            fputs(eighths[filled], out);
        else
            putc(filled >= 4 ? '#' : filled ? '.' : ' ', out);
    }
    fm_text_ink(out, options, FM_INK_NONE);
    putc('\n', out);
}

static void curve_axis(FILE *out, unsigned exponents, unsigned columns, uint64_t unit,
                       const fm_view_options *options)
{
    /* Ticks every few doublings so that their labels have room. */
    unsigned step = 1;
    while (step < exponents && (double)step * columns / exponents < 11) step++;
    char labels[MARGIN + MOST_COLUMNS + 64]; /* the line below, filled along the way */
    unsigned written = 0, next = 0;
    fm_text_ink(out, options, FM_INK_DIM);
    fprintf(out, "   0 %% %s", options->unicode ? "┼" : "+");
    for (unsigned i = 0; i < columns; i++) {
        unsigned at = (unsigned)lround((double)next * (columns - 1) / exponents);
        bool tick = next <= exponents && i == at;
        fputs(tick ? (options->unicode ? "┬" : "+") : (options->unicode ? "─" : "-"), out);
        if (!tick) continue;
        fm_text text =
            unit > 1 ? fm_text_bytes(UINT64_C(1) << next, unit) : fm_text_scaled(UINT64_C(1) << next);
        unsigned length = (unsigned)strlen(text.text);
        unsigned start = MARGIN + i >= length / 2 ? MARGIN + i - length / 2 : 0;
        if (start >= written && start + length <= MARGIN + columns + 2) {
            memset(labels + written, ' ', start - written);
            memcpy(labels + start, text.text, length);
            written = start + length;
        }
        next += step;
    }
    fprintf(out, "\n%.*s\n", (int)written, labels);
    fm_text_ink(out, options, FM_INK_NONE);
}

/* In blocks: from here on the curve does not fall any more, or nobody knows. */
static uint64_t largest_size(const fm_profile *profile)
{
    uint64_t largest = profile->distinct;
    if (profile->distances.count) {
        uint64_t last = profile->distances.bins[profile->distances.count - 1].lo + 1;
        if (last > largest) largest = last;
    }
    return profile->bound && profile->beyond ? profile->bound : largest;
}

fm_status fm_view_curve_sized(size_t given_size, FILE *out, const fm_profile *profile,
                              const fm_view_options *given, fm_error *error)
{
    FM_REQUIRE(profile, error);
    fm_view_options known;
    fm_status status = fm_sized_read(&known, sizeof known, given, given_size, "fm_view_options", error);
    if (status != FM_OK) return status;
    const fm_view_options *options = &known;
    unsigned width = options->width ? options->width : 80;
    unsigned columns = width > MARGIN + 22 ? width - MARGIN - 2 : 20;
    if (columns > MOST_COLUMNS) columns = MOST_COLUMNS;
    fm_view_header(out, profile, options);
    if (profile->references == 0) {
        fputs("\nno references: there is no curve\n", out);
        return FM_OK;
    }
    unsigned exponents = curve_doublings(largest_size(profile));
    double *ratios = fm_calloc(columns, sizeof *ratios);
    if (!ratios) return fm_fail_memory(error, (uint64_t)columns * sizeof *ratios, "the plot");
    bool unknown = false;
    for (unsigned i = 0; i < columns; i++) {
        double blocks = exp2((double)exponents * i / (columns - 1));
        fm_misses misses = fm_profile_misses(profile, (uint64_t)(blocks + 0.5));
        ratios[i] = misses.expected / (double)profile->references;
        unknown |= !misses.known;
    }
    fputs("\nmiss ratio of a fully associative LRU cache, by its size\n", out);
    for (unsigned i = 0; i < ROWS; i++) filled_row(out, ratios, columns, i, options);
    curve_axis(out, exponents, columns, profile->granularity, options);
    fprintf(out, "%*s%s\n", MARGIN, "",
            profile->granularity > 1 ? "cache size, in bytes"
            : profile->elements      ? "cache size, in elements"
                                     : "cache size, in blocks (keys)");
    if (unknown) fputs("right of the bound the curve is unknown and drawn flat\n", out);
    free(ratios);
    return FM_OK;
}

/* ---- several ---- */

enum { MOST_CURVES = 8 };

static unsigned log2_of(uint64_t value)
{
    unsigned exponent = 0;
    while (value >> (exponent + 1)) exponent++;
    return exponent;
}

/* The row of a ratio, from the bottom; ROWS for 100 %. */
static unsigned row_of(double ratio)
{
    return (unsigned)lround(ratio * ROWS);
}

/* One row of the plot: the letter of a curve where it passes, * where several do. */
static void letters_row(FILE *out, double ratios[MOST_CURVES][MOST_COLUMNS], size_t count, unsigned columns,
                        unsigned from_bottom, const fm_view_options *options)
{
    fm_text_ink(out, options, FM_INK_DIM);
    if (from_bottom && from_bottom % 4 == 0)
        fprintf(out, "%4u %% %s", from_bottom * 100 / ROWS, options->unicode ? "┤" : "+");
    else
        fprintf(out, "%7s%s", "", options->unicode ? "│" : "|");
    fm_text_ink(out, options, FM_INK_NONE);
    char line[MOST_COLUMNS + 1];
    unsigned end = 0;
    for (unsigned i = 0; i < columns; i++) {
        line[i] = ' ';
        for (size_t curve = 0; curve < count; curve++)
            if (row_of(ratios[curve][i]) == from_bottom) {
                line[i] = line[i] == ' ' ? (char)('A' + curve) : '*';
                end = i + 1;
            }
    }
    fprintf(out, "%.*s\n", (int)end, line);
}

static void table_of_caches(FILE *out, const fm_profile *const *profiles, size_t count,
                            const fm_cache *caches, size_t cache_count, const fm_view_options *options)
{
    if (cache_count == 0) return;
    const bool keys = profiles[0]->granularity == 1;
    fm_text_ink(out, options, FM_INK_DIM);
    fprintf(out, "\n%-12s %9s", "cache", "size");
    for (size_t i = 0; i < count; i++) fprintf(out, " %9c", (char)('A' + i));
    putc('\n', out);
    fm_text_ink(out, options, FM_INK_NONE);
    for (size_t c = 0; c < cache_count; c++) {
        unsigned used =
            fm_text_write_short(out, fm_text_cache_name(&caches[c]).text, 12, FM_CUT_END, options->unicode);
        fprintf(out, "%*s %9s", (int)(12 - used), "",
                (keys ? fm_text_scaled(caches[c].bytes) : fm_text_bytes(caches[c].bytes, 1)).text);
        for (size_t i = 0; i < count; i++) {
            const fm_misses misses =
                fm_profile_misses(profiles[i], caches[c].bytes / profiles[i]->granularity);
            const double all = profiles[i]->references ? (double)profiles[i]->references : 1;
            fprintf(out, " %9s", misses.known ? fm_text_percent(misses.expected / all).text : "unknown");
        }
        putc('\n', out);
    }
    fputs("miss ratios: fully associative LRU, of all references of each\n", out);
}

fm_status fm_view_curves_sized(size_t given_size, FILE *out, const fm_profile *const *profiles,
                               const char *const *names, size_t count, const fm_cache *caches,
                               size_t cache_count, const fm_view_options *given, fm_error *error)
{
    fm_view_options known;
    fm_status status = fm_sized_read(&known, sizeof known, given, given_size, "fm_view_options", error);
    if (status != FM_OK) return status;
    if (count == 0 || count > MOST_CURVES)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected 1 to %d profiles, found %zu", (int)MOST_CURVES,
                       count);
    /* Sizes in bytes, or in keys: from the smallest block to what the largest needs. */
    unsigned from = 63, to = 1;
    for (size_t i = 0; i < count; i++) {
        const unsigned unit = log2_of(profiles[i]->granularity),
                       end = unit + curve_doublings(largest_size(profiles[i]));
        if ((profiles[i]->granularity == 1) != (profiles[0]->granularity == 1))
            return fm_fail(error, FM_E_ARGUMENT, NULL, "%s counts %s, %s does not: they have no common size",
                           names[i], profiles[i]->granularity == 1 ? "keys" : "bytes", names[0]);
        if (profiles[i]->elements != profiles[0]->elements)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "%s counts %s, %s does not: they have no common size",
                           names[i], profiles[i]->elements ? "elements" : "blocks", names[0]);
        if (unit < from) from = unit;
        if (end > to) to = end < 63 ? end : 63;
    }
    unsigned width = known.width ? known.width : 80;
    unsigned columns = width > MARGIN + 22 ? width - MARGIN - 2 : 20;
    if (columns > MOST_COLUMNS) columns = MOST_COLUMNS;
    double(*ratios)[MOST_COLUMNS] = fm_calloc(MOST_CURVES, sizeof *ratios);
    if (!ratios) return fm_fail_memory(error, MOST_CURVES * sizeof *ratios, "the plot");
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%c  ", (char)('A' + i));
        fm_text_write_name(out, names[i], known.unicode);
        fprintf(out, ": %s references%s\n", fm_text_count(profiles[i]->references).text,
                profiles[i]->exact ? "" : ", estimated");
        for (unsigned column = 0; column < columns; column++) {
            const double size = exp2(from + (double)(to - from) * column / (columns - 1));
            const uint64_t blocks = (uint64_t)(size / (double)profiles[i]->granularity + 0.5);
            ratios[i][column] = fm_profile_miss_ratio(profiles[i], blocks);
        }
    }
    fputs("\nmiss ratios of fully associative LRU caches, by their size; *: several\n", out);
    for (unsigned i = ROWS; i > 0; i--) letters_row(out, ratios, count, columns, i, &known);
    letters_row(out, ratios, count, columns, 0, &known);
    curve_axis(out, to - from, columns, UINT64_C(1) << from, &known);
    fprintf(out, "%*s%s\n", MARGIN, "",
            profiles[0]->granularity > 1 ? "cache size, in bytes"
            : profiles[0]->elements      ? "cache size, in elements"
                                         : "cache size, in blocks (keys)");
    table_of_caches(out, profiles, count, caches, cache_count, &known);
    free(ratios);
    return FM_OK;
}

/*
 * ======== terminal histogram ========
 * A histogram as text: one bar per power of two.
 *
 *     distance          fits in       references     share      hits
 *     [512, 1Ki)         64 KiB        1,234,567   12.34 %   76.54 %  ███████▌
 *
 * "hits" is the share of all references up to and including the line: the hit ratio of a fully
 * associative LRU cache of the size "fits in".
 */

enum { LOG2_BINS = 65 };

/* What one table needs; distances and time distances differ only in these. */
typedef struct table {
    const fm_profile *profile;
    const fm_histogram *histogram;
    const fm_view_options *options;
    bool sizes;   /* the column "fits in" */
    double total; /* 100 % */
    double most;  /* the longest bar */
    unsigned columns;
} table;

static void table_line(FILE *out, const table *of, const char *range, const char *fits, uint64_t count,
                       double passed)
{
    fprintf(out, "%-14s", range);
    if (of->sizes) fprintf(out, " %9s", fits);
    double share = of->total > 0 ? (double)count / of->total : 0;
    fprintf(out, " %17s %9s", count ? fm_text_count(count).text : "-",
            count ? fm_text_percent(share).text : "-");
    if (passed >= 0)
        fprintf(out, " %10s", fm_text_percent(passed).text);
    else if (count)
        fprintf(out, " %10s", "");
    if (count) {
        fputs("  ", out);
        fm_text_ink(out, of->options, FM_INK_BAR);
        fm_text_bar(out, (double)count, of->most, of->columns, of->options->unicode);
        fm_text_ink(out, of->options, FM_INK_NONE);
    }
    putc('\n', out);
}

static void range_label(char *text, size_t size, size_t bin)
{
    uint64_t lo, hi;
    fm_bins_range(FM_BINS_LOG2, bin, &lo, &hi);
    if (bin < 2)
        snprintf(text, size, "%u", (unsigned)bin);
    else if (bin == LOG2_BINS - 1)
        snprintf(text, size, "from %s", fm_text_scaled(lo).text);
    else
        snprintf(text, size, "[%s, %s)", fm_text_scaled(lo).text, fm_text_scaled(hi + 1).text);
}

static void table_lines(FILE *out, const table *of)
{
    uint64_t counts[LOG2_BINS] = {0};
    size_t first = LOG2_BINS, last = 0;
    for (size_t i = 0; i < of->histogram->count; i++) {
        const fm_bin *bin = &of->histogram->bins[i];
        size_t at = fm_bins_index(FM_BINS_LOG2, bin->lo);
        counts[at] += bin->count;
        if (at < first) first = at;
        last = at;
    }
    uint64_t passed = 0;
    for (size_t i = first; i <= last && first < LOG2_BINS; i++) {
        char range[128];
        range_label(range, sizeof range, i);
        uint64_t lo, hi;
        fm_bins_range(FM_BINS_LOG2, i, &lo, &hi);
        passed += counts[i];
        fm_text fits = {"-"};
        if (hi != UINT64_MAX) fits = fm_text_bytes(hi + 1, of->profile->granularity);
        table_line(out, of, range, fits.text, counts[i], (double)passed / of->total);
    }
}

static void table_heading(FILE *out, const table *of, const char *what, const char *passed)
{
    fm_text_ink(out, of->options, FM_INK_DIM);
    fprintf(out, "\n%-14s", what);
    if (of->sizes) fprintf(out, " %9s", "fits in");
    fprintf(out, " %17s %9s %10s\n", "references", "share", passed);
    fm_text_ink(out, of->options, FM_INK_NONE);
}

static double longest_bar(const fm_histogram *histogram, uint64_t cold, uint64_t beyond)
{
    uint64_t counts[LOG2_BINS] = {0};
    uint64_t most = cold > beyond ? cold : beyond;
    for (size_t i = 0; i < histogram->count; i++) {
        uint64_t *count = &counts[fm_bins_index(FM_BINS_LOG2, histogram->bins[i].lo)];
        *count += histogram->bins[i].count;
        if (*count > most) most = *count;
    }
    return (double)most;
}

void fm_view_histogram_sized(size_t given_size, FILE *out, const fm_profile *profile,
                             const fm_view_options *given)
{
    const fm_view_options known = fm_text_options(given, given_size), *options = &known;
    unsigned width = options->width ? options->width : 80;
    fm_view_header(out, profile, options);
    if (profile->references == 0) {
        fputs("\nno references: nothing to show\n", out);
        return;
    }
    table of = {.profile = profile, .histogram = &profile->distances, .options = options};
    of.sizes = profile->granularity > 1;
    of.total = (double)profile->references;
    of.most = longest_bar(of.histogram, profile->cold, profile->beyond);
    unsigned used = 14 + 18 + 10 + 11 + 2 + (of.sizes ? 10 : 0);
    of.columns = width > used + 8 ? width - used : 8;
    table_heading(out, &of, "distance", "hits");
    table_lines(out, &of);
    if (profile->bound) {
        char range[64];
        snprintf(range, sizeof range, "from %s", fm_text_scaled(profile->bound).text);
        table_line(out, &of, range, "", profile->beyond, -1);
    }
    table_line(out, &of, "cold", "", profile->cold, -1);
    fprintf(out, "distance in blocks; hits: hit ratio of a fully associative LRU cache\n%s\n",
            of.sizes ? "of the size \"fits in\"" : "that just holds the line's distances");

    if (!profile->has_times) return;
    uint64_t reuses = 0;
    for (size_t i = 0; i < profile->times.count; i++) reuses += profile->times.bins[i].count;
    of.histogram = &profile->times;
    of.sizes = false;
    of.total = (double)reuses;
    of.most = longest_bar(of.histogram, 0, 0);
    table_heading(out, &of, "time distance", "up to here");
    table_lines(out, &of);
    fprintf(out, "time distance in references, of the %s reuses\n", fm_text_count(reuses).text);
}
