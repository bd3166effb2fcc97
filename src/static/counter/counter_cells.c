/* SPDX-License-Identifier: Apache-2.0 */
/* counter_cells.c - see counter_cells.h. */
#include "static/counter/counter_cells.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

bool fm_cells_create(fm_value_cells *cells, const fm_grouping *grouping, uint64_t size)
{
    if (!size) size = 1;
    const size_t bins = fm_bins_index(grouping->bins, size - 1) + 1;
    size_t edge = 0;
    *cells = (fm_value_cells){.bins = grouping->bins};
    cells->borders = fm_calloc(bins + grouping->edge_count + 1, sizeof *cells->borders);
    cells->first = fm_calloc(bins, sizeof *cells->first);
    if (!cells->borders || !cells->first) {
        fm_cells_destroy(cells);
        return false;
    }
    for (size_t i = 0; i < bins; i++) {
        uint64_t low, high;
        fm_bins_range(grouping->bins, i, &low, &high);
        cells->first[i] = cells->count;
        cells->borders[cells->count++] = low;
        for (; edge < grouping->edge_count && grouping->edges[edge] <= high; edge++)
            if (grouping->edges[edge] > cells->borders[cells->count - 1] && grouping->edges[edge] < size)
                cells->borders[cells->count++] = grouping->edges[edge];
    }
    cells->borders[cells->count] = size;
    return true;
}

void fm_cells_destroy(fm_value_cells *cells)
{
    free(cells->borders);
    free(cells->first);
    memset(cells, 0, sizeof *cells);
}
