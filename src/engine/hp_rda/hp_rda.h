/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hp_rda.h - HP-RDA: highly parallel reuse distance analysis, as its paper describes it (H. Cui, Q. Yi, J.
 * Xue, L. Wang, Y. Yang, X. Feng: A highly parallel reuse distance analysis algorithm on GPUs, IPDPS 2012).
 * Approximate.
 *
 * A trace is cut into thread-level traces, 64 of which make a thread block's. Each is analysed by itself,
 * exactly (section III-C). References to a block that an earlier thread-level trace referenced last are
 * merged afterwards: to the distinct blocks after the last reference there, and to those before the first one
 * here, the numbers of distinct blocks of all traces in between are added (III-D, formula 1), first among the
 * threads of a block, then among blocks (IV-A). Blocks that occur in several of these traces are counted more
 * than once, which the adjustment by an effective factor makes up for on average (III-E).
 *
 * This header is what the engine (hp_rda.c) asks of those who do the work: CPU threads (hp_rda_cpu.c) or a
 * graphics card (modules/cuda/card_hp_rda.cu). Both run the steps of hp_rda_steps.h, so that they give the
 * same result.
 */
#ifndef FATHOM_ENGINE_HP_RDA_HP_RDA_H
#define FATHOM_ENGINE_HP_RDA_HP_RDA_H

#include <fathom/profile.h>
#include <stdint.h>

enum {
    FM_HP_RDA_THREADS = 64, /* thread-level traces in a thread block's (section V-E: NB) */
    FM_HP_RDA_MOST = 1 << 30,
};

/* The four parts of figure 15. */
typedef enum fm_hp_rda_stage {
    FM_HP_RDA_ANALYZE,
    FM_HP_RDA_MERGE_THREADS,
    FM_HP_RDA_MERGE_BLOCKS,
    FM_HP_RDA_ADJUST,
    FM_HP_RDA_STAGES
} fm_hp_rda_stage;

typedef struct fm_hp_rda_shape {
    uint32_t trace;        /* references that are analysed at a time (N) */
    uint32_t thread_trace; /* of which one thread analyses so many (ST) */
    uint32_t hash;         /* entries of the hash table (HS), of each of its two levels */
    uint32_t pool;         /* elements of each memory pool (MS) */
    bool adjust;
    fm_bins bins;
} fm_hp_rda_shape;

/* How a trace used a block: distinct blocks before its first reference, and after its last. */
typedef struct fm_hp_rda_use {
    uint64_t block;
    uint32_t first, latest;
} fm_hp_rda_use;

typedef struct fm_hp_rda_trace {
    /* Given: */
    uint64_t *counts;    /* added to: distances by bins; with one for each, as many as there are references */
    fm_hp_rda_use *uses; /* room for as many as there are references */
    /* Answered: */
    uint64_t total;    /* distances counted */
    uint32_t distinct; /* uses */
    double seconds[FM_HP_RDA_STAGES];
} fm_hp_rda_trace;

/* Formula 2: a distance that is over the number of distinct blocks counted some of them several times. `sum`
 * is the same number, counted once for each of the traces that were merged. */
static inline uint64_t fm_hp_rda_adjust(uint64_t distance, uint64_t distinct, uint64_t sum)
{
    return distance > distinct && sum > 0 ? (uint64_t)((__uint128_t)distance * distinct / sum) : distance;
}

/* ---- on CPU threads ---- */
typedef struct fm_hp_rda_cpu fm_hp_rda_cpu;
fm_status fm_hp_rda_cpu_open(fm_hp_rda_cpu **result, unsigned threads, const fm_hp_rda_shape *shape,
                             fm_error *error);
void fm_hp_rda_cpu_close(fm_hp_rda_cpu *state); /* NULL is fine */
/* No reference may repeat the one before it. */
fm_status fm_hp_rda_cpu_analyze(fm_hp_rda_cpu *state, const uint64_t *blocks, size_t count,
                                fm_hp_rda_trace *result, fm_error *error);
/* Bytes held for a trace of so many references. */
uint64_t fm_hp_rda_cpu_memory(const fm_hp_rda_shape *shape, size_t count);

/*
 * ==== carry ====
 *
 * From one trace of HP-RDA to the next: distances that cross from trace to trace are merged
 * by formula 1 too, as those between thread blocks are. The paper does not say what becomes of them.
 */

/* A block's entry: distinct blocks after its last reference, less all that traces had before that one's end.
 */
typedef struct fm_hp_rda_carry {
    struct carried {
        uint64_t block, after;
        bool used;
    } * entries;
    size_t room, count; /* room: a power of two, or 0 */
    uint64_t seed;
    uint64_t sum; /* distinct blocks of all traces so far, added up */
} fm_hp_rda_carry;

#endif
