/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled.h - what the engines `shards` and `aet` share: samples of blocks, chunks of the trace in samples,
 * the exact part below a small bound, and estimates from all of it.
 */
#ifndef FATHOM_ENGINE_SAMPLED_SAMPLED_H
#define FATHOM_ENGINE_SAMPLED_SAMPLED_H

#include "engine/engine.h"
#include "engine/engine_tables.h"
#include "engine/exact/exact_kernels.h"

#include <fathom/profile.h>
#include <fathom/status.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ==== recency bits ====
 *
 * The order of last touches of some blocks, one of which can be taken out at a time while
 * those after it are counted. A bit for every touch, set where it is the latest to its block, and a Fenwick
 * tree over the words of bits. For the samples of `shards`; the recency window of `exact` is faster for many
 * blocks at once, and larger.
 *
 * Positions that were not given out yet are set: a touch only ever clears the bit it leaves. When all are
 * given out, the owner renumbers its blocks: fm_recency_bits_start_ranks, fm_recency_bits_rank for each
 * block, fm_recency_bits_restart.
 *
 * Time O(log positions) for a touch. Space: 1.5 bits a position.
 */

typedef struct fm_recency_bits {
    uint64_t *words;
    uint32_t
        *sums; /* [1 … words]: the tree; [0] is for ranks. In the same memory as the words, behind them */
    uint32_t next; /* the position given out next */
    uint32_t size; /* positions, a multiple of 64 */
    /* Not beside `next`: both grow by one, and gcc would load them together right after this one was stored.
     */
    uint32_t live; /* bits set below `next` */
} fm_recency_bits;

/* All zeroes has no positions. Forgets them all: restart before anything else. False where memory is short:
 * then nothing has changed. */
bool fm_recency_bits_grow(fm_recency_bits *bits, uint32_t size);
void fm_recency_bits_clear(fm_recency_bits *bits);

/* From here to the restart, ranks can be asked for and nothing else. */
void fm_recency_bits_start_ranks(fm_recency_bits *bits);
/* How many live positions are below this one: its new place. */
uint32_t fm_recency_bits_rank(const fm_recency_bits *bits, uint32_t position);
/* Positions [0 … live) are those of live blocks. */
void fm_recency_bits_restart(fm_recency_bits *bits, uint32_t live);

/* A new position, after all others. There is one. */
static inline uint32_t fm_recency_bits_give(fm_recency_bits *bits)
{
    bits->live++;
    return bits->next++;
}

/* Takes a live position back; returns how many live ones are above it. */
uint32_t fm_recency_bits_remove(fm_recency_bits *bits, uint32_t position);

/*
 * ==== sample of blocks ====
 *
 * The reuse distances of a sample of the blocks: those whose hash is below a threshold. One
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

enum { FM_SAMPLE_NONE = 0 }; /* no node: nodes[0] is never used */

