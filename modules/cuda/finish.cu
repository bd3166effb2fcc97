/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish.cu - the last 13 bits of a split, within a thread block: 5 by the block, 3 by each warp, 5 within a
 * row of 32 lanes; then the distances are known, and counted. See distances.cuh.
 *
 * Parts keep their places here too: of 8192 positions of shared memory, 256 are a warp's, 32 are a row's. An
 * element ends up in the row of the positions around the one it is linked to, so that a row also knows which
 * of its 32 positions are linked to: one word of a bitmap.
 */
#include "card.cuh"
#include "distances.cuh"
#include "thread_blocks.cuh"

#include <algorithm>

namespace fathom
{

namespace
{

constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;
constexpr int ROWS = 8;
constexpr int BLOCK_BITS = 5, WARP_BITS = 3, ROW_BITS = 5;
constexpr uint32_t PART = 1u << FINISH_BITS;
static_assert(BLOCK_BITS + WARP_BITS + ROW_BITS == FINISH_BITS, "three steps");
static_assert(WARPS == 1 << BLOCK_BITS && ROWS == 1 << WARP_BITS && PART == THREADS * ROWS, "their places");

struct Parts {
    const uint32_t *linked, *reached, *sizes, *previous;
    uint32_t count; /* parts */
    uint32_t positions;
};

template <fm_bins BINS> struct Shared {
    uint32_t distance[PART]; /* reached - linked: the distance, but for what is still to be subtracted */
    uint16_t low[PART];      /* the low bits of linked */
    uint32_t warp_counts[WARPS][1 << BLOCK_BITS];
    BlockHistogram<BINS> histogram;
};

/* How many lanes before this one have a greater number of ROW_BITS bits. */
__device__ __forceinline__ uint32_t greater_in_row(bool valid, uint32_t number)
{
    Comparison mine(__ballot_sync(ALL_LANES, valid));
#pragma unroll
    for (int bit = ROW_BITS - 1; bit >= 0; bit--) {
        const uint32_t set = number >> bit & 1u;
        mine.step(__ballot_sync(ALL_LANES, set), set);
    }
    return (uint32_t)__popc(mine.greater & lanes_before());
}

template <fm_bins BINS, bool WHOLE>
__global__ void __launch_bounds__(THREADS)
    finish(const __grid_constant__ Parts parts, const __grid_constant__ FinishTask task)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    Shared<BINS> &shared = *reinterpret_cast<Shared<BINS> *>(shared_bytes);
    const uint32_t warp = threadIdx.x / 32, lane = lane_number();
    Count beyond = 0, total = 0;
    shared.histogram.clear();

    for (uint32_t part = blockIdx.x; part < parts.count; part += gridDim.x) {
        const uint32_t start = part * PART;
        const uint32_t size = WHOLE ? parts.positions : parts.sizes[part];
        uint32_t distance[ROWS], low[ROWS]; /* low: with the rank in its upper half, once that is known */

        /* By the block: 32 parts of 256 positions. */
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const uint32_t at = warp * ROWS * 32 + row * 32 + lane;
            const uint32_t linked = at >= size ? NO_POSITION
                                    : WHOLE    ? parts.previous[at]
                                               : parts.linked[start + at];
            distance[row] = linked == NO_POSITION ? 0 : (WHOLE ? at - 1 : parts.reached[start + at]) - linked;
            low[row] = linked == NO_POSITION ? NO_POSITION : linked - start;
        }
        WarpCounts<BLOCK_BITS> in_warp;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const bool valid = low[row] != NO_POSITION;
            const uint32_t before = in_warp.add_row(valid, low[row] >> (WARP_BITS + ROW_BITS) & (WARPS - 1u));
            distance[row] -= packed_greater(before);
            if (valid) low[row] |= before << 16;
        }
        if (lane < WARPS) shared.warp_counts[warp][lane] = packed_equal(in_warp.counts);
        __syncthreads();
        uint32_t in_part = 0, in_earlier_warps = 0; /* lane d: of digit d */
        if (lane < WARPS)
            for (int other = 0; other < WARPS; other++) {
                if (other == (int)warp) in_earlier_warps = in_part;
                in_part += shared.warp_counts[other][lane];
            }
        const uint32_t greater_before = sum_of_later_lanes(in_earlier_warps);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const uint32_t digit = low[row] >> (WARP_BITS + ROW_BITS) & (WARPS - 1u);
            const uint32_t greater = __shfl_sync(ALL_LANES, greater_before, digit);
            const uint32_t earlier = __shfl_sync(ALL_LANES, in_earlier_warps, digit);
            if (low[row] == NO_POSITION) continue;
            const uint32_t at = digit * ROWS * 32 + earlier + (low[row] >> 16);
            shared.distance[at] = distance[row] - greater;
            shared.low[at] = (uint16_t)low[row];
        }
        const uint32_t mine = __shfl_sync(ALL_LANES, in_part, warp); /* elements that are this warp's now */
        __syncthreads();

        /* By each warp: 8 rows of 32 positions. */
        const uint32_t base = warp * ROWS * 32;
        WarpCounts<WARP_BITS> in_rows;
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const uint32_t at = row * 32 + lane;
            const bool valid = at < mine;
            distance[row] = valid ? shared.distance[base + at] : 0;
            low[row] = valid ? shared.low[base + at] : NO_POSITION;
            const uint32_t before = in_rows.add_row(valid, low[row] >> ROW_BITS & (ROWS - 1u));
            distance[row] -= packed_greater(before);
            if (valid) low[row] |= before << 16;
        }
        __syncwarp();
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (low[row] == NO_POSITION) continue;
            const uint32_t at = base + (low[row] >> ROW_BITS & (ROWS - 1u)) * 32 + (low[row] >> 16);
            shared.distance[at] = distance[row];
            shared.low[at] = (uint16_t)low[row];
        }
        __syncwarp();

        /* Within rows. */
        uint32_t words = 0; /* lane r: of row r */
