/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_choice.h - which of very many pairs (or uses of objects) go onto a page.
 *
 * Every entry has misses at each cache size (edge). Where the page cannot hold all entries, they are ranked
 * by the largest share that they have of all misses at any size from the smallest cache on (`late`), and kept
 * from the top until 99.9 % of the misses at every such size are covered. What room is left goes to those
 * with the largest shares at smaller sizes.
 */
#ifndef FATHOM_VIEW_LATE_CHOICE_H
#define FATHOM_VIEW_LATE_CHOICE_H

#include <fathom/profile.h>

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

#endif
