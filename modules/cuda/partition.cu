/* SPDX-License-Identifier: Apache-2.0 */
/* partition.cu - references into buckets by digits of their keys (links.cuh). */
#include "links.cuh"

#include "card.cuh"
#include "thread_blocks.cuh"

namespace fathom
{

namespace
{

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int ITEMS = 16;                       /* of a thread: rows of a warp */
constexpr int PART_BLOCKS = 4, BACK_BLOCKS = 4; /* at a time on a processor, at least */
constexpr int TILE_BITS = 12;
constexpr uint32_t TILE = 1u << TILE_BITS;
static_assert(TILE == THREADS * ITEMS, "a tile is what a block holds in registers");
static_assert(THREADS == DIGITS, "a thread for each digit");
static_assert(TILE_BITS <= 16, "places within a tile are written as two bytes");
static_assert(TILE_BITS + LONG_KEY_BITS <= 32, "what is left of a key and a place share a word");

/* What a block of threads works on. All of them must make one. */
struct Tile {
    uint32_t number, start, size, group;

    __device__ explicit Tile(const PartitionPass &pass)
    {
        __shared__ uint32_t shared_group;
        number = blockIdx.x;
        group = 0;
        start = number * TILE;
        uint32_t end = pass.count;
        if (pass.group_tile) {
            const uint32_t mine = threadIdx.x;
            if (threadIdx.x == 0) shared_group = DIGITS;
            __syncthreads();
            if (pass.group_tile[mine] <= number && number < pass.group_tile[mine + 1]) shared_group = mine;
            __syncthreads();
            group = shared_group;
            if (group == DIGITS) { /* there are fewer tiles */
                start = end = 0;
            } else {
                start = pass.group_start[group] + (number - pass.group_tile[group]) * TILE;
                end = pass.group_start[group + 1];
            }
        }
        size = end > start ? min(TILE, end - start) : 0;
    }
};

/* Where a pass reads its keys; and positions, where these are not the places in the tile. */
struct FromBlocks {
    static constexpr bool POSITIONS = false;
    const uint64_t *blocks;
    KeyPacking packing;

    __device__ __forceinline__ uint32_t key(uint32_t at) const
    {
        return (uint32_t)packing.key(blocks[at]);
    }
};
struct FromReferences {
    static constexpr bool POSITIONS = true;
    LongKeyed references;

    __device__ __forceinline__ uint32_t key(uint32_t at) const
    {
        return references.keys[at];
    }
    __device__ __forceinline__ uint32_t position(uint32_t at) const
    {
        return references.positions[at];
    }
};

/* The sum over the threads before this one. `sums`: shared, a word for each warp. */
__device__ __forceinline__ uint32_t sum_of_earlier_threads(uint32_t value, uint32_t *sums)
{
    const uint32_t warp = threadIdx.x / 32, before = sum_of_earlier_lanes(value);
    if (lane_number() == 31) sums[warp] = before + value;
    __syncthreads();
    uint32_t sum = before;
    for (uint32_t other = 0; other < warp; other++) sum += sums[other];
    return sum;
}

/*
 * In a tile that is sorted by digits: which digit is at a place. Neighbouring places read the same words.
 */
struct DigitRuns {
    uint32_t heads[TILE / 32];  /* a bit for each place at which a digit's run begins */
    uint32_t before[TILE / 32]; /* so many runs begin before those 32 places */
    uint8_t digits[DIGITS];     /* of runs */
    uint32_t sums[2][WARPS];

