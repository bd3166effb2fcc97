/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_model_phases.c - phases of traces that are made of known ones: where they are cut, what they count,
 * which recur; and their way through files.
 */

#include "case.h"

#include "unit/trace_distances.h"
#include <fathom/experimental.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/fathom-phases-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

enum { SIZE = 2000, LOOP = 50, ROUNDS = 100, STEPS = 6, STEP = SIZE + LOOP * ROUNDS, LENGTH = STEPS * STEP };

/* Each step sweeps over all data, then works on a few blocks of it; every other step on other ones, twice as
 * far apart in its own loop. */
static uint64_t *stepped_trace(void)
{
    uint64_t *trace = malloc(LENGTH * sizeof *trace);
    assert_non_null(trace);
    size_t at = 0;
    for (int step = 0; step < STEPS; step++) {
        for (uint64_t i = 0; i < SIZE; i++) trace[at++] = i;
        for (uint64_t i = 0; i < LOOP * ROUNDS; i++) trace[at++] = 1000 + i % (step % 2 ? LOOP : 4);
    }
    return trace;
}

/* Distinct blocks of a stretch, naively. */
static uint64_t distinct_in(const uint64_t *trace, uint64_t begin, uint64_t end)
{
    static bool seen[SIZE];
    uint64_t distinct = 0;
    memset(seen, 0, sizeof seen);
    for (uint64_t i = begin; i < end; i++) {
        distinct += !seen[trace[i]];
        seen[trace[i]] = true;
    }
    return distinct;
}

static fm_phases *phases_of(const uint64_t *trace, const uint64_t *distances, fm_profile ***profiles)
{
    fm_sampler *sampler;
    fm_phases *phases;
    fm_phase_counter *counter;
    fm_sampler_options options = {.threshold = SIZE / 2, .samples = FM_MOST_DATA_SAMPLES};
    assert_int_equal(fm_sampler_create(&sampler, &options, NULL), FM_OK);
    assert_int_equal(fm_sampler_feed(sampler, trace, distances, LENGTH, NULL), FM_OK);
    assert_int_equal(fm_phases_create(&phases, sampler, SIZE / 2, LENGTH, NULL), FM_OK);
    fm_sampler_destroy(sampler);
    assert_int_equal(fm_phase_counter_create(&counter, phases, 1, NULL), FM_OK);
    for (size_t i = 0; i < LENGTH; i += 777) {
        size_t count = LENGTH - i < 777 ? LENGTH - i : 777;
        assert_int_equal(fm_phase_counter_feed(counter, distances + i, count, NULL), FM_OK);
    }
    assert_int_equal(fm_phase_counter_finish(counter, 0.9, profiles, NULL), FM_OK);
    fm_phase_counter_destroy(counter);
    return phases;
}

CASE(test_steps_are_phases)
{
    uint64_t *trace = stepped_trace(), *distances = trace_distances("list", trace, LENGTH);
    fm_profile **profiles;
    fm_phases *phases = phases_of(trace, distances, &profiles);
    /* Block 0 comes back at the beginning of each step. */
    assert_int_equal(phases->samples[0].block, 0);
    assert_int_equal(phases->samples[0].count, STEPS - 1);
    assert_int_equal(phases->count, STEPS);
    for (size_t i = 0; i < STEPS; i++) {
        const fm_trace_phase *phase = &phases->phases[i];
        const fm_profile *profile = profiles[i];
        assert_int_equal(phase->begin, i * STEP);
        assert_int_equal(phase->end, (i + 1) * STEP);
        assert_int_equal(phase->cold, i == 0 ? SIZE : 0);
        assert_int_equal(phase->distinct, distinct_in(trace, phase->begin, phase->end));
        assert_int_equal(profile->references, STEP);
        assert_int_equal(profile->cold, phase->cold);
        assert_int_equal(profile->distinct, phase->distinct);
        uint64_t sum = profile->cold;
        for (size_t b = 0; b < profile->distances.count; b++) sum += profile->distances.bins[b].count;
        assert_int_equal(sum, STEP);
        /* The first is the one with first touches; the others take turns. */
        static const uint32_t kinds[STEPS] = {0, 1, 2, 1, 2, 1};
        assert_int_equal(phase->kind, kinds[i]);
        fm_profile_destroy(profiles[i]);
    }
    free(profiles);
    fm_phases_destroy(phases);
    free(trace);
    free(distances);
}

