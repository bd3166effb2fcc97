/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_profile.c - the profile of a region (fathom/static.h): the one place that chooses a method.
 *
 * Few accesses are walked over, where the caller can do that: nothing is surer. Else the methods that give an
 * exact result are tried, in the time allowed, and where none does, it is sampled; unless a walk would be
 * done in the time that is left.
 */
#include "static/counter/counter.h"
#include "static/counts/counts.h"
#include "static/reconstruct/reconstruct.h"

#include "base/error.h"
#include "base/memory.h"
#include "profile/profile_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WALKED_PER_SECOND = 30000000 }; /* accesses, at least */

typedef struct task {
    const fm_region *region;
    fm_static_options options;
    fm_reference_list list;
    double began;
    fm_placement *placement;
} task;

/* What a method found. */
typedef struct finding {
    fm_static_counted counted;
    fm_profile *walked; /* instead of what was counted, with its pairs */
    fm_raw_pair *pairs;
    size_t pair_count;
    bool exact;
    const char *certainty;
    char method[160];
    uint64_t samples; /* where it is not exact */
    double band;
} finding;

typedef struct method {
    const char *name, *about;
    double share; /* of the time allowed that it may take before the next one is tried */
    fm_status (*find)(const task *of, double deadline, finding *found, fm_error *error);
} method;

/* ---- methods ---- */

/* From references to accesses. */
static fm_status take_reuses(const task *of, const fm_reuses *reuses, fm_static_counted *counted,
                             fm_error *error)
{
    fm_status status = FM_OK;
    const fm_reference *references = of->list.references;
    for (size_t i = 0; i < reuses->count && status == FM_OK; i++) {
        const fm_reuse_count *item = &reuses->items[i];
        if (item->count > 0)
            status = fm_static_counted_add(counted, references[item->from].access,
                                           references[item->to].access, item->distance, item->count, error);
    }
    for (size_t i = 0; i < reuses->reference_count && status == FM_OK; i++)
        if (reuses->firsts[i] > 0)
            status = fm_static_counted_add(counted, FM_FIRST_TOUCH, references[i].access, 0,
                                           reuses->firsts[i], error);
    return status == FM_OK ? fm_static_counted_finish(counted, error) : status;
}

static fm_status find_sampled(const task *of, double deadline, finding *found, fm_error *error)
{
    const fm_sample_options options = {.samples = of->options.samples,
                                       .sets = of->options.sets,
                                       .seed = of->options.seed,
                                       .deadline = deadline};
    fm_sampled_reuses sampled;
    fm_status status = fm_sample(&sampled, &of->list, &options, error);
    if (status != FM_OK) return status;
    status = take_reuses(of, &sampled.reuses, &found->counted, error);
    found->exact = sampled.exact;
    found->certainty = sampled.exact ? "exact" : "sampled";
    found->samples = sampled.samples;
    found->band = sampled.band;
    if (sampled.exact)
        snprintf(found->method, sizeof found->method, "every access worked out by itself");
    else
        snprintf(found->method, sizeof found->method,
                 "%" PRIu64 " of %" PRIu64 " accesses drawn at random, each worked out exactly",
                 sampled.samples, sampled.reuses.accesses);
    fm_sampled_reuses_clear(&sampled);
    return status;
}

static fm_status find_counted(const task *of, double deadline, finding *found, fm_error *error)
{
    if (of->options.sets > 1)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "the method 'count' does not know sets of caches");
    const double left = deadline - fm_now();
    if (!(left > 0)) return fm_fail(error, FM_E_LIMIT, NULL, "no time is left to count");
    const fm_grouping grouping = {.bins = of->options.bins,
                                  .edges = of->options.edges,
                                  .edge_count = of->options.edges ? of->options.edge_count : 0};
    fm_status status = fm_count_exactly(&of->list, &grouping, left, &found->counted, error);
    if (status != FM_OK) return status;
    found->exact = true;
    found->certainty = "exact";
    snprintf(found->method, sizeof found->method, "counted: %" PRIu64 " polynomials for %" PRIu64 " accesses",
             found->counted.pieces, found->counted.points);
    return FM_OK;
}

