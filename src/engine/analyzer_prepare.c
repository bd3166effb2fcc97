/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_prepare.c - what is done to a batch before an engine sees it, for a thread that has the time: see
 * fm_prepared in fathom/analyzer.h. It reads of the analyzer only what never changes, and writes only what is
 * there for it: with attribution, the counters of the pairs that it leaves out.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/analyzer_state.h"

#include <inttypes.h>
#include <stdlib.h>

bool fm_analyzer_can_prepare(const fm_analyzer *analyzer)
{
    if (!analyzer->ops->spared_repeats || analyzer->sink || analyzer->with_times) return false;
    if (!analyzer->attributing) return true;
    /* Under a limit all pairs are counted in one place; and where distances of 0 are late, none is left out.
     */
    const fm_pairs *pairs = &analyzer->attributing->pairs;
    return analyzer->ops->count_kept && !pairs->max_memory && !(pairs->late_wanted && pairs->late_from == 0);
}

static bool reserve_array(void *array, size_t *capacity, size_t needed, size_t element_size)
{
    return fm_array_reserve((void **)array, capacity, needed, element_size) == 0;
}

static fm_status reserve(const fm_analyzer *analyzer, fm_prepared *prepared, uint64_t more, fm_error *error)
{
    enum { VECTOR = 16 }; /* kernels write that far beyond the last block */
    bool done = more <= SIZE_MAX / 32 - prepared->count;
    const size_t needed = done ? prepared->count + (size_t)more + VECTOR : 0;
    done = done && reserve_array(&prepared->blocks, &prepared->capacity, needed, sizeof *prepared->blocks);
    if (analyzer->attributing)
        done = done &&
               reserve_array(&prepared->now, &prepared->tag_capacity[0], needed, sizeof *prepared->now) &&
               reserve_array(&prepared->leave, &prepared->tag_capacity[1], needed, sizeof *prepared->leave) &&
               reserve_array(&prepared->reference, &prepared->tag_capacity[2], needed,
                             sizeof *prepared->reference);
    return done ? FM_OK
                : fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the blocks of a batch");
}

/* ---- without tags ---- */

/* An access that reaches beyond its block. */
static fm_status prepare_long(const fm_analyzer *analyzer, uint64_t block, uint64_t last, uint64_t left,
                              fm_prepared *prepared, fm_error *error)
{
    fm_status status = reserve(analyzer, prepared, last - block + 1 + left, error);
    if (status != FM_OK) return status;
    for (; block < last; block++) prepared->blocks[prepared->count++] = block;
    prepared->blocks[prepared->count++] = last;
    return FM_OK;
}

static fm_status prepare_plain(const fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                               fm_error *error)
{
    const unsigned shift = analyzer->shift;
    size_t next = 0;
    fm_status status = FM_OK;
    uint64_t before = ~(batch->address[0] >> shift);
    while (status == FM_OK && next < batch->count) {
        size_t kept;
        const size_t taken = analyzer->kernels->cut_distinct(
            batch->address + next, batch->size ? batch->size + next : NULL, batch->count - next, shift,
            &before, prepared->blocks + prepared->count, &kept);
        prepared->count += kept;
        prepared->repeats += taken - kept;
        next += taken;
        if (next == batch->count || !batch->size) break; /* without sizes nothing is long */
        const uint64_t address = batch->address[next];
        before = fm_last_block(address, batch->size[next], shift);
        next++;
        status = prepare_long(analyzer, address >> shift, before, batch->count - next, prepared, error);
    }
    return status;
}

/* ---- with tags ---- */

static uint32_t tag_of(const fm_batch *batch, size_t index)
{
    return batch->tag ? batch->tag[index] : 0;
}

/* The arrays of the cut are those of the batch that is being prepared, wherever they are now. */
static void lead_cut(fm_tagged_cut *cut, const fm_prepared *prepared)
{
    cut->blocks = prepared->blocks;
    cut->now = prepared->now;
    cut->leave = prepared->leave;
    cut->reference = prepared->reference;
}

/* All blocks of an access are kept: the first of a batch, or one that reaches beyond its block. */
static fm_status keep_whole(fm_analyzer *analyzer, const fm_batch *batch, size_t index, fm_prepared *prepared,
                            fm_error *error)
{
    fm_tagged_cut *cut = &analyzer->attributing->cut;
    const uint64_t address = batch->address[index];
    const uint64_t last = fm_last_block(address, batch->size ? batch->size[index] : 0, analyzer->shift);
    uint64_t block = address >> analyzer->shift;
    prepared->count = cut->count;
    fm_status status = reserve(analyzer, prepared, last - block + 1 + (batch->count - index), error);
    if (status != FM_OK) return status;
    lead_cut(cut, prepared);
    cut->all_tags |= cut->tag = tag_of(batch, index);
    for (;; block++) {
        cut->blocks[cut->count] = block;
        cut->now[cut->count] = cut->leave[cut->count] = cut->tag;
        cut->reference[cut->count++] = (uint32_t)index;
        if (block == last) break;
    }
    cut->block = last;
    return FM_OK;
}

