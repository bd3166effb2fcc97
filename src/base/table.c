/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - see table.h. */
#define _GNU_SOURCE
#include "base/table.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>
#include <time.h>
#include <xxhash.h>

/* ======== a seed ======== */

/* The clock's low bits where the kernel has none to give. */

uint64_t fm_random_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_nsec * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(uintptr_t)&seed;
    }
    return seed ? seed : 1;
}

/* ======== the hash table ======== */

/*
 * A slot has 32 bits of the key's hash beside the entry's number: the entry is
 * compared only where these are the same, and growing looks at no key.
 */

enum { FIRST_SLOTS = 32 };
static const size_t MOST_ENTRIES = (size_t)1 << 31;

typedef struct fm_table_slot {
    uint32_t hash;
    uint32_t taken; /* number + 1; 0: free */
} fm_table_slot;

static void *entry_at(const fm_table *table, size_t number)
{
    return (char *)table->entries + number * table->entry_size;
}

static uint32_t key_hash(const fm_table *table, const void *key)
{
    if (table->key_size) return (uint32_t)XXH3_64bits_withSeed(key, table->key_size, table->seed);
    const fm_bytes *bytes = key;
    return (uint32_t)XXH3_64bits_withSeed(bytes->at, bytes->length, table->seed);
}

static bool same_key(const fm_table *table, const void *a, const void *b)
{
    if (table->key_size) return memcmp(a, b, table->key_size) == 0;
    const fm_bytes *left = a, *right = b;
    return left->length == right->length &&
           (left->length == 0 || memcmp(left->at, right->at, left->length) == 0);
}

/* The slot of the key, or the free one where it belongs; key NULL: that one. There are free ones. */
static fm_table_slot *slot_of(const fm_table *table, uint32_t hash, const void *key)
{
    const size_t mask = table->slot_count - 1;
    FM_ASSERT(table->slot_count && !(table->slot_count & mask) && table->count < table->slot_count);
    size_t at = hash & mask;
    for (; table->slots[at].taken; at = (at + 1) & mask) {
        const fm_table_slot *slot = &table->slots[at];
        FM_ASSERT(slot->taken <= table->count);
        if (key && slot->hash == hash && same_key(table, entry_at(table, slot->taken - 1), key)) break;
    }
    return &table->slots[at];
}

void *fm_table_find(const fm_table *table, const void *key)
{
    if (table->count == 0) return NULL;
    const fm_table_slot *slot = slot_of(table, key_hash(table, key), key);
    return slot->taken ? entry_at(table, slot->taken - 1) : NULL;
}

static bool make_slots(fm_table *table)
{
    if (table->count < table->slot_count / 3 * 2) return true;
    fm_table grown = *table;
    grown.slot_count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
    grown.slots = fm_calloc(grown.slot_count, sizeof *grown.slots);
    if (!grown.slots) return false;
    for (size_t i = 0; i < table->slot_count; i++)
        if (table->slots[i].taken) *slot_of(&grown, table->slots[i].hash, NULL) = table->slots[i];
    if (!table->slot_count) grown.seed = fm_random_seed();
    free(table->slots);
    *table = grown;
    return true;
}

void *fm_table_put(fm_table *table, const void *key, bool *fresh)
{
    FM_ASSERT(table->entry_size && table->key_size <= table->entry_size);
    if (fresh) *fresh = false;
    if (!make_slots(table)) return NULL;
    const uint32_t hash = key_hash(table, key);
    fm_table_slot *slot = slot_of(table, hash, key);
    if (slot->taken) return entry_at(table, slot->taken - 1);
    if (table->count >= MOST_ENTRIES ||
        fm_array_reserve(&table->entries, &table->capacity, table->count + 1, table->entry_size))
        return NULL;
    char *entry = entry_at(table, table->count);
    const size_t copied = table->key_size ? table->key_size : sizeof(fm_bytes);
    memcpy(entry, key, copied);
    memset(entry + copied, 0, table->entry_size - copied);
    *slot = (fm_table_slot){hash, (uint32_t)++table->count};
    if (fresh) *fresh = true;
    return entry;
}

