/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_region.c - a region of source code: read with the values of its parameters, and its profile, by
 * whichever method src/static chooses. One of these works every access off, which takes an analyzer: that is
 * lent from here.
 */
#define _GNU_SOURCE /* asprintf */
#include "job/job_internal.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "static/region/region.h"

#include <fathom/experimental/pipeline.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void fm_job_code_destroy(fm_job_code *code)
{
    if (!code) return;
    fm_region_counts_destroy(code->counts);
    fm_region_destroy(code->region);
    fm_region_destroy(code->original);
    fm_profile_destroy(code->before);
    free(code->changes);
    free(code->flags);
    free(code->macros);
    free(code->used);
    free(code->path);
    free(code);
}

fm_region *fm_job_region_get(const fm_job *job)
{
    return job->code ? job->code->region : NULL;
}

/* ---- reading ---- */

static fm_status open_region(const fm_job_code *code, bool scalars, fm_region **region, fm_error *error)
{
    enum { READING_LEAST = 5 }; /* seconds: a small limit is about the analysis */
    const double limit = code->options.limit_time;
    const fm_region_options options = {
        .language = code->options.language,
        .function = code->options.function,
        .flags = code->flags,
        .scalars = scalars,
        .assumptions = code->options.assumptions,
        .most_seconds = limit > READING_LEAST ? limit : READING_LEAST,
    };
    return fm_region_open(region, code->path, &options, error);
}

static bool has_parameter(const fm_region *region, const char *name)
{
    for (size_t i = 0; i < fm_region_parameter_count(region); i++)
        if (strcmp(fm_region_parameter_name(region, i), name) == 0) return true;
    return false;
}

static size_t flag_count(const fm_job_code *code)
{
    size_t count = 0;
    while (code->flags[count]) count++;
    return count;
}

/* Names that the region does not have may be macros of the source: it is read once more with them. */
static bool define_macros(fm_job_code *code)
{
    bool any = false;
    size_t count = flag_count(code);
    for (size_t i = 0; i < code->options.param_count; i++) {
        const fm_job_value *value = &code->options.param[i];
        if (code->region && has_parameter(code->region, value->name)) continue;
        const int length =
            snprintf(code->macros[i], sizeof code->macros[i], "-D%s=%" PRId64, value->name, value->value);
        if (length < 0 || (size_t)length >= sizeof code->macros[i]) continue;
        code->flags[count++] = code->macros[i];
        code->used[i] = true;
        any = true;
    }
    return any;
}

bool fm_job_is_text_form(const fm_job_code *code)
{
    const char *dot = strrchr(code->path, '.');
    return code->options.language ? strcmp(code->options.language, "fir") == 0
                                  : dot && strcmp(dot, ".fir") == 0;
}

/* "n" is in "m,n"; every name is in "". */
static bool stays_open(const fm_job_code *code, const char *name)
{
    const char *at = code->options.open;
    const size_t length = strlen(name);
    if (!at || !at[0]) return at != NULL;
    while (at) {
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
        at = strchr(at, ',');
        if (at) at++;
    }
    return false;
}

static fm_status give_values(const fm_job_code *code, fm_region *region, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < code->options.param_count && status == FM_OK; i++) {
        const fm_job_value *value = &code->options.param[i];
        const bool known = has_parameter(region, value->name);
        if (known ? stays_open(code, value->name) : code->used[i]) continue;
        status = fm_region_set_parameter(region, value->name, value->value, error);
    }
    return status;
}

static char *text_of(const fm_region *region)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    fm_status status = stream ? fm_region_write(region, stream, NULL) : FM_E_NOMEM;
    if (stream && fclose(stream) == 0 && status == FM_OK) return text;
    free(text);
    return NULL;
}