static fm_status count_repeats(fm_attributing *attributing, fm_error *error)
{
    fm_pair_table *table = &attributing->repeats;
    if (!table->buckets) {
        fm_status status = fm_pair_table_create(table, 0, 0, error);
        if (status != FM_OK) return status;
        /* They will be put together: what has the same hash is moved in one sweep. */
        for (size_t i = 0; i < 3; i++) table->multiplier[i] = attributing->pairs.table.multiplier[i];
    }
    return fm_pair_table_reserve(table, attributing->cut.pair_count, error);
}

static fm_status wrong_tag(const fm_batch *batch, fm_error *error)
{
    size_t i = 0;
    while (batch->tag[i] <= FM_TAG_MAX) i++;
    return fm_fail(error, FM_E_ARGUMENT, NULL, "tag %" PRIu32 " of reference %zu is over %" PRIu32,
                   batch->tag[i], i, FM_TAG_MAX);
}

static fm_status prepare_tagged(fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                                fm_error *error)
{
    static const uint32_t untagged[FM_TAGGED_CUT_MOST];
    fm_attributing *attributing = analyzer->attributing;
    fm_tagged_cut *cut = &attributing->cut;
    cut->count = 0;
    cut->all_tags = 0;
    fm_status status = keep_whole(analyzer, batch, 0, prepared, error);
    for (size_t next = 1; status == FM_OK && next < batch->count;) {
        const size_t left = batch->count - next,
                     piece = left < FM_TAGGED_CUT_MOST ? left : FM_TAGGED_CUT_MOST;
        const size_t taken = analyzer->kernels->cut_tagged(
            batch->address + next, batch->size ? batch->size + next : NULL,
            batch->tag ? batch->tag + next : untagged, piece, analyzer->shift, (uint32_t)next, cut);
        next += taken;
        if (cut->all_tags > FM_TAG_MAX) break;
        if (cut->pair_count > 0) status = count_repeats(attributing, error);
        if (status != FM_OK) break;
        analyzer->kernels->count_pairs(&attributing->repeats, cut->pair, cut->pair_count);
        prepared->repeats += cut->pair_count;
        if (taken < piece) status = keep_whole(analyzer, batch, next++, prepared, error);
    }
    if (status == FM_OK && cut->all_tags > FM_TAG_MAX) status = wrong_tag(batch, error);
    prepared->count = cut->count;
    return status;
}

fm_status fm_analyzer_prepare(fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                              fm_error *error)
{
    prepared->count = 0;
    prepared->repeats = 0;
    if (batch->count == 0) return FM_OK;
    fm_status status = reserve(analyzer, prepared, batch->count, error);
    if (status != FM_OK) return status;
    return analyzer->attributing ? prepare_tagged(analyzer, batch, prepared, error)
                                 : prepare_plain(analyzer, batch, prepared, error);
}

/* ---- feeding ---- */

/* Blocks [from, from + count) of what was prepared. */
static fm_status feed_kept(fm_analyzer *analyzer, const fm_prepared *prepared, size_t from, size_t count,
                           fm_error *error)
{
    fm_pairs *pairs = &analyzer->attributing->pairs;
    size_t done;
    fm_status status =
        analyzer->ops->count_kept(analyzer->engine, prepared->blocks + from, prepared->now + from,
                                  prepared->leave + from, count, &analyzer->distances, pairs, &done, error);
    for (size_t i = 0; i < pairs->late_count; i++)
        pairs->late[i].index = prepared->reference[from + pairs->late[i].index];
    fm_status told = fm_analyzer_tell_late(analyzer, status == FM_OK ? error : NULL);
    return status != FM_OK ? status : told;
}

static fm_status feed_tagged(fm_analyzer *analyzer, const fm_prepared *prepared, fm_error *error)
{
    if (prepared->count > 0 && !prepared->leave)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "this analyzer needs tags with what was prepared");
    fm_status status = FM_OK;
    if (analyzer->pending > 0) status = fm_analyzer_flush(analyzer, error); /* in order */
    for (size_t from = 0; status == FM_OK && from < prepared->count; from += FM_LATE_BATCH) {
        const size_t left = prepared->count - from;
        status = feed_kept(analyzer, prepared, from, left < FM_LATE_BATCH ? left : FM_LATE_BATCH, error);
    }
    return status;
}

fm_status fm_analyzer_feed_prepared(fm_analyzer *analyzer, const fm_prepared *prepared, fm_error *error)
{
    if (!fm_analyzer_can_prepare(analyzer))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "this analyzer needs every single reference");
    fm_status status = fm_tally_reserve(&analyzer->distances, 1, error);
    if (status == FM_OK)
        status = analyzer->attributing
                     ? feed_tagged(analyzer, prepared, error)
                     : fm_analyzer_feed_blocks(analyzer, prepared->blocks, prepared->count, error);
    if (status == FM_OK) fm_tally_add_many(&analyzer->distances, 0, prepared->repeats);
    return status;
}

void fm_prepared_free(fm_prepared *prepared)
{
    free(prepared->blocks);
    free(prepared->now);
    free(prepared->leave);
    free(prepared->reference);
    *prepared = (fm_prepared){0};
}
