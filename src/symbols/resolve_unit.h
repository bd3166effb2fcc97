/* SPDX-License-Identifier: Apache-2.0 */
/* resolve_unit.h - frames of many sites from one file's DWARF. Internal to this room. */
#ifndef FATHOM_SYMBOLS_RESOLVE_UNIT_H
#define FATHOM_SYMBOLS_RESOLVE_UNIT_H

#include "symbols/symbol_file.h"

#include <fathom/attribution.h>

/* A site that waits for its frames. */
typedef struct fm_wanted_site {
    uint64_t address; /* in the file */
    uint32_t site;    /* index in the attribution */
    uint32_t unit;
} fm_wanted_site;

typedef struct fm_dwarf_result {
    bool has_units;    /* there is debug information at all */
    bool damaged;      /* some of it could not be read */
    size_t with_lines; /* sites that got a line */
} fm_dwarf_result;

/* Fills in the frames of those sites that the debug information covers. Reorders wanted. */
fm_status fm_resolve_frames(fm_symbols *symbols, fm_attribution *attribution, fm_wanted_site *wanted,
                            size_t count, fm_dwarf_result *result, fm_error *error);

#endif
