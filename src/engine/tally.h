/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.h - counting distances into bins, as engines produce them. Becomes a profile's histogram.
 *
 * With one bin per distance the array grows with the largest distance: reserve first, then add.
 */
#ifndef FATHOM_ENGINE_TALLY_H
#define FATHOM_ENGINE_TALLY_H

#include <fathom/profile.h>
#include <fathom/status.h>

typedef struct fm_tally {
    fm_bins bins;
    uint64_t *counts;
    uint64_t capacity; /* bins in counts */
    uint64_t total;    /* counted in counts */
    uint64_t cold, beyond;
    uint64_t max_memory; /* bytes; 0: no limit */
} fm_tally;

fm_status fm_tally_create(fm_tally *tally, fm_bins bins, fm_error *error);
void fm_tally_clear(fm_tally *tally);
uint64_t fm_tally_memory(const fm_tally *tally);

/* Makes sure that distances below `end` can be added. Fails without changing anything. */
fm_status fm_tally_reserve(fm_tally *tally, uint64_t end, fm_error *error);
/* Distances that are all below the reserved end. */
void fm_tally_add32(fm_tally *tally, const uint32_t *distances, size_t count);
/* How many of eight indices are the same as the first. */
static inline uint32_t fm_tally_same(const uint32_t *indices)
{
    uint32_t same = 0;
    for (size_t i = 0; i < 8; i++) same += indices[i] == indices[0];
    return same;
}
/* Indices of bins that were found already. Loops over arrays give few different ones many times over, and
 * each increment would wait for the one before: the first eight of 64 tell. */
static inline void fm_tally_add_indices(fm_tally *tally, const uint32_t *indices, size_t count)
{
    enum { TOGETHER = 64, EIGHT = 8, MOST = 5 };
    size_t i = 0;
    while (i < count) {
        const size_t end = count - i < TOGETHER ? count : i + TOGETHER;
        const bool runs = end == i + TOGETHER && fm_tally_same(indices + i) >= MOST;
        for (; runs && i < end; i += EIGHT) {
            const uint32_t same = fm_tally_same(indices + i);
            tally->counts[indices[i]] += same;
            for (size_t j = 1; j < EIGHT && same < EIGHT; j++)
                if (indices[i + j] != indices[i]) tally->counts[indices[i + j]]++;
        }
        for (; i < end; i++) tally->counts[indices[i]]++;
    }
    tally->total += count;
}
/* Distances, FM_COLD and FM_BEYOND; reserves by itself. On failure nothing is counted. */
fm_status fm_tally_add(fm_tally *tally, const uint64_t *distances, size_t count, fm_error *error);
/* Behind the last bin that is not empty. With one bin per distance, most of the room is behind it. */
static inline uint64_t fm_tally_end(const fm_tally *tally)
{
    uint64_t end = tally->capacity;
    while (end > 0 && tally->counts[end - 1] == 0) end--;
    return end;
}
/* All counts of another tally with the same bins, which is then empty. On failure nothing has changed. */
fm_status fm_tally_move(fm_tally *tally, fm_tally *from, fm_error *error);
/* The same distance many times; it must be below the reserved end. */
static inline void fm_tally_add_many(fm_tally *tally, uint64_t distance, uint64_t count)
{
    tally->counts[fm_bins_index(tally->bins, distance)] += count;
    tally->total += count;
}

/* The non-empty bins. Under a bound (not 0), the last bin ends before it. */
fm_status fm_tally_histogram(const fm_tally *tally, uint64_t bound, fm_histogram *histogram, fm_error *error);

#endif
