/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_pairs.c - pairs of places (miss_table.h). One pass over all pairs of sites for the sums, one more for
 * the members of the largest; O(n log n) for sorting.
 */
#include "view/miss_table.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"

#include <stdlib.h>

/* Re-uses of a pair of sites that miss: without first touches. */
static double late_of(const fm_pair *pair, uint64_t blocks)
{
    fm_pair reuses = *pair;
    reuses.cold = 0;
    return fm_pair_misses(&reuses, blocks);
}

static fm_status pairs_no_memory(fm_error *error, size_t count)
{
    return fm_fail_memory(error, (uint64_t)count * sizeof(fm_late_pair), "pairs of lines");
}

/* FM_NONE stays FM_NONE. */
static uint32_t place_of(const fm_late_pairs *late, uint32_t site)
{
    FM_ASSERT(site == FM_NONE || site < late->of->site_count);
    return site == FM_NONE ? FM_NONE : late->places.of_site[site];
}

static fm_key pair_key(const fm_late_pairs *late, const fm_pair *pair)
{
    return (fm_key){place_of(late, pair->use), place_of(late, pair->reuse), 0};
}

/* ---- sums ---- */

static fm_status add_up(fm_late_pairs *late, fm_table *numbers, fm_error *error)
{
    size_t room = 0;
    for (size_t i = 0; i < late->of->pair_count; i++) {
        const fm_pair *pair = &late->of->pairs[i];
        late->cold += pair->cold;
        if (pair->count == pair->cold) continue;
        const fm_key key = pair_key(late, pair);
        uint32_t number = fm_table_add(numbers, &key);
        void *grown = late->pairs;
        if (number == FM_KEY_NONE || fm_array_reserve(&grown, &room, late->count + 1, sizeof *late->pairs))
            return pairs_no_memory(error, late->count);
        late->pairs = grown;
        if (number == late->count)
            late->pairs[late->count++] = (fm_late_pair){
                .use = place_of(late, pair->use), .reuse = place_of(late, pair->reuse), .number = number};
        double misses = late_of(pair, late->blocks);
        late->pairs[number].late += misses;
        late->pairs[number].reuses += pair->count - pair->cold;
        fm_error_sum_add(&late->pairs[number].sure, late->of, pair);
        late->late += misses;
    }
    return FM_OK;
}

static void find_cold(fm_late_pairs *late)
{
    for (size_t i = 0; i < late->places.count; i++)
        if (late->places.rows[i].cold > late->cold_most) {
            late->cold_most = late->places.rows[i].cold;
            late->cold_place = (uint32_t)i;
        }
}

