/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs.c - what attribution gathers: ranges of distances, the table of pairs (all of it but the hot loop,
 * which is in exact_pairs_body.h), and both together with the list of late references.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "engine/engine_tables.h"

#include <fathom/trace.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ==== ranges of distances ==== */

fm_status fm_ranges_create(fm_ranges *ranges, const uint64_t *edges, size_t count, fm_error *error)
{
    if (count < 1 || count > FM_EDGES_MAX)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "%zu edges of ranges: there must be 1 to %d", count,
                       FM_EDGES_MAX);
    if (edges[0] != 0)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the first edge of ranges is %" PRIu64 ", not 0",
                       edges[0]);
    for (size_t i = 1; i < count; i++)
        if (edges[i] <= edges[i - 1])
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "edges of ranges must ascend, but %" PRIu64 " follows %" PRIu64, edges[i],
                           edges[i - 1]);
    memset(ranges, 0, sizeof *ranges);
    ranges->count = count;
    memcpy(ranges->edges, edges, count * sizeof *edges);
    memset(ranges->edge, 0xFF, sizeof ranges->edge);
    for (unsigned octave = 0; octave < FM_OCTAVES; octave++) {
        uint64_t least = octave ? UINT64_C(1) << octave : 0, end = UINT64_C(2) << octave;
        uint32_t base = fm_range_of(ranges, least);
        unsigned inner = 0;
        for (size_t i = base + 1; i < count && edges[i] < end; i++, inner++)
            if (inner < FM_INNER_MAX) ranges->edge[inner][octave] = (uint32_t)edges[i];
        ranges->base[octave] = base;
        if (inner > ranges->inner) ranges->inner = inner;
    }
    for (uint64_t distance = 0; distance < FM_SMALL_RANGES; distance++)
        ranges->small[distance] = (uint8_t)fm_range_of(ranges, distance);
    return FM_OK;
}

/* ==== pair table ==== */

enum {
    FIRST_BUCKETS = 64,
    FEW_BUCKETS = 1 << 14,    /* 1 MiB: up to here it grows faster */
    RELEASE_STEP = 256 << 10, /* bytes of the old table that are given back at a time while growing */
};

static uint64_t limit_of(uint64_t bucket_count)
{
    return bucket_count * FM_PAIR_SLOTS / 5 * 4;
}

static uint64_t bytes_of(uint64_t bucket_count)
{
    return bucket_count * sizeof(fm_pair_bucket);
}

uint64_t fm_pair_table_memory(const fm_pair_table *table)
{
    return bytes_of(table->bucket_count);
}

fm_status fm_pair_table_create(fm_pair_table *table, uint64_t seed, uint64_t max_memory, fm_error *error)
{
    memset(table, 0, sizeof *table);
    table->buckets = fm_pages_allocate(bytes_of(FIRST_BUCKETS));
    if (!table->buckets) return fm_fail_memory(error, bytes_of(FIRST_BUCKETS), "the counters of pairs");
    table->bucket_count = FIRST_BUCKETS;
    table->limit = limit_of(FIRST_BUCKETS);
    /* Odd, with some bits of the seed below those that make the products spread small numbers. */
    table->multiplier[0] = UINT32_C(0x9E3779B1) ^ ((uint32_t)seed & UINT32_C(0xFFFFE));
    table->multiplier[1] = UINT32_C(0x85EBCA77) ^ ((uint32_t)(seed >> 20) & UINT32_C(0xFFFFE));
    table->multiplier[2] = UINT32_C(0xC2B2AE3D) ^ ((uint32_t)(seed >> 40) & UINT32_C(0xFFFFE));
    table->max_memory = max_memory;
    table->memory_peak = bytes_of(FIRST_BUCKETS);
    return FM_OK;
}

void fm_pair_table_clear(fm_pair_table *table)
{
    if (table->buckets) fm_pages_free(table->buckets, bytes_of(table->bucket_count));
    table->buckets = NULL;
}

