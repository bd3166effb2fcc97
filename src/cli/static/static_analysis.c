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
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int out_of_memory(void)
{
    cli_complain("out of memory");
    return CLI_FAILED;
}
static uint64_t accesses_of(const cli_static_run *run)
{
    if (!run->counts) return 0;
    uint64_t loads = strtoull(run->counts->loads, NULL, 10), stores = strtoull(run->counts->stores, NULL, 10),
             sum;
    return __builtin_add_overflow(loads, stores, &sum) ? UINT64_MAX : sum;
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

/* Every access. *profile stays NULL where the time is over (and *over is true). */
static int walk_all(cli_static_run *run, double limit, fm_profile **profile, bool *over)
{
    const cli_walk_options how = {
        .granularity = run->options->granularity,
        .layout = run->layout,
        .bins = run->bins,
        .threads = run->threads,
        .edges = run->edges,
        .edge_count = run->edge_count,
        .limit_seconds = limit,
        .accesses = accesses_of(run),
        .progress = run->options->progress,
    };
    fm_error error;
    fm_raw_pair *pairs;
    size_t count;
    fm_status status = cli_walk(run->region, &how, profile, &pairs, &count, &error);
    *over = status == FM_E_LIMIT;
    if (*over) return -1;
    if (status != FM_OK) return cli_fail(&error);
    status = fm_region_attribute(run->region, pairs, count, run->edges, run->edge_count, late_from(run),
                                 &(*profile)->attribution, &error);
    int code = status == FM_OK ? cli_static_bound(run, *profile, pairs, count) : cli_fail(&error);
    free(pairs);
    return code;
}

/* Where the code is, and what it does; how sure the profile is was said by whoever made it. */
static int label(cli_static_run *run, fm_profile *profile, const char *certainty, const char *method)
{
    fm_kernel *kernel = cli_kernel_create(run->region, run->counts);
    if (!kernel) return out_of_memory();
    if (profile->kernel) {
        certainty = profile->kernel->certainty;
        method = profile->kernel->method;
    }
    kernel->layout = strdup(run->layout == FM_LAYOUT_ALIGNED ? "aligned" : "contiguous");
    kernel->certainty = strdup(certainty);
    kernel->method = strdup(method);
    kernel->seconds = cli_now() - run->began;
    fm_kernel_destroy(profile->kernel);
    profile->kernel = kernel;
    free(profile->engine);
    free(profile->name);
    profile->engine = strdup("static");
    profile->name = kernel->function ? NULL : strdup(run->path);
    if (kernel->function && asprintf(&profile->name, "%s: %s", run->path, kernel->function) < 0)
        profile->name = NULL;
    return kernel->layout && kernel->certainty && kernel->method && profile->engine && profile->name
               ? -1
               : out_of_memory();
}

static int work_off(cli_static_run *run, double limit, bool *over)
{
    fm_profile *profile = NULL;
    int code = walk_all(run, limit, &profile, over);
    if (code < 0 && profile)
        code = label(run, profile, "exact", "every access worked out, one after the other");
    if (code >= 0 || !profile) {
        fm_profile_destroy(profile);
        return code;
    }
    fm_profile_destroy(run->profile);
    run->profile = profile;
    return -1;
}

static int compute(cli_static_run *run)
{
    fm_raw_pair *pairs;
    size_t count;
    const fm_static_options how = {
        .granularity = run->options->granularity,
        .layout = run->layout,
        .bins = run->bins,
        .edges = run->edges,
        .edge_count = run->edge_count,
        .late_from = late_from(run),
        .limit_seconds = run->options->limit,
        .samples = run->options->samples,
        .seed = 1,
        .method = run->options->method,
        .pairs = &pairs,
        .pair_count = &count,
    };
    fm_error error;
    if (fm_region_profile(run->region, &how, &run->profile, &error)) return cli_fail(&error);
    int code = cli_static_bound(run, run->profile, pairs, count);
    free(pairs);
    return code < 0 ? label(run, run->profile, NULL, NULL) : code;
}

/*
 * Regions with few accesses are worked off: nothing is surer. For the others the library is asked; where it
 * has no exact answer, and the time allowed is enough, they are worked off all the same.
 */
int cli_static_analyze(cli_static_run *run)
{
    enum { FEW = 200000000, PER_SECOND = 30000000 }; /* accesses */
    const char *method = run->options->method;
    const uint64_t accesses = accesses_of(run);
    bool over = false;
    if (method ? strcmp(method, "walk") == 0 : run->counts && accesses <= FEW) {
        int code = work_off(run, run->options->limit, &over);
        if (code >= 0 || !over) return code;
        if (method) {
            cli_complain("working all accesses off takes longer than the %g s that --limit-time allows",
                         run->options->limit);
            return CLI_FAILED;
        }
    }
    int code = compute(run);
    const bool drawn = code < 0 && strcmp(run->profile->kernel->certainty, "sampled") == 0;
    if (!drawn || method || over || !run->counts) return code;
    const double left = run->options->limit - (cli_now() - run->began);
    return (double)accesses / PER_SECOND < left ? work_off(run, left, &over) : code;
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
    bool over;
    int code = walk_all(run, 0, &judge, &over);
    if (code >= 0) return code;
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
