/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - from profiles of runs to a model: what is kept of each run, and the patterns that fit them all.
 */
#include <fathom/predict.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "model/growth_fit.h"
#include "model/reference_histogram.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        fm_reference_histogram(&profile->distances, model->runs[i].distances, model->share_count);
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
