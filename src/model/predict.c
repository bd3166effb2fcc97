/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - the profile that a model expects for data of another size. */
#include <fathom/predict.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/growth_fit.h"
#include "profile/laws.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shares whose distances cross are put in order again by the bins they fall into. */
static fm_status fill(fm_profile *profile, const fm_model *model, double size, fm_error *error)
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
    char doubts[200];
    state_doubts(doubts, sizeof doubts, &expected);
    status = fm_accuracy_create(
        &profile->accuracy, error,
        "predicted for data of size %g from %zu runs of size %g to %g; in nine cases "
        "of ten the overlap with the actual profile is at least %.0f %% (power-of-two "
        "bins), and the actual references are %.3g to %.3g%s",
        size, model->run_count, model->runs[0].size, model->runs[model->run_count - 1].size,
        floor(expected.overlap * 100), least, most, doubts);
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
    if (status == FM_OK) status = fill(made, model, size, error);
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
