/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sorted_links.cu - see sorted_links.cuh.
 *
 * The links have to go back from the order of blocks to that of time. Written at once, 4 bytes each to random
 * places of a large array, most of the card's bandwidth would go into sectors that are read and written for
 * one word of eight. So they are partitioned by time first into 256 windows that fit the second-level cache,
 * then written window by window. The order within a window does not matter: places in it are given out by an
 * atomic counter.
 */
#include "sorted_links.cuh"

#include "cub_calls.cuh"
#include "warp_rank.cuh"

#include <algorithm>

namespace fathom
{

namespace
{

constexpr int THREADS = 256;
constexpr int ITEMS = 8; /* of a thread: with 16 there are too few blocks at a time on a processor */
constexpr uint32_t TILE = THREADS * ITEMS;
/* Links of so few references stay in the second-level cache anyway. */
constexpr uint32_t DIRECT_MOST = 1u << 22;

template <typename KEY>
__global__ void __launch_bounds__(THREADS)
    pack_keys(const uint64_t *blocks, uint32_t count, const __grid_constant__ KeyPacking packing, KEY *keys,
              uint32_t *positions)
{
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS) {
        keys[i] = (KEY)packing.key(blocks[i]);
        positions[i] = (uint32_t)i;
    }
}

/* The link of sorted element `at`: x its predecessor's position or NO_POSITION, y its own. */
template <typename KEY>
__device__ __forceinline__ uint2 link_of(const KEY *keys, const uint32_t *positions, uint32_t at)
{
    const bool again = at > 0 && keys[at] == keys[at - 1];
    return make_uint2(again ? positions[at - 1] : NO_POSITION, positions[at]);
}

template <typename KEY>
__global__ void __launch_bounds__(THREADS)
    link_directly(const KEY *keys, const uint32_t *positions, uint32_t count, uint32_t *previous)
{
    const uint32_t at = blockIdx.x * THREADS + threadIdx.x;
    if (at >= count) return;
    const uint2 link = link_of(keys, positions, at);
    previous[link.y] = link.x;
}

__global__ void start_cursors(uint32_t *cursors, int shift)
{
    cursors[threadIdx.x] = threadIdx.x << shift;
}

/* Partitions links by time. Every position occurs once, so bucket b fills [b << shift, (b + 1) << shift). */
template <typename KEY>
__global__ void __launch_bounds__(THREADS)
    partition_links(const KEY *keys, const uint32_t *positions, uint32_t count, int shift, uint32_t *cursors,
                    uint2 *pairs)
{
    __shared__ uint2 sorted[TILE];
    __shared__ uint32_t sizes[LINK_BUCKETS], places[LINK_BUCKETS], sums[THREADS / 32];
    const uint32_t tile = blockIdx.x * TILE, lane = threadIdx.x % 32;
    const uint32_t here = min(TILE, count - tile);
    uint2 links[ITEMS];
    uint32_t ranks[ITEMS];

    sizes[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const uint32_t at = item * THREADS + threadIdx.x;
        const bool valid = at < here;
        links[item] = valid ? link_of(keys, positions, tile + at) : make_uint2(0, 0);
        const uint32_t bucket = valid ? links[item].y >> shift : NO_POSITION;
        /* A block's references are in the order of time here, so that neighbours are often of one bucket: one
         * atomic addition for each such run. */
        const uint32_t before = __shfl_up_sync(ALL_LANES, bucket, 1);
        const uint32_t up_to_here = ALL_LANES >> (31 - lane);
        const uint32_t heads = __ballot_sync(ALL_LANES, lane == 0 || bucket != before);
        const uint32_t head = 31 - __clz(heads & up_to_here), later = heads & ~up_to_here;
        uint32_t first = 0;
        if (head == lane && valid) first = atomicAdd(&sizes[bucket], (later ? __ffs(later) - 1 : 32) - lane);
        ranks[item] = __shfl_sync(ALL_LANES, first, head) + lane - head;
    }
    __syncthreads();

    /* Where each bucket starts in the tile (places), and in all minus that (sizes). */
    const uint32_t size = sizes[threadIdx.x];
    uint32_t sum = size;
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == 31) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    uint32_t start = sum - size;
    for (uint32_t warp = 0; warp < threadIdx.x / 32; warp++) start += sums[warp];
    places[threadIdx.x] = start;
    sizes[threadIdx.x] = size ? atomicAdd(&cursors[threadIdx.x], size) - start : 0;
    __syncthreads();

#pragma unroll
    for (int item = 0; item < ITEMS; item++)
        if (item * THREADS + threadIdx.x < here)
            sorted[places[links[item].y >> shift] + ranks[item]] = links[item];
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const uint32_t at = item * THREADS + threadIdx.x;
        if (at < here) pairs[sizes[sorted[at].y >> shift] + at] = sorted[at];
    }
}

