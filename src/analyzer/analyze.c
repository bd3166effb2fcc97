/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyze.c - fm_analyze in fathom/analyzer.h: a reader to its end, into analyzers, in the fastest of three
 * ways that the trace and the analyzers allow. What threads cannot tell in order (damage, accesses of sizes
 * that no trace has) is reported by beginning anew, in order.
 */
#include "analyzer/analyzer_state.h"
#include "analyzer/block_cutter.h"
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/supply.h"

#include <fathom/experimental/pipeline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * ==== threads that fetch for themselves ====
 *
 * A supply of references as one of blocks: every thread of the engine fetches its batches,
 * cuts them into blocks, and leaves out repeats (analyzer_prepare.c). With attribution, it gives them tags:
 * those of code sites, which are settled when all is fetched (site_index.h).
 *
 * A thread has the blocks of a whole range to hold: accesses that touch very many are not prepared, and so
 * not for them.
 */

typedef struct cut_worker {
    fm_prepared prepared;
    uint32_t *tags; /* of a batch; NULL: no sites */
} cut_worker;

typedef struct cut_supply {
    fm_analyzer *analyzer; /* of which only what never changes is looked at, and what a preparer writes */
    const fm_supply *supply;
    cut_worker *workers;
    fm_site_share *sites; /* NULL: tags are those of batches */
    const fm_analyze_options *listener;
    uint64_t total; /* references, about */
} cut_supply;

/* With attribution, threads of the engine are preparers; and late references are told in order. */
bool fm_analyzer_can_draw(const fm_analyzer *analyzer)
{
    if (analyzer->sink || analyzer->with_times)
        return analyzer->ops->draws_in_order && !analyzer->attributing && !analyzer->limited;
    return analyzer->ops->draw && fm_analyzer_can_prepare(analyzer) &&
           (!analyzer->attributing ||
            (analyzer->threads <= FM_PREPARERS && !analyzer->attributing->late_sink));
}

static bool cut_claim(void *context, uint64_t wanted, fm_trace_range *range)
{
    const cut_supply *self = context;
    const bool claimed = self->supply->claim(self->supply->context, wanted, range);
    const uint64_t left = self->supply->left(self->supply->context);
    if (self->listener && self->listener->progress && self->total > left)
        self->listener->progress(self->listener->context, self->total - left,
                                 (double)(self->total - left) / (double)self->total);
    return claimed;
}

static fm_status cut_fetch(void *context, unsigned worker, fm_trace_range *range, fm_references *references,
                           uint64_t *repeats, fm_error *error)
{
    const cut_supply *self = context;
    const bool tagged = self->analyzer->attributing != NULL;
    cut_worker *own = &self->workers[worker];
    fm_prepared *prepared = &own->prepared;
    fm_batch batch;
    *repeats = 0;
    fm_status status = self->supply->fetch(self->supply->context, worker, range, &batch, error);
    if (status != FM_OK) return status;
    batch = fm_analyzer_known(self->analyzer, &batch);
    const bool sites = self->sites && batch.site, blocks = !batch.size && self->analyzer->shift == 0;
    *references = (fm_references){.count = batch.count, .blocks = batch.address};
    if (batch.count > 0 && sites) {
        status = fm_site_share_tags(self->sites, worker, batch.site, batch.count,
                                    range->reference - batch.count, own->tags, error);
        references->now = batch.tag = own->tags;
    }
    if (status != FM_OK || batch.count == 0 || (blocks && sites == tagged)) return status;
    status = fm_analyzer_prepare(self->analyzer, &batch, prepared, error);
    *references = (fm_references){.count = prepared->count,
                                  .blocks = prepared->blocks,
                                  .now = tagged ? prepared->now : NULL,
                                  .leave = tagged ? prepared->leave : NULL};
    *repeats = prepared->repeats;
    return status;
}

static uint64_t left_to_claim(const void *context)
{
    const cut_supply *self = context;
    return self->supply->left(self->supply->context);
}

/* ---- beginning and end ---- */

static void cut_release(cut_supply *cut)
{
    for (unsigned i = 0; cut->workers && i < cut->supply->workers; i++) {
        fm_prepared_free(&cut->workers[i].prepared);
        free(cut->workers[i].tags);
    }
    free(cut->workers);
    fm_site_share_destroy(cut->sites);
}

static fm_status cut_start(cut_supply *cut, fm_site_index *sites, fm_error *error)
{
    const unsigned workers = cut->supply->workers;
    cut->workers = fm_calloc(workers, sizeof *cut->workers);
    if (!cut->workers) return fm_fail_memory(error, workers * sizeof *cut->workers, "drawing");
    for (unsigned i = 0; i < workers; i++) {
        cut_worker *worker = &cut->workers[i];
        worker->prepared.preparer = i;
        if (!sites) continue;
        worker->tags = fm_malloc_array(FM_BATCH_MAX, sizeof *worker->tags);
        if (!worker->tags) return fm_fail_memory(error, FM_BATCH_MAX * sizeof *worker->tags, "drawing");
    }
    return sites ? fm_site_share_create(&cut->sites, sites, workers, error) : FM_OK;
}

/* What was counted under tags that threads gave out gets those that sites have in order. */
static fm_status settle_sites(cut_supply *cut, fm_error *error)
{
    fm_analyzer *analyzer = cut->analyzer;
    uint32_t *names;
    size_t count;
    fm_status status = fm_site_share_settle(cut->sites, &names, &count, error);
    if (status != FM_OK || !names) return status;
    status = fm_analyzer_flush(analyzer, error);
    if (status == FM_OK) status = fm_analyzer_join(analyzer, error);
    if (status == FM_OK) status = fm_pair_table_rename(&analyzer->attributing->pairs.table, names, error);
    if (status == FM_OK) status = analyzer->ops->tagged->rename(analyzer->engine, names, count, error);
    free(names);
    return status;
}

fm_status fm_analyzer_draw(fm_analyzer *analyzer, const fm_supply *supply, const fm_analyze_options *listener,
                           fm_error *error)
{
    if (!fm_analyzer_can_draw(analyzer) || supply->workers < analyzer->threads)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "this analyzer cannot draw from a supply");
    analyzer->fed = true;
    fm_status status = fm_analyzer_drain(analyzer, error);
    if (status != FM_OK) return status;
    cut_supply cut = {
        .analyzer = analyzer, .supply = supply, .listener = listener, .total = supply->left(supply->context)};
    const fm_block_supply blocks = {
        .context = &cut, .claim = cut_claim, .fetch = cut_fetch, .left = left_to_claim};
    const fm_engine_results results = fm_analyzer_results(analyzer);
    status = cut_start(&cut, analyzer->attributing && listener ? listener->sites : NULL, error);
    if (status == FM_OK) status = fm_tally_reserve(&analyzer->distances, 1, error);
    if (status == FM_OK) status = analyzer->ops->draw(analyzer->engine, &blocks, &results, error);
    if (status == FM_OK && cut.sites) status = settle_sites(&cut, error);
    cut_release(&cut);
    return status;
}

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

fm_status fm_analyze_sized(size_t given_size, fm_reader *reader, fm_analyzer *const *analyzers, size_t count,
                           const fm_analyze_options *given, fm_error *error)
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
