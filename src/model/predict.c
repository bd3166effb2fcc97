/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - the profile that a model expects for data of another size. */
#include <fathom/predict.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/model_internal.h"
#include "profile/profile_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * ======== bars ========
 * A profile as the overlap sees it: the part of all references in each power-of-two bin of distances, and of
 * first touches.
 */

enum { FM_BARS_COLD = 65, FM_BARS = 66 };
typedef struct fm_bars {
    double part[FM_BARS]; /* by the bit length of the distance; they add up to 1 */
} fm_bars;

/* The distance, in the bounds that the number of blocks sets. */
static void bars_add(fm_bars *bars, double distance, double distinct, double part)
{
    const uint64_t whole = (uint64_t)llround(fmax(0, fmin(distance, distinct - 1)));
    bars->part[whole ? 64 - __builtin_clzll(whole) : 0] += part;
}

static double bars_begin(fm_bars *bars, double distinct, double references, size_t shares)
{
    *bars = (fm_bars){{0}};
    bars->part[FM_BARS_COLD] = distinct / references;
    return (1 - bars->part[FM_BARS_COLD]) / (double)shares;
}

/* What the model expects of that size, all distances times `scale`. */
static void bars_of_model(fm_bars *bars, const fm_model *model, double size, double scale)
{
    const double distinct = fm_model_distinct(model, size);
    const double part = bars_begin(bars, distinct, fm_model_references(model, size), model->share_count);
    double powers[FM_GROWTHS];
    for (int g = 0; g < FM_GROWTHS; g++) powers[g] = pow(size, fm_growth_exponent((fm_growth)g));
    for (size_t i = 0; i < model->share_count; i++) {
        const fm_model_share *share = &model->shares[i];
        bars_add(bars, (share->c + share->e * powers[share->growth]) * scale, distinct, part);
    }
}

/* What was seen in a run of so many shares. */
static void bars_of_run(fm_bars *bars, const fm_training_run *run, size_t shares)
{
    const double part = bars_begin(bars, (double)run->distinct, (double)run->references, shares);
    for (size_t i = 0; i < shares; i++) bars_add(bars, run->distances[i], (double)run->distinct, part);
}

/* The power of the size that goes through both points. */
static double power_through(double size, double size1, double value1, double size2, double value2)
{
    return value1 * pow(value2 / value1, log(size / size1) / log(size2 / size1));
}

/* Powers of the size through two runs of different sizes: of each distance, and of the counts. */
static void bars_between(fm_bars *bars, const fm_training_run *one, const fm_training_run *other,
                         size_t shares, double size)
{
    const double where = log(size / one->size) / log(other->size / one->size);
    const double distinct = fmin(
        fmax(1, (double)one->distinct * pow((double)other->distinct / (double)one->distinct, where)), 0x1p61);
    const double references =
        (double)one->references * pow((double)other->references / (double)one->references, where);
    const double part = bars_begin(bars, distinct, fmax(references, distinct), shares);
    /* Distances start at 0: one is added. */
    for (size_t i = 0; i < shares; i++)
        bars_add(bars,
                 (one->distances[i] + 1) * pow((other->distances[i] + 1) / (one->distances[i] + 1), where) -
                     1,
                 distinct, part);
}

/* E/2 of Ding & Zhong: 1 less the overlap. */
static double bars_difference(const fm_bars *a, const fm_bars *b)
{
    double sum = 0;
    for (int i = 0; i < FM_BARS; i++) sum += fabs(a->part[i] - b->part[i]);
    return sum / 2;
}

/*
 * ======== expect ========
 * How much of a prediction is to be believed (docs/PREDICT.md, "What to expect").
 *
 * The result is a limit that the actual profile keeps in nine cases of ten, so that everything that can be
 * doubted is: the pattern, by another law through the two nearest sizes; the fit, by leaving out each size in
 * turn, and predicting it from the others; the distance from the sizes seen; what lies near the edge of a
 * bin; and the number of references. With two sizes nothing can be left out: what does not fit the patterns
 * decides instead, and the limit is lower.
 *
 * The weights were found by quantile regression on the programs that bench/predict_programs.py calls TUNED;
 * bench/bench_predict.py measures how they do on others.
 */

