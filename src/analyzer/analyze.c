/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyze.c - fm_analyze in fathom/analyzer.h: a reader to its end, into analyzers, in the fastest of three
 * ways that the trace and the analyzers allow. What threads cannot tell in order (damage, accesses of sizes
 * that no trace has) is reported by beginning anew, in order.
 */
#include "analyzer/analyzer_state.h"
#include "analyzer/read_all.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rounds.h"
#include "base/sized.h"

#include <fathom/pipeline.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What feeding one of the analyzers came to. */
typedef struct feed_end {
    fm_status status;
    fm_error error;
} feed_end;

typedef struct analysis {
    fm_reader *reader;
    fm_analyze_options options;
    fm_analyzer **analyzers; /* those that are still used */
    size_t count;
    uint32_t *tags; /* of a batch, with sites */
    /* How batches are fed: by a pipeline, side by side, or, where both are NULL, one after the other. */
    fm_pipeline *pipeline;
    fm_rounds *rounds;
    feed_end *ends;             /* side by side: of each analyzer */
    const fm_batch *batch;      /* likewise */
    bool out_of_order;          /* something is wrong, and where is known in order only */
    bool ended;                 /* by an access of a size that no trace has */
    uint64_t damages, reported; /* met since the beginning; and reported, if it was begun anew */
} analysis;

/* ---- one batch ---- */

static void feed_one(void *context, size_t number)
{
    const analysis *self = context;
    feed_end *end = &self->ends[number];
    end->status = fm_analyzer_feed(self->analyzers[number], self->batch, &end->error);
}

static fm_status feed_side_by_side(analysis *self, const fm_batch *batch, fm_error *error)
{
    self->batch = batch;
    fm_rounds_run(self->rounds, feed_one, self, self->count);
    for (size_t i = 0; i < self->count; i++) {
        if (self->ends[i].status == FM_OK) continue;
        if (error) *error = self->ends[i].error;
        return self->ends[i].status;
    }
    return FM_OK;
}

static fm_status feed_in_turn(analysis *self, const fm_batch *batch, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < self->count && status == FM_OK; i++) {
        status = fm_analyzer_feed(self->analyzers[i], batch, error);
        if (status != FM_E_LIMIT || !self->options.give_up ||
            !self->options.give_up(self->options.context, self->analyzers[i]))
            continue;
        status = FM_OK;
        memmove(&self->analyzers[i], &self->analyzers[i + 1], (--self->count - i) * sizeof(fm_analyzer *));
        i--;
    }
    return status;
}

static void progress_report(void *context, const fm_error *error)
{
    analysis *self = context;
    if (self->damages++ < self->reported) return; /* before it was begun anew */
    self->reported++;
    self->options.damage(self->options.context, error);
}

static void show_progress(const analysis *self)
{
    fm_trace_info info;
    if (!self->options.progress) return;
    fm_reader_info(self->reader, &info);
    self->options.progress(self->options.context, info.references,
                           info.bytes_total ? (double)info.bytes_read / (double)info.bytes_total : -1);
}

static fm_status batch_take(void *context, const fm_batch *given, fm_error *error)
{
    analysis *self = context;
    fm_batch batch = *given;
    fm_status status = FM_OK;
    if (self->options.wants && !self->options.wants(self->options.context, given)) return FM_OK;
    if (self->tags && batch.site) {
        status = fm_site_index_tags(self->options.sites, batch.site, batch.count, self->tags, error);
        if (status != FM_OK) return status;
        batch.tag = self->tags;
    }
    if (self->pipeline)
        status = fm_pipeline_feed(self->pipeline, &batch, self->analyzers, self->count, NULL, error);
    else if (self->rounds)
        status = feed_side_by_side(self, &batch, error);
    else
        status = feed_in_turn(self, &batch, error);
    if (status == FM_OK) show_progress(self);
    if (!fm_status_is_damage(status)) return status;
    if (error) snprintf(error->path, sizeof error->path, "%s", fm_reader_name(self->reader));
    self->out_of_order = self->pipeline || self->rounds;
    self->ended = !self->out_of_order && self->options.damage;
    if (self->ended) progress_report(self, error);
    return status;
}

/* ---- the whole trace ---- */

/* FM_OK also where an access ended it. */
static fm_status read_all(analysis *self, fm_error *error)
{
    const fm_batch_taker taker = {
        .context = self, .take = batch_take, .damage = self->options.damage ? progress_report : NULL};
    fm_status status = fm_read_all(self->reader, &taker, error);
    if (self->ended) status = FM_OK;
    if (status == FM_OK && self->pipeline) {
        status = fm_pipeline_drain(self->pipeline, error);
        self->out_of_order = fm_status_is_damage(status);
    }
    return status;
}

static fm_status begin_anew(analysis *self, fm_error *error)
{
    fm_status status = fm_reader_restart(self->reader, error);
    for (size_t i = 0; i < self->count && status == FM_OK; i++)
        status = fm_analyzer_restart(self->analyzers[i], error);
    self->damages = 0;
    self->out_of_order = false;
    return status == FM_OK ? read_all(self, error) : status;
}

/* Where memory is short: an analyzer of one thread needs the least. */
static void begin_alone(const analysis *self)
{
    for (size_t i = 0; i < self->count; i++) self->analyzers[i]->options.threads = 1;
}

