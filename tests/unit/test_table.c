/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - base/table.h against arrays that are looked through: numbers in the order of appearance,
 * what follows a key, keys of any length, and entries that are forgotten. */
#include "case.h"

#include "base/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 5000 };

static fm_key key_of(uint32_t i)
{
    return (fm_key){i % 10, i / 10 % 10, i / 100};
}

CASE(keys_keep_their_numbers)
{
    fm_table table = FM_TABLE_OF(fm_key);
    fm_key key = {1, 2, 3};
    assert_int_equal(fm_table_look_up(&table, &key), FM_KEY_NONE);
    assert_null(fm_table_find(&table, &key));
    assert_int_equal(fm_table_memory(&table), 0);
    for (uint32_t i = 0; i < KEYS; i++) {
        key = key_of(i);
        bool fresh;
        assert_int_equal(fm_table_number(&table, fm_table_put(&table, &key, &fresh)), i);
        assert_true(fresh);
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        key = key_of(i);
        bool fresh;
        assert_int_equal(fm_table_add(&table, &key), i);
        assert_int_equal(fm_table_look_up(&table, &key), i);
        assert_memory_equal(fm_table_put(&table, &key, &fresh), &key, sizeof key);
        assert_false(fresh);
    }
    key = (fm_key){10, 0, 0};
    assert_int_equal(fm_table_look_up(&table, &key), FM_KEY_NONE);
    assert_int_equal(table.count, KEYS);
    assert_true(fm_table_memory(&table) >= KEYS * sizeof key);
    fm_table_clear(&table);
    assert_null(fm_table_find(&table, &key));
    assert_int_equal(fm_table_add(&table, &key), 0); /* it is of the same shape */
    fm_table_clear(&table);
    fm_table_clear(&(fm_table){0});
}

typedef struct edge {
    uint64_t call;
    uint32_t parent;
    uint32_t node;
    double sum;
} edge;

CASE(values_follow_their_keys)
{
    fm_table edges = FM_TABLE(edge, node);
    for (uint32_t round = 1; round <= 3; round++)
        for (uint32_t i = 0; i < KEYS; i++) {
            bool fresh;
            edge *found = fm_table_put(
                &edges, &(edge){.call = UINT64_MAX - i, .parent = i / 7, .node = 99, .sum = 99}, &fresh);
            assert_int_equal(fresh, round == 1);
            assert_int_equal(found->node, (round - 1) * i);
            assert_true(found->sum == 0);
            found->node += i;
        }
    assert_int_equal(edges.count, KEYS);
    const edge *all = edges.entries;
    for (uint32_t i = 0; i < KEYS; i++) assert_true(all[i].call == UINT64_MAX - i && all[i].node == 3 * i);
    fm_table_clear(&edges);
}

CASE(bytes_are_told_apart_by_all_of_them)
{
    static char texts[KEYS][16];
    fm_table table = FM_TABLE_OF_BYTES(fm_bytes);
    for (uint32_t i = 0; i < KEYS; i++) {
        bool fresh;
        char passing[16] = {0};
        const size_t length = i ? (size_t)snprintf(passing, sizeof passing, "%" PRIu32, i) : 0;
        fm_bytes *found =
            fm_table_put(&table, &(fm_bytes){passing, length + i % 2}, &fresh); /* a 0 byte, too */
        assert_true(fresh && found);
        found->at = memcpy(texts[i], passing, sizeof passing);
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        const size_t length = strlen(texts[i]);
        assert_int_equal(fm_table_look_up(&table, &(fm_bytes){texts[i], length + i % 2}), i);
        assert_null(fm_table_find(&table, &(fm_bytes){texts[i], length + (i + 1) % 2}));
    }
    fm_table_clear(&table);
}

CASE(the_last_ones_can_be_forgotten)
{
    fm_table table = FM_TABLE_OF(uint32_t);
    for (uint32_t i = 0; i < KEYS; i++) assert_int_equal(fm_table_add(&table, &i), i);
    fm_table_truncate(&table, KEYS + 1);
    assert_int_equal(table.count, KEYS);
    fm_table_truncate(&table, 1234);
    for (uint32_t i = 0; i < KEYS; i++)
        assert_int_equal(fm_table_look_up(&table, &i), i < 1234 ? i : FM_KEY_NONE);
    for (uint32_t i = KEYS; i-- > 1234;) assert_int_equal(fm_table_add(&table, &i), 1234 + KEYS - 1 - i);
    fm_table_truncate(&table, 0);
    for (uint32_t i = 0; i < KEYS; i++) assert_null(fm_table_find(&table, &i));
    fm_table_clear(&table);
}
