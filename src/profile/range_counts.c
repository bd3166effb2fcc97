/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_counts.c - see range_counts.h. O(n log n) in the number of counts; linear where they come in order,
 * as those of an analyzer do when sites were numbered like tags.
 */
#include "profile/range_counts.h"

#include "base/error.h"
#include "base/memory.h"

#include <fathom/profile.h>
#include <inttypes.h>
#include <stdlib.h>

fm_status fm_range_counts_add(fm_range_counts *counts, fm_range_count item, fm_error *error)
{
    if (item.count == 0) return FM_OK;
    if (counts->count == counts->capacity) {
        void *grown = counts->items;
        if (fm_array_reserve(&grown, &counts->capacity, counts->count + 1, sizeof item))
            return fm_fail_memory(error, (uint64_t)(counts->count + 1) * sizeof item, "pairs of sites");
        counts->items = grown;
    }
    counts->items[counts->count++] = item;
    return FM_OK;
}

/* The range that begins at a distance; edge_count: none. */
static size_t range_from(const fm_attribution *edges, uint64_t distance)
{
    size_t low = 0, high = edges->edge_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (edges->edges[middle] < distance)
            low = middle + 1;
        else
            high = middle;
    }
    return low < edges->edge_count && edges->edges[low] == distance ? low : edges->edge_count;
}

fm_status fm_range_counts_add_bins(fm_range_counts *counts, const fm_attribution *edges, uint32_t major,
                                   uint32_t minor, uint64_t cold, uint64_t beyond, const fm_bin *bins,
                                   size_t bin_count, fm_error *error)
{
    fm_range_count item = {major, minor, FM_RANGE_COLD, cold};
    fm_status status = fm_range_counts_add(counts, item, error);
    item.range = FM_RANGE_BEYOND;
    item.count = beyond;
    if (!status) status = fm_range_counts_add(counts, item, error);
    for (size_t i = 0; i < bin_count && !status; i++) {
        item.range = (uint32_t)range_from(edges, bins[i].lo);
        item.count = bins[i].count;
        if (item.range == edges->edge_count)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "a range of distances begins at %" PRIu64 ", which is no edge", bins[i].lo);
        status = fm_range_counts_add(counts, item, error);
    }
    return status;
}

void fm_range_counts_clear(fm_range_counts *counts)
{
    free(counts->items);
    *counts = (fm_range_counts){0};
}

/* ---- joining ---- */

static int by_place(const void *a, const void *b)
{
    const fm_range_count *x = a, *y = b;
    if (x->major != y->major) return x->major < y->major ? -1 : 1;
    if (x->minor != y->minor) return x->minor < y->minor ? -1 : 1;
    return x->range < y->range ? -1 : x->range > y->range;
}

static fm_status too_many(fm_error *error)
{
    return fm_fail(error, FM_E_ARGUMENT, NULL, "the count of a pair of sites would exceed 64 bits");
}

/* Sorts, and adds up what has the same place. */
static fm_status counts_join(fm_range_counts *counts, fm_error *error)
{
    fm_range_count *items = counts->items;
    bool sorted = true;
    for (size_t i = 1; i < counts->count && sorted; i++) sorted = by_place(&items[i - 1], &items[i]) <= 0;
    if (!sorted) qsort(items, counts->count, sizeof *items, by_place);
    size_t kept = 0;
    for (size_t i = 0; i < counts->count; i++) {
        if (kept == 0 || by_place(&items[kept - 1], &items[i]) != 0)
            items[kept++] = items[i];
        else if (__builtin_add_overflow(items[kept - 1].count, items[i].count, &items[kept - 1].count))
            return too_many(error);
    }
    counts->count = kept;
    return FM_OK;
}

/* What a pair and an object use have in common. */
typedef struct group {
    uint32_t major, minor;
    uint64_t count, cold, beyond;
    size_t bin_count;
    const fm_bin *bins;
} group;

