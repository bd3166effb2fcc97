/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c - see arena.h.
 *
 * Chunks grow from 4 KiB to 1 MiB; what is larger than a quarter of the next chunk gets one of its own, so
 * that no chunk is left behind half empty.
 */
#include "base/arena.h"

#include "base/memory.h"
#include "base/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