/* The bucket that holds the word, or the first with a free slot from its home on; *slot says where. */
static fm_pair_bucket *word_locate(const fm_pair_table *table, fm_pair_bucket *home, uint64_t word,
                                   size_t *slot)
{
    for (fm_pair_bucket *bucket = home;;) {
        for (size_t i = 0; i < FM_PAIR_SLOTS; i++) {
            if (bucket->word[i] == word || bucket->word[i] == 0) {
                *slot = i;
                return bucket;
            }
        }
        if (++bucket == table->buckets + table->bucket_count) bucket = table->buckets;
    }
}

void fm_pair_table_add(fm_pair_table *table, fm_pair_bucket *home, uint64_t word, uint64_t count)
{
    size_t slot;
    fm_pair_bucket *bucket = word_locate(table, home, word, &slot);
    table->used += bucket->word[slot] == 0;
    FM_ASSERT(table->used <= table->limit && table->limit < table->bucket_count * FM_PAIR_SLOTS);
    bucket->word[slot] = word;
    bucket->count[slot] += count;
    if (bucket == home) return;
    /* The home bucket is full. What stands there is also found here: its own home is that bucket or before.
     */
    size_t least = 0;
    for (size_t i = 1; i < FM_PAIR_SLOTS; i++)
        if (home->count[i] < home->count[least]) least = i;
    if (home->count[least] >= bucket->count[slot]) return;
    uint64_t other_word = home->word[least], other_count = home->count[least];
    home->word[least] = word;
    home->count[least] = bucket->count[slot];
    bucket->word[slot] = other_word;
    bucket->count[slot] = other_count;
}

static uint64_t renamed_word(uint64_t word, const uint32_t *names)
{
    return fm_pair_word(names[word >> 8 & FM_TAG_MAX], names[word >> 32 & FM_TAG_MAX], word & 0xFF);
}

/* names: of tags; NULL: they stay as they are. */
static void add_bucket(fm_pair_table *table, const fm_pair_bucket *bucket, const uint32_t *names)
{
    for (size_t slot = 0; slot < FM_PAIR_SLOTS && bucket->word[slot]; slot++) {
        const uint64_t word = names ? renamed_word(bucket->word[slot], names) : bucket->word[slot];
        uint64_t home = fm_pair_home(word, table->multiplier, table->bucket_count);
        fm_pair_table_add(table, table->buckets + home, word, bucket->count[slot]);
    }
}

/* Sweeps the old table into the new one. Homes have the order of hashes in both, so it runs through both, but
 * where there are names. */
static void pairs_move(fm_pair_table *grown, const fm_pair_table *old, const uint32_t *names)
{
    const uint64_t bytes = bytes_of(old->bucket_count);
    uint64_t released = 0;
    for (uint64_t i = 0; i < old->bucket_count; i++) {
        add_bucket(grown, &old->buckets[i], names);
        if (bytes_of(i) - released < RELEASE_STEP) continue;
        fm_pages_give_back(old->buckets, bytes, released, released + RELEASE_STEP);
        released += RELEASE_STEP;
    }
    fm_pages_give_back(old->buckets, bytes, released, bytes);
}

fm_status fm_pair_table_reserve(fm_pair_table *table, uint64_t more, fm_error *error)
{
    if (fm_pair_table_has_room(table, more)) return FM_OK;
    fm_pair_table grown = *table;
    while (limit_of(grown.bucket_count) < table->used + more)
        grown.bucket_count += grown.bucket_count / (grown.bucket_count < FEW_BUCKETS ? 2 : 4);
    uint64_t bytes = bytes_of(grown.bucket_count);
    uint64_t old = bytes_of(table->bucket_count);
    uint64_t peak = bytes + (old < 2 * RELEASE_STEP ? old : 2 * RELEASE_STEP);
    if (grown.bucket_count > UINT32_MAX)
        return fm_fail(error, FM_E_LIMIT, NULL, "the counters of pairs are at their limit of 2^32");
    if (table->max_memory && peak > table->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the share of the memory limit for counters of pairs, %" PRIu64
                       " bytes, cannot be kept: there are %" PRIu64 " of them and %" PRIu64
                       " bytes are needed to go on",
                       table->max_memory, table->used, peak);
    grown.buckets = fm_pages_allocate(bytes);
    if (!grown.buckets) return fm_fail_memory(error, bytes, "the counters of pairs");
    grown.limit = limit_of(grown.bucket_count);
    grown.used = 0;
    if (peak > grown.memory_peak) grown.memory_peak = peak;
    pairs_move(&grown, table, NULL);
    *table = grown;
    return FM_OK;
}

