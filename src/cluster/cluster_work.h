/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_work.h - what the files of fm_cluster_analyze share: cluster.c (ranks, and what they agree on),
 * cluster_read.c (every rank reads its own), cluster_deal.c (rank 0 reads for all).
 */
#ifndef FATHOM_CLUSTER_CLUSTER_WORK_H
#define FATHOM_CLUSTER_CLUSTER_WORK_H

#include "analyzer/block_cutter.h"
#include "base/rounds.h"
#include "cluster/team.h"

#include <fathom/experimental/cluster.h>

struct fm_cluster {
    fm_transport *transport;
};

/* An analysis under way: a team for each granularity. */
typedef struct fm_cluster_run {
    fm_transport *transport;
    const fm_cluster_work *work;
    const fm_team_ops *ops;
    const uint64_t *granularity;
    size_t count; /* of granularities */
    fm_team **teams;
    const fm_exact_kernels *kernels;
    fm_rounds *threads; /* of this rank */
} fm_cluster_run;

/* Blocks of one granularity for a piece, gathered, so that its team is fed long runs. */
enum { FM_GATHER_MOST = 2 * FM_PART };
typedef struct fm_gathering {
    const fm_cluster_run *run;
    fm_team *team;
    unsigned piece, shift;
    fm_access_budget budget;
    size_t count;
    uint64_t blocks[FM_GATHER_MOST + FM_CUT_ROOM];
} fm_gathering;

/* For one piece, one for each granularity; freed by free(). NULL when memory is short. */
fm_gathering *fm_cluster_gather(const fm_cluster_run *run, unsigned piece);
fm_status fm_cluster_feed(void *gatherings, const fm_batch *batch, fm_error *error);
fm_status fm_cluster_feed_end(fm_gathering *gatherings, fm_error *error);

/* Runs one function for each piece of this rank, by its threads, and returns the first failure.
 */
typedef fm_status (*fm_piece_work)(void *context, unsigned piece, fm_error *error);
fm_status fm_cluster_for_pieces(const fm_cluster_run *run, fm_piece_work work, void *context,
                                fm_error *error);

/* Whether damage is something to tell, not a failure. */
bool fm_cluster_hears_damage(const fm_cluster_run *run);

/* The whole trace, in one phase or many; the teams are merged. */
/* *damaged: some rank has met damage that is to be reported in order. The teams are of no use any more; all
 * ranks know. */
fm_status fm_cluster_read_files(const fm_cluster_run *run, bool *damaged, fm_error *error);
/* *reader: in rank 0, the trace, if it is open already; the caller closes it. */
fm_status fm_cluster_deal(const fm_cluster_run *run, struct fm_reader **reader, fm_error *error);

#endif
