/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_model_phase_levels.c - phases inside phases: traces that are made of known ones, level by level. The
 * judge is how they were made. Boundaries may be off by TOLERANCE references, or by a tenth of the phase.
 */

#include "case.h"

#include "unit/trace_distances.h"
#include <fathom/experimental.h>
#include <stdlib.h>
#include <string.h>

enum { TOLERANCE = 8, MOST = 64, NO_LEVEL = -1 };

/* ---- traces ---- */

typedef struct made {
    uint64_t *trace;
    size_t count, capacity;
    uint64_t state; /* of the random numbers */
    /* Beginnings of the phases of each level, from 1 on. */
    size_t counts[5];
    uint64_t begins[5][MOST];
} made;

static void touch(made *into, uint64_t block)
{
    if (into->count == into->capacity) {
        into->capacity = into->capacity ? 2 * into->capacity : 4096;
        into->trace = realloc(into->trace, into->capacity * sizeof *into->trace);
        assert_non_null(into->trace);
    }
    into->trace[into->count++] = block;
}

/* A phase of that level begins here. */
static void begin(made *into, int level)
{
    if (level == NO_LEVEL) return;
    assert_true(into->counts[level] < MOST);
    into->begins[level][into->counts[level]++] = into->count;
}

static void sweep(made *into, int level, uint64_t first, uint64_t blocks, size_t references)
{
    begin(into, level);
    for (size_t i = 0; i < references; i++) touch(into, first + i % blocks);
}

static uint64_t random_below(made *into, uint64_t limit)
{
    into->state = into->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (into->state >> 33) % limit;
}

static void scatter(made *into, int level, uint64_t first, uint64_t blocks, size_t references)
{
    begin(into, level);
    for (size_t i = 0; i < references; i++) touch(into, first + random_below(into, blocks));
}

/* ---- the search ---- */

/* With the threshold that `fathom phases` takes, half of the largest distance, unless one is given. */
static fm_phases *phases_of(const made *from, uint64_t threshold)
{
    enum { STEP = 1000 };
    uint64_t *distances = trace_distances(NULL, from->trace, from->count), largest = 0;
    fm_phase_finder *finder;
    fm_sampler *sampler;
    fm_phase_counter *counter;
    fm_profile **profiles;
    fm_phases *phases;
    assert_int_equal(fm_phase_finder_create(&finder, NULL), FM_OK);
    for (size_t i = 0; i < from->count; i += STEP) {
        const size_t some = from->count - i < STEP ? from->count - i : STEP;
        assert_int_equal(fm_phase_finder_survey(finder, distances + i, some, NULL), FM_OK);
    }
    for (size_t i = 0; i < from->count; i++)
        if (distances[i] < FM_BEYOND && distances[i] > largest) largest = distances[i];
    const uint64_t used = threshold ? threshold : largest / 2;
    fm_sampler_options options = {.threshold = used, .samples = FM_MOST_DATA_SAMPLES};
    assert_int_equal(fm_sampler_create(&sampler, &options, NULL), FM_OK);
    assert_int_equal(fm_sampler_feed(sampler, from->trace, distances, from->count, NULL), FM_OK);
    for (size_t i = 0; i < from->count; i += STEP) {
        const size_t some = from->count - i < STEP ? from->count - i : STEP;
        assert_int_equal(fm_phase_finder_locate(finder, from->trace + i, distances + i, some, NULL), FM_OK);
    }
    assert_int_equal(fm_phase_finder_survey(finder, distances, 0, NULL), from->count ? FM_E_ARGUMENT : FM_OK);
    assert_int_equal(
        fm_phases_create_nested(&phases, finder, sampler, used, threshold > 0, from->count, NULL), FM_OK);
    assert_int_equal(fm_phase_counter_create(&counter, phases, 1, NULL), FM_OK);
    assert_int_equal(fm_phase_counter_feed(counter, distances, from->count, NULL), FM_OK);
    assert_int_equal(fm_phase_counter_finish(counter, 0.9, &profiles, NULL), FM_OK);
    for (size_t i = 0; i < phases->count; i++) fm_profile_destroy(profiles[i]);
    free(profiles);
    fm_phase_counter_destroy(counter);
    fm_sampler_destroy(sampler);
    fm_phase_finder_destroy(finder);
    free(distances);
    return phases;
}

/* ---- what must hold ---- */

static fm_phase_level level_of(const fm_phases *phases, size_t level)
{
    return level > 1 ? phases->inner[level - 2] : (fm_phase_level){phases->count, phases->phases};
}

/* Distinct blocks of a stretch, naively. */
static uint64_t distinct_in(const made *from, uint64_t first, uint64_t end)
{
    enum { BLOCKS = 200000 };
    static bool seen[BLOCKS];
    uint64_t distinct = 0;
    memset(seen, 0, sizeof seen);
    for (uint64_t i = first; i < end; i++) {
        assert_true(from->trace[i] < BLOCKS);
        distinct += !seen[from->trace[i]];
        seen[from->trace[i]] = true;
    }
    return distinct;
}

