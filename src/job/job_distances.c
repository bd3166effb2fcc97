/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_distances.c - jobs that look at the single distances of a trace: its phases and those inside them, with
 * a profile for each; and the size of the data that a model (predict.h) is asked about.
 *
 * Phases take three passes over the trace: about where it changes, with the largest distance or, where a
 * threshold is given, the samples; where exactly, with the samples; the phases' profiles. So the trace must
 * be a file.
 */
#include "job/job_internal.h"

#include "base/error.h"

#include <fathom/phases.h>
#include <fathom/predict.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- a trace as blocks with their distances ---- */

typedef struct distance_pass {
    fm_job *job;
    const char *path;
    fm_reader_options reading;
    uint64_t granularity; /* 0: what suits the trace; then filled in */
    bool elements;        /* as in fm_analyzer_options */
    bool again;           /* what there is to say was said in an earlier pass */
    /* Every reference in order, one for each block that an access touches; it returns FM_OK to go on. */
    fm_distance_sink take;
    void *context;
    const bool *enough; /* NULL: all of the trace; else, once it is true, the rest is only counted */
    uint64_t references;
} distance_pass;

static fm_status pass_on(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                         fm_error *error)
{
    distance_pass *pass = context;
    pass->references += count;
    return pass->take(pass->context, blocks, distances, count, error);
}

static bool pass_wants(void *context, const fm_batch *batch)
{
    distance_pass *pass = context;
    if (!pass->enough || !*pass->enough) return true;
    pass->references += pass->elements ? batch->count : fm_batch_references(batch, pass->granularity);
    return false;
}

static void pass_damage(void *context, const fm_error *error)
{
    fm_job_hear_damage(((distance_pass *)context)->job, error);
}

static void pass_progress(void *context, uint64_t references, double fraction)
{
    fm_job_progress_at(((distance_pass *)context)->job, references, fraction);
}

static fm_status read_distances(distance_pass *pass, fm_reader *reader, fm_error *error)
{
    const fm_analyze_options how = {
        .context = pass, .damage = pass_damage, .progress = pass_progress, .wants = pass_wants};
    const fm_analyzer_options options = {.granularity = pass->granularity, .elements = pass->elements};
    fm_analyzer *analyzer;
    fm_status status = fm_analyzer_create(&analyzer, &options, error);
    if (status == FM_OK) status = fm_analyzer_set_sink(analyzer, pass_on, pass, error);
    fm_job_progress_begin(pass->job, "references", false);
    if (status == FM_OK) status = fm_analyze(reader, &analyzer, 1, &how, error);
    fm_job_progress_end(pass->job);
    fm_analyzer_destroy(analyzer);
    return status;
}

static fm_status run_pass(distance_pass *pass, fm_distance_sink take, void *context, fm_error *error)
{
    fm_job *job = pass->job;
    const fm_job_options *hear = &job->options;
    fm_reader *reader;
    fm_trace_info info;
    pass->take = take;
    pass->context = context;
    pass->references = job->damage.places = job->damage.lost = 0;
    job->damage.silent = pass->again;
    pass->reading.read_ahead = fm_job_threads(job) > 1;
    fm_status status = fm_reader_open(&reader, pass->path, &pass->reading, error);
    if (status != FM_OK) return status;
    if (!pass->again) fm_reader_opened_notes(reader, pass->granularity, hear->note, hear->context);
    fm_reader_info(reader, &info);
    if (pass->granularity == 0) pass->granularity = info.memory_addresses ? 64 : 1;
    status = read_distances(pass, reader, error);
    if (status == FM_OK && !pass->again)
        fm_reader_ended_notes(reader, true, hear->note, hear->warn, hear->context);
    pass->again = true;
    fm_reader_close(reader);
    return status;
}

/* ---- phases ---- */

struct fm_job_phases {
    size_t count;      /* of level 1 */
    fm_profile **each; /* one for each of these */
    fm_phase_counter *counter;
    size_t level;        /* of `deeper` */
    fm_profile **deeper; /* of an inner level that was asked for; NULL: none was */
    size_t deeper_count;
};

static void destroy_profiles(fm_profile **profiles, size_t count)
{
    for (size_t i = 0; profiles && i < count; i++) fm_profile_destroy(profiles[i]);
    free(profiles);
}

