/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.cuh - blocks as short numbers: only the bits in which they differ, moved together. A trace over 2^20
 * blocks has keys of 20 bits, however large its block numbers are.
 */
#ifndef FATHOM_CUDA_KEYS_CUH
#define FATHOM_CUDA_KEYS_CUH

#include "cuda_error.cuh"

#include <stddef.h>
#include <stdint.h>

namespace fathom
{

constexpr uint32_t NO_POSITION = 0xffffffffu; /* of a reference that there is none of */

/* What the blocks have in common, on the card. */
struct KeySummary {
    unsigned long long least, greatest, varying; /* varying: bits in which any differs from the first */
};

/* Which bits of (block - less) make a key: runs of bits, moved together. */
struct KeyPacking {
    static constexpr int RUNS = 8;
    uint64_t less;
    int runs;
    int bits; /* in all */
    uint64_t mask[RUNS];
    int shift[RUNS]; /* to the right, before masking */
    int at[RUNS];    /* to the left, after */

    __device__ __forceinline__ uint64_t key(uint64_t block) const
    {
        const uint64_t number = block - less;
        uint64_t packed = number >> shift[0] & mask[0]; /* the first run begins at bit 0 */
#pragma unroll 1
        for (int run = 1; run < runs; run++) packed |= (number >> shift[run] & mask[run]) << at[run];
        return packed;
    }
};

KeyPacking choose_packing(const KeySummary &summary);

/* Summarises blocks; waits for the answer. */
fm_status summarize_keys(const uint64_t *blocks, uint32_t count, KeySummary *on_card, KeySummary *answer,
                         cudaStream_t stream, fm_error *error);

/* Enough blocks of threads to fill any card; loops take the rest. */
constexpr unsigned SWEEP_BLOCKS = 132 * 16;

inline unsigned blocks_for(size_t count, size_t each)
{
    return (unsigned)((count + each - 1) / each);
}

} // namespace fathom

#endif
