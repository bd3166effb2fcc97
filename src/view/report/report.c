/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - one self-contained HTML page: the template web/report.html with its parts put in.
 *
 * A part stands in the template as @@name@@. Everything that comes from a profile goes into the page
 * as JSON (report_data.c) and is shown as text by the page's script; only the title is also written
 * as HTML here, escaped.
 */
#include <fathom/view.h>

#include "base/base_name.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/sized.h"
#include "profile/histogram.h"
#include "view/miss_table.h"
#include "view/report/report_parts.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * ======== report data ========
 * A page that is too large for browsers is useless, so everything has a limit, and the page says where one
 * was reached. A histogram above MOST_BINS is given in loglinear bins (at most some thousands, error
 * below 1.6
 * %); those of threads and processes, where they have more than PARTS_BINS together, by powers of two, and
 * above MOST_CURVES of them not at all. Pairs of code sites: see late_choice.h.
 */

enum {
    MOST_BINS = 4096,
    PARTS_BINS = 100000,
    MOST_CURVES = 1000,
    MOST_PARTS = 5000,
    MOST_TIME_SAMPLES = 50000,
    MOST_PAIRS = 30000, /* of all attributions on the page, by how many each has, */
    LEAST_PAIRS = 1000, /* but each may have so many */
};

typedef struct page_data {
    FILE *out;
    const fm_cache *caches;
    size_t cache_count;
    fm_source_files files;
    size_t pairs, parts, part_bins; /* in all */
    size_t parts_written;
} page_data;

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

/* As it is where there is room for it, else in coarser bins. */
static fm_status write_bins(FILE *out, const char *key, const fm_histogram *histogram, size_t most,
                            fm_bins coarser, uint64_t bound, bool *coarsened, fm_error *error)
{
    if (histogram->count <= most) {
        bins_field(out, key, histogram);
        return FM_OK;
    }
    fm_histogram coarse;
    fm_status status = fm_histogram_sum(&coarse, histogram, NULL, coarser, bound, error);
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

static void write_run(FILE *out, const fm_run *run)
{
    fputs("\"run\":{", out);
    text_field(out, "command", run->command);
    text_field(out, "collector", run->collector);
    text_field(out, "what", run->what);
    text_field(out, "ending", run->ending);
    text_field(out, "notes", run->notes);
    count_field(out, "process", run->process);
    count_field(out, "parent", run->parent);
    if (run->by_exec) truth_field(out, "byExec", true);
    count_field(out, "thread", run->thread);
    fprintf(out, "\"exitCode\":%d,\"signal\":%d,\"seconds\":", run->exit_code, run->signal);
    fm_json_write_real(out, run->seconds);
    fputs("},", out);
}

static void write_band(FILE *out, const fm_accuracy *accuracy)
{
    fputs("\"confidence\":", out);
    fm_json_write_real(out, accuracy->confidence);
    fputs(",\"band\":[", out);
    for (size_t i = 0; i < accuracy->band_count; i++) {
        fprintf(out, "%s[%" PRIu64 ",", i ? "," : "", accuracy->band[i].blocks);
        fm_json_write_real(out, accuracy->band[i].least);
        putc(',', out);
        fm_json_write_real(out, accuracy->band[i].most);
        putc(']', out);
    }
    fputs("],", out);
}

static void write_sampling(FILE *out, const fm_profile *profile)
{
    const fm_sampling *sampling = profile->sampling;
    fputs("\"sampling\":{", out);
    text_field(out, "method", sampling->method);
    text_field(out, "estimator", sampling->estimator);
    text_field(out, "conversion", sampling->conversion);
    count_field(out, "bursts", sampling->bursts);
    count_field(out, "used", sampling->used);
    count_field(out, "replaced", sampling->replaced);
    count_field(out, "never", sampling->never);
    count_field(out, "notArmed", sampling->not_armed);
    count_field(out, "missSamples", fm_text_samples_of_misses(profile));
    count_field(out, "blockSamples", fm_text_samples_of_footprint(profile));
    count_field(out, "burstTime", sampling->burst_time);
    count_field(out, "measuredTime", sampling->measured_time);
    fprintf(out, "\"measured\":%" PRIu64 "},", sampling->measured);
}

static void write_counts(FILE *out, const fm_profile *profile)
{
    text_field(out, "name", profile->name);
    text_field(out, "engine", profile->engine);
    truth_field(out, "exact", profile->exact);
    if (profile->accuracy) text_field(out, "accuracy", profile->accuracy->statement);
    if (profile->accuracy && profile->accuracy->band_count) write_band(out, profile->accuracy);
    if (profile->sampling) write_sampling(out, profile);
    count_field(out, "granularity", profile->granularity);
    if (profile->elements) truth_field(out, "elements", true);
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
    if (profile->run) write_run(out, profile->run);
}

static fm_status write_profile(page_data *page, const fm_profile *profile, bool part, fm_error *error);

static fm_status write_parts(page_data *page, const fm_profile *profile, fm_error *error)
{
    fputs("\"parts\":[", page->out);
    for (size_t i = 0; i < profile->part_count && page->parts_written < MOST_PARTS; i++) {
        if (i) putc(',', page->out);
        page->parts_written++;
        fm_status status = write_profile(page, profile->parts[i], true, error);
        if (status) return status;
    }
    fputs("],", page->out);
    return FM_OK;
}

static fm_status write_histograms(const page_data *page, const fm_profile *profile, bool part,
                                  fm_error *error)
{
    bool coarsened = false;
    fm_status status = FM_OK;
    if (!part) {
        status = write_bins(page->out, "histogram", &profile->distances, MOST_BINS, FM_BINS_LOGLINEAR,
                            profile->bound, &coarsened, error);
        if (!status && profile->has_times)
            status = write_bins(page->out, "times", &profile->times, MOST_BINS, FM_BINS_LOGLINEAR, 0,
                                &coarsened, error);
    } else if (page->parts <= MOST_CURVES) {
        bool coarse = page->part_bins > PARTS_BINS;
        status = write_bins(page->out, "histogram", &profile->distances, coarse ? 0 : MOST_BINS,
                            coarse ? FM_BINS_LOG2 : FM_BINS_LOGLINEAR, profile->bound, &coarsened, error);
    }
    if (!status) truth_field(page->out, "coarsened", coarsened);
    return status;
}

static void write_phase_rows(FILE *out, const fm_trace_phase *phases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%zu]", i ? "," : "",
                phases[i].begin, phases[i].end, phases[i].distinct, phases[i].cold, phases[i].kind,
                phases[i].parent);
}

