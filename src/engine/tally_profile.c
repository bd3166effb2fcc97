/* SPDX-License-Identifier: Apache-2.0 */
/* tally_profile.c - see tally_profile.h. */
#include "engine/tally_profile.h"

#include "base/error.h"
#include "profile/laws.h"

#include <stdlib.h>
#include <string.h>

fm_status fm_tally_profile(const fm_tally *tally, const fm_tally_origin *origin, fm_profile **profile,
                           fm_error *error)
{
    fm_profile *made;
    *profile = NULL;
    fm_status status = fm_profile_create(&made, error);
    if (status != FM_OK) return status;
    free(made->engine);
    made->engine = strdup(origin->engine);
    if (!made->engine) status = fm_fail_memory(error, strlen(origin->engine) + 1, "the profile");
    made->exact = origin->exact;
    made->granularity = origin->granularity;
    made->references = tally->total + tally->cold + tally->beyond;
    made->distinct = origin->distinct;
    made->cold = tally->cold;
    made->bound = origin->bound;
    made->beyond = tally->beyond;
    made->cold_known = origin->cold_known;
    made->bins = tally->bins;
    if (status == FM_OK) status = fm_tally_histogram(tally, origin->bound, &made->distances, error);
    if (status == FM_OK) status = fm_profile_made(made, FM_LAWS_WHOLE, NULL, error);
    if (status != FM_OK) {
        fm_profile_destroy(made);
        return status;
    }
    *profile = made;
    return FM_OK;
}
