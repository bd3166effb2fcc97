/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_tables.h - the tables that several engines use, each for what it is made for:
 *
 *     fm_block_table   from a block to the position of its latest reference: `exact`, and what is made of it
 *     fm_seen_set      which blocks were ever touched, where the others are dropped
 *     fm_block_sample_common   the hash by which samples are chosen
 *     fm_ranges        the range of a distance, for attribution
 *     fm_pair_table    how often each (use, reuse, range) was seen
 */
#ifndef FATHOM_ENGINE_ENGINE_TABLES_H
#define FATHOM_ENGINE_ENGINE_TABLES_H

#include "base/error.h"

#include <fathom/attribution.h>
#include <fathom/profile.h>
#include <fathom/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ==== block table ====
 *
 * From a block to the position of its latest reference. The hash table of `exact`, and
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

/* For FM_ASSERT: every block is found from its home on, slots fill from the left, as many are taken as it
 * says. */
bool fm_block_table_is_sound(const fm_block_table *table);

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

/*
 * ==== seen set ====
 *
 * Remembers which blocks were ever touched, up to a limit; then forgets everything.
 *
 * An engine that works under a bound drops the blocks that are further away than it. When such a block
 * comes back, only a memory of all blocks can distinguish it from a first touch. This set is that memory:
 * exact for up to `limit` distinct keys, so that its size is bounded. When one more key arrives, the
 * set is given up for good (its pages go back), and from then on the engine reports every block it
 * does not hold as FM_BEYOND, stops counting distinct blocks and says so through cold_known().
 *
 * On request the set also carries a time per key, so that time distances are not cut by the bound:
 * the engine stores a block's last time when it drops it. Once the set is given up, the time distance
 * of a block that is not held is FM_BEYOND too.
 *
 * It does not know which blocks the engine holds, and counts no memory but its own. There are two ways to
 * use it: insert every block that is not held; or, as long as nothing was dropped, meet it, and keep all that
 * is held before the first is dropped. With the second, where nothing is ever dropped, nothing is remembered.
 *
 * Rules for all engines:
 *     block held                     -> its distance, its time distance
 *     not held, insert says NEW      -> FM_COLD, FM_COLD
 *     not held, insert says KNOWN    -> FM_BEYOND, now - *last_time
 *     not held, insert says GIVEN_UP -> FM_BEYOND, FM_BEYOND
 *     distinct() is fm_seen_set_count(), cold_known() is !fm_seen_set_given_up().
 */

/* 2^21 keys take 32 MiB (with times 64 MiB) and half as much again for a moment while growing. */
#define FM_SEEN_LIMIT (UINT64_C(1) << 21)

/* What engines pass as the limit. FM_SEEN_LIMIT; only tests set it to anything else. */
extern FM_TUNABLE uint64_t fm_seen_limit;

typedef enum fm_seen {
    FM_SEEN_KNOWN = 0,    /* the key was there */
    FM_SEEN_NEW = 1,      /* it was not, and is now */
    FM_SEEN_GIVEN_UP = 2, /* limit or budget passed, now or earlier: nobody can know any more */
    FM_SEEN_NO_MEMORY = 3 /* the system refused memory to grow; the set is as it was */
} fm_seen;

typedef struct fm_seen_set fm_seen_set;

/* NULL when memory is short. The seed should be a secret of this run: it keeps crafted keys from
 * colliding. */
fm_seen_set *fm_seen_set_create(uint64_t limit, uint64_t seed, bool with_times);
void fm_seen_set_destroy(fm_seen_set *set); /* NULL is fine */

/*
 * budget: bytes that the set may hold in all (at any moment, growth included); UINT64_MAX for no limit.
 * A set that would need more gives up, just as past its limit.
 * On FM_SEEN_KNOWN in a set with times, *last_time is what was stored last (0 where nothing was).
 * last_time may be NULL.
 */
fm_seen fm_seen_set_insert(fm_seen_set *set, uint64_t key, uint64_t budget, uint64_t *last_time);

