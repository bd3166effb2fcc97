/* SPDX-License-Identifier: Apache-2.0 */
/* burst_analysis.c - see burst_analysis.h. One pass with a hash table of blocks; another table joins uses of
 * the same kind. */
#include "sample/burst_analysis.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A block that was met, in the round (burst and granularity) that it says. */
typedef struct block_slot {
    uint64_t block;
    uint32_t last, tag, round, spare;
} block_slot;

typedef struct kind_slot {
    uint32_t use, reuse, time, count, round;
} kind_slot;

struct fm_burst_table {
    block_slot *blocks;
    kind_slot *kinds;
    size_t block_room, kind_room; /* powers of two */
    size_t block_count, kind_count;
    uint32_t block_round, kind_round;
};

enum { FIRST_ROOM = 1 << 13, EXACT_BELOW = 1024 };

fm_status fm_burst_table_create(fm_burst_table **table, fm_error *error)
{
    fm_burst_table *made = *table = fm_calloc(1, sizeof *made);
    if (made) {
        made->blocks = fm_calloc(FIRST_ROOM, sizeof *made->blocks);
        made->kinds = fm_calloc(FIRST_ROOM, sizeof *made->kinds);
        made->block_room = made->kind_room = FIRST_ROOM;
        if (made->blocks && made->kinds) return FM_OK;
    }
    fm_burst_table_destroy(made);
    *table = NULL;
    return fm_fail_memory(error, FIRST_ROOM * (sizeof(block_slot) + sizeof(kind_slot)),
                          "the tables of bursts");
}

void fm_burst_table_destroy(fm_burst_table *table)
{
    if (!table) return;
    free(table->blocks);
    free(table->kinds);
    free(table);
}

static uint64_t mix(uint64_t value)
{
    value *= UINT64_C(0x9E3779B97F4A7C15);
    return value ^ value >> 29;
}

/* ---- blocks ---- */

static block_slot *block_place(const fm_burst_table *table, uint64_t block)
{
    size_t at = mix(block) & (table->block_room - 1);
    while (table->blocks[at].round == table->block_round && table->blocks[at].block != block)
        at = (at + 1) & (table->block_room - 1);
    return &table->blocks[at];
}

static fm_status grow_blocks(fm_burst_table *table, fm_error *error)
{
    block_slot *old = table->blocks;
    const size_t room = table->block_room;
    block_slot *grown = fm_calloc(room * 2, sizeof *grown);
    if (!grown) return fm_fail_memory(error, room * 2 * sizeof *grown, "the blocks of a burst");
    table->blocks = grown;
    table->block_room = room * 2;
    for (size_t i = 0; i < room; i++)
        if (old[i].round == table->block_round) *block_place(table, old[i].block) = old[i];
    free(old);
    return FM_OK;
}

static void begin_blocks(fm_burst_table *table)
{
    table->block_count = 0;
    if (++table->block_round != 0) return;
    memset(table->blocks, 0, table->block_room * sizeof *table->blocks);
    table->block_round = 1;
}

/* The slot of a block; fresh: it was not met before in this round. NULL: no memory. */
static block_slot *meet(fm_burst_table *table, uint64_t block, bool *fresh, fm_error *error)
{
    if (table->block_count * 2 >= table->block_room && grow_blocks(table, error) != FM_OK) return NULL;
    block_slot *slot = block_place(table, block);
    *fresh = slot->round != table->block_round;
    if (*fresh) {
        *slot = (block_slot){.block = block, .round = table->block_round};
        table->block_count++;
    }
    return slot;
}

/* ---- kinds ---- */

static kind_slot *kind_place(const fm_burst_table *table, uint32_t use, uint32_t reuse, uint32_t time)
{
    size_t at = mix(((uint64_t)use << 32 | reuse) ^ mix(time)) & (table->kind_room - 1);
    for (;; at = (at + 1) & (table->kind_room - 1)) {
        kind_slot *slot = &table->kinds[at];
        if (slot->round != table->kind_round ||
            (slot->use == use && slot->reuse == reuse && slot->time == time))
            return slot;
    }
}

static fm_status grow_kinds(fm_burst_table *table, fm_error *error)
{
    kind_slot *old = table->kinds;
    const size_t room = table->kind_room;
    kind_slot *grown = fm_calloc(room * 2, sizeof *grown);
    if (!grown) return fm_fail_memory(error, room * 2 * sizeof *grown, "the kinds of uses of a burst");
    table->kinds = grown;
    table->kind_room = room * 2;
    for (size_t i = 0; i < room; i++)
        if (old[i].round == table->kind_round)
            *kind_place(table, old[i].use, old[i].reuse, old[i].time) = old[i];
    free(old);
    return FM_OK;
}

static void begin_kinds(fm_burst_table *table)
{
    table->kind_count = 0;
    if (++table->kind_round != 0) return;
    memset(table->kinds, 0, table->kind_room * sizeof *table->kinds);
    table->kind_round = 1;
}

static uint32_t rounded(uint32_t time)
{
    if (time < EXACT_BELOW) return time;
    const int shift = 31 - __builtin_clz(time) - 6;
    return (time >> shift << shift) + (UINT32_C(1) << shift >> 1);
}

/* most: of time distances. */
static fm_status count_kind(fm_burst_table *table, uint32_t use, uint32_t reuse, uint32_t time, uint32_t most,
                            fm_error *error)
{
    if (table->kind_count * 2 >= table->kind_room) {
        fm_status status = grow_kinds(table, error);
        if (status != FM_OK) return status;
    }
    time = rounded(time) < most ? rounded(time) : most;
    kind_slot *slot = kind_place(table, use, reuse, time);
    if (slot->round != table->kind_round) {
        *slot = (kind_slot){.use = use, .reuse = reuse, .time = time, .round = table->kind_round};
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
    for (size_t i = 0; i < table->kind_room; i++) {
        const kind_slot *slot = &table->kinds[i];
        if (slot->round == table->kind_round)
            grown[at++] = (fm_burst_kind){slot->use, slot->reuse, slot->time, slot->count};
    }
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
    begin_blocks(table);
    begin_kinds(table);
    fm_status status = observe(table, touches, count, granularity_shift, picked, picked_address, view, error);
    if (status == FM_OK) status = copy_kinds(table, &view->found_count, view, error);
    begin_kinds(table);
    for (size_t i = 0; i < table->block_room && status == FM_OK; i++) {
        const block_slot *slot = &table->blocks[i];
        if (slot->round == table->block_round && slot->last < view->uses)
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

fm_status fm_burst_unused_words(fm_burst_table *table, const fm_burst_touch *touches, size_t count,
                                size_t from, size_t *unused, fm_error *error)
{
    enum { WORD_SHIFT = 3 };
    begin_blocks(table);
    *unused = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t first = touches[i].address >> WORD_SHIFT, last = last_block(&touches[i], WORD_SHIFT);
        for (uint64_t word = first;; word++) {
            bool fresh;
            block_slot *slot = meet(table, word, &fresh, error);
            if (!slot) return FM_E_NOMEM;
            *unused -= slot->last; /* 1: somebody waited for this */
            slot->last = word == first && i < from;
            *unused += slot->last;
            if (word == last) break;
        }
    }
    return FM_OK;
}
