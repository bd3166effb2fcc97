/* SPDX-License-Identifier: Apache-2.0 */
/* program_tables.c - see program_tables.h: all but the heap, which heap_tree.c has. */
#include "program/program_tables.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- pairs of numbers: open addressing, linear probing, at most half full ---- */

static size_t pair_hash(uint64_t a, uint32_t b)
{
    uint64_t h = (a ^ (uint64_t)b << 40 ^ (uint64_t)b >> 24) * UINT64_C(0x9E3779B97F4A7C15);
    h = (h ^ h >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return (size_t)(h ^ h >> 29);
}

static bool grow_interned(fm_intern_table *table)
{
    size_t wanted = table->slot_count ? table->slot_count * 2 : 256;
    uint32_t *slots = fm_calloc(wanted, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < table->count; i++) {
        size_t at = pair_hash(table->entries[i].a, table->entries[i].b) & (wanted - 1);
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
        if (table->count >= (size_t)1 << 31 || !grow_interned(table)) return NULL;
    }
    size_t at = pair_hash(a, b) & (table->slot_count - 1);
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

/* ---- ranges of addresses ---- */

void fm_address_ranges_clear(fm_address_ranges *ranges)
{
    free(ranges->list);
    *ranges = (fm_address_ranges){0};
}

int fm_address_ranges_copy(fm_address_ranges *into, const fm_address_ranges *from)
{
    if (fm_array_reserve((void **)&into->list, &into->capacity, from->count, sizeof *into->list) != 0)
        return -1;
    if (from->count > 0) memcpy(into->list, from->list, from->count * sizeof *from->list);
    into->count = from->count;
    return 0;
}

/* The first range that ends behind the address. */
static size_t first_behind(const fm_address_ranges *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->list[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_at(fm_address_ranges *ranges, size_t index, fm_address_range range)
{
    memmove(ranges->list + index + 1, ranges->list + index, (ranges->count - index) * sizeof *ranges->list);
    ranges->list[index] = range;
    ranges->count++;
    FM_ASSERT(index == 0 || ranges->list[index - 1].high <= range.low);
    FM_ASSERT(index + 1 == ranges->count || range.high <= ranges->list[index + 1].low);
}

int fm_address_ranges_cut(fm_address_ranges *ranges, uint64_t low, uint64_t high)
{
    size_t first = first_behind(ranges, low);
    if (low >= high || first == ranges->count || ranges->list[first].low >= high) return 0;
    if (ranges->list[first].low < low) {
        fm_address_range whole = ranges->list[first];
        if (whole.high > high) { /* both ends stay */
            if (fm_array_reserve((void **)&ranges->list, &ranges->capacity, ranges->count + 1,
                                 sizeof *ranges->list) != 0)
                return -1;
            ranges->list[first].high = low;
            insert_at(ranges, first + 1, (fm_address_range){high, whole.high, whole.value});
            return 0;
        }
        ranges->list[first++].high = low;
    }
    size_t last = first;
    while (last < ranges->count && ranges->list[last].high <= high) last++;
    if (last < ranges->count && ranges->list[last].low < high) ranges->list[last].low = high;
    memmove(ranges->list + first, ranges->list + last, (ranges->count - last) * sizeof *ranges->list);
    ranges->count -= last - first;
    return 0;
}

int fm_address_ranges_put(fm_address_ranges *ranges, fm_address_range range)
{
    if (range.low >= range.high) return 0;
    if (fm_array_reserve((void **)&ranges->list, &ranges->capacity, ranges->count + 2,
                         sizeof *ranges->list) != 0 ||
        fm_address_ranges_cut(ranges, range.low, range.high) != 0)
        return -1;
    insert_at(ranges, first_behind(ranges, range.low), range);
    return 0;
}

const fm_address_range *fm_address_ranges_find(const fm_address_ranges *ranges, uint64_t address)
{
    size_t i = first_behind(ranges, address);
    return i < ranges->count && ranges->list[i].low <= address ? &ranges->list[i] : NULL;
}

bool fm_address_ranges_touch(const fm_address_ranges *ranges, uint64_t low, uint64_t high)
{
    size_t i = first_behind(ranges, low);
    return i < ranges->count && ranges->list[i].low < high;
}

/* ---- counts of objects ---- */

/* Linear probing; at most a quarter full, so that the first place that
 * is looked at is nearly always the one: the entries are few, and a mispredicted branch takes long.
 */

enum { FIRST_SLOTS = 256 };

static fm_object_count *place_of_count(const fm_object_counts *counts, uint64_t key)
{
    size_t mask = counts->slot_count - 1;
    size_t at = fm_object_count_home(counts, key);
    while (counts->slots[at].key && counts->slots[at].key != key) at = (at + 1) & mask;
    return &counts->slots[at];
}

static int grow_counts(fm_object_counts *counts)
{
    fm_object_counts larger = {.slot_count = counts->slot_count ? counts->slot_count * 2 : FIRST_SLOTS,
                               .used = counts->used};
    larger.slots = fm_pages_allocate(larger.slot_count * sizeof *larger.slots);
    if (!larger.slots) return -1;
    for (size_t i = 0; i < counts->slot_count; i++)
        if (counts->slots[i].key) *place_of_count(&larger, counts->slots[i].key) = counts->slots[i];
    fm_pages_free(counts->slots, counts->slot_count * sizeof *counts->slots);
    *counts = larger;
    return 0;
}

int fm_object_counts_put(fm_object_counts *counts, uint64_t key)
{
    if (counts->used >= counts->slot_count / 4 && grow_counts(counts) != 0) return -1;
    fm_object_count *place = place_of_count(counts, key);
    if (!place->key) {
        place->key = key;
        counts->used++;
    }
    place->count++;
    return 0;
}

void fm_object_counts_clear(fm_object_counts *counts)
{
    fm_pages_free(counts->slots, counts->slot_count * sizeof *counts->slots);
    *counts = (fm_object_counts){0};
}
