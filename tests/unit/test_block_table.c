/* SPDX-License-Identifier: Apache-2.0 */
/* test_block_table.c - the hash table of `exact` against a plain array of (key, position, time). */
#include "case.h"
#include "random.h"

#include "engine/engine_tables.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four headers above first
enum { KEYS = 3000 };

/* Keys of several shapes, the extreme ones among them, all different. */
static uint64_t key_of(size_t i, int shape)
{
    if (i == 0) return 0;
    if (i == 1) return UINT64_MAX;
    switch (shape) {
    case 0:
        return i;
    case 1:
        return (uint64_t)i << 50;
    case 2:
        return (uint64_t)i * 64 + (UINT64_C(0x7F) << 40);
    default:
        return (uint64_t)i * UINT64_C(0x9E3779B97F4A7C15);
    }
}

static uint64_t exchange(fm_block_table *table, uint64_t key, uint64_t position)
{
    assert_int_equal(fm_block_table_grow(table, 1, NULL), FM_OK);
    return fm_block_table_exchange(table, fm_block_home(table, key), key, position);
}

CASE(test_remembers_positions)
{
    for (int shape = 0; shape < 4; shape++) {
        for (uint64_t seed = 1; seed <= 5; seed++) {
            fm_block_table table;
            assert_int_equal(fm_block_table_create(&table, seed, false, NULL), FM_OK);
            static uint64_t position[KEYS];
            memset(position, 0, sizeof position);
            uint64_t distinct = 0;
            for (uint64_t now = 1; now < 4 * KEYS; now++) {
                size_t i = random_next() % KEYS;
                assert_int_equal(exchange(&table, key_of(i, shape), now), position[i]);
                distinct += position[i] == 0;
                position[i] = now;
                assert_int_equal(table.used, distinct);
            }
            fm_block_table_clear(&table);
        }
    }
}

typedef struct expectation {
    const uint64_t *position, *time;
    uint64_t least;
    int shape;
    size_t calls;
} expectation;

static uint64_t keep_recent(void *context, uint64_t key, uint64_t position, uint64_t time)
{
    expectation *expected = context;
    expected->calls++;
    for (size_t i = 0; i < KEYS; i++) {
        if (key_of(i, expected->shape) != key) continue;
        assert_int_equal(position, expected->position[i]);
        assert_int_equal(time, expected->time[i]);
        return position >= expected->least ? position + 1000000 : 0;
    }
    fail_msg("a key that was never inserted");
    return 0;
}

/* Small tables, so that spills around the end are common; again and again with removals. */
CASE(test_filter_removes_and_renumbers)
{
    static uint64_t position[KEYS], time[KEYS];
    for (uint64_t seed = 1; seed <= 300; seed++) {
        int shape = (int)(seed % 4);
        size_t keys = 100 + random_next() % 520;
        fm_block_table table;
        assert_int_equal(fm_block_table_create(&table, seed, true, NULL), FM_OK);
        memset(position, 0, sizeof position);
        for (uint64_t now = 1; now < 2 * keys; now++) {
            size_t i = random_next() % keys;
            uint64_t old;
            assert_int_equal(fm_block_table_grow(&table, 1, NULL), FM_OK);
            size_t slot = fm_block_table_exchange_slot(&table, key_of(i, shape), now, &old);
            assert_int_equal(old, position[i]);
            position[i] = now;
            table.times[slot] = time[i] = random_next();
        }
        uint64_t held = table.used;
        expectation expected = {position, time, random_next() % (2 * keys), shape, 0};
        fm_block_table_filter(&table, keep_recent, &expected);
        assert_int_equal(expected.calls, held);
        uint64_t kept = 0;
        for (size_t i = 0; i < keys; i++) {
            uint64_t old;
            bool stays = position[i] && position[i] >= expected.least;
            kept += stays;
            assert_int_equal(fm_block_table_grow(&table, 1, NULL), FM_OK);
            size_t slot = fm_block_table_exchange_slot(&table, key_of(i, shape), 7, &old);
            assert_int_equal(old, stays ? position[i] + 1000000 : 0);
            if (stays) assert_int_equal(table.times[slot], time[i]);
        }
        assert_true(kept <= held);
        fm_block_table_clear(&table);
    }
}

/*
 * Growing keeps every block where a lookup finds it, with its time: also those that had come past the last
 * bucket, and those in full buckets at the beginning. A table of chosen hashes, most of them at the two ends,
 * is grown; the sixth of its room that is between them is spread.
 */
CASE(test_growing_keeps_all)
{
    static uint64_t keys[KEYS], time[KEYS];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        fm_block_table table;
        assert_int_equal(fm_block_table_create(&table, seed, true, NULL), FM_OK);
        const size_t count = (size_t)table.limit;
        for (size_t i = 0; i < count;) {
            const uint64_t key = random_next();
            const uint64_t home = (uint64_t)(fm_block_home(&table, key) - table.buckets),
                           reach = 1 + seed % 40;
            uint64_t old;
            if (i % 6 && home >= reach && home + reach < table.bucket_count && i < 12 * reach) continue;
            const size_t slot = fm_block_table_exchange_slot(&table, key, i + 1, &old);
            assert_int_equal(old, 0);
            keys[i] = key;
            table.times[slot] = time[i++] = random_next();
        }
        for (uint64_t more = 1; more < 40 * count; more *= 3) {
            assert_int_equal(fm_block_table_grow(&table, more, NULL), FM_OK);
            assert_int_equal(table.used, count);
            for (size_t i = 0; i < count; i++) assert_int_equal(fm_block_table_find(&table, keys[i]), i + 1);
        }
        for (size_t i = 0; i < count; i++) {
            uint64_t old;
            const size_t slot = fm_block_table_exchange_slot(&table, keys[i], 7, &old);
            assert_int_equal(old, i + 1);
            assert_int_equal(table.times[slot], time[i]);
        }
        fm_block_table_clear(&table);
    }
}

/* Structured keys spill no more than random ones do: at 60 % full, 7 % do not fit their home bucket. */
CASE(test_structured_keys_spread)
{
    enum { MANY = 200000 };
    for (int shape = 0; shape < 4; shape++) {
        for (uint64_t seed = 1; seed <= 8; seed++) {
            fm_block_table table;
            assert_int_equal(fm_block_table_create(&table, seed, false, NULL), FM_OK);
            size_t keys = 16384; /* as many as shape 1 has */
            if (shape != 1) keys = MANY;
            for (size_t i = 0; i < keys; i++) exchange(&table, key_of(i, shape), i + 1);
            size_t away = 0;
            for (size_t i = 0; i < keys; i++) {
                const fm_bucket *home = fm_block_home(&table, key_of(i, shape));
                bool found = false;
                for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++)
                    found |= home->position[slot] != 0 && home->key[slot] == key_of(i, shape);
                away += !found;
            }
            assert_true(away < keys / 10);
            fm_block_table_clear(&table);
        }
    }
}
