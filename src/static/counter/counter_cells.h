/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_cells.h - which values are counted together: those of one bin of a histogram, between two edges of
 * an attribution.
 */
#ifndef FATHOM_STATIC_COUNTER_CELLS_H
#define FATHOM_STATIC_COUNTER_CELLS_H

#include <fathom/profile.h>

/* What nobody will ask for need not be told apart. */
typedef struct fm_grouping {
    fm_bins bins;          /* FM_BINS_EXACT: every value by itself */
    const uint64_t *edges; /* ascending; where a value is below one and another one is not, they stay apart */
    size_t edge_count;
} fm_grouping;

typedef struct fm_value_cells {
    fm_bins bins;
    size_t count;
    uint64_t *borders; /* cell i has the values borders[i] … borders[i + 1] - 1; borders[0] is 0 */
    size_t *first;     /* the first cell of each bin */
} fm_value_cells;

/* For all values less than `size`. False: no memory. The bins are not exact ones. */
bool fm_cells_create(fm_value_cells *cells, const fm_grouping *grouping, uint64_t size);
void fm_cells_destroy(fm_value_cells *cells);

static inline size_t fm_cells_index(const fm_value_cells *cells, uint64_t value)
{
    size_t cell = cells->first[fm_bins_index(cells->bins, value)];
    while (cells->borders[cell + 1] <= value) cell++;
    return cell;
}

#endif