/* All groups, and all their bins one after the other, in the arena. */
static fm_status make_groups(const fm_range_counts *counts, fm_attribution *attribution, size_t *group_count,
                             group **groups, fm_error *error)
{
    size_t bin_count = 0;
    *group_count = 0;
    for (size_t i = 0; i < counts->count; i++) {
        const fm_range_count *item = &counts->items[i];
        bin_count += item->range < FM_RANGE_COLD;
        *group_count += i == 0 || item[-1].major != item->major || item[-1].minor != item->minor;
    }
    *groups = fm_calloc(*group_count, sizeof **groups);
    fm_bin *bins = *groups ? fm_attribution_allocate(attribution, bin_count, sizeof *bins) : NULL;
    if (!bins) {
        free(*groups);
        fm_fail_memory(error, (uint64_t)bin_count * sizeof *bins, "pairs of sites");
        return FM_E_NOMEM;
    }
    size_t made = 0;
    for (size_t i = 0; i < counts->count; i++) {
        const fm_range_count *item = &counts->items[i];
        if (i == 0 || item[-1].major != item->major || item[-1].minor != item->minor)
            (*groups)[made++] = (group){.major = item->major, .minor = item->minor, .bins = bins};
        group *into = &(*groups)[made - 1];
        if (__builtin_add_overflow(into->count, item->count, &into->count)) {
            free(*groups);
            too_many(error);
            return FM_E_ARGUMENT;
        }
        if (item->range == FM_RANGE_COLD) {
            into->cold = item->count;
        } else if (item->range == FM_RANGE_BEYOND) {
            into->beyond = item->count;
        } else {
            uint32_t next = item->range + 1;
            uint64_t last = next < attribution->edge_count ? attribution->edges[next] - 1 : UINT64_MAX;
            *bins++ = (fm_bin){attribution->edges[item->range], last, item->count};
            into->bin_count++;
        }
    }
    return FM_OK;
}

static int largest_first(const void *a, const void *b)
{
    const group *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    if (x->major != y->major) return x->major < y->major ? -1 : 1;
    return x->minor < y->minor ? -1 : x->minor > y->minor;
}

fm_status fm_range_counts_to_pairs(fm_range_counts *counts, fm_attribution *attribution, fm_error *error)
{
    group *groups;
    size_t count;
    fm_status status = counts_join(counts, error);
    if (!status) status = make_groups(counts, attribution, &count, &groups, error);
    if (status) return status;
    qsort(groups, count, sizeof *groups, largest_first);
    fm_pair *pairs = fm_attribution_allocate(attribution, count, sizeof *pairs);
    for (size_t i = 0; i < count && pairs; i++) {
        const group *from = &groups[i];
        pairs[i] = (fm_pair){from->minor,  from->major,     from->count, from->cold,
                             from->beyond, from->bin_count, from->bins};
    }
    free(groups);
    if (!pairs) return fm_fail_memory(error, (uint64_t)count * sizeof *pairs, "pairs of sites");
    attribution->pairs = pairs;
    attribution->pair_count = count;
    return FM_OK;
}

fm_status fm_range_counts_to_uses(fm_range_counts *counts, fm_attribution *attribution, fm_error *error)
{
    group *groups;
    size_t count;
    fm_status status = counts_join(counts, error);
    if (!status) status = make_groups(counts, attribution, &count, &groups, error);
    if (status) return status;
    fm_object_use *uses = fm_attribution_allocate(attribution, count, sizeof *uses);
    for (size_t i = 0; i < count && uses; i++) {
        const group *from = &groups[i];
        uses[i] = (fm_object_use){from->major,  from->minor,     from->count, from->cold,
                                  from->beyond, from->bin_count, from->bins};
    }
    free(groups);
    if (!uses) return fm_fail_memory(error, (uint64_t)count * sizeof *uses, "uses of objects");
    attribution->object_uses = uses;
    attribution->object_use_count = count;
    return FM_OK;
}