static bool same_text(const fm_region *left, const fm_region *right)
{
    char *one = text_of(left), *other = text_of(right);
    const bool same = one && other && strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

/* Misspelt, perhaps. */
static void note_without_effect(fm_job *job)
{
    const fm_job_code *code = job->code;
    for (size_t i = 0; i < code->options.param_count; i++)
        if (code->used[i] && !has_parameter(code->region, code->options.param[i].name))
            fm_job_note(
                job,
                "fm_job_region_options.param %s: the region has no such parameter, and as a macro of the "
                "source it changes nothing",
                code->options.param[i].name);
}

/* With macros, where there are values that no parameter takes. */
static fm_status read_region(fm_job *job, fm_error *error)
{
    fm_job_code *code = job->code;
    const size_t flags = flag_count(code);
    fm_status status = open_region(code, code->options.scalars, &code->region, error);
    /* A source may not compile without its macros. */
    if ((status != FM_OK && status != FM_E_FORMAT && status != FM_E_UNSUPPORTED) ||
        fm_job_is_text_form(code) || !define_macros(code))
        return status;
    fm_region *before = code->region;
    fm_error again;
    code->region = NULL;
    if (open_region(code, code->options.scalars, &code->region, &again) == FM_OK) {
        if (before && same_text(before, code->region)) note_without_effect(job);
        fm_region_destroy(before);
        return FM_OK;
    }
    /* The names were no macros: the first message is the better one. */
    code->region = before;
    code->flags[flags] = NULL;
    if (status == FM_OK) memset(code->used, 0, code->options.param_count * sizeof *code->used);
    return status;
}

fm_status fm_job_read_scalars(fm_job *job, fm_region **region, fm_error *error)
{
    fm_status status = open_region(job->code, true, region, error);
    return status == FM_OK ? give_values(job->code, *region, error) : status;
}

static fm_status make_code(fm_job *job, const char *path, fm_error *error)
{
    fm_job_code *code = job->code;
    const size_t count = code->options.param_count;
    size_t flags = 0;
    while (code->options.flags && code->options.flags[flags]) flags++;
    if (code->options.limit_time == 0) code->options.limit_time = 60;
    code->began = fm_now();
    code->path = strdup(path);
    code->flags = fm_calloc(flags + count + 1, sizeof *code->flags);
    code->macros = fm_calloc(count + 1, sizeof *code->macros);
    code->used = fm_calloc(count + 1, sizeof *code->used);
    if (!code->path || !code->flags || !code->macros || !code->used)
        return fm_fail_memory(error, (flags + count) * sizeof *code->macros, "a region");
    for (size_t i = 0; i < flags; i++) code->flags[i] = code->options.flags[i];
    return FM_OK;
}

fm_status fm_job_region_open_sized(size_t options_size, fm_job *job, const char *path,
                                   const fm_job_region_options *options, fm_error *error)
{
    FM_REQUIRE(job, error);
    FM_REQUIRE(path, error);
    fm_status status = fm_job_begin(job, FM_JOB_REGION, error);
    if (status != FM_OK) return status;
    fm_job_code *code = job->code = fm_calloc(1, sizeof *code);
    if (!code) return fm_fail_memory(error, sizeof *code, "a region");
    status = fm_sized_read(&code->options, sizeof code->options, options, options ? options_size : 0,
                           "fm_job_region_options", error);
    if (status == FM_OK) status = make_code(job, path, error);
    if (status == FM_OK) status = read_region(job, error);
    if (status == FM_OK) status = give_values(code, code->region, error);
    if (status != FM_OK) return status;
    for (size_t i = 0; fm_region_note(code->region, i); i++)
        fm_job_note(job, "%s", fm_region_note(code->region, i));
    fm_job_granularity_default(job, 64);
    status = fm_job_opened(job, true, error);
    if (status != FM_OK) return status;
    fm_job_find_caches(job, true);
    fm_job_cut_edges(job);
    return FM_OK;
}

/* ---- every access ---- */

/* Context of a walk. */
typedef struct region_walk {
    fm_job *job;
    const fm_region *region;
    const fm_region_counts *counts;
    const uint64_t *edges; /* NULL: none */
    fm_pipeline *pipeline; /* NULL: fed as it comes */
    fm_analyzer *analyzer;
    uint64_t done, total;
    double deadline;
} region_walk;

static fm_status visit_accesses(void *context, const uint64_t *addresses, const uint32_t *sizes,
                                const uint32_t *tags, size_t count, fm_error *error)
{
    region_walk *self = context;
    const fm_batch batch = {.count = count, .address = addresses, .size = sizes, .tag = tags};
    fm_status status = self->pipeline
                           ? fm_pipeline_feed(self->pipeline, &batch, &self->analyzer, 1, NULL, error)
                           : fm_analyzer_feed(self->analyzer, &batch, error);
    self->done += count;
    fm_job_progress_at(self->job, self->done, self->total ? (double)self->done / (double)self->total : -1);
    if (status == FM_OK && fm_now() > self->deadline)
        return fm_fail(error, FM_E_LIMIT, NULL, "the time allowed is over");
    return status;
}

/* fm_region_walker: the profile, and the pairs of accesses. */
static fm_status walk_region(void *context, double limit_seconds, fm_profile **profile, fm_raw_pair **pairs,
                             size_t *pair_count, fm_error *error)
{
    region_walk self = *(const region_walk *)context;
    fm_job *job = self.job;
    const unsigned given = fm_job_threads(job),
                   threads = given - 1 < FM_PIPELINE_THREADS ? given - 1 : FM_PIPELINE_THREADS;
    const fm_analyzer_options what = {.granularity = job->granularity[0],
                                      .bins = job->analyzer.bins,
                                      .edges = job->edges,
                                      .edge_count = job->edge_count};
    const fm_pipeline_options options = {.threads = threads};
    self.deadline = fm_now() + limit_seconds;
    if (self.counts)
        self.total = strtoull(self.counts->loads, NULL, 10) + strtoull(self.counts->stores, NULL, 10);
    *profile = NULL;
    *pairs = NULL;
    fm_job_progress_begin(job, "accesses", false);
    fm_status status = fm_analyzer_create(&self.analyzer, &what, error);
    if (status == FM_OK && threads > 0) status = fm_pipeline_create(&self.pipeline, &options, error);
    if (status == FM_OK)
        status = fm_region_walk(self.region, job->granularity[0], job->code->options.layout, visit_accesses,
                                &self, error);
    if (status == FM_OK && self.pipeline) status = fm_pipeline_drain(self.pipeline, error);
    fm_pipeline_destroy(self.pipeline);
    fm_job_progress_end(job);
    if (status == FM_OK) status = fm_analyzer_pairs(self.analyzer, pairs, pair_count, error);
    if (status == FM_OK) status = fm_analyzer_profile(self.analyzer, profile, error);
    fm_analyzer_destroy(self.analyzer);
    if (status != FM_OK) {
        free(*pairs);
        *pairs = NULL;
    }
    return status;
}

static fm_static_options static_options(const region_walk *walk)
{
    const fm_job *job = walk->job;
    const fm_job_region_options *options = &job->code->options;
    return (fm_static_options){
        .granularity = job->granularity[0],
        .layout = options->layout,
        .bins = job->analyzer.bins,
        .limit_seconds = options->limit_time,
        .samples = options->samples,
        .seed = 1,
        .method = options->method,
        .walk = walk_region,
        .walk_context = (void *)(uintptr_t)walk,
        .counts = walk->counts,
    };
}

/* ---- the profile ---- */

/* Arrays are told where references miss the smallest cache. */
static uint64_t late_from(const fm_job *job)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < job->cache_count; i++)
        if (job->caches[i].bytes / job->granularity[0] < least)
            least = job->caches[i].bytes / job->granularity[0];
    return least == UINT64_MAX ? 0 : least;
}