static fm_status find_reconstructed(const task *of, double deadline, finding *found, fm_error *error)
{
    const fm_reconstruct_options options = {
        .sets = of->options.sets, .seed = of->options.seed, .deadline = deadline};
    fm_reconstructed result;
    fm_status status = fm_reconstruct(&result, &of->list, &options, error);
    if (status != FM_OK) return status;
    status = take_reuses(of, &result.reuses, &found->counted, error);
    found->certainty = "reconstructed, checked";
    found->samples = result.checked;
    /* None of so many draws was wrong: with 95 % probability fewer than this share of all accesses are. */
    found->band = result.checked ? -log(0.05) / (double)result.checked : 1;
    snprintf(found->method, sizeof found->method,
             "polynomials through %" PRIu64 " of %" PRIu64 " accesses; %" PRIu64
             " others, drawn at random, compared: all equal",
             result.asked, result.reuses.accesses, result.checked);
    fm_reconstructed_clear(&result);
    return status;
}

static fm_status find_walked(const task *of, double deadline, finding *found, fm_error *error)
{
    fm_status status = of->options.walk(of->options.walk_context, deadline - fm_now(), &found->walked,
                                        &found->pairs, &found->pair_count, error);
    if (status == FM_E_LIMIT)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "working all accesses off takes longer than the %g s that are allowed",
                       of->options.limit_seconds);
    if (status != FM_OK) return status;
    found->exact = true;
    found->certainty = "exact";
    snprintf(found->method, sizeof found->method, "every access worked out, one after the other");
    free(found->walked->engine);
    found->walked->engine = strdup("static");
    return found->walked->engine ? FM_OK : fm_fail_memory(error, sizeof "static", "a profile");
}

enum { WALK, COUNT, RECONSTRUCT, SAMPLE, METHODS };
static const method methods[METHODS] = {
    [WALK] = {"walk", "every access, one after the other", 1, find_walked},
    [COUNT] = {"count", "relations of whole numbers, counted by exact arithmetic: proved", 0.5, find_counted},
    [RECONSTRUCT] = {"reconstruct", "polynomials through single accesses, checked by others", 0.9,
                     find_reconstructed},
    [SAMPLE] = {"sample", "some accesses, drawn at random, each worked out exactly", 1, find_sampled},
};

const char *fm_static_method_at(size_t index, const char **about)
{
    if (index >= METHODS) return NULL;
    if (about) *about = methods[index].about;
    return methods[index].name;
}

/* ---- the profile ---- */

static double miss_ratio(const fm_profile *profile, uint64_t blocks)
{
    uint64_t hits = 0;
    for (size_t i = 0; i < profile->distances.count; i++)
        if (profile->distances.bins[i].hi < blocks) hits += profile->distances.bins[i].count;
    return 1 - (double)hits / (double)profile->references;
}

/* The band of the curve at powers of two. First touches are exact: no cache misses less often. */
static fm_status describe_band(const finding *found, fm_profile *profile, fm_error *error)
{
    fm_status status = fm_accuracy_create(&profile->accuracy, error,
                                          "%s; first touches exact; with 95 %% probability no miss ratio is "
                                          "off by more than %.2f %%",
                                          found->method, 100 * found->band);
    if (status != FM_OK) return status;
    fm_accuracy *accuracy = profile->accuracy;
    accuracy->samples = found->samples;
    accuracy->rate = (double)found->samples / (double)profile->references;
    accuracy->confidence = 0.95;
    accuracy->band = fm_calloc(65, sizeof *accuracy->band);
    if (!accuracy->band) return fm_fail_memory(error, 65 * sizeof *accuracy->band, "a band");
    const double surely = (double)profile->cold / (double)profile->references;
    for (uint64_t blocks = 1; blocks <= 2 * profile->distinct && accuracy->band_count < 64; blocks *= 2) {
        const double ratio = miss_ratio(profile, blocks);
        fm_band_point *point = &accuracy->band[accuracy->band_count++];
        point->blocks = blocks;
        point->least = ratio - found->band > surely ? ratio - found->band : surely;
        point->most = ratio + found->band < 1 ? ratio + found->band : 1;
    }
    return FM_OK;
}

