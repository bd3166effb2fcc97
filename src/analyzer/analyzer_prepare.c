/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_prepare.c - what is done to a batch before an engine sees it, for a thread that has the time: see
 * fm_prepared in prepared.h. It reads of the analyzer only what never changes, and writes only what is
 * there for it: with attribution, the counters of the pairs that it leaves out (analyzer_digest.c).
 */
#include "analyzer/analyzer_state.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool fm_analyzer_can_prepare(const fm_analyzer *analyzer)
{
    if (!analyzer->ops->spared_repeats || analyzer->sink || analyzer->with_times) return false;
    if (!analyzer->attributing) return true;
    /* Under a limit all pairs are counted in one place; and where distances of 0 are late, none is left out.
     */
    const fm_pairs *pairs = &analyzer->attributing->pairs;
    return analyzer->ops->tagged && !pairs->max_memory && !(pairs->late_wanted && pairs->late_from == 0);
}

static fm_status no_room(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the blocks of a batch");
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
    return done ? FM_OK : no_room(error);
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
static fm_status keep_whole(const fm_analyzer *analyzer, const fm_batch *batch, size_t index,
                            fm_tagged_cut *cut, fm_prepared *prepared, fm_error *error)
{
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
    fm_preparer *preparer;
    fm_status status = fm_analyzer_preparer(analyzer, prepared->preparer, &preparer, error);
    if (status == FM_OK) status = fm_preparer_start_pairs(analyzer, preparer, error);
    if (status != FM_OK) return status;
    fm_tagged_cut *cut = &preparer->cut;
    fm_pair_table *counters = &preparer->pairs.table;
    cut->count = 0;
    cut->all_tags = 0;
    status = keep_whole(analyzer, batch, 0, cut, prepared, error);
    for (size_t next = 1; status == FM_OK && next < batch->count;) {
        const size_t left = batch->count - next,
                     piece = left < FM_TAGGED_CUT_MOST ? left : FM_TAGGED_CUT_MOST;
        const size_t taken = analyzer->kernels->cut_tagged(
            batch->address + next, batch->size ? batch->size + next : NULL,
            batch->tag ? batch->tag + next : untagged, piece, analyzer->shift, (uint32_t)next, cut);
        next += taken;
        if (cut->all_tags > FM_TAG_MAX) break;
        status = fm_pair_table_reserve(counters, cut->pair_count, error);
        if (status != FM_OK) break;
        analyzer->kernels->count_pairs(counters, cut->pair, cut->pair_count);
        prepared->repeats += cut->pair_count;
        if (taken < piece) status = keep_whole(analyzer, batch, next++, cut, prepared, error);
    }
    if (status == FM_OK && cut->all_tags > FM_TAG_MAX) status = wrong_tag(batch, error);
    prepared->count = cut->count;
    return status == FM_OK ? fm_preparer_pour_pairs(analyzer, preparer, error) : status;
}

/* May the batch's accesses touch so many blocks that these are better not held all at once? */
static bool too_long(const fm_batch *batch, unsigned shift)
{
    enum { MOST_BLOCKS = 1 << 18, FREE_BLOCKS = 1 << 14 };
    if (!batch->size) return false;
    uint64_t most = FREE_BLOCKS + batch->count * fm_blocks_for_each(shift); /* within the budget */
    if (most > MOST_BLOCKS) most = MOST_BLOCKS;
    uint32_t all = 0;
    for (size_t i = 0; i < batch->count; i++) all |= batch->size[i];
    if (batch->count * ((uint64_t)(all >> shift) + FM_LONG_ENDS) <= most) return false; /* nearly always so */
    uint64_t sum = FM_LONG_ENDS * (uint64_t)batch->count;
    for (size_t i = 0; i < batch->count; i++) sum += batch->size[i] >> shift;
    return sum > most;
}

fm_status fm_analyzer_prepare(fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                              fm_error *error)
{
    prepared->count = 0;
    prepared->repeats = 0;
    prepared->accesses = batch->count;
    prepared->digested_by = NULL;
    if (batch->count == 0) return FM_OK;
    if (too_long(batch, analyzer->shift))
        return fm_fail(error, FM_E_LIMIT, NULL, "accesses to very many blocks are not prepared");
    fm_status status = reserve(analyzer, prepared, batch->count, error);
    if (status != FM_OK) return status;
    return analyzer->attributing ? prepare_tagged(analyzer, batch, prepared, error)
                                 : prepare_plain(analyzer, batch, prepared, error);
}

void fm_prepared_free(fm_prepared *prepared)
{
    free(prepared->blocks);
    free(prepared->now);
    free(prepared->leave);
    free(prepared->reference);
    free(prepared->parts);
    free(prepared->place);
    free(prepared->late);
    *prepared = (fm_prepared){0};
}
