/* SPDX-License-Identifier: Apache-2.0 */
/* key_table.c - see key_table.h. Open addressing, at most half full, with a seed: keys may come from a file
 * that someone prepared. */
#include "base/key_table.h"

#include "base/memory.h"

#include <stdlib.h>
#include <time.h>
#include <xxhash.h>

enum { FIRST_SLOTS = 64 };

typedef struct fm_key_slot {
    fm_key key;
    uint32_t taken; /* number + 1; 0: free */
} fm_key_slot;

static fm_key_slot *place_of(const fm_key_table *table, fm_key key)
{
    size_t mask = table->slot_count - 1;
    size_t at = (size_t)XXH3_64bits_withSeed(&key, sizeof key, table->seed) & mask;
    while (table->slots[at].taken && (table->slots[at].key.a != key.a || table->slots[at].key.b != key.b ||
                                      table->slots[at].key.c != key.c))
        at = (at + 1) & mask;
    return &table->slots[at];
}

uint32_t fm_key_table_find(const fm_key_table *table, fm_key key)
{
    return table->slot_count ? place_of(table, key)->taken - 1 : FM_KEY_NONE; /* 0 - 1 is none, too */
}

static int make_room(fm_key_table *table)
{
    if (table->count < table->slot_count / 2) return 0;
    fm_key_table grown = {.count = table->count, .seed = table->seed};
    if (table->slot_count == 0) {
        struct timespec now = {0};
        clock_gettime(CLOCK_MONOTONIC, &now);
        grown.seed = (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)table;
    }
    grown.slot_count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
    grown.slots = fm_calloc(grown.slot_count, sizeof *grown.slots);
    if (!grown.slots) return -1;
    for (size_t i = 0; i < table->slot_count; i++)
        if (table->slots[i].taken) *place_of(&grown, table->slots[i].key) = table->slots[i];
    free(table->slots);
    *table = grown;
    return 0;
}

uint32_t fm_key_table_add(fm_key_table *table, fm_key key, uint32_t number)
{
    if (make_room(table)) return FM_KEY_NONE;
    fm_key_slot *place = place_of(table, key);
    if (!place->taken) {
        *place = (fm_key_slot){key, number + 1};
        table->count++;
    }
    return place->taken - 1;
}

void fm_key_table_clear(fm_key_table *table)
{
    free(table->slots);
    *table = (fm_key_table){0};
}