/* Which lines re-use data too late; the pairs go to the caller, where it wants them. */
static fm_status attribute_pairs(const task *of, finding *found, fm_profile *profile, fm_error *error)
{
    const fm_static_options *options = &of->options;
    fm_status status = FM_OK;
    if (!found->pairs)
        status = fm_counted_pairs(&found->counted, options->edges, options->edge_count, &found->pairs,
                                  &found->pair_count, error);
    if (status == FM_OK)
        status = fm_region_attribute(of->region, found->pairs, found->pair_count, options->edges,
                                     options->edge_count, options->late_from, &profile->attribution, error);
    if (status != FM_OK || !options->pairs) return status;
    *options->pairs = found->pairs;
    *options->pair_count = found->pair_count;
    found->pairs = NULL;
    return FM_OK;
}

static fm_status describe_profile(const task *of, finding *found, fm_profile *profile, fm_error *error)
{
    const fm_static_options *options = &of->options;
    fm_status status = FM_OK;
    profile->exact = found->exact;
    if (options->edges) status = attribute_pairs(of, found, profile, error);
    if (status == FM_OK && !found->exact) status = describe_band(found, profile, error);
    if (status != FM_OK) return status;
    fm_kernel *kernel = profile->kernel = fm_calloc(1, sizeof *kernel);
    if (kernel) {
        kernel->certainty = strdup(found->certainty);
        kernel->method = strdup(found->method);
        kernel->layout = strdup(options->layout == FM_LAYOUT_ALIGNED ? "aligned" : "contiguous");
        kernel->seconds = fm_now() - of->began;
    }
    return kernel && kernel->certainty && kernel->method && kernel->layout
               ? FM_OK
               : fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a profile");
}

/* The reason is the last method's. */
static fm_status give_up(const task *of, fm_error *error)
{
    char reason[200];
    if (!error) return FM_E_LIMIT;
    snprintf(reason, sizeof reason, "%.199s", error->reason);
    return fm_fail(error, FM_E_LIMIT, NULL,
                   "given up: neither an exact result nor samples in the %g s that are allowed: %s",
                   of->options.limit_seconds, reason);
}

/* What all methods but the walk work with. */
static fm_status find_references(task *of, fm_error *error)
{
    fm_status status =
        fm_placement_create(&of->placement, of->region, of->options.granularity, of->options.layout, error);
    return status == FM_OK ? fm_references_create(&of->list, of->region, of->placement, error) : status;
}

static void drop_finding(finding *found)
{
    fm_static_counted_clear(&found->counted);
    fm_profile_destroy(found->walked);
    free(found->pairs);
    *found = (finding){0};
}

/* The surest method that is done in time. The last one has half of the time again, and two seconds: it should
 * be able to answer. */