void fm_job_phases_destroy(struct fm_job_phases *phases)
{
    if (!phases) return;
    destroy_profiles(phases->each, phases->count);
    destroy_profiles(phases->deeper, phases->deeper_count);
    fm_phase_counter_destroy(phases->counter);
    free(phases);
}

/* What the passes leave. */
typedef struct phase_search {
    distance_pass pass;
    uint64_t largest; /* distance */
    fm_phase_finder *finder;
    fm_sampler *sampler;
    fm_phases *phases;
} phase_search;

static fm_status survey_distances(void *context, const uint64_t *blocks, const uint64_t *distances,
                                  size_t count, fm_error *error)
{
    phase_search *self = context;
    for (size_t i = 0; i < count; i++)
        if (distances[i] < FM_BEYOND && distances[i] > self->largest) self->largest = distances[i];
    fm_status status = fm_phase_finder_survey(self->finder, distances, count, error);
    if (status == FM_OK && self->sampler)
        status = fm_sampler_feed(self->sampler, blocks, distances, count, error);
    return status;
}

static fm_status locate_changes(void *context, const uint64_t *blocks, const uint64_t *distances,
                                size_t count, fm_error *error)
{
    return fm_phase_finder_locate(((phase_search *)context)->finder, blocks, distances, count, error);
}

static fm_status locate_and_sample(void *context, const uint64_t *blocks, const uint64_t *distances,
                                   size_t count, fm_error *error)
{
    fm_status status = locate_changes(context, blocks, distances, count, error);
    return status ? status
                  : fm_sampler_feed(((phase_search *)context)->sampler, blocks, distances, count, error);
}

static fm_status count_phases(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                              fm_error *error)
{
    (void)blocks;
    return fm_phase_counter_feed(context, distances, count, error);
}

static fm_status start_sampling(phase_search *self, uint64_t threshold, fm_error *error)
{
    const fm_sampler_options sampling = {.threshold = threshold, .samples = FM_MOST_DATA_SAMPLES};
    return fm_sampler_create(&self->sampler, &sampling, error);
}

/* The two passes that find them, and the phases. */
static fm_status find_phases(phase_search *self, uint64_t given, fm_error *error)
{
    uint64_t threshold = given;
    fm_status status = given ? start_sampling(self, given, error) : FM_OK;
    if (status == FM_OK) status = fm_phase_finder_create(&self->finder, error);
    if (status == FM_OK) status = run_pass(&self->pass, survey_distances, self, error);
    if (status == FM_OK && !given) status = start_sampling(self, threshold = self->largest / 2, error);
    if (status == FM_OK)
        status = run_pass(&self->pass, given ? locate_changes : locate_and_sample, self, error);
    return status == FM_OK ? fm_phases_create_nested(&self->phases, self->finder, self->sampler, threshold,
                                                     given > 0, self->pass.references, error)
                           : status;
}

static fm_status profile_phases(phase_search *self, double alike, fm_error *error)
{
    struct fm_job_phases *phases = self->pass.job->phases;
    fm_status status = fm_phase_counter_create(&phases->counter, self->phases, self->pass.granularity, error);
    if (status == FM_OK) status = run_pass(&self->pass, count_phases, phases->counter, error);
    if (status == FM_OK) status = fm_phase_counter_finish(phases->counter, alike, &phases->each, error);
    if (status == FM_OK) phases->count = self->phases->count;
    return status;
}

/* Phases are parts of one trace: their counts add up to those of the whole, but for distinct blocks. */
static fm_status make_whole(phase_search *self, fm_error *error)
{
    fm_job *job = self->pass.job;
    fm_status status = fm_profile_create(&job->profile[0], error);
    if (status != FM_OK) return status;
    fm_profile *whole = job->profile[0];
    whole->granularity = self->pass.granularity;
    for (size_t i = 0; i < self->phases->count && status == FM_OK; i++)
        status = fm_profile_merge(whole, job->phases->each[i], error);
    if (status != FM_OK) return status;
    whole->distinct = whole->cold;
    free(whole->name);
    whole->name = strdup(self->pass.path);
    if (!whole->name) return fm_fail_memory(error, strlen(self->pass.path), "a name");
    status = fm_job_mark(job, whole, error);
    for (size_t i = 0; i < self->phases->count && status == FM_OK; i++) {
        status = fm_job_mark(job, job->phases->each[i], error);
        job->phases->each[i]->lost = 0; /* in which phase they are missing is not known */
    }
    if (status != FM_OK) return status;
    whole->phases = self->phases;
    self->phases = NULL;
    return FM_OK;
}

