/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_data.c - see report_data.h.
 *
 * A histogram of millions of exact bins would make a page that no browser opens: above MOST_BINS it
 * is given in loglinear bins (at most some thousands, error below 1.6 %), and the page says so.
 */
#include "view/report_data.h"

#include "profile/histogram.h"
#include "profile/json_text.h"
#include "view/cache_fit.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MOST_BINS = 4096 };

static void text_field(FILE *out, const char *key, const char *text)
{
    fprintf(out, "\"%s\":", key);
    fm_json_write_string(out, text, FM_JSON_IN_HTML);
    putc(',', out);
}

static void count_field(FILE *out, const char *key, uint64_t value)
{
    fprintf(out, "\"%s\":%" PRIu64 ",", key, value);
}

static void truth_field(FILE *out, const char *key, bool value)
{
    fprintf(out, "\"%s\":%s,", key, value ? "true" : "false");
}

static void bins_field(FILE *out, const char *key, const fm_histogram *histogram)
{
    fprintf(out, "\"%s\":[", key);
    for (size_t i = 0; i < histogram->count; i++) {
        const fm_bin *bin = &histogram->bins[i];
        fprintf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "", bin->lo, bin->hi, bin->count);
    }
    fputs("],", out);
}

/* As it is where that is small enough, else in loglinear bins. */
static fm_status write_bins(FILE *out, const char *key, const fm_histogram *histogram, uint64_t bound,
                            bool *coarsened, fm_error *error)
{
    if (histogram->count <= MOST_BINS) {
        bins_field(out, key, histogram);
        return FM_OK;
    }
    fm_histogram coarse;
    fm_status status = fm_histogram_sum(&coarse, histogram, NULL, FM_BINS_LOGLINEAR, bound, error);
    if (status) return status;
    *coarsened = true;
    bins_field(out, key, &coarse);
    free(coarse.bins);
    return FM_OK;
}

static void write_fits(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count)
{
    fputs("\"caches\":[", out);
    for (size_t i = 0; i < count; i++) {
        fm_cache_fit fit = fm_cache_fit_make(profile, &caches[i]);
        fprintf(out, "%s{\"blocks\":%" PRIu64 ",\"known\":%s,\"ratio\":", i ? "," : "", fit.blocks,
                fit.misses.known ? "true" : "false");
        fm_json_write_real(out, fit.ratio);
        fputs(",\"estimate\":", out);
        if (fit.estimated)
            fm_json_write_real(out, fit.estimate);
        else
            fputs("null", out);
        putc('}', out);
    }
    putc(']', out);
}

static fm_status write_profile(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                               fm_error *error)
{
    putc('{', out);
    text_field(out, "name", profile->name);
    text_field(out, "engine", profile->engine);
    truth_field(out, "exact", profile->exact);
    count_field(out, "granularity", profile->granularity);
    count_field(out, "references", profile->references);
    count_field(out, "distinct", profile->distinct);
    count_field(out, "cold", profile->cold);
    count_field(out, "bound", profile->bound);
    count_field(out, "beyond", profile->beyond);
    truth_field(out, "coldKnown", profile->cold_known);
    truth_field(out, "complete", profile->complete);
    count_field(out, "lost", profile->lost);
    text_field(out, "whatMissing", profile->what_missing);
    text_field(out, "bins", fm_bins_name(profile->bins));
    bool coarsened = false;
    fm_status status = write_bins(out, "histogram", &profile->distances, profile->bound, &coarsened, error);
    if (!status && profile->has_times)
        status = write_bins(out, "times", &profile->times, 0, &coarsened, error);
    if (status) return status;
    truth_field(out, "coarsened", coarsened);
    write_fits(out, profile, caches, count);
    putc('}', out);
    return FM_OK;
}

fm_status fm_report_write_data(FILE *out, const char *title, const fm_profile *const *profiles, size_t count,
                               const fm_cache *caches, size_t cache_count, fm_error *error)
{
    putc('{', out);
    text_field(out, "title", title);
    text_field(out, "version", FATHOM_VERSION);
    fputs("\"caches\":[", out);
    for (size_t i = 0; i < cache_count; i++) {
        fputs(i ? ",{" : "{", out);
        text_field(out, "name", caches[i].name);
        count_field(out, "bytes", caches[i].bytes);
        count_field(out, "line", caches[i].line);
        count_field(out, "ways", caches[i].ways);
        fprintf(out, "\"sharedBy\":%u}", caches[i].shared_by);
    }
    fputs("],\"profiles\":[", out);
    for (size_t i = 0; i < count; i++) {
        if (i) putc(',', out);
        fm_status status = write_profile(out, profiles[i], caches, cache_count, error);
        if (status) return status;
    }
    fputs("]}", out);
    return FM_OK;
}
