/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_kernels.h - the hot loops of `exact` and of the analyzer, chosen at run time by instruction set.
 *
 * References go through in chunks. A chunk's lookups come first; they sort its references into three
 * lists by where the block's previous position lies:
 *
 *     near   in the open region. Its distance depends on near references alone.
 *     far    in a closed region. Its distance depends on far references, plus the number of live bits
 *            in the open region, which the lookup loop counts as it goes.
 *     fresh  nowhere: a block that is not held.
 *
 * So the two lists are worked off one after the other, each in a loop without unpredictable branches;
 * while they run, the buckets of the next chunk are being fetched.
 *
 * For attribution, every reference has a tag (its code site), and a block keeps the tag of its last use: in
 * the upper bits of its position in the block table, which no position needs. Kernels whose name ends in
 * _tagged are the same loops with tags; the plain ones know nothing of them.
 */
#ifndef FATHOM_ENGINE_EXACT_KERNELS_H
#define FATHOM_ENGINE_EXACT_KERNELS_H

#include "engine/block_table.h"
#include "engine/pair_table.h"
#include "engine/ranges.h"
#include "engine/recency_window.h"

/* A position has 39 bits at most (FM_LEVELS_MAX), a tag 24. */
enum { FM_TAG_SHIFT = 40 };
#define FM_POSITION_BITS ((UINT64_C(1) << FM_TAG_SHIFT) - 1)

enum { FM_CHUNK = 448 }; /* a whole line; its lists and bucket addresses take 20 KiB */

/* Kernels store whole vectors at a list's end. */
enum { FM_CHUNK_ROOM = FM_CHUNK + 16 };

typedef struct fm_chunk {
    size_t count;
    size_t near_count, far_count, fresh_count;
    uint32_t near_position[FM_CHUNK_ROOM]; /* relative to the open region */
    uint32_t near_distance[FM_CHUNK_ROOM]; /* before the near kernel: live bits of the open region then */
    uint32_t near_index[FM_CHUNK_ROOM];    /* which reference of the chunk it is */
    uint64_t far_position[FM_CHUNK_ROOM];
    uint32_t far_distance[FM_CHUNK_ROOM]; /* likewise */
    uint32_t far_index[FM_CHUNK_ROOM];
    uint32_t fresh_index[FM_CHUNK_ROOM];
    /* With tags: the words to count (pair_table.h), still without their ranges. */
    uint64_t near_pair[FM_CHUNK_ROOM];
    uint64_t far_pair[FM_CHUNK_ROOM];
    uint64_t fresh_pair[FM_CHUNK_ROOM];
} fm_chunk;

/*
 * What is left of a part of the trace without the references that repeat the one before. With tags, a block
 * is used under the tag of the first of its repeats, and left under that of the last.
 */
enum { FM_PART = 4096, FM_PART_ROOM = FM_PART + 16 };

typedef struct fm_kept_tags {
    uint32_t now[FM_PART_ROOM];
    uint32_t leave[FM_PART_ROOM];
    bool index_wanted;
    uint16_t index[FM_PART_ROOM]; /* in the part; only where wanted */
    uint64_t pair[FM_PART_ROOM];  /* words of what was removed and of what the front caught, to be counted */
    size_t pair_count;
} fm_kept_tags;

/*
 * The front: the 16 most recent blocks of a part of the trace, kept in registers. A reference to one of them
 * has its place there as its distance, and reaches neither table nor window. What misses the front goes the
 * ordinary way, except that a block's new position is not that of the reference but the one at which it
 * leaves the front again: the window holds every block but those in the front.
 */
enum { FM_FRONT = 16 };

typedef struct fm_front {
    uint64_t hits[FM_FRONT]; /* by distance */
    size_t missed;
    uint64_t key[FM_PART_ROOM];     /* of what missed, in order */
    uint16_t evicted[FM_PART_ROOM]; /* which missed block (by number) left for it; valid from FM_FRONT on */
    uint16_t inside[FM_FRONT]; /* at the end: the numbers of the blocks in the front, most recent first */
    size_t inside_count;
    uint8_t place[FM_PART_ROOM + 64]; /* of every reference; FM_FRONT and over: missed */
} fm_front;

