/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.h - ranks that analyse one trace together. A team is what one rank has of it.
 *
 * A trace goes through in phases. In each, every rank feeds its share of the references, cut into one or more
 * *pieces* that threads of the rank may feed at the same time; then all ranks merge_phase the phase together.
 * Time runs through the pieces of the rank whose place is 0, then through those of the one whose place is 1,
 * and so on; then comes the next phase. At the end all finish together, and rank 0 has the result, which is
 * that of one engine fed with everything in order.
 *
 * A call that fails leaves the team unusable; the caller tells the transport (fail), so that the others
 * do not wait.
 */
#ifndef FATHOM_CLUSTER_TEAM_H
#define FATHOM_CLUSTER_TEAM_H

#include "cluster/transport.h"
#include "engine/engine.h"

typedef struct fm_team_options {
    uint64_t bound; /* 0: none */
    fm_bins bins;
    uint64_t seed;   /* of hash tables, the same for all ranks; not 0 */
    const char *isa; /* NULL: best */
    unsigned pieces; /* of every rank, at least 1 */
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
    /* Pieces may be fed at the same time, each by one thread. */
    fm_status (*feed)(fm_team *team, unsigned piece, const uint64_t *blocks, size_t count, fm_error *error);
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

#endif