/* Phases are inside the ones they name, in order; those inside one fill it. Their counts are right. */
static void check_levels(const made *from, const fm_phases *phases)
{
    assert_int_equal(phases->phases[0].begin, 0);
    assert_int_equal(phases->phases[phases->count - 1].end, from->count);
    for (size_t level = 1; level <= phases->inner_count + 1; level++) {
        const fm_phase_level here = level_of(phases, level);
        assert_true(here.count > 0);
        for (size_t i = 0; i < here.count; i++) {
            const fm_trace_phase *one = &here.phases[i];
            const fm_trace_phase *before = i > 0 ? one - 1 : NULL;
            assert_int_equal(one->distinct, distinct_in(from, one->begin, one->end));
            if (level == 1) {
                assert_int_equal(one->begin, before ? before->end : 0);
                continue;
            }
            const fm_trace_phase *parent = &level_of(phases, level - 1).phases[one->parent];
            const bool first = !before || before->parent != one->parent;
            const bool last = i + 1 == here.count || one[1].parent != one->parent;
            if (before) assert_true(before->parent <= one->parent);
            assert_int_equal(one->begin, first ? parent->begin : before->end);
            if (last) assert_int_equal(one->end, parent->end);
            assert_false(first && last); /* one alone is no phase inside another */
        }
    }
}

static void expect_levels(const made *from, const fm_phases *phases, size_t levels)
{
    check_levels(from, phases);
    assert_int_equal(phases->inner_count + 1, levels);
    for (size_t level = 1; level <= levels; level++) {
        const fm_phase_level found = level_of(phases, level);
        assert_int_equal(found.count, from->counts[level]);
        for (size_t i = 0; i < found.count; i++) {
            const uint64_t is = found.phases[i].begin, should = from->begins[level][i];
            const uint64_t length = found.phases[i].end - is, off = is > should ? is - should : should - is;
            if (off > TOLERANCE && off > length / 10)
                fail_msg("level %zu, phase %zu: begins at %llu, should at %llu", level, i,
                         (unsigned long long)is, (unsigned long long)should);
        }
    }
}

static void expect_trace(made *from, size_t levels)
{
    fm_phases *phases = phases_of(from, 0);
    expect_levels(from, phases, levels);
    fm_phases_destroy(phases);
    free(from->trace);
}

CASE(test_rounds_of_three)
{
    made trace = {0};
    for (int i = 0; i < 6; i++) {
        begin(&trace, 1);
        sweep(&trace, 2, 0, 1000, 10000);
        scatter(&trace, 2, 5000, 3000, 20000);
        sweep(&trace, 2, 9000, 200, 5000);
    }
    expect_trace(&trace, 2);
}

/* Phases that do the same, each with its own data, take turns. */
CASE(test_rounds_by_data)
{
    made swept = {0}, scattered = {0};
    for (int i = 0; i < 6; i++) {
        begin(&swept, 1);
        begin(&scattered, 1);
        for (uint64_t j = 0; j < 3; j++) {
            sweep(&swept, 2, j * 1000, 100, 10000);
            scatter(&scattered, 2, j * 1000, 1000, 10000);
        }
    }
    expect_trace(&swept, 2);
    expect_trace(&scattered, 2);
}

/* The other way round: the same in each round, with new data. */
CASE(test_rounds_on_new_data)
{
    made trace = {0};
    for (uint64_t i = 0; i < 6; i++) {
        begin(&trace, 1);
        sweep(&trace, 2, i * 10000, 1000, 10000);
        scatter(&trace, 2, i * 10000 + 1000, 3000, 20000);
        sweep(&trace, 2, i * 10000 + 4000, 200, 5000);
    }
    expect_trace(&trace, 2);
}

CASE(test_unequal_lengths)
{
    made trace = {0};
    for (int i = 0; i < 8; i++) {
        begin(&trace, 1);
        sweep(&trace, 2, 0, 1000, 40000);
        scatter(&trace, 2, 5000, 300, 2000);
        sweep(&trace, 2, 9000, 3000, 9000);
        sweep(&trace, 2, 20000, 50, 1000);
    }
    expect_trace(&trace, 2);
}

/* A single sweep, and the work on a few of its blocks: the sweep comes from as far away as the loop loads. */
CASE(test_sweep_and_work)
{
    made trace = {0};
    for (int i = 0; i < 6; i++) {
        begin(&trace, 1);
        sweep(&trace, 2, 0, 2000, 2000);
        sweep(&trace, 2, 1000, 50, 5000);
    }
    expect_trace(&trace, 2);
}

CASE(test_small_trace)
{
    made trace = {0};
    for (int i = 0; i < 6; i++) {
        begin(&trace, 1);
        sweep(&trace, 2, 0, 30, 300);
        scatter(&trace, 2, 100, 90, 450);
        sweep(&trace, 2, 300, 10, 200);
    }
    expect_trace(&trace, 2);
}

