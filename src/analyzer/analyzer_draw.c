/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_draw.c - a supply of references as one of blocks: every thread of the engine fetches its batches,
 * cuts them into blocks, and leaves out repeats (analyzer_prepare.c).
 *
 * A thread has the blocks of a whole stretch to hold: accesses that touch very many are not prepared, and so
 * not for them.
 */
#include "analyzer/analyzer_state.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

typedef struct cut_supply {
    fm_analyzer *analyzer; /* of which only what never changes is looked at */
    const fm_supply *supply;
    fm_prepared *prepared; /* of each worker */
    const fm_analyze_options *listener;
    uint64_t total; /* references, about */
} cut_supply;

bool fm_analyzer_can_draw(const fm_analyzer *analyzer)
{
    return analyzer->ops->draw && fm_analyzer_can_prepare(analyzer);
}

static bool claim(void *context, uint64_t wanted, fm_stretch *stretch)
{
    const cut_supply *self = context;
    const bool claimed = self->supply->claim(self->supply->context, wanted, stretch);
    const uint64_t left = self->supply->left(self->supply->context);
    if (self->listener && self->listener->progress && self->total > left)
        self->listener->progress(self->listener->context, self->total - left,
                                 (double)(self->total - left) / (double)self->total);
    return claimed;
}

static fm_status fetch(void *context, unsigned worker, fm_stretch *stretch, const uint64_t **blocks,
                       size_t *count, uint64_t *repeats, fm_error *error)
{
    const cut_supply *self = context;
    fm_batch batch;
    *repeats = 0;
    fm_status status = self->supply->fetch(self->supply->context, worker, stretch, &batch, error);
    if (status != FM_OK) return status;
    *count = batch.count;
    *blocks = batch.address;
    if (batch.count == 0 || (!batch.size && self->analyzer->shift == 0)) return FM_OK;
    fm_prepared *prepared = &self->prepared[worker];
    status = fm_analyzer_prepare(self->analyzer, &batch, prepared, error);
    *count = prepared->count;
    *blocks = prepared->blocks;
    *repeats = prepared->repeats;
    return status;
}

static uint64_t left_to_claim(const void *context)
{
    const cut_supply *self = context;
    return self->supply->left(self->supply->context);
}

fm_status fm_analyzer_draw(fm_analyzer *analyzer, const fm_supply *supply, const fm_analyze_options *listener,
                           fm_error *error)
{
    if (!fm_analyzer_can_draw(analyzer) || supply->workers < analyzer->threads)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "this analyzer cannot draw from a supply");
    analyzer->fed = true;
    fm_status status = fm_analyzer_drain(analyzer, error);
    if (status != FM_OK) return status;
    fm_prepared *prepared = fm_calloc(supply->workers, sizeof *prepared);
    if (!prepared) return fm_fail_memory(error, supply->workers * sizeof *prepared, "drawing");
    cut_supply cut = {.analyzer = analyzer,
                      .supply = supply,
                      .prepared = prepared,
                      .listener = listener,
                      .total = supply->left(supply->context)};
    const fm_block_supply blocks = {.context = &cut, .claim = claim, .fetch = fetch, .left = left_to_claim};
    const fm_engine_results results = fm_analyzer_results(analyzer);
    status = fm_tally_reserve(&analyzer->distances, 1, error);
    if (status == FM_OK) status = analyzer->ops->draw(analyzer->engine, &blocks, &results, error);
    for (unsigned i = 0; i < supply->workers; i++) fm_prepared_free(&prepared[i]);
    free(prepared);
    return status;
}
