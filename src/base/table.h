/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - tables and texts that are kept once. Internal. */
#ifndef FATHOM_BASE_TABLE_H
#define FATHOM_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ======== the hash table ======== */

/*
 * What belongs to a key: the hash table of all that is not looked up for every reference (engines
 * and decoders have tables of their own, made for what they do). Internal.
 *
 * Entries are numbered 0, 1, 2, … in the order in which their keys came first, and lie in that order in one
 * array. An entry begins with its key; how many bytes that is, and how large an entry, the table is told when
 * it is made:
 *
 *     typedef struct edge {
 *         uint64_t call;
 *         uint32_t parent;
 *         uint32_t node;
 *     } edge;
 *     fm_table edges = FM_TABLE(edge, node); // the key is all that stands before `node`: without gaps
 *     bool fresh;
 *     edge *found = fm_table_put(&edges, &(edge){.call = 7, .parent = 1}, &fresh);
 *     if (!found) return no_memory(error);
 *     if (fresh) found->node = ++count; // what follows the key is zero at first
 *
 * For who keeps what belongs to the keys in arrays of their own, a table of keys alone gives the numbers:
 *
 *     fm_table lines = FM_TABLE_OF(fm_key);
 *     uint32_t line = fm_table_add(&lines, &(fm_key){file, number}); // FM_KEY_NONE: no memory
 *
 * Keys of any length: the entry begins with an fm_bytes (FM_TABLE_OF_BYTES), of which the bytes count; a new
 * entry's fm_bytes is the caller's, who puts a copy of the bytes that lasts in its place.
 *
 * Open addressing with linear probing, at most two thirds full; a seed of its own for each table, since keys
 * may come from a file that someone prepared. At most 2^31 entries.
 */

typedef struct fm_bytes {
    const void *at;
    size_t length;
} fm_bytes;

/* A key of three numbers. */
typedef struct fm_key {
    uint64_t a, b, c;
} fm_key;

typedef struct fm_table {
    void *entries;
    size_t count, capacity;
    size_t key_size, entry_size; /* in bytes; key_size 0: an fm_bytes */
    struct fm_table_slot *slots;
    size_t slot_count; /* 0, or a power of two */
    uint64_t seed;
} fm_table;

/* An empty table of entries of this type, whose key is what stands before the member `value`; … that are keys
 * and nothing else; … that begin with an fm_bytes. */
#define FM_TABLE(type, value) ((fm_table){.key_size = offsetof(type, value), .entry_size = sizeof(type)})
#define FM_TABLE_OF(type) ((fm_table){.key_size = sizeof(type), .entry_size = sizeof(type)})
#define FM_TABLE_OF_BYTES(type) ((fm_table){.key_size = 0, .entry_size = sizeof(type)})

#define FM_KEY_NONE UINT32_MAX

/* The entry of a key, good until the next one is added; NULL: none. key: something that begins with it. */
void *fm_table_find(const fm_table *table, const void *key);
/* The same, made where there is none: then what follows the key is zero, and *fresh (may be NULL) true. NULL:
 * no memory, the table is as it was. */
void *fm_table_put(fm_table *table, const void *key, bool *fresh);
/* The number of an entry; FM_KEY_NONE of NULL. */
uint32_t fm_table_number(const fm_table *table, const void *entry);
/* Forgets the entries from number `count` on. Linear in those that stay. */
void fm_table_truncate(fm_table *table, size_t count);
/* Frees what is in it: it is empty, and of the same shape. Also of a table that is all zero. */
void fm_table_clear(fm_table *table);
/* What it holds. */
size_t fm_table_memory(const fm_table *table);

/* The number of a key; FM_KEY_NONE: it has none (add: no memory for it). */
static inline uint32_t fm_table_look_up(const fm_table *table, const void *key)
{
    return fm_table_number(table, fm_table_find(table, key));
}
static inline uint32_t fm_table_add(fm_table *table, const void *key)
{
    return fm_table_number(table, fm_table_put(table, key, NULL));
}

/* ======== arenas ======== */

/*
 * Memory that is given back all at once, and texts that are kept once. Internal; attributions live
 * in one, and views use one for what they make on the way.
 */

typedef struct fm_arena fm_arena;

fm_arena *fm_arena_create(void);        /* NULL: no memory */
void fm_arena_destroy(fm_arena *arena); /* NULL is fine */

/* count * size, zeroed, aligned for everything; NULL when that overflows or memory is short. */
void *fm_arena_allocate(fm_arena *arena, size_t count, size_t size);

/* A copy of the text; equal texts give the same pointer. NULL: no memory. */
const char *fm_arena_intern(fm_arena *arena, const char *text);

/* ======== a seed ======== */

/* A seed for hash tables that nobody outside can guess: nobody crafts keys that collide. */
uint64_t fm_random_seed(void); /* never 0 */

/* A small generator, splitmix64: equal states give equal numbers everywhere. Every bit of the result depends
 * on every bit of the value. */
static inline uint64_t fm_random_mixed(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

static inline uint64_t fm_random_next(uint64_t *state)
{
    return fm_random_mixed(*state += UINT64_C(0x9E3779B97F4A7C15));
}

#endif