    /* Of each thread: where its digit's run begins, and how long it is. All threads pass a barrier between
     * clear and set. */
    __device__ __forceinline__ void clear()
    {
        if (threadIdx.x < TILE / 32) heads[threadIdx.x] = 0;
    }
    __device__ __forceinline__ void set(uint32_t start, uint32_t size)
    {
        const uint32_t run = sum_of_earlier_threads(size > 0, sums[0]);
        if (size > 0) {
            digits[run] = (uint8_t)threadIdx.x;
            atomicOr(&heads[start / 32], 1u << start % 32);
        }
        __syncthreads();
        const uint32_t own = threadIdx.x < TILE / 32 ? (uint32_t)__popc(heads[threadIdx.x]) : 0;
        const uint32_t runs = sum_of_earlier_threads(own, sums[1]);
        if (threadIdx.x < TILE / 32) before[threadIdx.x] = runs;
        __syncthreads();
    }
    __device__ __forceinline__ uint32_t digit_at(uint32_t place) const
    {
        const uint32_t up_to_here = (2u << place % 32) - 1u;
        return digits[before[place / 32] + (uint32_t)__popc(heads[place / 32] & up_to_here) - 1u];
    }
};

template <typename SOURCE>
__global__ void __launch_bounds__(THREADS)
    count_tiles(const __grid_constant__ SOURCE source, const __grid_constant__ PartitionPass pass)
{
    __shared__ uint32_t counts[DIGITS];
    const Tile tile(pass);
    const uint32_t mask = (1u << pass.bits) - 1u;
    counts[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const uint32_t at = item * THREADS + threadIdx.x;
        if (at < tile.size) atomicAdd(&counts[source.key(tile.start + at) & mask], 1u);
    }
    __syncthreads();
    pass.starts[threadIdx.x * pass.tiles + tile.number] = counts[threadIdx.x];
    if (tile.number == 0 && threadIdx.x == 0) pass.starts[DIGITS * pass.tiles] = 0;
}

template <typename SOURCE, typename KEY>
__global__ void __launch_bounds__(THREADS, PART_BLOCKS)
    part_tiles(const __grid_constant__ SOURCE source, const __grid_constant__ PartitionPass pass,
               KeyedReferences<KEY> to)
{
    __shared__ uint32_t sorted[TILE]; /* what is left of a key, and the place that it comes from */
    __shared__ uint32_t sorted_positions[SOURCE::POSITIONS ? TILE : 1];
    __shared__ uint16_t warp_places[WARPS][DIGITS]; /* counts, then the places of a warp's first ones */
    __shared__ uint32_t targets[DIGITS], sums[WARPS];
    __shared__ DigitRuns runs;
    const Tile tile(pass);
    if (tile.size == 0) return;
    const uint32_t warp = threadIdx.x / 32, lane = lane_number(), mask = (1u << pass.bits) - 1u;
    uint32_t keys[ITEMS], ranks[ITEMS / 2]; /* ranks: two in a word */

    for (uint32_t i = threadIdx.x; i < WARPS * DIGITS; i += THREADS) warp_places[0][i] = 0;
    runs.clear();
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const uint32_t at = (warp * ITEMS + item) * 32 + lane;
        keys[item] = at < tile.size ? source.key(tile.start + at) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const bool valid = (warp * ITEMS + item) * 32 + lane < tile.size;
        const uint32_t digit = keys[item] & mask;
        const uint32_t same = lanes_with<DIGIT_BITS>(__ballot_sync(ALL_LANES, valid), digit);
        const uint32_t earlier = same & lanes_before(), count = warp_places[warp][digit];
        __syncwarp();
        if (valid && earlier == 0) warp_places[warp][digit] = (uint16_t)(count + __popc(same));
        __syncwarp();
        const uint32_t rank = count + (uint32_t)__popc(earlier);
        ranks[item / 2] = item % 2 ? ranks[item / 2] | rank << 16 : rank;
    }
    __syncthreads();

    /* Each thread: of one digit. */
    uint32_t size = 0;
#pragma unroll
    for (int other = 0; other < WARPS; other++) size += warp_places[other][threadIdx.x];
    const uint32_t start = sum_of_earlier_threads(size, sums);
    uint32_t place = start;
#pragma unroll
    for (int other = 0; other < WARPS; other++) {
        const uint32_t count = warp_places[other][threadIdx.x];
        warp_places[other][threadIdx.x] = (uint16_t)place;
        place += count;
    }
    targets[threadIdx.x] = pass.starts[threadIdx.x * pass.tiles + tile.number] - start;
    runs.set(start, size);

#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const uint32_t at = (warp * ITEMS + item) * 32 + lane;
        if (at >= tile.size) continue;
        const uint32_t rank = item % 2 ? ranks[item / 2] >> 16 : ranks[item / 2] & 0xffffu;
        const uint32_t to_place = warp_places[warp][keys[item] & mask] + rank;
        sorted[to_place] = keys[item] >> pass.bits << TILE_BITS | at;
        if constexpr (SOURCE::POSITIONS) sorted_positions[to_place] = source.position(tile.start + at);
        pass.places[tile.start + at] = (uint16_t)to_place;
    }
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const uint32_t from = item * THREADS + threadIdx.x;
        if (from >= tile.size) continue;
        const uint32_t at = targets[runs.digit_at(from)] + from, word = sorted[from];
        to.keys[at] = (KEY)(word >> TILE_BITS);
        to.positions[at] = SOURCE::POSITIONS ? sorted_positions[from] : tile.start + word % TILE;
    }
}

