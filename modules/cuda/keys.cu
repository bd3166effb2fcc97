/* SPDX-License-Identifier: Apache-2.0 */
/* keys.cu - see keys.cuh. */
#include "keys.cuh"

#include <algorithm>

namespace fathom
{

namespace
{

constexpr int THREADS = 256;

__global__ void start_summary(const uint64_t *blocks, KeySummary *summary)
{
    *summary = KeySummary{blocks[0], blocks[0], 0};
}

__global__ void __launch_bounds__(THREADS)
    summarize(const uint64_t *blocks, uint32_t count, KeySummary *summary)
{
    const uint64_t first = blocks[0];
    unsigned long long least = first, greatest = first, varying = 0;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS) {
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
    summarize<<<std::min(blocks_for(count, THREADS), SWEEP_BLOCKS), THREADS, 0, stream>>>(blocks, count,
                                                                                          on_card);
    CUDA_TRY(cudaGetLastError(), "looking at blocks");
    CUDA_TRY(cudaMemcpyAsync(answer, on_card, sizeof *answer, cudaMemcpyDeviceToHost, stream),
             "looking at blocks");
    CUDA_TRY(cudaStreamSynchronize(stream), "looking at blocks");
    return FM_OK;
}

} // namespace fathom
