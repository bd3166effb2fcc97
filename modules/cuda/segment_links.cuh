/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_links.cuh - links within buckets of few keys, without a sort.
 *
 * References stand in buckets, each in the order of time (partition.cuh), with keys of at most 12 bits. A
 * warp goes through a *segment* of a bucket in rows of 32, with a table in shared memory: for each key, the
 * position of its last reference so far. References of the same key within a row are found by one ballot for
 * each bit. What is the first of its key in its segment stays open. Every segment but its bucket's last keeps
 * its table; from segment to segment, these are carried on, so that they say for each key where it was last
 * before the next segment. What is open is looked up there on the way back to the order of time (go_back).
 *
 * Time O(n), reading 6 bytes of a reference and writing 4; space: a table for each segment, of at most one
 * word for four references.
 */
#ifndef FATHOM_CUDA_SEGMENT_LINKS_CUH
#define FATHOM_CUDA_SEGMENT_LINKS_CUH

#include "partition.cuh"

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

#endif