/* A key that was never inserted, met or kept before: it is counted, nothing more. NEW, or GIVEN_UP. */
fm_seen fm_seen_set_meet(fm_seen_set *set);
/* Remembers all blocks of a table, which were met; false where memory is short. */
bool fm_seen_set_keep_table(fm_seen_set *set, const fm_block_table *table, uint64_t budget);
/* Fetches what insert and keep will look at. */
void fm_seen_set_prefetch(const fm_seen_set *set, uint64_t key);
void fm_seen_set_empty(fm_seen_set *set); /* as it was created; it keeps its memory, if it was not given up */

/* Takes over all keys of another set; false where memory is short. If that one was given up, so is this. */
bool fm_seen_set_absorb(fm_seen_set *set, const fm_seen_set *other);
/* Gives the set up; it had `count` keys. */
void fm_seen_set_give_up(fm_seen_set *set, uint64_t count);

/* Remembers the time of a key that is in the set; does nothing in a set that was given up or has no times. */
void fm_seen_set_store_time(fm_seen_set *set, uint64_t key, uint64_t time);

/* Distinct keys inserted or met; after giving up: as many as there were. */
uint64_t fm_seen_set_count(const fm_seen_set *set);
bool fm_seen_set_given_up(const fm_seen_set *set);
uint64_t fm_seen_set_memory(const fm_seen_set *set);      /* bytes held now */
uint64_t fm_seen_set_memory_peak(const fm_seen_set *set); /* the most ever held */
/* Bytes held for a moment by the next insertion of a new key, in all: more than memory() where it has to
 * grow. */
uint64_t fm_seen_set_memory_next(const fm_seen_set *set);

/* All keys, one at each call, in no order; false when there are no more (none after giving up). *cursor is 0
 * at the first call. */
bool fm_seen_set_next(const fm_seen_set *set, uint64_t *cursor, uint64_t *key);

/*
 * ==== ranges of distances ====
 *
 * The ranges of distances that attribution distinguishes: [edges[r], edges[r + 1]), the last one
 * open. Finds the range of a distance; counts nothing.
 */

enum {
    FM_EDGES_MAX = 250,
    FM_OCTAVES = 32,      /* of distances below 2^32; 0 is with 1 */
    FM_SMALL_RANGES = 64, /* distances whose ranges stand in an array */
    FM_INNER_MAX = 6,     /* edges within one octave up to which kernels compare with all of them */
};

typedef struct fm_ranges {
    size_t count;
    uint64_t edges[FM_EDGES_MAX];
    /* By the highest bit of a distance: the range of the least distance with that bit, and the edges behind
     * it (UINT32_MAX where there are no more). What kernels use while `inner` is at most FM_INNER_MAX. */
    uint32_t base[FM_OCTAVES] __attribute__((aligned(64)));
    uint32_t edge[FM_INNER_MAX][FM_OCTAVES] __attribute__((aligned(64)));
    unsigned inner;                 /* the most edges behind the least distance in any octave */
    uint8_t small[FM_SMALL_RANGES]; /* by distance */
} fm_ranges;

/* Edges must ascend, the first be 0, and be no more than FM_EDGES_MAX: else FM_E_ARGUMENT. */
fm_status fm_ranges_create(fm_ranges *ranges, const uint64_t *edges, size_t count, fm_error *error);

