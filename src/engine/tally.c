/* SPDX-License-Identifier: Apache-2.0 */
/* tally.c - distances counted into bins, and the profile that they make. */
#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "profile/profile_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

fm_status fm_tally_create(fm_tally *tally, fm_bins bins, fm_error *error)
{
    memset(tally, 0, sizeof *tally);
    tally->bins = bins;
    tally->capacity = bins == FM_BINS_EXACT ? 4096 : fm_bins_index(bins, UINT64_MAX - 2) + 1;
    tally->counts = fm_pages_allocate(tally->capacity * sizeof(uint64_t));
    if (!tally->counts) return fm_fail_memory(error, tally->capacity * sizeof(uint64_t), "the histogram");
    return FM_OK;
}

void fm_tally_clear(fm_tally *tally)
{
    if (tally->counts) fm_pages_free(tally->counts, tally->capacity * sizeof(uint64_t));
    tally->counts = NULL;
}

uint64_t fm_tally_memory(const fm_tally *tally)
{
    return tally->capacity * sizeof(uint64_t);
}

fm_status fm_tally_reserve(fm_tally *tally, uint64_t end, fm_error *error)
{
    if (tally->bins != FM_BINS_EXACT || end <= tally->capacity) return FM_OK;
    uint64_t capacity = tally->capacity;
    while (capacity < end && capacity <= SIZE_MAX / 16 / sizeof(uint64_t)) capacity += capacity / 2;
    if (capacity < end) return fm_fail_memory(error, UINT64_MAX, "the histogram of single distances");
    if (tally->max_memory && capacity * sizeof(uint64_t) > tally->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the histogram's share of the memory limit, %" PRIu64
                       " bytes, cannot be kept: %" PRIu64 " are needed for one bin per distance",
                       tally->max_memory, capacity * (uint64_t)sizeof(uint64_t));
    uint64_t *grown =
        fm_pages_resize(tally->counts, tally->capacity * sizeof(uint64_t), capacity * sizeof(uint64_t));
    if (!grown)
        return fm_fail_memory(error, capacity * sizeof(uint64_t), "the histogram of single distances");
    tally->counts = grown;
    tally->capacity = capacity;
    return FM_OK;
}

void fm_tally_add32(fm_tally *tally, const uint32_t *distances, size_t count)
{
    uint64_t *const counts = tally->counts;
    if (tally->bins == FM_BINS_EXACT) {
        /* Millions of bins: the increment itself misses the cache, so the bins are prefetched. */
        for (size_t i = 0; i < count; i++) __builtin_prefetch(&counts[distances[i]], 1, 3);
        for (size_t i = 0; i < count; i++) counts[distances[i]]++;
    } else {
        for (size_t i = 0; i < count; i++) counts[fm_bins_index(tally->bins, distances[i])]++;
    }
    tally->total += count;
}

fm_status fm_tally_add(fm_tally *tally, const uint64_t *distances, size_t count, fm_error *error)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < count; i++)
        if (distances[i] < FM_BEYOND && distances[i] > largest) largest = distances[i];
    fm_status status = fm_tally_reserve(tally, largest + 1, error);
    if (status != FM_OK) return status;
    for (size_t i = 0; i < count; i++) {
        if (distances[i] == FM_COLD) {
            tally->cold++;
        } else if (distances[i] == FM_BEYOND) {
            tally->beyond++;
        } else {
            tally->counts[fm_bins_index(tally->bins, distances[i])]++;
            tally->total++;
        }
    }
    return FM_OK;
}

fm_status fm_tally_move(fm_tally *tally, fm_tally *from, fm_error *error)
{
    const uint64_t end = fm_tally_end(from);
    fm_status status = fm_tally_reserve(tally, end, error);
    if (status != FM_OK) return status;
    for (uint64_t i = 0; i < end; i++) tally->counts[i] += from->counts[i];
    memset(from->counts, 0, end * sizeof *from->counts);
    tally->total += from->total;
    tally->cold += from->cold;
    tally->beyond += from->beyond;
    from->total = from->cold = from->beyond = 0;
    return FM_OK;
}

fm_status fm_tally_histogram(const fm_tally *tally, uint64_t bound, fm_histogram *histogram, fm_error *error)
{
    size_t filled = 0;
    for (size_t i = 0; i < tally->capacity; i++) filled += tally->counts[i] != 0;
    histogram->count = 0;
    histogram->bins = fm_calloc(filled, sizeof(fm_bin));
    if (!histogram->bins) return fm_fail_memory(error, filled * sizeof(fm_bin), "the histogram");
    for (size_t i = 0; i < tally->capacity; i++) {
        if (tally->counts[i] == 0) continue;
        fm_bin *bin = &histogram->bins[histogram->count++];
        fm_bins_range(tally->bins, i, &bin->lo, &bin->hi);
        if (bound && bin->hi >= bound) bin->hi = bound - 1;
        bin->count = tally->counts[i];
    }
    return FM_OK;
}

fm_status fm_tally_profile(const fm_tally *tally, const fm_tally_origin *origin, fm_profile **profile,
                           fm_error *error)
{
    fm_profile *made;
    *profile = NULL;
    fm_status status = fm_profile_create(&made, error);
    if (status != FM_OK) return status;
    free(made->engine);
    made->engine = strdup(origin->engine);
    if (!made->engine) status = fm_fail_memory(error, strlen(origin->engine) + 1, "the profile");
    made->exact = origin->exact;
    made->granularity = origin->granularity;
    made->references = tally->total + tally->cold + tally->beyond;
    made->distinct = origin->distinct;
    made->cold = tally->cold;
    made->bound = origin->bound;
    made->beyond = tally->beyond;
    made->cold_known = origin->cold_known;
    made->bins = tally->bins;
    if (status == FM_OK) status = fm_tally_histogram(tally, origin->bound, &made->distances, error);
    if (status == FM_OK) status = fm_profile_made(made, FM_LAWS_WHOLE, NULL, error);
    if (status != FM_OK) {
        fm_profile_destroy(made);
        return status;
    }
    *profile = made;
    return FM_OK;
}
