/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - one self-contained HTML page: the template web/report.html with its parts put in.
 *
 * A part stands in the template as @@name@@. Everything that comes from a profile goes into the page
 * as JSON and is shown as text by the page's script; only the title is also written
 * as HTML here, escaped.
 */
#include <fathom/experimental/verdicts.h>
#include <fathom/view.h>

#include "base/error.h"
#include "base/json.h"
#include "base/plain_text.h"
#include "profile/profile_parts.h"
#include "view/miss_table.h"
#include "view/report/report_parts.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * ======== report data ========
 * A page that is too large for browsers is useless, so everything has a limit, and the page says where one
 * was reached. A histogram above MOST_BINS is given in loglinear bins (at most some thousands, error below
 * 1.6 %); those of threads and processes, where they have more than PARTS_BINS together, by powers of two,
 * and above MOST_CURVES of them not at all. Pairs of code sites: see report_selection.c.
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
    bool keys; /* all are profiles of keys, and live in no cache of this machine */
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

/* Blocks of the cache that a reader is shown at first; without caches, of the first size at which something
 * is late. */
static uint64_t judged_blocks(const fm_profile *profile, const fm_cache *caches, size_t count)
{
    const fm_attribution *of = profile->attribution;
    if (count && profile->granularity > 1)
        return caches[fm_verdict_level(profile, caches, count)].bytes / profile->granularity;
    for (size_t i = 0; of && i < of->edge_count; i++) {
        const fm_cache size = {.bytes = of->edges[i] * profile->granularity};
        if (size.bytes && fm_verdict_matters(profile, &size)) return of->edges[i];
    }
    return 0;
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
    fprintf(out, "],\"judged\":%" PRIu64, judged_blocks(profile, caches, count));
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
    truth_field(out, "few", fm_text_samples_of_misses(profile) < FM_FEWEST_SAMPLES);
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

/* ---- the verdict ---- */

static void write_level(FILE *out, const fm_verdict *verdict, size_t level, const char *places)
{
    const fm_level_text text = fm_verdict_level_text(verdict, level);
    const bool band = verdict->profile->accuracy && verdict->profile->accuracy->band_count;
    putc('{', out);
    text_field(out, "name", fm_text_cache_name(&verdict->caches[level]).text);
    if (verdict->fits[level].misses.known) {
        fprintf(out, "\"numbers\":[\"%s\",\"%s\",", text.misses.text, text.ratio.text);
        if (band)
            fprintf(out, "\"%s\"],", text.band.text);
        else
            fprintf(out, "\"%s\",\"%s\"],", text.late.text, text.first.text);
    }
    if (places[0]) text_field(out, "places", places);
    fprintf(out, "\"size\":\"%s\"}", text.size.text);
}

static fm_status write_levels(FILE *out, const fm_verdict *verdict, fm_error *error)
{
    fm_status status = FM_OK;
    bool first = true;
    fputs("\"levels\":[", out);
    for (size_t i = 0; i < verdict->count && !status; i++) {
        const fm_miss_row *rows[FM_VERDICT_PLACES];
        char places[FM_SENTENCE] = "", text[600];
        size_t count = 0, used = 0;
        if (verdict->fits[i].blocks == 0) continue;
        if (verdict->order && !verdict->few) status = fm_verdict_places(verdict, i, rows, &count, error);
        for (size_t k = 0; k < count; k++)
            used += (size_t)snprintf(places + used, sizeof places - used, "%s%s", k ? ", " : "",
                                     fm_miss_row_text(rows[k], text, sizeof text));
        if (count && !(verdict->fits[i].late > 0))
            snprintf(places + used, sizeof places - used, " (%s)", fm_text_cold(verdict->profile));
        if (!first) putc(',', out);
        first = false;
        write_level(out, verdict, i, places);
    }
    fputs("],", out);
    return status;
}

/* The first rows: as many as make most of the misses, and some. */
static fm_status write_list(page_data *page, const fm_verdict *verdict, fm_error *error)
{
    enum { SHOWN = 5 };
    const fm_view_options unicode = {.unicode = true};
    char text[FM_SENTENCE];
    FILE *out = page->out;
    if (verdict->few || !fm_verdict_heading(verdict, text)) return FM_OK;
    fputs("\"list\":{", out);
    text_field(out, "heading", text);
    text_field(out, "cache", fm_text_cache_name(&verdict->caches[verdict->judged]).text);
    fputs("\"rows\":[", out);
    for (size_t i = 0; i < verdict->listed && (i < SHOWN || i < verdict->told); i++) {
        const fm_miss_row *row = fm_verdict_row(verdict, i);
        const double misses = row->misses[verdict->judged];
        fputs(i ? ",{" : "{", out);
        text_field(out, "title", fm_miss_row_text(row, text, sizeof text));
        fm_verdict_detail(verdict, row, text);
        text_field(out, "detail", text);
        text_field(out, "sure", fm_text_sure(row->uses, row->error, row->samples, &unicode).text);
        if (row->kind == FM_ROW_LINE) {
            const uint32_t file = fm_source_files_add(&page->files, verdict->table.of, row->file);
            if (file == UINT32_MAX) return fm_fail_memory(error, sizeof file, "the files of a page");
            fprintf(out, "\"file\":%" PRIu32 ",\"line\":%" PRIu32 ",", file, row->line);
        }
        fprintf(out, "\"misses\":\"%s\",\"share\":\"%s\"}", fm_text_short(misses).text,
                fm_text_whole_percent(misses / fm_verdict_total(verdict)).text);
    }
    fputs("]},", out);
    return FM_OK;
}

static void write_keys(FILE *out, const fm_profile *profile)
{
    fm_key_row rows[FM_KEY_ROWS];
    char answer[FM_SENTENCE];
    fm_verdict_of_keys(profile, rows, answer);
    text_field(out, "answer", answer);
    fputs("\"keys\":[", out);
    for (size_t i = 0; i < FM_KEY_ROWS; i++) {
        fprintf(out, "%s{\"blocks\":%" PRIu64 ",\"wanted\":", i ? "," : "", rows[i].blocks);
        fm_json_write_real(out, rows[i].wanted);
        fputs(",\"share\":", out);
        fm_json_write_real(out, rows[i].share);
        fputs(",\"hits\":", out);
        fm_json_write_real(out, rows[i].hits);
        putc('}', out);
    }
    fputs("],", out);
}

/* What the first screen says (miss_table.h). */
static fm_status write_verdict(page_data *page, const fm_profile *profile, fm_error *error)
{
    enum { MOST_ROWS = 10 }; /* as the terminal has by itself: the sentences are the same */
    FILE *out = page->out;
    char text[FM_SENTENCE];
    fm_profile known = *profile; /* nothing is said of code whose counts do not add up to the profile's */
    fm_status status = FM_OK;
    if (fm_miss_table_check(profile, false, NULL, NULL)) known.attribution = NULL;
    fputs("\"verdict\":{", out);
    if (profile->references == 0) {
        text_field(out, "answer", "No references: nothing to show.");
    } else if (page->keys) {
        write_keys(out, profile);
    } else if (page->cache_count) {
        fm_verdict verdict;
        status =
            fm_verdict_make(&verdict, &known, page->caches, page->cache_count, FM_BY_LINE, MOST_ROWS, error);
        if (status) return status;
        if (fm_verdict_answer(&verdict, text)) text_field(out, "answer", text);
        if (profile->accuracy && profile->accuracy->band_count) {
            snprintf(text, sizeof text, "%g %% band", profile->accuracy->confidence * 100);
            text_field(out, "band", text);
        }
        status = write_levels(out, &verdict, error);
        if (!status) status = write_list(page, &verdict, error);
        fm_verdict_clear(&verdict);
    }
    fm_verdict_covers(profile, text);
    fputs("\"covers\":", out);
    fm_json_write_string(out, text, FM_JSON_IN_HTML);
    fputs("},", out);
    return status;
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
    if (!part) status = write_verdict(page, profile, error);
    if (status) return status;
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
                                 const fm_profile *const *profiles, size_t count, const fm_page_extra *extra,
                                 fm_error *error)
{
    FILE *out = page->out;
    page->keys = true;
    for (size_t i = 0; i < count; i++) {
        page_survey(page, profiles[i]);
        page->keys &= fm_text_counts_keys(profiles[i]);
    }
    for (size_t i = 0; i < page->cache_count; i++) page->keys &= page->caches[i].shared_by > 0;
    putc('{', out);
    text_field(out, "title", options->title);
    text_field(out, "version", FATHOM_VERSION);
    fm_status status = extra ? extra->write(out, extra->of, error) : FM_OK;
    if (status) return status;
    fputs("\"caches\":[", out);
    for (size_t i = 0; i < page->cache_count; i++) {
        fputs(i ? ",{" : "{", out);
        text_field(out, "name", fm_text_cache_name(&page->caches[i]).text);
        count_field(out, "bytes", page->caches[i].bytes);
        count_field(out, "line", page->caches[i].line);
        count_field(out, "ways", page->caches[i].ways);
        fprintf(out, "\"sharedBy\":%u}", page->caches[i].shared_by);
    }
    fputs("],\"profiles\":[", out);
    for (size_t i = 0; i < count; i++) {
        if (i) putc(',', out);
        page->files.whole = profiles[i]->attribution;
        status = write_profile(page, profiles[i], false, error);
        if (status) return status;
    }
    fprintf(out, "],\"partsLeftOut\":%zu,\"files\":", page->parts - page->parts_written);
    status = fm_source_files_write(out, &page->files, error);
    putc('}', out);
    return status;
}

fm_status fm_report_write_data(FILE *out, const fm_report_options *options, const fm_profile *const *profiles,
                               size_t count, const fm_cache *caches, size_t cache_count,
                               const fm_page_extra *extra, fm_error *error)
{
    page_data page = {
        .out = out, .caches = caches, .cache_count = cache_count, .files = {.options = options}};
    fm_status status = write_page_data(&page, options, profiles, count, extra, error);
    fm_source_files_clear(&page.files);
    return status;
}

/* ======== report ======== */

#ifndef FATHOM_HAS_REPORT
const unsigned char fm_page_template[] = {0};
#endif

bool fm_report_available(void)
{
    return fm_page_template[0] != 0;
}

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
    const fm_page_extra *extra;
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
                                    of->extra, error);
    return fm_fail(error, FM_E_FORMAT, NULL, "the report's template asks for an unknown part '%.*s'",
                   (int)length, name);
}

