/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_places.h - sites joined into places of the source: one source line, reached through the same inlined
 * functions, is one place, however many instructions (and call paths) it has. An instruction without a source
 * line is a place of its own.
 */
#ifndef FATHOM_VIEW_REPORT_PLACES_H
#define FATHOM_VIEW_REPORT_PLACES_H

#include "view/numbering.h"
#include "view/source_files.h"

typedef struct fm_places {
    const fm_attribution *attribution;
    fm_numbering names; /* functions and symbols */
    fm_numbering keys;  /* a place's number is that of its key */
    uint32_t *of_site;  /* number of each site's place */
    uint32_t *example;  /* one site of each place */
    size_t example_room;
} fm_places;

/* Adds the files that it meets. */
fm_status fm_places_make(fm_places *places, const fm_attribution *attribution, fm_source_files *files,
                         fm_error *error);
void fm_places_clear(fm_places *places);

/* Three numbers for each frame, the innermost first: [name, file, line]. NULL where no line is known. */
typedef struct fm_place_frame {
    uint32_t name, file, line; /* UINT32_MAX, UINT32_MAX, 0: unknown */
} fm_place_frame;
const fm_place_frame *fm_places_frames(const fm_places *places, uint32_t place, size_t *count);

/* Sets used[name] for the names that it has. */
void fm_places_mark_names(const fm_places *places, uint32_t place, bool *used);

/* As JSON: [name, file, line, name, file, line, …], -1 for what is unknown; or, without a line,
 * {"module":…,"address":"…","name":…,"offset":…}. */
void fm_places_write(FILE *out, const fm_places *places, uint32_t place);

#endif
