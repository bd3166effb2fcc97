/* SPDX-License-Identifier: Apache-2.0 */
/* diff_make.c - two profiles become a diff: misses at each cache, rows by line, function and object. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "profile/attribution/attribution_check.h"
#include "view/diff/diff_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool fm_diff_counts(double before, double after)
{
    const double larger = before > after ? before : after;
    return fabs(after - before) > larger * 0.005;
}

static const char *name_of(const fm_profile *profile, const char *given)
{
    return given ? given : profile->name ? profile->name : "(unnamed)";
}

/* ---- caches ---- */

/* Whether what the two say may be the same: their bands meet. A profile without one is its own band. */
static bool bands_meet(const fm_diff *diff, size_t level)
{
    double least[2], most[2];
    bool any = false;
    for (int side = 0; side < 2; side++) {
        const fm_cache_fit *fit = &diff->fits[side][level];
        const double references = (double)diff->profile[side]->references;
        any |= fit->has_band;
        least[side] = fit->has_band ? fit->least * references : fit->misses.expected;
        most[side] = fit->has_band ? fit->most * references : fit->misses.expected;
    }
    return any && least[0] <= most[1] && least[1] <= most[0];
}

static void compare_levels(fm_diff *diff)
{
    for (size_t i = 0; i < diff->level_count; i++) {
        for (int side = 0; side < 2; side++)
            diff->fits[side][i] = fm_cache_fit_make(diff->profile[side], &diff->caches[i]);
        const double before = diff->fits[0][i].misses.expected, after = diff->fits[1][i].misses.expected;
        diff->within[i] = bands_meet(diff, i);
        if (diff->within[i] || !fm_diff_counts(before, after)) continue;
        diff->change[i] = after < before ? FM_CHANGE_BETTER : FM_CHANGE_WORSE;
    }
    /* Rows are about the first level that changed, else about the one that the first screen would judge. */
    diff->judged = fm_verdict_level(diff->profile[0], diff->caches, diff->level_count);
    for (size_t i = diff->level_count; i-- > 0;)
        if (diff->change[i] != FM_CHANGE_NONE) diff->judged = i;
}

/* ---- code ---- */

static fm_status make_table(fm_diff *diff, fm_by by, fm_error *error)
{
    uint64_t blocks[FM_DIFF_LEVELS];
    fm_status status = FM_OK;
    for (int side = 0; side < 2 && !status; side++) {
        const fm_profile *profile = diff->profile[side];
        const uint64_t bound = profile->bound && profile->beyond ? profile->bound : UINT64_MAX;
        for (size_t i = 0; i < diff->level_count; i++)
            blocks[i] = diff->fits[side][i].blocks < bound ? diff->fits[side][i].blocks : bound;
        status = fm_code_groups_make(&diff->tables[by].groups[side], profile->attribution, by, blocks,
                                     diff->level_count, error);
    }
    return status ? status : fm_diff_match_groups(diff, by, error);
}

static fm_status make_tables(fm_diff *diff, fm_error *error)
{
    char why[300];
    for (int side = 0; side < 2; side++) {
        const fm_profile *profile = diff->profile[side];
        if (!profile->attribution) return FM_OK;
        if (!fm_attribution_sound(profile, why, sizeof why))
            return fm_fail(error, FM_E_ARGUMENT, diff->names[side],
                           "the profile's attribution is unsound: %s", why);
    }
    diff->coded = true;
    fm_status status = fm_diff_match_files(diff, error);
    for (int by = 0; by < FM_DIFF_TABLES && !status; by++) status = make_table(diff, (fm_by)by, error);
    return status;
}

/* ---- all of it ---- */

static fm_status fill(fm_diff *diff, const fm_diff_options *options, fm_error *error)
{
    diff->level_count = options->cache_count;
    memcpy(diff->caches, options->caches, options->cache_count * sizeof *options->caches);
    diff->names[0] = strdup(name_of(diff->profile[0], options->name_before));
    diff->names[1] = strdup(name_of(diff->profile[1], options->name_after));
    diff->source_folders = (const char **)options->source_folders;
    diff->source_folder_count = options->source_folder_count;
    if (!diff->names[0] || !diff->names[1]) return fm_fail_memory(error, sizeof *diff, "a difference");
    fm_status status = fm_diff_read_allowed(diff, options->allowed, error);
    if (status) return status;
    fm_diff_find_reasons(diff);
    compare_levels(diff);
    return make_tables(diff, error);
}

fm_status fm_diff_create_sized(size_t given_size, fm_diff **diff, const fm_profile *before,
                               const fm_profile *after, const fm_diff_options *given, fm_error *error)
{
    *diff = NULL;
    FM_REQUIRE(before, error);
    FM_REQUIRE(after, error);
    fm_diff_options options;
    fm_status status = fm_sized_read(&options, sizeof options, given, given_size, "fm_diff_options", error);
    if (status) return status;
    if (before->granularity != after->granularity)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "the two profiles have different granularities, %" PRIu64 " and %" PRIu64,
                       before->granularity, after->granularity);
    if (before->elements != after->elements)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "one of the two profiles counts elements, the other one blocks");
    if (options.cache_count == 0 || options.cache_count > FM_DIFF_LEVELS)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected 1 to %d caches, found %zu", (int)FM_DIFF_LEVELS,
                       options.cache_count);
    fm_diff *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "a difference");
    made->profile[0] = before;
    made->profile[1] = after;
    status = fill(made, &options, error);
    if (status) {
        fm_diff_destroy(made);
        return status;
    }
    *diff = made;
    return FM_OK;
}

void fm_diff_destroy(fm_diff *diff)
{
    if (!diff) return;
    for (int by = 0; by < FM_DIFF_TABLES; by++) {
        fm_code_groups_clear(&diff->tables[by].groups[0]);
        fm_code_groups_clear(&diff->tables[by].groups[1]);
        free(diff->tables[by].rows);
    }
    for (size_t i = 0; i < diff->file_count; i++) fm_line_match_clear(&diff->files[i].lines);
    for (size_t i = 0; i < diff->condition_count; i++) free(diff->conditions[i].text);
    free(diff->conditions);
    free(diff->files);
    free(diff->names[0]);
    free(diff->names[1]);
    free(diff);
}