CASE(test_three_levels)
{
    made trace = {0};
    for (int i = 0; i < 5; i++) {
        begin(&trace, 1);
        for (int j = 0; j < 4; j++) {
            begin(&trace, 2);
            sweep(&trace, 3, 0, 500, 4000);
            scatter(&trace, 3, 2000, 800, 3000);
        }
        scatter(&trace, 2, 9000, 3000, 16000);
    }
    expect_trace(&trace, 3);
}

CASE(test_four_levels)
{
    made trace = {0};
    for (int i = 0; i < 3; i++) {
        begin(&trace, 1);
        for (int j = 0; j < 3; j++) {
            begin(&trace, 2);
            for (int k = 0; k < 3; k++) {
                begin(&trace, 3);
                sweep(&trace, 4, 0, 100, 1500);
                scatter(&trace, 4, 1000, 300, 2500);
            }
            sweep(&trace, 3, 3000, 600, 6000);
        }
        scatter(&trace, 2, 9000, 2000, 12000);
    }
    expect_trace(&trace, 4);
}

/* What is before and behind the rounds is beside them. The last round is not whole. */
CASE(test_beside_rounds)
{
    made trace = {0};
    scatter(&trace, 1, 50000, 6000, 30000);
    for (int i = 0; i < 5; i++) {
        begin(&trace, 1);
        sweep(&trace, 2, 0, 1000, 10000);
        scatter(&trace, 2, 5000, 3000, 20000);
        if (i < 4) sweep(&trace, 2, 9000, 200, 5000);
    }
    expect_trace(&trace, 2);
}

CASE(test_one_level)
{
    made trace = {0};
    sweep(&trace, 1, 0, 1000, 50000);
    scatter(&trace, 1, 5000, 3000, 60000);
    sweep(&trace, 1, 9000, 500, 25000);
    expect_trace(&trace, 1);
}

/* Phases of more data than is held of either side of a boundary: the tables of the search are full. */
CASE(test_large_phases)
{
    for (uint64_t other = 0; other <= 100000; other += 100000) {
        made trace = {.state = other};
        sweep(&trace, 1, 0, 70000, 400000);
        scatter(&trace, 1, other, 70000, 400000);
        expect_trace(&trace, 1);
    }
}

/* Nothing changes but the shares of first touches, slowly: one phase, whatever the seed. */
CASE(test_random_is_one_phase)
{
    static const size_t shapes[][2] = {{10, 3000}, {100, 2000}, {1000, 1000}, {1000, 60000}, {90000, 200000}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            made trace = {.state = seed * 977};
            scatter(&trace, 1, 0, shapes[i][0], shapes[i][1]);
            expect_trace(&trace, 1);
        }
}

/* The same throughout, but in rounds: its sweeps, as ever. */
CASE(test_sweeps)
{
    made trace = {0};
    for (int i = 0; i < 20; i++) sweep(&trace, 1, 0, 1000, 1000);
    fm_phases *phases = phases_of(&trace, 0);
    assert_int_equal(phases->cut, FM_CUT_AT_PEAKS);
    expect_levels(&trace, phases, 1);
    fm_phases_destroy(phases);
    free(trace.trace);
}

/* A threshold that is given cuts level 1 at peaks, and changes are inside. */
CASE(test_given_threshold)
{
    made trace = {0};
    for (int i = 0; i < 6; i++) {
        begin(&trace, 1);
        sweep(&trace, 2, 0, 2000, 2000);
        sweep(&trace, 2, 1000, i % 2 ? 50 : 4, 5000);
    }
    fm_phases *phases = phases_of(&trace, 1000);
    assert_int_equal(phases->cut, FM_CUT_AT_PEAKS);
    expect_levels(&trace, phases, 2);
    fm_phases_destroy(phases);
    phases = phases_of(&trace, 100000); /* over all distances */
    assert_int_equal(phases->count, 1);
    check_levels(&trace, phases);
    fm_phases_destroy(phases);
    free(trace.trace);
}

CASE(test_tiny_traces)
{
    for (size_t length = 0; length < 200; length++) {
        made trace = {.state = length};
        for (size_t i = 0; i < length; i++) touch(&trace, random_below(&trace, 1 + length / 3));
        fm_phases *phases = phases_of(&trace, 0);
        assert_true(phases->count >= 1);
        check_levels(&trace, phases);
        fm_phases_destroy(phases);
        free(trace.trace);
    }
}

/* Something else in every window: many short segments. Whatever comes out, it is sound, and soon there. */
CASE(test_restless_trace)
{
    made trace = {.state = 3};
    for (uint64_t i = 0; trace.count < 65536; i++)
        if (random_below(&trace, 2))
            sweep(&trace, NO_LEVEL, random_below(&trace, 90000), 1 + random_below(&trace, 64),
                  16 * (1 + i % 7));
        else
            scatter(&trace, NO_LEVEL, random_below(&trace, 9), 1 + random_below(&trace, 5000),
                    16 * (1 + i % 5));
    fm_phases *phases = phases_of(&trace, 0);
    check_levels(&trace, phases);
    assert_true(phases->count <= FM_MOST_PHASES);
    fm_phases_destroy(phases);
    free(trace.trace);
}
