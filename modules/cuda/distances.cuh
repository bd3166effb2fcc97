/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distances.cuh - the second step: from links to distances (split.cu, finish.cu), and what is left for the
 * next batch (stack.cu).
 */
#ifndef FATHOM_CUDA_DISTANCES_CUH
#define FATHOM_CUDA_DISTANCES_CUH

#include "card.cuh"
#include "thread_blocks.cuh"

#include <fathom/profile.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ==== parts ====
 *
 * How large the parts are that splitting leaves to finish.cu.
 */

namespace fathom
{
constexpr int FINISH_BITS = 13;
}

/*
 * ==== split ====
 *
 * from links to distances.
 *
 * Let reference i be linked to p, the one before it to the same block. Between them lie i - p - 1 references,
 * and among those, one too many for every j < i that is linked to a q > p: its block was counted at q
 * already. So
 *
 *     distance(i) = i - 1 - p - #{ j < i : previous(j) > previous(i) }
 *
 * Written in the order of i, the linked positions are all different, and what has to be counted is, for each,
 * how many greater ones stand before it: inversions. They are counted top down: split the sequence stably by
 * the upper bits of p; an element whose digit is smaller than that of an element before it forms an inversion
 * with it there and then, and pairs with equal digits meet again in the same part. Part d of a split has its
 * place at d times its capacity, since the values in it are different: nothing has to be counted to know
 * where parts begin.
 *
 * Every pass over the card's memory takes up to 5 bits; the last 13 bits are done within a thread block, 5
 * bits by the block, 3 by a warp, 5 within a row of 32 lanes. Time O(n log n / 5) memory passes, space O(n).
 */

namespace fathom
{

/* Elements of a split: linked position, and position minus what was counted so far (minus one). */
struct Elements {
    uint32_t *linked, *reached;
};

struct SplitSpace {
    uint32_t *counts; /* split_counts_needed() words, each */
    uint32_t *sums;
    uint32_t *part_sizes; /* of the parts after a pass, and of those before it: split_parts_needed() */
    uint32_t *next_part_sizes;
    void *scan_space;
    size_t scan_bytes;
};
size_t split_counts_needed(size_t positions);
size_t split_parts_needed(size_t positions);
size_t split_scan_needed(size_t positions);

struct SplitResult {
    Elements elements; /* in parts of 8192 positions */
    const uint32_t *part_sizes;
    bool whole; /* nothing was split: there is one part, and `previous` itself is its sequence */
};

/* Splits `previous` until a part has at most 8192 positions. */
fm_status split_links(const uint32_t *previous, uint32_t count, Elements here, Elements there,
                      SplitSpace space, SplitResult *result, cudaStream_t stream, fm_error *error);

struct FinishTask {
    const uint32_t *previous; /* for `whole` */
    uint32_t count;           /* positions */
    fm_bins bins;
    uint64_t bound; /* distances from here on are beyond; UINT64_MAX: none */
    bool counted;   /* into the histogram */
    Count *histogram, *beyond, *total;
    uint32_t *again; /* one bit per position: its block comes again. (count + 8191) / 8192 * 256 words */
    uint32_t *distance_of_next; /* NULL, or for each position whose block comes again: the distance then */
};
fm_status finish_parts(const SplitResult &parts, const FinishTask &task, int multiprocessors,
                       cudaStream_t stream, fm_error *error);

} // namespace fathom

/*
 * ==== stack ====
 *
 * After the distances are known: the stack that the next batch begins with, and what is asked for
 * one by one.
 */

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
