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

fm_status fm_view_curve_sized(FILE *out, const fm_profile *profile, const fm_view_options *given,
                              size_t given_size, fm_error *error)
{
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
    uint64_t largest = profile->distinct;
    if (profile->distances.count) {
        uint64_t last = profile->distances.bins[profile->distances.count - 1].lo + 1;
        if (last > largest) largest = last;
    }
    if (profile->bound && profile->beyond) largest = profile->bound;
    unsigned exponents = doublings(largest);
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
            profile->granularity > 1 ? "cache size, in bytes" : "cache size, in blocks (keys)");
    if (unknown) fputs("right of the bound the curve is unknown and drawn flat\n", out);
    free(ratios);
    return FM_OK;
}
