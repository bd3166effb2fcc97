/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_apart.h - addresses are resolved in a process of its own, since libdw and the libraries below it do
 * not survive every refusal of memory (libdw 0.188 writes into tables that it did not get), nor every damaged
 * file. What that process dies of costs the names of one module, not the caller. Internal to this room.
 */
#ifndef FATHOM_SYMBOLS_RESOLVE_APART_H
#define FATHOM_SYMBOLS_RESOLVE_APART_H

#include "symbols/resolve_unit.h"

/* What of one module is to be resolved. */
typedef struct fm_module_work {
    fm_attribution *attribution;
    const fm_module *module;
    uint32_t index;
    fm_wanted_site *wanted;
    size_t count;
    FILE *notes;
    bool matters; /* some of the misses are its */
} fm_module_work;

typedef fm_status (*fm_module_resolver)(const fm_module_work *work, fm_error *error);

/*
 * Calls resolve for each of the works, one after the other, until one fails; frames, symbols and names of
 * variables that it filled in, and its notes, are then here. Of a work in which the process ended the note
 * says so. Where no process can be had: in this one.
 */
fm_status fm_resolve_apart(fm_module_work *works, size_t count, fm_module_resolver resolve, fm_error *error);

#endif
