/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_ahead.c - see native_ahead.h.
 *
 * A ring of slots, one block each; blocks are numbered in the order of the file, and block number i has slot
 * i % slot_count. The consumer reads the headers, which say where the next one is, and so deals blocks
 * to the crew (base/crew.h); the payloads are read, checked and decoded by whoever is free. Three counters
 * only ever grow: dealt >= claimed, dealt >= taken >= dealt - slot_count.
 *
 * Headers are a hundred bytes of some hundred thousand: reading them one after the other takes a microsecond
 * for 65536 references. The crew is called when half of the ring is free, not for every single slot: waking a
 * thread takes longer than that.
 */
#include "trace/native/native_ahead.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/columns.h"

#include <stdlib.h>

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
    size_t slot_count;
    /* Only the one that takes: */
    fm_native_place next; /* to be dealt */
    uint64_t taken;
    bool ended; /* what is at `next` is not the header of a block that may stand there */
    /* Under the crew's lock; `dealt` is changed by the one that takes only. */
    uint64_t dealt, claimed;
};

static ahead_slot *slot_of(const fm_native_ahead *ahead, uint64_t block)
{
    return &ahead->slots[block % ahead->slot_count];
}

/* ---- the crew's side ---- */

static bool native_ahead_claim(void *context, fm_crew_job *job)
{
    fm_native_ahead *ahead = context;
    if (ahead->claimed == ahead->dealt) return false;
    *job = (fm_crew_job){.task = (size_t)(ahead->claimed++ % ahead->slot_count)};
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
    return slot_of(ahead, ahead->taken)->decoded;
}

/* ---- start and stop ---- */

static fm_status native_ahead_allocate(fm_native_ahead *ahead, fm_error *error)
{
    ahead->workers = fm_calloc(ahead->worker_count, sizeof *ahead->workers);
    ahead->slots = fm_calloc(ahead->slot_count, sizeof *ahead->slots);
    if (!ahead->workers || !ahead->slots)
        return fm_fail_memory(error, ahead->slot_count * sizeof *ahead->slots, "decoding by several threads");
    for (size_t i = 0; i < ahead->worker_count; i++)
        if (!fm_native_block_reader_init(&ahead->workers[i]))
            return fm_fail_memory(error, fm_native_raw_most(), "decoding by several threads");
    for (size_t i = 0; i < ahead->slot_count; i++) {
        fm_status status = fm_columns_allocate(&ahead->slots[i].columns, ahead->columns, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

fm_status fm_native_ahead_start(fm_native_ahead **made, const fm_input *input, unsigned columns,
                                fm_native_place from, unsigned threads, fm_error *error)
{
    static const fm_crew_work work = {.claim = native_ahead_claim, .run = native_ahead_decode, .complete = native_ahead_complete};
    *made = NULL;
    fm_native_ahead *ahead = fm_calloc(1, sizeof *ahead);
    if (!ahead) return fm_fail_memory(error, sizeof *ahead, "decoding by several threads");
    ahead->input = input;
    ahead->columns = columns;
    ahead->next = from;
    ahead->worker_count = threads;
    ahead->slot_count = (size_t)SLOTS_A_THREAD * threads;
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
    for (size_t i = 0; ahead->slots && i < ahead->slot_count; i++) fm_columns_free(&ahead->slots[i].columns);
    free(ahead->workers);
    free(ahead->slots);
    free(ahead);
}

/* ---- dealing and taking ---- */

/* The header at ahead->next goes into a slot. False: it is none, or not of the block that belongs there. */
static bool read_header(fm_native_ahead *ahead, ahead_slot *slot)
{
    if (!fm_native_header_at(ahead->input, ahead->columns, ahead->next, &slot->block)) return false;
    slot->place = ahead->next;
    slot->decoded = false;
    ahead->next = fm_native_place_behind(ahead->next, &slot->block);
    return true;
}

static void native_ahead_deal(fm_native_ahead *ahead)
{
    uint64_t dealt = ahead->dealt;
    while (!ahead->ended && dealt - ahead->taken < ahead->slot_count) {
        if (read_header(ahead, slot_of(ahead, dealt)))
            dealt++;
        else
            ahead->ended = true;
    }
    fm_crew_lock(ahead->crew);
    ahead->dealt = dealt;
    fm_crew_call(ahead->crew);
    fm_crew_unlock(ahead->crew);
}

bool fm_native_ahead_next(fm_native_ahead *ahead, fm_columns *columns, fm_native_block *block)
{
    if (!ahead->ended && ahead->dealt - ahead->taken <= ahead->slot_count / 2) native_ahead_deal(ahead);
    if (ahead->taken == ahead->dealt) return false;
    fm_crew_help(ahead->crew, next_is_decoded);
    ahead_slot *slot = slot_of(ahead, ahead->taken);
    if (!slot->sound) return false;
    const fm_columns decoded = slot->columns;
    slot->columns = *columns;
    *columns = decoded;
    *block = slot->block;
    ahead->taken++;
    return true;
}
