/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern_table.h - numbers pairs of numbers in order of their first appearance, each with a small value
 * beside it. Places in code (address, file), edges of the tree of calls (place, parent), sites on paths
 * (place, path): whatever the receiver interns is one of these. Entries are never removed.
 */
#ifndef FATHOM_COLLECT_INTERN_TABLE_H
#define FATHOM_COLLECT_INTERN_TABLE_H

#include <fathom/status.h>

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

#endif