fm_status fm_job_find_phases_sized(size_t reading_size, size_t options_size, fm_job *job, const char *path,
                                   const fm_reader_options *reading, const fm_phase_options *options,
                                   fm_error *error)
{
    fm_phase_options how;
    FM_REQUIRE(job, error);
    FM_REQUIRE(path, error);
    phase_search self = {
        .pass = {.job = job, .path = path, .granularity = job->count ? job->granularity[0] : 0}};
    fm_status status = fm_sized_read(&self.pass.reading, sizeof self.pass.reading, reading,
                                     reading ? reading_size : 0, "fm_reader_options", error);
    if (status == FM_OK)
        status =
            fm_sized_read(&how, sizeof how, options, options ? options_size : 0, "fm_phase_options", error);
    if (status == FM_OK && strcmp(path, "-") == 0)
        status = fm_fail(error, FM_E_ARGUMENT, NULL, "the trace must be a file: it is read more than once");
    if (status == FM_OK) status = fm_job_begin(job, FM_JOB_PHASES, error);
    if (status != FM_OK) return status;
    job->phases = calloc(1, sizeof *job->phases);
    if (!job->phases) return fm_fail_memory(error, sizeof *job->phases, "phases");
    status = find_phases(&self, how.threshold, error);
    if (status == FM_OK) status = profile_phases(&self, how.alike > 0 ? how.alike : 0.9, error);
    if (status == FM_OK) status = make_whole(&self, error);
    if (status == FM_OK) fm_job_granularity_default(job, self.pass.granularity);
    fm_phases_destroy(self.phases);
    fm_sampler_destroy(self.sampler);
    fm_phase_finder_destroy(self.finder);
    return status == FM_OK ? fm_job_settle(job, error) : status;
}

size_t fm_job_phase_profiles(fm_job *job, size_t level, const fm_profile *const **profiles)
{
    struct fm_job_phases *phases = job->phases;
    *profiles = NULL;
    if (!phases || !job->profile[0] || level < 1 || level > job->profile[0]->phases->inner_count + 1)
        return 0;
    if (level == 1) {
        *profiles = (const fm_profile *const *)phases->each;
        return phases->count;
    }
    if (phases->level != level) {
        destroy_profiles(phases->deeper, phases->deeper_count);
        phases->deeper = fm_phase_counter_take(phases->counter, (unsigned)level);
        phases->deeper_count = phases->deeper ? job->profile[0]->phases->inner[level - 2].count : 0;
        phases->level = level;
    }
    *profiles = (const fm_profile *const *)phases->deeper;
    return phases->deeper_count;
}

/* ---- phases, for people ---- */

/* The level that is shown. */
typedef struct phase_view {
    FILE *out;
    const fm_phases *phases;
    size_t level, levels;
    size_t count;
    const fm_trace_phase *each;
} phase_view;

/* Letters for the first kinds, numbers for all. */
static const char *kind_name(uint32_t kind, char *text, size_t size)
{
    if (kind < 26)
        snprintf(text, size, "%c", (char)('A' + kind));
    else
        snprintf(text, size, "%" PRIu32, kind + 1);
    return text;
}

static void show_kinds(const phase_view *shown)
{
    fprintf(shown->out, "\nkind   phases   references of each   distinct blocks of each   which\n");
    for (uint32_t kind = 0;; kind++) {
        char name[16];
        uint64_t count = 0, references = 0, distinct = 0;
        for (size_t i = 0; i < shown->count; i++)
            if (shown->each[i].kind == kind) {
                count++;
                references += shown->each[i].end - shown->each[i].begin;
                distinct += shown->each[i].distinct;
            }
        if (count == 0) return;
        fprintf(shown->out, "%-4s %8" PRIu64 " %20" PRIu64 " %25" PRIu64 "  ",
                kind_name(kind, name, sizeof name), count, references / count, distinct / count);
        size_t listed = 0;
        for (size_t i = 0; i < shown->count && listed < 12; i++)
            if (shown->each[i].kind == kind && ++listed <= 12) fprintf(shown->out, " %zu", i + 1);
        fprintf(shown->out, "%s\n", count > listed ? " ..." : "");
    }
}

