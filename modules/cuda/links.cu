/* SPDX-License-Identifier: Apache-2.0 */
/* links.cu - links of references within buckets, by sorting, and the choice between the two (links.cuh). */
#include "card.cuh"
#include "links.cuh"
#include "thread_blocks.cuh"

#include <algorithm>

/* ==== links in segments ==== */

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

/*
 * ==== links by sorting ====
 *
 * see links.cuh.
 *
 * The links have to go back from the order of blocks to that of time. Written at once, 4 bytes each to random
 * places of a large array, most of the card's bandwidth would go into sectors that are read and written for
 * one word of eight. So they are partitioned by time first into 256 windows that fit the second-level cache,
 * then written window by window. The order within a window does not matter: places in it are given out by an
 * atomic counter.
 */

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

/* ==== links ==== */

namespace fathom
{

namespace
{

constexpr size_t ALIGNMENT = 512;

/* The parts of LinkSpace.ordering: those of a partition, or of a sort. */
struct Layout {
    size_t starts[PASSES], group_tile, group_start, bucket_start, first_segment, first_table, tables, scan;
    size_t scan_bytes;
    size_t sorting, cursors, sort_bytes;
    size_t total = 0;

    size_t place(size_t bytes)
    {
        const size_t at = total;
        total += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        return at;
    }

    explicit Layout(size_t positions)
    {
        for (int pass = 0; pass < PASSES; pass++)
            starts[pass] = place(starts_needed(tiles_needed(positions, pass > 0)) * 4);
        group_tile = place((DIGITS + 1) * 4);
        group_start = place((DIGITS + 1) * 4);
        bucket_start = place((MOST_BUCKETS + 1) * 4);
        first_segment = place((MOST_BUCKETS + 1) * 4);
        first_table = place((MOST_BUCKETS + 1) * 4);
        tables = place(segment_tables_needed(positions) * 4);
        scan_bytes = partition_scan_needed(positions);
        scan = place(scan_bytes);
        const size_t partition = total;
        total = 0;
        cursors = place(LINK_BUCKETS * 4);
        sort_bytes = sort_space_needed(positions);
        sorting = place(sort_bytes);
        total = std::max(total, partition);
    }
};

template <typename T> T *at(const LinkSpace &space, size_t place)
{
    return (T *)((unsigned char *)space.ordering + place);
}

SortSpace sort_space(const LinkSpace &space)
{
    const Layout layout(space.positions);
    return SortSpace{space.words, at<void>(space, layout.sorting), layout.sort_bytes,
                     at<uint32_t>(space, layout.cursors)};
}

/* Of words: the first pass takes 0 and 1 and the second one 2 and 3 for references, both the last one for
 * places. */
fm_status part_references(const uint64_t *blocks, uint32_t count, const KeyPacking &packing,
                          const LinkSpace &space, OrderedReferences *ordered, cudaStream_t stream,
                          fm_error *error)
{
    const Layout layout(space.positions);
    uint32_t *const *words = space.words;
    const ScanSpace scan = {at<void>(space, layout.scan), layout.scan_bytes};
    PartitionPass &first = ordered->pass[0], &second = ordered->pass[1];
    uint16_t *const places = (uint16_t *)words[5];
    const int first_bits = std::min(DIGIT_BITS, packing.bits), left = packing.bits - first_bits;
    first = PartitionPass{
        count,   first_bits, tiles_needed(count, false), at<uint32_t>(space, layout.starts[0]), places,
        nullptr, nullptr};
    ordered->passes = left > SHORT_KEY_BITS ? 2 : 1;
    if (ordered->passes == 1) {
        ordered->references = ShortKeyed{(uint16_t *)words[0], words[1]};
        ordered->key_bits = left;
        return part_blocks(blocks, packing, first, ordered->references, scan, stream, error);
    }
    const LongKeyed between = {words[0], words[1]};
    uint32_t *group_tile = at<uint32_t>(space, layout.group_tile);
    uint32_t *group_start = at<uint32_t>(space, layout.group_start);
    second = PartitionPass{count,
                           DIGIT_BITS,
                           tiles_needed(count, true),
                           at<uint32_t>(space, layout.starts[1]),
                           places + count,
                           group_tile,
                           group_start};
    ordered->references = ShortKeyed{(uint16_t *)words[2], words[3]};
    ordered->key_bits = left - DIGIT_BITS;
    FM_TRY(part_blocks(blocks, packing, first, between, scan, stream, error));
    FM_TRY(make_groups(first, group_tile, group_start, stream, error));
    return part_groups(between, second, ordered->references, scan, stream, error);
}

fm_status link_parted(const OrderedReferences &ordered, uint32_t count, const LinkSpace &space,
                      cudaStream_t stream, fm_error *error)
{
    const Layout layout(space.positions);
    uint32_t *const *words = space.words;
    const PartitionPass &last = ordered.pass[ordered.passes - 1];
    const uint32_t buckets = ordered.passes > 1 ? MOST_BUCKETS : DIGITS;
    const SegmentSpace segments = {
        at<uint32_t>(space, layout.bucket_start), at<uint32_t>(space, layout.first_segment),
        at<uint32_t>(space, layout.first_table), at<uint32_t>(space, layout.tables)};
    SegmentTables tables;
    /* With one pass links take words 2; with two, 0, and on the way back 1. */
    uint32_t *const links = ordered.passes > 1 ? words[0] : words[2];
    FM_TRY(find_buckets(last, segments.bucket_start, stream, error));
    FM_TRY(plan_segments(count, ordered.key_bits, buckets, ordered.references.keys, segments, &tables, stream,
                         error));
    FM_TRY(link_segments(tables, ordered.references.positions, count, links, stream, error));
    if (ordered.passes == 1) return go_back(last, links, words[4], &tables, stream, error);
    FM_TRY(go_back(last, links, words[1], &tables, stream, error));
    return go_back(ordered.pass[0], words[1], words[4], nullptr, stream, error);
}

} // namespace

size_t link_space_needed(size_t positions)
{
    return Layout(positions).total;
}

fm_status order_references(const uint64_t *blocks, uint32_t count, const KeyPacking &packing,
                           const LinkSpace &space, OrderedReferences *ordered, cudaStream_t stream,
                           fm_error *error)
{
    ordered->sorted = packing.bits > SHORT_KEY_BITS + PASSES * DIGIT_BITS;
    return ordered->sorted
               ? sort_keys(blocks, count, packing, sort_space(space), &ordered->sorted_keys, stream, error)
               : part_references(blocks, count, packing, space, ordered, stream, error);
}

fm_status link_references(const OrderedReferences &ordered, uint32_t count, const LinkSpace &space,
                          uint32_t **previous, cudaStream_t stream, fm_error *error)
{
    *previous = ordered.sorted ? ordered.sorted_keys.previous : space.words[4];
    return ordered.sorted ? link_sorted_keys(ordered.sorted_keys, count, sort_space(space), stream, error)
                          : link_parted(ordered, count, space, stream, error);
}

} // namespace fathom