__global__ void __launch_bounds__(THREADS)
    find_groups(const __grid_constant__ PartitionPass first, uint32_t *group_tile, uint32_t *group_start)
{
    __shared__ uint32_t sums[WARPS];
    const uint32_t start = first.starts[threadIdx.x * first.tiles];
    const uint32_t end = first.starts[(threadIdx.x + 1) * first.tiles];
    const uint32_t tiles = (end - start + TILE - 1) / TILE, before = sum_of_earlier_threads(tiles, sums);
    group_start[threadIdx.x] = start;
    group_tile[threadIdx.x] = before;
    if (threadIdx.x < DIGITS - 1) return;
    group_start[DIGITS] = end;
    group_tile[DIGITS] = before + tiles;
}

__global__ void __launch_bounds__(THREADS)
    write_buckets(const __grid_constant__ PartitionPass last, uint32_t *starts)
{
    const uint32_t digit = blockIdx.x, tile = last.group_tile ? last.group_tile[threadIdx.x] : 0;
    if (last.group_tile)
        starts[digit * DIGITS + threadIdx.x] = last.starts[digit * last.tiles + tile];
    else if (threadIdx.x == 0)
        starts[digit] = last.starts[digit * last.tiles];
    if (digit == DIGITS - 1 && threadIdx.x == 0)
        starts[last.group_tile ? MOST_BUCKETS : DIGITS] = last.starts[DIGITS * last.tiles];
}

/*
 * The tables in which a tile looks up what is the first of its key in its segment; of each digit.
 */
struct EarlierLinks {
    uint32_t bucket_start[DIGITS];
    uint32_t table_before[DIGITS]; /* one before the bucket's first table */

    /* Each thread: of its digit. */
    __device__ __forceinline__ void set(const SegmentTables &tables, const PartitionPass &pass,
                                        const Tile &tile)
    {
        const uint32_t bucket = pass.group_tile ? threadIdx.x * DIGITS + tile.group : threadIdx.x;
        bucket_start[threadIdx.x] = tables.bucket_start[bucket];
        table_before[threadIdx.x] = tables.first_table[bucket] - 1;
    }
    /* Number of the segment in its bucket: the first one has nothing before it. */
    __device__ __forceinline__ uint32_t segment(const SegmentTables &tables, uint32_t digit,
                                                uint32_t at) const
    {
        return (at - bucket_start[digit]) >> tables.segment_shift;
    }
    __device__ __forceinline__ uint32_t find(const SegmentTables &tables, uint32_t digit, uint32_t segment,
                                             uint32_t key) const
    {
        return tables.tables[((size_t)(table_before[digit] + segment) << tables.key_bits) + key];
    }
};

template <bool LOOK_UP>
__global__ void __launch_bounds__(THREADS, BACK_BLOCKS)
    go_back_tiles(const __grid_constant__ PartitionPass pass, const uint32_t *from, uint32_t *to,
                  const __grid_constant__ SegmentTables tables)
{
    constexpr int TOGETHER = ITEMS / 2; /* items of a thread whose reading overlaps */
    __shared__ uint32_t values[TILE];
    __shared__ uint32_t sources[DIGITS], sums[WARPS];
    __shared__ DigitRuns runs;
    __shared__ EarlierLinks earlier;
    const Tile tile(pass);
    if (tile.size == 0) return;
    const size_t row = (size_t)threadIdx.x * pass.tiles + tile.number;
    const uint32_t source = pass.starts[row], size = pass.starts[row + 1] - source;
    runs.clear();
    if (LOOK_UP) earlier.set(tables, pass, tile);
    const uint32_t start = sum_of_earlier_threads(size, sums);
    sources[threadIdx.x] = source - start;
    runs.set(start, size);
    uint32_t places[ITEMS / 2]; /* two in a word */
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const uint32_t at = item * THREADS + threadIdx.x;
        const uint32_t place = at < tile.size ? pass.places[tile.start + at] : 0;
        places[item / 2] = item % 2 ? places[item / 2] | place << 16 : place;
    }