fm_status fm_report_write_whole(FILE *out, const fm_report_options *options,
                                const fm_profile *const *profiles, size_t count, const fm_cache *caches,
                                size_t cache_count, const fm_page_extra *extra, fm_error *error)
{
    if (!fm_report_available())
        return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                       "this build has no report page: it was built with FATHOM_REPORT=OFF");
    const page of = {options, profiles, count, caches, cache_count, extra};
    const char *at = (const char *)fm_page_template;
    for (;;) {
        const char *mark = strstr(at, "@@");
        const char *end = mark ? strstr(mark + 2, "@@") : NULL;
        fwrite(at, 1, end ? (size_t)(mark - at) : strlen(at), out);
        if (!end) return FM_OK;
        fm_status status = write_part(out, mark + 2, (size_t)(end - mark - 2), &of, error);
        if (status) return status;
        at = end + 2;
    }
}

fm_status fm_report_write_page_sized(size_t options_size, FILE *out, const fm_report_options *options,
                                     const fm_profile *const *profiles, size_t count, const fm_cache *caches,
                                     size_t cache_count, fm_error *error)
{
    if (count == 0) return fm_fail(error, FM_E_ARGUMENT, NULL, "a report needs at least one profile");
    fm_report_options with_title;
    fm_status status =
        fm_sized_read(&with_title, sizeof with_title, options, options_size, "fm_report_options", error);
    if (status != FM_OK) return status;
    char title[FM_TITLE_MOST];
    if (!with_title.title) with_title.title = title_of(profiles, count, title);
    return fm_report_write_whole(out, &with_title, profiles, count, caches, cache_count, NULL, error);
}

fm_status fm_report_write(FILE *out, const char *title, const fm_profile *const *profiles, size_t count,
                          const fm_cache *caches, size_t cache_count, fm_error *error)
{
    fm_report_options options = {.title = title};
    return fm_report_write_page(out, &options, profiles, count, caches, cache_count, error);
}
