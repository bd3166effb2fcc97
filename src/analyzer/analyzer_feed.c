/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_feed.c - the way of references through the analyzer: accesses are cut into blocks, gathered into
 * runs, given to the engine, and what it finds is counted. With attribution, tags go along.
 */
#include "analyzer/analyzer_state.h"
#include "base/error.h"
#include "engine/exact/exact_state.h"

#include <string.h>

/* ---- one run through the engine ---- */

/* Single distances to the sink, but those that it has heard. context: the analyzer. */
static fm_status tell_sink(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                           fm_error *error)
{
    fm_analyzer *self = context;
    const uint64_t left = self->told_ever > self->told ? self->told_ever - self->told : 0;
    const size_t heard = left < count ? (size_t)left : count;
    self->told += count;
    if (heard == count) return FM_OK;
    const fm_status status = self->sink(self->sink_context, blocks ? blocks + heard : NULL, distances + heard,
                                        count - heard, error);
    if (status) self->sink_refused = true;
    return status;
}

fm_engine_results fm_analyzer_results(fm_analyzer *self)
{
    return (fm_engine_results){.distances = &self->distances,
                               .times = self->with_times ? &self->times : NULL,
                               .pairs = self->attributing ? &self->attributing->pairs : NULL,
                               .each_distance = self->run_distances,
                               .each_time = self->with_times ? self->run_times : NULL,
                               .each_use = self->attributing ? self->attributing->uses : NULL,
                               .sink = self->sink ? tell_sink : NULL,
                               .sink_context = self,
                               .distances_only = self->options.distances_only};
}

static bool in_order(const fm_analyzer *self)
{
    if (self->sink || self->with_times) return true;
    return self->attributing ? !self->ops->tagged : !self->ops->count;
}

/* The pairs and late ones of references whose distances are known one by one. There is room. */
static void attribute_run(fm_analyzer *self, const uint64_t *distances, const uint32_t *tags, size_t count)
{
    enum { CHUNK = 512 };
    fm_attributing *attributing = self->attributing;
    fm_pairs *pairs = &attributing->pairs;
    uint64_t words[CHUNK];
    for (size_t i = 0; i < count; i += CHUNK) {
        const size_t chunk = count - i < CHUNK ? count - i : CHUNK;
        for (size_t j = 0; j < chunk; j++) {
            const uint64_t distance = distances[i + j];
            const uint32_t range = fm_range_of(&pairs->ranges, distance);
            const uint32_t use = distance < FM_BEYOND ? attributing->uses[i + j] : 0;
            words[j] = fm_pair_word(use, tags[i + j], range);
            if (pairs->late_wanted && fm_pairs_is_late(pairs, distance))
                fm_pairs_note_late(pairs, i + j, tags[i + j], range);
        }
        self->kernels->count_pairs(&pairs->table, words, chunk);
    }
}

/* Up to FM_FEED_MOST blocks in order, one distance each. */
static fm_status feed_ordered(fm_analyzer *self, const fm_references *run, size_t *done, fm_error *error)
{
    fm_attributing *attributing = self->attributing;
    const fm_engine_results results = fm_analyzer_results(self);
    const bool keeps_tags = attributing && !self->ops->tagged; /* the analyzer itself */
    fm_status fed = FM_OK;
    *done = 0;
    if (attributing) fed = fm_pairs_reserve(&attributing->pairs, run->count, error);
    if (keeps_tags && fed == FM_OK) fed = fm_block_tags_reserve(&attributing->last, run->count, error);
    if (fed != FM_OK) return fed;
    fed = self->ops->feed(self->engine, run, &results, done, error);
    for (size_t i = 0; keeps_tags && i < *done; i++)
        attributing->uses[i] = fm_block_tags_exchange(&attributing->last, run->blocks[i], run->now[i]);
    /* What the engine took counts, whether it could go on or not. */
    fm_error *note = fed == FM_OK ? error : NULL;
    fm_status status = FM_OK;
    if (self->sink) status = tell_sink(self, run->blocks, self->run_distances, *done, note);
    if (status == FM_OK)
        status = fm_exact_tally_each(self->kernels, &self->distances, self->run_distances, *done, note);
    if (status == FM_OK && attributing) attribute_run(self, self->run_distances, run->now, *done);
    if (status == FM_OK && self->with_times)
        status = fm_exact_tally_each(self->kernels, &self->times, self->run_times, *done, note);
    return fed != FM_OK ? fed : status;
}

