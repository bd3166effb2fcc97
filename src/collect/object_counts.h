/* SPDX-License-Identifier: Apache-2.0 */
/* object_counts.h - how often each (object, tag, range) was counted: an open-addressing hash table in pages.
 */
#ifndef FATHOM_COLLECT_OBJECT_COUNTS_H
#define FATHOM_COLLECT_OBJECT_COUNTS_H

#include <stddef.h>
#include <stdint.h>

enum { FM_OBJECTS_MOST = (1 << 24) - 1 };

typedef struct fm_object_count {
    uint64_t key; /* (object + 1) << 40 | tag << 8 | range; 0: free */
    uint64_t count;
} fm_object_count;

/* All zeroes is an empty table. */
typedef struct fm_object_counts {
    fm_object_count *slots;
    size_t slot_count, used;
} fm_object_counts;

/* Where a key is looked for first, in a table that is not empty. */
static inline size_t fm_object_count_home(const fm_object_counts *counts, uint64_t key)
{
    /* The product's middle: bits of all three parts of the key reach it. */
    uint64_t mixed = (key ^ key >> 29) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(mixed >> 32) & (counts->slot_count - 1);
}
/* Counts a key that is not at its home. 0, or -1 when memory is short. */
int fm_object_counts_put(fm_object_counts *counts, uint64_t key);

/* object < FM_OBJECTS_MOST, range < 256. 0, or -1 when memory is short. */
static inline int fm_object_counts_add(fm_object_counts *counts, uint32_t object, uint32_t tag,
                                       uint32_t range)
{
    const uint64_t key = (uint64_t)(object + 1) << 40 | (uint64_t)tag << 8 | range;
    fm_object_count *home = counts->slot_count > 0 ? &counts->slots[fm_object_count_home(counts, key)] : NULL;
    if (!home || home->key != key) return fm_object_counts_put(counts, key);
    home->count++;
    return 0;
}
void fm_object_counts_clear(fm_object_counts *counts);

static inline uint32_t fm_object_count_object(const fm_object_count *count)
{
    return (uint32_t)(count->key >> 40) - 1;
}
static inline uint32_t fm_object_count_tag(const fm_object_count *count)
{
    return (uint32_t)(count->key >> 8);
}
static inline uint32_t fm_object_count_range(const fm_object_count *count)
{
    return (uint32_t)(count->key & 255);
}

#endif