static int latest_first(const void *a, const void *b)
{
    const fm_late_pair *x = a, *y = b;
    if (x->late != y->late) return x->late > y->late ? -1 : 1;
    if (x->reuses != y->reuses) return x->reuses > y->reuses ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* ---- members and objects of the largest ---- */

static int by_rank(const void *a, const void *b)
{
    const fm_late_member *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->pair < y->pair ? -1 : x->pair > y->pair;
}

static fm_status find_members(fm_late_pairs *late, const fm_table *numbers, size_t all, fm_error *error)
{
    size_t room = 0;
    uint32_t *ranks = fm_calloc(all, sizeof *ranks); /* rank + 1 of each number */
    if (!ranks) return pairs_no_memory(error, all);
    for (size_t i = 0; i < late->top; i++) ranks[late->pairs[i].number] = (uint32_t)i + 1;
    fm_status status = FM_OK;
    for (size_t i = 0; i < late->of->pair_count && !status; i++) {
        const fm_key key = pair_key(late, &late->of->pairs[i]);
        uint32_t number = fm_table_look_up(numbers, &key);
        if (number == FM_KEY_NONE || ranks[number] == 0) continue;
        void *grown = late->members;
        if (fm_array_reserve(&grown, &room, late->member_count + 1, sizeof *late->members)) {
            status = pairs_no_memory(error, late->member_count);
        } else {
            late->members = grown;
            late->members[late->member_count++] = (fm_late_member){ranks[number] - 1, (uint32_t)i};
        }
    }
    free(ranks);
    if (late->member_count) qsort(late->members, late->member_count, sizeof *late->members, by_rank);
    return status;
}

static int by_object(const void *a, const void *b)
{
    const fm_late_object *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return x->object < y->object ? -1 : x->object > y->object;
}

static int by_place(const void *a, const void *b)
{
    const fm_late_object *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    if (x->late != y->late) return x->late > y->late ? -1 : 1;
    return x->object < y->object ? -1 : x->object > y->object;
}

static void join_objects(fm_late_pairs *late)
{
    fm_late_object *objects = late->objects;
    size_t kept = 0;
    if (late->object_count == 0) return;
    qsort(objects, late->object_count, sizeof *objects, by_object);
    for (size_t i = 0; i < late->object_count; i++)
        if (kept && by_object(&objects[kept - 1], &objects[i]) == 0)
            objects[kept - 1].late += objects[i].late;
        else
            objects[kept++] = objects[i];
    late->object_count = kept;
    qsort(objects, kept, sizeof *objects, by_place);
}

static fm_status find_objects(fm_late_pairs *late, fm_error *error)
{
    size_t room = 0;
    bool *wanted = fm_calloc(late->places.count, sizeof *wanted);
    if (!wanted) return pairs_no_memory(error, late->places.count);
    for (size_t i = 0; i < late->top; i++) wanted[late->pairs[i].reuse] = true;
    fm_status status = FM_OK;
    for (size_t i = 0; i < late->of->object_use_count && !status; i++) {
        fm_object_use reuses = late->of->object_uses[i];
        reuses.cold = 0;
        fm_late_object made = {place_of(late, reuses.site), reuses.object,
                               fm_object_use_misses(&reuses, late->blocks)};
        if (!wanted[made.place] || !(made.late > 0)) continue;
        void *grown = late->objects;
        if (fm_array_reserve(&grown, &room, late->object_count + 1, sizeof made)) {
            status = pairs_no_memory(error, late->object_count);
        } else {
            late->objects = grown;
            late->objects[late->object_count++] = made;
        }
    }
    free(wanted);
    join_objects(late);
    return status;
}

fm_status fm_late_pairs_make(fm_late_pairs *late, const fm_attribution *of, uint64_t blocks, size_t most,
                             fm_error *error)
{
    fm_table numbers = FM_TABLE_OF(fm_key);
    *late = (fm_late_pairs){.of = of, .blocks = blocks, .cold_place = FM_NONE};
    fm_status status = fm_miss_table_make(&late->places, of, FM_BY_PLACE, NULL, 0, error);
    if (!status) status = add_up(late, &numbers, error);
    if (!status) {
        find_cold(late);
        size_t all = late->count;
        if (all) qsort(late->pairs, all, sizeof *late->pairs, latest_first);
        while (late->count && !(late->pairs[late->count - 1].late > 0)) late->count--;
        late->top = most < late->count ? most : late->count;
        status = find_members(late, &numbers, all, error);
    }
    if (!status) status = find_objects(late, error);
    fm_table_clear(&numbers);
    if (status) fm_late_pairs_clear(late);
    return status;
}

void fm_late_pairs_clear(fm_late_pairs *late)
{
    fm_miss_table_clear(&late->places);
    free(late->pairs);
    free(late->members);
    free(late->objects);
    *late = (fm_late_pairs){0};
}

/* ---- one of the largest, closely ---- */

/* The members of a rank: [first, end). */
static size_t first_member(const fm_late_pairs *late, size_t rank)
{
    size_t low = 0, high = late->member_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (late->members[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool fm_late_pairs_median(const fm_late_pairs *late, size_t rank, uint64_t *lo, uint64_t *hi)
{
    const fm_attribution *of = late->of;
    double counts[256] = {0}; /* there are at most 250 ranges */
    size_t end = first_member(late, rank + 1);
    for (size_t m = first_member(late, rank); m < end; m++) {
        const fm_pair *pair = &of->pairs[late->members[m].pair];
        for (size_t i = 0, range = 0; i < pair->bin_count; i++) {
            fm_pair one = {.bin_count = 1, .bins = &pair->bins[i]};
            while (of->edges[range] < pair->bins[i].lo) range++;
            counts[range] += fm_pair_misses(&one, late->blocks);
        }
    }
    double half = late->pairs[rank].late / 2, passed = 0;
    for (size_t range = 0; range < of->edge_count; range++) {
        passed += counts[range];
        if (!(passed >= half) || !(counts[range] > 0)) continue;
        *lo = of->edges[range] < late->blocks ? late->blocks : of->edges[range];
        *hi = range + 1 < of->edge_count ? of->edges[range + 1] - 1 : UINT64_MAX;
        return true;
    }
    return false;
}

static int by_paths(const void *a, const void *b)
{
    const fm_late_paths *x = a, *y = b;
    if (x->reuse != y->reuse) return x->reuse < y->reuse ? -1 : 1;
    return x->use < y->use ? -1 : x->use > y->use;
}

fm_status fm_late_pairs_paths(const fm_late_pairs *late, size_t rank, fm_late_paths *paths, fm_error *error)
{
    *paths = (fm_late_paths){FM_NONE, FM_NONE, 1};
    if (late->of->path_count == 0) return FM_OK;
    size_t first = first_member(late, rank), count = first_member(late, rank + 1) - first;
    fm_late_paths *each = fm_calloc(count, sizeof *each);
    if (!each) return pairs_no_memory(error, count);
    for (size_t i = 0; i < count; i++) {
        const fm_pair *pair = &late->of->pairs[late->members[first + i].pair];
        each[i] = (fm_late_paths){pair->use == FM_NONE ? FM_NONE : late->of->sites[pair->use].path,
                                  late->of->sites[pair->reuse].path, late_of(pair, late->blocks)};
    }
    qsort(each, count, sizeof *each, by_paths);
    double most = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum = i && by_paths(&each[i - 1], &each[i]) == 0 ? sum + each[i].share : each[i].share;
        if (sum > most) {
            most = sum;
            *paths = each[i];
        }
    }
    paths->share = most / late->pairs[rank].late;
    free(each);
    return FM_OK;
}

size_t fm_late_pairs_objects(const fm_late_pairs *late, uint32_t place, const fm_late_object **objects,
                             double *all)
{
    size_t low = 0, high = late->object_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (late->objects[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    size_t count = 0;
    *objects = late->object_count ? &late->objects[low] : NULL;
    *all = 0;
    while (low + count < late->object_count && late->objects[low + count].place == place)
        *all += late->objects[low + count++].late;
    return count;
}
