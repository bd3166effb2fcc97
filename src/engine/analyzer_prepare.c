/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_prepare.c - what is done to a batch before an engine sees it, for a thread that has the time: see
 * fm_prepared in fathom/analyzer.h. It reads of the analyzer only what never changes.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/analyzer_state.h"

#include <stdlib.h>

bool fm_analyzer_can_prepare(const fm_analyzer *analyzer)
{
    return analyzer->ops->spared_repeats && !analyzer->attributing && !analyzer->sink &&
           !analyzer->with_times;
}

static fm_status reserve(fm_prepared *prepared, uint64_t more, fm_error *error)
{
    enum { VECTOR = 16 }; /* kernels write that far beyond the last block */
    if (more > SIZE_MAX / 16 - prepared->count ||
        fm_array_reserve((void **)&prepared->blocks, &prepared->capacity, prepared->count + more + VECTOR,
                         sizeof *prepared->blocks) != 0)
        return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the blocks of a batch");
    return FM_OK;
}

/* An access that reaches beyond its block. */
static fm_status prepare_long(uint64_t block, uint64_t last, uint64_t left, fm_prepared *prepared,
                              fm_error *error)
{
    fm_status status = reserve(prepared, last - block + 1 + left, error);
    if (status != FM_OK) return status;
    for (; block < last; block++) prepared->blocks[prepared->count++] = block;
    prepared->blocks[prepared->count++] = last;
    return FM_OK;
}

fm_status fm_analyzer_prepare(const fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                              fm_error *error)
{
    const unsigned shift = analyzer->shift;
    size_t next = 0;
    prepared->count = 0;
    prepared->repeats = 0;
    fm_status status = reserve(prepared, batch->count, error);
    uint64_t before = batch->count > 0 ? ~(batch->address[0] >> shift) : 0;
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
        status = prepare_long(address >> shift, before, batch->count - next, prepared, error);
    }
    return status;
}

fm_status fm_analyzer_feed_prepared(fm_analyzer *analyzer, const fm_prepared *prepared, fm_error *error)
{
    if (!fm_analyzer_can_prepare(analyzer))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "this analyzer needs every single reference");
    fm_status status = fm_tally_reserve(&analyzer->distances, 1, error);
    if (status == FM_OK) status = fm_analyzer_feed_blocks(analyzer, prepared->blocks, prepared->count, error);
    if (status == FM_OK) fm_tally_add_many(&analyzer->distances, 0, prepared->repeats);
    return status;
}

void fm_prepared_free(fm_prepared *prepared)
{
    free(prepared->blocks);
    *prepared = (fm_prepared){0};
}
