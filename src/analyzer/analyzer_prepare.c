/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_prepare.c - what is done to a batch before an engine sees it, for a thread that has the time: see
 * fm_prepared in prepared.h. It reads of the analyzer only what never changes, and writes only what is
 * there for it: with attribution, the counters of the pairs that it leaves out (analyzer_digest.c).
 */
#include "analyzer/analyzer_state.h"
#include "base/error.h"
#include "base/memory.h"

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

static bool reserve_array(void *array, size_t *capacity, size_t needed, size_t element_size)
{
    return fm_array_reserve((void **)array, capacity, needed, element_size) == 0;
}

static fm_status prepared_reserve(const fm_analyzer *analyzer, fm_prepared *prepared, uint64_t more,
                                  fm_error *error)
{
    bool done = more <= SIZE_MAX / 32 - prepared->count;
    const size_t needed = done ? prepared->count + (size_t)more + FM_CUT_ROOM : 0;
    done = done && reserve_array(&prepared->blocks, &prepared->capacity, needed, sizeof *prepared->blocks);
    if (analyzer->attributing)
        done = done &&
               reserve_array(&prepared->now, &prepared->tag_capacity[0], needed, sizeof *prepared->now) &&
               reserve_array(&prepared->leave, &prepared->tag_capacity[1], needed, sizeof *prepared->leave) &&
               reserve_array(&prepared->reference, &prepared->tag_capacity[2], needed,
                             sizeof *prepared->reference);
    return done ? FM_OK : fm_fail_memory(error, more * sizeof *prepared->blocks, "the blocks of a batch");
}

/* With attribution: the pairs of what was left out are counted. */
static fm_status count_pairs(const fm_analyzer *analyzer, fm_preparer *preparer, const fm_batch *batch,
                             fm_error *error)
{
    const fm_tagged_cut *cut = &preparer->cut;
    if (cut->all_tags > FM_TAG_MAX) return fm_check_tags(batch, 0, batch->count, error);
    fm_status status = fm_pair_table_reserve(&preparer->pairs.table, cut->pair_count, error);
    if (status == FM_OK) analyzer->kernels->count_pairs(&preparer->pairs.table, cut->pair, cut->pair_count);
    return status;
}

static fm_status prepared_cut(const fm_analyzer *analyzer, const fm_batch *batch, fm_preparer *preparer,
                              fm_prepared *prepared, fm_error *error)
{
    fm_tagged_cut *tagged = preparer ? &preparer->cut : NULL;
    fm_block_cutter cutter = {.kernels = analyzer->kernels,
                              .batch = batch,
                              .shift = analyzer->shift,
                              .end = batch->count,
                              .distinct = !analyzer->sink && !analyzer->with_times,
                              .tagged = tagged};
    fm_status status = FM_OK;
    if (tagged) tagged->count = tagged->all_tags = 0;
    while (status == FM_OK && fm_block_cutter_left(&cutter) > 0) {
        const uint64_t left = fm_block_cutter_left(&cutter);
        size_t count;
        /* With tags, an access of those cut at a time may be to two blocks. */
        status = prepared_reserve(analyzer, prepared, left + (tagged ? FM_TAGGED_CUT_MOST : 0), error);
        if (status != FM_OK) break;
        if (tagged) { /* wherever the arrays are now */
            tagged->blocks = prepared->blocks;
            tagged->now = prepared->now;
            tagged->leave = prepared->leave;
            tagged->reference = prepared->reference;
        }
        status =
            fm_block_cutter_next(&cutter, prepared->blocks + prepared->count, (size_t)left, &count, error);
        prepared->count += count;
        if (status == FM_OK && tagged) status = count_pairs(analyzer, preparer, batch, error);
    }
    prepared->repeats = cutter.repeats;
    return status;
}

static fm_status cut_tagged(fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                            fm_error *error)
{
    fm_preparer *preparer;
    fm_status status = fm_analyzer_preparer(analyzer, prepared->preparer, &preparer, error);
    if (status == FM_OK) status = fm_preparer_start_pairs(analyzer, preparer, error);
    if (status == FM_OK) status = prepared_cut(analyzer, batch, preparer, prepared, error);
    return status == FM_OK ? fm_preparer_pour_pairs(analyzer, preparer, error) : status;
}

/* May the batch's accesses touch so many blocks that these are better not held all at once? */
static bool too_long(const fm_analyzer *analyzer, const fm_batch *batch)
{
    enum { MOST_BLOCKS = 1 << 18, FREE_BLOCKS = 1 << 14 };
    const unsigned shift = analyzer->shift;
    if (!batch->size) return false;
    uint64_t most = FREE_BLOCKS + batch->count * fm_blocks_for_each(shift); /* within the budget */
    if (most > MOST_BLOCKS) most = MOST_BLOCKS;
    const uint32_t all = analyzer->kernels->all_bits(batch->size, batch->count);
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
    const fm_batch known = fm_analyzer_known(analyzer, batch);
    if (known.count == 0) return FM_OK;
    if (too_long(analyzer, &known))
        return fm_fail(error, FM_E_LIMIT, NULL, "accesses to very many blocks are not prepared");
    return analyzer->attributing ? cut_tagged(analyzer, &known, prepared, error)
                                 : prepared_cut(analyzer, &known, NULL, prepared, error);
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
