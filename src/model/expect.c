/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expect.c - how much of a prediction is to be believed (docs/PREDICT.md, "What to expect").
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
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "model/bars.h"
#include "model/growth_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void doubt(doubts *most, double overlap, double references)
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
    fm_bars_of_model(&with, model, size, 1);
    fm_bars_of_model(&without, part, size, 1);
    doubt(&found->here, fm_bars_difference(&with, &without),
          log2(fm_model_references(part, size) / fm_model_references(model, size)));
    for (size_t i = first; i < next && same_side; i++) {
        fm_bars_of_run(&seen, &runs[i], model->share_count);
        fm_bars_of_model(&without, part, runs[i].size, 1);
        doubt(&found->there, fm_bars_difference(&seen, &without),
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
        fm_bars_of_run(&bars, one, model->share_count);
        for (size_t i = first + 1; i < next; i++) {
            fm_bars_of_run(&others, &model->runs[i], model->share_count);
            doubt(&most, fm_bars_difference(&bars, &others),
                  log2((double)model->runs[i].references / (double)one->references));
        }
        first = next;
    }
    return most;
}

/* What the shares' mismatches move over an edge: of so many powers of two each, for each of the size. */
static double moved(const fm_model *model, double octaves)
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
    fm_bars_between(&bars, one, other, model->share_count, size);
    const double references =
        fm_power_through(size, one->size, (double)one->references, other->size, (double)other->references);
    return (doubts){fm_bars_difference(predicted, &bars),
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

static double edges(const fm_model *model, double size, const fm_bars *predicted)
{
    fm_bars over, under;
    fm_bars_of_model(&over, model, size, near_edge);
    fm_bars_of_model(&under, model, size, 1 / near_edge);
    return fmin(most_edge, fmax(fm_bars_difference(predicted, &over), fm_bars_difference(predicted, &under)));
}

static fm_status expect(const fm_model *model, double size, fm_expectation *expectation, fm_error *error)
{
    if (!(size >= 1 && size < 0x1p60))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected a size of the data from 1 to 2^60, found %g",
                       size);
    const place at = place_of(model, size);
    const size_t sizes = fm_runs_sizes(model->runs, model->run_count);
    fm_bars predicted;
    fm_bars_of_model(&predicted, model, size, 1);
    const doubts law = other_law(model, size, &at, &predicted);
    const double edge = edges(model, size, &predicted);
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
        const double mismatch = moved(model, at.to_nearest);
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
    fm_status status = expect(model, size, &found, error);
    fm_sized_copy(expectation, expectation_size, &found, sizeof found);
    return status;
}
