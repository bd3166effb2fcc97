/* SPDX-License-Identifier: Apache-2.0 */
/* phases.c - see fathom/phases.h: from time samples to phases. */
#include "model/phase_cut.h"

#include "base/error.h"
#include "base/memory.h"

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

static void vote(votes *on, bool agrees)
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
        if (watched) vote(rounds, seen == 1);
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
            if (j > 0) vote(&heights, is_near(one->times[j - 1].distance, one->times[j].distance));
            vote(&all_heights, is_near(cutting->times[0].distance, one->times[j].distance));
        }
    }
    if (3 * rounds.agree < 2 * rounds.all || 3 * heights.agree < 2 * heights.all) return false;
    return rounds.all + heights.all >= FEW || 3 * all_heights.agree >= 2 * all_heights.all;
}