enum { MOST_LEFT_OUT = 8 };                             /* sizes that are left out in turn */
static const double near_edge = 1.05, most_edge = 0.05; /* of a distance; of all references */

/* ---- where the size is ---- */

typedef struct place {
    double octaves;     /* powers of two beyond the sizes seen; 0: between them */
    double to_nearest;  /* the same, or, between them, to the nearer end */
    double reach;       /* how many times the range that was seen it goes beyond; at least 1 */
    size_t below, over; /* the two runs that are nearest, of different sizes */
    int side;           /* -1: below all runs, 0: between them, 1: over them */
} place;

static place place_of(const fm_model *model, double size)
{
    const fm_training_run *runs = model->runs;
    const size_t count = model->run_count;
    const double from = runs[0].size, to = runs[count - 1].size;
    place at = {.below = 0, .over = count - 1, .side = size > to ? 1 : size < from ? -1 : 0};
    if (at.side > 0) {
        at.below = count - 1;
        while (at.below > 0 && runs[at.below].size * FM_SIZES_APART > to) at.below--;
    } else if (at.side < 0) {
        at.over = fm_runs_next_size(runs, count, 0);
    } else {
        while (at.below + 1 < count && runs[at.below + 1].size <= size) at.below++;
        while (at.over > 0 && runs[at.over - 1].size >= size) at.over--;
        if (runs[at.over].size <
            runs[at.below].size * FM_SIZES_APART) { /* at one of the sizes that were seen */
            while (at.over + 1 < count && runs[at.over].size < runs[at.below].size * FM_SIZES_APART)
                at.over++;
            while (at.below > 0 && runs[at.over].size < runs[at.below].size * FM_SIZES_APART) at.below--;
        }
    }
    at.octaves = at.side > 0 ? log2(size / to) : at.side < 0 ? log2(from / size) : 0;
    at.to_nearest = at.side ? at.octaves : fmin(log2(to / size), log2(size / from));
    at.reach = fmax(1, at.octaves / log2(to / from));
    return at;
}

/* ---- leaving out ---- */

/* Differences of overlap (0 to 1) and of the number of references (powers of two). */
typedef struct doubts {
    double overlap, references;
} doubts;

static void doubts_add(doubts *most, double overlap, double references)
{
    most->overlap = fmax(most->overlap, overlap);
    most->references = fmax(most->references, fabs(references));
}

typedef struct left_out {
    doubts there; /* at the sizes that were left out, on the same side as the one that is asked for */
    doubts here;  /* at the size that is asked for, between the models with and without */
} left_out;

/* The runs [first, next) of one size, predicted from the others. `part` has room for the others. */
static fm_status leave_out(const fm_model *model, size_t first, size_t next, double size, bool same_side,
                           fm_model *part, left_out *found, fm_error *error)
{
    const fm_training_run *runs = model->runs;
    memcpy(part->runs, runs, first * sizeof *runs);
    memcpy(part->runs + first, runs + next, (model->run_count - next) * sizeof *runs);
    part->run_count = model->run_count - (next - first);
    fm_status status = fm_model_fit(part, 0, error);
    if (status != FM_OK) return status;
    fm_bars with, without, seen;
    bars_of_model(&with, model, size, 1);
    bars_of_model(&without, part, size, 1);
    doubts_add(&found->here, bars_difference(&with, &without),
               log2(fm_model_references(part, size) / fm_model_references(model, size)));
    for (size_t i = first; i < next && same_side; i++) {
        bars_of_run(&seen, &runs[i], model->share_count);
        bars_of_model(&without, part, runs[i].size, 1);
        doubts_add(&found->there, bars_difference(&seen, &without),
                   log2(fm_model_references(part, runs[i].size) / (double)runs[i].references));
    }
    return FM_OK;
}

