/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - profiles: made, destroyed, merged. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution_parts.h"
#include "profile/profile_parts.h"

#include <fathom/profile.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Creating and destroying profiles and lists of them.
 *
 * A profile owns its texts, its bins, its attribution, run and parts; what it points to came from malloc. It
 * is a plain struct that anyone may fill: whoever does keeps the invariant that profile.h states.
 */

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

/* ======== merging ======== */

/*
 * The sum of two profiles, as of two separate runs.
 *
 * Everything new is made first and put in place last: a failed merge leaves its target as it was.
 * Time distances survive only where both have them, since half of them would look like all; so does the
 * attribution, and only where its ranges are cut at the same edges. Phases are those of one trace, and go.
 * Run and parts stay those of the target.
 */

enum { LONGEST_NAME = 1000 };

/* "a + b"; only one of them where they are equal or one is missing. *joined may become NULL. */
static fm_status merge_join(char **joined, const char *a, const char *b, const char *between, fm_error *error)
{
    *joined = NULL;
    if (!a && !b) return FM_OK;
    static const char more[] = "...";
    char *text;
    if (!a || !b || strcmp(a, b) == 0) {
        text = strdup(a ? a : b);
    } else if (strlen(a) + strlen(b) > LONGEST_NAME) {
        /* Merging thousands of runs must not grow a name without end. */
        size_t length = strlen(a);
        bool said = length >= sizeof more - 1 && strcmp(a + length - (sizeof more - 1), more) == 0;
        if (said)
            text = strdup(a);
        else if (asprintf(&text, "%s%s%s", a, between, more) < 0)
            text = NULL;
    } else if (asprintf(&text, "%s%s%s", a, between, b) < 0) {
        text = NULL;
    }
    if (!text) return fm_fail_memory(error, LONGEST_NAME, "a profile's name");
    *joined = text;
    return FM_OK;
}

static fm_status merge_add(uint64_t *sum, uint64_t a, uint64_t b, const char *what, fm_error *error)
{
    if (!__builtin_add_overflow(a, b, sum)) return FM_OK;
    return fm_fail(error, FM_E_ARGUMENT, NULL,
                   "the sum of the %s, %" PRIu64 " + %" PRIu64 ", exceeds 64 bits", what, a, b);
}

/* NULL where one of them has none that fits. A profile of nothing fits everything: a sum may start with one.
 */
static fm_status add_attributions(fm_attribution **sum, const fm_profile *into, const fm_profile *from,
                                  fm_error *error)
{
    const fm_attribution *a = into->attribution, *b = from->attribution;
    if (!a && into->references == 0)
        a = b, b = NULL;
    else if (!b && from->references == 0)
        b = NULL;
    else if (!a || !b || !fm_attribution_alike(a, b))
        a = NULL;
    *sum = NULL;
    char why[300];
    if ((into->attribution && !fm_attribution_sound(into, why, sizeof why)) ||
        (from->attribution && !fm_attribution_sound(from, why, sizeof why)))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a profile's attribution is unsound: %s", why);
    return a ? fm_attribution_sum(sum, a, b, error) : FM_OK;
}

fm_status fm_profile_merge(fm_profile *into, const fm_profile *from, fm_error *error)
{
    FM_REQUIRE(into, error);
    FM_REQUIRE(from, error);
    if (into->granularity != from->granularity)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "cannot merge profiles of different granularities, %" PRIu64 " and %" PRIu64,
                       into->granularity, from->granularity);
    if (into->elements != from->elements)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "cannot merge a profile of elements and one of blocks");
    if (into->bound != from->bound)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "cannot merge profiles of different bounds, %" PRIu64 " and %" PRIu64 " (0: none)",
                       into->bound, from->bound);

    char why[300];
    const fm_law *broken = fm_law_broken(into, FM_LAWS_ANY, why, sizeof why);
    if (!broken) broken = fm_law_broken(from, FM_LAWS_ANY, why, sizeof why);
    if (broken)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "cannot merge a profile that breaks the law \"%s\" (%s): %s", broken->name,
                       broken->says, why);

    fm_profile sum = *into;
    sum.name = sum.engine = sum.what_missing = NULL;
    sum.attribution = NULL;
    sum.accuracy = NULL;
    sum.phases = NULL;
    sum.sampling = NULL;
    sum.distances = sum.times = (fm_histogram){0, NULL};
    sum.bins = fm_bins_coarser(into->bins, from->bins);
    sum.exact = into->exact && from->exact;
    sum.complete = into->complete && from->complete;
    sum.cold_known = into->cold_known && from->cold_known;
    sum.has_times = into->has_times && from->has_times;

    fm_status status = merge_add(&sum.references, into->references, from->references, "references", error);
    if (!status) status = merge_add(&sum.distinct, into->distinct, from->distinct, "distinct blocks", error);
    if (!status) status = merge_add(&sum.cold, into->cold, from->cold, "first touches", error);
    if (!status)
        status = merge_add(&sum.beyond, into->beyond, from->beyond, "references beyond the bound", error);
    if (!status) status = merge_add(&sum.lost, into->lost, from->lost, "lost references", error);
    if (!status) status = merge_join(&sum.name, into->name, from->name, " + ", error);
    if (!status) status = merge_join(&sum.engine, into->engine, from->engine, "+", error);
    if (!status) status = merge_join(&sum.what_missing, into->what_missing, from->what_missing, "; ", error);
    if (!status)
        status =
            fm_histogram_sum(&sum.distances, &into->distances, &from->distances, sum.bins, sum.bound, error);
    if (!status && sum.has_times)
        status = fm_histogram_sum(&sum.times, &into->times, &from->times, sum.bins, 0, error);
    if (!status) status = fm_accuracy_weaker(&sum.accuracy, into, from, error);
    if (!status) status = fm_sampling_sum(&sum.sampling, into, from, error);
    if (!status) status = add_attributions(&sum.attribution, into, from, error);
    if (!status) status = fm_profile_made(&sum, FM_LAWS_ANY, NULL, error);
    if (status) {
        if (sum.attribution != into->attribution) fm_attribution_destroy(sum.attribution);
        fm_accuracy_destroy(sum.accuracy);
        fm_sampling_destroy(sum.sampling);
        free(sum.times.bins);
        free(sum.name);
        free(sum.engine);
        free(sum.what_missing);
        free(sum.distances.bins);
        return status;
    }
    free(into->name);
    free(into->engine);
    free(into->what_missing);
    free(into->distances.bins);
    free(into->times.bins);
    fm_attribution_destroy(into->attribution);
    fm_accuracy_destroy(into->accuracy);
    fm_sampling_destroy(into->sampling);
    fm_phases_destroy(into->phases);
    *into = sum;
    return FM_OK;
}
