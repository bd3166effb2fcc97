/* SPDX-License-Identifier: Apache-2.0 */
/* phase_counter.c - see fathom/phases.h: from distances to the phases' profiles and kinds, on all levels. */
#include <fathom/phases.h>

#include "base/error.h"
#include "base/memory.h"
#include "profile/profile_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting ---- */

/* One level. */
typedef struct level {
    size_t count;
    fm_trace_phase *phases;
    size_t now;       /* the phase it is in, or the next one */
    uint64_t *counts; /* of that phase, by FM_BINS_LOGLINEAR */
    size_t largest;   /* the largest bin in use, plus 1 */
    fm_profile **profiles;
} level;

struct fm_phase_counter {
    uint64_t granularity;
    uint64_t clock;
    size_t level_count;
    level levels[FM_MOST_PHASE_LEVELS];
};

static fm_status start_level(fm_phase_counter *counter, size_t count, fm_trace_phase *phases, fm_error *error)
{
    const size_t bins = fm_bins_index(FM_BINS_LOGLINEAR, UINT64_MAX) + 1;
    level *made = &counter->levels[counter->level_count++];
    *made = (level){.count = count, .phases = phases};
    made->counts = fm_calloc(bins, sizeof *made->counts);
    made->profiles = fm_calloc(count, sizeof *made->profiles);
    if (made->counts && made->profiles) return FM_OK;
    return fm_fail_memory(error, bins * sizeof *made->counts, "the phases' profiles");
}

fm_status fm_phase_counter_create(fm_phase_counter **counter, fm_phases *phases, uint64_t granularity,
                                  fm_error *error)
{
    *counter = NULL;
    FM_REQUIRE(phases, error);
    if (phases->inner_count >= FM_MOST_PHASE_LEVELS)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected at most %d levels of phases, found %zu",
                       FM_MOST_PHASE_LEVELS, phases->inner_count + 1);
    fm_phase_counter *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "the phases' profiles");
    made->granularity = granularity;
    fm_status status = start_level(made, phases->count, phases->phases, error);
    for (size_t i = 0; i < phases->inner_count && status == FM_OK; i++)
        status = start_level(made, phases->inner[i].count, phases->inner[i].phases, error);
    if (status != FM_OK) {
        fm_phase_counter_destroy(made);
        return status;
    }
    *counter = made;
    return FM_OK;
}

void fm_phase_counter_destroy(fm_phase_counter *counter)
{
    if (!counter) return;
    for (size_t i = 0; i < counter->level_count; i++) {
        level *one = &counter->levels[i];
        for (size_t j = 0; one->profiles && j < one->count; j++) fm_profile_destroy(one->profiles[j]);
        free(one->profiles);
        free(one->counts);
    }
    free(counter);
}

/* The phase ends: its counts become its profile. */
static fm_status close_phase(const fm_phase_counter *counter, level *one, fm_error *error)
{
    const fm_trace_phase *phase = &one->phases[one->now];
    fm_profile *profile;
    fm_status status = fm_profile_create(&profile, error);
    if (status != FM_OK) return status;
    one->profiles[one->now] = profile;
    profile->granularity = counter->granularity;
    profile->references = profile->cold = phase->cold;
    profile->distinct = phase->distinct;
    size_t filled = 0;
    for (size_t i = 0; i < one->largest; i++) filled += one->counts[i] > 0;
    profile->distances.bins = fm_calloc(filled, sizeof *profile->distances.bins);
    if (!profile->distances.bins) return fm_fail_memory(error, filled * sizeof(fm_bin), "a phase's profile");
    for (size_t i = 0; i < one->largest; i++) {
        if (one->counts[i] == 0) continue;
        fm_bin *bin = &profile->distances.bins[profile->distances.count++];
        fm_bins_range(FM_BINS_LOGLINEAR, i, &bin->lo, &bin->hi);
        profile->references += bin->count = one->counts[i];
        one->counts[i] = 0;
    }
    one->largest = 0;
    one->now++;
    return FM_OK;
}

