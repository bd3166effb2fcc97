/* SPDX-License-Identifier: Apache-2.0 */
/* counted_profile.c - see counted_profile.h. */
#include "static/counter/counted_profile.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

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
