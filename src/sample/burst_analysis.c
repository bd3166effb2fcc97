/* SPDX-License-Identifier: Apache-2.0 */
/* burst_analysis.c - see burst_analysis.h. One pass with a hash table of blocks; another table joins uses of
 * the same kind. */
#include "sample/burst_analysis.h"

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
 * Both tables are hash tables that begin small with each burst and grow with what it holds: most bursts are
 * short and touch few blocks, and their tables then stay in the processor's nearest cache. Memory is kept.
 */
struct fm_burst_table {
    block_slot *blocks, *blocks_spare; /* spare: what the table is copied to when it grows */
    kind_slot *kinds, *kinds_spare;
    size_t block_capacity, kind_capacity; /* slots that there is memory for, of each */
    size_t block_room, kind_room;         /* slots in use; powers of two */
    size_t block_count, kind_count;
};

enum { FIRST_ROOM = 1 << 9, EXACT_BELOW = 1024 };

fm_status fm_burst_table_create(fm_burst_table **table, fm_error *error)
{
    *table = fm_calloc(1, sizeof **table);
    return *table ? FM_OK : fm_fail_memory(error, sizeof **table, "the tables of bursts");
}

void fm_burst_table_destroy(fm_burst_table *table)
{
    if (!table) return;
    free(table->blocks);
    free(table->blocks_spare);
    free(table->kinds);
    free(table->kinds_spare);
    free(table);
}

static uint64_t mix(uint64_t value)
{
    value *= UINT64_C(0x9E3779B97F4A7C15);
    return value ^ value >> 29;
}

/* ---- blocks ---- */

/* The slot of a block, or the empty one where it belongs. */
static block_slot *block_place(const fm_burst_table *table, uint64_t block)
{
    size_t at = mix(block) & (table->block_room - 1);
    while (table->blocks[at].last != FM_BURST_NONE && table->blocks[at].block != block)
        at = (at + 1) & (table->block_room - 1);
    return &table->blocks[at];
}

/* Memory for so many slots of both kinds of a table; what is in the table stays. */
static fm_status reserve_blocks(fm_burst_table *table, size_t room, fm_error *error)
{
    if (room <= table->block_capacity) return FM_OK;
    block_slot *blocks = realloc(table->blocks, room * sizeof *blocks);
    if (blocks) table->blocks = blocks;
    block_slot *spare = realloc(table->blocks_spare, room * sizeof *spare);
    if (spare) table->blocks_spare = spare;
    if (!blocks || !spare) return fm_fail_memory(error, room * sizeof *blocks, "the blocks of a burst");
    table->block_capacity = room;
    return FM_OK;
}

static void empty_blocks(fm_burst_table *table, size_t room)
{
    memset(table->blocks, 0xff, room * sizeof *table->blocks);
    table->block_room = room;
}

static fm_status begin_blocks(fm_burst_table *table, fm_error *error)
{
    const fm_status status = reserve_blocks(table, FIRST_ROOM, error);
    if (status == FM_OK) empty_blocks(table, FIRST_ROOM);
    table->block_count = 0;
    return status;
}

static fm_status grow_blocks(fm_burst_table *table, fm_error *error)
{
    const size_t room = table->block_room;
    const fm_status status = reserve_blocks(table, room * 4, error);
    if (status != FM_OK) return status;
    block_slot *old = table->blocks;
    table->blocks = table->blocks_spare;
    table->blocks_spare = old;
    empty_blocks(table, room * 4);
    for (size_t i = 0; i < room; i++)
        if (old[i].last != FM_BURST_NONE) *block_place(table, old[i].block) = old[i];
    return FM_OK;
}

/* The slot of a block; fresh: it was not met before. NULL: no memory. */
static inline block_slot *meet(fm_burst_table *table, uint64_t block, bool *fresh, fm_error *error)
{
    block_slot *slot = block_place(table, block);
    *fresh = slot->last == FM_BURST_NONE;
    if (!*fresh) return slot;
    if (table->block_count * 2 >= table->block_room) {
        if (grow_blocks(table, error) != FM_OK) return NULL;
        slot = block_place(table, block);
    }
    *slot = (block_slot){.block = block};
    table->block_count++;
    return slot;
}

/* ---- kinds ---- */

static kind_slot *kind_place(const fm_burst_table *table, uint32_t use, uint32_t reuse, uint32_t time)
{
    size_t at =
        mix(((uint64_t)use << 32 | reuse) ^ time * UINT64_C(0xD6E8FEB86659FD93)) & (table->kind_room - 1);
    for (;; at = (at + 1) & (table->kind_room - 1)) {
        kind_slot *slot = &table->kinds[at];
        if (slot->count == 0 || (slot->time == time && slot->use == use && slot->reuse == reuse)) return slot;
    }
}

