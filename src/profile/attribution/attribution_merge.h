/* SPDX-License-Identifier: Apache-2.0 */
/* attribution_merge.h - the attribution of two runs together. Internal; part of fm_profile_merge. */
#ifndef FATHOM_PROFILE_ATTRIBUTION_MERGE_H
#define FATHOM_PROFILE_ATTRIBUTION_MERGE_H

#include <fathom/attribution.h>

/* Whether they can be added: ranges cut at the same edges, objects counted from the same distance on. */
bool fm_attribution_alike(const fm_attribution *a, const fm_attribution *b);

/*
 * Their sum, a new one; b may be NULL: a copy of a. Modules are joined by path and build id, sites by module,
 * address and call path, objects by what they are; their counts add up. Where both know a site, the names are
 * those of the one that has any.
 */
fm_status fm_attribution_sum(fm_attribution **sum, const fm_attribution *a, const fm_attribution *b,
                             fm_error *error);

#endif
