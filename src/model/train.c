/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train.c - finds, for each share of the reuses, how its distance grows with the size of the data (Ding &
 * Zhong, section 2.2.2).
 *
 * With two runs, a share's distances d1, d2 at sizes s1, s2 give an exponent log(d2/d1) / log(s2/s1), and the
 * growth with the nearest exponent is taken; its two coefficients then follow from the two equations. With
 * more runs, each growth is fitted by least squares, and the one that leaves least is taken. Distances count
 * relative to themselves: an error of 10 matters at 20, not at 10^6. Roots of different dimensions are not
 * mixed: all choices are tried as a whole.
 */
#include <fathom/predict.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/reference_histogram.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[FM_GROWTHS] = {"constant", "x^1/3", "x^1/2", "x^2/3", "linear"};
static const double exponents[FM_GROWTHS] = {0, 1.0 / 3, 0.5, 2.0 / 3, 1};

const char *fm_growth_name(fm_growth growth)
{
    return names[growth];
}

double fm_growth_exponent(fm_growth growth)
{
    return exponents[growth];
}

static bool growth_allowed(fm_growth growth, unsigned dimensions)
{
    switch (growth) {
    case FM_GROWTH_SQUARE_ROOT:
        return dimensions == 2;
    case FM_GROWTH_CUBE_ROOT:
    case FM_GROWTH_TWO_THIRDS:
        return dimensions == 3;
    case FM_GROWTH_CONSTANT:
    case FM_GROWTH_LINEAR:
        break;
    }
    return true;
}

/* ---- one share ---- */

/* The same share in all runs. */
typedef struct observed {
    const double *sizes; /* ascending */
    const double *distances;
    size_t count;
} observed;

/* The exponent of growth, by a line through the logarithms. Distances start at 0: one is added. */
static double observed_exponent(const observed *seen)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    const double n = (double)seen->count;
    for (size_t i = 0; i < seen->count; i++) {
        const double log_size = log(seen->sizes[i]), log_distance = log(seen->distances[i] + 1);
        x += log_size / n;
        y += log_distance / n;
    }
    for (size_t i = 0; i < seen->count; i++) {
        const double log_size = log(seen->sizes[i]) - x;
        xx += log_size * log_size;
        xy += log_size * (log(seen->distances[i] + 1) - y);
    }
    return xy / xx;
}

/* c and e by least squares, relative to the distances; returns the root of the mean square that is left. */
static double fit(const observed *seen, fm_growth growth, double *c, double *e)
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0, left = 0;
    for (size_t i = 0; i < seen->count; i++) {
        const double x = pow(seen->sizes[i], exponents[growth]), y = seen->distances[i];
        const double weight = 1 / ((y + 1) * (y + 1));
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    const double spread = w * wxx - wx * wx;
    *e = growth == FM_GROWTH_CONSTANT || spread <= 0 ? 0 : (w * wxy - wx * wy) / spread;
    *c = (wy - *e * wx) / w;
    /* What does not grow is best known from the largest run, where the beginning and end of it weigh least.
     */
    if (growth == FM_GROWTH_CONSTANT) *c = seen->distances[seen->count - 1];
    for (size_t i = 0; i < seen->count; i++) {
        const double told = *c + *e * pow(seen->sizes[i], exponents[growth]);
        const double off = (told - seen->distances[i]) / (seen->distances[i] + 1);
        left += off * off / (double)seen->count;
    }
    return sqrt(left);
}

static fm_model_share recognise(const observed *seen, unsigned dimensions)
{
    const double exponent = observed_exponent(seen);
    const double octaves = log(seen->sizes[seen->count - 1] / seen->sizes[0]);
    fm_model_share best = {.mismatch = INFINITY};
    double best_cost = INFINITY;
    for (int g = 0; g < FM_GROWTHS; g++) {
        fm_model_share share = {.growth = (fm_growth)g};
        if (!growth_allowed(share.growth, dimensions)) continue;
        const double left = fit(seen, share.growth, &share.c, &share.e);
        if (share.e < 0) continue;
        share.mismatch = fabs(exponent - exponents[g]);
        /* With two runs, two coefficients leave nothing: only the exponent tells. */
        const double cost = seen->count == 2 ? share.mismatch : left;
        /* What is left, spread over the sizes seen, is an error of the exponent too. */
        if (seen->count > 2) share.mismatch = log1p(left) / octaves;
        if (cost < best_cost - 1e-12) {
            best = share;
            best_cost = cost;
        }
    }
    return best;
}

/* ---- all shares ---- */

/* Distances of all runs, share by share: means[share * runs + run]. */
static double fit_shares(fm_model *model, const double *sizes, const double *means, unsigned dimensions)
{
    double sum = 0;
    model->dimensions = dimensions;
    for (size_t i = 0; i < model->share_count; i++) {
        const observed seen = {sizes, means + i * model->run_count, model->run_count};
        model->shares[i] = recognise(&seen, dimensions);
        sum += fmin(model->shares[i].mismatch, 1);
    }
    return sum;
}

