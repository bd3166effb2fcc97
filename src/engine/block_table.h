/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_table.h - from a block to the position of its latest reference. The hash table of `exact`, and
 * of the benchmark's floor.
 *
 * A bucket is one cache line: four keys, then their four positions, so that a lookup touches one line,
 * compares all keys at once, and never loads bytes next to ones just stored (which would stall it).
 * Position 0 marks a free slot; slots fill from the left; a full bucket spills into the next one, and
 * the last into the first. Every key value is an ordinary one.
 *
 * The hash is keyed by a random seed, so that nobody can craft keys that collide. The home bucket is the
 * hash scaled to the number of buckets: any number of buckets will do, and the order of homes is the
 * order of hashes. That is why growing is one sequential sweep, within the same pages and some more behind
 * them: never two tables at once, and the kernel clears what is new, no more.
 *
 * At most 60 % full, grown by half: 27 to 40 bytes a block. On request a time per slot lies in a
 * second array (8 bytes more a slot).
 */
#ifndef FATHOM_ENGINE_BLOCK_TABLE_H
#define FATHOM_ENGINE_BLOCK_TABLE_H

#include <fathom/status.h>

#include <stddef.h>

enum { FM_BUCKET_SLOTS = 4 };

typedef struct fm_bucket {
    uint64_t key[FM_BUCKET_SLOTS];
    uint64_t position[FM_BUCKET_SLOTS]; /* 0: free */
} __attribute__((aligned(64))) fm_bucket;

typedef struct fm_block_table {
    fm_bucket *buckets;
    uint64_t *times; /* FM_BUCKET_SLOTS per bucket; NULL where times are not asked for */
    uint64_t bucket_count;
    uint64_t used;
    uint64_t limit;   /* blocks it may hold before it must grow */
    uint64_t seed[3]; /* of fm_block_hash */
    bool with_times;
} fm_block_table;

fm_status fm_block_table_create(fm_block_table *table, uint64_t seed, bool with_times, fm_error *error);
void fm_block_table_clear(fm_block_table *table); /* frees; safe on a zeroed table */

void fm_block_table_empty(fm_block_table *table); /* keeps its memory; without times */

/* Room for `more` new blocks without growing in between. max_bytes (0: none) bounds what it may hold. */
static inline bool fm_block_table_has_room(const fm_block_table *table, uint64_t more)
{
    return table->used + more <= table->limit;
}
fm_status fm_block_table_grow(fm_block_table *table, uint64_t more, fm_error *error);
/* Bytes held now; and at the worst moment of growing for `more` new blocks. */
uint64_t fm_block_table_memory(const fm_block_table *table);
uint64_t fm_block_table_memory_grown(const fm_block_table *table, uint64_t more);

/* Two rounds of shift and multiply: plain 64-bit operations, so that kernels hash eight keys at once. */
static inline uint64_t fm_block_hash(uint64_t key, const uint64_t seed[3])
{
    uint64_t mixed = key ^ seed[0];
    mixed = (mixed ^ mixed >> 32) * seed[1];
    return (mixed ^ mixed >> 29) * seed[2];
}

/* The hash's upper half, scaled to the number of buckets (below 2^32). */
static inline uint64_t fm_block_home_index(uint64_t hash, uint64_t bucket_count)
{
    return (hash >> 32) * bucket_count >> 32;
}

static inline fm_bucket *fm_block_home(const fm_block_table *table, uint64_t key)
{
    return table->buckets + fm_block_home_index(fm_block_hash(key, table->seed), table->bucket_count);
}

/*
 * The rest of a lookup when the key is not in its home bucket: looks on, inserts it where it is absent.
 * Stores the new position; returns the old one, 0 for a new block. The caller has made room.
 */
uint64_t fm_block_table_exchange_slow(fm_block_table *table, fm_bucket *home, uint64_t key,
                                      uint64_t position);

/*
 * The same for callers that will store the position later: where it stands. It holds 0 for a new block,
 * and must be given another value before the table is used again.
 */
uint64_t *fm_block_table_place_slow(fm_block_table *table, fm_bucket *home, uint64_t key);

/* The position of a key; 0 where it is not there. */
uint64_t fm_block_table_find(const fm_block_table *table, uint64_t key);

/* The slot of a key, for callers that want its time too: index into times; *old gets the old position. */
size_t fm_block_table_exchange_slot(fm_block_table *table, uint64_t key, uint64_t position, uint64_t *old);

/* The time of a key that is held. */
uint64_t fm_block_table_find_time(const fm_block_table *table, uint64_t key);

/* The time of the slot that a position stands in. */
static inline uint64_t *fm_block_table_time(const fm_block_table *table, const uint64_t *position)
{
    const uintptr_t at = (uintptr_t)position - (uintptr_t)table->buckets;
    const uintptr_t slot = (at % sizeof(fm_bucket) - offsetof(fm_bucket, position)) / sizeof(uint64_t);
    return table->times + at / sizeof(fm_bucket) * FM_BUCKET_SLOTS + slot;
}

/* Those of a bucket's slots. */
static inline void fm_block_table_prefetch_times(const fm_block_table *table, const fm_bucket *bucket)
{
    __builtin_prefetch(table->times + (size_t)(bucket - table->buckets) * FM_BUCKET_SLOTS, 1, 3);
}

/* One lookup as the portable kernels do it: exchanges the position of key. */
static inline uint64_t fm_block_table_exchange(fm_block_table *table, fm_bucket *home, uint64_t key,
                                               uint64_t position)
{
    for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++) {
        if (home->key[slot] == key && home->position[slot] != 0) {
            uint64_t old = home->position[slot];
            home->position[slot] = position;
            return old;
        }
    }
    return fm_block_table_exchange_slow(table, home, key, position);
}

/*
 * Calls keep for every block; those for which it returns 0 are removed, the others get the position it
 * returned. One sequential sweep. (Without removals, callers walk the buckets themselves.)
 */
typedef uint64_t (*fm_block_keep)(void *context, uint64_t key, uint64_t position, uint64_t time);
void fm_block_table_filter(fm_block_table *table, fm_block_keep keep, void *context);

#endif