#pragma unroll 2
        for (int row = 0; row < ROWS; row++) {
            const bool valid = lane < packed_equal(__shfl_sync(ALL_LANES, in_rows.counts, row));
            const uint32_t at = base + row * 32 + lane;
            const uint32_t number = valid ? shared.low[at] & 31u : 0;
            const uint32_t found = (valid ? shared.distance[at] : 0) - greater_in_row(valid, number);
            const uint32_t word = __reduce_or_sync(ALL_LANES, valid ? 1u << number : 0u);
            if (lane == row) words = word;
            if (valid && task.distance_of_next)
                task.distance_of_next[start + base + row * 32 + number] = found;
            const bool within = valid && found < task.bound;
            if (task.counted) {
                beyond += valid && !within;
                total += within;
                shared.histogram.add(within, found, task.histogram);
            }
        }
        if (lane < ROWS) task.again[part * (PART / 32) + warp * ROWS + lane] = words;
        __syncthreads(); /* the next part may overwrite warp_counts and the places of other warps */
    }
    if (!task.counted) return;
    __syncthreads();
    shared.histogram.flush(task.histogram);
    for (int step = 16; step > 0; step /= 2) {
        beyond += __shfl_xor_sync(ALL_LANES, beyond, step);
        total += __shfl_xor_sync(ALL_LANES, total, step);
    }
    if (lane == 0 && beyond) atomicAdd(task.beyond, beyond);
    if (lane == 0 && total) atomicAdd(task.total, total);
}

template <fm_bins BINS, bool WHOLE>
fm_status run_finish(const Parts &parts, const FinishTask &task, int multiprocessors, cudaStream_t stream,
                     fm_error *error)
{
    const int bytes = (int)sizeof(Shared<BINS>);
    int blocks = 0;
    CUDA_TRY(cudaFuncSetAttribute(finish<BINS, WHOLE>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "finishing");
    CUDA_TRY(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, finish<BINS, WHOLE>, THREADS, (size_t)bytes),
        "finishing");
    const unsigned grid = std::min(parts.count, (uint32_t)(std::max(blocks, 1) * multiprocessors));
    finish<BINS, WHOLE><<<grid, THREADS, (size_t)bytes, stream>>>(parts, task);
    CUDA_TRY(cudaGetLastError(), "finishing");
    return FM_OK;
}

template <fm_bins BINS>
fm_status run_finish(bool whole, const Parts &parts, const FinishTask &task, int multiprocessors,
                     cudaStream_t stream, fm_error *error)
{
    return whole ? run_finish<BINS, true>(parts, task, multiprocessors, stream, error)
                 : run_finish<BINS, false>(parts, task, multiprocessors, stream, error);
}

} // namespace

fm_status finish_parts(const SplitResult &split, const FinishTask &task, int multiprocessors,
                       cudaStream_t stream, fm_error *error)
{
    const Parts parts = {split.elements.linked, split.elements.reached,         split.part_sizes,
                         task.previous,         (task.count + PART - 1) / PART, task.count};
    switch (task.bins) {
    case FM_BINS_LOG2:
        return run_finish<FM_BINS_LOG2>(split.whole, parts, task, multiprocessors, stream, error);
    case FM_BINS_EXACT:
        return run_finish<FM_BINS_EXACT>(split.whole, parts, task, multiprocessors, stream, error);
    default:
        return run_finish<FM_BINS_LOGLINEAR>(split.whole, parts, task, multiprocessors, stream, error);
    }
}

} // namespace fathom