/* Whether all could be begun anew: a sink is not told twice what it has heard. */
static bool may_begin_anew(const analysis *self)
{
    for (size_t i = 0; i < self->count; i++) {
        const fm_analyzer *at = self->analyzers[i];
        if (at->fed || (at->attributing && at->attributing->late_sink)) return false;
    }
    return fm_reader_can_restart(self->reader) && !self->options.wants && !self->options.give_up;
}

/* Threads of the analyzer fetch for themselves; the reader then stands behind it. FM_E_UNSUPPORTED: they do
 * not, and nothing has happened. */
static fm_status analysis_draw(analysis *self, fm_error *error)
{
    fm_analyzer *analyzer = self->analyzers[0];
    fm_supply supply;
    const bool sites = self->options.sites;
    if (self->count > 1 || sites != (analyzer->attributing != NULL) || analyzer->threads < 2 ||
        !fm_analyzer_can_draw(analyzer))
        return FM_E_UNSUPPORTED;
    fm_status status = fm_reader_share(self->reader, analyzer->threads, sites, &supply, error);
    return status == FM_OK ? fm_analyzer_draw(analyzer, &supply, &self->options, error) : status;
}

static fm_status start_pipeline(analysis *self, fm_error *error)
{
    const size_t helpers = self->options.threads - 1;
    const fm_pipeline_options options = {.threads =
                                             helpers < FM_PIPELINE_THREADS ? helpers : FM_PIPELINE_THREADS};
    if (self->count > FM_PIPELINE_ANALYZERS || !fm_analyzer_can_prepare(self->analyzers[0])) return FM_OK;
    return fm_pipeline_create(&self->pipeline, &options, error);
}

/* Where there are several that have no threads of their own, and no promise of memory. */
static fm_status start_rounds(analysis *self, fm_error *error)
{
    size_t alone = 0;
    for (size_t i = 0; i < self->count; i++) {
        if (self->analyzers[i]->limited || self->analyzers[i]->sink) return FM_OK;
        /* An engine that gathers batches for a card is fed by one thread, whatever draws for it; and what is
         * fed in order goes through one. */
        const fm_analyzer *at = self->analyzers[i];
        alone += !at->ops->draw || at->ops->batched || at->with_times;
    }
    if (alone < 2) return FM_OK;
    self->ends = fm_calloc(self->count, sizeof *self->ends);
    if (!self->ends) return fm_fail_memory(error, self->count * sizeof *self->ends, "threads");
    return fm_rounds_create(&self->rounds,
                            (unsigned)(alone < self->options.threads ? alone : self->options.threads), error);
}

static void stop_helpers(analysis *self)
{
    fm_pipeline_destroy(self->pipeline);
    fm_rounds_destroy(self->rounds);
    free(self->ends);
    self->pipeline = NULL;
    self->rounds = NULL;
    self->ends = NULL;
}

static fm_status analysis_run(analysis *self, fm_error *error)
{
    fm_trace_info info;
    fm_reader_info(self->reader, &info);
    const bool anew = may_begin_anew(self), sizes = info.columns & FM_COLUMN_SIZE;
    fm_status status = anew ? analysis_draw(self, error) : FM_E_UNSUPPORTED;
    if (status == FM_E_NOMEM) begin_alone(self);
    if (fm_status_is_damage(status) || status == FM_E_LIMIT || status == FM_E_NOMEM)
        return begin_anew(self, error);
    if (status == FM_OK) return read_all(self, error); /* what is left */
    if (status != FM_E_UNSUPPORTED) return status;
    status = FM_OK;
    if (self->options.threads > 1 && anew && self->tags) status = start_pipeline(self, error);
    if (status == FM_OK && self->options.threads > 1 && !self->pipeline && (anew || !sizes) &&
        !self->options.give_up)
        status = start_rounds(self, error);
    if (status == FM_OK) status = read_all(self, error);
    stop_helpers(self);
    return self->out_of_order ? begin_anew(self, error) : status;
}

fm_status fm_analyze_sized(fm_reader *reader, fm_analyzer *const *analyzers, size_t count,
                           const fm_analyze_options *given, size_t given_size, fm_error *error)
{
    FM_REQUIRE(reader, error);
    analysis self = {.reader = reader, .count = count};
    fm_error reason;
    if (!error) error = &reason;
    fm_status status =
        fm_sized_read(&self.options, sizeof self.options, given, given_size, "fm_analyze_options", error);
    if (status != FM_OK) return status;
    if (count == 0) return fm_fail(error, FM_E_ARGUMENT, NULL, "a trace goes to one analyzer at least");
    self.analyzers = fm_calloc(count, sizeof(fm_analyzer *));
    if (self.options.sites) self.tags = fm_calloc(FM_BATCH_MAX, sizeof *self.tags);
    if (self.analyzers && (self.tags || !self.options.sites)) {
        memcpy(self.analyzers, analyzers, count * sizeof(fm_analyzer *));
        status = analysis_run(&self, error);
    } else {
        status = fm_fail_memory(error, FM_BATCH_MAX * sizeof *self.tags, "an analysis");
    }
    free(self.analyzers);
    free(self.tags);
    return status;
}
