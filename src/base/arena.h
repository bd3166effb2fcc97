/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory that is given back all at once, and texts that are kept once. Internal; attributions live
 * in one, and views use one for what they make on the way.
 */
#ifndef FATHOM_BASE_ARENA_H
#define FATHOM_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct fm_arena fm_arena;

fm_arena *fm_arena_create(void);        /* NULL: no memory */
void fm_arena_destroy(fm_arena *arena); /* NULL is fine */

/* count * size, zeroed, aligned for everything; NULL when that overflows or memory is short. */
void *fm_arena_allocate(fm_arena *arena, size_t count, size_t size);

/* A copy of the text; equal texts give the same pointer. NULL: no memory. */
const char *fm_arena_intern(fm_arena *arena, const char *text);

#endif
