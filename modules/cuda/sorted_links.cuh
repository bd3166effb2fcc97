/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sorted_links.cuh - links of references with wide keys: a stable radix sort of (key, position) puts the
 * references of a block beside each other in time order. For keys that are too wide for segment_links.cuh.
 */
#ifndef FATHOM_CUDA_SORTED_LINKS_CUH
#define FATHOM_CUDA_SORTED_LINKS_CUH

#include "keys.cuh"

namespace fathom
{

constexpr int LINK_BUCKETS = 256;

struct SortSpace {
    uint32_t *const *words; /* LinkSpace's */
    void *sorting;
    size_t bytes;
    uint32_t *cursors; /* LINK_BUCKETS of them */
};
size_t sort_space_needed(size_t positions);

/* Sorts; afterwards: which of the words hold what. */
struct SortedKeys {
    bool wide; /* 64-bit keys */
    const void *keys;
    const uint32_t *positions;
    uint2 *pairs;       /* free: eight bytes per reference */
    uint32_t *previous; /* free: four bytes per reference, for the links */
};
fm_status sort_keys(const uint64_t *blocks, uint32_t count, const KeyPacking &packing, const SortSpace &space,
                    SortedKeys *sorted, cudaStream_t stream, fm_error *error);

/* Writes sorted.previous. */
fm_status link_sorted_keys(const SortedKeys &sorted, uint32_t count, const SortSpace &space,
                           cudaStream_t stream, fm_error *error);

} // namespace fathom

#endif
