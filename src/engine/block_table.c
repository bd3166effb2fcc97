/* SPDX-License-Identifier: Apache-2.0 */
/* block_table.c - the slow paths of the table: creation, spills, growth, removal. See engine_tables.h. */
#include "engine/engine_tables.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"

#include <string.h>

enum {
    FIRST_BUCKETS = 512, /* room for two chunks of the exact engine: what can start can also go on */
    ROUNDED = 8,         /* buckets that rounding may take */
    MANY = 1 << 15,      /* blocks; those that come step by step are fewer at a time */
    PREPARE_STEP = 8192, /* buckets that are moved before more of the new ones are made ready */
};

/* 60 %: with four slots a bucket, one lookup in fifteen then looks at a second line. */
static uint64_t limit_of(uint64_t bucket_count)
{
    return bucket_count * FM_BUCKET_SLOTS / 5 * 3;
}

static uint64_t times_bytes(const fm_block_table *table, uint64_t bucket_count)
{
    return table->with_times ? bucket_count * FM_BUCKET_SLOTS * sizeof(uint64_t) : 0;
}

fm_status fm_block_table_create(fm_block_table *table, uint64_t seed, bool with_times, fm_error *error)
{
    memset(table, 0, sizeof *table);
    table->seed[0] = fm_random_next(&seed);
    /* Odd, and with bits in both halves, so that the products mix upwards and downwards. */
    table->seed[1] = fm_random_next(&seed) | UINT64_C(0x8000000100000001);
    table->seed[2] = fm_random_next(&seed) | UINT64_C(0x8000000100000001);
    table->with_times = with_times;
    table->bucket_count = FIRST_BUCKETS;
    table->limit = limit_of(FIRST_BUCKETS);
    table->buckets = fm_pages_allocate(FIRST_BUCKETS * sizeof(fm_bucket));
    if (!table->buckets) return fm_fail_memory(error, FIRST_BUCKETS * sizeof(fm_bucket), "the block table");
    if (with_times) {
        table->times = fm_pages_allocate(times_bytes(table, FIRST_BUCKETS));
        if (!table->times) {
            fm_block_table_clear(table);
            return fm_fail_memory(error, times_bytes(table, FIRST_BUCKETS), "the block table's times");
        }
    }
    return FM_OK;
}

void fm_block_table_clear(fm_block_table *table)
{
    if (table->buckets) fm_pages_free(table->buckets, table->bucket_count * sizeof(fm_bucket));
    if (table->times) fm_pages_free(table->times, times_bytes(table, table->bucket_count));
    table->buckets = NULL;
    table->times = NULL;
}

void fm_block_table_empty(fm_block_table *table)
{
    memset(table->buckets, 0, table->bucket_count * sizeof(fm_bucket));
    table->used = 0;
}

static inline fm_bucket *next_bucket(const fm_block_table *table, fm_bucket *bucket)
{
    return bucket + 1 == table->buckets + table->bucket_count ? table->buckets : bucket + 1;
}

/* The slot that holds key, or the first free one: *found says which. */
static uint64_t *slot_locate(const fm_block_table *table, fm_bucket *bucket, uint64_t key, bool *found,
                             size_t *index)
{
    for (;; bucket = next_bucket(table, bucket)) {
        for (size_t slot = 0; slot < FM_BUCKET_SLOTS; slot++) {
            bool empty = bucket->position[slot] == 0;
            if (empty || bucket->key[slot] == key) {
                *found = !empty;
                if (empty) bucket->key[slot] = key;
                *index = (size_t)(bucket - table->buckets) * FM_BUCKET_SLOTS + slot;
                return &bucket->position[slot];
            }
        }
    }
}

/* Slots that are taken; counted, because nobody could predict a loop that looks for a free one. */
static inline size_t taken_slots(const fm_bucket *bucket)
{
    size_t taken = 0;
    for (size_t slot = 0; slot < FM_BUCKET_SLOTS; slot++) taken += bucket->position[slot] != 0;
    return taken;
}

uint64_t *fm_block_table_place_slow(fm_block_table *table, fm_bucket *home, uint64_t key)
{
    const size_t taken = taken_slots(home);
    bool found;
    size_t index;
    FM_ASSERT(home >= table->buckets && home < table->buckets + table->bucket_count);
    FM_ASSERT(table->used <= table->limit); /* a table that is never full: loops over buckets end */
    if (taken < FM_BUCKET_SLOTS) {          /* it has spilled nothing: the key is new */
        home->key[taken] = key;
        table->used++;
        return &home->position[taken];
    }
    uint64_t *slot = slot_locate(table, next_bucket(table, home), key, &found, &index);
    table->used += !found;
    return slot;
}

