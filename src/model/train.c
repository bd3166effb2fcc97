/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - from profiles of runs to a model: what is kept of each run, and the patterns that fit them all.
 */
#include <fathom/predict.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/model_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ======== reference histogram ======== */

static void reference_histogram(const fm_histogram *histogram, double *means, size_t shares)
{
    double total = 0;
    for (size_t i = 0; i < histogram->count; i++) total += (double)histogram->bins[i].count;
    const double share = total / (double)shares;
    size_t bin = 0;
    double used = 0; /* of the bin's count */
    for (size_t i = 0; i < shares; i++) {
        double wanted = share, sum = 0, got = 0;
        while (wanted > share * 1e-9 && bin < histogram->count) {
            const fm_bin *from = &histogram->bins[bin];
            const double count = (double)from->count, width = (double)(from->hi - from->lo);
            const double part = count - used < wanted ? count - used : wanted;
            sum += part * ((double)from->lo + width * (used + part / 2) / count);
            got += part;
            wanted -= part;
            used += part;
            if (used >= count) {
                bin++;
                used = 0;
            }
        }
        means[i] = got > 0 ? sum / got : (double)histogram->bins[histogram->count - 1].hi;
    }
}

/*
 * ======== growth fit ========
 * Finds, for each share of the reuses, how its distance grows with the size of the data (Ding
 * & Zhong, section 2.2.2).
 *
 * With two sizes, a share's distances d1, d2 at sizes s1, s2 give an exponent log(d2/d1) / log(s2/s1), and
 * the growth with the nearest exponent is taken; its two coefficients then follow from the two equations.
 * With more sizes, each growth is fitted by least squares, and the one that leaves least is taken. Distances
 * count relative to themselves: an error of 10 matters at 20, not at 10^6. Roots of different dimensions are
 * not mixed: all choices are tried as a whole.
 */

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

size_t fm_runs_next_size(const fm_training_run *runs, size_t count, size_t first)
{
    size_t next = first + 1;
    while (next < count && runs[next].size < runs[first].size * FM_SIZES_APART) next++;
    return next;
}

size_t fm_runs_sizes(const fm_training_run *runs, size_t count)
{
    size_t sizes = 0;
    for (size_t i = 0; i < count; i = fm_runs_next_size(runs, count, i)) sizes++;
    return sizes;
}

/* ---- one share ---- */

/* The same share in all runs. */
typedef struct observed {
    const fm_training_run *runs; /* ascending sizes */
    size_t count, sizes;         /* runs, and how many sizes they have */
    const double *powers;        /* of the runs' sizes: [growth * count + run] */
    size_t share;
} observed;

static double distance_in(const observed *seen, size_t run)
{
    return seen->runs[run].distances[seen->share];
}

/* The exponent of growth, by a line through the logarithms. Distances start at 0: one is added. */
static double exponent_of(const fm_training_run *runs, size_t count, size_t share)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    const double n = (double)count;
    for (size_t i = 0; i < count; i++) {
        x += log(runs[i].size) / n;
        y += log(runs[i].distances[share] + 1) / n;
    }
    for (size_t i = 0; i < count; i++) {
        const double log_size = log(runs[i].size) - x;
        xx += log_size * log_size;
        xy += log_size * (log(runs[i].distances[share] + 1) - y);
    }
    return xy / xx;
}

/* c and e by least squares, relative to the distances; returns the root of the mean square that is left. */
static double growth_fit(const observed *seen, fm_growth growth, double *c, double *e)
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0, left = 0;
    const double *powers = seen->powers + (size_t)growth * seen->count;
    for (size_t i = 0; i < seen->count; i++) {
        const double x = powers[i], y = distance_in(seen, i);
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
    if (growth == FM_GROWTH_CONSTANT) *c = distance_in(seen, seen->count - 1);
    for (size_t i = 0; i < seen->count; i++) {
        const double predicted = *c + *e * powers[i];
        const double off = (predicted - distance_in(seen, i)) / (distance_in(seen, i) + 1);
        left += off * off / (double)seen->count;
    }
    return sqrt(left);
}

static fm_model_share growth_recognise(const observed *seen, unsigned dimensions)
{
    const double exponent = exponent_of(seen->runs, seen->count, seen->share);
    const double octaves = log(seen->runs[seen->count - 1].size / seen->runs[0].size);
    fm_model_share best = {.mismatch = INFINITY};
    double best_cost = INFINITY;
    for (int g = 0; g < FM_GROWTHS; g++) {
        fm_model_share share = {.growth = (fm_growth)g};
        if (!growth_allowed(share.growth, dimensions)) continue;
        const double left = growth_fit(seen, share.growth, &share.c, &share.e);
        if (share.e < 0) continue;
        share.mismatch = fabs(exponent - exponents[g]);
        /* With two sizes, two coefficients leave nothing: only the exponent decides. */
        const double cost = seen->sizes == 2 ? share.mismatch : left;
        /* What is left, spread over the sizes seen, is an error of the exponent too. */
        if (seen->sizes > 2) share.mismatch = log1p(left) / octaves;
        if (cost < best_cost - 1e-12) {
            best = share;
            best_cost = cost;
        }
    }
    return best;
}