/* profile->bounds, where there is a machine. pairs: of accesses, with the job's edges. */
static fm_status bound_profile(const fm_job *job, const fm_region *region, fm_profile *profile,
                               const fm_raw_pair *pairs, size_t count, fm_error *error)
{
    const fm_job_region_options *options = &job->code->options;
    fm_nest *nests;
    size_t nest_count;
    if (!options->machine) return FM_OK;
    fm_status status = fm_region_nests(region, options->limit_time, pairs, count, job->edge_count, &nests,
                                       &nest_count, error);
    if (status != FM_OK) return status;
    status =
        fm_machine_bound(options->machine, profile, nests, nest_count, job->edges, &profile->bounds, error);
    fm_nests_destroy(nests, nest_count);
    return status;
}

/* Copies a text where there is one. False: no memory. */
static bool copy_text(char **to, const char *from)
{
    if (!from) return true;
    free(*to);
    *to = strdup(from);
    return *to != NULL;
}

/* Where the code is, and what it does; how sure the profile is, its maker has said. */
static fm_status label_profile(const fm_job *job, const fm_region *region, const fm_region_counts *counts,
                               fm_profile *profile, fm_error *error)
{
    fm_kernel *kernel = profile->kernel;
    const char *file = NULL;
    bool whole = copy_text(&kernel->function, fm_region_name(region));
    if (fm_region_lines(region, &file, &kernel->first_line, &kernel->last_line))
        whole &= copy_text(&kernel->file, file);
    whole &= (kernel->parameters = fm_region_list_values(region)) != NULL;
    whole &= (kernel->notes = fm_region_list_notes(region)) != NULL;
    if (counts)
        whole &= copy_text(&kernel->loads, counts->loads) && copy_text(&kernel->stores, counts->stores) &&
                 copy_text(&kernel->flops, counts->flops) &&
                 copy_text(&kernel->integer_operations, counts->integer_operations);
    kernel->seconds = fm_now() - job->code->began;
    free(profile->name);
    profile->name = kernel->function ? NULL : strdup(job->code->path);
    if (kernel->function && asprintf(&profile->name, "%s: %s", job->code->path, kernel->function) < 0)
        profile->name = NULL;
    return whole && profile->name ? FM_OK : fm_fail_memory(error, sizeof *kernel, "what the source does");
}

