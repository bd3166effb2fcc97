/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache_edges.c - where the distances of pairs of sites are cut: 0, the powers of two up to 2^40 blocks, and
 * the sizes that are asked about, so that misses at those are exact.
 */
#include <fathom/model.h>

#include <string.h>

enum { LARGEST_POWER = 40 };

/* Puts an edge in its place among `count` others; returns how many there are now. The list is short: moving
 * what is behind it costs nothing. Where there is no room, the largest one is left out. */
static size_t insert(uint64_t *edges, size_t count, size_t capacity, uint64_t edge)
{
    size_t at = 0;
    while (at < count && edges[at] < edge) at++;
    if (at == capacity || (at < count && edges[at] == edge)) return count;
    size_t kept = count < capacity ? count : capacity - 1;
    memmove(&edges[at + 1], &edges[at], (kept - at) * sizeof *edges);
    edges[at] = edge;
    return kept + 1;
}

size_t fm_cache_edges(const fm_cache *caches, size_t count, uint64_t granularity, uint64_t *edges,
                      size_t capacity)
{
    size_t made = insert(edges, 0, capacity, 0);
    for (unsigned power = 0; power <= LARGEST_POWER; power++)
        made = insert(edges, made, capacity, UINT64_C(1) << power);
    for (size_t i = 0; i < count; i++)
        made = insert(edges, made, capacity, caches[i].bytes / (granularity ? granularity : 1));
    return made;
}