/* With tags, beside it. A word is a tag << FM_TAG_SHIFT and a number of a missed block. */
typedef struct fm_front_tags {
    uint64_t
        held[FM_PART_ROOM]; /* for every reference: the block's last tag; missed: of the block that left */
    uint64_t evicted[FM_PART_ROOM]; /* of what missed: the word of what left for it, from FM_FRONT on */
    uint32_t now[FM_PART_ROOM];     /* of what missed: its tag */
    uint16_t index[FM_PART_ROOM];   /* of what missed: which reference it is; only where wanted */
    uint64_t inside[FM_FRONT];
} fm_front_tags;

typedef struct fm_exact_kernels {
    const char *isa;
    bool (*usable)(void);
    /* Copies keys without those that repeat the one before (*last, updated). Returns how many are left. */
    size_t (*collapse)(const uint64_t *keys, size_t count, uint64_t *last, uint64_t *left);
    /* The same; the first key is kept whatever was before. */
    size_t (*collapse_tagged)(const uint64_t *keys, const uint32_t *tags, size_t count, uint64_t *left,
                              fm_kept_tags *kept);
    void (*home)(const fm_block_table *table, const uint64_t *keys, size_t count, fm_bucket **homes);
    /* Exchanges positions and fills the lists. */
    void (*lookup)(fm_block_table *table, const fm_recency_window *window, const uint64_t *keys,
                   fm_bucket *const *homes, fm_chunk *chunk);
    void (*lookup_tagged)(fm_block_table *table, const fm_recency_window *window, const uint64_t *keys,
                          const uint32_t *now, const uint32_t *leave, fm_bucket *const *homes,
                          fm_chunk *chunk);
    /* Clear the bits that were left, and turn …_distance into distances. soon: chunk->count buckets
     * to fetch meanwhile. */
    void (*near)(fm_recency_window *window, fm_chunk *chunk, fm_bucket *const *soon);
    void (*far)(fm_recency_window *window, fm_chunk *chunk, fm_bucket *const *soon);
    /* NULL, all four, where there are no registers for it. Runs count <= FM_PART keys, no neighbours
     * the same, through an empty front. */
    void (*front)(const uint64_t *keys, size_t count, fm_front *front);
    /* place_range: of the distances below FM_FRONT. Words of what the front caught are added to kept->pair.
     */
    void (*front_tagged)(const uint64_t *keys, size_t count, const uint8_t *place_range, fm_kept_tags *kept,
                         fm_front *front, fm_front_tags *tags);
    /*
     * lookup for chunk->count blocks that missed the front, from number `first` on; homes are theirs. slots
     * collects where every missed block's position stands in the table.
     */
    void (*lookup_missed)(fm_block_table *table, const fm_recency_window *window, const fm_front *front,
                          size_t first, fm_bucket *const *homes, uint64_t **slots, fm_chunk *chunk);
    void (*lookup_missed_tagged)(fm_block_table *table, const fm_recency_window *window,
                                 const fm_front *front, const fm_front_tags *tags, size_t first,
                                 fm_bucket *const *homes, uint64_t **slots, fm_chunk *chunk);
    /* Distances to the indices of their loglinear bins (fm_bins_index), in place. May write up to the next
     * multiple of 16. */
    void (*loglinear)(uint32_t *distances, size_t count);
    /* Puts the range of each distance into its word. May write up to the next multiple of 16. */
    void (*add_ranges)(const fm_ranges *ranges, const uint32_t *distances, size_t count, uint64_t *pairs);
    /* Counts each word once. There is room for all of them. May read up to the next multiple of 8. */
    void (*count_pairs)(fm_pair_table *table, const uint64_t *pairs, size_t count);
    /*
     * blocks[i] = address[i] >> shift, as far as no access reaches beyond its block: returns how many those
     * are, and writes up to 16 more. size may be NULL: then none does.
     */
    size_t (*cut)(const uint64_t *address, const uint32_t *size, size_t count, unsigned shift,
                  uint64_t *blocks);
    /* Copies tags; returns all their bits together. */
    uint32_t (*copy_tags)(const uint32_t *from, size_t count, uint32_t *to);
} fm_exact_kernels;

extern const fm_exact_kernels fm_exact_avx512, fm_exact_avx2, fm_exact_portable;

/* The best usable kernels, or those named; NULL where this machine cannot run them or there are none. */
const fm_exact_kernels *fm_exact_kernels_find(const char *isa);

#endif