/* Each size in turn, or some of them where they are many: the smallest and the largest always. */
static fm_status leave_out_each(const fm_model *model, double size, const place *at, size_t sizes,
                                left_out *found, fm_error *error)
{
    fm_model part = *model;
    part.runs = fm_calloc(model->run_count, sizeof *part.runs);
    part.shares = fm_calloc(model->share_count, sizeof *part.shares);
    fm_status status = part.runs && part.shares
                           ? FM_OK
                           : fm_fail_memory(error, model->share_count * sizeof *part.shares, "a model");
    const size_t steps = sizes > MOST_LEFT_OUT ? MOST_LEFT_OUT : sizes;
    size_t taken = 0;
    for (size_t i = 0, first = 0; i < sizes && status == FM_OK; i++) {
        const size_t next = fm_runs_next_size(model->runs, model->run_count, first);
        const int side = i == 0 ? -1 : i + 1 == sizes ? 1 : 0;
        if (i == taken * (sizes - 1) / (steps - 1)) {
            taken++;
            status = leave_out(model, first, next, size, side == at->side, &part, found, error);
        }
        first = next;
    }
    free(part.runs);
    free(part.shares);
    return status;
}

/* ---- the sum of it ---- */

/* Between runs of one size: what differs there does not follow from the size. */
static doubts same_size(const fm_model *model)
{
    doubts most = {0};
    for (size_t first = 0; first < model->run_count;) {
        const size_t next = fm_runs_next_size(model->runs, model->run_count, first);
        const fm_training_run *one = &model->runs[first];
        fm_bars bars, others;
        bars_of_run(&bars, one, model->share_count);
        for (size_t i = first + 1; i < next; i++) {
            bars_of_run(&others, &model->runs[i], model->share_count);
            doubts_add(&most, bars_difference(&bars, &others),
                       log2((double)model->runs[i].references / (double)one->references));
        }
        first = next;
    }
    return most;
}

/* What the shares' mismatches move over an edge: of so many powers of two each, for each of the size. */
static double mismatch_moves(const fm_model *model, double octaves)
{
    double sum = 0;
    for (size_t i = 0; i < model->share_count; i++) sum += fmin(1, model->shares[i].mismatch * octaves);
    return sum / (double)model->share_count;
}

/* By the power law through the two nearest sizes. */
static doubts other_law(const fm_model *model, double size, const place *at, const fm_bars *predicted)
{
    const fm_training_run *one = &model->runs[at->below], *other = &model->runs[at->over];
    fm_bars bars;
    bars_between(&bars, one, other, model->share_count, size);
    const double references =
        power_through(size, one->size, (double)one->references, other->size, (double)other->references);
    return (doubts){bars_difference(predicted, &bars),
                    fabs(log2(references / fm_model_references(model, size)))};
}

/* Of the number of references, by the line through the two nearest sizes: powers of two. */
static double other_line(const fm_model *model, double size, const place *at)
{
    const fm_training_run *one = &model->runs[at->below], *other = &model->runs[at->over];
    const double slope = ((double)other->references - (double)one->references) / (other->size - one->size);
    const double references = (double)one->references + slope * (size - one->size);
    return fabs(log2(fmax(references, fm_model_distinct(model, size)) / fm_model_references(model, size)));
}

static double edges_share(const fm_model *model, double size, const fm_bars *predicted)
{
    fm_bars over, under;
    bars_of_model(&over, model, size, near_edge);
    bars_of_model(&under, model, size, 1 / near_edge);
    return fmin(most_edge, fmax(bars_difference(predicted, &over), bars_difference(predicted, &under)));
}

