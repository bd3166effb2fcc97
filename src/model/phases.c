/* SPDX-License-Identifier: Apache-2.0 */
/* phases.c - see fathom/phases.h: from time samples to phases. */
#include <fathom/predict.h>
#include <fathom/profile.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/phase_parts.h"

#include <stdlib.h>
#include <string.h>

/* The trace is over: nothing higher follows the last time sample. */
static bool is_peak(const fm_data_sample *sample, size_t index)
{
    if (index + 1 < sample->count) return fm_time_sample_is_peak(sample, index);
    const uint64_t here = sample->times[index].distance;
    return index == 0 || here + here / 10 >= sample->times[index - 1].distance;
}

static size_t peaks_of(const fm_data_sample *sample)
{
    size_t peaks = 0;
    for (size_t i = 0; i < sample->count; i++) peaks += is_peak(sample, i);
    return peaks;
}

static fm_status copy_sample(fm_phases *phases, const fm_data_sample *from, fm_error *error)
{
    fm_data_sample *made = &phases->samples[phases->sample_count++];
    *made = (fm_data_sample){.block = from->block, .count = from->count, .capacity = from->count};
    made->times = fm_calloc(from->count, sizeof *made->times);
    if (!made->times) return fm_fail_memory(error, from->count * sizeof *made->times, "the phases");
    memcpy(made->times, from->times, from->count * sizeof *made->times);
    return FM_OK;
}

/* The one with the most peaks first. */
static fm_status copy_samples(fm_phases *phases, const fm_sampler *sampler, fm_error *error)
{
    size_t count, best = 0;
    const fm_data_sample *samples = fm_sampler_samples(sampler, &count);
    for (size_t i = 1; i < count; i++)
        if (peaks_of(&samples[i]) > peaks_of(&samples[best])) best = i;
    phases->samples = fm_calloc(count, sizeof *phases->samples);
    if (!phases->samples) return fm_fail_memory(error, count * sizeof *phases->samples, "the phases");
    fm_status status = count > 0 ? copy_sample(phases, &samples[best], error) : FM_OK;
    for (size_t i = 0; i < count && status == FM_OK; i++)
        if (i != best) status = copy_sample(phases, &samples[i], error);
    return status;
}

fm_status fm_phases_cut_at_peaks(fm_phases *phases, uint64_t references, fm_error *error)
{
    const size_t peaks = phases->sample_count > 0 ? peaks_of(&phases->samples[0]) : 0;
    if (peaks + 1 > FM_MOST_PHASES)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "%zu phases were found, more than %d: a larger threshold finds fewer", peaks + 1,
                       FM_MOST_PHASES);
    phases->phases = fm_calloc(peaks + 1, sizeof *phases->phases);
    if (!phases->phases) return fm_fail_memory(error, (peaks + 1) * sizeof *phases->phases, "the phases");
    uint64_t begin = 0;
    for (size_t i = 0; peaks > 0 && i < phases->samples[0].count; i++) {
        const uint64_t time = phases->samples[0].times[i].time;
        if (!is_peak(&phases->samples[0], i) || time == begin) continue;
        phases->phases[phases->count++] = (fm_trace_phase){.begin = begin, .end = time};
        begin = time;
    }
    if (begin < references || phases->count == 0)
        phases->phases[phases->count++] = (fm_trace_phase){.begin = begin, .end = references};
    return FM_OK;
}

fm_status fm_phases_create_samples(fm_phases **phases, const fm_sampler *sampler, uint64_t threshold,
                                   fm_error *error)
{
    *phases = NULL;
    fm_phases *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "the phases");
    made->threshold = threshold;
    fm_status status = copy_samples(made, sampler, error);
    if (status != FM_OK) {
        fm_phases_destroy(made);
        return status;
    }
    *phases = made;
    return FM_OK;
}

fm_status fm_phases_create(fm_phases **phases, const fm_sampler *sampler, uint64_t threshold,
                           uint64_t references, fm_error *error)
{
    FM_REQUIRE(sampler, error);
    fm_status status = fm_phases_create_samples(phases, sampler, threshold, error);
    if (status == FM_OK) status = fm_phases_cut_at_peaks(*phases, references, error);
    if (status != FM_OK) {
        fm_phases_destroy(*phases);
        *phases = NULL;
    }
    return status;
}

/* ---- in step ---- */

/* Time samples until `end`, from *next on. */
static size_t samples_until(const fm_data_sample *sample, size_t *next, uint64_t end)
{
    size_t count = 0;
    for (; *next < sample->count && sample->times[*next].time < end; ++*next) count++;
    return count;
}

typedef struct votes {
    uint64_t all, agree;
} votes;

static void votes_add(votes *on, bool agrees)
{
    on->all++;
    on->agree += agrees;
}

static bool is_near(uint64_t a, uint64_t b)
{
    return a <= b + b / 10 && b <= a + a / 10;
}

/* Whether the other data sample comes back once between two peaks. Before its first time sample it was not
 * watched. */
static void vote_on_rounds(const fm_data_sample *cutting, const fm_data_sample *other, votes *rounds)
{
    size_t next = 0;
    bool watched = false;
    for (size_t i = 0; i < cutting->count && other->count > 1; i++) {
        if (!is_peak(cutting, i)) continue;
        const size_t seen = samples_until(other, &next, cutting->times[i].time);
        if (watched) votes_add(rounds, seen == 1);
        watched = next > 0;
    }
}

bool fm_phases_samples_agree(const fm_phases *phases)
{
    enum { FEW = 8 };
    votes rounds = {0}, heights = {0}, all_heights = {0};
    if (phases->sample_count == 0) return false;
    const fm_data_sample *cutting = &phases->samples[0];
    for (size_t i = 0; i < phases->sample_count; i++) {
        const fm_data_sample *one = &phases->samples[i];
        if (i > 0) vote_on_rounds(cutting, one, &rounds);
        for (size_t j = 0; j < one->count; j++) {
            if (j > 0) votes_add(&heights, is_near(one->times[j - 1].distance, one->times[j].distance));
            votes_add(&all_heights, is_near(cutting->times[0].distance, one->times[j].distance));
        }
    }
    if (3 * rounds.agree < 2 * rounds.all || 3 * heights.agree < 2 * heights.all) return false;
    return rounds.all + heights.all >= FEW || 3 * all_heights.agree >= 2 * all_heights.all;
}

/*
 * ======== data sampler ========
 * Distance-based sampling (Ding & Zhong, section 2.3): a few blocks are watched, and how far
 * away they are each time they come back from afar. It finds the size of the data, and, over a whole run, its
 * phases.
 */

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
