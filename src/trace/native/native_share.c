/* SPDX-License-Identifier: Apache-2.0 */
/* native_share.c - see native_share.h. */
#include "trace/native/native_share.h"

#include "base/error.h"
#include "base/memory.h"
#include "trace/columns.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct share_worker {
    fm_native_block_reader reader;
    fm_columns columns;
} share_worker;

struct fm_native_share {
    const fm_input *input;
    fm_native_sharing what;
    fm_native_passed passed;
    void *context;
    fm_native_place next; /* to be claimed */
    uint64_t references;  /* to be expected in all */
    bool ended;           /* what is at `next` is not the header of a block that may stand there */
    uint64_t skipped;     /* atomic */
    uint64_t fetched;     /* atomic */
    share_worker worker[];
};

static bool native_share_claim(void *context, uint64_t wanted, fm_trace_range *range)
{
    fm_native_share *share = context;
    const fm_native_place first = share->next;
    uint64_t blocks = 0;
    while (!share->ended && share->next.reference - first.reference < wanted) {
        fm_native_block block;
        if (!fm_native_header_at(share->input, share->what.columns, share->next, &block)) {
            share->ended = true;
            break;
        }
        share->passed(share->context, share->next, &block);
        share->next = fm_native_place_behind(share->next, &block);
        blocks++;
    }
    *range = (fm_trace_range){.at = first.offset, .reference = first.reference, .left = blocks};
    return blocks > 0;
}

static fm_status native_share_fetch(void *context, unsigned worker, fm_trace_range *range, fm_batch *batch,
                       fm_error *error)
{
    fm_native_share *share = context;
    share_worker *self = &share->worker[worker];
    fm_columns *columns = &self->columns;
    columns->count = 0;
    while (range->left > 0 && columns->count == 0) {
        const fm_native_place place = {.offset = range->at, .reference = range->reference};
        fm_native_block block;
        if (!fm_native_header_at(share->input, share->what.columns, place, &block) ||
            !fm_native_block_reader_read(&self->reader, share->input, place, &block, columns))
            return fm_fail_at(error, FM_E_CORRUPT, share->input->name, FM_PLACE_BYTE, place.offset,
                              "a block of the trace is damaged, or was while it was read");
        const fm_native_place behind = fm_native_place_behind(place, &block);
        range->at = behind.offset;
        range->reference = behind.reference;
        range->left--;
        __atomic_fetch_add(&share->skipped, fm_columns_filter(columns, share->what.fetches),
                           __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&share->fetched, columns->count, __ATOMIC_RELAXED);
    fm_columns_batch(columns, batch);
    return FM_OK;
}

static uint64_t native_share_left(const void *context)
{
    const fm_native_share *share = context;
    if (share->ended || share->references < share->next.reference) return 0;
    return share->references - share->next.reference;
}

fm_status fm_native_share_start(fm_native_share **made, const fm_input *input, const fm_native_sharing *what,
                                fm_native_place from, uint64_t references, fm_native_passed passed,
                                void *context, fm_error *error)
{
    const size_t bytes = sizeof(fm_native_share) + what->workers * sizeof(share_worker);
    fm_native_share *share = *made = fm_calloc(1, bytes);
    if (!share) return fm_fail_memory(error, bytes, "decoding by several threads");
    share->input = input;
    share->what = *what;
    share->passed = passed;
    share->context = context;
    share->next = from;
    share->references = references;
    fm_status status = FM_OK;
    /* The other columns are checked, and go nowhere. */
    const unsigned sites = what->sites ? FM_COLUMN_SITE : 0,
                   delivered = what->columns & (FM_COLUMN_SIZE | FM_COLUMN_KIND | sites);
    for (unsigned i = 0; i < what->workers && status == FM_OK; i++)
        status = fm_native_block_reader_init(&share->worker[i].reader)
                     ? fm_columns_allocate(&share->worker[i].columns, delivered, error)
                     : fm_fail_memory(error, fm_native_raw_most(), "decoding by several threads");
    if (status == FM_OK) return FM_OK;
    fm_native_share_stop(share);
    *made = NULL;
    return status;
}

void fm_native_share_stop(fm_native_share *share)
{
    if (!share) return;
    for (unsigned i = 0; i < share->what.workers; i++) {
        fm_native_block_reader_clear(&share->worker[i].reader);
        fm_columns_free(&share->worker[i].columns);
    }
    free(share);
}

void fm_native_share_supply(fm_native_share *share, fm_supply *supply)
{
    *supply = (fm_supply){
        .context = share, .workers = share->what.workers, .claim = native_share_claim, .fetch = native_share_fetch, .left = native_share_left};
}

void fm_native_share_counts(const fm_native_share *share, uint64_t *skipped, uint64_t *fetched)
{
    *skipped = __atomic_load_n(&share->skipped, __ATOMIC_RELAXED);
    *fetched = __atomic_load_n(&share->fetched, __ATOMIC_RELAXED);
}