static fm_status expectation_make(const fm_model *model, double size, fm_expectation *expectation,
                                  fm_error *error)
{
    if (!(size >= 1 && size < 0x1p60))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected a size of the data from 1 to 2^60, found %g",
                       size);
    const place at = place_of(model, size);
    const size_t sizes = fm_runs_sizes(model->runs, model->run_count);
    fm_bars predicted;
    bars_of_model(&predicted, model, size, 1);
    const doubts law = other_law(model, size, &at, &predicted);
    const double edge = edges_share(model, size, &predicted);
    /* Downwards, what does not depend on the size comes to the fore. */
    const bool down = at.side < 0;
    const doubts same = same_size(model);
    double lost = same.overlap + 0.95 * law.overlap, off = same.references;
    if (sizes > 2) {
        left_out found = {0};
        fm_status status = leave_out_each(model, size, &at, sizes, &found, error);
        if (status != FM_OK) return status;
        lost += 0.015 + 0.5 * edge +
                at.reach * ((down ? 0.035 : 0.012) * at.octaves + 0.45 * found.there.overlap +
                            0.2 * found.here.overlap);
        off += 0.05 + (down ? 0.06 : 0) * at.octaves + 2.4 * law.references +
               0.05 * other_line(model, size, &at) + 0.15 * found.there.references +
               0.4 * found.here.references;
    } else {
        const double mismatch = mismatch_moves(model, at.to_nearest);
        lost += 0.04 + edge + ((down ? 0.045 : 0.015) + 0.01 * (at.reach - 1)) * at.octaves + 0.6 * mismatch;
        off += 0.13 + (down ? 0 : 0.03) * at.octaves + 0.62 * other_line(model, size, &at) + 3.3 * mismatch;
    }
    expectation->overlap = fmax(0, 1 - lost);
    expectation->references_factor = exp2(fmin(off, 64));
    expectation->sizes = sizes;
    expectation->octaves = at.octaves;
    expectation->trusted =
        expectation->overlap >= FM_TRUSTED && expectation->references_factor <= FM_TRUSTED_FACTOR;
    return FM_OK;
}

fm_status fm_model_expect_sized(size_t expectation_size, const fm_model *model, double size,
                                fm_expectation *expectation, fm_error *error)
{
    FM_REQUIRE(model, error);
    fm_expectation found = {.references_factor = INFINITY};
    fm_status status = expectation_make(model, size, &found, error);
    fm_sized_copy(expectation, expectation_size, &found, sizeof found);
    return status;
}

/* ======== predict ======== */

/* Shares whose distances cross are put in order again by the bins they fall into. */
static fm_status prediction_fill(fm_profile *profile, const fm_model *model, double size, fm_error *error)
{
    const uint64_t reuses = profile->references - profile->cold;
    const double most = profile->distinct > 0 ? (double)(profile->distinct - 1) : 0;
    const size_t bins = fm_bins_index(FM_BINS_LOGLINEAR, profile->distinct) + 1;
    uint64_t *counts = fm_calloc(bins, sizeof *counts);
    profile->distances.bins = fm_calloc(bins, sizeof *profile->distances.bins);
    if (!counts || !profile->distances.bins) {
        free(counts);
        return fm_fail_memory(error, bins * sizeof *counts, "the predicted histogram");
    }
    uint64_t given = 0;
    for (size_t i = 0; i < model->share_count; i++) {
        const uint64_t upto = i + 1 == model->share_count
                                  ? reuses
                                  : (uint64_t)((double)reuses * (double)(i + 1) / (double)model->share_count);
        const double distance = fmax(0, fmin(fm_share_distance(&model->shares[i], size), most));
        counts[fm_bins_index(FM_BINS_LOGLINEAR, (uint64_t)llround(distance))] += upto - given;
        given = upto;
    }
    fm_histogram *into = &profile->distances;
    for (size_t i = 0; i < bins; i++) {
        if (counts[i] == 0) continue;
        fm_bin bin = {.count = counts[i]};
        fm_bins_range(FM_BINS_LOGLINEAR, i, &bin.lo, &bin.hi);
        fm_bins_range(profile->bins, fm_bins_index(profile->bins, bin.lo + (bin.hi - bin.lo) / 2), &bin.lo,
                      &bin.hi);
        if (into->count > 0 && into->bins[into->count - 1].lo == bin.lo)
            into->bins[into->count - 1].count += bin.count;
        else
            into->bins[into->count++] = bin;
    }
    free(counts);
    return FM_OK;
}

