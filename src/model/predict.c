/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - the profile that a model expects for data of another size. */
#include <fathom/predict.h>

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double fm_model_expected_overlap(const fm_model *model, double size)
{
    const double from = model->runs[0].size, to = model->runs[model->run_count - 1].size;
    /* How far, in powers of two, the size is from the nearest one seen; within them, from the middle. */
    double octaves = fmax(log2(size / to), log2(from / size));
    if (octaves < 0) octaves = fmin(log2(to / size), log2(size / from));
    double lost = 0;
    for (size_t i = 0; i < model->share_count; i++) lost += fmin(1, model->shares[i].mismatch * octaves);
    return 1 - lost / (double)model->share_count;
}

static double share_distance(const fm_model_share *share, double size, double most)
{
    const double distance = share->c + share->e * pow(size, fm_growth_exponent(share->growth));
    return fmax(0, fmin(distance, most));
}

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
        const double distance = share_distance(&model->shares[i], size, most);
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

static fm_status state_accuracy(fm_profile *profile, const fm_model *model, double size, fm_error *error)
{
    const double overlap = fm_model_expected_overlap(model, size);
    fm_status status = fm_accuracy_create(&profile->accuracy, error,
                                          "predicted for data of size %g from %zu runs of size %g to %g; "
                                          "expected overlap with the actual profile "
                                          "%.0f %% (power-of-two bins)%s",
                                          size, model->run_count, model->runs[0].size,
                                          model->runs[model->run_count - 1].size, overlap * 100,
                                          overlap < FM_TRUSTED ? ": the model does not trust this fit" : "");
    if (status == FM_OK) profile->accuracy->expected_overlap = overlap;
    return status;
}

fm_status fm_model_predict(const fm_model *model, double size, fm_bins bins, fm_profile **profile,
                           fm_error *error)
{
    *profile = NULL;
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
    made->bins = bins;
    const double distinct = fmax(1, model->distinct_c + model->distinct_e * size);
    made->distinct = made->cold = (uint64_t)llround(fmin(distinct, 0x1p61));
    made->references = (uint64_t)llround(fmax(references, (double)made->cold));
    if (status == FM_OK) status = fill(made, model, size, error);
    if (status == FM_OK) status = state_accuracy(made, model, size, error);
    if (status != FM_OK) {
        fm_profile_destroy(made);
        return status;
    }
    *profile = made;
    return FM_OK;
}
