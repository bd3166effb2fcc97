/* SPDX-License-Identifier: Apache-2.0 */
/* stack.cu - the stack that the next batch begins with, what is asked for one by one; and keys. */
#include "card.cuh"
#include "distances.cuh"

#include <algorithm>
#include <fathom/profile.h>

/* ==== keys ==== */

namespace fathom
{

namespace
{

constexpr int KEY_THREADS = 256;

__global__ void start_summary(const uint64_t *blocks, KeySummary *summary)
{
    *summary = KeySummary{blocks[0], blocks[0], 0};
}

__global__ void __launch_bounds__(KEY_THREADS)
    summarize(const uint64_t *blocks, uint32_t count, KeySummary *summary)
{
    const uint64_t first = blocks[0];
    unsigned long long least = first, greatest = first, varying = 0;
    for (size_t i = blockIdx.x * (size_t)KEY_THREADS + threadIdx.x; i < count;
         i += (size_t)gridDim.x * KEY_THREADS) {
        const unsigned long long block = blocks[i];
        least = min(least, block);
        greatest = max(greatest, block);
        varying |= block ^ first;
    }
    for (int step = 16; step > 0; step /= 2) {
        least = min(least, __shfl_xor_sync(0xffffffffu, least, step));
        greatest = max(greatest, __shfl_xor_sync(0xffffffffu, greatest, step));
        varying |= __shfl_xor_sync(0xffffffffu, varying, step);
    }
    if (threadIdx.x % 32 != 0) return;
    atomicMin(&summary->least, least);
    atomicMax(&summary->greatest, greatest);
    atomicOr(&summary->varying, varying);
}

} // namespace

KeyPacking choose_packing(const KeySummary &summary)
{
    KeyPacking packing = {};
    uint64_t bits = summary.varying;
    const uint64_t range = summary.greatest - summary.least;
    const int range_bits = range ? 64 - __builtin_clzll(range) : 0;
    if (range_bits < __builtin_popcountll(bits)) {
        packing.less = summary.least;
        bits = range_bits == 64 ? UINT64_MAX : (UINT64_C(1) << range_bits) - 1;
    }
    /* Close the narrowest gaps until few runs are left. */
    for (int gap = 1; gap < 64; gap++) {
        int runs = 0;
        for (int bit = 0; bit < 64; bit++)
            runs += (bits >> bit & 1) && (bit == 63 || !(bits >> (bit + 1) & 1));
        if (runs <= KeyPacking::RUNS) break;
        uint64_t closed = bits;
        for (int near = 1; near <= gap; near++) closed |= bits << near;
        uint64_t back = closed;
        for (int near = 1; near <= gap; near++) back &= closed >> near | ~(UINT64_MAX >> near);
        bits |= back;
    }
    for (int bit = 0; bit < 64;) {
        if (!(bits >> bit & 1)) {
            bit++;
            continue;
        }
        int end = bit;
        while (end < 64 && bits >> end & 1) end++;
        const int length = end - bit;
        packing.shift[packing.runs] = bit;
        packing.mask[packing.runs] = length == 64 ? UINT64_MAX : (UINT64_C(1) << length) - 1;
        packing.at[packing.runs] = packing.bits;
        packing.bits += length;
        packing.runs++;
        bit = end;
    }
    return packing;
}

fm_status summarize_keys(const uint64_t *blocks, uint32_t count, KeySummary *on_card, KeySummary *answer,
                         cudaStream_t stream, fm_error *error)
{
    start_summary<<<1, 1, 0, stream>>>(blocks, on_card);
    summarize<<<std::min(blocks_for(count, KEY_THREADS), SWEEP_BLOCKS), KEY_THREADS, 0, stream>>>(
        blocks, count, on_card);
    CUDA_TRY(cudaGetLastError(), "looking at blocks");
    CUDA_TRY(cudaMemcpyAsync(answer, on_card, sizeof *answer, cudaMemcpyDeviceToHost, stream),
             "looking at blocks");
    CUDA_TRY(cudaStreamSynchronize(stream), "looking at blocks");
    return FM_OK;
}

} // namespace fathom

