/* SPDX-License-Identifier: Apache-2.0 */
/* block_cutter.h - accesses of a batch to the blocks that they touch, for a piece of a team. */
#ifndef FATHOM_CLUSTER_BLOCK_CUTTER_H
#define FATHOM_CLUSTER_BLOCK_CUTTER_H

#include "cluster/team.h"
#include "analyzer/access_budget.h"
#include "engine/exact/exact_kernels.h"

#include <fathom/trace.h>

enum { FM_CUT_MOST = 2 * FM_PART };

typedef struct fm_block_cutter {
    const fm_team_ops *ops;
    fm_team *team;
    unsigned piece, shift;
    const fm_exact_kernels *kernels;
    fm_access_budget budget;
    size_t pending;
    uint64_t blocks[FM_CUT_MOST + 16];
} fm_block_cutter;

/* References are gathered: team->feed gets long runs. */
fm_status fm_block_cutter_take(fm_block_cutter *cutter, const fm_batch *batch, fm_error *error);
fm_status fm_block_cutter_finish(fm_block_cutter *cutter, fm_error *error);

#endif