/* Any number of blocks. *done: how many the engine took, also on failure. */
static fm_status count_blocks(fm_analyzer *self, const fm_references *all, size_t *done, fm_error *error)
{
    if (self->ops->batched || !in_order(self)) {
        const fm_engine_results results = fm_analyzer_results(self);
        return self->ops->count(self->engine, all, &results, done, error);
    }
    fm_status status = FM_OK;
    *done = 0;
    while (all->count > *done && status == FM_OK) {
        const size_t left = all->count - *done;
        const fm_references run = {.count = left < FM_FEED_MOST ? left : FM_FEED_MOST,
                                   .blocks = all->blocks + *done,
                                   .now = all->now ? all->now + *done : NULL};
        size_t taken;
        status = feed_ordered(self, &run, &taken, error);
        *done += taken;
    }
    return status;
}

/* ---- what is pending ---- */

/* The reference of the batch that a block in the buffer belongs to. */
static uint32_t reference_of(const fm_attributing *attributing, uint32_t block)
{
    size_t low = 0, high = attributing->range_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (attributing->buffer_ranges[middle].at <= block)
            low = middle;
        else
            high = middle;
    }
    return attributing->buffer_ranges[low].reference + (block - attributing->buffer_ranges[low].at);
}

/* Pending blocks [from, from + count). */
static fm_status count_pending(fm_analyzer *self, size_t from, size_t count, size_t *done, fm_error *error)
{
    fm_attributing *attributing = self->attributing;
    const fm_references run = {
        .count = count, .blocks = self->blocks + from, .now = attributing ? attributing->tags + from : NULL};
    if (!attributing) return count_blocks(self, &run, done, error);
    fm_pairs *pairs = &attributing->pairs;
    const size_t reported = pairs->late_count;
    fm_status status = count_blocks(self, &run, done, error);
    for (size_t i = reported; i < pairs->late_count; i++)
        pairs->late[i].index = reference_of(attributing, pairs->late[i].index + (uint32_t)from);
    return status;
}

/* Counts the first `count` of the pending blocks; the others move up. On failure, what was promised
 * is counted all the same, and the rest is dropped: the caller hears of it. */
static fm_status drain_pending(fm_analyzer *self, size_t count, fm_error *error)
{
    size_t done = 0;
    if (count == 0) return FM_OK;
    fm_status status = count_pending(self, 0, count, &done, error);
    if (status != FM_OK) {
        size_t more;
        if (done < self->promised) (void)count_pending(self, done, self->promised - done, &more, NULL);
        self->pending = self->promised = 0;
        return status;
    }
    self->pending -= count;
    self->promised -= self->promised < count ? self->promised : count;
    memmove(self->blocks, self->blocks + count, self->pending * sizeof *self->blocks);
    if (!self->attributing) return FM_OK;
    uint32_t *tags = self->attributing->tags;
    memmove(tags, tags + count, self->pending * sizeof *tags);
    self->attributing->range_count = 0; /* where it matters, nothing is left */
    return FM_OK;
}

fm_status fm_analyzer_drain(fm_analyzer *analyzer, fm_error *error)
{
    return drain_pending(analyzer, analyzer->pending, error);
}

fm_status fm_analyzer_flush(fm_analyzer *analyzer, fm_error *error)
{
    fm_status status = fm_analyzer_drain(analyzer, error);
    if (status != FM_OK || !analyzer->ops->catch_up) return status;
    const fm_engine_results results = fm_analyzer_results(analyzer);
    return analyzer->ops->catch_up(analyzer->engine, &results, error);
}

static bool late_wanted(const fm_analyzer *self)
{
    return self->attributing && self->attributing->late_sink;
}

/* The end of a feed: whole chunks are counted, and the rest too where somebody waits for it or where it
 * might not be possible later. */
static fm_status end_feed(fm_analyzer *self, fm_error *error)
{
    if (late_wanted(self)) return drain_pending(self, self->pending, error);
    size_t whole = self->pending - self->pending % FM_CACHE_CHUNK;
    fm_status status = drain_pending(self, whole, error);
    if (status != FM_OK || self->pending == 0) return status;
    const bool can_wait =
        !in_order(self) && self->ops->can_take &&
        self->ops->can_take(self->engine, self->pending, &self->distances) &&
        (!self->attributing || fm_pairs_has_room(&self->attributing->pairs, FM_CACHE_CHUNK));
    if (!can_wait) return drain_pending(self, self->pending, error);
    self->promised = self->pending;
    return FM_OK;
}

fm_status fm_analyzer_report_late(fm_analyzer *analyzer, fm_error *error)
{
    if (!late_wanted(analyzer)) return FM_OK;
    fm_attributing *attributing = analyzer->attributing;
    size_t count = attributing->pairs.late_count;
    attributing->pairs.late_count = 0;
    if (count == 0) return FM_OK;
    return attributing->late_sink(attributing->late_context, attributing->pairs.late, count, error);
}

/* ---- feeding ---- */

/* The tags of blocks that were cut go into the buffer, behind what is pending; and of which references they
 * are, where that matters. */
