/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_selection.h - what of an attribution goes onto a page: the pairs and uses of objects that matter,
 * and the sites, call paths, places and objects that they need.
 */
#ifndef FATHOM_VIEW_REPORT_SELECTION_H
#define FATHOM_VIEW_REPORT_SELECTION_H

#include "view/late_choice.h"
#include "view/report/report_places.h"

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

#endif
