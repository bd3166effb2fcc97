/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition.cuh - references are parted into buckets by digits of their keys, those of a bucket in the order
 * of time; and values that were found for them in that order go back to the order of time.
 *
 * A pass parts by one digit of up to 8 bits, tile by tile: a tile is what a block of threads holds in shared
 * memory. It counts, for each tile, the references of each digit; the sums of these counts say where the
 * references of a tile with a digit go: to a row of neighbours. Each reference's place within its tile, when
 * the tile is sorted by digits, is written down: two bytes. With the same sums and these places a tile finds
 * its values again on the way back, in as many rows, and writes them in the order that it read. So neither
 * way writes single words to places far apart.
 *
 * The second pass parts each bucket of the first one, its *group*, by itself: tiles do not cross groups.
 *
 * Time O(n) a pass: it reads 8 and 8 (the first: 8 and 8) bytes of a reference, counting included, and writes
 * 10; on the way back it reads 6 and writes 4.
 */
#ifndef FATHOM_CUDA_PARTITION_CUH
#define FATHOM_CUDA_PARTITION_CUH

#include "keys.cuh"

namespace fathom
{

constexpr int DIGIT_BITS = 8;
constexpr uint32_t DIGITS = 1u << DIGIT_BITS;
constexpr int PASSES = 2; /* at most */
constexpr uint32_t MOST_BUCKETS = DIGITS * DIGITS;

/* References in some order. After the last pass, their keys are those of segment_links.cuh. */
template <typename KEY> struct KeyedReferences {
    KEY *keys;
    uint32_t *positions;
};
using LongKeyed = KeyedReferences<uint32_t>;  /* 20 bits, at most */
using ShortKeyed = KeyedReferences<uint16_t>; /* 12 */
constexpr int LONG_KEY_BITS = 20, SHORT_KEY_BITS = 12;

/* One pass, on the card. */
struct PartitionPass {
    uint32_t count; /* references */
    int bits;       /* of its digit: the lowest ones of the keys; they are shifted out */
    uint32_t tiles; /* so many, or fewer where there are groups */
    /* [digit][tile]: references before those, in the order of buckets. One more: all. */
    uint32_t *starts;
    uint16_t *places;
    /* NULL in the first pass: DIGITS + 1 each. */
    const uint32_t *group_tile;  /* the first tile of each group */
    const uint32_t *group_start; /* its first reference */
};

/* Words of `starts`; tiles: as in PartitionPass. */
constexpr size_t starts_needed(size_t tiles)
{
    return DIGITS * tiles + 1;
}
/* Most tiles of a pass. */
uint32_t tiles_needed(size_t count, bool grouped);

struct ScanSpace {
    void *memory;
    size_t bytes;
};
size_t partition_scan_needed(size_t positions);

/* The first pass: positions are those in `blocks`. It may be the last one. */
fm_status part_blocks(const uint64_t *blocks, const KeyPacking &packing, const PartitionPass &pass,
                      LongKeyed to, const ScanSpace &scan, cudaStream_t stream, fm_error *error);
fm_status part_blocks(const uint64_t *blocks, const KeyPacking &packing, const PartitionPass &pass,
                      ShortKeyed to, const ScanSpace &scan, cudaStream_t stream, fm_error *error);
/* Groups for the second pass, out of the first one: writes group_tile and group_start. */
fm_status make_groups(const PartitionPass &first, uint32_t *group_tile, uint32_t *group_start,
                      cudaStream_t stream, fm_error *error);
/* The second pass. */
fm_status part_groups(LongKeyed from, const PartitionPass &pass, ShortKeyed to, const ScanSpace &scan,
                      cudaStream_t stream, fm_error *error);

/* starts[b]: the first reference of bucket b; one more: all. There are as many buckets as digits, or of
 * two passes DIGITS * DIGITS. first: NULL where `last` is the first pass. */
fm_status find_buckets(const PartitionPass &last, uint32_t *starts, cudaStream_t stream, fm_error *error);

/* Which links were not found within their segment: see segment_links.cuh. */
struct SegmentTables;
/* The way back. from: in the order after the pass. tables: NULL, or what is looked up in them is added. */
fm_status go_back(const PartitionPass &pass, const uint32_t *from, uint32_t *to, const SegmentTables *tables,
                  cudaStream_t stream, fm_error *error);

} // namespace fathom

#endif
