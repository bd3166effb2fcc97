/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parda_chunk.h - PARDA's part of one chunk of the trace: Olken's structures (engine/baseline/block_tree.h)
 * and the chunk's *infinities*, references to blocks that the chunk had not touched before. Whether these are
 * first touches of the whole trace only earlier chunks can tell, to which they are passed, to the left.
 *
 * Q. Niu, J. Dinan, Q. Lu, P. Sadayappan: PARDA: A Fast Parallel Reuse Distance Analysis Algorithm, IPDPS
 * 2012. fm_parda_chunk_feed is its algorithm 1 (under a bound, 7), fm_parda_chunk_absorb its algorithm 4, and
 * what is here of a stack that changes hands, algorithm 6.
 *
 * Under a bound B, a chunk holds at most B blocks and passes at most its first B infinities to the left, as
 * in algorithm 7: every later one follows B other blocks, so that its distance is B or more, whatever is to
 * the left. The paper counts those as infinite. Here they count as beyond; how many of them are first touches
 * of the trace (cold) is not asked one by one: it is the number of distinct blocks less those known
 * otherwise, and so the sets of blocks that the chunks have seen are united once at the end (team_parda.c).
 * This is the only addition to algorithm 7, and costs no message before the end.
 *
 * O(log n) amortised for each reference and each infinity, n being the blocks held. It knows nothing of other
 * ranks.
 */
#ifndef FATHOM_CLUSTER_PARDA_CHUNK_H
#define FATHOM_CLUSTER_PARDA_CHUNK_H

#include "engine/baseline/block_tree.h"
#include "engine/engine.h"
#include "engine/engine_tables.h"

typedef struct fm_parda_chunk {
    fm_block_tree blocks;
    fm_tally tally;    /* what is not finite is counted as cold without a bound, as beyond with one */
    uint64_t bound;    /* 0: none */
    fm_seen_set *seen; /* NULL without a bound: all blocks this chunk missed, in all phases */
    bool leftmost;     /* no chunk is before it: what it misses need not be passed on */
    uint64_t passed;   /* infinities it had for its left (the paper's l) */
    uint64_t received; /* infinities it had from its right (the paper's count) */
    uint64_t *infinities;
    size_t infinity_count, infinity_capacity;
} fm_parda_chunk;

/* On failure, and after clearing, nothing is held. */
fm_status fm_parda_chunk_create(fm_parda_chunk *chunk, uint64_t bound, fm_bins bins, uint64_t seed,
                                fm_error *error);
void fm_parda_chunk_clear(fm_parda_chunk *chunk);
uint64_t fm_parda_chunk_memory(const fm_parda_chunk *chunk);

/* References of the chunk, in order. What is to be passed on is appended to its infinities. */
fm_status fm_parda_chunk_feed(fm_parda_chunk *chunk, const uint64_t *blocks, size_t count, fm_error *error);

/*
 * Infinities from the right, in order. Those of blocks that the chunk holds are finite: they are counted, and
 * the block is forgotten, because the right has it now. The others stay in `blocks` and *count, as far as
 * they are to be passed on. No more can be fed in this phase.
 */
fm_status fm_parda_chunk_absorb(fm_parda_chunk *chunk, uint64_t *blocks, size_t *count, fm_error *error);

/* The phase is over: infinities were passed on. */
void fm_parda_chunk_begin_phase(fm_parda_chunk *chunk, bool leftmost);

/* How many more blocks of its left it would hold, were it given them. */
uint64_t fm_parda_chunk_wants(const fm_parda_chunk *chunk);
/* The next blocks of an older stack, most recent first; fm_block_tree_link_older must follow. */
fm_status fm_parda_chunk_inherit(fm_parda_chunk *chunk, const uint64_t *blocks, size_t count,
                                 fm_error *error);

#endif