fm_status fm_pair_table_rename(fm_pair_table *table, const uint32_t *names, fm_error *error)
{
    const uint64_t bytes = bytes_of(table->bucket_count);
    fm_pair_table other = *table;
    other.buckets = fm_pages_allocate(bytes);
    if (!other.buckets) return fm_fail_memory(error, bytes, "the counters of pairs");
    other.used = 0;
    if (2 * bytes > other.memory_peak) other.memory_peak = 2 * bytes;
    pairs_move(&other, table, names);
    *table = other;
    return FM_OK;
}

fm_status fm_pair_table_drain(fm_pair_table *table, fm_pair_table *from, fm_error *error)
{
    fm_status status = fm_pair_table_reserve(table, from->used, error);
    if (status != FM_OK) return status;
    for (uint64_t i = 0; i < from->bucket_count; i++) add_bucket(table, &from->buckets[i], NULL);
    memset(from->buckets, 0, bytes_of(from->bucket_count));
    from->used = 0;
    return FM_OK;
}

fm_status fm_pair_table_merge(fm_pair_table *table, fm_pair_table *from, fm_error *error)
{
    if (!from->buckets) return FM_OK;
    fm_status status = fm_pair_table_reserve(table, from->used, error);
    if (status != FM_OK) return status;
    pairs_move(table, from, NULL);
    from->buckets = NULL; /* given back on the way */
    return FM_OK;
}

static uint64_t word_of(const fm_raw_pair *pair)
{
    return fm_pair_word(pair->use, pair->reuse, pair->range);
}

static int compare_pairs(const void *left, const void *right)
{
    const uint64_t x = word_of(left), y = word_of(right);
    return (x > y) - (x < y);
}

/* By digits of 11 bits, the lowest first: there may be very many pairs. False: no memory for it. */
static bool sort_by_digits(fm_raw_pair *list, size_t count)
{
    enum {
        BITS = 11,
        VALUES = 1 << BITS,
        DIGITS = (56 + BITS - 1) / BITS
    }; /* the highest byte is the mark */
    size_t(*next)[VALUES] = fm_calloc(DIGITS, sizeof *next);
    fm_raw_pair *other = fm_calloc(count, sizeof *other), *from = list, *to = other;
    const bool done = next && other;
    for (size_t i = 0; i < count && done; i++) {
        const uint64_t word = word_of(&list[i]) & ~FM_PAIR_MARK;
        for (unsigned digit = 0; digit < DIGITS; digit++)
            next[digit][word >> (digit * BITS) & (VALUES - 1)]++;
    }
    for (unsigned digit = 0; digit < DIGITS && done; digit++) {
        size_t sum = 0, most = 0;
        for (size_t value = 0; value < VALUES; value++) {
            const size_t here = next[digit][value];
            if (here > most) most = here;
            next[digit][value] = sum;
            sum += here;
        }
        if (most == count) continue; /* all have the same one */
        for (size_t i = 0; i < count; i++) {
            const uint64_t word = word_of(&from[i]) & ~FM_PAIR_MARK;
            to[next[digit][word >> (digit * BITS) & (VALUES - 1)]++] = from[i];
        }
        fm_raw_pair *const filled = to;
        to = from;
        from = filled;
    }
    if (done && from != list) memcpy(list, from, count * sizeof *list);
    free(next);
    free(other);
    return done;
}

