/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parda.h - PARDA, the paper's algorithm with a chain of ranks (docs/PARALLEL.md): what its files share.
 * parda.c is the engine, by threads; parda_chunk.c what a rank does with a chunk; team_parda.c the team of
 * ranks.
 */
#ifndef FATHOM_CLUSTER_PARDA_H
#define FATHOM_CLUSTER_PARDA_H

#include "base/error.h"
#include "cluster/team.h"
#include "cluster/transport.h"
#include "engine/baseline/block_tree.h"
#include "engine/engine.h"
#include "engine/engine_tables.h"

/*
 * ==== messages ====
 *
 * Lists of blocks of any length between ranks, in messages: the heading of each says how
 * many blocks it has, and whether others follow.
 */

/* Blocks in a message. Only tests set it to anything else, to the same in all ranks. */
extern FM_TUNABLE size_t fm_parda_message_blocks;

typedef struct fm_parda_messages {
    fm_transport *transport;
    uint64_t *blocks; /* room for one message, to be sent or received */
    size_t most;      /* blocks it has room for */
} fm_parda_messages;

fm_status fm_parda_messages_create(fm_parda_messages *messages, fm_transport *transport, fm_error *error);
void fm_parda_messages_clear(fm_parda_messages *messages);

/* From anywhere; not more than `most`. */
fm_status fm_parda_messages_send(const fm_parda_messages *messages, uint32_t to, const uint64_t *blocks,
                                 size_t count, bool more, fm_error *error);
/* Into messages->blocks. */
fm_status fm_parda_messages_receive(const fm_parda_messages *messages, uint32_t from, size_t *count,
                                    bool *more, fm_error *error);

/*
 * ==== chunk ====
 *
 * PARDA's part of one chunk of the trace: Olken's structures (engine/baseline/block_tree.h)
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

/*
 * ==== blocks missed ====
 *
 * How many distinct blocks a bounded PARDA team has seen, at the end: the sets of blocks of
 * all chunks of all ranks are united.
 *
 * The paper needs no such sets, as it does not tell first touches from blocks that come back beyond the
 * bound. Here the two are told apart exactly as by one engine (engine/engine_tables.h): the first
 * fm_seen_limit distinct blocks of the trace are cold, whatever their order, so that their number is all that
 * is to be found.
 */

typedef struct fm_parda_seen {
    uint64_t distinct; /* at most fm_seen_limit */
    bool forgot;       /* there were more than that */
} fm_parda_seen;

/* All ranks together; rank 0 has the result. Along a tree: log2(ranks) steps of at most fm_seen_limit blocks.
 */
fm_status fm_parda_seen_unite(const fm_parda_messages *messages, const fm_parda_chunk *chunks, unsigned count,
                              fm_parda_seen *result, fm_error *error);

/*
 * ==== team ====
 *
 * What the engine `parda` needs of a PARDA team beside fm_team_ops.
 */

/* What this rank has of the chunk with that number; between phases all blocks are with one chunk of one rank.
 */
fm_parda_chunk *fm_team_parda_chunk(fm_team *team, unsigned chunk);

/*
 * ==== engine ====
 *
 * The engine `parda` in two parts: ranks that count together (parda.c), and the engine that
 * uses them (parda.c).
 */

/* The least references of a rank in a phase, but for the last one. Only tests set it to anything else. */
extern FM_TUNABLE size_t fm_parda_share;

/* As many PARDA ranks as there are threads, and the references that wait for them. */
typedef struct fm_parda_ranks fm_parda_ranks;

#endif