CASE(test_nothing_comes_back)
{
    fm_sampler *sampler;
    fm_phases *phases;
    fm_phase_counter *counter;
    fm_profile **profiles;
    static const uint64_t blocks[] = {1, 2, 1}, distances[] = {FM_COLD, FM_COLD, 1};
    assert_int_equal(fm_sampler_create(&sampler, &(fm_sampler_options){.threshold = 5}, NULL), FM_OK);
    assert_int_equal(fm_sampler_feed(sampler, blocks, distances, 3, NULL), FM_OK);
    assert_int_equal(fm_phases_create(&phases, sampler, 5, 3, NULL), FM_OK);
    assert_int_equal(fm_phase_counter_create(&counter, phases, 1, NULL), FM_OK);
    assert_int_equal(fm_phase_counter_feed(counter, distances, 3, NULL), FM_OK);
    assert_int_equal(fm_phase_counter_finish(counter, 0.9, &profiles, NULL), FM_OK);
    assert_int_equal(phases->count, 1);
    assert_int_equal(phases->phases[0].end, 3);
    assert_int_equal(phases->phases[0].distinct, 2);
    fm_profile_destroy(profiles[0]);
    free(profiles);
    fm_phase_counter_destroy(counter);
    fm_phases_destroy(phases);
    fm_sampler_destroy(sampler);
}

CASE(test_through_a_file)
{
    uint64_t *trace = stepped_trace(), *distances = trace_distances("list", trace, LENGTH);
    fm_profile **profiles, *profile;
    assert_int_equal(fm_profile_create(&profile, NULL), FM_OK);
    fm_phases *phases = profile->phases = phases_of(trace, distances, &profiles);
    for (size_t i = 0; i < STEPS; i++) fm_profile_destroy(profiles[i]);
    free(profiles);
    /* Two inside the second phase, and two inside the first of these. */
    phases->cut = FM_CUT_AT_CHANGES;
    phases->inner = calloc(2, sizeof *phases->inner);
    assert_non_null(phases->inner);
    for (size_t i = 0; i < 2; i++) {
        fm_phase_level *inner = &phases->inner[phases->inner_count++];
        inner->phases = calloc(2, sizeof *inner->phases);
        assert_non_null(inner->phases);
        const uint64_t half = STEP / 2 / (i + 1);
        inner->phases[inner->count++] = (fm_trace_phase){STEP, STEP + half, 7, 3, 0, 1 - i};
        inner->phases[inner->count++] = (fm_trace_phase){STEP + half, STEP + 2 * half, 8, 2, 1, 1 - i};
    }
    const fm_profile *one = profile;
    fm_profile_list list;
    assert_int_equal(fm_profile_write(path, &one, 1, NULL), FM_OK);
    assert_int_equal(fm_profile_read(path, &list, NULL), FM_OK);
    const fm_phases *a = profile->phases, *b = list.profiles[0]->phases;
    assert_int_equal(a->threshold, b->threshold);
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(a->phases[i].begin, b->phases[i].begin);
        assert_int_equal(a->phases[i].end, b->phases[i].end);
        assert_int_equal(a->phases[i].distinct, b->phases[i].distinct);
        assert_int_equal(a->phases[i].cold, b->phases[i].cold);
        assert_int_equal(a->phases[i].kind, b->phases[i].kind);
    }
    assert_int_equal(a->cut, b->cut);
    assert_int_equal(a->inner_count, b->inner_count);
    for (size_t i = 0; i < a->inner_count; i++) {
        assert_int_equal(a->inner[i].count, b->inner[i].count);
        for (size_t j = 0; j < a->inner[i].count; j++) {
            const fm_trace_phase *of_a = &a->inner[i].phases[j], *of_b = &b->inner[i].phases[j];
            assert_int_equal(of_a->begin, of_b->begin);
            assert_int_equal(of_a->end, of_b->end);
            assert_int_equal(of_a->distinct, of_b->distinct);
            assert_int_equal(of_a->cold, of_b->cold);
            assert_int_equal(of_a->kind, of_b->kind);
            assert_int_equal(of_a->parent, of_b->parent);
        }
    }
    assert_int_equal(a->sample_count, b->sample_count);
    for (size_t i = 0; i < a->sample_count; i++) {
        assert_int_equal(a->samples[i].block, b->samples[i].block);
        assert_int_equal(a->samples[i].count, b->samples[i].count);
        assert_memory_equal(a->samples[i].times, b->samples[i].times,
                            a->samples[i].count * sizeof(fm_time_sample));
    }
    /* A sum of profiles has no phases. */
    assert_int_equal(fm_profile_merge(profile, list.profiles[0], NULL), FM_OK);
    assert_null(profile->phases);
    fm_profile_list_clear(&list);
    fm_profile_destroy(profile);
    free(trace);
    free(distances);
}

