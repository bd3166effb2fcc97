/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen_set.c - which blocks were ever touched (engine_tables.h).
 *
 * Open addressing with linear probing over 8-byte keys, at most three quarters full. 0 marks an empty
 * slot; whether the key 0 itself is in the set is a flag beside the table. Nothing is ever removed.
 * Times, where asked for, are a second array of the same shape behind the keys, in the same pages.
 *
 * Growth allocates the doubled table beside the old one: the set is bounded (engine_tables.h), so this
 * passing half as much again is bounded too.
 */
#include "engine/engine_tables.h"

#include "base/memory.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BITS = 9 }; /* 512 slots, one page: a short trace costs next to nothing */

struct fm_seen_set {
    uint64_t *keys;
    uint64_t *times; /* NULL: none; else keys + slots */
    unsigned bits;   /* the table has 2^bits slots */
    bool with_times, zero_known, given_up;
    uint64_t zero_time;
    uint64_t used; /* keys that are remembered: slots, and the key 0 */
    uint64_t count, limit;
    uint64_t seed_add, seed_multiply;
    uint64_t memory_peak;
};

static uint64_t slots_of(unsigned bits)
{
    return UINT64_C(1) << bits;
}

static uint64_t bytes_of(const fm_seen_set *set, unsigned bits)
{
    return slots_of(bits) * sizeof(uint64_t) * (set->with_times ? 2 : 1);
}

/* A folded 128-bit product of two seeded factors: without the seed nobody can choose keys that meet. */
static uint64_t set_home(const fm_seen_set *set, uint64_t key, unsigned bits)
{
    __uint128_t product = (__uint128_t)(key ^ set->seed_add) * set->seed_multiply;
    uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);
    return (folded * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits);
}

/* The slot that holds key (not 0), or the empty one where it belongs. */
static uint64_t set_find(const fm_seen_set *set, const uint64_t *keys, unsigned bits, uint64_t key)
{
    uint64_t mask = slots_of(bits) - 1;
    uint64_t slot = set_home(set, key, bits);
    while (keys[slot] && keys[slot] != key) slot = (slot + 1) & mask;
    return slot;
}

fm_seen_set *fm_seen_set_create(uint64_t limit, uint64_t seed, bool with_times)
{
    fm_seen_set *set = fm_calloc(1, sizeof *set);
    if (!set) return NULL;
    set->limit = limit;
    set->with_times = with_times;
    set->bits = FIRST_BITS;
    set->seed_add = fm_random_mixed(seed + UINT64_C(0x9E3779B97F4A7C15));
    set->seed_multiply = fm_random_mixed(seed + UINT64_C(0x3C6EF372FE94F82A)) | 1;
    set->keys = fm_pages_allocate(bytes_of(set, set->bits));
    if (!set->keys) {
        free(set);
        return NULL;
    }
    set->times = with_times ? set->keys + slots_of(set->bits) : NULL;
    set->memory_peak = fm_seen_set_memory(set);
    return set;
}

static void give_up(fm_seen_set *set)
{
    if (set->keys) fm_pages_free(set->keys, bytes_of(set, set->bits));
    set->keys = set->times = NULL;
    set->given_up = true;
}

void fm_seen_set_destroy(fm_seen_set *set)
{
    if (!set) return;
    give_up(set);
    free(set);
}

static bool is_full(const fm_seen_set *set)
{
    return set->used >= slots_of(set->bits) / 4 * 3;
}

static bool grow_to(fm_seen_set *set, unsigned bits)
{
    uint64_t *keys = fm_pages_allocate(bytes_of(set, bits));
    if (!keys) return false;
    /* All of it will be written, in no order: pages that are read first would be mapped twice. */
    fm_pages_prepare(keys, 0, bytes_of(set, bits));
    uint64_t *times = set->with_times ? keys + slots_of(bits) : NULL;
    for (uint64_t old = 0; old < slots_of(set->bits); old++) {
        if (!set->keys[old]) continue;
        uint64_t slot = set_find(set, keys, bits, set->keys[old]);
        keys[slot] = set->keys[old];
        if (times) times[slot] = set->times[old];
    }
    const uint64_t held = fm_seen_set_memory(set) + bytes_of(set, bits);
    if (held > set->memory_peak) set->memory_peak = held;
    fm_pages_free(set->keys, bytes_of(set, set->bits));
    set->keys = keys;
    set->times = times;
    set->bits = bits;
    return true;
}

/* The slot of a key that may be there; *known says whether it is. */
static uint64_t look_up(const fm_seen_set *set, uint64_t key, bool *known)
{
    *known = set->zero_known;
    if (key == 0) return 0;
    const uint64_t slot = set_find(set, set->keys, set->bits, key);
    *known = set->keys[slot] != 0;
    return slot;
}

static uint64_t time_of(const fm_seen_set *set, uint64_t key, uint64_t slot)
{
    if (key == 0) return set->zero_time;
    return set->times ? set->times[slot] : 0;
}

/* Remembers a key that is not there and belongs into this slot, which changes where the set grows. */
static fm_seen set_add(fm_seen_set *set, uint64_t key, uint64_t *slot, uint64_t budget)
{
    if (fm_seen_set_memory_next(set) > budget) {
        give_up(set);
        return FM_SEEN_GIVEN_UP;
    }
    if (is_full(set)) {
        if (!grow_to(set, set->bits + 1)) return FM_SEEN_NO_MEMORY;
        if (key) *slot = set_find(set, set->keys, set->bits, key);
    }
    FM_ASSERT(!is_full(set) &&
              (!key || set->keys[*slot] == 0)); /* loops over slots end; each key is there once */
    if (key)
        set->keys[*slot] = key;
    else
        set->zero_known = true;
    set->used++;
    return FM_SEEN_NEW;
}

