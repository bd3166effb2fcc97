/* SPDX-License-Identifier: Apache-2.0 */
/* burst_analysis.c - see sampled_thread.h. One pass with a hash table of blocks; another table joins uses of
 * the same kind. */
#include "sample/sampled_thread.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A block that was met. */
typedef struct block_slot {
    uint64_t block;
    uint32_t last; /* reference to it; FM_BURST_NONE: the slot is empty */
    uint32_t tag;
} block_slot;

/* Uses of one kind; count 0: the slot is empty. */
typedef fm_burst_kind kind_slot;

/*
 * Slots of a hash table. It begins small with each burst and grows with what it holds: most bursts are short
 * and touch few blocks, and their tables then stay in the processor's nearest cache. Memory is kept.
 */
enum { SLOT_BYTES = 16, FIRST_ROOM = 1 << 9 };
typedef struct slot_table {
    void *slots, *spare; /* spare: what the slots are copied to when the table grows */
    size_t capacity;     /* slots that there is memory for, in both */
    size_t room, count;  /* slots in use, a power of two; of these, those that hold something */
    int empty;           /* the bytes of an empty slot */
} slot_table;
_Static_assert(sizeof(block_slot) == SLOT_BYTES && sizeof(kind_slot) == SLOT_BYTES, "slots have one size");

struct fm_burst_table {
    slot_table blocks, kinds;
};

enum { EXACT_BELOW = 1024 };

fm_status fm_burst_table_create(fm_burst_table **table, fm_error *error)
{
    *table = fm_calloc(1, sizeof **table);
    if (!*table) return fm_fail_memory(error, sizeof **table, "the tables of bursts");
    (*table)->blocks.empty = 0xff;
    return FM_OK;
}

void fm_burst_table_destroy(fm_burst_table *table)
{
    if (!table) return;
    free(table->blocks.slots);
    free(table->blocks.spare);
    free(table->kinds.slots);
    free(table->kinds.spare);
    free(table);
}

static fm_status reserve_touches(slot_table *table, size_t room, fm_error *error)
{
    if (room <= table->capacity) return FM_OK;
    void *slots = realloc(table->slots, room * SLOT_BYTES);
    if (slots) table->slots = slots;
    void *spare = realloc(table->spare, room * SLOT_BYTES);
    if (spare) table->spare = spare;
    if (!slots || !spare) return fm_fail_memory(error, room * SLOT_BYTES, "the uses of a burst");
    table->capacity = room;
    return FM_OK;
}

static fm_status begin_analysis(slot_table *table, fm_error *error)
{
    const fm_status status = reserve_touches(table, FIRST_ROOM, error);
    if (status != FM_OK) return status;
    table->room = FIRST_ROOM;
    table->count = 0;
    memset(table->slots, table->empty, FIRST_ROOM * SLOT_BYTES);
    return FM_OK;
}

/* It is four times as large, and empty; what it held is in the spare slots. */
static fm_status enlarge_table(slot_table *table, fm_error *error)
{
    const fm_status status = reserve_touches(table, table->room * 4, error);
    if (status != FM_OK) return status;
    void *old = table->slots;
    table->slots = table->spare;
    table->spare = old;
    table->room *= 4;
    memset(table->slots, table->empty, table->room * SLOT_BYTES);
    return FM_OK;
}

static uint64_t mix_block(uint64_t value)
{
    value *= UINT64_C(0x9E3779B97F4A7C15);
    return value ^ value >> 29;
}

/* ---- blocks ---- */

/* The slot of a block, or the empty one where it belongs. */
static block_slot *block_place(const slot_table *blocks, uint64_t block)
{
    block_slot *slots = blocks->slots;
    size_t at = mix_block(block) & (blocks->room - 1);
    while (slots[at].last != FM_BURST_NONE && slots[at].block != block) at = (at + 1) & (blocks->room - 1);
    return &slots[at];
}

