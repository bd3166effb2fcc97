/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.cuh - the first step: each reference is linked to the one before it to the same block. partition.cu
 * puts references into buckets, links.cu links them there, or sorts them where keys are too wide for that.
 */
#ifndef FATHOM_CUDA_LINKS_CUH
#define FATHOM_CUDA_LINKS_CUH

#include "card.cuh"

/*
 * ==== partition ====
 *
 * references are parted into buckets by digits of their keys, those of a bucket in the order
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

namespace fathom
{

constexpr int DIGIT_BITS = 8;
constexpr uint32_t DIGITS = 1u << DIGIT_BITS;
constexpr int PASSES = 2; /* at most */
constexpr uint32_t MOST_BUCKETS = DIGITS * DIGITS;

/* References in some order. After the last pass, their keys are those of segments. */
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

/* Which links were not found within their segment. */
struct SegmentTables;
/* The way back. from: in the order after the pass. tables: NULL, or what is looked up in them is added. */
fm_status go_back(const PartitionPass &pass, const uint32_t *from, uint32_t *to, const SegmentTables *tables,
                  cudaStream_t stream, fm_error *error);

} // namespace fathom

/*
 * ==== links in segments ====
 *
 * links within buckets of few keys, without a sort.
 *
 * References stand in buckets, each in the order of time, with keys of at most 12 bits. A
 * warp goes through a *segment* of a bucket in rows of 32, with a table in shared memory: for each key, the
 * position of its last reference so far. References of the same key within a row are found by one ballot for
 * each bit. What is the first of its key in its segment stays open. Every segment but its bucket's last keeps
 * its table; from segment to segment, these are carried on, so that they say for each key where it was last
 * before the next segment. What is open is looked up there on the way back to the order of time (go_back).
 *
 * Time O(n), reading 6 bytes of a reference and writing 4; space: a table for each segment, of at most one
 * word for four references.
 */

namespace fathom
{

/* Where segments are, and their tables; on the card. */
struct SegmentTables {
    int key_bits;
    int segment_shift; /* references of a segment: 1 << that */
    uint32_t buckets;
    const uint32_t *bucket_start;  /* first reference; buckets + 1 */
    const uint32_t *first_segment; /* number; buckets + 1 */
    const uint32_t *first_table;   /* likewise: every segment but a bucket's last has one */
    const uint16_t *keys;          /* of references, in the order of buckets */
    uint32_t *tables;
};

struct SegmentSpace {
    uint32_t *bucket_start, *first_segment, *first_table; /* MOST_BUCKETS + 1 */
    uint32_t *tables;                                     /* segment_tables_needed() */
};
size_t segment_tables_needed(size_t positions);

/* Plans segments; space.bucket_start is known. */
fm_status plan_segments(uint32_t count, int key_bits, uint32_t buckets, const uint16_t *keys,
                        const SegmentSpace &space, SegmentTables *tables, cudaStream_t stream,
                        fm_error *error);
/* links[i]: the position of the reference before i, in its segment, to the same key, or NO_POSITION. */
fm_status link_segments(const SegmentTables &tables, const uint32_t *positions, uint32_t count,
                        uint32_t *links, cudaStream_t stream, fm_error *error);

} // namespace fathom

/*
 * ==== links by sorting ====
 *
 * links of references with wide keys: a stable radix sort of (key, position) puts the
 * references of a block beside each other in time order. For keys that are too wide for segments.
 */

namespace fathom
{

constexpr int LINK_BUCKETS = 256;

struct SortSpace {
    uint32_t *const *words; /* LinkSpace's */
    void *sorting;
    size_t bytes;
    uint32_t *cursors; /* LINK_BUCKETS of them */
};
size_t sort_space_needed(size_t positions);

/* Sorts; afterwards: which of the words hold what. */
struct SortedKeys {
    bool wide; /* 64-bit keys */
    const void *keys;
    const uint32_t *positions;
    uint2 *pairs;       /* free: eight bytes per reference */
    uint32_t *previous; /* free: four bytes per reference, for the links */
};
fm_status sort_keys(const uint64_t *blocks, uint32_t count, const KeyPacking &packing, const SortSpace &space,
                    SortedKeys *sorted, cudaStream_t stream, fm_error *error);

/* Writes sorted.previous. */
fm_status link_sorted_keys(const SortedKeys &sorted, uint32_t count, const SortSpace &space,
                           cudaStream_t stream, fm_error *error);

} // namespace fathom

/*
 * ==== links ====
 *
 * each reference is linked to the one before it to the same block.
 *
 * For that, references are ordered by block, and within a block by time, as far as it takes: into buckets of
 * few keys, or where keys are too wide for that, by a sort.
 */

namespace fathom
{

/* Card memory for the references of `positions`. */
struct LinkSpace {
    uint32_t *words[6]; /* arrays of a word for each, one after the other */
    void *ordering;     /* link_space_needed() bytes */
    size_t positions;
};
size_t link_space_needed(size_t positions);

/* What is between the two steps; words hold it. */
struct OrderedReferences {
    bool sorted;
    SortedKeys sorted_keys;
    int passes; /* otherwise */
    PartitionPass pass[PASSES];
    int key_bits; /* that are left */
    ShortKeyed references;
};
fm_status order_references(const uint64_t *blocks, uint32_t count, const KeyPacking &packing,
                           const LinkSpace &space, OrderedReferences *ordered, cudaStream_t stream,
                           fm_error *error);
/* *previous: for each position that of the reference before it to the same block, or NO_POSITION. One of the
 * last two words; the others are free then. */
fm_status link_references(const OrderedReferences &ordered, uint32_t count, const LinkSpace &space,
                          uint32_t **previous, cudaStream_t stream, fm_error *error);

} // namespace fathom

#endif