static void show_phases(const phase_view *shown, uint64_t top)
{
    const bool inner = shown->level > 1;
    uint64_t outside = shown->phases->phases[shown->phases->count - 1].end;
    fprintf(shown->out,
            "\nphase         begins at      references   distinct blocks     first touches   kind%s\n",
            inner ? "   inside" : "");
    for (size_t i = 0; i < shown->count && i < top; i++) {
        const fm_trace_phase *phase = &shown->each[i];
        char name[16];
        fprintf(shown->out, "%5zu %17" PRIu64 " %15" PRIu64 " %17" PRIu64 " %17" PRIu64 "   ", i + 1,
                phase->begin, phase->end - phase->begin, phase->distinct, phase->cold);
        if (inner)
            fprintf(shown->out, "%-4s %8zu\n", kind_name(phase->kind, name, sizeof name), phase->parent + 1);
        else
            fprintf(shown->out, "%s\n", kind_name(phase->kind, name, sizeof name));
    }
    if (shown->count > top)
        fprintf(shown->out, "and %zu more (--top shows more, --json has all)\n", shown->count - (size_t)top);
    for (size_t i = 0; i < shown->count; i++) outside -= shown->each[i].end - shown->each[i].begin;
    if (outside > 0)
        fprintf(shown->out,
                "%" PRIu64 " references are in phases of the levels above that have none inside\n", outside);
}

/* The kinds in order: a line for each level, those inside one phase together. */
static void show_outline(const phase_view *shown)
{
    enum { WIDTH = 64 };
    const fm_phases *phases = shown->phases;
    fprintf(shown->out, "\nlevel   phases   their kinds, in order\n");
    for (size_t level = 1; level <= shown->levels; level++) {
        const size_t count = level > 1 ? phases->inner[level - 2].count : phases->count;
        const fm_trace_phase *each = level > 1 ? phases->inner[level - 2].phases : phases->phases;
        fprintf(shown->out, "%5zu %8zu   ", level, count);
        size_t i = 0;
        for (int used = 0; i < count && used < WIDTH; i++) {
            char name[16];
            const bool apart =
                i > 0 && (level == 1 || each[i].parent != each[i - 1].parent || each[i].kind > 25);
            used += fprintf(shown->out, "%s%s", apart ? " " : "", kind_name(each[i].kind, name, sizeof name));
        }
        fprintf(shown->out, "%s%s\n", i < count ? " ..." : "",
                level == shown->level ? "   <- shown below" : "");
    }
}

fm_status fm_job_show_phases(const fm_job *job, FILE *out, const fm_screen_options *screen,
                             const fm_view_options *view, fm_error *error)
{
    const size_t level = screen->depth ? (size_t)screen->depth : 1;
    const fm_profile *whole = job->profile[0];
    const fm_phases *phases = whole->phases;
    const bool inner = level > 1;
    if (level > phases->inner_count + 1)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "fm_screen_options.depth: there is no level %zu", level);
    const phase_view seen = {.out = out,
                             .phases = phases,
                             .level = level,
                             .levels = phases->inner_count + 1,
                             .count = inner ? phases->inner[level - 2].count : phases->count,
                             .each = inner ? phases->inner[level - 2].phases : phases->phases};
    const phase_view *shown = &seen;
    size_t samples = 0;
    for (size_t i = 0; i < phases->sample_count; i++) samples += phases->samples[i].count;
    fprintf(shown->out, "phases of   ");
    fm_view_text(out, whole->name, view);
    fprintf(shown->out,
            "\nreferences  %" PRIu64 "\nthreshold   %" PRIu64
            " blocks: %zu blocks were watched, which came back from further away %zu times\nphases      "
            "%zu%s\n",
            whole->references, phases->threshold, phases->sample_count, samples, phases->count,
            shown->levels > 1 ? " on level 1" : "");
    if (phases->cut == FM_CUT_AT_CHANGES && shown->levels + phases->count > 2)
        fprintf(shown->out, "cut at      changes of the distances, or of the data in use\n");
    else if (phases->cut == FM_CUT_AT_PEAKS && phases->sample_count > 0)
        fprintf(shown->out, "cut at      the peaks of block %" PRIu64 "\n", phases->samples[0].block);
    if (shown->levels > 1) {
        fprintf(
            shown->out,
            "levels      %zu: the phases have phases inside. Shown is level %zu (--depth shows another)\n",
            shown->levels, shown->level);
        show_outline(shown);
    } else {
        fprintf(shown->out, "levels      1: none has phases inside\n");
    }
    show_kinds(shown);
    show_phases(shown, screen->top);
    return FM_OK;
}

