/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.h - ranks that analyse a trace together: the interface of a team (team_exact.c without a chain,
 * team_parda.c with one), and what the files of fathom analyze --mpi share (cluster.c, cluster_deal.c).
 */
#ifndef FATHOM_CLUSTER_TEAM_H
#define FATHOM_CLUSTER_TEAM_H

#include "analyzer/block_cutter.h"
#include "base/crew.h"
#include "cluster/transport.h"
#include "engine/engine.h"

#include <fathom/experimental/cluster.h>

/*
 * ==== team ====
 *
 * Ranks that analyse one trace together. A team is what one rank has of it.
 *
 * A trace goes through in phases. In each, every rank feeds its share of the references, cut into one or more
 * *chunks* that threads of the rank may feed at the same time; then all ranks merge the phase together
 * (merge_phase). Time runs through the chunks of the rank whose place is 0, then through those of the one
 * whose place is 1, and so on; then comes the next phase. At the end all finish together, and rank 0 has the
 * result, which is that of one engine fed with everything in order.
 *
 * A call that fails leaves the team unusable; the caller tells the transport (fail), so that the others
 * do not wait.
 */

typedef struct fm_team_options {
    uint64_t bound; /* 0: none */
    fm_bins bins;
    uint64_t seed;   /* of hash tables, the same for all ranks; not 0 */
    const char *isa; /* NULL: best */
    unsigned chunks; /* of every rank, at least 1 */
} fm_team_options;

typedef struct fm_team_result {
    uint64_t distinct;
    bool cold_known; /* see fm_engine_ops.cold_known */
} fm_team_result;

typedef struct fm_team fm_team;

typedef struct fm_team_ops {
    const char *name;
    fm_status (*create)(fm_team **team, fm_transport *transport, const fm_team_options *options,
                        fm_error *error);
    void (*destroy)(fm_team *team); /* NULL is fine */
    /* Where this rank's share of the next phase lies in time. */
    uint32_t (*place)(const fm_team *team);
    /* Chunks may be fed at the same time, each by one thread. */
    fm_status (*feed)(fm_team *team, unsigned chunk, const uint64_t *blocks, size_t count, fm_error *error);
    /* The end of a phase. last: no other one follows. */
    fm_status (*merge_phase)(fm_team *team, bool last, fm_error *error);
    /* Blocks that all ranks together hold after a phase: what its settling took time in proportion to. */
    uint64_t (*held)(const fm_team *team);
    /* After the last phase. tally must be empty; in rank 0 it gets everything, in the others nothing. */
    fm_status (*finish)(fm_team *team, fm_tally *tally, fm_team_result *result, fm_error *error);
    uint64_t (*memory)(const fm_team *team); /* of this rank */
} fm_team_ops;

extern const fm_team_ops fm_team_exact; /* by owners of blocks and of positions; see docs/PARALLEL.md */
extern const fm_team_ops fm_team_parda; /* the paper's: local infinities go from rank to rank */

/* Adds the other ranks' tallies to that of rank 0, which alone keeps anything. */
fm_status fm_team_sum_tallies(fm_transport *transport, fm_tally *tally, fm_error *error);

/*
 * ==== cluster ====
 *
 * What the files of fm_cluster_analyze share: cluster.c (ranks, and what they agree on),
 * cluster.c (every rank reads its own), cluster_deal.c (rank 0 reads for all).
 */

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

/* Blocks of one granularity for a chunk, gathered, so that its team is fed long runs. */
enum { FM_GATHER_MOST = 2 * FM_CACHE_CHUNK };
typedef struct fm_gathering {
    const fm_cluster_run *run;
    fm_team *team;
    unsigned chunk, shift;
    fm_access_budget budget;
    size_t count;
    uint64_t blocks[FM_GATHER_MOST + FM_CUT_ROOM];
} fm_gathering;

/* For one chunk, one for each granularity; freed by free(). NULL when memory is short. */
fm_gathering *fm_cluster_gather(const fm_cluster_run *run, unsigned chunk);
fm_status fm_cluster_feed(void *gatherings, const fm_batch *batch, fm_error *error);
fm_status fm_cluster_feed_end(fm_gathering *gatherings, fm_error *error);

/* Runs one function for each chunk of this rank, by its threads, and returns the first failure.
 */
typedef fm_status (*fm_chunk_work)(void *context, unsigned chunk, fm_error *error);
fm_status fm_cluster_for_chunks(const fm_cluster_run *run, fm_chunk_work work, void *context,
                                fm_error *error);

/* Whether damage is something to tell, not a failure. */
bool fm_cluster_hears_damage(const fm_cluster_run *run);

/* The whole trace, in one phase or many; the teams are merged. */
/* *reader: in rank 0, the trace, if it is open already; the caller closes it. */
fm_status fm_cluster_deal(const fm_cluster_run *run, struct fm_reader **reader, fm_error *error);

#endif
