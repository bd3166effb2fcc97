/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_sample.h - the reuse distances of a sample of the blocks: those whose hash is below a threshold. One
 * of the repeated samples of the engine `shards`.
 *
 * C. Waldspurger, N. Park, A. Garthwaite, I. Ahmad: Efficient MRC construction with SHARDS, FAST 2015. All
 * references to a sampled block are seen, so its reuses are; of the blocks in between, a share R is in the
 * sample: k of them stand for a distance of k/R. Each such reference stands for 1/R references. With a fixed
 * number of blocks, the threshold falls whenever one too many is there: the block with the largest hash goes,
 * and the rate falls with it. (The paper then scales down what was counted; giving each reference the weight
 * 1/R of its own time is the same sum.)
 *
 * Time O(log S) for a sampled reference, S blocks being in the sample; space 24 to 39 bytes a block.
 */
#ifndef FATHOM_ENGINE_BLOCK_SAMPLE_H
#define FATHOM_ENGINE_BLOCK_SAMPLE_H

#include "engine/sample_hash.h"
#include "engine/sampled/recency_bits.h"

#include <fathom/profile.h>
#include <fathom/status.h>

enum { FM_SAMPLE_NONE = 0 }; /* no node: nodes[0] is never used */

typedef struct fm_sample_node {
    uint64_t block;
    uint32_t position; /* of the last touch, in recency_bits.h; FM_SAMPLE_GONE: the block has left */
    uint32_t hash;     /* where the block has left: the next such node */
} fm_sample_node;

#define FM_SAMPLE_GONE UINT32_MAX

typedef struct fm_block_sample {
    uint64_t threshold;    /* of hashes of 32 bits: those below are in the sample; 2^32: all */
    uint64_t most;         /* blocks; 0: any number, at a fixed rate */
    uint64_t multiplier;   /* makes this sample's hash of the common one */
    fm_sample_node *nodes; /* [1 … used] */
    uint32_t *slots;       /* node numbers by linear probing, FM_SAMPLE_NONE: empty */
    uint32_t *heap;        /* node numbers, the largest hash first; only with a fixed number */
    fm_recency_bits order; /* of last touches */
    uint32_t count;        /* blocks in the sample */
    uint32_t used, free;   /* node numbers given out so far; the first of those that came back */
    uint64_t capacity;     /* blocks there is room for, but for the slots */
    uint64_t node_capacity, heap_capacity; /* of single arrays: more than that after a failure to grow */
    unsigned bits;                         /* 2^bits slots */
    uint64_t dither;                       /* pseudo-random numbers, the same in every run */
    uint64_t references;                   /* sampled */
    double *counts; /* by bin of FM_BINS_LOGLINEAR: references that the sampled ones stand for */
    size_t count_bins;
    double cold;
} fm_block_sample;

/* rate: 0 … 1, where most is 0. */
fm_status fm_block_sample_create(fm_block_sample *sample, double rate, uint64_t most, uint64_t seed,
                                 fm_error *error);
void fm_block_sample_clear(fm_block_sample *sample); /* safe on a zeroed one */

/* Room for so many new blocks, so that touching cannot fail. */
fm_status fm_block_sample_reserve(fm_block_sample *sample, uint64_t more, fm_error *error);
bool fm_block_sample_has_room(const fm_block_sample *sample, uint64_t more);
/* Bytes held now; and at the worst moment of making room. */
uint64_t fm_block_sample_memory(const fm_block_sample *sample);
uint64_t fm_block_sample_memory_growing(const fm_block_sample *sample, uint64_t more);

static inline uint32_t fm_block_sample_hash(const fm_block_sample *sample, uint64_t common)
{
    return (uint32_t)(common * sample->multiplier >> 32);
}

static inline uint64_t fm_block_sample_next_dither(uint64_t dither)
{
    return dither * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

static inline double fm_block_sample_rate(const fm_block_sample *sample)
{
    return (double)sample->threshold * 0x1p-32;
}

/* Products of the common hash and the multiplier up to this one are in the sample. */
static inline uint64_t fm_block_sample_limit(const fm_block_sample *sample)
{
    return (sample->threshold << 32) - 1; /* 2^32 becomes 2^64 - 1 */
}

/* What touching the block will need is fetched: the first some blocks ahead, then the second. */
static inline const uint32_t *fm_block_sample_home(const fm_block_sample *sample, uint64_t common)
{
    return &sample->slots[common >> (64 - sample->bits)];
}
static inline void fm_block_sample_fetch_slot(const fm_block_sample *sample, uint64_t common)
{
    __builtin_prefetch(fm_block_sample_home(sample, common));
}
static inline void fm_block_sample_fetch_node(const fm_block_sample *sample, uint64_t common)
{
    __builtin_prefetch(&sample->nodes[*fm_block_sample_home(sample, common)], 1);
}

/* A reference to a block of the sample: hash is below the threshold. */
void fm_block_sample_touch(fm_block_sample *sample, uint64_t block, uint64_t common, uint32_t hash);

#endif