uint32_t fm_table_number(const fm_table *table, const void *entry)
{
    if (!entry) return FM_KEY_NONE;
    const size_t offset = (size_t)((const char *)entry - (const char *)table->entries);
    FM_ASSERT(offset % table->entry_size == 0 && offset / table->entry_size < table->count);
    return (uint32_t)(offset / table->entry_size);
}

void fm_table_truncate(fm_table *table, size_t count)
{
    if (count >= table->count) return;
    memset(table->slots, 0, table->slot_count * sizeof *table->slots);
    table->count = count;
    for (size_t i = 0; i < count; i++) {
        const uint32_t hash = key_hash(table, entry_at(table, i));
        *slot_of(table, hash, NULL) = (fm_table_slot){hash, (uint32_t)i + 1};
    }
}

void fm_table_clear(fm_table *table)
{
    free(table->entries);
    free(table->slots);
    *table = (fm_table){.key_size = table->key_size, .entry_size = table->entry_size};
}

size_t fm_table_memory(const fm_table *table)
{
    return table->capacity * table->entry_size + table->slot_count * sizeof *table->slots;
}

/* ======== arenas ======== */

/*
 * Chunks grow from 4 KiB to 1 MiB; what is larger than a quarter of the next chunk gets one of its own, so
 * that no chunk is left behind half empty.
 */

enum { FIRST_CHUNK = 4 << 10, LARGEST_CHUNK = 1 << 20, ALIGNMENT = 16 };

typedef struct chunk {
    struct chunk *next;
    size_t size, used; /* of bytes */
    _Alignas(ALIGNMENT) unsigned char bytes[];
} chunk;

struct fm_arena {
    chunk *chunks; /* the first one is filled; those behind it are full, or have one thing in them */
    size_t next_size;
    fm_table texts; /* fm_bytes */
};

fm_arena *fm_arena_create(void)
{
    fm_arena *arena = fm_calloc(1, sizeof *arena);
    if (!arena) return NULL;
    arena->texts = FM_TABLE_OF_BYTES(fm_bytes);
    arena->next_size = FIRST_CHUNK;
    return arena;
}

void fm_arena_destroy(fm_arena *arena)
{
    if (!arena) return;
    for (chunk *next, *at = arena->chunks; at; at = next) {
        next = at->next;
        free(at);
    }
    fm_table_clear(&arena->texts);
    free(arena);
}

static chunk *make_chunk(size_t size)
{
    if (size > SIZE_MAX - sizeof(chunk)) return NULL;
    chunk *made = fm_calloc(1, sizeof *made + size);
    if (made) made->size = size;
    return made;
}

static void *allocate_bytes(fm_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGNMENT) return NULL;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    chunk *first = arena->chunks;
    if (!first || first->size - first->used < bytes) {
        bool alone = bytes > arena->next_size / 4;
        chunk *made = make_chunk(alone ? bytes : arena->next_size);
        if (!made) return NULL;
        if (alone && first) { /* the first one goes on being filled */
            made->next = first->next;
            first->next = made;
            made->used = bytes;
            return made->bytes;
        }
        made->next = first;
        arena->chunks = first = made;
        if (!alone && arena->next_size < LARGEST_CHUNK) arena->next_size *= 2;
    }
    void *given = first->bytes + first->used;
    first->used += bytes;
    return given;
}

void *fm_arena_allocate(fm_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    return allocate_bytes(arena, bytes ? bytes : 1);
}

const char *fm_arena_intern(fm_arena *arena, const char *text)
{
    const size_t length = strlen(text);
    bool fresh;
    fm_bytes *known = fm_table_put(&arena->texts, &(fm_bytes){text, length}, &fresh);
    if (!known || !fresh) return known ? known->at : NULL;
    char *copy = allocate_bytes(arena, length + 1);
    if (copy)
        known->at = memcpy(copy, text, length + 1);
    else
        fm_table_truncate(&arena->texts, arena->texts.count - 1);
    return copy;
}
