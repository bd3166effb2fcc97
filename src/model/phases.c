/* SPDX-License-Identifier: Apache-2.0 */
/* phases.c - see fathom/phases.h: from time samples to phases, from distances to their profiles and kinds. */
#include <fathom/phases.h>

#include "base/error.h"
#include "base/memory.h"

#include <fathom/profile.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cutting ---- */

void fm_phases_destroy(fm_phases *phases)
{
    if (!phases) return;
    for (size_t i = 0; i < phases->sample_count; i++) free(phases->samples[i].times);
    free(phases->samples);
    free(phases->phases);
    free(phases);
}

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

static fm_status cut(fm_phases *phases, uint64_t references, fm_error *error)
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

fm_status fm_phases_create(fm_phases **phases, const fm_sampler *sampler, uint64_t threshold,
                           uint64_t references, fm_error *error)
{
    *phases = NULL;
    fm_phases *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "the phases");
    made->threshold = threshold;
    fm_status status = copy_samples(made, sampler, error);
    if (status == FM_OK) status = cut(made, references, error);
    if (status != FM_OK) {
        fm_phases_destroy(made);
        return status;
    }
    *phases = made;
    return FM_OK;
}

/* ---- counting ---- */

struct fm_phase_counter {
    fm_phases *phases;
    uint64_t granularity;
    uint64_t clock;
    size_t now; /* the phase it is in */
    size_t bins;
    uint64_t *counts; /* of the phase it is in, by FM_BINS_LOGLINEAR */
    uint64_t largest; /* the largest bin in use, plus 1 */
    fm_profile **profiles;
};

fm_status fm_phase_counter_create(fm_phase_counter **counter, fm_phases *phases, uint64_t granularity,
                                  fm_error *error)
{
    *counter = NULL;
    fm_phase_counter *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "the phases' profiles");
    made->phases = phases;
    made->granularity = granularity;
    made->bins = fm_bins_index(FM_BINS_LOGLINEAR, UINT64_MAX) + 1;
    made->counts = fm_calloc(made->bins, sizeof *made->counts);
    made->profiles = fm_calloc(phases->count, sizeof *made->profiles);
    if (!made->counts || !made->profiles) {
        const size_t bytes = made->bins * sizeof *made->counts;
        fm_phase_counter_destroy(made);
        return fm_fail_memory(error, bytes, "the phases' profiles");
    }
    *counter = made;
    return FM_OK;
}

void fm_phase_counter_destroy(fm_phase_counter *counter)
{
    if (!counter) return;
    for (size_t i = 0; counter->profiles && i < counter->phases->count; i++)
        fm_profile_destroy(counter->profiles[i]);
    free(counter->profiles);
    free(counter->counts);
    free(counter);
}

/* The phase ends: its counts become its profile. */
static fm_status close_phase(fm_phase_counter *counter, fm_error *error)
{
    const fm_trace_phase *phase = &counter->phases->phases[counter->now];
    fm_profile *profile;
    fm_status status = fm_profile_create(&profile, error);
    if (status != FM_OK) return status;
    counter->profiles[counter->now] = profile;
    profile->granularity = counter->granularity;
    profile->references = profile->cold = phase->cold;
    profile->distinct = phase->distinct;
    size_t filled = 0;
    for (size_t i = 0; i < counter->largest; i++) filled += counter->counts[i] > 0;
    profile->distances.bins = fm_calloc(filled, sizeof *profile->distances.bins);
    if (!profile->distances.bins) return fm_fail_memory(error, filled * sizeof(fm_bin), "a phase's profile");
    for (size_t i = 0; i < counter->largest; i++) {
        if (counter->counts[i] == 0) continue;
        fm_bin *bin = &profile->distances.bins[profile->distances.count++];
        fm_bins_range(FM_BINS_LOGLINEAR, i, &bin->lo, &bin->hi);
        profile->references += bin->count = counter->counts[i];
        counter->counts[i] = 0;
    }
    counter->largest = 0;
    counter->now++;
    return FM_OK;
}

fm_status fm_phase_counter_feed(fm_phase_counter *counter, const uint64_t *distances, size_t count,
                                fm_error *error)
{
    for (size_t i = 0; i < count; i++, counter->clock++) {
        while (counter->now + 1 < counter->phases->count &&
               counter->clock >= counter->phases->phases[counter->now].end) {
            fm_status status = close_phase(counter, error);
            if (status != FM_OK) return status;
        }
        fm_trace_phase *phase = &counter->phases->phases[counter->now];
        /* A block that was touched in the phase before has only others of the phase in between: fewer than
         * are known so far. */
        if (distances[i] >= phase->distinct) phase->distinct++;
        if (distances[i] == FM_COLD) {
            phase->cold++;
            continue;
        }
        const size_t bin = fm_bins_index(FM_BINS_LOGLINEAR, distances[i]);
        counter->counts[bin]++;
        if (bin >= counter->largest) counter->largest = bin + 1;
    }
    return FM_OK;
}

/* ---- kinds ---- */

enum { BARS = 66 }; /* powers of two, and first touches */

static void bars_of(const fm_profile *profile, double *bars)
{
    memset(bars, 0, BARS * sizeof *bars);
    const double all = profile->references ? (double)profile->references : 1;
    bars[BARS - 1] = (double)profile->cold / all;
    for (size_t i = 0; i < profile->distances.count; i++)
        bars[fm_bins_index(FM_BINS_LOG2, profile->distances.bins[i].lo)] +=
            (double)profile->distances.bins[i].count / all;
}

static bool are_alike(const fm_profile *a, const fm_profile *b, double alike)
{
    double of_a[BARS], of_b[BARS], difference = 0;
    const double shorter = fmin((double)a->references, (double)b->references);
    if (shorter * 2 < fmax((double)a->references, (double)b->references)) return false;
    bars_of(a, of_a);
    bars_of(b, of_b);
    for (int i = 0; i < BARS; i++) difference += fabs(of_a[i] - of_b[i]);
    return 1 - difference / 2 >= alike;
}

/* A phase is of the kind of the first one that it is like. */
static void find_kinds(fm_phase_counter *counter, double alike)
{
    fm_trace_phase *phases = counter->phases->phases;
    uint32_t kinds = 0;
    for (size_t i = 0; i < counter->phases->count; i++) {
        size_t first = 0;
        uint32_t kind = 0;
        /* The first of each kind: where the kind's number appears for the first time. */
        for (; first < i; first++) {
            if (phases[first].kind != kind) continue;
            if (are_alike(counter->profiles[first], counter->profiles[i], alike)) break;
            kind++;
        }
        phases[i].kind = first < i ? kind : kinds++;
    }
}

fm_status fm_phase_counter_finish(fm_phase_counter *counter, double alike, fm_profile ***profiles,
                                  fm_error *error)
{
    *profiles = NULL;
    while (counter->now < counter->phases->count) {
        fm_status status = close_phase(counter, error);
        if (status != FM_OK) return status;
    }
    for (size_t i = 0; i < counter->phases->count; i++) {
        const fm_trace_phase *phase = &counter->phases->phases[i];
        char name[80];
        snprintf(name, sizeof name, "phase %zu: references %" PRIu64 " to %" PRIu64, i + 1, phase->begin,
                 phase->end - (phase->end > phase->begin));
        counter->profiles[i]->name = strdup(name);
        if (!counter->profiles[i]->name) return fm_fail_memory(error, sizeof name, "a phase's profile");
    }
    find_kinds(counter, alike);
    *profiles = counter->profiles;
    counter->profiles = NULL;
    return FM_OK;
}