fm_status fm_job_region_profile(fm_job *job, const fm_region *region, const fm_region_counts *counts,
                                fm_profile **profile, fm_error *error)
{
    fm_raw_pair *pairs = NULL;
    size_t count = 0;
    const region_walk walk = {.job = job, .region = region, .counts = counts};
    fm_static_options options = static_options(&walk);
    options.edges = job->edges;
    options.edge_count = job->edge_count;
    options.late_from = late_from(job);
    options.pairs = &pairs;
    options.pair_count = &count;
    fm_status status = fm_region_profile(region, &options, profile, error);
    if (status == FM_E_LIMIT && options.method && strcmp(options.method, "walk") == 0)
        return fm_fail(
            error, status, NULL,
            "working all accesses off takes longer than the %g s that fm_job_region_options.limit_time "
            "allows",
            options.limit_seconds);
    if (status != FM_OK) return status;
    status = bound_profile(job, region, *profile, pairs, count, error);
    free(pairs);
    return status == FM_OK ? label_profile(job, region, counts, *profile, error) : status;
}

/* ---- caches with sets ---- */

/* "A at 65536, B at 131072" */
static char *list_addresses(const fm_job *job)
{
    char *text = NULL;
    size_t size;
    uint64_t address;
    const char *name;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return NULL;
    for (size_t i = 0; fm_region_array_at(job->code->region, job->granularity[0], job->code->options.layout,
                                          i, &name, &address, NULL) == FM_OK;
         i++)
        fprintf(stream, "%s%s at %" PRIu64, i ? ", " : "", name, address);
    if (fclose(stream) == 0) return text;
    free(text);
    return NULL;
}

static fm_status find_set_misses(const fm_job *job, fm_profile *profile, fm_error *error)
{
    const fm_job_region_options *options = &job->code->options;
    const fm_static_options how = {
        .granularity = job->granularity[0],
        .layout = options->layout,
        .limit_seconds = options->limit_time,
        .samples = options->samples,
        .seed = 1,
        .method = options->method,
    };
    if (options->set_count == 0) return FM_OK;
    profile->set_misses = fm_calloc(options->set_count, sizeof *profile->set_misses);
    if (!profile->set_misses) return fm_fail_memory(error, sizeof *profile->set_misses, "misses of caches");
    memcpy(profile->set_misses, options->sets, options->set_count * sizeof *profile->set_misses);
    profile->set_count = options->set_count;
    fm_status status =
        fm_region_set_misses(job->code->region, &how, profile->set_misses, profile->set_count, error);
    if (status != FM_OK) return status;
    profile->addresses = list_addresses(job);
    return profile->addresses ? FM_OK : fm_fail_memory(error, 1, "addresses of arrays");
}

