/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_kernels.h - the hot loops of `exact`, chosen at run time by instruction set.
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
 */
#ifndef FATHOM_ENGINE_EXACT_KERNELS_H
#define FATHOM_ENGINE_EXACT_KERNELS_H

#include "engine/block_table.h"
#include "engine/recency_window.h"

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
} fm_chunk;

/*
 * The front: the 16 most recent blocks of a part of the trace, kept in registers. A reference to one of them
 * has its place there as its distance, and reaches neither table nor window. What misses the front goes the
 * ordinary way, except that a block's new position is not that of the reference but the one at which it
 * leaves the front again: the window holds every block but those in the front.
 */
enum { FM_FRONT = 16, FM_PART = 4096 };

typedef struct fm_front {
    uint64_t hits[FM_FRONT + 1]; /* by distance; the last counts misses after the front was full */
    size_t missed;
    uint64_t key[FM_PART];     /* of what missed, in order */
    uint16_t evicted[FM_PART]; /* which missed block (by number) left for it; valid from FM_FRONT on */
    uint16_t inside[FM_FRONT]; /* at the end: the numbers of the blocks in the front, most recent first */
    size_t inside_count;
} fm_front;

typedef struct fm_exact_kernels {
    const char *isa;
    bool (*usable)(void);
    /* Copies keys without those that repeat the one before (*last, updated). Returns how many are left. */
    size_t (*collapse)(const uint64_t *keys, size_t count, uint64_t *last, uint64_t *left);
    void (*home)(const fm_block_table *table, const uint64_t *keys, size_t count, fm_bucket **homes);
    /* Exchanges positions and fills the lists. */
    void (*lookup)(fm_block_table *table, const fm_recency_window *window, const uint64_t *keys,
                   fm_bucket *const *homes, fm_chunk *chunk);
    /* Clear the bits that were left, and turn …_distance into distances. soon: chunk->count buckets
     * to fetch meanwhile. */
    void (*near)(fm_recency_window *window, fm_chunk *chunk, fm_bucket *const *soon);
    void (*far)(fm_recency_window *window, fm_chunk *chunk, fm_bucket *const *soon);
    /* NULL, both, where there are no registers for it. Runs count <= FM_PART keys, no neighbours
     * the same, through an empty front. */
    void (*front)(const uint64_t *keys, size_t count, fm_front *front);
    /*
     * lookup for chunk->count blocks that missed the front, from number `first` on; homes are theirs. slots
     * collects where every missed block's position stands in the table.
     */
    void (*lookup_missed)(fm_block_table *table, const fm_recency_window *window, const fm_front *front,
                          size_t first, fm_bucket *const *homes, uint64_t **slots, fm_chunk *chunk);
    /* Distances to the indices of their loglinear bins (fm_bins_index), in place. May write up to the next
     * multiple of 16. */
    void (*loglinear)(uint32_t *distances, size_t count);
} fm_exact_kernels;

extern const fm_exact_kernels fm_exact_avx512, fm_exact_avx2, fm_exact_portable;

/* The best usable kernels, or those named; NULL where this machine cannot run them or there are none. */
const fm_exact_kernels *fm_exact_kernels_find(const char *isa);

#endif