/* Why the limits are as low as they are, for people. */
static void state_doubts(char *text, size_t capacity, const fm_expectation *expected)
{
    int length = 0;
    text[0] = 0;
    if (expected->sizes == 2)
        length = snprintf(text, capacity, "; runs of two sizes only: nothing checks the fit");
    if (expected->octaves > 1 && length >= 0 && (size_t)length < capacity)
        length += snprintf(text + length, capacity - (size_t)length, "; a factor of %.3g from the sizes seen",
                           exp2(expected->octaves));
    if (!expected->trusted && length >= 0 && (size_t)length < capacity)
        snprintf(text + length, capacity - (size_t)length, "%s",
                 expected->overlap < FM_TRUSTED ? ": the model does not trust this fit"
                                                : ": the model does not trust this number of references");
}

static fm_status state_accuracy(fm_profile *profile, const fm_model *model, double size, fm_error *error)
{
    fm_expectation expected;
    fm_status status = fm_model_expect(model, size, &expected, error);
    if (status != FM_OK) return status;
    const double references = (double)profile->references;
    const double least = fmax(references / expected.references_factor, 1);
    const double most = fmin(references * expected.references_factor, 0x1p63);
    char doubtful[200];
    state_doubts(doubtful, sizeof doubtful, &expected);
    status = fm_accuracy_create(
        &profile->accuracy, error,
        "predicted for data of size %g from %zu runs of size %g to %g; in nine cases "
        "of ten the overlap with the actual profile is at least %.0f %% (power-of-two "
        "bins), and the actual references are %.3g to %.3g%s",
        size, model->run_count, model->runs[0].size, model->runs[model->run_count - 1].size,
        floor(expected.overlap * 100), least, most, doubtful);
    if (status != FM_OK) return status;
    profile->accuracy->expected_overlap = expected.overlap;
    profile->accuracy->references_least = (uint64_t)least;
    profile->accuracy->references_most = (uint64_t)ceil(most);
    return FM_OK;
}

/* What was learnt from incomplete input is no complete result. */
static fm_status state_incompleteness(fm_profile *profile, const fm_model *model, fm_error *error)
{
    for (size_t i = 0; i < model->run_count; i++) {
        if (!model->runs[i].incomplete) continue;
        const char *name = model->runs[i].name ? model->runs[i].name : "a profile";
        char text[1200];
        snprintf(text, sizeof text, "the model was trained with %.1000s, which is of incomplete input", name);
        profile->complete = false;
        profile->what_missing = strdup(text);
        return profile->what_missing ? FM_OK : fm_fail_memory(error, sizeof text, "the predicted profile");
    }
    return FM_OK;
}

fm_status fm_model_predict(const fm_model *model, double size, fm_bins bins, fm_profile **profile,
                           fm_error *error)
{
    *profile = NULL;
    FM_REQUIRE(model, error);
    const fm_status known = fm_check_choice(bins, FM_BINS_EXACT, "bins", error);
    if (known != FM_OK) return known;
    if (!(size >= 1 && size < 0x1p60))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected a size of the data from 1 to 2^60, found %g",
                       size);
    const double references = model->references_factor * pow(size, model->references_exponent);
    if (!(references < 0x1p62))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "so large a size would have more than 2^62 references");
    fm_profile *made;
    fm_status status = fm_profile_create(&made, error);
    if (status != FM_OK) return status;
    free(made->engine);
    made->engine = strdup("predicted");
    if (!made->engine) status = fm_fail_memory(error, sizeof "predicted", "the predicted profile");
    made->exact = false;
    made->granularity = model->granularity;
    made->elements = model->elements;
    made->bins = bins;
    made->distinct = made->cold = (uint64_t)llround(fm_model_distinct(model, size));
    made->references = (uint64_t)llround(fmax(references, (double)made->cold));
    if (status == FM_OK) status = prediction_fill(made, model, size, error);
    if (status == FM_OK) status = state_accuracy(made, model, size, error);
    if (status == FM_OK) status = state_incompleteness(made, model, error);
    if (status == FM_OK) status = fm_profile_made(made, FM_LAWS_WHOLE, NULL, error);
    if (status != FM_OK) {
        fm_profile_destroy(made);
        return status;
    }
    *profile = made;
    return FM_OK;
}
