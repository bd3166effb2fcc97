/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.c - see pairs.h. */
#include "engine/pairs.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

fm_status fm_pairs_create(fm_pairs *pairs, const uint64_t *edges, size_t count, uint64_t seed,
                          uint64_t max_memory, fm_error *error)
{
    memset(pairs, 0, sizeof *pairs);
    pairs->max_memory = max_memory;
    fm_status status = fm_ranges_create(&pairs->ranges, edges, count, error);
    if (status == FM_OK) status = fm_pair_table_create(&pairs->table, seed, max_memory, error);
    return status;
}

void fm_pairs_clear(fm_pairs *pairs)
{
    fm_pair_table_clear(&pairs->table);
    free(pairs->late);
    pairs->late = NULL;
}

uint64_t fm_pairs_memory(const fm_pairs *pairs)
{
    return fm_pair_table_memory(&pairs->table) + pairs->late_capacity * sizeof(fm_late);
}

/* While the list grows, for a moment the old one is held too. */
uint64_t fm_pairs_memory_peak(const fm_pairs *pairs)
{
    return pairs->table.memory_peak + pairs->late_capacity * sizeof(fm_late) * 3 / 2;
}

static fm_status reserve_late(fm_pairs *pairs, size_t more, fm_error *error)
{
    const size_t needed = pairs->late_count + more + 1; /* one is written that may not count */
    if (needed <= pairs->late_capacity) return FM_OK;
    /* It doubles, and is held together with what it was. */
    uint64_t bytes = (uint64_t)needed * 3 * sizeof(fm_late);
    if (pairs->max_memory && pairs->table.memory_peak + bytes > pairs->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the share of the memory limit for counters of pairs, %" PRIu64
                       " bytes, cannot be kept: there are %zu late references on the list",
                       pairs->max_memory, pairs->late_count);
    if (fm_array_reserve((void **)&pairs->late, &pairs->late_capacity, needed, sizeof(fm_late)) != 0)
        return fm_fail_memory(error, needed * sizeof(fm_late), "the list of late references");
    if (pairs->max_memory)
        pairs->table.max_memory = pairs->max_memory - pairs->late_capacity * sizeof(fm_late) * 3 / 2;
    return FM_OK;
}

fm_status fm_pairs_reserve(fm_pairs *pairs, size_t more, fm_error *error)
{
    fm_status status = pairs->late_wanted ? reserve_late(pairs, more, error) : FM_OK;
    return status == FM_OK ? fm_pair_table_reserve(&pairs->table, more, error) : status;
}

void fm_pairs_want_late(fm_pairs *pairs, uint32_t from)
{
    pairs->late_wanted = true;
    pairs->late_from = from < pairs->ranges.count ? pairs->ranges.edges[from] : FM_BEYOND;
}
