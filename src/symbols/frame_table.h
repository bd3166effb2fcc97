/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_table.h - where functions begin and end by the rules for unwinding (.eh_frame), which every program
 * keeps, stripped or not. They have no names.
 */
#ifndef FATHOM_SYMBOLS_FRAME_TABLE_H
#define FATHOM_SYMBOLS_FRAME_TABLE_H

#include <fathom/status.h>
#include <gelf.h>

typedef struct fm_frame_range {
    uint64_t low, high; /* [low, high), as objdump shows them */
} fm_frame_range;

typedef struct fm_frame_table {
    fm_frame_range *list; /* by low */
    size_t count, capacity;
} fm_frame_table;

/* Adds those of a file, within a guard. A damaged section gives fewer. FM_OK, FM_E_NOMEM. */
fm_status fm_frame_table_read(fm_frame_table *table, Elf *elf);
void fm_frame_table_clear(fm_frame_table *table);

/* The one that holds the address; NULL: none does. */
const fm_frame_range *fm_frame_table_find(const fm_frame_table *table, uint64_t address);
/* Where the first one behind the address begins; UINT64_MAX: there is none. */
uint64_t fm_frame_table_next(const fm_frame_table *table, uint64_t address);

#endif
