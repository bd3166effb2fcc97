/* SPDX-License-Identifier: Apache-2.0 */
/* stack.cuh - after the distances are known: the stack that the next batch begins with, and what is asked for
 * one by one. */
#ifndef FATHOM_CUDA_STACK_CUH
#define FATHOM_CUDA_STACK_CUH

#include "block_histogram.cuh"
#include "cuda_error.cuh"

#include <stddef.h>
#include <stdint.h>

namespace fathom
{

/* Stack and batch as one sequence of positions: the batch begins at position `stack`. */
struct Sequence {
    const uint64_t *blocks;
    uint32_t stack, count;
    const uint64_t *stack_times; /* of the positions before the batch; NULL without times */
    uint64_t first_time;         /* of the batch */
    const uint32_t *previous;
};

/* Bits of `again` that are not set mark the last reference to each block: these are counted (sums: one more
 * than words of the bitmap), and *distinct is how many there are. Waits. */
fm_status count_last(const uint32_t *again, uint32_t positions, uint32_t *sums, void *scan_space,
                     size_t scan_bytes, uint32_t *distinct, cudaStream_t stream, fm_error *error);
/* The new stack: the blocks of last references in order, but for the first `drop`. times may be NULL. */
fm_status gather_stack(const Sequence &sequence, const uint32_t *again, const uint32_t *sums, uint32_t drop,
                       uint64_t *blocks, uint64_t *times, cudaStream_t stream, fm_error *error);

/* Counts the time distances of the batch. */
fm_status count_times(const Sequence &sequence, fm_bins bins, Count *histogram, Count *total,
                      cudaStream_t stream, fm_error *error);
/* Every reference's distance, or time distance, in order. */
fm_status deliver_distances(const Sequence &sequence, const uint32_t *distance_of_next, uint64_t bound,
                            uint64_t *distances, cudaStream_t stream, fm_error *error);
fm_status deliver_times(const Sequence &sequence, uint64_t *times, cudaStream_t stream, fm_error *error);
/* The blocks that the batch brought, in order; their number is known. */
fm_status gather_new_blocks(const Sequence &sequence, uint64_t *new_blocks, uint32_t *found, void *space,
                            size_t bytes, cudaStream_t stream, fm_error *error);
size_t firsts_space_needed(size_t positions);

} // namespace fathom

#endif