__global__ void __launch_bounds__(THREADS) write_links(const uint2 *pairs, uint32_t count, uint32_t *previous)
{
    constexpr int EACH = 4;
    const uint32_t tile = blockIdx.x * THREADS * EACH;
    uint2 links[EACH];
#pragma unroll
    for (int item = 0; item < EACH; item++) {
        const uint32_t at = tile + item * THREADS + threadIdx.x;
        if (at < count) links[item] = __ldcs(&pairs[at]);
    }
#pragma unroll
    for (int item = 0; item < EACH; item++)
        if (tile + item * THREADS + threadIdx.x < count) previous[links[item].y] = links[item].x;
}

template <typename KEY>
fm_status link_sorted(const SortedKeys &sorted, uint32_t count, const SortSpace &space, cudaStream_t stream,
                      fm_error *error)
{
    const KEY *keys = (const KEY *)sorted.keys;
    if (count <= DIRECT_MOST) {
        link_directly<<<blocks_for(count, THREADS), THREADS, 0, stream>>>(keys, sorted.positions, count,
                                                                          sorted.previous);
    } else {
        int shift = 0;
        while ((size_t)LINK_BUCKETS << shift < count) shift++;
        start_cursors<<<1, LINK_BUCKETS, 0, stream>>>(space.cursors, shift);
        partition_links<<<blocks_for(count, TILE), THREADS, 0, stream>>>(keys, sorted.positions, count, shift,
                                                                         space.cursors, sorted.pairs);
        write_links<<<blocks_for(count, THREADS * 4), THREADS, 0, stream>>>(sorted.pairs, count,
                                                                            sorted.previous);
    }
    CUDA_TRY(cudaGetLastError(), "linking references");
    return FM_OK;
}

} // namespace

size_t sort_space_needed(size_t positions)
{
    size_t narrow = 0, wide = 0;
    SortBuffers<uint32_t> keys32 = {};
    SortBuffers<uint64_t> keys64 = {};
    sort_pairs(nullptr, narrow, keys32, positions, 32, nullptr);
    sort_pairs(nullptr, wide, keys64, positions, 64, nullptr);
    return std::max(narrow, wide);
}

fm_status sort_keys(const uint64_t *blocks, uint32_t count, const KeyPacking &packing, const SortSpace &space,
                    SortedKeys *sorted, cudaStream_t stream, fm_error *error)
{
    const unsigned grid = std::min(blocks_for(count, THREADS), SWEEP_BLOCKS);
    uint32_t *const *words = space.words;
    size_t bytes = space.bytes;
    sorted->wide = packing.bits > 32;
    if (!sorted->wide) {
        SortBuffers<uint32_t> buffers = {words[0], words[2], words[1], words[3]};
        pack_keys<<<grid, THREADS, 0, stream>>>(blocks, count, packing, words[0], words[1]);
        CUDA_TRY(cudaGetLastError(), "packing blocks");
        if (packing.bits > 0)
            CUDA_TRY(sort_pairs(space.sorting, bytes, buffers, count, packing.bits, stream), "sorting");
        sorted->keys = buffers.keys;
        sorted->positions = buffers.values;
        sorted->pairs = (uint2 *)buffers.other_keys;
        sorted->previous = words[4];
    } else {
        SortBuffers<uint64_t> buffers = {(uint64_t *)words[0], (uint64_t *)words[2], words[4], words[5]};
        pack_keys<<<grid, THREADS, 0, stream>>>(blocks, count, packing, buffers.keys, words[4]);
        CUDA_TRY(cudaGetLastError(), "packing blocks");
        CUDA_TRY(sort_pairs(space.sorting, bytes, buffers, count, packing.bits, stream), "sorting");
        sorted->keys = buffers.keys;
        sorted->positions = buffers.values;
        sorted->pairs = (uint2 *)buffers.other_keys;
        sorted->previous = buffers.other_values;
    }
    return FM_OK;
}

fm_status link_sorted_keys(const SortedKeys &sorted, uint32_t count, const SortSpace &space,
                           cudaStream_t stream, fm_error *error)
{
    return sorted.wide ? link_sorted<uint64_t>(sorted, count, space, stream, error)
                       : link_sorted<uint32_t>(sorted, count, space, stream, error);
}

} // namespace fathom
