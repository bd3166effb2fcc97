/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - creating and destroying profiles and lists of them.
 *
 * A profile owns its texts, its bins, its attribution, run and parts; what it points to came from malloc. It
 * is a plain struct that anyone may fill: whoever does keeps the invariant that profile.h states.
 */
#include <fathom/profile.h>

#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution/attribution_json.h"

#include <stdlib.h>
#include <string.h>

fm_status fm_profile_create(fm_profile **profile, fm_error *error)
{
    *profile = NULL;
    fm_profile *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "a profile");
    made->engine = strdup("exact");
    if (!made->engine) {
        free(made);
        return fm_fail_memory(error, sizeof "exact", "a profile");
    }
    made->exact = true;
    made->granularity = 1;
    made->cold_known = true;
    made->complete = true;
    *profile = made;
    return FM_OK;
}

void fm_phases_destroy(fm_phases *phases)
{
    if (!phases) return;
    for (size_t i = 0; i < phases->sample_count; i++) free(phases->samples[i].times);
    free(phases->samples);
    for (size_t i = 0; i < phases->inner_count; i++) free(phases->inner[i].phases);
    free(phases->inner);
    free(phases->phases);
    free(phases);
}

void fm_profile_destroy(fm_profile *profile)
{
    if (!profile) return;
    free(profile->name);
    free(profile->engine);
    free(profile->what_missing);
    free(profile->distances.bins);
    free(profile->times.bins);
    fm_attribution_destroy(profile->attribution);
    fm_accuracy_destroy(profile->accuracy);
    fm_phases_destroy(profile->phases);
    fm_run_destroy(profile->run);
    fm_kernel_destroy(profile->kernel);
    fm_bounds_destroy(profile->bounds);
    free(profile->set_misses);
    free(profile->addresses);
    fm_sampling_destroy(profile->sampling);
    for (size_t i = 0; i < profile->part_count; i++) fm_profile_destroy(profile->parts[i]);
    free(profile->parts);
    free(profile->caches);
    free(profile);
}

void fm_profile_list_clear(fm_profile_list *list)
{
    for (size_t i = 0; i < list->count; i++) fm_profile_destroy(list->profiles[i]);
    free(list->profiles);
    list->profiles = NULL;
    list->count = 0;
}