#ifdef FATHOM_ASSERTIONS
bool fm_block_table_is_sound(const fm_block_table *table)
{
    uint64_t taken = 0;
    for (uint64_t i = 0; i < table->bucket_count; i++) {
        const fm_bucket *bucket = &table->buckets[i];
        for (size_t slot = 0; slot < FM_BUCKET_SLOTS; slot++) {
            if (bucket->position[slot] == 0) continue;
            if (slot > 0 && bucket->position[slot - 1] == 0) return false;
            if (fm_block_table_find(table, bucket->key[slot]) != bucket->position[slot]) return false;
            taken++;
        }
    }
    return taken == table->used && taken <= table->limit;
}
#endif

uint64_t fm_block_table_find(const fm_block_table *table, uint64_t key)
{
    for (const fm_bucket *bucket = fm_block_home(table, key);;
         bucket = next_bucket(table, (fm_bucket *)(uintptr_t)bucket))
        for (size_t slot = 0; slot < FM_BUCKET_SLOTS; slot++)
            if (bucket->position[slot] == 0 || bucket->key[slot] == key) return bucket->position[slot];
}

uint64_t fm_block_table_exchange_slow(fm_block_table *table, fm_bucket *home, uint64_t key, uint64_t position)
{
    uint64_t *slot = fm_block_table_place_slow(table, home, key);
    uint64_t old = *slot;
    *slot = position;
    return old;
}

uint64_t fm_block_table_find_time(const fm_block_table *table, uint64_t key)
{
    bool found;
    size_t index;
    (void)slot_locate(table, fm_block_home(table, key), key, &found, &index);
    return table->times[index];
}

size_t fm_block_table_exchange_slot(fm_block_table *table, uint64_t key, uint64_t position, uint64_t *old)
{
    bool found;
    size_t index;
    uint64_t *slot = slot_locate(table, fm_block_home(table, key), key, &found, &index);
    *old = *slot;
    *slot = position;
    table->used += !found;
    return index;
}

/* Grown by half, and by half again. Where room is wanted for many blocks, more than it may hold by now,
 * somebody knows what will come: then it is what is asked for. */
static uint64_t buckets_for(const fm_block_table *table, uint64_t more)
{
    const uint64_t wanted = table->used + more, exact = wanted / 3 * 5 / FM_BUCKET_SLOTS + ROUNDED;
    uint64_t count = table->bucket_count;
    while (limit_of(count) < wanted) count += count / 2;
    return more > MANY && more > table->limit && exact < count ? exact : count;
}

uint64_t fm_block_table_memory(const fm_block_table *table)
{
    return table->bucket_count * sizeof(fm_bucket) + times_bytes(table, table->bucket_count);
}

uint64_t fm_block_table_memory_grown(const fm_block_table *table, uint64_t more)
{
    uint64_t count = buckets_for(table, more);
    return count * sizeof(fm_bucket) + times_bytes(table, count);
}

/* Buckets from `from` to `to`, one after the other. */
static void filter_buckets(fm_block_table *table, uint64_t from, uint64_t to, fm_block_keep keep,
                           void *context)
{
    for (uint64_t i = from; i < to; i++) {
        fm_bucket *bucket = &table->buckets[i];
        const fm_bucket copy = *bucket;
        memset(bucket, 0, sizeof *bucket);
        for (size_t slot = 0; slot < FM_BUCKET_SLOTS && copy.position[slot]; slot++) {
            uint64_t none, time = table->times ? table->times[i * FM_BUCKET_SLOTS + slot] : 0;
            uint64_t position = keep(context, copy.key[slot], copy.position[slot], time);
            if (!position) continue;
            size_t index = fm_block_table_exchange_slot(table, copy.key[slot], position, &none);
            if (table->times) table->times[index] = time;
        }
    }
}

/* Both arrays with room for so many buckets; where that fails, they are as they were. */
static fm_status table_resize(fm_block_table *table, uint64_t bucket_count, fm_error *error)
{
    const uint64_t held = table->bucket_count * sizeof(fm_bucket), bytes = bucket_count * sizeof(fm_bucket);
    fm_bucket *buckets = fm_pages_resize(table->buckets, held, bytes);
    if (!buckets) return fm_fail_memory(error, bytes, "the block table");
    table->buckets = buckets;
    if (table->with_times) {
        const uint64_t times_held = times_bytes(table, table->bucket_count);
        uint64_t *times = fm_pages_resize(table->times, times_held, times_bytes(table, bucket_count));
        if (!times) {
            table->buckets = fm_pages_resize(table->buckets, bytes, held);
            return fm_fail_memory(error, times_bytes(table, bucket_count), "the block table's times");
        }
        table->times = times;
    }
    table->bucket_count = bucket_count;
    table->limit = limit_of(bucket_count);
    return FM_OK;
}

