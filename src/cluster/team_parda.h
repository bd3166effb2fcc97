/* SPDX-License-Identifier: Apache-2.0 */
/* team_parda.h - what the engine `parda` needs of a PARDA team beside fm_team_ops. */
#ifndef FATHOM_CLUSTER_TEAM_PARDA_H
#define FATHOM_CLUSTER_TEAM_PARDA_H

#include "cluster/parda_chunk.h"
#include "cluster/team.h"

/* What this rank has of the piece with that number; between phases all blocks are with one piece of one rank.
 */
fm_parda_chunk *fm_team_parda_chunk(fm_team *team, unsigned piece);

#endif
