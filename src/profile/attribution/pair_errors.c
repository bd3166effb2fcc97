/* SPDX-License-Identifier: Apache-2.0 */
/* pair_errors.c - see pair_errors.h. */
#include "profile/attribution/pair_errors.h"

#include "base/error.h"
#include "profile/attribution/attribution_grow.h"

#include <math.h>
#include <stdlib.h>

static int by_pair(const void *a, const void *b)
{
    const fm_pair_error *x = a, *y = b;
    if (x->reuse != y->reuse) return x->reuse < y->reuse ? -1 : 1;
    return x->use < y->use ? -1 : x->use > y->use;
}

void fm_pair_errors_sort(fm_attribution *attribution)
{
    if (attribution->pair_error_count > 1)
        qsort(attribution->pair_errors, attribution->pair_error_count, sizeof *attribution->pair_errors,
              by_pair);
}

/* Sorts, and makes one row of those of the same pair. */
static void pair_errors_join(fm_attribution *attribution, bool independent)
{
    fm_pair_error *all = attribution->pair_errors;
    size_t kept = 0;
    fm_pair_errors_sort(attribution);
    for (size_t i = 0; i < attribution->pair_error_count; i++) {
        if (kept == 0 || by_pair(&all[kept - 1], &all[i]) != 0) {
            all[kept++] = all[i];
            continue;
        }
        fm_pair_error *into = &all[kept - 1];
        into->error = independent ? (uint64_t)fmin(hypot((double)into->error, (double)all[i].error), 0x1p62)
                                  : fm_sum_at_most(into->error, all[i].error);
        if (independent)
            into->samples = fm_sum_at_most(into->samples, all[i].samples);
        else if (into->samples < all[i].samples)
            into->samples = all[i].samples;
    }
    attribution->pair_error_count = kept;
}

static fm_pair_error *room_for(fm_attribution *attribution, size_t more, fm_error *error)
{
    fm_pair_error *all = fm_attribution_grow(attribution, attribution->pair_errors,
                                             attribution->pair_error_count, more, sizeof *all);
    if (!all) fm_fail_memory(error, more * sizeof *all, "the errors of pairs");
    return all;
}

fm_status fm_attribution_add_pair_errors(fm_attribution *attribution, const fm_pair_error *raw, size_t count,
                                         const uint32_t *map, size_t map_count, fm_error *error)
{
    FM_REQUIRE(attribution, error);
    if (count == 0) return FM_OK;
    fm_pair_error *all = room_for(attribution, count, error);
    if (!all) return FM_E_NOMEM;
    size_t end = attribution->pair_error_count;
    for (size_t i = 0; i < count; i++) {
        fm_pair_error one = raw[i];
        one.use = one.use && one.use < map_count ? map[one.use] : FM_NONE;
        one.reuse = one.reuse && one.reuse < map_count ? map[one.reuse] : FM_NONE;
        if (one.reuse != FM_NONE) all[end++] = one;
    }
    attribution->pair_errors = all;
    attribution->pair_error_count = end;
    pair_errors_join(attribution, false);
    return FM_OK;
}

fm_status fm_pair_errors_merge(fm_attribution *sum, const fm_attribution *from, const uint32_t *sites,
                               fm_error *error)
{
    if (from->pair_error_count == 0) return FM_OK;
    fm_pair_error *all = room_for(sum, from->pair_error_count, error);
    if (!all) return FM_E_NOMEM;
    for (size_t i = 0; i < from->pair_error_count; i++) {
        fm_pair_error one = from->pair_errors[i];
        if (one.use != FM_NONE) one.use = sites[one.use];
        one.reuse = sites[one.reuse];
        all[sum->pair_error_count + i] = one;
    }
    sum->pair_errors = all;
    sum->pair_error_count += from->pair_error_count;
    pair_errors_join(sum, true);
    return FM_OK;
}

const char *fm_pair_errors_wrong(const fm_attribution *attribution, size_t *row)
{
    for (size_t i = 0; i < attribution->pair_error_count; i++) {
        const fm_pair_error *each = &attribution->pair_errors[i];
        *row = i;
        if (each->reuse >= attribution->site_count ||
            (each->use != FM_NONE && each->use >= attribution->site_count))
            return "expected one of the sites, found another";
        if (i > 0 && by_pair(&attribution->pair_errors[i - 1], each) >= 0) return "the pair is there twice";
    }
    return NULL;
}

const fm_pair_error *fm_pair_error_of(const fm_attribution *attribution, const fm_pair *pair)
{
    const fm_pair_error key = {.use = pair->use, .reuse = pair->reuse};
    if (attribution->pair_error_count == 0) return NULL;
    return bsearch(&key, attribution->pair_errors, attribution->pair_error_count, sizeof key, by_pair);
}

double fm_pair_late(const fm_attribution *attribution, const fm_pair *pair)
{
    return fm_pair_misses(pair, attribution->late_from);
}

void fm_error_sum_add(fm_error_sum *sum, const fm_attribution *attribution, const fm_pair *pair)
{
    const fm_pair_error *error = fm_pair_error_of(attribution, pair);
    sum->late += fm_pair_late(attribution, pair);
    if (!error) return;
    sum->error += (double)error->error;
    if (sum->samples < error->samples) sum->samples = error->samples;
}