/* The data sample with the most peaks, as far as a picture can show it, and all phases, level by level. */
static void write_phases(FILE *out, const fm_phases *phases)
{
    fputs("\"phases\":{", out);
    count_field(out, "threshold", phases->threshold);
    fputs("\"samples\":[", out);
    if (phases->sample_count > 0) {
        const fm_data_sample *sample = &phases->samples[0];
        putc('{', out);
        count_field(out, "block", sample->block);
        fputs("\"times\":[", out);
        for (size_t i = 0; i < sample->count && i < MOST_TIME_SAMPLES; i++)
            fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", sample->times[i].time,
                    sample->times[i].distance);
        fputs("]}", out);
    }
    fprintf(out, "],\"cut\":\"%s\",\"phases\":[", phases->cut == FM_CUT_AT_PEAKS ? "peaks" : "changes");
    write_phase_rows(out, phases->phases, phases->count);
    fputs("],\"inner\":[", out);
    for (size_t i = 0; i < phases->inner_count; i++) {
        fputs(i ? ",[" : "[", out);
        write_phase_rows(out, phases->inner[i].phases, phases->inner[i].count);
        putc(']', out);
    }
    fputs("]},", out);
}

static fm_status write_profile(page_data *page, const fm_profile *profile, bool part, fm_error *error)
{
    FILE *out = page->out;
    putc('{', out);
    write_counts(out, profile);
    fm_status status = write_histograms(page, profile, part, error);
    if (status) return status;
    if (profile->attribution) {
        double share = (double)profile->attribution->pair_count / (double)(page->pairs ? page->pairs : 1);
        size_t most = (size_t)(MOST_PAIRS * share);
        fputs("\"attribution\":", out);
        status = fm_report_write_attribution(out, profile->attribution, &page->files,
                                             most > LEAST_PAIRS ? most : LEAST_PAIRS, error);
        if (status) return status;
        putc(',', out);
    }
    if (profile->part_count) {
        status = write_parts(page, profile, error);
        if (status) return status;
    }
    if (profile->phases) write_phases(out, profile->phases);
    write_fits(out, profile, page->caches, page->cache_count);
    putc('}', out);
    return FM_OK;
}

static void page_survey(page_data *page, const fm_profile *profile)
{
    if (profile->attribution) page->pairs += profile->attribution->pair_count;
    page->parts += profile->part_count;
    for (size_t i = 0; i < profile->part_count; i++) {
        page->part_bins += profile->parts[i]->distances.count;
        page_survey(page, profile->parts[i]);
    }
}

static fm_status write_page_data(page_data *page, const fm_report_options *options,
                                 const fm_profile *const *profiles, size_t count, fm_error *error)
{
    FILE *out = page->out;
    for (size_t i = 0; i < count; i++) page_survey(page, profiles[i]);
    putc('{', out);
    text_field(out, "title", options->title);
    text_field(out, "version", FATHOM_VERSION);
    count_field(out, "fewestSamples", FM_FEWEST_SAMPLES);
    fputs("\"caches\":[", out);
    for (size_t i = 0; i < page->cache_count; i++) {
        fputs(i ? ",{" : "{", out);
        text_field(out, "name", page->caches[i].name);
        count_field(out, "bytes", page->caches[i].bytes);
        count_field(out, "line", page->caches[i].line);
        count_field(out, "ways", page->caches[i].ways);
        fprintf(out, "\"sharedBy\":%u}", page->caches[i].shared_by);
    }
    fputs("],\"profiles\":[", out);
    for (size_t i = 0; i < count; i++) {
        if (i) putc(',', out);
        page->files.whole = profiles[i]->attribution;
        fm_status status = write_profile(page, profiles[i], false, error);
        if (status) return status;
    }
    fprintf(out, "],\"partsLeftOut\":%zu,\"files\":", page->parts - page->parts_written);
    fm_status status = fm_source_files_write(out, &page->files, error);
    putc('}', out);
    return status;
}