/*
 * ==== stack ====
 *
 * See distances.cuh. Everything here is one sweep over the positions.
 */

namespace fathom
{

namespace
{

constexpr int THREADS = 256;
constexpr unsigned SWEEP_BLOCKS = 132 * 8;

unsigned sweep_blocks(size_t count)
{
    return (unsigned)std::min<size_t>((count + THREADS - 1) / THREADS, SWEEP_BLOCKS);
}

/* Positions of a word of the bitmap that exist and are the last reference to their block. */
__device__ __forceinline__ uint32_t last_in_word(const uint32_t *again, uint32_t word, uint32_t positions)
{
    const uint32_t left = positions - word * 32;
    return ~again[word] & (left >= 32 ? 0xffffffffu : (1u << left) - 1u);
}

__global__ void __launch_bounds__(THREADS)
    count_words(const uint32_t *again, uint32_t positions, uint32_t words, uint32_t *counts)
{
    const uint32_t word = blockIdx.x * THREADS + threadIdx.x;
    if (word > words) return;
    counts[word] = word < words ? (uint32_t)__popc(last_in_word(again, word, positions)) : 0;
}

__device__ __forceinline__ uint64_t time_of(const Sequence &sequence, uint32_t position)
{
    return position < sequence.stack ? sequence.stack_times[position]
                                     : sequence.first_time + (position - sequence.stack);
}

/* A warp for each word at a time. */
__global__ void __launch_bounds__(THREADS)
    gather_last(const __grid_constant__ Sequence sequence, const uint32_t *again, const uint32_t *sums,
                uint32_t words, uint32_t drop, uint64_t *blocks, uint64_t *times)
{
    const uint32_t lane = lane_number();
    for (uint32_t word = (blockIdx.x * THREADS + threadIdx.x) / 32; word < words;
         word += gridDim.x * (THREADS / 32)) {
        const uint32_t last = last_in_word(again, word, sequence.count);
        if (!(last >> lane & 1u)) continue;
        const uint32_t place = sums[word] + (uint32_t)__popc(last & lanes_before());
        if (place < drop) continue;
        const uint32_t position = word * 32 + lane;
        blocks[place - drop] = sequence.blocks[position];
        if (times) times[place - drop] = time_of(sequence, position);
    }
}

/* The time distance of a batch's reference; FM_COLD for a first touch. */
__device__ __forceinline__ uint64_t time_distance(const Sequence &sequence, uint32_t position)
{
    const uint32_t before = sequence.previous[position];
    return before == NO_POSITION ? FM_COLD : time_of(sequence, position) - time_of(sequence, before);
}

template <fm_bins BINS>
__global__ void __launch_bounds__(THREADS)
    tally_times(const __grid_constant__ Sequence sequence, Count *histogram, Count *total)
{
    __shared__ BlockHistogram<BINS> shared;
    Count counted = 0;
    shared.clear();
    __syncthreads();
    const uint32_t rounded = (sequence.count - sequence.stack + 31) / 32 * 32; /* whole warps */
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < rounded;
         i += (size_t)gridDim.x * THREADS) {
        const size_t position = sequence.stack + i;
        const uint64_t time =
            position < sequence.count ? time_distance(sequence, (uint32_t)position) : FM_COLD;
        shared.add(time != FM_COLD, time, histogram);
        counted += time != FM_COLD;
    }
    __syncthreads();
    shared.flush(histogram);
    for (int step = 16; step > 0; step /= 2) counted += __shfl_xor_sync(ALL_LANES, counted, step);
    if (lane_number() == 0 && counted) atomicAdd(total, counted);
}

__global__ void __launch_bounds__(THREADS)
    write_distances(const __grid_constant__ Sequence sequence, const uint32_t *distance_of_next,
                    uint64_t bound, uint64_t *distances)
{
    const uint32_t count = sequence.count - sequence.stack;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS) {
        const uint32_t before = sequence.previous[sequence.stack + i];
        const uint64_t distance = before == NO_POSITION ? FM_COLD : distance_of_next[before];
        distances[i] = before != NO_POSITION && distance >= bound ? FM_BEYOND : distance;
    }
}