static fm_status feed_level(const fm_phase_counter *counter, level *one, const uint64_t *distances,
                            size_t count, fm_error *error)
{
    uint64_t clock = counter->clock;
    for (size_t i = 0; i < count; i++, clock++) {
        while (one->now + 1 < one->count && clock >= one->phases[one->now].end) {
            fm_status status = close_phase(counter, one, error);
            if (status != FM_OK) return status;
        }
        fm_trace_phase *phase = &one->phases[one->now];
        if (clock < phase->begin || clock >= phase->end) continue; /* in none of this level */
        /* A block that was touched in the phase before has only others of the phase in between: fewer than
         * are known so far. */
        if (distances[i] >= phase->distinct) phase->distinct++;
        if (distances[i] == FM_COLD) {
            phase->cold++;
            continue;
        }
        const size_t bin = fm_bins_index(FM_BINS_LOGLINEAR, distances[i]);
        one->counts[bin]++;
        if (bin >= one->largest) one->largest = bin + 1;
    }
    return FM_OK;
}

fm_status fm_phase_counter_feed(fm_phase_counter *counter, const uint64_t *distances, size_t count,
                                fm_error *error)
{
    FM_REQUIRE(counter, error);
    fm_status status = FM_OK;
    for (size_t i = 0; i < counter->level_count && status == FM_OK; i++)
        status = feed_level(counter, &counter->levels[i], distances, count, error);
    counter->clock += count;
    return status;
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
static void find_kinds(level *one, double alike)
{
    fm_trace_phase *phases = one->phases;
    uint32_t kinds = 0;
    for (size_t i = 0; i < one->count; i++) {
        size_t first = 0;
        uint32_t kind = 0;
        /* The first of each kind: where the kind's number appears for the first time. */
        for (; first < i; first++) {
            if (phases[first].kind != kind) continue;
            if (are_alike(one->profiles[first], one->profiles[i], alike)) break;
            kind++;
        }
        phases[i].kind = first < i ? kind : kinds++;
    }
}

static fm_status finish_level(const fm_phase_counter *counter, level *one, size_t number, double alike,
                              fm_error *error)
{
    while (one->now < one->count) {
        fm_status status = close_phase(counter, one, error);
        if (status != FM_OK) return status;
    }
    for (size_t i = 0; i < one->count; i++) {
        const fm_trace_phase *phase = &one->phases[i];
        char name[120], of_level[40] = "";
        if (number > 1) snprintf(of_level, sizeof of_level, " of level %zu", number);
        snprintf(name, sizeof name, "phase %zu%s: references %" PRIu64 " to %" PRIu64, i + 1, of_level,
                 phase->begin, phase->end - (phase->end > phase->begin));
        one->profiles[i]->name = strdup(name);
        if (!one->profiles[i]->name) return fm_fail_memory(error, sizeof name, "a phase's profile");
        fm_status status = fm_profile_made(one->profiles[i], FM_LAWS_ANY, NULL, error);
        if (status != FM_OK) return status;
    }
    find_kinds(one, alike);
    return FM_OK;
}

fm_profile **fm_phase_counter_take(fm_phase_counter *counter, unsigned number)
{
    if (number < 1 || number > counter->level_count) return NULL;
    fm_profile **profiles = counter->levels[number - 1].profiles;
    counter->levels[number - 1].profiles = NULL;
    return profiles;
}

fm_status fm_phase_counter_finish(fm_phase_counter *counter, double alike, fm_profile ***profiles,
                                  fm_error *error)
{
    *profiles = NULL;
    FM_REQUIRE(counter, error);
    fm_status status = FM_OK;
    for (size_t i = 0; i < counter->level_count && status == FM_OK; i++)
        status = finish_level(counter, &counter->levels[i], i + 1, alike, error);
    if (status == FM_OK) *profiles = fm_phase_counter_take(counter, 1);
    return status;
}
