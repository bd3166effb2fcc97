/* SPDX-License-Identifier: Apache-2.0 */
/* reuses.c - see reuses.h. */
#include "static/oracle/reuses.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

fm_status fm_reuses_create(fm_reuses *reuses, size_t reference_count, fm_error *error)
{
    *reuses = (fm_reuses){.reference_count = reference_count};
    reuses->firsts = fm_calloc(reference_count + 1, sizeof *reuses->firsts);
    return reuses->firsts ? FM_OK
                          : fm_fail_memory(error, reference_count * sizeof *reuses->firsts, "first touches");
}

void fm_reuses_clear(fm_reuses *reuses)
{
    free(reuses->items);
    free(reuses->firsts);
    *reuses = (fm_reuses){0};
}

fm_status fm_reuses_add(fm_reuses *reuses, uint64_t distance, uint32_t from, uint32_t to, uint64_t count,
                        fm_error *error)
{
    if (reuses->count) {
        fm_reuse_count *last = &reuses->items[reuses->count - 1];
        if (last->distance == distance && last->from == from && last->to == to) {
            last->count += count;
            return FM_OK;
        }
    }
    if (fm_array_reserve((void **)&reuses->items, &reuses->capacity, reuses->count + 1,
                         sizeof *reuses->items))
        return fm_fail_memory(error, (reuses->count + 1) * sizeof *reuses->items, "the reuses");
    reuses->items[reuses->count++] = (fm_reuse_count){distance, from, to, count};
    return FM_OK;
}

static int compare(const void *left, const void *right)
{
    const fm_reuse_count *a = left, *b = right;
    if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

void fm_reuses_sort(fm_reuses *reuses)
{
    if (reuses->count) qsort(reuses->items, reuses->count, sizeof *reuses->items, compare);
    size_t kept = 0;
    for (size_t i = 0; i < reuses->count; i++) {
        const fm_reuse_count one = reuses->items[i];
        if (kept && !compare(&reuses->items[kept - 1], &one))
            reuses->items[kept - 1].count += one.count;
        else if (one.count)
            reuses->items[kept++] = one;
    }
    reuses->count = kept;
}
