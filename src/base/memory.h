/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - memory from malloc and from the kernel, how much there is, and what control groups leave. */
#ifndef FATHOM_BASE_MEMORY_H
#define FATHOM_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Memory in two sizes. Small and passing things come from malloc; tables that grow with
 * the trace come straight from the kernel in pages: zeroed, on huge pages where there are any, and
 * growable without a copy (mremap), so that growth never holds the old and the new table at once.
 *
 * What is large is refused where neither the machine nor the control group has it (below), instead of
 * granted, and the process killed.
 */

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

/* ======== free memory ======== */

/* How much memory this process could still take, for those who may take more or less. */

/* Bytes that the machine has available, or that the limits of this process (address space, control groups)
 * leave, whichever is less. 0: nobody knows. */
uint64_t fm_free_memory(void);

/*
 * Linux grants memory that is not there, and kills a process when it writes to it. Whether so many bytes are
 * there: of the machine and of the control groups, swap space included, and a little is left then. True where
 * nobody knows. Costs some tenths of a millisecond: ask for what is large.
 */
bool fm_memory_is_there(uint64_t bytes);
/* The same in a folder with other files of /proc and /sys, for tests; "": this machine. */
bool fm_memory_is_there_under(const char *root, uint64_t bytes);

/* ======== control groups ======== */

/*
 * The limits of the control group (cgroup) that this process is in, and of all groups above
 * it: those of containers, of systemd's units and of batch systems. Version 1, version 2, and both at once.
 */

/* Bytes that can still be taken. UINT64_MAX: there is no limit. */
typedef struct fm_memory_room {
    uint64_t easily;      /* without driving out files that were read lately, and without swapping */
    uint64_t at_the_most; /* before the kernel kills a process for it */
} fm_memory_room;

/* The least that any of the groups leaves. root: "", or a folder that holds other files of /proc and /sys:
 * for tests. swap_free: bytes of the machine's swap space that are free. */
fm_memory_room fm_control_group_memory(const char *root, uint64_t swap_free);

/* Processors that the groups' quotas of time are worth, rounded up. 0: there is no quota. */
unsigned fm_control_group_processors(const char *root);

#endif
