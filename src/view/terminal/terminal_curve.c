/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_curve.c - the miss-ratio curve as a plot of filled columns.
 *
 * One column per size, sizes evenly spaced in their logarithm from 1 block to the power of two that
 * holds the footprint. The vertical axis is linear, from 0 to 100 %.
 */
#include "view/text.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, MARGIN = 8 /* "  75 % ┤" */, MOST_COLUMNS = 400 };

static unsigned doublings(uint64_t blocks)
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

static void row(FILE *out, const double *ratios, unsigned columns, unsigned from_top,
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

static void axis(FILE *out, unsigned exponents, unsigned columns, uint64_t unit,
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
    unsigned exponents = doublings(largest_size(profile));
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
    for (unsigned i = 0; i < ROWS; i++) row(out, ratios, columns, i, options);
    axis(out, exponents, columns, profile->granularity, options);
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
static void letters(FILE *out, double ratios[MOST_CURVES][MOST_COLUMNS], size_t count, unsigned columns,
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
        char name[sizeof caches->name + 1];
        memcpy(name, caches[c].name, sizeof caches->name);
        name[sizeof caches->name] = '\0';
        unsigned used = fm_text_write_short(out, name, 12, FM_CUT_END, options->unicode);
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
                       end = unit + doublings(largest_size(profiles[i]));
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
    for (unsigned i = ROWS; i > 0; i--) letters(out, ratios, count, columns, i, &known);
    letters(out, ratios, count, columns, 0, &known);
    axis(out, to - from, columns, UINT64_C(1) << from, &known);
    fprintf(out, "%*s%s\n", MARGIN, "",
            profiles[0]->granularity > 1 ? "cache size, in bytes"
            : profiles[0]->elements      ? "cache size, in elements"
                                         : "cache size, in blocks (keys)");
    table_of_caches(out, profiles, count, caches, cache_count, &known);
    free(ratios);
    return FM_OK;
}
