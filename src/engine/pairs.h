/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs.h - what attribution gathers: counters of pairs of tags (pair_table.h) by range of distance
 * (ranges.h), and the list of late references where somebody wants it. Engines that keep tags fill it;
 * it does not know how they keep them.
 */
#ifndef FATHOM_ENGINE_PAIRS_H
#define FATHOM_ENGINE_PAIRS_H

#include "engine/pair_table.h"
#include "engine/ranges.h"

typedef struct fm_pairs {
    fm_ranges ranges;
    fm_pair_table table;
    /* References at this distance and over, first touches and what a bound forgot are put on the list too. */
    bool late_wanted;
    uint64_t late_from; /* a distance; FM_BEYOND: none of the ordinary ones */
    size_t late_count, late_capacity;
    fm_late *late;       /* index: of the reference in what the engine was given */
    uint64_t max_memory; /* bytes, for counters and list; 0: no limit */
} fm_pairs;

/* max_memory: bytes that all of it may ever hold; 0: no limit. */
fm_status fm_pairs_create(fm_pairs *pairs, const uint64_t *edges, size_t count, uint64_t seed,
                          uint64_t max_memory, fm_error *error);
void fm_pairs_clear(fm_pairs *pairs); /* frees; safe on a zeroed struct */
uint64_t fm_pairs_memory(const fm_pairs *pairs);
uint64_t fm_pairs_memory_peak(const fm_pairs *pairs);

/* Room for `more` references, whatever they are. Fails without changing anything. */
fm_status fm_pairs_reserve(fm_pairs *pairs, size_t more, fm_error *error);
static inline bool fm_pairs_has_room(const fm_pairs *pairs, size_t more)
{
    return fm_pair_table_has_room(&pairs->table, more) &&
           (!pairs->late_wanted || more < pairs->late_capacity - pairs->late_count);
}

/* References of range `from` on are wanted on the list. */
void fm_pairs_want_late(fm_pairs *pairs, uint32_t from);

static inline bool fm_pairs_is_late(const fm_pairs *pairs, uint64_t distance)
{
    return distance >= pairs->late_from; /* FM_COLD and FM_BEYOND are always */
}

/* There is room for it. */
static inline void fm_pairs_note_late(fm_pairs *pairs, size_t index, uint32_t tag, uint32_t range)
{
    pairs->late[pairs->late_count++] = (fm_late){.index = (uint32_t)index, .tag = tag, .range = range};
}

#endif
