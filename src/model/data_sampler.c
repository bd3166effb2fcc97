/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data_sampler.c - distance-based sampling (Ding & Zhong, section 2.3): a few blocks are watched, and how far
 * away they are each time they come back from afar. It finds the size of the data, and, over a whole run, its
 * phases.
 */
#include <fathom/predict.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"

#include <fathom/profile.h>
#include <stdlib.h>

struct fm_sampler {
    fm_sampler_options options;
    uint64_t separation; /* 0: the first data sample is not there yet */
    uint64_t clock;
    size_t count;
    fm_data_sample samples[FM_MOST_DATA_SAMPLES];
    bool found;
    uint64_t size, after;
};

fm_status fm_sampler_create_sized(size_t given_size, fm_sampler **sampler, const fm_sampler_options *given,
                                  fm_error *error)
{
    *sampler = NULL;
    fm_sampler_options known;
    fm_status status = fm_sized_read(&known, sizeof known, given, given_size, "fm_sampler_options", error);
    if (status != FM_OK) return status;
    const fm_sampler_options *options = &known;
    if (options->samples > FM_MOST_DATA_SAMPLES)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected at most %d data samples, found %u",
                       FM_MOST_DATA_SAMPLES, options->samples);
    fm_sampler *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "the sampler");
    made->options = *options;
    if (made->options.samples == 0) made->options.samples = 2;
    if (made->options.peaks == 0) made->options.peaks = 1;
    *sampler = made;
    return FM_OK;
}

void fm_sampler_destroy(fm_sampler *sampler)
{
    if (!sampler) return;
    for (size_t i = 0; i < sampler->count; i++) free(sampler->samples[i].times);
    free(sampler);
}

bool fm_time_sample_is_peak(const fm_data_sample *sample, size_t index)
{
    if (index + 1 >= sample->count) return false;
    const uint64_t here = sample->times[index].distance, next = sample->times[index + 1].distance;
    const uint64_t before = index > 0 ? sample->times[index - 1].distance : 0;
    /* A tenth is no difference: sweeps over the same data are seldom of quite the same length. */
    const uint64_t about = here + here / 10;
    return about >= next && about >= before;
}

/* The k-th peak of a data sample; 0: not there yet. */
static uint64_t peak_of(const fm_data_sample *sample, unsigned wanted)
{
    for (size_t i = 0; i < sample->count; i++)
        if (fm_time_sample_is_peak(sample, i) && --wanted == 0) return sample->times[i].distance;
    return 0;
}

static void look_for_size(fm_sampler *sampler)
{
    unsigned ready = 0;
    uint64_t largest = 0;
    for (size_t i = 0; i < sampler->count; i++) {
        const uint64_t peak = peak_of(&sampler->samples[i], sampler->options.peaks);
        ready += peak > 0;
        if (peak > largest) largest = peak;
    }
    if (ready < sampler->options.samples) return;
    sampler->found = true;
    sampler->size = largest + 1; /* the block itself, besides those between */
    sampler->after = sampler->clock + 1;
}

static fm_data_sample *sample_of(fm_sampler *sampler, uint64_t block, uint64_t distance)
{
    bool near = false;
    for (size_t i = 0; i < sampler->count; i++) {
        const uint64_t other = sampler->samples[i].block;
        if (other == block) return &sampler->samples[i];
        near |= (other > block ? other - block : block - other) < sampler->separation;
    }
    if (near || sampler->count == FM_MOST_DATA_SAMPLES) return NULL;
    if (sampler->count == 0)
        sampler->separation = sampler->options.separation ? sampler->options.separation : distance / 10 + 1;
    fm_data_sample *made = &sampler->samples[sampler->count++];
    made->block = block;
    return made;
}

fm_status fm_sampler_feed(fm_sampler *sampler, const uint64_t *blocks, const uint64_t *distances,
                          size_t count, fm_error *error)
{
    FM_REQUIRE(sampler, error);
    for (size_t i = 0; i < count; i++, sampler->clock++) {
        if (distances[i] >= FM_BEYOND || distances[i] <= sampler->options.threshold) continue;
        fm_data_sample *sample = sample_of(sampler, blocks[i], distances[i]);
        if (!sample) continue;
        void *grown = sample->times;
        if (fm_array_reserve(&grown, &sample->capacity, sample->count + 1, sizeof *sample->times))
            return fm_fail_memory(error, (sample->count + 1) * sizeof *sample->times, "the sampler");
        sample->times = grown;
        sample->times[sample->count++] = (fm_time_sample){sampler->clock, distances[i]};
        if (!sampler->found) look_for_size(sampler);
    }
    return FM_OK;
}

bool fm_sampler_found(const fm_sampler *sampler, uint64_t *size, uint64_t *after)
{
    *size = sampler->size;
    *after = sampler->after;
    return sampler->found;
}

const fm_data_sample *fm_sampler_samples(const fm_sampler *sampler, size_t *count)
{
    *count = sampler->count;
    return sampler->samples;
}
