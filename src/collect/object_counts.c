/* SPDX-License-Identifier: Apache-2.0 */
/* object_counts.c - see object_counts.h. Linear probing; at most a quarter full, so that the first place that
 * is looked at is nearly always the one: the entries are few, and a mispredicted branch takes long.
 */
#include "collect/object_counts.h"

#include "base/memory.h"

enum { FIRST_SLOTS = 256 };

static fm_object_count *place_of(const fm_object_counts *counts, uint64_t key)
{
    size_t mask = counts->slot_count - 1;
    size_t at = fm_object_count_home(counts, key);
    while (counts->slots[at].key && counts->slots[at].key != key) at = (at + 1) & mask;
    return &counts->slots[at];
}

static int grow(fm_object_counts *counts)
{
    fm_object_counts larger = {.slot_count = counts->slot_count ? counts->slot_count * 2 : FIRST_SLOTS,
                               .used = counts->used};
    larger.slots = fm_pages_allocate(larger.slot_count * sizeof *larger.slots);
    if (!larger.slots) return -1;
    for (size_t i = 0; i < counts->slot_count; i++)
        if (counts->slots[i].key) *place_of(&larger, counts->slots[i].key) = counts->slots[i];
    fm_pages_free(counts->slots, counts->slot_count * sizeof *counts->slots);
    *counts = larger;
    return 0;
}

int fm_object_counts_put(fm_object_counts *counts, uint64_t key)
{
    if (counts->used >= counts->slot_count / 4 && grow(counts) != 0) return -1;
    fm_object_count *place = place_of(counts, key);
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