static fm_status reserve_kinds(fm_burst_table *table, size_t room, fm_error *error)
{
    if (room <= table->kind_capacity) return FM_OK;
    kind_slot *kinds = realloc(table->kinds, room * sizeof *kinds);
    if (kinds) table->kinds = kinds;
    kind_slot *spare = realloc(table->kinds_spare, room * sizeof *spare);
    if (spare) table->kinds_spare = spare;
    if (!kinds || !spare) return fm_fail_memory(error, room * sizeof *kinds, "the kinds of uses of a burst");
    table->kind_capacity = room;
    return FM_OK;
}

static void empty_kinds(fm_burst_table *table, size_t room)
{
    memset(table->kinds, 0, room * sizeof *table->kinds);
    table->kind_room = room;
}

static fm_status begin_kinds(fm_burst_table *table, fm_error *error)
{
    const fm_status status = reserve_kinds(table, FIRST_ROOM, error);
    if (status == FM_OK) empty_kinds(table, FIRST_ROOM);
    table->kind_count = 0;
    return status;
}

static fm_status grow_kinds(fm_burst_table *table, fm_error *error)
{
    const size_t room = table->kind_room;
    const fm_status status = reserve_kinds(table, room * 4, error);
    if (status != FM_OK) return status;
    kind_slot *old = table->kinds;
    table->kinds = table->kinds_spare;
    table->kinds_spare = old;
    empty_kinds(table, room * 4);
    for (size_t i = 0; i < room; i++)
        if (old[i].count > 0) *kind_place(table, old[i].use, old[i].reuse, old[i].time) = old[i];
    return FM_OK;
}

static uint32_t rounded(uint32_t time)
{
    if (time < EXACT_BELOW) return time;
    const int shift = 31 - __builtin_clz(time) - 6;
    return (time >> shift << shift) + (UINT32_C(1) << shift >> 1);
}

/* most: of time distances. */
static inline fm_status count_kind(fm_burst_table *table, uint32_t use, uint32_t reuse, uint32_t time,
                                   uint32_t most, fm_error *error)
{
    time = rounded(time) < most ? rounded(time) : most;
    kind_slot *slot = kind_place(table, use, reuse, time);
    if (slot->count == 0) {
        if (table->kind_count * 2 >= table->kind_room) {
            fm_status status = grow_kinds(table, error);
            if (status != FM_OK) return status;
            slot = kind_place(table, use, reuse, time);
        }
        *slot = (kind_slot){.use = use, .reuse = reuse, .time = time};
        table->kind_count++;
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

static fm_status observe(fm_burst_table *table, const fm_burst_touch *touches, size_t count, unsigned shift,
                         uint32_t picked, uint64_t picked_address, fm_burst_view *view, fm_error *error)
{
    uint32_t number = 0;
    for (size_t i = 0; i < count; i++) {
        const fm_burst_touch *touch = &touches[i];
        const uint64_t last = last_block(touch, shift);
        for (uint64_t block = touch->address >> shift;; block++, number++) {
            bool fresh;
            block_slot *slot = meet(table, block, &fresh, error);
            if (!slot) return FM_E_NOMEM;
            if (!fresh && slot->last < view->uses) {
                fm_status status = count_kind(table, slot->tag, touch->tag, number - slot->last,
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
    fm_burst_kind *grown = realloc(view->kinds, (before + table->kind_count + 1) * sizeof *grown);
    if (!grown) return fm_fail_memory(error, table->kind_count * sizeof *grown, "the uses of a burst");
    view->kinds = grown;
    size_t at = before;
    for (size_t i = 0; i < table->kind_room; i++)
        if (table->kinds[i].count > 0) grown[at++] = table->kinds[i];
    *count = (uint32_t)table->kind_count;
    return FM_OK;
}

fm_status fm_burst_view_make(fm_burst_table *table, const fm_burst_touch *touches, size_t count,
                             unsigned granularity_shift, uint32_t picked, uint64_t picked_address,
                             fm_burst_view *view, fm_error *error)
{
    *view = (fm_burst_view){.picked = FM_BURST_NONE};
    view->references = count_references(touches, &count, granularity_shift);
    view->uses = view->references / 2;
    fm_status status = begin_blocks(table, error);
    if (status == FM_OK) status = begin_kinds(table, error);
    if (status == FM_OK)
        status = observe(table, touches, count, granularity_shift, picked, picked_address, view, error);
    if (status == FM_OK) status = copy_kinds(table, &view->found_count, view, error);
    if (status == FM_OK) status = begin_kinds(table, error);
    for (size_t i = 0; i < table->block_room && status == FM_OK; i++) {
        const block_slot *slot = &table->blocks[i];
        if (slot->last < view->uses) /* not the empty ones */
            status = count_kind(table, slot->tag, 0, view->references - 1 - slot->last, view->references - 1,
                                error);
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
    const fm_status status = begin_blocks(table, error);
    *unused = 0;
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        const uint64_t first = touches[i].address >> WORD_SHIFT, last = last_block(&touches[i], WORD_SHIFT);
        if (i >= from && *unused == 0) break;
        for (uint64_t word = first;; word++) {
            const bool waits = word == first && i < from;
            bool fresh;
            block_slot *slot = waits ? meet(table, word, &fresh, error) : block_place(table, word);
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
