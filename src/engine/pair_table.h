/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_table.h - how often each (use, reuse, range) was seen: the counters of attribution.
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
#ifndef FATHOM_ENGINE_PAIR_TABLE_H
#define FATHOM_ENGINE_PAIR_TABLE_H

#include <fathom/attribution.h>
#include <fathom/status.h>

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

#endif
