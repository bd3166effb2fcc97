/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intervals.c - see intervals.h. They come in runs that ascend (or descend), so they are sorted by merging
 * runs.
 */
#include "static/oracle/intervals.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT = 24 }; /* sorted by insertion */

void fm_intervals_clear(fm_intervals *self)
{
    free(self->items);
    free(self->spare);
    free(self->runs);
    *self = (fm_intervals){.shift = self->shift};
}

static void sort_short(fm_interval *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const fm_interval one = items[i];
        size_t at = i;
        for (; at && items[at - 1].first > one.first; at--) items[at] = items[at - 1];
        items[at] = one;
    }
}

static void merge(const fm_interval *left, size_t left_count, const fm_interval *right, size_t right_count,
                  fm_interval *to)
{
    const fm_interval *left_end = left + left_count, *right_end = right + right_count;
    while (left < left_end && right < right_end) {
        const bool take = right->first < left->first;
        *to++ = take ? *right : *left;
        right += take;
        left += !take;
    }
    memcpy(to, left, (size_t)(left_end - left) * sizeof *to);
    to += left_end - left;
    memcpy(to, right, (size_t)(right_end - right) * sizeof *to);
}

/* Where runs begin, and the end; descending ones are turned round. 0: no memory. */
static size_t find_runs(fm_intervals *self)
{
    size_t runs = 0, at = 0;
    fm_interval *items = self->items;
    while (at < self->count) {
        if (fm_array_reserve((void **)&self->runs, &self->run_capacity, runs + 2, sizeof *self->runs))
            return 0;
        self->runs[runs++] = at;
        size_t end = at + 1;
        if (end < self->count && items[end].first < items[at].first) {
            while (end < self->count && items[end].first < items[end - 1].first) end++;
            for (size_t low = at, high = end - 1; low < high; low++, high--) {
                const fm_interval swap = items[low];
                items[low] = items[high];
                items[high] = swap;
            }
        }
        while (end < self->count && items[end].first >= items[end - 1].first) end++;
        at = end;
    }
    self->runs[runs] = self->count;
    return runs;
}

static bool sort(fm_intervals *self)
{
    if (self->count <= SHORT) {
        sort_short(self->items, self->count);
        return true;
    }
    size_t runs = find_runs(self);
    if (!runs) return false;
    if (runs > 1 &&
        fm_array_reserve((void **)&self->spare, &self->spare_capacity, self->count, sizeof *self->spare))
        return false;
    while (runs > 1) {
        size_t kept = 0;
        for (size_t i = 0; i < runs; i += 2) {
            const size_t begin = self->runs[i], middle = self->runs[i + 1],
                         end = i + 2 <= runs ? self->runs[i + 2] : middle;
            merge(self->items + begin, middle - begin, self->items + middle, end - middle,
                  self->spare + begin);
            self->runs[kept++] = begin;
        }
        self->runs[kept] = self->count;
        runs = kept;
        fm_interval *swap = self->items;
        self->items = self->spare;
        self->spare = swap;
        const size_t swap_capacity = self->capacity;
        self->capacity = self->spare_capacity;
        self->spare_capacity = swap_capacity;
    }
    return true;
}

bool fm_intervals_join(fm_intervals *self)
{
    if (self->count < 2) return true;
    if (!sort(self)) return false;
    size_t kept = 0;
    for (size_t i = 1; i < self->count; i++) {
        if (self->items[i].first >> self->shift <= (self->items[kept].last >> self->shift) + 1) {
            if (self->items[i].last > self->items[kept].last) self->items[kept].last = self->items[i].last;
        } else
            self->items[++kept] = self->items[i];
    }
    self->count = kept + 1;
    return true;
}

/* Numbers up to `last` that are `set` modulo `sets`, less a constant. */
static int64_t up_to(int64_t last, int64_t sets, int64_t set)
{
    const int64_t above = last - set;
    return above / sets - (above % sets < 0);
}

uint64_t fm_intervals_blocks(const fm_intervals *self, uint64_t sets, uint64_t set)
{
    uint64_t blocks = 0;
    for (size_t i = 0; i < self->count; i++) {
        const int64_t first = self->items[i].first >> self->shift, last = self->items[i].last >> self->shift;
        blocks += sets > 1 ? (uint64_t)(up_to(last, (int64_t)sets, (int64_t)set) -
                                        up_to(first - 1, (int64_t)sets, (int64_t)set))
                           : (uint64_t)(last - first + 1);
    }
    return blocks;
}