/* ---- against a walk ---- */

static double largest_difference(const fm_profile *a, const fm_profile *b)
{
    fm_comparison comparison;
    return fm_profile_compare(a, b, &comparison, NULL) == FM_OK ? comparison.curve_largest : 1;
}

static bool same_counts(const fm_profile *a, const fm_profile *b)
{
    return a->references == b->references && a->cold == b->cold && a->distances.count == b->distances.count &&
           memcmp(a->distances.bins, b->distances.bins, a->distances.count * sizeof(fm_bin)) == 0;
}

static fm_status judge_profile(fm_job *job, const fm_profile *profile, const fm_profile *judge,
                               fm_error *error)
{
    const double band =
        profile->accuracy && profile->accuracy->band_count ? profile->accuracy->confidence : 0;
    if (same_counts(profile, judge)) {
        fm_job_note(job, "verified: equal to a walk over all %" PRIu64 " references, bin by bin",
                    judge->references);
        return FM_OK;
    }
    if (!profile->exact && band > 0 && profile->references == judge->references &&
        profile->cold == judge->cold) {
        fm_job_note(
            job,
            "verified: references and first touches are equal to those of a walk; the largest difference of "
            "the miss ratios is %.3f %%",
            100 * largest_difference(profile, judge));
        return FM_OK;
    }
    return fm_fail(error, FM_E_INTERNAL, NULL,
                   "the walk over all accesses has another result: %" PRIu64 " references and %" PRIu64
                   " first touches, here %" PRIu64 " and %" PRIu64
                   "; the histograms differ. This is an error of fathom",
                   judge->references, judge->cold, profile->references, profile->cold);
}

static fm_status verify_profile(fm_job *job, const fm_profile *profile, fm_error *error)
{
    fm_profile *judge = NULL;
    const region_walk walk = {.job = job, .region = job->code->region, .counts = job->code->counts};
    fm_static_options options = static_options(&walk);
    options.method = "walk";
    options.limit_seconds = HUGE_VAL;
    fm_status status = fm_region_profile(job->code->region, &options, &judge, error);
    if (status == FM_OK) status = judge_profile(job, profile, judge, error);
    fm_profile_destroy(judge);
    return status;
}

/* ---- all of it ---- */

/* Of job->code->region. */
static fm_status analyze_region(fm_job *job, fm_profile **profile, fm_error *error)
{
    fm_job_code *code = job->code;
    fm_region_counts_destroy(code->counts);
    code->counts = NULL;
    fm_status status = fm_region_count(code->region, code->options.limit_time, &code->counts, error);
    if (status != FM_OK && status != FM_E_LIMIT) return status;
    status = fm_job_region_profile(job, code->region, code->counts, profile, error);
    if (status == FM_OK && code->options.verify) status = verify_profile(job, *profile, error);
    if (status == FM_OK) status = find_set_misses(job, *profile, error);
    return status == FM_OK ? fm_job_record_sources(job, *profile, error) : status;
}

fm_status fm_job_region(fm_job *job, fm_error *error)
{
    FM_REQUIRE(job, error);
    fm_job_code *code = job->code;
    fm_status status = FM_OK;
    if (!code || !code->region) return fm_fail(error, FM_E_ARGUMENT, NULL, "no region was opened");
    if (job->profile[0]) return fm_fail(error, FM_E_ARGUMENT, NULL, "a job has one result");
    if (code->original) {
        fm_region *changed = code->region;
        code->region = code->original;
        status = analyze_region(job, &code->before, error);
        code->region = changed;
    }
    if (status == FM_OK) status = analyze_region(job, &job->profile[0], error);
    return status == FM_OK ? fm_job_settle(job, error) : status;
}
