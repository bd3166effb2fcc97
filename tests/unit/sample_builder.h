/* SPDX-License-Identifier: Apache-2.0 */
/* sample_builder.h - observations for the tests of estimators. */
#ifndef FATHOM_TESTS_SAMPLE_BUILDER_H
#define FATHOM_TESTS_SAMPLE_BUILDER_H

#include <fathom/experimental.h>

/* Samples of one thread. */
static inline fm_samples *samples_of_one(uint64_t references)
{
    fm_samples *samples;
    uint32_t thread;
    const fm_samples_options options = {.method = "test"};
    assert_int_equal(fm_samples_create(&samples, &options, NULL), FM_OK);
    assert_int_equal(fm_samples_add_thread(samples, references, &thread, NULL), FM_OK);
    return samples;
}

static inline void put_watch(fm_samples *samples, fm_sample_watch watch)
{
    fm_error error;
    if (watch.armed == 0) watch.armed = 1;
    if (watch.weight == 0) watch.weight = 1;
    if (fm_samples_add_watch(samples, &watch, &error)) fail_msg("%s", error.reason);
}

static inline fm_estimate *estimate_by(const fm_samples *samples, const char *estimator,
                                       const char *conversion)
{
    fm_error error;
    fm_estimate *estimate;
    const fm_estimate_options options = {.estimator = estimator, .conversion = conversion, .bootstrap = 1};
    if (fm_estimate_create(&estimate, samples, &options, &error)) fail_msg("%s", error.reason);
    return estimate;
}

/* References with a time distance from lo to hi. */
static inline uint64_t times_within(const fm_profile *profile, uint64_t lo, uint64_t hi)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < profile->times.count; i++)
        if (profile->times.bins[i].lo >= lo && profile->times.bins[i].hi <= hi)
            sum += profile->times.bins[i].count;
    return sum;
}

static inline uint64_t test_random(uint64_t *state, uint64_t most)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % most;
}

#endif