/* ---- predictions ---- */

typedef struct size_search {
    fm_sampler *sampler;
    bool found;
} size_search;

static fm_status sample_size(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                             fm_error *error)
{
    size_search *self = context;
    uint64_t size, after;
    fm_status status = fm_sampler_feed(self->sampler, blocks, distances, count, error);
    self->found = fm_sampler_found(self->sampler, &size, &after);
    return status;
}

/* From distinct blocks, which the sampler finds, to the unit of the model's sizes. */
static double in_units_of(const fm_model *model, double blocks)
{
    return model->distinct_e > 0 ? (blocks - model->distinct_c) / model->distinct_e : blocks;
}

static fm_status report_size(const size_search *self, const distance_pass *pass, const fm_model *model,
                             const fm_sampler_options *options, double *size, fm_error *error)
{
    uint64_t blocks, after;
    if (!fm_sampler_found(self->sampler, &blocks, &after))
        return fm_fail(
            error, FM_E_UNSUPPORTED, NULL,
            "%.200s: no size was found: %u data samples with a peak over the threshold of %" PRIu64
            " blocks are needed; fm_predict.data_size tells it, fm_sampler_options.threshold lowers what is "
            "looked for",
            pass->path, options->samples ? options->samples : 2, options->threshold);
    *size = in_units_of(model, (double)blocks);
    const double share = pass->references ? (double)after / (double)pass->references : 1;
    fm_job_note(pass->job,
                "data of size %.6g (%" PRIu64 " blocks), found after %" PRIu64 " of %" PRIu64
                " references: a coverage of %.2f %%",
                *size, blocks, after, pass->references, 100 * (1 - share));
    return FM_OK;
}

fm_status fm_job_find_size_sized(size_t reading_size, size_t sampling_size, fm_job *job,
                                 const fm_model *model, const char *path, const fm_reader_options *reading,
                                 const fm_sampler_options *sampling, double *size, fm_error *error)
{
    fm_sampler_options how;
    size_search self = {0};
    FM_REQUIRE(job, error);
    FM_REQUIRE(model, error);
    FM_REQUIRE(path, error);
    distance_pass pass = {.job = job,
                          .path = path,
                          .granularity = model->granularity,
                          .elements = model->elements,
                          .enough = &self.found};
    fm_status status = fm_sized_read(&pass.reading, sizeof pass.reading, reading, reading ? reading_size : 0,
                                     "fm_reader_options", error);
    if (status == FM_OK)
        status = fm_sized_read(&how, sizeof how, sampling, sampling ? sampling_size : 0, "fm_sampler_options",
                               error);
    if (status == FM_OK) status = fm_job_begin(job, FM_JOB_MODEL, error);
    if (status != FM_OK) return status;
    /* What is far for the smallest run that was seen is no detail. */
    if (how.threshold == 0) how.threshold = model->runs[0].distinct / 2;
    status = fm_sampler_create(&self.sampler, &how, error);
    if (status == FM_OK) status = run_pass(&pass, sample_size, &self, error);
    if (status == FM_OK) status = report_size(&self, &pass, model, &how, size, error);
    fm_sampler_destroy(self.sampler);
    return status;
}

fm_status fm_job_predict(fm_job *job, const fm_model *model, double size, fm_error *error)
{
    FM_REQUIRE(job, error);
    FM_REQUIRE(model, error);
    fm_status status =
        job->source == FM_JOB_MODEL && !job->profile[0] ? FM_OK : fm_job_begin(job, FM_JOB_MODEL, error);
    if (status != FM_OK) return status;
    status = fm_model_predict(model, size, job->analyzer.bins, &job->profile[0], error);
    if (status == FM_OK) status = fm_job_mark(job, job->profile[0], error);
    if (status != FM_OK) return status;
    job->count = 1;
    job->granularity[0] = job->profile[0]->granularity;
    job->incomplete = !job->profile[0]->complete;
    status = fm_job_opened(job, model->granularity > 1, error);
    if (status != FM_OK) return status;
    fm_job_find_caches(job, false);
    return fm_job_settle(job, error);
}
