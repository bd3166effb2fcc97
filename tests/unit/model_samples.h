/* SPDX-License-Identifier: Apache-2.0 */
/* model_samples.h - distances drawn at random, their profile, and naive answers about them. For tests. */
#ifndef FATHOM_TEST_MODEL_SAMPLES_H
#define FATHOM_TEST_MODEL_SAMPLES_H

#include <assert.h>
#include <fathom/profile.h>
#include <stdlib.h>

enum { SAMPLE_MOST = 4096 };

typedef struct sample {
    size_t count;
    uint64_t distances[SAMPLE_MOST]; /* ascending */
} sample;

static uint64_t sample_state = 0x9E3779B97F4A7C15u;
static inline uint64_t sample_random(void)
{
    sample_state ^= sample_state << 13;
    sample_state ^= sample_state >> 7;
    sample_state ^= sample_state << 17;
    return sample_state;
}

static inline int sample_order(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Log-uniform below `limit`, so that small and large ones occur. */
static inline void sample_draw(sample *drawn, size_t count, uint64_t limit)
{
    assert(count <= SAMPLE_MOST);
    drawn->count = count;
    for (size_t i = 0; i < count; i++)
        drawn->distances[i] = sample_random() % (1 + limit) >> (sample_random() % 12);
    qsort(drawn->distances, count, sizeof *drawn->distances, sample_order);
}

static inline uint64_t sample_at_least(const sample *drawn, uint64_t distance)
{
    uint64_t count = 0;
    for (size_t i = 0; i < drawn->count; i++) count += drawn->distances[i] >= distance;
    return count;
}

static inline fm_profile *sample_profile(const sample *drawn, fm_bins bins, uint64_t cold)
{
    fm_profile *profile;
    if (fm_profile_create(&profile, NULL)) abort();
    profile->bins = bins;
    profile->cold = profile->distinct = cold;
    profile->references = cold + drawn->count;
    profile->distances.bins = calloc(drawn->count + 1, sizeof(fm_bin));
    if (!profile->distances.bins) abort();
    fm_bin *last = NULL;
    for (size_t i = 0; i < drawn->count; i++) {
        uint64_t lo, hi;
        fm_bins_range(bins, fm_bins_index(bins, drawn->distances[i]), &lo, &hi);
        if (!last || last->lo != lo) {
            last = &profile->distances.bins[profile->distances.count++];
            *last = (fm_bin){lo, hi, 0};
        }
        last->count++;
    }
    return profile;
}

#endif
