/* SPDX-License-Identifier: Apache-2.0 */
/* hp_rda_carry.c - see hp_rda_carry.h: a hash table by open addressing, at most half full. */
#include "engine/hp_rda/hp_rda_carry.h"

#include "base/error.h"
#include "base/memory.h"

void fm_hp_rda_carry_clear(fm_hp_rda_carry *carry)
{
    fm_pages_free(carry->entries, carry->room * sizeof *carry->entries);
    carry->entries = NULL;
    carry->room = carry->count = 0;
}

uint64_t fm_hp_rda_carry_memory(const fm_hp_rda_carry *carry)
{
    return carry->room * sizeof *carry->entries;
}

static struct carried *carry_find(struct carried *entries, size_t room, uint64_t seed, uint64_t block)
{
    uint64_t hash = (block ^ seed) * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ hash >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    size_t place = (size_t)(hash >> 20) & (room - 1);
    while (entries[place].used && entries[place].block != block) place = (place + 1) & (room - 1);
    return &entries[place];
}

static fm_status carry_reserve(fm_hp_rda_carry *carry, size_t more, fm_error *error)
{
    size_t room = carry->room ? carry->room : 1024;
    while (room / 2 < carry->count + more) room *= 2;
    if (room == carry->room) return FM_OK;
    struct carried *grown = fm_pages_allocate(room * sizeof *grown);
    if (!grown) return fm_fail_memory(error, room * sizeof *grown, "the blocks of earlier traces");
    for (size_t i = 0; i < carry->room; i++)
        if (carry->entries[i].used)
            *carry_find(grown, room, carry->seed, carry->entries[i].block) = carry->entries[i];
    fm_pages_free(carry->entries, carry->room * sizeof *grown);
    carry->entries = grown;
    carry->room = room;
    return FM_OK;
}

fm_status fm_hp_rda_carry_next(fm_hp_rda_carry *carry, const fm_hp_rda_use *uses, uint32_t count, bool adjust,
                               uint64_t *distances, fm_error *error)
{
    fm_status status = carry_reserve(carry, count, error);
    if (status != FM_OK) return status;
    const uint64_t sum = carry->sum + count;
    for (uint32_t i = 0; i < count; i++) {
        struct carried *entry = carry_find(carry->entries, carry->room, carry->seed, uses[i].block);
        distances[i] = entry->used ? entry->after + carry->sum + uses[i].first : FM_COLD;
        if (!entry->used) carry->count++;
        *entry = (struct carried){.block = uses[i].block, .after = uses[i].latest - sum, .used = true};
    }
    carry->sum = sum;
    if (!adjust) return FM_OK;
    for (uint32_t i = 0; i < count; i++)
        if (distances[i] != FM_COLD) distances[i] = fm_hp_rda_adjust(distances[i], carry->count, sum);
    return FM_OK;
}
