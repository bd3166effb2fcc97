/* SPDX-License-Identifier: Apache-2.0 */
/* late_choice.c - see late_choice.h. Time: entries × edges, and two sorts. */
#include "view/late_choice.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

#define ALMOST_ALL 0.999

typedef struct ranked {
    double share;
    uint32_t index;
} ranked;

size_t fm_edges_index(fm_edges edges, uint64_t distance)
{
    size_t low = 0, high = edges.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (edges.edges[middle] <= distance)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Misses at each size: levels[i] at a cache of edges[i] blocks. */
static void fill_levels(const fm_counts *counts, fm_edges edges, double *levels)
{
    for (size_t i = 0; i < edges.count; i++) levels[i] = 0;
    for (size_t i = 0; i < counts->bin_count; i++)
        levels[fm_edges_index(edges, counts->bins[i].lo)] += (double)counts->bins[i].count;
    double above = (double)counts->cold + (double)counts->beyond;
    for (size_t i = edges.count; i-- > 0;) {
        above += levels[i];
        levels[i] = above;
    }
}

static int compare_shares(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->share != y->share) return x->share < y->share ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static int compare_indices(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double least_covered(const double *covered, const double *total, size_t from, size_t count)
{
    double least = 1;
    for (size_t i = from; i < count; i++)
        if (total[i] > 0 && covered[i] / total[i] < least) least = covered[i] / total[i];
    return least;
}

/* What both rounds work on. */
typedef struct choosing {
    const fm_counts *counts;
    size_t count, most;
    fm_edges edges;
    double *total, *levels, *covered; /* misses at each size: of all, of one entry, of the kept ones */
    ranked *ranks;
    bool *taken;
} choosing;

/* By the largest share at any size from edge `from` on. */
static void rank(const choosing *by, size_t from)
{
    for (size_t i = 0; i < by->count; i++) {
        by->ranks[i] = (ranked){0, (uint32_t)i};
        fill_levels(&by->counts[i], by->edges, by->levels);
        for (size_t level = from; level < by->edges.count; level++)
            if (by->total[level] > 0 && by->levels[level] / by->total[level] > by->ranks[i].share)
                by->ranks[i].share = by->levels[level] / by->total[level];
    }
    if (by->count) qsort(by->ranks, by->count, sizeof *by->ranks, compare_shares);
}

/* Takes from the top of the ranks until enough is covered at every size from edge `from` on. */
static void keep(fm_choice *choice, const choosing *by, size_t from)
{
    bool all = by->count <= by->most;
    for (size_t i = 0; i < by->count && choice->count < by->most; i++) {
        const ranked *next = &by->ranks[i];
        if (!all &&
            (next->share == 0 || least_covered(by->covered, by->total, from, by->edges.count) >= ALMOST_ALL))
            break;
        if (by->taken[next->index]) continue;
        by->taken[next->index] = true;
        fill_levels(&by->counts[next->index], by->edges, by->levels);
        for (size_t level = 0; level < by->edges.count; level++) by->covered[level] += by->levels[level];
        choice->indices[choice->count++] = next->index;
    }
}

fm_status fm_choice_make(fm_choice *choice, const fm_counts *counts, size_t count, fm_edges edges,
                         size_t from, size_t late, size_t most, fm_error *error)
{
    *choice = (fm_choice){.covered = 1};
    double *sums = fm_calloc(3 * edges.count, sizeof *sums);
    choosing by = {.counts = counts, .count = count, .most = most, .edges = edges};
    by.ranks = fm_calloc(count, sizeof *by.ranks);
    by.taken = fm_calloc(count, sizeof *by.taken);
    choice->indices = fm_calloc(count < most ? count : most, sizeof *choice->indices);
    bool made = sums && by.ranks && by.taken && choice->indices;
    if (made) {
        by.total = sums, by.levels = sums + edges.count, by.covered = sums + 2 * edges.count;
        for (size_t i = 0; i < count; i++) {
            fill_levels(&counts[i], edges, by.levels);
            for (size_t level = 0; level < edges.count; level++) by.total[level] += by.levels[level];
        }
        rank(&by, late);
        keep(choice, &by, late);
        if (choice->count < count && choice->count < most && from < late) {
            rank(&by, from);
            keep(choice, &by, from);
        }
        choice->covered = least_covered(by.covered, by.total, late, edges.count);
        if (choice->count) qsort(choice->indices, choice->count, sizeof *choice->indices, compare_indices);
    } else {
        free(choice->indices);
        choice->indices = NULL;
    }
    free(sums);
    free(by.ranks);
    free(by.taken);
    return made ? FM_OK
                : fm_fail_memory(error, count * sizeof *by.ranks, "the choice of what goes onto the page");
}