static fm_status put_tags(fm_analyzer *self, const fm_block_cutter *cutter, size_t count, fm_error *error)
{
    fm_attributing *attributing = self->attributing;
    const fm_batch *batch = cutter->batch;
    const size_t from = cutter->access;
    uint32_t *tags = attributing->tags + self->pending, all = 0;
    if (!batch->tag)
        memset(tags, 0, count * sizeof *tags);
    else if (!cutter->is_long)
        all = self->kernels->copy_tags(batch->tag + from, count, tags);
    else
        for (size_t i = 0; i < count; i++) tags[i] = all = batch->tag[from];
    const size_t ranges = !late_wanted(self) || count == 0 ? 0 : cutter->is_long ? count : 1;
    for (size_t i = 0; i < ranges; i++)
        attributing->buffer_ranges[attributing->range_count++] =
            (fm_buffer_range){.at = (uint32_t)(self->pending + i), .reference = (uint32_t)from};
    return all <= FM_TAG_MAX ? FM_OK : fm_check_tags(batch, from, cutter->is_long ? 1 : count, error);
}

/* References [next, end) of the batch. Accesses of the batch are not in the budget yet. */
static fm_status feed_slice(fm_analyzer *self, const fm_batch *batch, unsigned shift, size_t next, size_t end,
                            fm_error *error)
{
    fm_block_cutter cutter = {.kernels = self->kernels,
                              .batch = batch,
                              .shift = shift,
                              .next = next,
                              .end = end,
                              .budget = &self->budget,
                              .by_step = self->attributing != NULL};
    fm_status status = FM_OK;
    while (status == FM_OK && fm_block_cutter_left(&cutter) > 0) {
        size_t count;
        const fm_status cut = fm_block_cutter_next(&cutter, self->blocks + self->pending,
                                                   FM_FEED_MOST - self->pending, &count, error);
        if (self->attributing) status = put_tags(self, &cutter, count, error);
        if (status != FM_OK) break;
        self->pending += count;
        status =
            cut != FM_OK || self->pending < FM_FEED_MOST ? cut : drain_pending(self, FM_FEED_MOST, error);
    }
    fm_status ended = end_feed(self, status == FM_OK ? error : NULL);
    if (status == FM_OK) status = ended;
    fm_status reported = fm_analyzer_report_late(self, status == FM_OK ? error : NULL);
    return status != FM_OK ? status : reported;
}

/* shift: of the blocks that addresses are cut into; not the analyzer's where they are blocks already. */
static fm_status feed_batch(fm_analyzer *self, const fm_batch *batch, unsigned shift, fm_error *error)
{
    fm_status status = FM_OK;
    size_t next = 0;
    self->fed = true;
    while (status == FM_OK && next < batch->count) {
        size_t end = batch->count;
        if (late_wanted(self) && end - next > FM_LATE_BATCH) end = next + FM_LATE_BATCH;
        status = feed_slice(self, batch, shift, next, end, error);
        next = end;
    }
    self->budget.accesses += batch->count;
    return status;
}

fm_status fm_analyzer_feed(fm_analyzer *analyzer, const fm_batch *batch, fm_error *error)
{
    FM_REQUIRE(analyzer, error);
    const fm_batch known = fm_analyzer_known(analyzer, batch);
    if (!known.size && analyzer->shift == 0 && !analyzer->attributing)
        return fm_analyzer_feed_blocks(analyzer, known.address, known.count, error);
    return feed_batch(analyzer, &known, analyzer->shift, error);
}

fm_status fm_analyzer_feed_blocks(fm_analyzer *analyzer, const uint64_t *blocks, size_t count,
                                  fm_error *error)
{
    FM_REQUIRE(analyzer, error);
    if (analyzer->attributing) {
        const fm_batch batch = {.count = count, .address = blocks};
        return feed_batch(analyzer, &batch, 0, error);
    }
    fm_status status = FM_OK;
    analyzer->fed = true;
    while (count > 0 && status == FM_OK) {
        size_t taken;
        if (analyzer->pending == 0 && count >= FM_CACHE_CHUNK) {
            /* Whole chunks go as they are. */
            const fm_references whole = {.count = count - count % FM_CACHE_CHUNK, .blocks = blocks};
            status = count_blocks(analyzer, &whole, &taken, error);
            taken = whole.count;
        } else {
            const size_t room = FM_CACHE_CHUNK - analyzer->pending;
            taken = count < room ? count : room;
            memcpy(analyzer->blocks + analyzer->pending, blocks, taken * sizeof *blocks);
            analyzer->pending += taken;
            if (analyzer->pending == FM_CACHE_CHUNK) status = drain_pending(analyzer, FM_CACHE_CHUNK, error);
        }
        blocks += taken;
        count -= taken;
    }
    return status == FM_OK ? end_feed(analyzer, error) : status;
}
