/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.cuh - each reference is linked to the one before it to the same block.
 *
 * A stable radix sort of (block, position) puts the references of a block beside each other in time order.
 * Only the bits in which blocks differ are sorted by: a trace over 2^20 blocks takes 20 bits however large
 * the keys are.
 */
#ifndef FATHOM_CUDA_LINK_CUH
#define FATHOM_CUDA_LINK_CUH

#include "cuda_error.cuh"

#include <stddef.h>
#include <stdint.h>

namespace fathom
{

constexpr uint32_t NO_POSITION = 0xffffffffu; /* linked to nothing: a first touch */

/* What the blocks have in common, on the card. */
struct KeySummary {
    unsigned long long least, greatest, varying; /* varying: bits in which any differs from the first */
};

/* Which bits of (block - less) to sort by: runs of bits, moved together. */
struct KeyPacking {
    static constexpr int RUNS = 8;
    uint64_t less;
    int runs;
    int bits; /* in all */
    uint64_t mask[RUNS];
    int shift[RUNS]; /* to the right, before masking */
    int at[RUNS];    /* to the left, after */
};

KeyPacking choose_packing(const KeySummary &summary);

/* Words of card memory for `positions` references: six arrays of them, one after the other. */
struct LinkSpace {
    uint32_t *words[6];
    void *sort_space;
    size_t sort_bytes;
    uint32_t *cursors; /* LINK_BUCKETS of them */
    KeySummary *summary;
};
constexpr int LINK_BUCKETS = 256;

size_t sort_space_needed(size_t positions);

/* Summarises blocks; waits for the answer. */
fm_status summarize_keys(const uint64_t *blocks, uint32_t count, KeySummary *on_card, KeySummary *answer,
                         cudaStream_t stream, fm_error *error);

/* Sorts; afterwards: which of the words hold what. */
struct SortedKeys {
    bool wide; /* 64-bit keys */
    const void *keys;
    const uint32_t *positions;
    uint2 *pairs;       /* free: eight bytes per reference */
    uint32_t *previous; /* free: four bytes per reference, for the links */
};
fm_status sort_keys(const uint64_t *blocks, uint32_t count, const KeyPacking &packing, const LinkSpace &space,
                    SortedKeys *sorted, cudaStream_t stream, fm_error *error);

/* sorted.previous[i]: the position of the reference before i to the same block, or NO_POSITION. */
fm_status link_references(const SortedKeys &sorted, uint32_t count, const LinkSpace &space,
                          cudaStream_t stream, fm_error *error);

} // namespace fathom

#endif
