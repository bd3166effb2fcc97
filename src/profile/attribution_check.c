/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribution_check.c - see attribution_parts.h: whether an attribution is sound, and how sure its pairs
 * are.
 */
#include "base/error.h"
#include "profile/attribution_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ======== checks ======== */

/* Linear, no memory. */

/* Where the fault is reported. */
typedef struct judge {
    const fm_attribution *of;
    char *why;
    size_t size;
} judge;

__attribute__((format(printf, 4, 5))) static bool attribution_wrong(const judge *by, const char *table,
                                                                    size_t row, const char *format, ...)
{
    int used = snprintf(by->why, by->size, "\"%s\"[%zu]: ", table, row);
    if (used < 0 || (size_t)used >= by->size) return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(by->why + used, by->size - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

/* One of `count` things, or none. */
static bool index_sound(const judge *by, const char *table, size_t row, const char *what, uint32_t index,
                        size_t count, bool optional)
{
    if (index < count || (index == FM_NONE && optional)) return true;
    if (index == FM_NONE) return attribution_wrong(by, table, row, "expected %s, found none", what);
    return attribution_wrong(by, table, row, "expected %s below %zu, found %" PRIu32, what, count, index);
}

/* The ranges and the sum of a pair or an object use. */
static bool counts_sound(const judge *by, const char *table, size_t row, uint64_t count, uint64_t cold,
                         uint64_t beyond, const fm_bin *bins, size_t bin_count)
{
    uint64_t sum = cold;
    bool fits = !__builtin_add_overflow(sum, beyond, &sum);
    size_t edge = 0, edges = by->of->edge_count;
    for (size_t i = 0; i < bin_count; i++) {
        while (edge < edges && by->of->edges[edge] < bins[i].lo) edge++;
        uint64_t last = edge + 1 < edges ? by->of->edges[edge + 1] - 1 : UINT64_MAX;
        if (edge == edges || by->of->edges[edge] != bins[i].lo || bins[i].hi != last)
            return attribution_wrong(by, table, row,
                                     "%" PRIu64 " to %" PRIu64 " is no range between two edges", bins[i].lo,
                                     bins[i].hi);
        if (i && bins[i].lo <= bins[i - 1].lo)
            return attribution_wrong(by, table, row,
                                     "expected ascending ranges, found %" PRIu64 " after %" PRIu64,
                                     bins[i].lo, bins[i - 1].lo);
        if (bins[i].count == 0)
            return attribution_wrong(by, table, row, "expected counts from 1 on, found 0");
        fits &= !__builtin_add_overflow(sum, bins[i].count, &sum);
    }
    if (!fits) return attribution_wrong(by, table, row, "the counts exceed 64 bits together");
    if (sum != count)
        return attribution_wrong(
            by, table, row, "the numbers do not add up: count is %" PRIu64 ", but its parts are %" PRIu64,
            count, sum);
    return true;
}

static bool edges_sound(const judge *by)
{
    for (size_t i = 0; i < by->of->edge_count; i++) {
        if (i == 0 && by->of->edges[0] != 0)
            return attribution_wrong(by, "edges", 0, "expected 0, found %" PRIu64, by->of->edges[0]);
        if (i && by->of->edges[i] <= by->of->edges[i - 1])
            return attribution_wrong(by, "edges", i,
                                     "expected ascending edges, found %" PRIu64 " after %" PRIu64,
                                     by->of->edges[i], by->of->edges[i - 1]);
    }
    return true;
}

static bool sites_sound(const judge *by)
{
    const fm_attribution *of = by->of;
    for (size_t i = 0; i < of->site_count; i++)
        if (!index_sound(by, "sites", i, "a module", of->sites[i].module, of->module_count, true) ||
            !index_sound(by, "sites", i, "a path", of->sites[i].path, of->path_count, true))
            return false;
    for (size_t i = 0; i < of->path_count; i++)
        if (!index_sound(by, "paths", i, "a site", of->paths[i].call, of->site_count, false) ||
            !index_sound(by, "paths", i, "a parent", of->paths[i].parent, i, true))
            return false;
    return true;
}

static bool objects_sound(const judge *by)
{
    const fm_attribution *of = by->of;
    uint64_t all = 0;
    for (size_t i = 0; i < of->object_count; i++) {
        const fm_object *object = &of->objects[i];
        if ((unsigned)object->kind > FM_OBJECT_ARRAY)
            return attribution_wrong(by, "objects", i, "expected a kind up to %d, found %u", FM_OBJECT_ARRAY,
                                     (unsigned)object->kind);
        if (!index_sound(by, "objects", i, "a module", object->module, of->module_count, true) ||
            !index_sound(by, "objects", i, "a path", object->allocation, of->path_count, true))
            return false;
    }
    for (size_t i = 0; i < of->object_use_count; i++) {
        const fm_object_use *use = &of->object_uses[i];
        if (!index_sound(by, "object_uses", i, "an object", use->object, of->object_count, false) ||
            !index_sound(by, "object_uses", i, "a site", use->site, of->site_count, false) ||
            !counts_sound(by, "object_uses", i, use->count, use->cold, use->beyond, use->bins,
                          use->bin_count))
            return false;
        if (__builtin_add_overflow(all, use->count, &all))
            return attribution_wrong(by, "object_uses", i, "the counts up to here exceed 64 bits together");
    }
    return true;
}

static bool total_sound(const judge *by, const char *what, uint64_t found, uint64_t wanted)
{
    if (found == wanted) return true;
    snprintf(by->why, by->size,
             "the numbers do not add up: \"%s\" is %" PRIu64 ", but that of all \"pairs\" is %" PRIu64, what,
             wanted, found);
    return false;
}

static bool pairs_sound(const judge *by, const fm_profile *profile)
{
    const fm_attribution *of = by->of;
    uint64_t references = 0, cold = 0, beyond = 0;
    for (size_t i = 0; i < of->pair_count; i++) {
        const fm_pair *pair = &of->pairs[i];
        if (!index_sound(by, "pairs", i, "a site", pair->use, of->site_count, true) ||
            !index_sound(by, "pairs", i, "a site", pair->reuse, of->site_count, false) ||
            !counts_sound(by, "pairs", i, pair->count, pair->cold, pair->beyond, pair->bins, pair->bin_count))
            return false;
        if (__builtin_add_overflow(references, pair->count, &references))
            return attribution_wrong(by, "pairs", i, "the counts up to here exceed 64 bits together");
        cold += pair->cold; /* not more than references */
        beyond += pair->beyond;
    }
    return total_sound(by, "references", references, profile->references) &&
           total_sound(by, "cold", cold, profile->cold) && total_sound(by, "beyond", beyond, profile->beyond);
}

static bool latencies_sound(const judge *by)
{
    size_t row = 0;
    const char *fault = fm_site_latencies_wrong(by->of, &row);
    return !fault || attribution_wrong(by, "latencies", row, "%s", fault);
}

static bool pair_errors_sound(const judge *by)
{
    size_t row = 0;
    const char *fault = fm_pair_errors_wrong(by->of, &row);
    return !fault || attribution_wrong(by, "pair_errors", row, "%s", fault);
}

bool fm_attribution_sound(const fm_profile *profile, char *why, size_t size)
{
    if (size) why[0] = '\0';
    const judge by = {profile->attribution, why, size};
    return fm_sources_sound(profile->attribution, why, size) && edges_sound(&by) && sites_sound(&by) &&
           objects_sound(&by) && latencies_sound(&by) && pair_errors_sound(&by) && pairs_sound(&by, profile);
}

/* ======== errors of pairs ======== */

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
