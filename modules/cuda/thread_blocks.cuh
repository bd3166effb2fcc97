/* SPDX-License-Identifier: Apache-2.0 */
/* thread_blocks.cuh - what a warp and a block of threads do together: ranks within a row, and histograms. */
#ifndef FATHOM_CUDA_THREAD_BLOCKS_CUH
#define FATHOM_CUDA_THREAD_BLOCKS_CUH

#include <fathom/profile.h>
#include <stdint.h>

/*
 * ==== ranks in a warp ====
 *
 * how many elements before each one have the same digit, and how many a greater one: what a
 * stable split by several bits needs, and what inversions are counted with.
 *
 * A warp goes through its elements in rows of 32. Within a row, one ballot per bit of the digit gives bit
 * planes; comparing a digit with all lanes of a row at once is then a few logical operations per bit. Every
 * lane does it twice: for its own element, and for the digit whose number is the lane's, whose running counts
 * it keeps.
 */

namespace fathom
{

constexpr uint32_t ALL_LANES = 0xffffffffu;

__device__ __forceinline__ uint32_t lane_number()
{
    return threadIdx.x & 31u;
}

__device__ __forceinline__ uint32_t lanes_before()
{
    return (1u << lane_number()) - 1u;
}

/* Lanes of a row whose digit equals, or is greater than, one digit. */
struct Comparison {
    uint32_t equal, greater;

    __device__ __forceinline__ explicit Comparison(uint32_t valid) : equal(valid), greater(0)
    {
    }
    /* From the highest bit down: `plane` has the lanes with the bit set, `bit` is the one compared with. */
    __device__ __forceinline__ void step(uint32_t plane, uint32_t bit)
    {
        const uint32_t set = 0u - bit;
        greater |= equal & plane & ~set;
        equal &= plane ^ ~set;
    }
};

/* The lanes of `row` whose number of BITS bits is this lane's. */
template <int BITS> __device__ __forceinline__ uint32_t lanes_with(uint32_t row, uint32_t number)
{
    Comparison mine(row);
#pragma unroll
    for (int bit = BITS - 1; bit >= 0; bit--) {
        const uint32_t set = number >> bit & 1u;
        mine.step(__ballot_sync(ALL_LANES, set), set);
    }
    return mine.equal;
}

/* Two counts of at most 65535 in one register. */
__device__ __forceinline__ uint32_t pack_counts(uint32_t equal, uint32_t greater)
{
    return equal | greater << 16;
}
__device__ __forceinline__ uint32_t packed_equal(uint32_t counts)
{
    return counts & 0xffffu;
}
__device__ __forceinline__ uint32_t packed_greater(uint32_t counts)
{
    return counts >> 16;
}

/*
 * The running counts of a warp: lane d (d < 2^BITS) keeps how many elements so far had digit d, and how many
 * a greater one.
 */
template <int BITS> struct WarpCounts {
    static_assert(BITS >= 1 && BITS <= 5, "one lane per digit");
    uint32_t counts = 0; /* packed */

    /* The next row. Returns for this lane's element the elements before it, packed. Invalid lanes give digit
     * 0. */
    __device__ __forceinline__ uint32_t add_row(bool valid, uint32_t digit)
    {
        const uint32_t row = __ballot_sync(ALL_LANES, valid);
        Comparison mine(row), kept(row);
#pragma unroll
        for (int bit = BITS - 1; bit >= 0; bit--) {
            const uint32_t plane = __ballot_sync(ALL_LANES, digit >> bit & 1u);
            mine.step(plane, digit >> bit & 1u);
            kept.step(plane, lane_number() >> bit & 1u);
        }
        const uint32_t before = __shfl_sync(ALL_LANES, counts, digit);
        const uint32_t lanes = lanes_before();
        counts += pack_counts(__popc(kept.equal), __popc(kept.greater));
        uint32_t result = before + pack_counts(__popc(mine.equal & lanes), __popc(mine.greater & lanes));
        /* Row after row: ballots of many rows at once would need more registers than there are. */
        asm volatile("" : "+r"(counts), "+r"(result));
        return result;
    }
    /* The same where only the counts are wanted. */
    __device__ __forceinline__ void count_row(bool valid, uint32_t digit)
    {
        const uint32_t row = __ballot_sync(ALL_LANES, valid);
        Comparison kept(row);
#pragma unroll
        for (int bit = BITS - 1; bit >= 0; bit--)
            kept.step(__ballot_sync(ALL_LANES, digit >> bit & 1u), lane_number() >> bit & 1u);
        counts += __popc(kept.equal);
    }
};

/* Sum over the lanes after this one. */
__device__ __forceinline__ uint32_t sum_of_later_lanes(uint32_t value)
{
    uint32_t sum = value;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_down_sync(ALL_LANES, sum, step);
        if (lane_number() + step < 32) sum += other;
    }
    return sum - value;
}

/* Sum over the lanes before this one. */
__device__ __forceinline__ uint32_t sum_of_earlier_lanes(uint32_t value)
{
    uint32_t sum = value;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, sum, step);
        if (lane_number() >= step) sum += other;
    }
    return sum - value;
}

} // namespace fathom

/*
 * ==== histogram of a block ====
 *
 * counting distances on the card, each thread block in shared memory first.
 *
 * Ranges of distances are few enough (4480) for a block to have a counter for each. With one bin per distance
 * they are not: there a block has room for 2048 bins, first come, first served; hot bins are hot because they
 * come often, so they are soon among them. All others are added straight to the card's memory.
 */

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
