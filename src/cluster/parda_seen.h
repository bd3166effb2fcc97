/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parda_seen.h - how many distinct blocks a bounded PARDA team has seen, at the end: the sets of blocks of
 * all chunks of all ranks are united.
 *
 * The paper needs no such sets, as it does not tell first touches from blocks that come back beyond the
 * bound. Here the two are told apart exactly as by one engine (engine/engine_tables.h): the first fm_seen_limit
 * distinct blocks of the trace are cold, whatever their order, so that their number is all that is to be
 * found.
 */
#ifndef FATHOM_CLUSTER_PARDA_SEEN_H
#define FATHOM_CLUSTER_PARDA_SEEN_H

#include "cluster/parda_chunk.h"
#include "cluster/parda_messages.h"

typedef struct fm_parda_seen {
    uint64_t distinct; /* at most fm_seen_limit */
    bool forgot;       /* there were more than that */
} fm_parda_seen;

/* All ranks together; rank 0 has the result. Along a tree: log2(ranks) steps of at most fm_seen_limit blocks.
 */
fm_status fm_parda_seen_unite(const fm_parda_messages *messages, const fm_parda_chunk *chunks, unsigned count,
                              fm_parda_seen *result, fm_error *error);

#endif
