/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_pairs.c - which code uses again what other code used: each observation that was seen to its end
 * brings its share of the references to its pair of code.
 *
 * The error of a pair is that of a sum over the stretches of the run (the blocks of the bootstrap), what a
 * weight is worth taken as given: B / (B - 1) times the sum of squares about their mean. Of late references,
 * which few observations are seen to the end of, it is that of a share of them: see below.
 */
#define _GNU_SOURCE /* M_SQRT1_2 */
#include "model/sample_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <fathom/model.h>

#include <math.h>
#include <stdlib.h>

/* What one observation brings. */
typedef struct part {
    uint32_t use, reuse;
    uint32_t range, block;
    uint64_t unit; /* bursts, then watches */
    double share;
} part;

typedef struct parts {
    size_t count, capacity;
    part *all;
} parts;

static fm_status add_part(parts *to, part one, fm_error *error)
{
    void *grown = to->all;
    if (!(one.share > 0)) return FM_OK;
    if (to->count == to->capacity && fm_array_reserve(&grown, &to->capacity, to->count + 1, sizeof one))
        return fm_fail_memory(error, (to->count + 1) * sizeof one, "the pairs of code");
    to->all = grown;
    to->all[to->count++] = one;
    return FM_OK;
}

static uint32_t range_of(const fm_estimate_options *options, double distance)
{
    const uint64_t whole = (uint64_t)llround(fmin(fmax(distance, 0), 0x1p62));
    size_t range = 0;
    while (range + 1 < options->edge_count && options->edges[range + 1] <= whole) range++;
    return (uint32_t)range;
}

typedef struct context {
    const fm_samples *samples;
    const fm_sample_items *items;
    const fm_sample_masses *masses;
    const fm_estimate_options *options;
    uint64_t reach;
    const uint32_t *ranges; /* of distances: of each window and bin */
} context;

/* An observation of this weight was used again at a time distance of this bin. Its share lies in its own
 * window and, as far as they are taken to be alike, in others, where the distance is another. */
static fm_status add_reuse(parts *to, const context *of, part one, double weight, double per_weight,
                           size_t bin, fm_error *error)
{
    const fm_sample_masses *masses = of->masses;
    const uint32_t windows = masses->window_count;
    const uint32_t own = windows > 1 ? fm_sample_window_of(of->items, one.block) : 0;
    part kept[FM_SAMPLE_MOST_WINDOWS];
    size_t count = 0;
    for (uint32_t k = 0; k < windows; k++) {
        const size_t place = k * masses->bin_count + bin;
        double share = weight * per_weight;
        if (windows > 1) {
            const uint32_t common = of->items->levels - 1 - (k == own ? 0 : fm_sample_octave(k ^ own) + 1);
            share = weight * masses->per_weight_across[place * FM_SAMPLE_LEVELS + common];
        }
        size_t i = 0;
        while (i < count && kept[i].range != of->ranges[place]) i++;
        if (i == count) {
            kept[count] = one;
            kept[count].range = of->ranges[place];
            kept[count++].share = 0;
        }
        kept[i].share += share;
    }
    fm_status status = FM_OK;
    for (size_t i = 0; i < count && status == FM_OK; i++) status = add_part(to, kept[i], error);
    return status;
}

static fm_status add_bursts(parts *to, const context *of, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < of->samples->burst_count && status == FM_OK; i++) {
        const fm_sample_burst *burst = &of->samples->bursts[i];
        const fm_burst_reuse *reuse = of->samples->reuses + burst->first;
        for (size_t k = 0; k < burst->found_count + burst->cut_count && status == FM_OK; k++, reuse++) {
            const size_t bin = fm_bins_index(FM_SAMPLE_BINS, reuse->time);
            const bool found = k < burst->found_count;
            const double weight = burst->weight / (double)burst->uses * (double)reuse->count;
            const double per_weight = of->masses->per_weight_of_bin[bin];
            part one = {reuse->use, reuse->reuse, FM_RANGE_COLD, of->items->burst_blocks[i], i, 0};
            if (of->reach && bin >= fm_bins_index(FM_SAMPLE_BINS, of->reach)) continue;
            if (!found && !burst->ended) continue;
            one.share = weight * per_weight;
            status =
                found ? add_reuse(to, of, one, weight, per_weight, bin, error) : add_part(to, one, error);
        }
    }
    return status;
}

