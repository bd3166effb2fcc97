/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_histogram.c - a histogram as text: one bar per power of two.
 *
 *     distance          fits in       references     share      hits
 *     [512, 1Ki)         64 KiB        1,234,567   12.34 %   76.54 %  ███████▌
 *
 * "hits" is the share of all references up to and including the line: the hit ratio of a fully
 * associative LRU cache of the size "fits in".
 */
#include "view/text.h"

#include <string.h>

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

static void line(FILE *out, const table *of, const char *range, const char *fits, uint64_t count,
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

static void lines(FILE *out, const table *of)
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
        line(out, of, range, fits.text, counts[i], (double)passed / of->total);
    }
}

static void heading(FILE *out, const table *of, const char *what, const char *passed)
{
    fm_text_ink(out, of->options, FM_INK_DIM);
    fprintf(out, "\n%-14s", what);
    if (of->sizes) fprintf(out, " %9s", "fits in");
    fprintf(out, " %17s %9s %10s\n", "references", "share", passed);
    fm_text_ink(out, of->options, FM_INK_NONE);
}

static double longest(const fm_histogram *histogram, uint64_t cold, uint64_t beyond)
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
    of.most = longest(of.histogram, profile->cold, profile->beyond);
    unsigned used = 14 + 18 + 10 + 11 + 2 + (of.sizes ? 10 : 0);
    of.columns = width > used + 8 ? width - used : 8;
    heading(out, &of, "distance", "hits");
    lines(out, &of);
    if (profile->bound) {
        char range[64];
        snprintf(range, sizeof range, "from %s", fm_text_scaled(profile->bound).text);
        line(out, &of, range, "", profile->beyond, -1);
    }
    line(out, &of, "cold", "", profile->cold, -1);
    fprintf(out, "distance in blocks; hits: hit ratio of a fully associative LRU cache\n%s\n",
            of.sizes ? "of the size \"fits in\"" : "that just holds the line's distances");

    if (!profile->has_times) return;
    uint64_t reuses = 0;
    for (size_t i = 0; i < profile->times.count; i++) reuses += profile->times.bins[i].count;
    of.histogram = &profile->times;
    of.sizes = false;
    of.total = (double)reuses;
    of.most = longest(of.histogram, 0, 0);
    heading(out, &of, "time distance", "up to here");
    lines(out, &of);
    fprintf(out, "time distance in references, of the %s reuses\n", fm_text_count(reuses).text);
}
