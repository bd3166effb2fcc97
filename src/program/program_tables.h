/* SPDX-License-Identifier: Apache-2.0 */
/* program_tables.h - the tables that what is known of a program is kept in. */
#ifndef FATHOM_PROGRAM_TABLES_H
#define FATHOM_PROGRAM_TABLES_H

#include <fathom/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- pairs of numbers ---- */

/*
 * Numbers pairs of numbers in order of their first appearance, each with a small value
 * beside it. Places in code (address, file), edges of the tree of calls (place, parent), sites on paths
 * (place, path): whatever the receiver interns is one of these. Entries are never removed.
 */

typedef struct fm_intern_entry {
    uint64_t a;
    uint32_t b;
    uint32_t value; /* the user's; 0 when fresh */
} fm_intern_entry;

/* All zero is an empty table. */
typedef struct fm_intern_table {
    fm_intern_entry *entries;
    size_t count, capacity;
    uint32_t *slots; /* index + 1; 0: empty */
    size_t slot_count;
} fm_intern_table;

/* The entry of (a, b), made where there is none. Its index is entry - table->entries; the pointer is good
 * until the next put. NULL: no memory, or 2^31 entries. */
fm_intern_entry *fm_intern_table_put(fm_intern_table *table, uint64_t a, uint32_t b, bool *fresh);
void fm_intern_table_free(fm_intern_table *table);

/* ---- ranges of addresses ---- */

/* A few disjoint ranges of addresses (stacks, modules' data), by address, each with a
 * number. */

typedef struct fm_address_range {
    uint64_t low, high; /* high: behind the last byte */
    uint32_t value;
} fm_address_range;

/* All zeroes is empty. */
typedef struct fm_address_ranges {
    fm_address_range *list;
    size_t count, capacity;
} fm_address_ranges;

void fm_address_ranges_clear(fm_address_ranges *ranges);
int fm_address_ranges_copy(fm_address_ranges *into, const fm_address_ranges *from); /* 0 or -1 */
/* Takes [low, high) out of what is there. 0, or -1 when memory is short: then nothing is changed. */
int fm_address_ranges_cut(fm_address_ranges *ranges, uint64_t low, uint64_t high);
/* Replaces what it lies over. 0, or -1 when memory is short. */
int fm_address_ranges_put(fm_address_ranges *ranges, fm_address_range range);
/* The range that holds an address; NULL: none. */
const fm_address_range *fm_address_ranges_find(const fm_address_ranges *ranges, uint64_t address);
/* Whether one of them has a byte in [low, high). */
bool fm_address_ranges_touch(const fm_address_ranges *ranges, uint64_t low, uint64_t high);

/* ---- the heap ---- */

/*
 * The live heap blocks of a process, by address: a B+-tree whose nodes lie in one table of
 * pages, so that a look into millions of blocks costs about one cache miss. Blocks never overlap: a new one
 * replaces those it lies over.
 */

typedef struct fm_heap_block {
    uint64_t start, end; /* end: behind the last byte. Of more than 2^40 - 1 bytes the rest is left out */
    uint32_t context;    /* below 2^24 */
} fm_heap_block;

/* All zeroes is an empty tree. */
typedef struct fm_heap_tree {
    struct fm_heap_node *nodes;
    size_t capacity, used, free_count; /* nodes: in the table; ever used; given back since */
    uint32_t first_free;
    uint32_t root;
    unsigned height; /* levels above the leaves */
    size_t count;    /* blocks */
} fm_heap_tree;

void fm_heap_tree_clear(fm_heap_tree *tree);
/* start < end. 0, or -1 when memory is short: then nothing is changed. */
int fm_heap_tree_insert(fm_heap_tree *tree, fm_heap_block block);
/* The block that starts there, if there is one. */
void fm_heap_tree_erase(fm_heap_tree *tree, uint64_t start);
/* The block that holds an address. */
bool fm_heap_tree_find(const fm_heap_tree *tree, uint64_t address, fm_heap_block *found);
/* Prefetches what find will need; to be called some steps ahead. */
void fm_heap_tree_prefetch(const fm_heap_tree *tree, uint64_t address);
/* Whether a block has a byte in [low, high). */
bool fm_heap_tree_touches(const fm_heap_tree *tree, uint64_t low, uint64_t high);
/* into must be empty. 0, or -1 when memory is short: then it is empty. */
int fm_heap_tree_copy(fm_heap_tree *into, const fm_heap_tree *from);
/* Bytes held by nodes in use. */
uint64_t fm_heap_tree_memory(const fm_heap_tree *tree);

/* ---- counts of objects ---- */

/* How often each (object, tag, range) was counted: an open-addressing hash table in pages.
 */

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
