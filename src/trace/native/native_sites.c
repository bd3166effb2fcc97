/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_sites.c - see native_sites.h. A hash table of small numbers in front of the entries themselves,
 * which lie side by side in order of appearance: what a loop uses is together.
 */
#include "trace/native/native_sites.h"

#include "base/memory.h"

#include <string.h>

enum { SLOT_BITS = 15, SLOTS = 1 << SLOT_BITS };

typedef struct entry {
    uint64_t site;
    uint64_t what; /* size and thread */
    uint64_t kind;
    uint64_t unused; /* 32 bytes: no entry straddles cache lines */
} entry;

struct fm_native_sites {
    entry entries[FM_NATIVE_SITES_MOST]; /* first: it begins with a page */
    uint32_t generation;                 /* of the block: slots of earlier ones are empty */
    uint32_t slots[SLOTS];               /* generation << 16 | entry */
    uint16_t first[FM_NATIVE_SITES_MOST];
    uint16_t next[FM_NATIVE_SITES_MOST]; /* which entry followed each the last time */
};

fm_native_sites *fm_native_sites_create(void)
{
    return fm_pages_allocate(sizeof(fm_native_sites));
}

void fm_native_sites_destroy(fm_native_sites *sites)
{
    fm_pages_free(sites, sizeof *sites);
}

const uint16_t *fm_native_sites_first(const fm_native_sites *sites)
{
    return sites->first;
}

static inline uint32_t slot_of(const entry *key)
{
    uint64_t mixed = (key->site ^ key->kind << 60) * UINT64_C(0x9E3779B97F4A7C15) +
                     key->what * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)((mixed ^ mixed >> 32) * UINT64_C(0xBF58476D1CE4E5B9) >> (64 - SLOT_BITS));
}

static inline bool is_same(const entry *a, const entry *b)
{
    return ((a->site ^ b->site) | (a->what ^ b->what) | (a->kind ^ b->kind)) == 0;
}

static void next_generation(fm_native_sites *sites)
{
    if (++sites->generation <= UINT16_MAX) return;
    memset(sites->slots, 0, sizeof sites->slots);
    sites->generation = 1;
}

/* The entry that is the key, or a new one; SIZE_MAX when there are `most` already. */
static size_t native_sites_find(fm_native_sites *sites, const entry *key, size_t i, size_t *found, size_t most)
{
    for (uint32_t at = slot_of(key);; at = (at + 1) & (SLOTS - 1)) {
        uint32_t slot = sites->slots[at];
        if (slot >> 16 == sites->generation) {
            if (is_same(&sites->entries[slot & UINT16_MAX], key)) return slot & UINT16_MAX;
            continue;
        }
        if (*found == most) return SIZE_MAX;
        size_t added = (*found)++;
        sites->slots[at] = sites->generation << 16 | (uint32_t)added;
        sites->entries[added] = *key;
        sites->first[added] = (uint16_t)i;
        sites->next[added] = 0;
        return added;
    }
}

size_t fm_native_sites_index(fm_native_sites *sites, const fm_columns *columns, unsigned with, size_t most,
                             uint16_t *indices)
{
    /* A column that does not count is read as its one first value, again and again. */
    static const uint32_t zero32 = 0;
    static const uint8_t zero8 = 0;
    const uint32_t *size = with & FM_COLUMN_SIZE && columns->size ? columns->size : &zero32;
    const uint32_t *thread = with & FM_COLUMN_THREAD && columns->thread ? columns->thread : &zero32;
    const uint8_t *kind = with & FM_COLUMN_KIND && columns->kind ? columns->kind : &zero8;
    size_t size_step = size != &zero32, thread_step = thread != &zero32, kind_step = kind != &zero8;
    size_t found = 0, last = 0;
    next_generation(sites);
    for (size_t i = 0; i < columns->count; i++) {
        entry key = {columns->site[i], size[i * size_step] | (uint64_t)thread[i * thread_step] << 32,
                     kind[i * kind_step], 0};
        /* What followed the last time is what follows nine times of ten. */
        size_t index = sites->next[last];
        if (found == 0 || !is_same(&sites->entries[index], &key)) {
            index = native_sites_find(sites, &key, i, &found, most);
            if (index == SIZE_MAX) return 0;
            sites->next[last] = (uint16_t)index;
        }
        indices[i] = (uint16_t)index;
        last = index;
    }
    return found;
}
