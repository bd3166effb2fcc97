/* SPDX-License-Identifier: Apache-2.0 */
/* counted.c - what was counted of a region (counter.h), as a list of distances and as a profile. */
#include "static/counter/counter.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

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

/* ---- what was counted ---- */

fm_status fm_static_counted_add(fm_static_counted *counted, uint32_t use, uint32_t reuse, uint64_t distance,
                                uint64_t count, fm_error *error)
{
    if (count == 0) return FM_OK;
    if (use == FM_FIRST_TOUCH) distance = 0;
    if (!counted->table.entry_size) counted->table = FM_TABLE(fm_counted_pair, count);
    fm_counted_pair *pair = fm_table_put(&counted->table, &(fm_counted_pair){use, reuse, distance, 0}, NULL);
    if (!pair) return fm_fail_memory(error, counted->table.count * sizeof *pair, "the table of distances");
    if (__builtin_add_overflow(counted->points, count, &counted->points))
        return fm_fail(error, FM_E_LIMIT, NULL, "the region has 2^64 accesses or more");
    if (use == FM_FIRST_TOUCH) counted->cold += count;
    pair->count += count;
    return FM_OK;
}

static int by_pair(const void *left, const void *right)
{
    const fm_counted_pair *a = left, *b = right;
    if (a->use != b->use) return a->use < b->use ? -1 : 1;
    if (a->reuse != b->reuse) return a->reuse < b->reuse ? -1 : 1;
    return a->distance < b->distance ? -1 : a->distance > b->distance;
}

static int by_distance(const void *left, const void *right)
{
    const fm_counted_distance *a = left, *b = right;
    return a->distance < b->distance ? -1 : a->distance > b->distance;
}

static inline bool sums_to(const fm_counted_distance *distances, size_t count, uint64_t sum)
{
    for (size_t i = 0; i < count; i++) sum -= distances[i].count;
    return sum == 0;
}

fm_status fm_static_counted_finish(fm_static_counted *counted, fm_error *error)
{
    fm_counted_pair *pairs = counted->table.entries;
    const size_t taken = counted->table.count;
    size_t count = 0;
    fm_counted_distance *distances = fm_calloc(taken + 1, sizeof *distances);
    if (!distances) return fm_fail_memory(error, (taken + 1) * sizeof *distances, "the distances");
    for (size_t i = 0; i < taken; i++)
        if (pairs[i].use != FM_FIRST_TOUCH)
            distances[count++] = (fm_counted_distance){pairs[i].distance, pairs[i].count};
    qsort(distances, count, sizeof *distances, by_distance);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept && distances[kept - 1].distance == distances[i].distance)
            distances[kept - 1].count += distances[i].count;
        else
            distances[kept++] = distances[i];
    if (taken) qsort(pairs, taken, sizeof *pairs, by_pair);
    FM_ASSERT(sums_to(distances, kept, counted->points - counted->cold));
    counted->distances = distances;
    counted->distance_count = kept;
    counted->pairs = pairs;
    counted->pair_count = taken;
    return FM_OK;
}

void fm_static_counted_clear(fm_static_counted *counted)
{
    free(counted->distances);
    fm_table_clear(&counted->table);
    memset(counted, 0, sizeof *counted);
}

/* ---- as a profile ---- */

/* Distances ascend, and so do bins: those that fall into one follow each other. */
static fm_status fill_bins(const fm_static_counted *counted, fm_bins bins, fm_histogram *histogram,
                           fm_error *error)
{
    histogram->bins = fm_calloc(counted->distance_count + 1, sizeof *histogram->bins);
    if (!histogram->bins)
        return fm_fail_memory(error, (counted->distance_count + 1) * sizeof *histogram->bins, "a histogram");
    for (size_t i = 0; i < counted->distance_count; i++) {
        uint64_t distance = counted->distances[i].distance;
        fm_bin *last = histogram->count ? &histogram->bins[histogram->count - 1] : NULL;
        if (!last || distance > last->hi) {
            last = &histogram->bins[histogram->count++];
            fm_bins_range(bins, fm_bins_index(bins, distance), &last->lo, &last->hi);
        }
        last->count += counted->distances[i].count; /* all together are counted->points */
    }
    return FM_OK;
}

fm_status fm_counted_profile(const fm_static_counted *counted, uint64_t granularity, fm_bins bins,
                             fm_profile **profile, fm_error *error)
{
    fm_profile *made = NULL;
    *profile = NULL;
    fm_status status = fm_profile_create(&made, error);
    if (status != FM_OK) return status;
    made->granularity = granularity;
    made->bins = bins;
    made->references = counted->points;
    made->cold = made->distinct = counted->cold;
    made->cold_known = true;
    free(made->engine);
    made->engine = strdup("static");
    status = made->engine ? fill_bins(counted, bins, &made->distances, error)
                          : fm_fail_memory(error, 8, "the name of an engine");
    if (status != FM_OK)
        fm_profile_destroy(made);
    else
        *profile = made;
    return status;
}

static uint32_t range_of(uint64_t distance, const uint64_t *edges, size_t edge_count)
{
    size_t low = 0, high = edge_count; /* the last edge that is not larger is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(edges[middle] <= distance ? &low : &high) = middle;
    }
    return (uint32_t)low;
}

fm_status fm_counted_pairs(const fm_static_counted *counted, const uint64_t *edges, size_t edge_count,
                           fm_raw_pair **pairs, size_t *pair_count, fm_error *error)
{
    *pair_count = 0;
    *pairs = fm_calloc(counted->pair_count + 1, sizeof **pairs);
    if (!*pairs) return fm_fail_memory(error, (counted->pair_count + 1) * sizeof **pairs, "pairs");
    for (size_t i = 0; i < counted->pair_count; i++) {
        const fm_counted_pair *from = &counted->pairs[i];
        bool first = from->use == FM_FIRST_TOUCH;
        fm_raw_pair one = {.use = first ? 0 : from->use + 1,
                           .reuse = from->reuse + 1,
                           .range = first ? FM_RANGE_COLD : range_of(from->distance, edges, edge_count),
                           .count = from->count};
        fm_raw_pair *last = *pair_count ? &(*pairs)[*pair_count - 1] : NULL;
        if (last && last->use == one.use && last->reuse == one.reuse && last->range == one.range)
            last->count += one.count;
        else
            (*pairs)[(*pair_count)++] = one;
    }
    return FM_OK;
}