/* Of any distance; FM_COLD and FM_BEYOND have ranges of their own. */
static inline uint32_t fm_range_of(const fm_ranges *ranges, uint64_t distance)
{
    if (distance == FM_COLD) return FM_RANGE_COLD;
    if (distance == FM_BEYOND) return FM_RANGE_BEYOND;
    size_t low = 0, high = ranges->count; /* edges[low] <= distance < edges[high] */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (ranges->edges[middle] <= distance)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/*
 * ==== pair table ====
 *
 * How often each (use, reuse, range) was seen: the counters of attribution.
 *
 * The three are packed into one word, so that sorting words sorts by reuse, use, range. A bucket is one cache
 * line: four words, then their four counts; a full bucket spills into the next, the last into the first. A
 * word that was counted more often than one in its home bucket changes places with it when it is met:
 * what is counted most is found at once, even in a full table.
 *
 * At most 80 % full, grown by half while it is small, then by a quarter: 20 to 25 bytes an entry. A home is
 * the hash scaled to the number of buckets; growing is one sequential sweep that gives the old pages back as
 * it passes them, so that the two tables are never held together. Most pairs of sites have one range or two;
 * the promise of 64 bytes a pair is kept up to 2.5 ranges each.
 */

/* The highest bit is always set: no word is 0, which marks a free slot. */
#define FM_PAIR_MARK (UINT64_C(1) << 63)

static inline uint64_t fm_pair_word(uint32_t use, uint32_t reuse, uint32_t range)
{
    return FM_PAIR_MARK | (uint64_t)reuse << 32 | (uint64_t)use << 8 | range;
}

enum { FM_PAIR_SLOTS = 4 };

typedef struct fm_pair_bucket {
    uint64_t word[FM_PAIR_SLOTS]; /* 0: free; from the left */
    uint64_t count[FM_PAIR_SLOTS];
} __attribute__((aligned(64))) fm_pair_bucket;

typedef struct fm_pair_table {
    fm_pair_bucket *buckets;
    uint64_t bucket_count;  /* below 2^32 */
    uint64_t used, limit;   /* entries; as many as it may hold before it must grow */
    uint32_t multiplier[3]; /* of the hash */
    uint64_t max_memory;    /* bytes; 0: no limit */
    uint64_t memory_peak;
} fm_pair_table;

/* max_memory: bytes that it may ever hold; 0: no limit. */
fm_status fm_pair_table_create(fm_pair_table *table, uint64_t seed, uint64_t max_memory, fm_error *error);
void fm_pair_table_clear(fm_pair_table *table); /* frees; safe on a zeroed table */
uint64_t fm_pair_table_memory(const fm_pair_table *table);

static inline bool fm_pair_table_has_room(const fm_pair_table *table, uint64_t more)
{
    return table->used + more <= table->limit;
}
/* Makes sure that `more` new entries can be added. Fails without changing anything. */
fm_status fm_pair_table_reserve(fm_pair_table *table, uint64_t more, fm_error *error);

/* Products of 32-bit halves only: kernels do eight at once. */
static inline uint64_t fm_pair_home(uint64_t word, const uint32_t multiplier[3], uint64_t bucket_count)
{
    uint64_t mixed = (word & UINT32_MAX) * multiplier[0] + (word >> 32) * multiplier[1];
    uint32_t hash = (uint32_t)(mixed ^ mixed >> 29) * multiplier[2];
    return hash * bucket_count >> 32;
}

/* Counts a word that is not in its home bucket, or may not be. There is room. */
void fm_pair_table_add(fm_pair_table *table, fm_pair_bucket *home, uint64_t word, uint64_t count);

/* All entries of another table, which is emptied and keeps its memory. Fails without changing anything. */
fm_status fm_pair_table_drain(fm_pair_table *table, fm_pair_table *from, fm_error *error);

/* All entries of another table, which is cleared. Fails without changing anything. */
fm_status fm_pair_table_merge(fm_pair_table *table, fm_pair_table *from, fm_error *error);

/* Tag t is names[t] from now on, use and reuse; not under a limit of memory. Fails without changing anything.
 * Two tables are held meanwhile. */
fm_status fm_pair_table_rename(fm_pair_table *table, const uint32_t *names, fm_error *error);

/* All entries in order of reuse, use, range. The caller frees *pairs, which is never NULL on FM_OK. */
fm_status fm_pair_table_list(const fm_pair_table *table, fm_raw_pair **pairs, size_t *count, fm_error *error);

/*
 * ==== hash of samples ====
 *
 * The hash by which samples of blocks are chosen: the same for all samples of a run.
 */

#define FM_SAMPLE_FOR_ZERO UINT64_C(0x9E3779B97F4A7C15)
#define FM_SAMPLE_MIX_FIRST UINT64_C(0x9FB21C651E98DF25)
#define FM_SAMPLE_MIX_SECOND UINT64_C(0xD6E8FEB86659FD93)

/* The common hash of a block, which all samples share. Were it 0, the block would be in all of them: block 0,
 * which is a usual one, goes with another. */
static inline uint64_t fm_block_sample_common(uint64_t block)
{
    uint64_t mixed = block ? block : FM_SAMPLE_FOR_ZERO;
    mixed = (mixed ^ mixed >> 32) * FM_SAMPLE_MIX_FIRST;
    mixed = (mixed ^ mixed >> 28) * FM_SAMPLE_MIX_SECOND;
    return mixed ^ mixed >> 32;
}

#endif
