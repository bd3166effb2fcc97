/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_histogram.cuh - counting distances on the card, each thread block in shared memory first.
 *
 * Ranges of distances are few enough (4480) for a block to have a counter for each. With one bin per distance
 * they are not: there a block has room for 2048 bins, first come, first served; hot bins are hot because they
 * come often, so they are soon among them. All others are added straight to the card's memory.
 */
#ifndef FATHOM_CUDA_BLOCK_HISTOGRAM_CUH
#define FATHOM_CUDA_BLOCK_HISTOGRAM_CUH

#include "warp_rank.cuh"

#include <fathom/profile.h>

namespace fathom
{

typedef unsigned long long Count; /* what atomicAdd calls a uint64_t */

constexpr uint32_t LOGLINEAR_BINS = 1024 + 54 * 64;
constexpr uint32_t LOG2_BINS = 65;
constexpr uint32_t CACHED_BINS = 2048;
constexpr uint32_t NO_BIN = 0xffffffffu;

/* As fm_bins_index (src/profile/bins.c). */
template <fm_bins BINS> __device__ __forceinline__ uint32_t bin_of(uint64_t distance)
{
    if (BINS == FM_BINS_LOG2) return distance ? 64u - (uint32_t)__clzll((long long)distance) : 0u;
    if (BINS == FM_BINS_EXACT || distance < 1024) return (uint32_t)distance;
    const uint32_t exponent = 63u - (uint32_t)__clzll((long long)distance);
    return 1024u + (exponent - 10u) * 64u + (uint32_t)(distance >> (exponent - 6u)) - 64u;
}

template <fm_bins BINS> struct BlockHistogram {
    static constexpr bool CACHED = BINS == FM_BINS_EXACT;
    static constexpr uint32_t ROOM = CACHED ? CACHED_BINS : BINS == FM_BINS_LOG2 ? LOG2_BINS : LOGLINEAR_BINS;

    uint32_t counts[ROOM];
    uint32_t owner[CACHED ? ROOM : 1];

    /* By all threads, before and after; a barrier must follow clear and precede flush. */
    __device__ void clear()
    {
        for (uint32_t i = threadIdx.x; i < ROOM; i += blockDim.x) {
            counts[i] = 0;
            if (CACHED) owner[i] = NO_BIN;
        }
    }
    __device__ void flush(Count *histogram) const
    {
        for (uint32_t i = threadIdx.x; i < ROOM; i += blockDim.x)
            if (counts[i]) atomicAdd(&histogram[CACHED ? owner[i] : i], (Count)counts[i]);
    }

    /* By a whole warp. The same bin in all lanes, as loops over arrays give it, is one addition. */
    __device__ __forceinline__ void add(bool valid, uint64_t distance, Count *histogram)
    {
        const uint32_t bin = valid ? bin_of<BINS>(distance) : NO_BIN;
        const uint32_t lanes = __ballot_sync(ALL_LANES, valid);
        int alike;
        __match_all_sync(ALL_LANES, bin, &alike);
        if (!valid) return;
        if (!alike)
            add_to_bin(bin, 1, histogram);
        else if (lane_number() == (uint32_t)__ffs((int)lanes) - 1)
            add_to_bin(bin, (uint32_t)__popc(lanes), histogram);
    }

  private:
    __device__ __forceinline__ void add_to_bin(uint32_t bin, uint32_t count, Count *histogram)
    {
        if (!CACHED) {
            atomicAdd(&counts[bin], count);
            return;
        }
        const uint32_t place = bin % CACHED_BINS;
        uint32_t owned = *(volatile uint32_t *)&owner[place];
        if (owned == NO_BIN) {
            owned = atomicCAS(&owner[place], NO_BIN, bin);
            if (owned == NO_BIN) owned = bin;
        }
        if (owned == bin)
            atomicAdd(&counts[place], count);
        else
            atomicAdd(&histogram[bin], (Count)count);
    }
};

} // namespace fathom

#endif