#pragma unroll
    for (int first = 0; first < ITEMS; first += TOGETHER) {
        uint32_t found[TOGETHER];
#pragma unroll
        for (int item = 0; item < TOGETHER; item++) {
            const uint32_t place = (first + item) * THREADS + threadIdx.x;
            if (place < tile.size) found[item] = from[sources[runs.digit_at(place)] + place];
        }
        if (LOOK_UP) {
            uint32_t keys[TOGETHER];
#pragma unroll
            for (int item = 0; item < TOGETHER; item++) {
                const uint32_t place = (first + item) * THREADS + threadIdx.x;
                if (place < tile.size && found[item] == NO_POSITION)
                    keys[item] = tables.keys[sources[runs.digit_at(place)] + place];
            }
#pragma unroll
            for (int item = 0; item < TOGETHER; item++) {
                const uint32_t place = (first + item) * THREADS + threadIdx.x;
                if (place >= tile.size || found[item] != NO_POSITION) continue;
                const uint32_t digit = runs.digit_at(place);
                const uint32_t segment = earlier.segment(tables, digit, sources[digit] + place);
                if (segment > 0) found[item] = earlier.find(tables, digit, segment, keys[item]);
            }
        }
#pragma unroll
        for (int item = 0; item < TOGETHER; item++) {
            const uint32_t place = (first + item) * THREADS + threadIdx.x;
            if (place < tile.size) values[place] = found[item];
        }
    }
    __syncthreads();
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const uint32_t at = item * THREADS + threadIdx.x;
        const uint32_t place = item % 2 ? places[item / 2] >> 16 : places[item / 2] & 0xffffu;
        if (at < tile.size) to[tile.start + at] = values[place];
    }
}

template <typename SOURCE, typename KEY>
fm_status part(const SOURCE &source, const PartitionPass &pass, KeyedReferences<KEY> to,
               const ScanSpace &scan, cudaStream_t stream, fm_error *error)
{
    size_t bytes = scan.bytes;
    count_tiles<<<pass.tiles, THREADS, 0, stream>>>(source, pass);
    CUDA_TRY(cudaGetLastError(), "parting references");
    CUDA_TRY(sum_before(scan.memory, bytes, pass.starts, pass.starts, starts_needed(pass.tiles), stream),
             "parting references");
    part_tiles<<<pass.tiles, THREADS, 0, stream>>>(source, pass, to);
    CUDA_TRY(cudaGetLastError(), "parting references");
    return FM_OK;
}

} // namespace

uint32_t tiles_needed(size_t count, bool grouped)
{
    return blocks_for(count, TILE) + (grouped ? DIGITS : 0);
}

size_t partition_scan_needed(size_t positions)
{
    size_t bytes = 0;
    sum_before(nullptr, bytes, nullptr, nullptr, starts_needed(tiles_needed(positions, true)), nullptr);
    return bytes;
}

fm_status part_blocks(const uint64_t *blocks, const KeyPacking &packing, const PartitionPass &pass,
                      LongKeyed to, const ScanSpace &scan, cudaStream_t stream, fm_error *error)
{
    return part(FromBlocks{blocks, packing}, pass, to, scan, stream, error);
}

fm_status part_blocks(const uint64_t *blocks, const KeyPacking &packing, const PartitionPass &pass,
                      ShortKeyed to, const ScanSpace &scan, cudaStream_t stream, fm_error *error)
{
    return part(FromBlocks{blocks, packing}, pass, to, scan, stream, error);
}

fm_status make_groups(const PartitionPass &first, uint32_t *group_tile, uint32_t *group_start,
                      cudaStream_t stream, fm_error *error)
{
    find_groups<<<1, THREADS, 0, stream>>>(first, group_tile, group_start);
    CUDA_TRY(cudaGetLastError(), "parting references");
    return FM_OK;
}

fm_status part_groups(LongKeyed from, const PartitionPass &pass, ShortKeyed to, const ScanSpace &scan,
                      cudaStream_t stream, fm_error *error)
{
    return part(FromReferences{from}, pass, to, scan, stream, error);
}

fm_status find_buckets(const PartitionPass &last, uint32_t *starts, cudaStream_t stream, fm_error *error)
{
    write_buckets<<<DIGITS, THREADS, 0, stream>>>(last, starts);
    CUDA_TRY(cudaGetLastError(), "parting references");
    return FM_OK;
}

fm_status go_back(const PartitionPass &pass, const uint32_t *from, uint32_t *to, const SegmentTables *tables,
                  cudaStream_t stream, fm_error *error)
{
    if (tables)
        go_back_tiles<true><<<pass.tiles, THREADS, 0, stream>>>(pass, from, to, *tables);
    else
        go_back_tiles<false><<<pass.tiles, THREADS, 0, stream>>>(pass, from, to, SegmentTables{});
    CUDA_TRY(cudaGetLastError(), "linking references");
    return FM_OK;
}

} // namespace fathom
