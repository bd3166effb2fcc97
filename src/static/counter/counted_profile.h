/* SPDX-License-Identifier: Apache-2.0 */
/* counted_profile.h - what was counted of a region, as a profile and as pairs for its attribution. */
#ifndef FATHOM_STATIC_COUNTED_PROFILE_H
#define FATHOM_STATIC_COUNTED_PROFILE_H

#include "static/counter/counted.h"

#include <fathom/profile.h>

/* counted is finished. The profile has the engine "static"; whether it is exact is the caller's to say. */
fm_status fm_counted_profile(const fm_static_counted *counted, uint64_t granularity, fm_bins bins,
                             fm_profile **profile, fm_error *error);
/* Tags are numbers of accesses and 1; ranges are cut at these edges. *pairs is to be freed. */
fm_status fm_counted_pairs(const fm_static_counted *counted, const uint64_t *edges, size_t edge_count,
                           fm_raw_pair **pairs, size_t *pair_count, fm_error *error);

#endif
