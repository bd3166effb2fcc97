/* SPDX-License-Identifier: Apache-2.0 */
/* split.cu - the passes over the card's memory; see distances.cuh. finish.cu does the last bits. */
#include "card.cuh"
#include "distances.cuh"
#include "thread_blocks.cuh"

#include <algorithm>

namespace fathom
{

namespace
{

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int ROWS = 16; /* of 32 elements, for a warp */
constexpr int TILE_BITS = 12;
constexpr uint32_t TILE = 1u << TILE_BITS;
static_assert(TILE == WARPS * ROWS * 32, "a tile is what a block holds in registers");
constexpr int MOST_BITS = 5; /* of a pass */
/* Blocks at a time on a processor, at least: in the first pass, which reads less, and in the others, where
 * with more of them sectors that are written in parts leave the second-level cache too soon. */
constexpr int FIRST_SPLIT_BLOCKS = 4, SPLIT_BLOCKS = 3;

/* What a pass does: parts of 2^part_bits positions, each into 2^bits parts. */
struct Pass {
    int part_bits, bits;
    uint32_t positions;
    const uint32_t *part_sizes; /* NULL in the first pass: there is one part, `previous`, with gaps */
};

/* One tile of a part, and where its counts are: for each digit a row of the part's tiles. */
struct Tile {
    uint32_t part, number, size; /* its number in the part, elements in it */
    uint32_t start;              /* of its elements */

    __device__ Tile(const Pass &pass)
    {
        const int tile_bits = pass.part_bits - TILE_BITS;
        part = blockIdx.x >> tile_bits;
        number = blockIdx.x & ((1u << tile_bits) - 1u);
        start = blockIdx.x << TILE_BITS;
        const uint32_t elements =
            pass.part_sizes ? pass.part_sizes[part] : pass.positions - (part << pass.part_bits);
        const uint32_t before = number << TILE_BITS;
        size = elements > before ? min(TILE, elements - before) : 0;
    }
    __device__ uint32_t row(const Pass &pass, uint32_t digit) const
    {
        return ((part << pass.bits) + digit) << (pass.part_bits - TILE_BITS);
    }
};

template <int BITS>
__global__ void __launch_bounds__(THREADS)
    count_digits(const uint32_t *linked, const __grid_constant__ Pass pass, uint32_t *counts)
{
    __shared__ uint32_t warp_counts[WARPS][32];
    const Tile tile(pass);
    if (tile.size == 0) return;
    const uint32_t warp = threadIdx.x / 32, lane = lane_number();
    const int shift = pass.part_bits - BITS;
    uint32_t values[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t at = warp * ROWS * 32 + row * 32 + lane;
        values[row] = at < tile.size ? linked[tile.start + at] : NO_POSITION;
    }
    WarpCounts<BITS> digits;
#pragma unroll
    for (int row = 0; row < ROWS; row++)
        digits.count_row(values[row] != NO_POSITION, values[row] >> shift & ((1u << BITS) - 1u));
    warp_counts[warp][lane] = digits.counts;
    __syncthreads();
    if (threadIdx.x >= 1u << BITS) return;
    uint32_t sum = 0;
    for (int other = 0; other < WARPS; other++) sum += warp_counts[other][threadIdx.x];
    counts[tile.row(pass, threadIdx.x) + tile.number] = sum;
}

template <int BITS, bool FIRST>
__global__ void __launch_bounds__(THREADS, FIRST ? FIRST_SPLIT_BLOCKS : SPLIT_BLOCKS)
    split_tiles(const uint32_t *linked, const uint32_t *reached, const __grid_constant__ Pass pass,
                const uint32_t *sums, Elements to)
{
    __shared__ uint32_t sorted_linked[TILE], sorted_reached[TILE];
    __shared__ uint32_t warp_counts[WARPS][32];
    const Tile tile(pass);
    if (tile.size == 0) return;
    const uint32_t warp = threadIdx.x / 32, lane = lane_number();
    const int shift = pass.part_bits - BITS;
    const uint32_t digits = 1u << BITS;
    uint32_t values[ROWS], positions[ROWS], ranks[ROWS / 2]; /* ranks: two in a word */
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t at = warp * ROWS * 32 + row * 32 + lane;
        values[row] = at < tile.size ? linked[tile.start + at] : NO_POSITION;
        if (FIRST)
            positions[row] = tile.start + at - 1;
        else
            positions[row] = at < tile.size ? reached[tile.start + at] : 0;
    }
    WarpCounts<BITS> counted;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t before =
            counted.add_row(values[row] != NO_POSITION, values[row] >> shift & (digits - 1u));
        positions[row] -= packed_greater(before);
        ranks[row / 2] = row % 2 ? pack_counts(ranks[row / 2], packed_equal(before)) : packed_equal(before);
    }
    warp_counts[warp][lane] = packed_equal(counted.counts);
    __syncthreads();