fm_seen fm_seen_set_insert(fm_seen_set *set, uint64_t key, uint64_t budget, uint64_t *last_time)
{
    bool known;
    if (set->given_up) return FM_SEEN_GIVEN_UP;
    uint64_t slot = look_up(set, key, &known);
    if (known) {
        if (last_time) *last_time = time_of(set, key, slot);
        return FM_SEEN_KNOWN;
    }
    if (set->count >= set->limit) {
        give_up(set);
        return FM_SEEN_GIVEN_UP;
    }
    const fm_seen added = set_add(set, key, &slot, budget);
    set->count += added == FM_SEEN_NEW;
    return added;
}

fm_seen fm_seen_set_meet(fm_seen_set *set)
{
    if (!set->given_up && set->count >= set->limit) give_up(set);
    if (set->given_up) return FM_SEEN_GIVEN_UP;
    set->count++;
    return FM_SEEN_NEW;
}

/* Remembers a key that was met. */
static fm_seen set_keep(fm_seen_set *set, uint64_t key, uint64_t budget)
{
    bool known;
    if (set->given_up) return FM_SEEN_GIVEN_UP;
    uint64_t slot = look_up(set, key, &known);
    return known ? FM_SEEN_KNOWN : set_add(set, key, &slot, budget);
}

bool fm_seen_set_keep_table(fm_seen_set *set, const fm_block_table *table, uint64_t budget)
{
    enum { AHEAD = 4, MORE = 8 }; /* buckets; and keys that come, about, for each that is there */
    const fm_bucket *buckets = table->buckets;
    /* Every size that it grows through would be pages to be cleared. */
    const uint64_t wanted = table->used < set->limit / MORE ? MORE * table->used : set->limit;
    unsigned bits = set->bits;
    while (slots_of(bits) / 4 * 3 < wanted) bits++;
    const uint64_t most = fm_seen_set_memory(set) + bytes_of(set, bits);
    if (!set->given_up && bits > set->bits && set->limit < UINT64_MAX && most <= budget) grow_to(set, bits);
    for (uint64_t i = 0; i < table->bucket_count && !set->given_up; i++) {
        for (int slot = 0; i + AHEAD < table->bucket_count && slot < FM_BUCKET_SLOTS; slot++)
            fm_seen_set_prefetch(set, buckets[i + AHEAD].key[slot]);
        for (int slot = 0; slot < FM_BUCKET_SLOTS && buckets[i].position[slot]; slot++)
            if (set_keep(set, buckets[i].key[slot], budget) == FM_SEEN_NO_MEMORY) return false;
    }
    return true;
}

void fm_seen_set_prefetch(const fm_seen_set *set, uint64_t key)
{
    if (!set->given_up) __builtin_prefetch(set->keys + set_home(set, key, set->bits));
}

void fm_seen_set_empty(fm_seen_set *set)
{
    if (set->keys && set->used > 0) memset(set->keys, 0, bytes_of(set, set->bits));
    if (!set->keys) {
        /* The first table is a page; where there is none, the set stays given up, which is never wrong. */
        set->bits = FIRST_BITS;
        set->keys = fm_pages_allocate(bytes_of(set, set->bits));
        set->times = set->keys && set->with_times ? set->keys + slots_of(set->bits) : NULL;
    }
    set->given_up = !set->keys;
    set->zero_known = false;
    set->used = set->count = 0;
}

bool fm_seen_set_absorb(fm_seen_set *set, const fm_seen_set *other)
{
    if (other->given_up) {
        fm_seen_set_give_up(set, other->count);
        return true;
    }
    if (other->zero_known && set_keep(set, 0, UINT64_MAX) == FM_SEEN_NO_MEMORY) return false;
    for (uint64_t slot = 0; slot < slots_of(other->bits); slot++)
        if (other->keys[slot] && set_keep(set, other->keys[slot], UINT64_MAX) == FM_SEEN_NO_MEMORY)
            return false;
    set->count += other->count;
    return true;
}

void fm_seen_set_give_up(fm_seen_set *set, uint64_t count)
{
    give_up(set);
    set->count = count;
}

void fm_seen_set_store_time(fm_seen_set *set, uint64_t key, uint64_t time)
{
    if (!set->times) return;
    if (key == 0) {
        set->zero_time = time;
        return;
    }
    uint64_t slot = set_find(set, set->keys, set->bits, key);
    if (set->keys[slot]) set->times[slot] = time;
}

uint64_t fm_seen_set_count(const fm_seen_set *set)
{
    return set->count;
}

bool fm_seen_set_given_up(const fm_seen_set *set)
{
    return set->given_up;
}

uint64_t fm_seen_set_memory(const fm_seen_set *set)
{
    return sizeof *set + (set->keys ? bytes_of(set, set->bits) : 0);
}

uint64_t fm_seen_set_memory_peak(const fm_seen_set *set)
{
    return set->memory_peak;
}

uint64_t fm_seen_set_memory_next(const fm_seen_set *set)
{
    uint64_t now = fm_seen_set_memory(set);
    return set->keys && is_full(set) ? now + bytes_of(set, set->bits + 1) : now;
}

bool fm_seen_set_next(const fm_seen_set *set, uint64_t *cursor, uint64_t *key)
{
    if (!set->keys) return false;
    /* Slot by slot; the key 0, which has none, at the end. */
    for (; *cursor < slots_of(set->bits); ++*cursor) {
        if (!set->keys[*cursor]) continue;
        *key = set->keys[(*cursor)++];
        return true;
    }
    if (*cursor > slots_of(set->bits) || !set->zero_known) return false;
    ++*cursor;
    *key = 0;
    return true;
}