fm_status fm_pair_table_list(const fm_pair_table *table, fm_raw_pair **pairs, size_t *count, fm_error *error)
{
    fm_raw_pair *list = fm_calloc(table->used, sizeof *list);
    if (!list) return fm_fail_memory(error, table->used * sizeof *list, "the list of pairs");
    size_t filled = 0;
    for (uint64_t i = 0; i < table->bucket_count; i++) {
        const fm_pair_bucket *bucket = &table->buckets[i];
        for (size_t slot = 0; slot < FM_PAIR_SLOTS && bucket->word[slot]; slot++) {
            uint64_t word = bucket->word[slot];
            list[filled++] = (fm_raw_pair){.use = (uint32_t)(word >> 8) & FM_TAG_MAX,
                                           .reuse = (uint32_t)(word >> 32) & FM_TAG_MAX,
                                           .range = (uint32_t)word & 0xFF,
                                           .count = bucket->count[slot]};
        }
    }
    enum { MANY = 4096 };
    if (filled < MANY || !sort_by_digits(list, filled)) qsort(list, filled, sizeof *list, compare_pairs);
    *pairs = list;
    *count = filled;
    return FM_OK;
}

/* ==== pairs ==== */

fm_status fm_pairs_create(fm_pairs *pairs, const uint64_t *edges, size_t count, uint64_t seed,
                          uint64_t max_memory, fm_error *error)
{
    memset(pairs, 0, sizeof *pairs);
    pairs->max_memory = max_memory;
    fm_status status = fm_ranges_create(&pairs->ranges, edges, count, error);
    if (status == FM_OK) status = fm_pair_table_create(&pairs->table, seed, max_memory, error);
    return status;
}

void fm_pairs_clear(fm_pairs *pairs)
{
    fm_pair_table_clear(&pairs->table);
    free(pairs->late);
    pairs->late = NULL;
}

uint64_t fm_pairs_memory(const fm_pairs *pairs)
{
    return fm_pair_table_memory(&pairs->table) + pairs->late_capacity * sizeof(fm_late);
}

/* While the list grows, for a moment the old one is held too. */
uint64_t fm_pairs_memory_peak(const fm_pairs *pairs)
{
    return pairs->table.memory_peak + pairs->late_capacity * sizeof(fm_late) * 3 / 2;
}

static fm_status reserve_late(fm_pairs *pairs, size_t more, fm_error *error)
{
    const size_t needed = pairs->late_count + more + 1; /* one is written that may not count */
    if (needed <= pairs->late_capacity) return FM_OK;
    /* It doubles, and is held together with what it was. */
    uint64_t bytes = (uint64_t)needed * 3 * sizeof(fm_late);
    if (pairs->max_memory && pairs->table.memory_peak + bytes > pairs->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the share of the memory limit for counters of pairs, %" PRIu64
                       " bytes, cannot be kept: there are %zu late references on the list",
                       pairs->max_memory, pairs->late_count);
    if (fm_array_reserve((void **)&pairs->late, &pairs->late_capacity, needed, sizeof(fm_late)) != 0)
        return fm_fail_memory(error, needed * sizeof(fm_late), "the list of late references");
    if (pairs->max_memory)
        pairs->table.max_memory = pairs->max_memory - pairs->late_capacity * sizeof(fm_late) * 3 / 2;
    return FM_OK;
}

fm_status fm_pairs_reserve(fm_pairs *pairs, size_t more, fm_error *error)
{
    fm_status status = pairs->late_wanted ? reserve_late(pairs, more, error) : FM_OK;
    return status == FM_OK ? fm_pair_table_reserve(&pairs->table, more, error) : status;
}

void fm_pairs_want_late(fm_pairs *pairs, uint32_t from)
{
    pairs->late_wanted = true;
    pairs->late_from = from < pairs->ranges.count ? pairs->ranges.edges[from] : FM_BEYOND;
}
