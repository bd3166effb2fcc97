/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - memory in two sizes. Small and passing things come from malloc; tables that grow with
 * the trace come straight from the kernel in pages: zeroed, on huge pages where there are any, and
 * growable without a copy (mremap), so that growth never holds the old and the new table at once.
 *
 * What is large is refused where neither the machine nor the control group has it (free_memory.h), instead of
 * granted, and the process killed.
 */
#ifndef FATHOM_BASE_MEMORY_H
#define FATHOM_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* count * size, zeroed; NULL when that overflows or memory is short. Release with free(). */
void *fm_calloc(size_t count, size_t size);
/* The same, not zeroed: for room that is written before it is read. A batch has room for 65536 references,
 * most traces and parts of them have fewer; zeroing what they never use would cost more than reading them. */
void *fm_malloc_array(size_t count, size_t size);
/* Grows *array of *capacity elements to at least needed; doubles. Returns 0, or -1 with *array as it was. */
int fm_array_reserve(void **array, size_t *capacity, size_t needed, size_t element_size);

/* Zeroed pages; NULL when memory is short. bytes must not be 0. */
void *fm_pages_allocate(size_t bytes);
/* Contents up to the smaller size are kept, what is new is zero. NULL when memory is short: then the
 * old pages are as they were. What becomes smaller stays where it is, and does not fail. */
void *fm_pages_resize(void *pages, size_t old_bytes, size_t new_bytes);
/*
 * The bytes [from, to) will be written to soon. A page that is read before it is written is the kernel's page
 * of zeros first; the write then faults again and, in a program with threads, interrupts every core. Only a
 * hint.
 */
void fm_pages_prepare(void *pages, size_t from, size_t to);
void fm_pages_free(void *pages, size_t bytes); /* NULL is fine */
/* Gives back the bytes [from, to) of pages that were allocated as `bytes`: whole pages of 4096, or to the end
 * where `to` is `bytes`. In this way an array goes back piece by piece, from its beginning. */
void fm_pages_give_back(void *pages, size_t bytes, size_t from, size_t to);

#endif