CASE(test_wrong_files)
{
    static const char *const wrong[] = {
        "7",
        "{\"threshold\": -1}",
        "{\"samples\": 5}",
        "{\"samples\": [{\"block\": 1, \"times\": [[1]]}]}",
        "{\"samples\": [{\"block\": 1, \"times\": [[1, 2, 3]]}]}",
        "{\"phases\": [[0, 5, 1, 1]]}",
        "{\"phases\": [[1, 5, 1, 1, 0]]}",
        "{\"phases\": [[0, 5, 1, 1, 0], [6, 7, 1, 1, 0]]}",
        "{\"phases\": [[0, 5, 1, 1, 1]]}",
        "{\"phases\": [[0, 5, 1, 1, 0]], \"phases\": [[0, 5, 1, 1, 0]]}",
        "{\"cut\": \"elsewhere\"}",
        "{\"cut\": 7}",
        "{\"inner\": 7}",
        "{\"inner\": [], \"inner\": []}",
        "{\"inner\": [{\"level\": 3}]}",
        "{\"inner\": [{\"level\": 2, \"phases\": [[0, 5, 1, 1, 0, 0]]}]}",
        "{\"inner\": [{}, {}, {}, {}, {}, {}, {}, {}]}",
        "{\"phases\": [[0, 5, 1, 1, 0]], \"inner\": [{\"phases\": [[0, 5, 1, 1, 0]]}]}",
        "{\"phases\": [[0, 5, 1, 1, 0]], \"inner\": [{\"phases\": [[0, 5, 1, 1, 1, 0]]}]}",
        "{\"phases\": [[0, 5, 1, 1, 0]], \"inner\": [{\"phases\": [[0, 5, 1, 1, 0, 1]]}]}",
        "{\"phases\": [[0, 5, 1, 1, 0]], \"inner\": [{\"phases\": [[0, 6, 1, 1, 0, 0]]}]}",
        /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one text in two lines */
        "{\"phases\": [[0, 5, 1, 1, 0]], \"inner\": [{\"phases\": [[2, 3, 1, 1, 0, 0], [2, 5, 1, 1, 0, "
        "0]]}]}",
        "{\"phases\": [[0, 5, 1, 1, 0]], \"inner\": [{\"phases\": [], \"phases\": [[0, 5, 1, 1, 0, 0]]}, "
        "{\"phases\": [[0, 5, 1, 1, 0, 1]]}]}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file,
                "{\"schema\": \"fathom-profile-1\", \"engine\": \"e\", \"exact\": true, \"granularity\": 1,"
                "\"references\": 0, \"distinct\": 0, \"cold\": 0, \"complete\": true, \"lost\": 0,"
                "\"histogram\": [], \"phases\": %s}",
                wrong[i]);
        assert_int_equal(fclose(file), 0);
        fm_profile_list list;
        if (fm_profile_read(path, &list, NULL) != FM_E_FORMAT) fail_msg("taken: %s", wrong[i]);
    }
}

CASES_WITH(make_file, remove_file);
