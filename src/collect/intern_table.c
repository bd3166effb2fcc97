/* SPDX-License-Identifier: Apache-2.0 */
/* intern_table.c - see intern_table.h. Open addressing, linear probing, at most half full. */
#include "collect/intern_table.h"

#include "base/memory.h"

#include <stdlib.h>

static size_t hash(uint64_t a, uint32_t b)
{
    uint64_t h = (a ^ (uint64_t)b << 40 ^ (uint64_t)b >> 24) * UINT64_C(0x9E3779B97F4A7C15);
    h = (h ^ h >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return (size_t)(h ^ h >> 29);
}

static bool grow(fm_intern_table *table)
{
    size_t wanted = table->slot_count ? table->slot_count * 2 : 256;
    uint32_t *slots = fm_calloc(wanted, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < table->count; i++) {
        size_t at = hash(table->entries[i].a, table->entries[i].b) & (wanted - 1);
        while (slots[at]) at = (at + 1) & (wanted - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = wanted;
    return true;
}

fm_intern_entry *fm_intern_table_put(fm_intern_table *table, uint64_t a, uint32_t b, bool *fresh)
{
    if (table->count * 2 >= table->slot_count) {
        if (table->count >= (size_t)1 << 31 || !grow(table)) return NULL;
    }
    size_t at = hash(a, b) & (table->slot_count - 1);
    for (; table->slots[at]; at = (at + 1) & (table->slot_count - 1)) {
        fm_intern_entry *entry = &table->entries[table->slots[at] - 1];
        if (entry->a == a && entry->b == b) {
            if (fresh) *fresh = false;
            return entry;
        }
    }
    if (fm_array_reserve((void **)&table->entries, &table->capacity, table->count + 1,
                         sizeof *table->entries) != 0)
        return NULL;
    fm_intern_entry *entry = &table->entries[table->count];
    *entry = (fm_intern_entry){.a = a, .b = b};
    table->slots[at] = (uint32_t)++table->count;
    if (fresh) *fresh = true;
    return entry;
}

void fm_intern_table_free(fm_intern_table *table)
{
    free(table->entries);
    free(table->slots);
    *table = (fm_intern_table){0};
}