static fm_status grow_blocks(slot_table *blocks, fm_error *error)
{
    const size_t room = blocks->room;
    const fm_status status = enlarge_table(blocks, error);
    if (status != FM_OK) return status;
    const block_slot *old = blocks->spare;
    for (size_t i = 0; i < room; i++)
        if (old[i].last != FM_BURST_NONE) *block_place(blocks, old[i].block) = old[i];
    return FM_OK;
}

/* The slot of a block; fresh: it was not met before. NULL: no memory. */
static inline block_slot *meet_block(slot_table *blocks, uint64_t block, bool *fresh, fm_error *error)
{
    block_slot *slot = block_place(blocks, block);
    *fresh = slot->last == FM_BURST_NONE;
    if (!*fresh) return slot;
    if (blocks->count * 2 >= blocks->room) {
        if (grow_blocks(blocks, error) != FM_OK) return NULL;
        slot = block_place(blocks, block);
    }
    *slot = (block_slot){.block = block};
    blocks->count++;
    return slot;
}

/* ---- kinds ---- */

static kind_slot *kind_place(const slot_table *kinds, uint32_t use, uint32_t reuse, uint32_t time)
{
    kind_slot *slots = kinds->slots;
    size_t at =
        mix_block(((uint64_t)use << 32 | reuse) ^ time * UINT64_C(0xD6E8FEB86659FD93)) & (kinds->room - 1);
    for (;; at = (at + 1) & (kinds->room - 1)) {
        kind_slot *slot = &slots[at];
        if (slot->count == 0 || (slot->time == time && slot->use == use && slot->reuse == reuse)) return slot;
    }
}

static fm_status grow_kinds(slot_table *kinds, fm_error *error)
{
    const size_t room = kinds->room;
    const fm_status status = enlarge_table(kinds, error);
    if (status != FM_OK) return status;
    const kind_slot *old = kinds->spare;
    for (size_t i = 0; i < room; i++)
        if (old[i].count > 0) *kind_place(kinds, old[i].use, old[i].reuse, old[i].time) = old[i];
    return FM_OK;
}

static uint32_t rounded_size(uint32_t time)
{
    if (time < EXACT_BELOW) return time;
    const int shift = 31 - __builtin_clz(time) - 6;
    return (time >> shift << shift) + (UINT32_C(1) << shift >> 1);
}

/* most: of time distances. */
static inline fm_status count_kind(slot_table *kinds, uint32_t use, uint32_t reuse, uint32_t time,
                                   uint32_t most, fm_error *error)
{
    time = rounded_size(time) < most ? rounded_size(time) : most;
    kind_slot *slot = kind_place(kinds, use, reuse, time);
    if (slot->count == 0) {
        if (kinds->count * 2 >= kinds->room) {
            fm_status status = grow_kinds(kinds, error);
            if (status != FM_OK) return status;
            slot = kind_place(kinds, use, reuse, time);
        }
        *slot = (kind_slot){.use = use, .reuse = reuse, .time = time};
        kinds->count++;
    }
    slot->count++;
    return FM_OK;
}

/* ---- the burst ---- */

static uint64_t last_block(const fm_burst_touch *touch, unsigned shift)
{
    const uint64_t last = touch->address + touch->size - 1;
    return (last < touch->address ? UINT64_MAX : last) >> shift;
}

static uint32_t count_references(const fm_burst_touch *touches, size_t *count, unsigned shift)
{
    uint64_t all = 0;
    for (size_t i = 0; i < *count; i++) {
        const uint64_t more = last_block(&touches[i], shift) - (touches[i].address >> shift) + 1;
        if (all + more > FM_BURST_REFERENCES_MOST) {
            *count = i;
            break;
        }
        all += more;
    }
    return (uint32_t)all;
}

