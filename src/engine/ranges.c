/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.c - see ranges.h. */
#include "engine/ranges.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

fm_status fm_ranges_create(fm_ranges *ranges, const uint64_t *edges, size_t count, fm_error *error)
{
    if (count < 1 || count > FM_EDGES_MAX)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "%zu edges of ranges: there must be 1 to %d", count,
                       FM_EDGES_MAX);
    if (edges[0] != 0)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the first edge of ranges is %" PRIu64 ", not 0",
                       edges[0]);
    for (size_t i = 1; i < count; i++)
        if (edges[i] <= edges[i - 1])
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "edges of ranges must ascend, but %" PRIu64 " follows %" PRIu64, edges[i],
                           edges[i - 1]);
    memset(ranges, 0, sizeof *ranges);
    ranges->count = count;
    memcpy(ranges->edges, edges, count * sizeof *edges);
    memset(ranges->edge, 0xFF, sizeof ranges->edge);
    for (unsigned octave = 0; octave < FM_OCTAVES; octave++) {
        uint64_t least = octave ? UINT64_C(1) << octave : 0, end = UINT64_C(2) << octave;
        uint32_t base = fm_range_of(ranges, least);
        unsigned inner = 0;
        for (size_t i = base + 1; i < count && edges[i] < end; i++, inner++)
            if (inner < FM_INNER_MAX) ranges->edge[inner][octave] = (uint32_t)edges[i];
        ranges->base[octave] = base;
        if (inner > ranges->inner) ranges->inner = inner;
    }
    for (uint64_t distance = 0; distance < FM_SMALL_RANGES; distance++)
        ranges->small[distance] = (uint8_t)fm_range_of(ranges, distance);
    return FM_OK;
}
