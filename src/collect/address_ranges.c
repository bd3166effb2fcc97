/* SPDX-License-Identifier: Apache-2.0 */
/* address_ranges.c - see address_ranges.h. A sorted array: there are few, and they change seldom. */
#include "collect/address_ranges.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void fm_address_ranges_clear(fm_address_ranges *ranges)
{
    free(ranges->list);
    *ranges = (fm_address_ranges){0};
}

int fm_address_ranges_copy(fm_address_ranges *into, const fm_address_ranges *from)
{
    if (fm_array_reserve((void **)&into->list, &into->capacity, from->count, sizeof *into->list) != 0)
        return -1;
    if (from->count > 0) memcpy(into->list, from->list, from->count * sizeof *from->list);
    into->count = from->count;
    return 0;
}

/* The first range that ends behind the address. */
static size_t first_behind(const fm_address_ranges *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->list[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_at(fm_address_ranges *ranges, size_t index, fm_address_range range)
{
    memmove(ranges->list + index + 1, ranges->list + index, (ranges->count - index) * sizeof *ranges->list);
    ranges->list[index] = range;
    ranges->count++;
}

int fm_address_ranges_cut(fm_address_ranges *ranges, uint64_t low, uint64_t high)
{
    size_t first = first_behind(ranges, low);
    if (low >= high || first == ranges->count || ranges->list[first].low >= high) return 0;
    if (ranges->list[first].low < low) {
        fm_address_range whole = ranges->list[first];
        if (whole.high > high) { /* both ends stay */
            if (fm_array_reserve((void **)&ranges->list, &ranges->capacity, ranges->count + 1,
                                 sizeof *ranges->list) != 0)
                return -1;
            ranges->list[first].high = low;
            insert_at(ranges, first + 1, (fm_address_range){high, whole.high, whole.value});
            return 0;
        }
        ranges->list[first++].high = low;
    }
    size_t last = first;
    while (last < ranges->count && ranges->list[last].high <= high) last++;
    if (last < ranges->count && ranges->list[last].low < high) ranges->list[last].low = high;
    memmove(ranges->list + first, ranges->list + last, (ranges->count - last) * sizeof *ranges->list);
    ranges->count -= last - first;
    return 0;
}

int fm_address_ranges_put(fm_address_ranges *ranges, fm_address_range range)
{
    if (range.low >= range.high) return 0;
    if (fm_array_reserve((void **)&ranges->list, &ranges->capacity, ranges->count + 2,
                         sizeof *ranges->list) != 0 ||
        fm_address_ranges_cut(ranges, range.low, range.high) != 0)
        return -1;
    insert_at(ranges, first_behind(ranges, range.low), range);
    return 0;
}

const fm_address_range *fm_address_ranges_find(const fm_address_ranges *ranges, uint64_t address)
{
    size_t i = first_behind(ranges, address);
    return i < ranges->count && ranges->list[i].low <= address ? &ranges->list[i] : NULL;
}

bool fm_address_ranges_touch(const fm_address_ranges *ranges, uint64_t low, uint64_t high)
{
    size_t i = first_behind(ranges, low);
    return i < ranges->count && ranges->list[i].low < high;
}
