/* SPDX-License-Identifier: Apache-2.0 */
/* segment_links.cu - see segment_links.cuh. */
#include "segment_links.cuh"

#include "warp_rank.cuh"

#include <algorithm>

namespace fathom
{

namespace
{

constexpr int LINK_WARPS = 2; /* of a block: few, so that tables leave little of the shared memory unused */
constexpr int LINK_ROWS = 8;  /* that are read ahead */
/* A segment has at most this many references, so that there are enough segments for all warps of a card;
 * and at least four for each key, so that few are the first of their key in it. */
constexpr int MOST_SHIFT = 15, LEAST_SHIFT = 10, KEY_SHIFT = 2;
constexpr uint32_t ENOUGH_SEGMENTS = 1u << 13;
constexpr int PLAN_THREADS = 1024, CARRY_THREADS = 256, CARRY_AHEAD = 8;

/* Sums over the threads of a block before this one, of two numbers. */
__device__ __forceinline__ void sums_of_earlier_threads(uint32_t &one, uint32_t &other)
{
    __shared__ uint2 sums[PLAN_THREADS / 32];
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t one_before = sum_of_earlier_lanes(one), other_before = sum_of_earlier_lanes(other);
    if (lane_number() == 31) sums[warp] = make_uint2(one_before + one, other_before + other);
    __syncthreads();
    one = one_before;
    other = other_before;
    for (uint32_t earlier = 0; earlier < warp; earlier++) {
        one += sums[earlier].x;
        other += sums[earlier].y;
    }
}

/* One block: the segments and tables of the buckets before each. */
__global__ void __launch_bounds__(PLAN_THREADS)
    plan(const uint32_t *bucket_start, uint32_t buckets, int segment_shift, uint32_t *first_segment,
         uint32_t *first_table)
{
    const uint32_t each = (buckets + PLAN_THREADS - 1) / PLAN_THREADS;
    const uint32_t first = min(threadIdx.x * each, buckets), end = min(first + each, buckets);
    uint32_t segments = 0, tables = 0;
    for (uint32_t bucket = first; bucket < end; bucket++) {
        const uint32_t size = bucket_start[bucket + 1] - bucket_start[bucket];
        const uint32_t own = (size + (1u << segment_shift) - 1) >> segment_shift;
        segments += own;
        tables += own > 0 ? own - 1 : 0;
    }
    sums_of_earlier_threads(segments, tables);
    for (uint32_t bucket = first; bucket < end; bucket++) {
        const uint32_t size = bucket_start[bucket + 1] - bucket_start[bucket];
        const uint32_t own = (size + (1u << segment_shift) - 1) >> segment_shift;
        first_segment[bucket] = segments;
        first_table[bucket] = tables;
        segments += own;
        tables += own > 0 ? own - 1 : 0;
    }
    if (threadIdx.x < PLAN_THREADS - 1) return;
    first_segment[buckets] = segments;
    first_table[buckets] = tables;
}

/* The last bucket whose first segment is this one or an earlier one: so it is not empty. */
__device__ __forceinline__ uint32_t bucket_of(const SegmentTables &tables, uint32_t segment)
{
    uint32_t least = 0, most = tables.buckets - 1;
    while (least < most) {
        const uint32_t middle = (least + most + 1) / 2;
        if (tables.first_segment[middle] <= segment)
            least = middle;
        else
            most = middle - 1;
    }
    return least;
}

template <int BITS> /* of keys, at most */
__global__ void __launch_bounds__(LINK_WARPS * 32)
    link_rows(const __grid_constant__ SegmentTables tables, const uint32_t *positions, uint32_t *links)
{
    extern __shared__ uint32_t shared_tables[];
    const uint32_t warp = threadIdx.x / 32, lane = lane_number(), keys = 1u << tables.key_bits;
    const uint32_t segment = blockIdx.x * LINK_WARPS + warp;
    if (segment >= tables.first_segment[tables.buckets]) return;
    uint32_t *last = shared_tables + warp * keys;
    const uint32_t bucket = bucket_of(tables, segment);
    const uint32_t number = segment - tables.first_segment[bucket];
    const uint32_t start = tables.bucket_start[bucket] + (number << tables.segment_shift);
    const uint32_t bucket_end = tables.bucket_start[bucket + 1];
    const bool is_last = bucket_end - start <= 1u << tables.segment_shift;
    const uint32_t end = is_last ? bucket_end : start + (1u << tables.segment_shift);
    uint32_t next_keys[LINK_ROWS], next_positions[LINK_ROWS];

    for (uint32_t key = lane; key < keys; key += 32) last[key] = NO_POSITION;
#pragma unroll
    for (int row = 0; row < LINK_ROWS; row++) {
        const uint32_t at = start + row * 32 + lane;
        next_keys[row] = at < end ? __ldcs(&tables.keys[at]) : 0;
        next_positions[row] = at < end ? __ldcs(&positions[at]) : 0;
    }
    __syncwarp();
    for (uint32_t first = start; first < end; first += LINK_ROWS * 32) {
        uint32_t row_keys[LINK_ROWS], row_positions[LINK_ROWS];
#pragma unroll
        for (int row = 0; row < LINK_ROWS; row++) {
            const uint32_t at = first + (LINK_ROWS + row) * 32 + lane;
            const bool more = at < end;
            row_keys[row] = next_keys[row];
            row_positions[row] = next_positions[row];
            next_keys[row] = more ? __ldcs(&tables.keys[at]) : 0;
            next_positions[row] = more ? __ldcs(&positions[at]) : 0;
        }
#pragma unroll
        for (int row = 0; row < LINK_ROWS; row++) {
            const uint32_t at = first + row * 32 + lane;
            const bool valid = at < end;
            const uint32_t key = row_keys[row], position = row_positions[row];
            const uint32_t same = lanes_with<BITS>(__ballot_sync(ALL_LANES, valid), key);
            const uint32_t earlier = same & lanes_before();
            const uint32_t before_row = last[key];
            const uint32_t in_row = __shfl_sync(ALL_LANES, position, 31 - __clz(earlier | 1u));
            __syncwarp();
            if (valid && same >> lane == 1u) last[key] = position;
            __syncwarp();
            if (valid) __stcs(&links[at], earlier ? in_row : before_row);
        }
    }
    if (is_last) return;
    uint32_t *kept = tables.tables + ((size_t)(tables.first_table[bucket] + number) << tables.key_bits);
    for (uint32_t key = lane; key < keys; key += 32) kept[key] = last[key];
}

/* A block has up to CARRY_THREADS keys of a bucket. */
__global__ void __launch_bounds__(CARRY_THREADS) carry(const __grid_constant__ SegmentTables tables)
{
    const uint32_t bucket = blockIdx.x, key = blockIdx.y * CARRY_THREADS + threadIdx.x;
    const uint32_t first = tables.first_table[bucket], end = tables.first_table[bucket + 1];
    if (end - first < 2 || key >> tables.key_bits) return;
    uint32_t latest = NO_POSITION;
    for (uint32_t table = first; table < end; table += CARRY_AHEAD) {
        uint32_t found[CARRY_AHEAD];
#pragma unroll
        for (int i = 0; i < CARRY_AHEAD; i++)
            found[i] =
                table + i < end ? tables.tables[((size_t)(table + i) << tables.key_bits) + key] : NO_POSITION;
#pragma unroll
        for (int i = 0; i < CARRY_AHEAD; i++) {
            if (found[i] != NO_POSITION)
                latest = found[i];
            else if (table + i < end)
                tables.tables[((size_t)(table + i) << tables.key_bits) + key] = latest;
        }
    }
}

int shift_of_segments(size_t count, int key_bits)
{
    int shift = LEAST_SHIFT;
    while (shift < MOST_SHIFT && count >> shift > ENOUGH_SEGMENTS) shift++;
    return std::max(shift, key_bits + KEY_SHIFT);
}

template <int BITS>
fm_status run_link_rows(const SegmentTables &tables, const uint32_t *positions, uint32_t count,
                        uint32_t *links, cudaStream_t stream, fm_error *error)
{
    const size_t bytes = (size_t)LINK_WARPS * sizeof(uint32_t) << tables.key_bits;
    const size_t segments = ((size_t)count >> tables.segment_shift) + tables.buckets;
    CUDA_TRY(cudaFuncSetAttribute(link_rows<BITS>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared),
             "linking references");
    link_rows<BITS>
        <<<blocks_for(segments, LINK_WARPS), LINK_WARPS * 32, bytes, stream>>>(tables, positions, links);
    CUDA_TRY(cudaGetLastError(), "linking references");
    return FM_OK;
}

} // namespace

size_t segment_tables_needed(size_t positions)
{
    return (positions >> KEY_SHIFT) + 1;
}

fm_status plan_segments(uint32_t count, int key_bits, uint32_t buckets, const uint16_t *keys,
                        const SegmentSpace &space, SegmentTables *tables, cudaStream_t stream,
                        fm_error *error)
{
    *tables = SegmentTables{key_bits,
                            shift_of_segments(count, key_bits),
                            buckets,
                            space.bucket_start,
                            space.first_segment,
                            space.first_table,
                            keys,
                            space.tables};
    plan<<<1, PLAN_THREADS, 0, stream>>>(space.bucket_start, buckets, tables->segment_shift,
                                         space.first_segment, space.first_table);
    CUDA_TRY(cudaGetLastError(), "linking references");
    return FM_OK;
}

fm_status link_segments(const SegmentTables &tables, const uint32_t *positions, uint32_t count,
                        uint32_t *links, cudaStream_t stream, fm_error *error)
{
    if (tables.key_bits <= 4)
        FM_TRY(run_link_rows<4>(tables, positions, count, links, stream, error));
    else if (tables.key_bits <= 8)
        FM_TRY(run_link_rows<8>(tables, positions, count, links, stream, error));
    else
        FM_TRY(run_link_rows<SHORT_KEY_BITS>(tables, positions, count, links, stream, error));
    const dim3 grid(tables.buckets, blocks_for((size_t)1 << tables.key_bits, CARRY_THREADS));
    carry<<<grid, CARRY_THREADS, 0, stream>>>(tables);
    CUDA_TRY(cudaGetLastError(), "linking references");
    return FM_OK;
}

} // namespace fathom