/* Buckets [from, *prepared) will be filled now. */
static void buckets_prepare(const fm_block_table *table, uint64_t from, uint64_t *prepared)
{
    if (from >= *prepared) return;
    fm_pages_prepare(table->buckets, from * sizeof(fm_bucket), *prepared * sizeof(fm_bucket));
    *prepared = from;
}

static uint64_t keep_all(void *context, uint64_t key, uint64_t position, uint64_t time)
{
    (void)context;
    (void)key;
    (void)time;
    return position;
}

/* A block that the table does not have. Returns its slot. */
static inline size_t put_new(fm_block_table *table, fm_bucket *home, uint64_t key, uint64_t position)
{
    const size_t taken = taken_slots(home);
    size_t index;
    bool found;
    if (taken == FM_BUCKET_SLOTS) {
        *slot_locate(table, next_bucket(table, home), key, &found, &index) = position;
        return index;
    }
    home->key[taken] = key;
    home->position[taken] = position;
    return (size_t)(home - table->buckets) * FM_BUCKET_SLOTS + taken;
}

/*
 * Within the same pages, from the last bucket to the first: homes are in the same order as before, so that
 * blocks move upwards, into buckets that are final or new. Only near the beginning one that had spilled may
 * have a home below buckets that are still to be moved, and near the end one may come past the last bucket:
 * where those that it came past are moved, holes are left between it and its home. What lies there is put in
 * place once more, in order, as when blocks are removed.
 */
fm_status fm_block_table_grow(fm_block_table *table, uint64_t more, fm_error *error)
{
    if (fm_block_table_has_room(table, more)) return FM_OK;
    const uint64_t old_count = table->bucket_count, count = buckets_for(table, more);
    if (count > UINT32_MAX)
        return fm_fail(error, FM_E_LIMIT, NULL, "the block table is at its limit of 2^32 buckets");
    fm_status status = table_resize(table, count, error);
    if (status != FM_OK) return status;
    const uint64_t used = table->used;
    uint64_t prepared = count, torn = 0;
    for (uint64_t i = old_count; i-- > 0;) {
        if (i % PREPARE_STEP == 0 || i + 1 == old_count) {
            const uint64_t from = (i > PREPARE_STEP ? i - PREPARE_STEP : 0) * count / old_count;
            buckets_prepare(table, from > old_count ? from : old_count, &prepared);
        }
        const fm_bucket copy = table->buckets[i];
        memset(&table->buckets[i], 0, sizeof copy);
        for (size_t slot = 0; slot < FM_BUCKET_SLOTS && copy.position[slot]; slot++) {
            const uint64_t time = table->times ? table->times[i * FM_BUCKET_SLOTS + slot] : 0;
            fm_bucket *const home = fm_block_home(table, copy.key[slot]);
            const uint64_t number = (uint64_t)(home - table->buckets);
            const size_t index = put_new(table, home, copy.key[slot], copy.position[slot]);
            if (table->times) table->times[index] = time;
            const uint64_t place = index / FM_BUCKET_SLOTS;
            if ((number < i || place < number) && place >= torn) torn = place + 1;
        }
    }
    /* Blocks behind full buckets may have come past them. */
    while (torn > 0 && torn < count && table->buckets[torn - 1].position[FM_BUCKET_SLOTS - 1]) torn++;
    filter_buckets(table, 0, torn, keep_all, NULL);
    table->used = used; /* those were counted once more */
    FM_ASSERT(fm_block_table_has_room(table, more) && fm_block_table_is_sound(table));
    return FM_OK;
}

/*
 * In order of buckets: empty the bucket, put back what is kept, from its home on. Buckets before it are
 * final but for what is added to them, so a block lands in its old bucket or in a hole before it; no
 * hole is left between a block and its home. The first bucket is one behind a bucket that is not full, which
 * no block has come past: there is one, as the table is never full.
 */
void fm_block_table_filter(fm_block_table *table, fm_block_keep keep, void *context)
{
    uint64_t first = 0;
    while (table->buckets[first++].position[FM_BUCKET_SLOTS - 1]) {
    }
    table->used = 0;
    filter_buckets(table, first, table->bucket_count, keep, context);
    filter_buckets(table, 0, first, keep, context);
    FM_ASSERT(fm_block_table_is_sound(table));
}
