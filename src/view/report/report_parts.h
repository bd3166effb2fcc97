/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_parts.h - what the maker of pages consists of: what of an attribution goes onto a page (pairs and
 * uses of objects that matter, and the sites, call paths, places and objects that they need), its data, the
 * page.
 */
#ifndef FATHOM_VIEW_REPORT_REPORT_PARTS_H
#define FATHOM_VIEW_REPORT_REPORT_PARTS_H

#include <fathom/profile.h>
#include <fathom/view.h>

#include "view/source_files.h"

#include <stddef.h>

/*
 * ======== late choice ========
 * Which of very many pairs (or uses of objects) go onto a page.
 *
 * Every entry has misses at each cache size (edge). Where the page cannot hold all entries, they are ranked
 * by the largest share that they have of all misses at any size from the smallest cache on (`late`), and kept
 * from the top until 99.9 % of the misses at every such size are covered. What room is left goes to those
 * with the largest shares at smaller sizes.
 */

/* What pairs and uses of objects have in common. */
typedef struct fm_counts {
    uint64_t cold, beyond;
    size_t bin_count;
    const fm_bin *bins;
} fm_counts;

typedef struct fm_edges {
    size_t count; /* at least 1 */
    const uint64_t *edges;
} fm_edges;

/* The range that a distance is in: the last edge not above it. */
size_t fm_edges_index(fm_edges edges, uint64_t distance);

typedef struct fm_choice {
    size_t count;
    uint32_t *indices; /* ascending */
    double covered;    /* the least share of misses, over all sizes from `late` on, that the kept ones have */
} fm_choice;
/* Sizes below edge number `from` do not matter at all; `late` is not below it. The caller frees
 * choice->indices.
 */
fm_status fm_choice_make(fm_choice *choice, const fm_counts *counts, size_t count, fm_edges edges,
                         size_t from, size_t late, size_t most, fm_error *error);

/*
 * ======== report places ========
 * Sites joined into places of the source: one source line, reached through the same inlined
 * functions, is one place, however many instructions (and call paths) it has. An instruction without a source
 * line is a place of its own.
 */

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

/* ======== report selection ======== */

/* Some of the elements of an array, renumbered. */
typedef struct fm_subset {
    size_t count;
    uint32_t *indices; /* ascending */
    uint32_t *map;     /* old number to new; FM_NONE: left out */
} fm_subset;

typedef struct fm_selection {
    fm_choice pairs, uses;
    fm_subset sites, paths, places, objects;
    size_t left_places, left_objects; /* that have references, but are left out */
    uint64_t left_references;         /* of those places */
} fm_selection;

/* At most `most` pairs, as many uses of objects and as many places that no pair needs. */
fm_status fm_selection_make(fm_selection *selection, const fm_places *places, fm_source_files *files,
                            fm_edges edges, size_t most, fm_error *error);
void fm_selection_clear(fm_selection *selection);

static inline fm_counts fm_pair_counts(const fm_pair *pair)
{
    return (fm_counts){pair->cold, pair->beyond, pair->bin_count, pair->bins};
}

static inline fm_counts fm_use_counts(const fm_object_use *use)
{
    return (fm_counts){use->cold, use->beyond, use->bin_count, use->bins};
}

/*
 * ======== report attribution ========
 * Which code re-uses data too late, as JSON for the report page.
 */

/*
 * Distances are given by number of the range they are in (index of an edge). A histogram is one flat array:
 * [cold, beyond, range, count, range, count, …].
 *
 *   edges, lateFrom, all                 of the whole attribution
 *   modules [{path, buildId, unseen}]
 *   names   [of functions, shortened], fullNames [[number, name], …] where that makes a difference
 *   own     [the frame of each place that a reader knows: its number, the innermost is 0]
 *   places  [as fm_places_write has it], reuse [histogram, …], use [histogram, …]: as re-user, as earlier
 * user sites   [[place, module, "address", path, column], …], paths [[parent, call], …] pairs   [[use, reuse,
 * histogram…], …] objects [{kind, name, module, address, size, blocks, path, thread, all: histogram}, …],
 * otherObjects histogram uses    [[object, site, histogram…], …] left    {pairs, rest: histogram, covered,
 * places, placeReferences, uses, usesCovered, objects, objectsRest}
 *
 * At most `most` pairs, and as many uses, are given; the rest is summed up in `left`. Totals of places and
 * objects are of everything, whatever was left out.
 */
fm_status fm_report_write_attribution(FILE *out, const fm_attribution *attribution, fm_source_files *files,
                                      size_t most, fm_error *error);

/* What a page draws besides profiles: `write` writes fields of its data, each with a comma behind it. */
typedef struct fm_page_extra {
    fm_status (*write)(FILE *out, const void *of, fm_error *error);
    const void *of;
} fm_page_extra;

/*
 * ======== report data ========
 * What the report page gets to draw, as JSON that is safe inside a script element.
 */

fm_status fm_report_write_data(FILE *out, const fm_report_options *options, const fm_profile *const *profiles,
                               size_t count, const fm_cache *caches, size_t cache_count,
                               const fm_page_extra *extra, fm_error *error);

/* The page, or FM_E_UNSUPPORTED where this build has none. The options are whole, with a title. */
fm_status fm_report_write_whole(FILE *out, const fm_report_options *options,
                                const fm_profile *const *profiles, size_t count, const fm_cache *caches,
                                size_t cache_count, const fm_page_extra *extra, fm_error *error);

/* web/report.html with its styles and scripts (cmake/web.cmake); ends with a 0 byte. */
extern const unsigned char fm_page_template[];

#endif