/* By items and not by watches: these have the weights. */
static fm_status add_watches(parts *to, const context *of, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < of->items->count && status == FM_OK; i++) {
        const fm_sample_item *item = &of->items->items[i];
        if (item->watch == FM_ITEM_OF_BURSTS || (item->kind != FM_ITEM_REUSED && item->kind != FM_ITEM_NEVER))
            continue;
        const fm_sample_watch *watch = &of->samples->watches[item->watch];
        const bool again = item->kind == FM_ITEM_REUSED;
        const double per_weight = of->masses->per_weight_of_watch[item->watch];
        const part one = {watch->use,
                          again ? watch->reuse : 0,
                          FM_RANGE_COLD,
                          item->block,
                          of->samples->burst_count + item->watch,
                          item->weight * per_weight};
        status = again ? add_reuse(to, of, one, item->weight, per_weight, item->bin, error)
                       : add_part(to, one, error);
    }
    return status;
}

static int by_pair(const void *a, const void *b)
{
    const part *x = a, *y = b;
    const bool never_x = x->range == FM_RANGE_COLD, never_y = y->range == FM_RANGE_COLD;
    if (never_x != never_y) return never_x - never_y;
    if (x->use != y->use) return x->use < y->use ? -1 : 1;
    if (x->reuse != y->reuse) return x->reuse < y->reuse ? -1 : 1;
    if (x->range != y->range) return x->range < y->range ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

/* ---- groups ---- */

/* A part has its group in `use` then. */
static int by_group(const void *a, const void *b)
{
    const part *x = a, *y = b;
    if (x->use != y->use) return x->use < y->use ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

/* ---- pairs ---- */

static int by_unit(const void *a, const void *b)
{
    const part *x = a, *y = b;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

static bool same_pair(const part *a, const part *b)
{
    return a->use == b->use && a->reuse == b->reuse &&
           (a->range == FM_RANGE_COLD) == (b->range == FM_RANGE_COLD);
}

/* parts[0 … count) are of one pair. sums: a number for each block. */
static fm_pair_estimate sum_pair(part *of, size_t count, uint32_t blocks, double references, double *sums)
{
    fm_pair_estimate pair = {.use = of->use, .reuse = of->reuse, .never = of->range == FM_RANGE_COLD};
    double share = 0, squares = 0;
    for (uint32_t block = 0; block < blocks; block++) sums[block] = 0;
    for (size_t i = 0; i < count; i++) {
        share += of[i].share;
        sums[of[i].block] += of[i].share;
    }
    for (uint32_t block = 0; block < blocks; block++) {
        const double off = sums[block] - share / blocks;
        squares += off * off;
    }
    pair.references = share * references;
    /* One block alone tells nothing: it may be wholly wrong. */
    pair.error = blocks > 1 ? sqrt(squares * blocks / (blocks - 1)) * references : pair.references;
    qsort(of, count, sizeof *of, by_unit);
    for (size_t i = 0; i < count; i++) pair.samples += i == 0 || of[i].unit != of[i - 1].unit;
    return pair;
}

static int by_references(const void *a, const void *b)
{
    const fm_pair_estimate *x = a, *y = b;
    if (x->references != y->references) return x->references > y->references ? -1 : 1;
    if (x->use != y->use) return x->use < y->use ? -1 : 1;
    if (x->reuse != y->reuse) return x->reuse < y->reuse ? -1 : 1;
    return x->never - y->never;
}

/* Counts by pair and range that sum to those of the profile: each is what the running sum, rounded, grows by.
 */
static fm_status make_raw(fm_estimate *estimate, const parts *of, fm_error *error)
{
    const uint64_t reused = estimate->profile->references - estimate->profile->cold;
    fm_raw_pair *raw = fm_calloc(of->count + 2, sizeof *raw);
    if (!raw) return fm_fail_memory(error, (of->count + 2) * sizeof *raw, "the pairs of code");
    size_t count = 0;
    double all = 0, running = 0;
    uint64_t given = 0;
    for (size_t i = 0; i < of->count && of->all[i].range != FM_RANGE_COLD; i++) all += of->all[i].share;
    for (size_t i = 0; i < of->count && of->all[i].range != FM_RANGE_COLD; i++) {
        const part *one = &of->all[i];
        running += one->share;
        const bool last = i + 1 == of->count || of->all[i + 1].range == FM_RANGE_COLD;
        const double scaled = running / all * (double)reused;
        uint64_t upto = last || scaled >= (double)reused ? reused : (uint64_t)scaled;
        if (upto < given) upto = given;
        if (upto == given) continue;
        fm_raw_pair *before = count > 0 ? &raw[count - 1] : NULL;
        if (before && before->use == one->use && before->reuse == one->reuse && before->range == one->range)
            before->count += upto - given;
        else
            raw[count++] = (fm_raw_pair){one->use, one->reuse, one->range, upto - given};
        given = upto;
    }
    if (given < reused) raw[count++] = (fm_raw_pair){0, 0, 0, reused - given};
    if (estimate->profile->cold > 0)
        raw[count++] = (fm_raw_pair){0, 0, FM_RANGE_COLD, estimate->profile->cold};
    estimate->raw = raw;
    estimate->raw_count = count;
    return FM_OK;
}

static fm_status make_pairs(fm_estimate *estimate, parts *of, uint32_t blocks, double unseen, fm_error *error)
{
    const double references = (double)estimate->profile->references;
    estimate->pairs = fm_calloc(of->count + 1, sizeof *estimate->pairs);
    double *sums = fm_calloc(blocks + 1, sizeof *sums);
    if (!estimate->pairs || !sums) {
        free(sums);
        return fm_fail_memory(error, of->count * sizeof *estimate->pairs, "the pairs of code");
    }
    size_t count = 0;
    for (size_t from = 0, to; from < of->count; from = to) {
        for (to = from + 1; to < of->count && same_pair(&of->all[from], &of->all[to]);) to++;
        estimate->pairs[count++] = sum_pair(&of->all[from], to - from, blocks, references, sums);
    }
    free(sums);
    /* What was cut off last, of unknown code, and so not sure at all. */
    if (unseen * references >= 1)
        estimate->pairs[count++] = (fm_pair_estimate){
            .references = unseen * references, .error = unseen * references, .never = true};
    estimate->pair_count = count;
    qsort(estimate->pairs, count, sizeof *estimate->pairs, by_references);
    return FM_OK;
}

/* ---- late references: by pair, by group ---- */

/*
 * Late references of all code together are known from all observations (those that were cut off tell how many
 * are left), and their error is that of the miss ratio, in the band. Whose they are is known only from those
 * that were seen to their ends: the error of a share of them is that of a ratio of two sums over stretches.
 */
typedef struct late_sums {
    uint32_t blocks;
    double *all, *own; /* of each block: all late ones, those of one pair or group */
    double total;      /* of all */
    double error;      /* of total */
} late_sums;

static bool is_late(const part *one, const fm_estimate_options *options)
{
    return one->range == FM_RANGE_COLD || options->edges[one->range] >= options->late_from;
}

/* How many standard errors a band of this confidence is wide, to either side. */
static double errors_in(double confidence)
{
    double low = 0, high = 40;
    for (unsigned i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (erf(middle * M_SQRT1_2) < confidence)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* By the stretches, as if nothing were known but what was seen to its end; or by the band, which has an
 * allowance for the model in it: whichever is less. */
static double late_error(const late_sums *of, const fm_profile *profile, const fm_estimate_options *options)
{
    double least, most, squares = 0;
    if (options->late_from == 0) return 0; /* all references are late */
    for (uint32_t block = 0; block < of->blocks; block++)
        squares += (of->all[block] - of->total / of->blocks) * (of->all[block] - of->total / of->blocks);
    const double seen = of->blocks > 1 ? sqrt(squares * of->blocks / (of->blocks - 1)) : of->total;
    if (!fm_profile_band(profile, options->late_from, &least, &most)) return seen;
    const double ratio = fm_profile_miss_ratio(profile, options->late_from);
    return fmin(seen, fmax(most - ratio, ratio - least) / errors_in(profile->accuracy->confidence));
}

static bool late_sums_make(late_sums *of, const parts *from, uint32_t blocks, const fm_profile *profile,
                           const fm_estimate_options *options)
{
    *of = (late_sums){.blocks = blocks, .all = fm_calloc(2 * ((size_t)blocks + 1), sizeof *of->all)};
    if (!of->all) return false;
    of->own = of->all + blocks + 1;
    for (size_t i = 0; i < from->count; i++) {
        if (!is_late(&from->all[i], options)) continue;
        of->all[from->all[i].block] += from->all[i].share;
        of->total += from->all[i].share;
    }
    of->error = late_error(of, profile, options);
    return true;
}

/* parts[0 … count), all of them late, are of one pair or group. */
static fm_pair_estimate sum_late(part *of, size_t count, const late_sums *late, double references)
{
    fm_pair_estimate made = sum_pair(of, count, late->blocks, references, late->own);
    const double ratio = late->total > 0 ? made.references / references / late->total : 0;
    double squares = 0;
    for (uint32_t block = 0; block < late->blocks; block++) {
        const double off = late->own[block] - ratio * late->all[block];
        squares += off * off;
    }
    if (late->blocks > 1)
        made.error =
            hypot(sqrt(squares * late->blocks / (late->blocks - 1)), ratio * late->error) * references;
    return made;
}

/* Moves those of a pair that are late, and used again, to the front. Returns how many. */
static size_t late_first(part *of, size_t count, const fm_estimate_options *options)
{
    size_t late = 0;
    for (size_t i = 0; i < count; i++) {
        const part one = of[i];
        if (one.range == FM_RANGE_COLD || !is_late(&one, options)) continue;
        of[i] = of[late];
        of[late++] = one;
    }
    return late;
}

static fm_status make_late_pairs(fm_estimate *estimate, const parts *of, const late_sums *late,
                                 const fm_estimate_options *options, fm_error *error)
{
    const double references = (double)estimate->profile->references;
    estimate->late_pairs = fm_calloc(estimate->pair_count + 1, sizeof *estimate->late_pairs);
    if (!estimate->late_pairs)
        return fm_fail_memory(error, estimate->pair_count * sizeof *estimate->late_pairs,
                              "the pairs of code");
    for (size_t from = 0, to; from < of->count; from = to) {
        for (to = from + 1; to < of->count && same_pair(&of->all[from], &of->all[to]);) to++;
        const size_t count = late_first(&of->all[from], to - from, options);
        if (count)
            estimate->late_pairs[estimate->late_pair_count++] =
                sum_late(&of->all[from], count, late, references);
    }
    if (estimate->late_pair_count)
        qsort(estimate->late_pairs, estimate->late_pair_count, sizeof *estimate->late_pairs, by_references);
    return FM_OK;
}

/* The late ones alone, each with its group. */
static size_t keep_late(parts *of, const fm_estimate_options *options)
{
    size_t kept = 0;
    for (size_t i = 0; i < of->count; i++) {
        part one = of->all[i];
        if (!is_late(&one, options)) continue;
        const uint32_t tag = one.range == FM_RANGE_COLD ? one.use : one.reuse;
        one.use = tag < options->tag_count ? options->groups[tag] : 0;
        of->all[kept++] = one;
    }
    return kept;
}

static fm_status make_groups(fm_estimate *estimate, parts *of, const late_sums *late,
                             const fm_estimate_options *options, fm_error *error)
{
    if (!options->groups) return FM_OK;
    const double references = (double)estimate->profile->references;
    const size_t count = keep_late(of, options);
    estimate->groups = fm_calloc(count + 1, sizeof *estimate->groups);
    if (!estimate->groups)
        return fm_fail_memory(error, count * sizeof *estimate->groups, "the groups of references");
    if (count) qsort(of->all, count, sizeof *of->all, by_group);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && of->all[to].use == of->all[from].use;) to++;
        const uint32_t group = of->all[from].use;
        double never = 0;
        for (size_t i = from; i < to; i++)
            if (of->all[i].range == FM_RANGE_COLD) never += of->all[i].share;
        const fm_pair_estimate sum = sum_late(&of->all[from], to - from, late, references);
        estimate->groups[estimate->group_count++] = (fm_group_estimate){.group = group,
                                                                        .references = sum.references,
                                                                        .never = never * references,
                                                                        .error = sum.error,
                                                                        .samples = sum.samples};
    }
    return FM_OK;
}

static fm_status make_late(fm_estimate *estimate, parts *of, uint32_t blocks,
                           const fm_estimate_options *options, fm_error *error)
{
    late_sums late;
    if (!options->edges) return FM_OK;
    if (!late_sums_make(&late, of, blocks, estimate->profile, options))
        return fm_fail_memory(error, blocks * 2 * sizeof *late.all, "the pairs of code");
    fm_status status = make_late_pairs(estimate, of, &late, options, error);
    if (status == FM_OK) status = make_groups(estimate, of, &late, options, error);
    free(late.all);
    return status;
}

fm_status fm_sample_pairs(fm_estimate *estimate, const fm_samples *samples, const fm_sample_items *items,
                          const fm_sample_masses *masses, const fm_estimate_options *options, fm_error *error)
{
    const size_t places = masses->bin_count * masses->window_count;
    uint32_t *ranges = fm_calloc(places, sizeof *ranges);
    if (!ranges) return fm_fail_memory(error, places * sizeof *ranges, "the pairs of code");
    for (size_t i = 0; i < places; i++) ranges[i] = range_of(options, masses->distances[i]);
    const context of = {samples, items, masses, options, items->survival ? options->reach : 0, ranges};
    parts all = {0};
    fm_status status = add_bursts(&all, &of, error);
    if (status == FM_OK) status = add_watches(&all, &of, error);
    if (all.count) qsort(all.all, all.count, sizeof *all.all, by_pair);
    if (status == FM_OK) status = make_raw(estimate, &all, error);
    if (status == FM_OK) status = make_pairs(estimate, &all, items->blocks, masses->unseen, error);
    if (status == FM_OK) status = make_late(estimate, &all, items->blocks, options, error);
    free(all.all);
    free(ranges);
    return status;
}

fm_status fm_estimate_tell_errors(const fm_estimate *estimate, fm_attribution *attribution,
                                  const uint32_t *map, size_t map_count, fm_error *error)
{
    FM_REQUIRE(estimate, error);
    FM_REQUIRE(attribution, error);
    const size_t count = estimate->late_pair_count;
    fm_pair_error *raw = fm_calloc(count + 1, sizeof *raw);
    if (!raw) return fm_fail_memory(error, count * sizeof *raw, "the errors of pairs");
    for (size_t i = 0; i < count; i++) {
        const fm_pair_estimate *pair = &estimate->late_pairs[i];
        raw[i] = (fm_pair_error){pair->use, pair->reuse, (uint64_t)llround(fmin(pair->error, 0x1p62)),
                                 pair->samples};
    }
    const fm_status status = fm_attribution_add_pair_errors(attribution, raw, count, map, map_count, error);
    free(raw);
    return status;
}