static fm_status observe_touch(fm_burst_table *table, const fm_burst_touch *touches, size_t count,
                               unsigned shift, uint32_t picked, uint64_t picked_address, fm_burst_view *view,
                               fm_error *error)
{
    uint32_t number = 0;
    for (size_t i = 0; i < count; i++) {
        const fm_burst_touch *touch = &touches[i];
        const uint64_t last = last_block(touch, shift);
        for (uint64_t block = touch->address >> shift;; block++, number++) {
            bool fresh;
            block_slot *slot = meet_block(&table->blocks, block, &fresh, error);
            if (!slot) return FM_E_NOMEM;
            if (!fresh && slot->last < view->uses) {
                fm_status status = count_kind(&table->kinds, slot->tag, touch->tag, number - slot->last,
                                              view->references - 1, error);
                if (status != FM_OK) return status;
            }
            if (!fresh && slot->last == view->picked) view->picked = FM_BURST_NONE;
            if (i == picked && block == picked_address >> shift) view->picked = number;
            slot->last = number;
            slot->tag = touch->tag;
            if (block == last) {
                number++;
                break;
            }
        }
    }
    return FM_OK;
}

static fm_status copy_kinds(fm_burst_table *table, uint32_t *count, fm_burst_view *view, fm_error *error)
{
    const size_t before = view->found_count;
    fm_burst_kind *grown = realloc(view->kinds, (before + table->kinds.count + 1) * sizeof *grown);
    if (!grown) return fm_fail_memory(error, table->kinds.count * sizeof *grown, "the uses of a burst");
    view->kinds = grown;
    size_t at = before;
    const kind_slot *kinds = table->kinds.slots;
    for (size_t i = 0; i < table->kinds.room; i++)
        if (kinds[i].count > 0) grown[at++] = kinds[i];
    *count = (uint32_t)table->kinds.count;
    return FM_OK;
}

fm_status fm_burst_view_make(fm_burst_table *table, const fm_burst_touch *touches, size_t count,
                             unsigned granularity_shift, uint32_t picked, uint64_t picked_address,
                             fm_burst_view *view, fm_error *error)
{
    *view = (fm_burst_view){.picked = FM_BURST_NONE};
    view->references = count_references(touches, &count, granularity_shift);
    view->uses = view->references / 2;
    fm_status status = begin_analysis(&table->blocks, error);
    if (status == FM_OK) status = begin_analysis(&table->kinds, error);
    if (status == FM_OK)
        status = observe_touch(table, touches, count, granularity_shift, picked, picked_address, view, error);
    if (status == FM_OK) status = copy_kinds(table, &view->found_count, view, error);
    if (status == FM_OK) status = begin_analysis(&table->kinds, error);
    for (size_t i = 0; i < table->blocks.room && status == FM_OK; i++) {
        const block_slot *slot = (const block_slot *)table->blocks.slots + i;
        if (slot->last < view->uses) /* not the empty ones */
            status = count_kind(&table->kinds, slot->tag, 0, view->references - 1 - slot->last,
                                view->references - 1, error);
    }
    if (status == FM_OK) status = copy_kinds(table, &view->cut_count, view, error);
    if (status != FM_OK) {
        free(view->kinds);
        *view = (fm_burst_view){.picked = FM_BURST_NONE};
    }
    return status;
}

/* A word that is used by the first `from` accesses waits to be used again: slot->tag is 1. */
fm_status fm_burst_unused_words(fm_burst_table *table, const fm_burst_touch *touches, size_t count,
                                size_t from, size_t *unused, fm_error *error)
{
    enum { WORD_SHIFT = 3 };
    const fm_status status = begin_analysis(&table->blocks, error);
    *unused = 0;
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        const uint64_t first = touches[i].address >> WORD_SHIFT, last = last_block(&touches[i], WORD_SHIFT);
        if (i >= from && *unused == 0) break;
        for (uint64_t word = first;; word++) {
            const bool waits = word == first && i < from;
            bool fresh;
            block_slot *slot =
                waits ? meet_block(&table->blocks, word, &fresh, error) : block_place(&table->blocks, word);
            if (!slot) return FM_E_NOMEM;
            if (slot->last == 0) { /* else it is empty */
                *unused -= slot->tag;
                slot->tag = waits;
                *unused += waits;
            }
            if (word == last) break;
        }
    }
    return status;
}