    /* From here on, lane d of a warp knows what holds for its warp and digit d. */
    uint32_t in_tile = 0, in_earlier_warps = 0, in_earlier_tiles = 0;
    if (lane < digits) {
        for (int other = 0; other < WARPS; other++) {
            if (other == (int)warp) in_earlier_warps = in_tile;
            in_tile += warp_counts[other][lane];
        }
        const uint32_t row = tile.row(pass, lane);
        in_earlier_tiles = sums[row + tile.number] - sums[row];
    }
    const uint32_t greater_before = sum_of_later_lanes(in_earlier_warps + in_earlier_tiles);
    const uint32_t start_in_tile = sum_of_earlier_lanes(in_tile);
    const uint32_t place = start_in_tile + in_earlier_warps;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t digit = values[row] >> shift & (digits - 1u);
        const uint32_t greater = __shfl_sync(ALL_LANES, greater_before, digit);
        const uint32_t start = __shfl_sync(ALL_LANES, place, digit);
        if (values[row] == NO_POSITION) continue;
        const uint32_t at = start + (row % 2 ? packed_greater(ranks[row / 2]) : packed_equal(ranks[row / 2]));
        sorted_linked[at] = values[row];
        sorted_reached[at] = positions[row] - greater;
    }
    const uint32_t kept =
        __shfl_sync(ALL_LANES, start_in_tile + in_tile, 31); /* of the tile, in all digits */
    const uint32_t part_start = tile.part << pass.part_bits;
    const uint32_t target = part_start + (lane << shift) + in_earlier_tiles - start_in_tile;
    __syncthreads();
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        const uint32_t at = row * THREADS + threadIdx.x;
        const uint32_t value = sorted_linked[at];
        const uint32_t start = __shfl_sync(ALL_LANES, target, value >> shift & (digits - 1u));
        if (at >= kept) continue;
        to.linked[start + at] = value;
        to.reached[start + at] = sorted_reached[at];
    }
}

/* The flat sums over all rows give the sizes of the parts that the pass made. */
__global__ void size_parts(const uint32_t *sums, int row_bits, uint32_t parts, uint32_t *sizes)
{
    const uint32_t part = blockIdx.x * blockDim.x + threadIdx.x;
    if (part < parts) sizes[part] = sums[(part + 1) << row_bits] - sums[part << row_bits];
}

template <int BITS>
fm_status run_pass(const Pass &pass, const uint32_t *linked, const uint32_t *reached, Elements to,
                   SplitSpace &space, cudaStream_t stream, fm_error *error)
{
    const uint32_t tiles = (pass.positions + TILE - 1) >> TILE_BITS;
    const uint32_t parts_before =
        (uint32_t)(((uint64_t)pass.positions + (1ull << pass.part_bits) - 1) >> pass.part_bits);
    const uint32_t parts = parts_before << BITS;
    const int row_bits = pass.part_bits - TILE_BITS;
    const size_t counts = ((size_t)parts << row_bits) + 1;
    size_t bytes = space.scan_bytes;
    CUDA_TRY(cudaMemsetAsync(space.counts, 0, counts * sizeof *space.counts, stream), "splitting");
    count_digits<BITS><<<tiles, THREADS, 0, stream>>>(linked, pass, space.counts);
    CUDA_TRY(cudaGetLastError(), "splitting");
    CUDA_TRY(sum_before(space.scan_space, bytes, space.counts, space.sums, counts, stream), "splitting");
    if (pass.part_sizes)
        split_tiles<BITS, false><<<tiles, THREADS, 0, stream>>>(linked, reached, pass, space.sums, to);
    else
        split_tiles<BITS, true><<<tiles, THREADS, 0, stream>>>(linked, reached, pass, space.sums, to);
    size_parts<<<(parts + 255) / 256, 256, 0, stream>>>(space.sums, row_bits, parts, space.next_part_sizes);
    std::swap(space.part_sizes, space.next_part_sizes);
    CUDA_TRY(cudaGetLastError(), "splitting");
    return FM_OK;
}

int bits_of(size_t positions)
{
    int bits = 0;
    while ((size_t)1 << bits < positions) bits++;
    return bits;
}

} // namespace

/* The first pass has one row of tiles for each digit over all positions, rounded up to a power of two; later
 * ones are rounded up to whole parts. */
size_t split_counts_needed(size_t positions)
{
    const int bits = std::max(bits_of(positions), TILE_BITS);
    return ((size_t)1 << (bits - TILE_BITS + MOST_BITS)) + 1;
}

size_t split_parts_needed(size_t positions)
{
    return ((size_t)1 << std::max(0, bits_of(positions) - FINISH_BITS)) + 32;
}

size_t split_scan_needed(size_t positions)
{
    size_t bytes = 0;
    sum_before(nullptr, bytes, nullptr, nullptr, split_counts_needed(positions), nullptr);
    return bytes;
}

fm_status split_links(const uint32_t *previous, uint32_t count, Elements here, Elements there,
                      SplitSpace space, SplitResult *result, cudaStream_t stream, fm_error *error)
{
    int left = bits_of(count) - FINISH_BITS;
    Pass pass = {left + FINISH_BITS, 0, count, nullptr};
    const uint32_t *linked = previous, *reached = nullptr;
    *result = SplitResult{here, nullptr, left <= 0};
    while (left > 0) {
        const int passes = (left + MOST_BITS - 1) / MOST_BITS;
        pass.bits = (left + passes - 1) / passes;
        switch (pass.bits) {
        case 1:
            FM_TRY(run_pass<1>(pass, linked, reached, there, space, stream, error));
            break;
        case 2:
            FM_TRY(run_pass<2>(pass, linked, reached, there, space, stream, error));
            break;
        case 3:
            FM_TRY(run_pass<3>(pass, linked, reached, there, space, stream, error));
            break;
        case 4:
            FM_TRY(run_pass<4>(pass, linked, reached, there, space, stream, error));
            break;
        default:
            FM_TRY(run_pass<5>(pass, linked, reached, there, space, stream, error));
            break;
        }
        std::swap(here, there);
        linked = here.linked;
        reached = here.reached;
        pass.part_sizes = space.part_sizes;
        pass.part_bits -= pass.bits;
        left -= pass.bits;
    }
    result->elements = here;
    result->part_sizes = space.part_sizes;
    return FM_OK;
}

} // namespace fathom