typedef struct fm_sample_node {
    uint64_t block;
    uint32_t position; /* of the last touch, in the recency bits; FM_SAMPLE_GONE: the block has left */
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

/*
 * ==== chunk in samples ====
 *
 * A chunk of the trace (exact_kernels.h) on its way into the samples of `shards`: which of
 * its references are in a sample, in order.
 *
 * Every reference is hashed; but where the exact part has linked all references to a block (exact_kernels.h),
 * it is enough to hash each block once, and to follow the links of those that are in the sample. Repeats,
 * which the exact part has removed, are touched with the reference that they repeat.
 */

typedef struct fm_sampled_chunk {
    const fm_exact_kernels *kernels;
    const uint64_t *blocks; /* the references, repeats and all */
    size_t count;
    const fm_cache_chunk *chunk; /* NULL: no links */
    const uint64_t *left;        /* with links: the references that are no repeats … */
    const uint16_t *at; /* … and where they stood, with `count` behind the last; NULL: none was removed */
    uint16_t index[1 + FM_CACHE_CHUNK + 16];
    uint64_t common[FM_CACHE_CHUNK]; /* hashes of the references; with links, of first touches */
    /* First touches or references that are in the current sample and in the next one. */
    uint16_t chosen[2][FM_CACHE_CHUNK + 16];
    size_t chosen_count[2];
} fm_sampled_chunk;

/* blocks: count references, 1 … FM_CACHE_CHUNK; small: NULL, or what has just counted them. Both stay as they
 * are as long as the chunk is in use. */
void fm_sampled_chunk_start(fm_sampled_chunk *sampled, const fm_exact_kernels *kernels,
                            const uint64_t *blocks, size_t count, const fm_small_stack *small);

/* All references that are in each of the samples. There is room for as many new blocks. */
void fm_sampled_chunk_touch(fm_sampled_chunk *sampled, fm_block_sample *samples, unsigned count);

/*
 * ==== exact part ====
 *
 * The exact part of the engine `shards`: distances below a bound, how many references are
 * further away, and first touches as long as there are few.
 *
 * Under a small bound by a small stack (exact_kernels.h), under others by the engine `exact`.
 */

typedef struct fm_exact_below {
    uint64_t bound;        /* 0: nothing is exact, and the rest is empty */
    fm_small_stack *small; /* up to FM_SMALL_BOUND; with `seen`, the blocks that were ever touched */
    fm_seen_set *seen;
    uint64_t max_memory, memory_peak;
    fm_engine *engine; /* otherwise: of fm_engine_exact */
} fm_exact_below;

/* seed: of hash tables; max_memory: 0, no limit. On failure it is empty. */
fm_status fm_exact_below_create(fm_exact_below *below, uint64_t bound, const fm_exact_kernels *kernels,
                                uint64_t seed, uint64_t max_memory, fm_error *error);
void fm_exact_below_clear(fm_exact_below *below); /* safe on an empty one */

/* At most FM_CACHE_CHUNK references; as fm_engine_ops.count. */
fm_status fm_exact_below_count(fm_exact_below *below, const uint64_t *blocks, size_t count, fm_tally *tally,
                               size_t *done, fm_error *error);

/* As in fm_engine_ops. */
bool fm_exact_below_cold_known(const fm_exact_below *below);
uint64_t fm_exact_below_memory(const fm_exact_below *below);
uint64_t fm_exact_below_memory_peak(const fm_exact_below *below);

/*
 * ==== distinct sketch ====
 *
 * How many distinct blocks there were, to within a percent, in 16 KiB. For first touches,
 * which a sample of few blocks estimates badly.
 *
 * P. Flajolet, É. Fusy, O. Gandouet, F. Meunier: HyperLogLog, AofA 2007. Each block's hash chooses a
 * register, which keeps the longest run of leading zeros seen in the rest; few blocks are counted by the
 * registers that are still empty.
 */

enum { FM_SKETCH_BITS = 14, FM_SKETCH_REGISTERS = 1 << FM_SKETCH_BITS };
/* The standard error of the estimate: 1.04 / sqrt(registers). */
#define FM_SKETCH_ERROR 0.008125

typedef struct fm_distinct_sketch {
    uint8_t registers[FM_SKETCH_REGISTERS];
} fm_distinct_sketch;

/* hash: all 64 bits well mixed. */
static inline void fm_distinct_sketch_add(fm_distinct_sketch *sketch, uint64_t hash)
{
    uint8_t *kept = &sketch->registers[hash >> (64 - FM_SKETCH_BITS)];
    /* The bit behind the rest ends every run. */
    const uint64_t rest = hash << FM_SKETCH_BITS | UINT64_C(1) << (FM_SKETCH_BITS - 1);
    const uint8_t run = (uint8_t)(1 + __builtin_clzll(rest));
    if (run > *kept) *kept = run;
}

static inline double fm_distinct_sketch_count(const fm_distinct_sketch *sketch)
{
    const double registers = FM_SKETCH_REGISTERS;
    double sum = 0;
    unsigned empty = 0;
    for (int i = 0; i < FM_SKETCH_REGISTERS; i++) {
        sum += ldexp(1, -sketch->registers[i]);
        empty += sketch->registers[i] == 0;
    }
    const double count = 0.7213 / (1 + 1.079 / registers) * registers * registers / sum;
    return count <= 2.5 * registers && empty > 0 ? registers * log(registers / empty) : count;
}

/*
 * ==== estimates ====
 *
 * From what repeated samples counted to one histogram, joined to the exact one of small
 * distances, with a confidence band around its miss-ratio curve. Part of the engine `shards`.
 *
 * The exact part knows how many references are far: at least `exact_below` blocks away, or first touches.
 * Each sample says how these are spread. Its own estimate of their number is off by chance (a frequent block
 * is in the sample or not), so it is corrected to the known one. With nothing exact that number is all
 * references, and the correction is the SHARDS-adj of Waldspurger et al. (FAST 2015), section 4.
 *
 * The samples are independent of each other, so their spread shows how far their mean is off: Student's t for
 * 95 %, at each size by itself.
 */

enum { FM_MOST_SAMPLES = 32 };

typedef struct fm_sampled {
    const fm_block_sample *samples;
    unsigned count;
    uint64_t references;  /* in all */
    uint64_t far;         /* references that the samples stand for */
    uint64_t exact_below; /* 0: nothing is exact */
    bool cold_known;      /* first touches are not among the far ones: the profile has them */
    double cold_error;    /* their standard error, where they were estimated */
} fm_sampled;

/* Adds the far references to the profile, whose histogram has the near ones: histogram, cold where it is not
 * known, accuracy. On failure the profile may be incomplete: it must be destroyed. */
fm_status fm_sample_estimate(const fm_sampled *sampled, fm_profile *profile, fm_error *error);

#endif
