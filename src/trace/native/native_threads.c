/* SPDX-License-Identifier: Apache-2.0 */
/* native_threads.c - native traces by several threads: for one, and each its own. */
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"
#include "trace/native/native_blocks.h"

#include <inttypes.h>
#include <stdlib.h>

/* ======== for one ======== */

/*
 * Blocks in a ring (base/crew.h), in the order of the file. The consumer reads the headers, which say where
 * the next one is, and so cuts blocks for the crew; the payloads are read, checked and decoded by whoever is
 * free.
 *
 * Headers are a hundred bytes of some hundred thousand: reading them one after the other takes a microsecond
 * for 65536 references. The crew is called when half of the ring is free, not for every single slot: waking a
 * thread takes longer than that.
 */

enum { SLOTS_A_THREAD = 2 };

typedef struct ahead_slot {
    fm_native_block block;
    fm_native_place place;
    fm_columns columns;
    bool sound;   /* the payload is what the header says */
    bool decoded; /* under the lock: the worker is done with it */
} ahead_slot;

struct fm_native_ahead {
    const fm_input *input;
    unsigned columns;
    fm_crew *crew;
    fm_native_block_reader *workers;
    size_t worker_count;
    ahead_slot *slots;
    /* Only the one that takes: */
    fm_native_place next; /* to be cut */
    bool ended;           /* what is at `next` is not the header of a block that may stand there */
    /* Under the crew's lock; cut and taken are changed by the one that takes only. */
    fm_ring ring;
};

static ahead_slot *slot_of(const fm_native_ahead *ahead, uint64_t block)
{
    return &ahead->slots[fm_ring_slot(&ahead->ring, block)];
}

/* ---- the crew's side ---- */

static bool native_ahead_claim(void *context, fm_crew_job *job)
{
    fm_native_ahead *ahead = context;
    if (ahead->ring.claimed == ahead->ring.cut) return false;
    *job = (fm_crew_job){.task = fm_ring_claim(&ahead->ring)};
    return true;
}

/* Anything that goes wrong here goes wrong again for the walk that comes after us, which then says what. */
static void native_ahead_decode(void *context, fm_crew_job job, unsigned number)
{
    const fm_native_ahead *ahead = context;
    ahead_slot *slot = &ahead->slots[job.task];
    slot->sound = fm_native_block_reader_read(&ahead->workers[number], ahead->input, slot->place,
                                              &slot->block, &slot->columns);
}

static void native_ahead_complete(void *context, fm_crew_job job)
{
    const fm_native_ahead *ahead = context;
    ahead->slots[job.task].decoded = true;
}

static bool next_is_decoded(void *context)
{
    const fm_native_ahead *ahead = context;
    return slot_of(ahead, ahead->ring.taken)->decoded;
}

/* ---- start and stop ---- */

static fm_status native_ahead_allocate(fm_native_ahead *ahead, fm_error *error)
{
    ahead->workers = fm_calloc(ahead->worker_count, sizeof *ahead->workers);
    ahead->slots = fm_calloc(ahead->ring.slots, sizeof *ahead->slots);
    if (!ahead->workers || !ahead->slots)
        return fm_fail_memory(error, ahead->ring.slots * sizeof *ahead->slots, "decoding by several threads");
    for (size_t i = 0; i < ahead->worker_count; i++)
        if (!fm_native_block_reader_init(&ahead->workers[i]))
            return fm_fail_memory(error, fm_native_raw_most(), "decoding by several threads");
    for (size_t i = 0; i < ahead->ring.slots; i++) {
        fm_status status = fm_columns_allocate(&ahead->slots[i].columns, ahead->columns, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

fm_status fm_native_ahead_start(fm_native_ahead **made, const fm_input *input, unsigned columns,
                                fm_native_place from, unsigned threads, fm_error *error)
{
    static const fm_crew_work work = {
        .claim = native_ahead_claim, .run = native_ahead_decode, .complete = native_ahead_complete};
    *made = NULL;
    fm_native_ahead *ahead = fm_calloc(1, sizeof *ahead);
    if (!ahead) return fm_fail_memory(error, sizeof *ahead, "decoding by several threads");
    ahead->input = input;
    ahead->columns = columns;
    ahead->next = from;
    ahead->worker_count = threads;
    ahead->ring.slots = (size_t)SLOTS_A_THREAD * threads;
    fm_status status = native_ahead_allocate(ahead, error);
    if (status == FM_OK) status = fm_crew_create(&ahead->crew, threads, &work, ahead, error);
    if (status != FM_OK) {
        fm_native_ahead_stop(ahead);
        return status;
    }
    *made = ahead;
    return FM_OK;
}

void fm_native_ahead_stop(fm_native_ahead *ahead)
{
    if (!ahead) return;
    fm_crew_destroy(ahead->crew);
    for (size_t i = 0; ahead->workers && i < ahead->worker_count; i++)
        fm_native_block_reader_clear(&ahead->workers[i]);
    for (size_t i = 0; ahead->slots && i < ahead->ring.slots; i++) fm_columns_free(&ahead->slots[i].columns);
    free(ahead->workers);
    free(ahead->slots);
    free(ahead);
}

/* ---- cutting and taking ---- */

/* The header at ahead->next goes into a slot. False: it is none, or not of the block that belongs there. */
static bool read_header(fm_native_ahead *ahead, ahead_slot *slot)
{
    if (!fm_native_header_at(ahead->input, ahead->columns, ahead->next, &slot->block)) return false;
    slot->place = ahead->next;
    slot->decoded = false;
    ahead->next = fm_native_place_behind(ahead->next, &slot->block);
    return true;
}

static void native_ahead_cut(fm_native_ahead *ahead)
{
    const size_t room = ahead->ring.slots - fm_ring_under_way(&ahead->ring);
    size_t blocks = 0;
    while (blocks < room && read_header(ahead, slot_of(ahead, ahead->ring.cut + blocks))) blocks++;
    ahead->ended = blocks < room;
    fm_crew_lock(ahead->crew);
    fm_ring_cut(&ahead->ring, blocks);
    fm_crew_call(ahead->crew);
    fm_crew_unlock(ahead->crew);
}

bool fm_native_ahead_next(fm_native_ahead *ahead, fm_columns *columns, fm_native_block *block)
{
    if (!ahead->ended && fm_ring_under_way(&ahead->ring) <= ahead->ring.slots / 2) native_ahead_cut(ahead);
    if (fm_ring_under_way(&ahead->ring) == 0) return false;
    fm_crew_help(ahead->crew, next_is_decoded);
    ahead_slot *slot = slot_of(ahead, ahead->ring.taken);
    if (!slot->sound) return false;
    const fm_columns decoded = slot->columns;
    slot->columns = *columns;
    *columns = decoded;
    *block = slot->block;
    fm_crew_lock(ahead->crew);
    fm_ring_take(&ahead->ring);
    fm_crew_unlock(ahead->crew);
    return true;
}

/* ======== each its own ======== */

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
    *supply = (fm_supply){.context = share,
                          .workers = share->what.workers,
                          .claim = native_share_claim,
                          .fetch = native_share_fetch,
                          .left = native_share_left};
}

void fm_native_share_counts(const fm_native_share *share, uint64_t *skipped, uint64_t *fetched)
{
    *skipped = __atomic_load_n(&share->skipped, __ATOMIC_RELAXED);
    *fetched = __atomic_load_n(&share->fetched, __ATOMIC_RELAXED);
}
