/* SPDX-License-Identifier: Apache-2.0 */
/* counted.c - see counted.h. */
#include "static/counter/counted.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256 };

static size_t mixed(uint32_t use, uint32_t reuse, uint64_t distance)
{
    uint64_t key = (distance + 1) * 0x9E3779B97F4A7C15u ^ ((uint64_t)use << 32 | reuse) * 0xC2B2AE3D27D4EB4Fu;
    key ^= key >> 32;
    key *= 0xD6E8FEB86659FD93u;
    return (size_t)(key ^ key >> 32);
}

static fm_counted_pair *slot_of(fm_counted_pair *slots, size_t slot_count, uint32_t use, uint32_t reuse,
                                uint64_t distance)
{
    size_t at = mixed(use, reuse, distance) & (slot_count - 1);
    while (slots[at].count &&
           (slots[at].distance != distance || slots[at].use != use || slots[at].reuse != reuse))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static fm_status grow(fm_static_counted *counted, fm_error *error)
{
    size_t wanted = counted->slot_count ? counted->slot_count * 2 : FIRST_SLOTS;
    fm_counted_pair *slots = fm_calloc(wanted, sizeof *slots);
    if (!slots) return fm_fail_memory(error, wanted * sizeof *slots, "the table of distances");
    for (size_t i = 0; i < counted->slot_count; i++) {
        fm_counted_pair *old = &counted->slots[i];
        if (old->count) *slot_of(slots, wanted, old->use, old->reuse, old->distance) = *old;
    }
    free(counted->slots);
    counted->slots = slots;
    counted->slot_count = wanted;
    return FM_OK;
}

fm_status fm_static_counted_add(fm_static_counted *counted, uint32_t use, uint32_t reuse, uint64_t distance,
                                uint64_t count, fm_error *error)
{
    if (count == 0) return FM_OK;
    if (use == FM_FIRST_TOUCH) distance = 0;
    if (counted->pair_count >= counted->slot_count / 2) {
        fm_status status = grow(counted, error);
        if (status != FM_OK) return status;
    }
    if (__builtin_add_overflow(counted->points, count, &counted->points))
        return fm_fail(error, FM_E_LIMIT, NULL, "the region has 2^64 accesses or more");
    if (use == FM_FIRST_TOUCH) counted->cold += count;
    fm_counted_pair *slot = slot_of(counted->slots, counted->slot_count, use, reuse, distance);
    if (!slot->count) {
        *slot = (fm_counted_pair){use, reuse, distance, 0};
        counted->pair_count++;
    }
    slot->count += count;
    return FM_OK;
}

static int by_pair(const void *left, const void *right)
{
    const fm_counted_pair *a = left, *b = right;
    if (a->use != b->use) return a->use < b->use ? -1 : 1;
    if (a->reuse != b->reuse) return a->reuse < b->reuse ? -1 : 1;
    return a->distance < b->distance ? -1 : a->distance > b->distance;
}

static int by_distance(const void *left, const void *right)
{
    const fm_counted_distance *a = left, *b = right;
    return a->distance < b->distance ? -1 : a->distance > b->distance;
}

fm_status fm_static_counted_finish(fm_static_counted *counted, fm_error *error)
{
    size_t taken = 0, count = 0;
    for (size_t i = 0; i < counted->slot_count; i++)
        if (counted->slots[i].count) counted->slots[taken++] = counted->slots[i];
    fm_counted_distance *distances = fm_calloc(taken + 1, sizeof *distances);
    if (!distances) return fm_fail_memory(error, (taken + 1) * sizeof *distances, "the distances");
    for (size_t i = 0; i < taken; i++)
        if (counted->slots[i].use != FM_FIRST_TOUCH)
            distances[count++] = (fm_counted_distance){counted->slots[i].distance, counted->slots[i].count};
    qsort(distances, count, sizeof *distances, by_distance);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept && distances[kept - 1].distance == distances[i].distance)
            distances[kept - 1].count += distances[i].count;
        else
            distances[kept++] = distances[i];
    if (taken) qsort(counted->slots, taken, sizeof *counted->slots, by_pair);
    counted->distances = distances;
    counted->distance_count = kept;
    counted->pairs = counted->slots;
    counted->pair_count = taken;
    counted->slots = NULL;
    counted->slot_count = 0;
    return FM_OK;
}

void fm_static_counted_clear(fm_static_counted *counted)
{
    free(counted->distances);
    free(counted->pairs);
    free(counted->slots);
    memset(counted, 0, sizeof *counted);
}
