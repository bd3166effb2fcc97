/* SPDX-License-Identifier: Apache-2.0 */
/* attribution_check.h - whether an attribution keeps its invariants. Internal; called before one is written
 * and after one is read, so that nobody else need check. */
#ifndef FATHOM_PROFILE_ATTRIBUTION_CHECK_H
#define FATHOM_PROFILE_ATTRIBUTION_CHECK_H

#include <fathom/profile.h>

/*
 * Every number of a site, module, path, object is one of what there is, or FM_NONE where that is allowed; a
 * path's parent stands before it; ranges are those between the edges, ascending, with counts from 1 on;
 * counts are the sums that attribution.h says they are, and those of all pairs are the profile's; sources are
 * as sources.h says. False: why says what is wrong and where, as in `"pairs"[7]: …`.
 */
bool fm_attribution_sound(const fm_profile *profile, char *why, size_t size);

#endif