__global__ void __launch_bounds__(THREADS)
    write_times(const __grid_constant__ Sequence sequence, uint64_t *times)
{
    const uint32_t count = sequence.count - sequence.stack;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS)
        times[i] = time_distance(sequence, sequence.stack + (uint32_t)i);
}

} // namespace

fm_status count_last(const uint32_t *again, uint32_t positions, uint32_t *sums, void *scan_space,
                     size_t scan_bytes, uint32_t *distinct, cudaStream_t stream, fm_error *error)
{
    const uint32_t words = (positions + 31) / 32;
    count_words<<<words / THREADS + 1, THREADS, 0, stream>>>(again, positions, words, sums);
    CUDA_TRY(cudaGetLastError(), "counting distinct blocks");
    CUDA_TRY(sum_before(scan_space, scan_bytes, sums, sums, (size_t)words + 1, stream),
             "counting distinct blocks");
    CUDA_TRY(cudaMemcpyAsync(distinct, sums + words, sizeof *distinct, cudaMemcpyDeviceToHost, stream),
             "counting distinct blocks");
    CUDA_TRY(cudaStreamSynchronize(stream), "counting distances");
    return FM_OK;
}

fm_status gather_stack(const Sequence &sequence, const uint32_t *again, const uint32_t *sums, uint32_t drop,
                       uint64_t *blocks, uint64_t *times, cudaStream_t stream, fm_error *error)
{
    const uint32_t words = (sequence.count + 31) / 32;
    gather_last<<<sweep_blocks((size_t)words * 32), THREADS, 0, stream>>>(sequence, again, sums, words, drop,
                                                                          blocks, times);
    CUDA_TRY(cudaGetLastError(), "gathering the stack");
    return FM_OK;
}

fm_status count_times(const Sequence &sequence, fm_bins bins, Count *histogram, Count *total,
                      cudaStream_t stream, fm_error *error)
{
    const unsigned grid = sweep_blocks(sequence.count - sequence.stack);
    if (bins == FM_BINS_LOG2)
        tally_times<FM_BINS_LOG2><<<grid, THREADS, 0, stream>>>(sequence, histogram, total);
    else
        tally_times<FM_BINS_LOGLINEAR><<<grid, THREADS, 0, stream>>>(sequence, histogram, total);
    CUDA_TRY(cudaGetLastError(), "counting time distances");
    return FM_OK;
}

fm_status deliver_distances(const Sequence &sequence, const uint32_t *distance_of_next, uint64_t bound,
                            uint64_t *distances, cudaStream_t stream, fm_error *error)
{
    write_distances<<<sweep_blocks(sequence.count - sequence.stack), THREADS, 0, stream>>>(
        sequence, distance_of_next, bound, distances);
    CUDA_TRY(cudaGetLastError(), "delivering distances");
    return FM_OK;
}

fm_status deliver_times(const Sequence &sequence, uint64_t *times, cudaStream_t stream, fm_error *error)
{
    write_times<<<sweep_blocks(sequence.count - sequence.stack), THREADS, 0, stream>>>(sequence, times);
    CUDA_TRY(cudaGetLastError(), "delivering time distances");
    return FM_OK;
}

size_t firsts_space_needed(size_t positions)
{
    size_t bytes = 0;
    select_firsts(nullptr, bytes, nullptr, nullptr, nullptr, nullptr, (int64_t)positions, nullptr);
    return bytes;
}

fm_status gather_new_blocks(const Sequence &sequence, uint64_t *new_blocks, uint32_t *found, void *space,
                            size_t bytes, cudaStream_t stream, fm_error *error)
{
    CUDA_TRY(select_firsts(space, bytes, sequence.blocks + sequence.stack, sequence.previous + sequence.stack,
                           new_blocks, found, (int64_t)(sequence.count - sequence.stack), stream),
             "gathering new blocks");
    return FM_OK;
}

} // namespace fathom
