/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team_exact.h - what the files of fm_team_exact share: team_exact.c (the team), team_merge.c (the end of a
 * phase), superseded.h (the count of what came between).
 *
 * Every piece is analysed by an engine `exact` of its own that begins empty. What is left are its *events*:
 * first touches, in order. And every block that was ever touched has a *position*: a number by which blocks
 * are in the order of their last touches. Those of earlier phases have 0 … held - 1; a piece gives its blocks
 * the next ones. An event that is number k of its piece, whose block had position q, ends a distance of
 *
 *     k + (positions from q to the piece's first) - (events before it whose blocks had positions above q)
 *
 * because everything that was touched since then has a position above q, counted once too often where it was
 * touched again. So there are two questions, each asked of all ranks at once:
 *
 *     which position had the block?   to the rank that *owns the block*: blocks are divided by hash
 *     how many events ...?            to the rank that *owns the position*: positions are divided into ranges
 *                                     of about equally many events. Events before it in higher ranges are
 *                                     counted by whoever asks.
 *
 * In each exchange every rank sends to every other. Nothing is asked from rank to rank in turn, as in PARDA.
 */
#ifndef FATHOM_CLUSTER_TEAM_EXACT_H
#define FATHOM_CLUSTER_TEAM_EXACT_H

#include "cluster/team.h"
#include "engine/engine_tables.h"
#include "engine/exact/exact_kernels.h"

/* What one thread of this rank feeds. */
typedef struct fm_team_piece {
    fm_engine *engine;
    fm_tally tally;
    fm_first_touches firsts;
    uint64_t positions; /* that its blocks get */
    uint64_t base;      /* the first of them */
} fm_team_piece;

struct fm_team {
    fm_transport *transport;
    fm_team_options options;
    fm_team_piece *pieces;
    fm_tally tally; /* of distances that were found when phases were merged */
    uint64_t held;  /* blocks that all ranks together hold */
    /* Blocks that this rank owns: 2 + position, or 1 for those further away than the bound. */
    fm_block_table blocks;
    fm_seen_set *seen; /* under a bound: of the blocks it owns */
    bool given_up;     /* some piece could not tell first touches any more */
};

fm_status fm_team_merge_phase(fm_team *team, bool last, fm_error *error);

#endif
