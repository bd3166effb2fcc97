/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c - see arena.h.
 *
 * Chunks grow from 4 KiB to 1 MiB; what is larger than a quarter of the next chunk gets one of its own, so
 * that no chunk is left behind half empty. Texts are found by open addressing, at most half full; the hash
 * has a seed of its own in each arena, since the texts may come from a file that someone prepared.
 */
#include "base/arena.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

enum { FIRST_CHUNK = 4 << 10, LARGEST_CHUNK = 1 << 20, ALIGNMENT = 16, FIRST_SLOTS = 64 };

typedef struct chunk {
    struct chunk *next;
    size_t size, used; /* of bytes */
    _Alignas(ALIGNMENT) unsigned char bytes[];
} chunk;

typedef struct slot {
    uint64_t hash;
    const char *text; /* NULL: free */
} slot;

struct fm_arena {
    chunk *chunks; /* the first one is filled; those behind it are full, or have one thing in them */
    size_t next_size;
    slot *slots;
    size_t slot_count, text_count;
    uint64_t seed;
};

fm_arena *fm_arena_create(void)
{
    fm_arena *arena = fm_calloc(1, sizeof *arena);
    if (!arena) return NULL;
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    arena->seed = (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)arena;
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
    free(arena->slots);
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

static slot *place_of(slot *slots, size_t slot_count, uint64_t hash, const char *text)
{
    size_t at = (size_t)hash & (slot_count - 1);
    while (slots[at].text && (slots[at].hash != hash || !text || strcmp(slots[at].text, text) != 0))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static int make_slots(fm_arena *arena)
{
    if (arena->text_count < arena->slot_count / 2) return 0;
    size_t wanted = arena->slot_count ? arena->slot_count * 2 : FIRST_SLOTS;
    slot *slots = fm_calloc(wanted, sizeof *slots);
    if (!slots) return -1;
    for (size_t i = 0; i < arena->slot_count; i++)
        if (arena->slots[i].text) *place_of(slots, wanted, arena->slots[i].hash, NULL) = arena->slots[i];
    free(arena->slots);
    arena->slots = slots;
    arena->slot_count = wanted;
    return 0;
}

const char *fm_arena_intern(fm_arena *arena, const char *text)
{
    size_t length = strlen(text);
    uint64_t hash = XXH3_64bits_withSeed(text, length, arena->seed);
    if (make_slots(arena)) return NULL;
    slot *place = place_of(arena->slots, arena->slot_count, hash, text);
    if (place->text) return place->text;
    char *copy = allocate_bytes(arena, length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length + 1);
    *place = (slot){hash, copy};
    arena->text_count++;
    return copy;
}