fm_status fm_report_write_data(FILE *out, const fm_report_options *options, const fm_profile *const *profiles,
                               size_t count, const fm_cache *caches, size_t cache_count, fm_error *error)
{
    page_data page = {
        .out = out, .caches = caches, .cache_count = cache_count, .files = {.options = options}};
    fm_status status = write_page_data(&page, options, profiles, count, error);
    fm_source_files_clear(&page.files);
    return status;
}

/* ======== report ======== */

bool fm_report_available(void)
{
#ifdef FATHOM_HAS_REPORT
    return true;
#else
    return false;
#endif
}

#ifdef FATHOM_HAS_REPORT

enum {
    FM_TITLE_MOST = 300,
    MOST_TITLE_NAMES = 3, /* of programs or traces, before "and N more" */
};

typedef struct page {
    const fm_report_options *options;
    const fm_profile *const *profiles;
    size_t count;
    const fm_cache *caches;
    size_t cache_count;
} page;

/* Whether a profile before this one has the same name: the same run at another granularity, say. */
static bool named_before(const fm_profile *const *profiles, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (profiles[i]->name &&
            strcmp(fm_base_name(profiles[i]->name), fm_base_name(profiles[at]->name)) == 0)
            return true;
    return false;
}

/* "blur: data locality": by programs or traces, so that tabs of a browser are told apart. */
static const char *title_of(const fm_profile *const *profiles, size_t count, char title[FM_TITLE_MOST])
{
    size_t names = 0, length = 0;
    for (size_t i = 0; i < count; i++) {
        if (!profiles[i]->name || named_before(profiles, i)) continue;
        if (names++ < MOST_TITLE_NAMES)
            length += (size_t)snprintf(title + length, FM_TITLE_MOST - length, "%s%.80s",
                                       names > 1 ? ", " : "", fm_base_name(profiles[i]->name));
    }
    if (names == 0) return "Data locality report";
    if (names > MOST_TITLE_NAMES)
        length += (size_t)snprintf(title + length, FM_TITLE_MOST - length, " and %zu more",
                                   names - MOST_TITLE_NAMES);
    snprintf(title + length, FM_TITLE_MOST - length, ": data locality");
    return title;
}

static fm_status write_part(FILE *out, const char *name, size_t length, const page *of, fm_error *error)
{
    if (length == 5 && memcmp(name, "title", 5) == 0) {
        fm_html_write_text(out, of->options->title);
        return FM_OK;
    }
    if (length == 4 && memcmp(name, "data", 4) == 0)
        return fm_report_write_data(out, of->options, of->profiles, of->count, of->caches, of->cache_count,
                                    error);
    return fm_fail(error, FM_E_FORMAT, NULL, "the report's template asks for an unknown part '%.*s'",
                   (int)length, name);
}

static fm_status write_page(FILE *out, const page *of, fm_error *error)
{
    const char *at = (const char *)fm_page_template;
    for (;;) {
        const char *mark = strstr(at, "@@");
        const char *end = mark ? strstr(mark + 2, "@@") : NULL;
        if (!end) {
            fputs(at, out);
            return FM_OK;
        }
        fwrite(at, 1, (size_t)(mark - at), out);
        fm_status status = write_part(out, mark + 2, (size_t)(end - mark - 2), of, error);
        if (status) return status;
        at = end + 2;
    }
}
#endif

fm_status fm_report_write_page_sized(FILE *out, const fm_report_options *options, size_t options_size,
                                     const fm_profile *const *profiles, size_t count, const fm_cache *caches,
                                     size_t cache_count, fm_error *error)
{
#ifdef FATHOM_HAS_REPORT
    if (count == 0) return fm_fail(error, FM_E_ARGUMENT, NULL, "a report needs at least one profile");
    fm_report_options with_title;
    fm_status status =
        fm_sized_read(&with_title, sizeof with_title, options, options_size, "fm_report_options", error);
    if (status != FM_OK) return status;
    char title[FM_TITLE_MOST];
    if (!with_title.title) with_title.title = title_of(profiles, count, title);
    page of = {&with_title, profiles, count, caches, cache_count};
    return write_page(out, &of, error);
#else
    (void)out, (void)options, (void)options_size, (void)profiles, (void)count, (void)caches,
        (void)cache_count;
    return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                   "this build has no report page: it was built with FATHOM_REPORT=OFF");
#endif
}

fm_status fm_report_write(FILE *out, const char *title, const fm_profile *const *profiles, size_t count,
                          const fm_cache *caches, size_t cache_count, fm_error *error)
{
    fm_report_options options = {.title = title};
    return fm_report_write_page(out, &options, profiles, count, caches, cache_count, error);
}
