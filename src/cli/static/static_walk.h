/* SPDX-License-Identifier: Apache-2.0 */
/* static_walk.h - a region worked off access by access, and analysed as a program's references are. */
#ifndef FATHOM_CLI_STATIC_WALK_H
#define FATHOM_CLI_STATIC_WALK_H

#include "attribution_output.h"

typedef struct cli_walk_options {
    uint64_t granularity;
    fm_layout layout;
    fm_bins bins;
    unsigned threads;
    const uint64_t *edges; /* of the attribution */
    size_t edge_count;
    double limit_seconds;
    const fm_region_counts *counts; /* for progress; NULL: not known */
    bool progress;                  /* also where standard error is no terminal */
} cli_walk_options;

/* The profile, and the pairs of accesses (to be freed). FM_E_LIMIT: it took longer than allowed. */
fm_status cli_walk(const fm_region *region, const cli_walk_options *options, fm_profile **profile,
                   fm_raw_pair **pairs, size_t *pair_count, fm_error *error);

#endif
