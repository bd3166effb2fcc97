/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static_analysis.c - the profile of a region: by the library, or by a walk over every access; and one
 * against the other.
 */
#define _GNU_SOURCE
#include "static/static_run.h"
#include "static/static_text.h"
#include "static/static_walk.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(void)
{
    cli_complain("out of memory");
    return CLI_FAILED;
}
/* Arrays are told where references miss the smallest cache. */
static uint64_t late_from(const cli_static_run *run)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < run->caches.count; i++)
        if (run->caches.caches[i].bytes / run->options->granularity < least)
            least = run->caches.caches[i].bytes / run->options->granularity;
    return least == UINT64_MAX ? 0 : least;
}

static fm_status walk_region(void *context, double limit, fm_profile **profile, fm_raw_pair **pairs,
                             size_t *pair_count, fm_error *error)
{
    const cli_static_run *run = context;
    const cli_walk_options how = {
        .granularity = run->options->granularity,
        .layout = run->layout,
        .bins = run->bins,
        .threads = run->threads,
        .edges = run->edges,
        .edge_count = run->edge_count,
        .limit_seconds = limit,
        .counts = run->counts,
        .progress = run->options->progress,
    };
    return cli_walk(run->region, &how, profile, pairs, pair_count, error);
}

static fm_static_options analysis_options(cli_static_run *run)
{
    return (fm_static_options){
        .granularity = run->options->granularity,
        .layout = run->layout,
        .bins = run->bins,
        .limit_seconds = run->options->limit,
        .samples = run->options->samples,
        .seed = 1,
        .method = run->options->method,
        .walk = walk_region,
        .walk_context = run,
        .counts = run->counts,
    };
}

/* Where the code is, and what it does; how sure the profile is, its maker has said. */
static int label_profile(cli_static_run *run, fm_profile *profile)
{
    fm_kernel *kernel = cli_kernel_create(run->region, run->counts);
    if (!kernel) return out_of_memory();
    kernel->layout = strdup(profile->kernel->layout);
    kernel->certainty = strdup(profile->kernel->certainty);
    kernel->method = strdup(profile->kernel->method);
    kernel->seconds = cli_now() - run->began;
    fm_kernel_destroy(profile->kernel);
    profile->kernel = kernel;
    free(profile->name);
    profile->name = kernel->function ? NULL : strdup(run->path);
    if (kernel->function && asprintf(&profile->name, "%s: %s", run->path, kernel->function) < 0)
        profile->name = NULL;
    return kernel->layout && kernel->certainty && kernel->method && profile->name ? -1 : out_of_memory();
}

int cli_static_analyze(cli_static_run *run)
{
    fm_raw_pair *pairs;
    size_t count;
    fm_error error;
    fm_static_options how = analysis_options(run);
    how.edges = run->edges;
    how.edge_count = run->edge_count;
    how.late_from = late_from(run);
    how.pairs = &pairs;
    how.pair_count = &count;
    fm_status status = fm_region_profile(run->region, &how, &run->profile, &error);
    if (status == FM_E_LIMIT && how.method && strcmp(how.method, "walk") == 0) {
        cli_complain("working all accesses off takes longer than the %g s that --limit-time allows",
                     run->options->limit);
        return CLI_FAILED;
    }
    if (status != FM_OK) return cli_fail(&error);
    int code = cli_static_bound(run, run->profile, pairs, count);
    free(pairs);
    return code < 0 ? label_profile(run, run->profile) : code;
}

/* ---- --verify ---- */

static double largest_difference(const fm_profile *a, const fm_profile *b)
{
    fm_comparison comparison;
    fm_error error;
    return fm_profile_compare(a, b, &comparison, &error) == FM_OK ? comparison.curve_largest : 1;
}

static bool same(const fm_profile *a, const fm_profile *b)
{
    return a->references == b->references && a->cold == b->cold && a->distances.count == b->distances.count &&
           memcmp(a->distances.bins, b->distances.bins, a->distances.count * sizeof(fm_bin)) == 0;
}

int cli_static_verify(cli_static_run *run)
{
    fm_profile *judge = NULL;
    fm_error error;
    int code = -1;
    fm_static_options how = analysis_options(run);
    how.method = "walk";
    how.limit_seconds = HUGE_VAL;
    if (fm_region_profile(run->region, &how, &judge, &error)) return cli_fail(&error);
    const fm_profile *profile = run->profile;
    const double band =
        profile->accuracy && profile->accuracy->band_count ? profile->accuracy->confidence : 0;
    if (same(profile, judge)) {
        cli_note("verified: equal to a walk over all %" PRIu64 " references, bin by bin", judge->references);
    } else if (!profile->exact && band > 0 && profile->references == judge->references &&
               profile->cold == judge->cold) {
        cli_note(
            "verified: references and first touches are equal to those of a walk; the largest difference of "
            "the miss ratios is %.3f %%",
            100 * largest_difference(profile, judge));
    } else {
        cli_complain("the walk over all accesses has another result: %" PRIu64 " references and %" PRIu64
                     " first touches, here %" PRIu64 " and %" PRIu64
                     "; the histograms differ. This is an error of "
                     "fathom",
                     judge->references, judge->cold, profile->references, profile->cold);
        code = CLI_FAILED;
    }
    fm_profile_destroy(judge);
    return code;
}