/* The number of references by a line through logarithms, that of distinct blocks by a line. */
static void fit_counts(fm_model *model)
{
    double x = 0, y = 0, xx = 0, xy = 0, s = 0, d = 0, ss = 0, sd = 0;
    const double n = (double)model->run_count;
    for (size_t i = 0; i < model->run_count; i++) {
        const fm_training_run *run = &model->runs[i];
        x += log(run->size) / n;
        y += log((double)run->references) / n;
        s += run->size / n;
        d += (double)run->distinct / n;
    }
    for (size_t i = 0; i < model->run_count; i++) {
        const fm_training_run *run = &model->runs[i];
        const double log_size = log(run->size) - x, size = run->size - s;
        xx += log_size * log_size;
        xy += log_size * (log((double)run->references) - y);
        ss += size * size;
        sd += size * ((double)run->distinct - d);
    }
    model->references_exponent = xy / xx;
    model->references_factor = exp(y - model->references_exponent * x);
    model->distinct_e = sd / ss;
    model->distinct_c = d - model->distinct_e * s;
}

/* ---- the runs ---- */

typedef struct input {
    const fm_profile *profile;
    double size;
} input;

static int by_size(const void *a, const void *b)
{
    const double left = ((const input *)a)->size, right = ((const input *)b)->size;
    return (left > right) - (left < right);
}

static fm_status check_inputs(const input *inputs, size_t count, fm_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const fm_profile *profile = inputs[i].profile;
        const char *name = profile->name ? profile->name : "a profile";
        if (profile->granularity != inputs[0].profile->granularity)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "profiles of one granularity are needed, found %" PRIu64 " and %" PRIu64,
                           inputs[0].profile->granularity, profile->granularity);
        if (profile->bound)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "%s has a bound: its long distances are not known",
                           name);
        if (profile->distances.count == 0)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "%s has no reuses", name);
        if (!(inputs[i].size >= 1 && isfinite(inputs[i].size)))
            return fm_fail(error, FM_E_ARGUMENT, NULL, "%s: expected a size of the data from 1 on", name);
    }
    if (inputs[count - 1].size < inputs[0].size * 1.1)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "the sizes of the data, %g to %g, are too near each other to tell how distances grow",
                       inputs[0].size, inputs[count - 1].size);
    return FM_OK;
}

void fm_model_destroy(fm_model *model)
{
    if (!model) return;
    for (size_t i = 0; i < model->run_count; i++) free(model->runs[i].name);
    free(model->runs);
    free(model->shares);
    free(model);
}

static fm_status no_memory(fm_error *error)
{
    return fm_fail_memory(error, sizeof(fm_model), "a model");
}

static fm_status note_runs(fm_model *model, const input *inputs, size_t count, fm_error *error)
{
    model->runs = fm_calloc(count, sizeof *model->runs);
    if (!model->runs) return no_memory(error);
    model->run_count = count;
    for (size_t i = 0; i < count; i++) {
        const fm_profile *profile = inputs[i].profile;
        model->runs[i] = (fm_training_run){
            .size = inputs[i].size, .references = profile->references, .distinct = profile->distinct};
        if (!profile->name) continue;
        model->runs[i].name = strdup(profile->name);
        if (!model->runs[i].name) return no_memory(error);
    }
    return FM_OK;
}

static fm_status train(fm_model *model, const input *inputs, size_t count, unsigned dimensions,
                       fm_error *error)
{
    double *means = fm_calloc(model->share_count * (count + 1) + count, sizeof *means);
    model->shares = fm_calloc(model->share_count, sizeof *model->shares);
    if (!means || !model->shares) {
        free(means);
        return no_memory(error);
    }
    fm_status status = note_runs(model, inputs, count, error);
    if (status != FM_OK) {
        free(means);
        return status;
    }
    double *one = means + model->share_count * count, *sizes = one + model->share_count;
    for (size_t r = 0; r < count; r++) {
        fm_reference_histogram(&inputs[r].profile->distances, one, model->share_count);
        for (size_t i = 0; i < model->share_count; i++) means[i * count + r] = one[i];
        sizes[r] = inputs[r].size;
    }
    unsigned best = dimensions;
    double least = INFINITY;
    for (unsigned d = 1; d <= 3 && !dimensions; d++) {
        const double sum = fit_shares(model, sizes, means, d);
        if (sum < least - 1e-9) {
            least = sum;
            best = d;
        }
    }
    fit_shares(model, sizes, means, best);
    fit_counts(model);
    free(means);
    return FM_OK;
}

fm_status fm_model_train(fm_model **model, const fm_profile *const *profiles, size_t count,
                         const fm_training_options *options, fm_error *error)
{
    *model = NULL;
    const double percent = options->percent != 0 ? options->percent : 0.1;
    if (count < 2)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "at least two profiles are needed, found %zu", count);
    if (!(percent >= 0.001 && percent <= 50))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected shares of 0.001 to 50 percent, found %g",
                       percent);
    if (options->dimensions > 3)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected 1 to 3 dimensions, found %u",
                       options->dimensions);
    input *inputs = fm_calloc(count, sizeof *inputs);
    fm_model *made = fm_calloc(1, sizeof *made);
    fm_status status = inputs && made ? FM_OK : no_memory(error);
    for (size_t i = 0; i < count && status == FM_OK; i++)
        inputs[i] = (input){profiles[i], options->sizes ? options->sizes[i] : (double)profiles[i]->distinct};
    if (status == FM_OK) {
        qsort(inputs, count, sizeof *inputs, by_size);
        status = check_inputs(inputs, count, error);
    }
    if (status == FM_OK) {
        made->granularity = profiles[0]->granularity;
        made->share_count = (size_t)lround(100 / percent);
        made->percent = 100.0 / (double)made->share_count;
        status = train(made, inputs, count, options->dimensions, error);
    }
    free(inputs);
    if (status != FM_OK) {
        fm_model_destroy(made);
        return status;
    }
    *model = made;
    return FM_OK;
}