/* ---- all shares ---- */

static double fit_shares(fm_model *model, const double *powers, size_t sizes, unsigned dimensions)
{
    double sum = 0;
    model->dimensions = dimensions;
    for (size_t i = 0; i < model->share_count; i++) {
        const observed seen = {model->runs, model->run_count, sizes, powers, i};
        model->shares[i] = growth_recognise(&seen, dimensions);
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

fm_status fm_model_fit(fm_model *model, unsigned dimensions, fm_error *error)
{
    const size_t count = model->run_count, sizes = fm_runs_sizes(model->runs, count);
    double *powers = fm_calloc(FM_GROWTHS * count, sizeof *powers);
    if (!powers) return fm_fail_memory(error, FM_GROWTHS * count * sizeof *powers, "a model");
    for (size_t g = 0; g < FM_GROWTHS; g++)
        for (size_t i = 0; i < count; i++) powers[g * count + i] = pow(model->runs[i].size, exponents[g]);
    unsigned best = dimensions;
    double least = INFINITY;
    for (unsigned d = 1; d <= 3 && !dimensions; d++) {
        const double sum = fit_shares(model, powers, sizes, d);
        if (sum < least - 1e-9) {
            least = sum;
            best = d;
        }
    }
    fit_shares(model, powers, sizes, best);
    fit_counts(model);
    free(powers);
    return FM_OK;
}

/* ---- at a size ---- */

double fm_share_distance(const fm_model_share *share, double size)
{
    return share->c + share->e * pow(size, exponents[share->growth]);
}

double fm_model_distinct(const fm_model *model, double size)
{
    return fmin(fmax(1, model->distinct_c + model->distinct_e * size), 0x1p61);
}

double fm_model_references(const fm_model *model, double size)
{
    return fmax(model->references_factor * pow(size, model->references_exponent),
                fm_model_distinct(model, size));
}

/* ======== train ======== */

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
        if (profile->elements != inputs[0].profile->elements)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "%s counts %s, the smallest one does not", name,
                           profile->elements ? "elements" : "blocks");
        if (profile->bound)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "%s has a bound: its long distances are not known",
                           name);
        if (profile->distances.count == 0)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "%s has no reuses", name);
        if (!(inputs[i].size >= 1 && isfinite(inputs[i].size)))
            return fm_fail(error, FM_E_ARGUMENT, NULL, "%s: expected a size of the data from 1 on", name);
    }
    if (inputs[count - 1].size < inputs[0].size * FM_SIZES_APART)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "the sizes of the data, %g to %g, are too near each other to tell how distances grow",
                       inputs[0].size, inputs[count - 1].size);
    return FM_OK;
}

void fm_model_destroy(fm_model *model)
{
    if (!model) return;
    for (size_t i = 0; i < model->run_count; i++) {
        free(model->runs[i].name);
        free(model->runs[i].distances);
    }
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
        model->runs[i] = (fm_training_run){.size = inputs[i].size,
                                           .references = profile->references,
                                           .distinct = profile->distinct,
                                           .incomplete = !profile->complete};
        model->runs[i].distances = fm_calloc(model->share_count, sizeof(double));
        if (!model->runs[i].distances) return no_memory(error);
        model->runs[i].distance_count = model->share_count;
        reference_histogram(&profile->distances, model->runs[i].distances, model->share_count);
        if (!profile->name) continue;
        model->runs[i].name = strdup(profile->name);
        if (!model->runs[i].name) return no_memory(error);
    }
    return FM_OK;
}

fm_status fm_model_train_sized(size_t given_size, fm_model **model, const fm_profile *const *profiles,
                               size_t count, const fm_training_options *given, fm_error *error)
{
    *model = NULL;
    fm_training_options known;
    fm_status status = fm_sized_read(&known, sizeof known, given, given_size, "fm_training_options", error);
    if (status != FM_OK) return status;
    const fm_training_options *options = &known;
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
    status = inputs && made ? FM_OK : no_memory(error);
    for (size_t i = 0; i < count && status == FM_OK; i++)
        inputs[i] = (input){profiles[i], options->sizes ? options->sizes[i] : (double)profiles[i]->distinct};
    if (status == FM_OK) {
        qsort(inputs, count, sizeof *inputs, by_size);
        status = check_inputs(inputs, count, error);
    }
    if (status == FM_OK) {
        made->granularity = profiles[0]->granularity;
        made->elements = profiles[0]->elements;
        made->share_count = (size_t)lround(100 / percent);
        made->percent = 100.0 / (double)made->share_count;
        made->shares = fm_calloc(made->share_count, sizeof *made->shares);
        status = made->shares ? note_runs(made, inputs, count, error) : no_memory(error);
        if (status == FM_OK) status = fm_model_fit(made, options->dimensions, error);
    }
    free(inputs);
    if (status != FM_OK) {
        fm_model_destroy(made);
        return status;
    }
    *model = made;
    return FM_OK;
}
