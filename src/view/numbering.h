/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbering.h - numbers byte strings 0, 1, 2, … in order of appearance; equal ones get equal numbers. A page
 * names a file or a function once and refers to it by number from then on.
 */
#ifndef FATHOM_VIEW_NUMBERING_H
#define FATHOM_VIEW_NUMBERING_H

#include <stddef.h>
#include <stdint.h>

typedef struct fm_numbered {
    size_t offset, length; /* in bytes */
    uint64_t hash;
} fm_numbered;

/* All zero is an empty one. */
typedef struct fm_numbering {
    size_t count, capacity;
    fm_numbered *items;
    char *bytes; /* every string begins at a multiple of 8 and is followed by a 0 byte */
    size_t used, room;
    uint32_t *slots; /* number + 1; 0: free. A power of two of them */
    size_t slot_count;
} fm_numbering;

/* UINT32_MAX: no memory, or too many. */
uint32_t fm_numbering_add(fm_numbering *numbering, const void *bytes, size_t length);
uint32_t fm_numbering_add_text(fm_numbering *numbering, const char *text);
/* Valid until the next one is added. */
const char *fm_numbering_text(const fm_numbering *numbering, size_t number);
void fm_numbering_clear(fm_numbering *numbering);

#endif
