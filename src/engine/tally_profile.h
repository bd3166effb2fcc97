/* SPDX-License-Identifier: Apache-2.0 */
/* tally_profile.h - a profile of what was counted, by one engine or by many ranks. */
#ifndef FATHOM_ENGINE_TALLY_PROFILE_H
#define FATHOM_ENGINE_TALLY_PROFILE_H

#include "engine/tally.h"

/* What a tally does not know itself. */
typedef struct fm_tally_origin {
    const char *engine;
    bool exact;
    uint64_t granularity, bound;
    uint64_t distinct;
    bool cold_known;
} fm_tally_origin;

fm_status fm_tally_profile(const fm_tally *tally, const fm_tally_origin *origin, fm_profile **profile,
                           fm_error *error);

#endif
