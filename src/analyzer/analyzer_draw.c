/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_draw.c - a supply of references as one of blocks: every thread of the engine fetches its batches,
 * cuts them into blocks, and leaves out repeats (analyzer_prepare.c). With attribution, it gives them tags:
 * those of code sites, which are settled when all is fetched (site_share.h).
 *
 * A thread has the blocks of a whole stretch to hold: accesses that touch very many are not prepared, and so
 * not for them.
 */
#include "analyzer/analyzer_state.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/site_share.h"

#include <stdlib.h>

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

static bool cut_claim(void *context, uint64_t wanted, fm_stretch *stretch)
{
    const cut_supply *self = context;
    const bool claimed = self->supply->claim(self->supply->context, wanted, stretch);
    const uint64_t left = self->supply->left(self->supply->context);
    if (self->listener && self->listener->progress && self->total > left)
        self->listener->progress(self->listener->context, self->total - left,
                                 (double)(self->total - left) / (double)self->total);
    return claimed;
}

static fm_status cut_fetch(void *context, unsigned worker, fm_stretch *stretch, fm_references *references,
                           uint64_t *repeats, fm_error *error)
{
    const cut_supply *self = context;
    const bool tagged = self->analyzer->attributing != NULL;
    cut_worker *own = &self->workers[worker];
    fm_prepared *prepared = &own->prepared;
    fm_batch batch;
    *repeats = 0;
    fm_status status = self->supply->fetch(self->supply->context, worker, stretch, &batch, error);
    if (status != FM_OK) return status;
    batch = fm_analyzer_known(self->analyzer, &batch);
    const bool sites = self->sites && batch.site, blocks = !batch.size && self->analyzer->shift == 0;
    *references = (fm_references){.count = batch.count, .blocks = batch.address};
    if (batch.count > 0 && sites) {
        status = fm_site_share_tags(self->sites, worker, batch.site, batch.count,
                                    stretch->reference - batch.count, own->tags, error);
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