static fm_status find_surest(task *of, finding *found, fm_error *error)
{
    const double limit = of->options.limit_seconds, began = of->began;
    const bool can_walk = of->options.walk && of->options.counts;
    const uint64_t accesses = can_walk ? fm_counted_accesses(of->options.counts) : 0;
    const bool walked = can_walk && accesses <= FM_FEW_ACCESSES;
    fm_status status;
    if (walked) {
        status = find_walked(of, began + limit, found, error);
        if (status != FM_E_LIMIT) return status;
        of->began = fm_now();
    }
    status = find_references(of, error);
    if (status != FM_OK) return status;
    for (int i = COUNT; i < SAMPLE; i++) {
        status = methods[i].find(of, of->began + limit * methods[i].share, found, error);
        if (status == FM_OK) return status;
        drop_finding(found);
        if (status != FM_E_LIMIT && status != FM_E_UNSUPPORTED) return status;
    }
    status = find_sampled(of, fm_now() + limit / 2 + 2, found, error);
    if (status == FM_E_LIMIT) return give_up(of, error);
    if (status != FM_OK || found->exact || !can_walk || walked) return status;
    if (began + limit - fm_now() <= (double)accesses / WALKED_PER_SECOND) return FM_OK;
    finding surer = {0};
    status = find_walked(of, began + limit, &surer, error);
    if (status == FM_OK) {
        drop_finding(found);
        *found = surer;
    } else {
        drop_finding(&surer);
    }
    return status == FM_E_LIMIT ? FM_OK : status;
}

static fm_status find_by_method(task *of, finding *found, fm_error *error)
{
    const double limit = of->options.limit_seconds;
    if (!of->options.method) return find_surest(of, found, error);
    int chosen = WALK;
    while (chosen < METHODS && strcmp(of->options.method, methods[chosen].name) != 0) chosen++;
    if (chosen == METHODS || (chosen == WALK && !of->options.walk))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no method '%.60s'", of->options.method);
    fm_status status = chosen == WALK ? FM_OK : find_references(of, error);
    if (status != FM_OK) return status;
    return methods[chosen].find(of, chosen == SAMPLE ? fm_now() + limit + 2 : of->began + limit, found,
                                error);
}

static fm_status check_options(const fm_static_options *options, fm_error *error)
{
    if (options->sets > UINT32_MAX) return fm_fail(error, FM_E_ARGUMENT, NULL, "at most 2^32 - 1 sets");
    if (options->pairs && !options->edges)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "pairs need edges of distances");
    if (!(options->limit_seconds > 0))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the time allowed must be more than 0 seconds");
    fm_status status = fm_check_choice(options->bins, FM_BINS_EXACT, "fm_static_options.bins", error);
    if (status == FM_OK)
        status = fm_check_choice(options->layout, FM_LAYOUT_ALIGNED, "fm_static_options.layout", error);
    return status;
}

fm_status fm_region_profile_sized(size_t options_size, const fm_region *region,
                                  const fm_static_options *options, fm_profile **profile, fm_error *error)
{
    *profile = NULL;
    FM_REQUIRE(region, error);
    task of = {.region = region, .began = fm_now()};
    finding found = {0};
    fm_status status = fm_sized_read(&of.options, sizeof of.options, options, options ? options_size : 0,
                                     "fm_static_options", error);
    if (status != FM_OK) return status;
    if (of.options.pairs) *of.options.pairs = NULL;
    if (of.options.granularity == 0) of.options.granularity = 64;
    if (of.options.limit_seconds == 0) of.options.limit_seconds = 60;
    status = check_options(&of.options, error);
    if (status == FM_OK) status = find_by_method(&of, &found, error);
    if (status == FM_OK && found.walked) {
        *profile = found.walked;
        found.walked = NULL;
    } else if (status == FM_OK) {
        status = fm_counted_profile(&found.counted, of.options.granularity, of.options.bins, profile, error);
    }
    if (status == FM_OK) status = describe_profile(&of, &found, *profile, error);
    if (status == FM_OK) status = fm_profile_made(*profile, FM_LAWS_WHOLE, NULL, error);
    drop_finding(&found);
    fm_references_clear(&of.list);
    fm_placement_destroy(of.placement);
    if (status != FM_OK) {
        fm_profile_destroy(*profile);
        *profile = NULL;
        if (of.options.pairs) {
            free(*of.options.pairs);
            *of.options.pairs = NULL;
        }
    }
    return status;
}
