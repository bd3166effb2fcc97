/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.cuh - each reference is linked to the one before it to the same block.
 *
 * For that, references are ordered by block, and within a block by time, as far as it takes: into buckets of
 * few keys (partition.cuh, segment_links.cuh), or where keys are too wide for that, by a sort
 * (sorted_links.cuh).
 */
#ifndef FATHOM_CUDA_LINK_CUH
#define FATHOM_CUDA_LINK_CUH

#include "partition.cuh"
#include "sorted_links.cuh"

namespace fathom
{

/* Card memory for the references of `positions`. */
struct LinkSpace {
    uint32_t *words[6]; /* arrays of a word for each, one after the other */
    void *ordering;     /* link_space_needed() bytes */
    size_t positions;
};
size_t link_space_needed(size_t positions);

/* What is between the two steps; words hold it. */
struct OrderedReferences {
    bool sorted;
    SortedKeys sorted_keys;
    int passes; /* otherwise */
    PartitionPass pass[PASSES];
    int key_bits; /* that are left */
    ShortKeyed references;
};
fm_status order_references(const uint64_t *blocks, uint32_t count, const KeyPacking &packing,
                           const LinkSpace &space, OrderedReferences *ordered, cudaStream_t stream,
                           fm_error *error);
/* *previous: for each position that of the reference before it to the same block, or NO_POSITION. One of the
 * last two words; the others are free then. */
fm_status link_references(const OrderedReferences &ordered, uint32_t count, const LinkSpace &space,
                          uint32_t **previous, cudaStream_t stream, fm_error *error);

} // namespace fathom

#endif
