/* SPDX-License-Identifier: Apache-2.0 */
/* reconstruct.c - Descriptions: describe_reference.c; here they are counted, checked and put together. */
#include "static/reconstruct/reconstruct.h"

#include "static/reconstruct/reconstruct_parts.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { USUAL_CHECKS = 10000, LEAST_CHECKS = 16, MOST_ROUNDS = 5, LOOK_EVERY = 1 << 14 };

/* Reuses of one reference: a table by distance and reference before. */
typedef struct bin {
    uint64_t distance;
    uint32_t before; /* + 1; 0: free */
    uint64_t count;
} bin;

typedef struct work {
    const fm_reference_list *list;
    const fm_reconstruct_options *options;
    fm_reconstructed *result;
    fm_describer describer;
    fm_points *points; /* of the reference */
    size_t slots, used;
    bin *bins;
    uint64_t firsts, sum; /* of the reference */
    uint64_t steps;
    fm_status status; /* of expanding */
    fm_error *error;
} work;

/* ---- counting ---- */

static bin *bin_of(bin *bins, size_t slots, uint64_t distance, uint32_t before)
{
    uint64_t hash = (distance + UINT64_C(0x9E3779B97F4A7C15) * (before + 1)) * UINT64_C(0xBF58476D1CE4E5B9);
    size_t at = (hash ^ hash >> 29) & (slots - 1);
    while (bins[at].before && (bins[at].distance != distance || bins[at].before != before + 1))
        at = (at + 1) & (slots - 1);
    return &bins[at];
}

static bool grow_bins(work *self)
{
    const size_t slots = self->slots ? self->slots * 2 : 1024;
    if (slots * sizeof(bin) > self->describer.memory_limit) {
        self->status = fm_fail(self->error, FM_E_LIMIT, NULL, "the distances need more than %llu bytes",
                               (unsigned long long)self->describer.memory_limit);
        return false;
    }
    bin *bins = fm_calloc(slots, sizeof *bins);
    if (!bins) {
        self->status = fm_fail_memory(self->error, slots * sizeof *bins, "the distances");
        return false;
    }
    for (size_t i = 0; i < self->slots; i++)
        if (self->bins[i].before)
            *bin_of(bins, slots, self->bins[i].distance, self->bins[i].before - 1) = self->bins[i];
    free(self->bins);
    self->bins = bins;
    self->slots = slots;
    return true;
}

static bool count_leaf(void *context, bool first, uint32_t before, int64_t distance, uint64_t count)
{
    work *self = context;
    if (++self->steps % LOOK_EVERY == 0 && self->options->deadline > 0 &&
        fm_now() > self->options->deadline) {
        self->status = fm_fail(self->error, FM_E_LIMIT, NULL, "no time is left to put distances together");
        return false;
    }
    if (__builtin_add_overflow(self->sum, count, &self->sum)) return false;
    if (first) {
        self->firsts += count;
        return true;
    }
    if (2 * self->used >= self->slots && !grow_bins(self)) return false;
    bin *to = bin_of(self->bins, self->slots, (uint64_t)distance, before);
    if (!to->before) {
        *to = (bin){.distance = (uint64_t)distance, .before = before + 1};
        self->used++;
    }
    to->count += count;
    return true;
}

/* *right: the description has as many points as there are. */
static fm_status count_description(work *self, const fm_description *description, unsigned levels,
                                   bool *right)
{
    if (self->slots) memset(self->bins, 0, self->slots * sizeof *self->bins);
    self->used = 0;
    self->firsts = self->sum = 0;
    self->status = FM_OK;
    const bool expanded =
        !description->shape_count ||
        fm_description_expand(description->shape, description->numbers, levels, 1, count_leaf, self);
    *right = expanded && self->sum == fm_points_count(self->points);
    return self->status;
}

static fm_status keep_bins(work *self, uint32_t number)
{
    fm_reuses *reuses = &self->result->reuses;
    reuses->firsts[number] = self->firsts;
    for (size_t i = 0; i < self->slots; i++) {
        if (!self->bins[i].before) continue;
        fm_status status = fm_reuses_add(reuses, self->bins[i].distance, self->bins[i].before - 1, number,
                                         self->bins[i].count, self->error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

/* ---- checking ---- */

/* Random accesses against the oracle; what differs is learned. *right: none did. */
static fm_status check_description(work *self, const fm_description *description, uint32_t number,
                                   uint64_t checks, bool *right)
{
    const unsigned depth = self->list->references[number].depth;
    const uint64_t count = fm_points_count(self->points);
    *right = true;
    for (uint64_t i = 0; i < checks; i++) {
        fm_point point = {.reference = number};
        fm_reuse reuse;
        bool first;
        uint32_t before;
        uint64_t distance;
        const unsigned __int128 within = fm_static_random_below(&self->describer.random, count);
        const uint64_t rank = (uint64_t)(((unsigned __int128)count * i + within) / checks);
        fm_status status = fm_points_at(self->points, rank, point.x, self->error);
        if (status == FM_OK) status = fm_oracle_ask(self->describer.oracle, &point, &reuse, self->error);
        if (status != FM_OK) return status;
        if (self->options->deadline > 0 && fm_now() > self->options->deadline)
            return fm_fail(self->error, FM_E_LIMIT, NULL, "no time is left to check what was reconstructed");
        if (fm_description_find(description->shape, description->numbers, depth, point.x, &first, &before,
                                &distance) &&
            first == reuse.first &&
            (first || (before == reuse.previous.reference && distance == reuse.distance)))
            continue;
        *right = false;
        self->result->mended++;
        if (self->describer.learned_count < FM_MOST_LEARNED)
            memcpy(self->describer.learned[self->describer.learned_count++], point.x, sizeof point.x);
    }
    return FM_OK;
}

static fm_status reconstruct_reference(work *self, uint32_t number, uint64_t checks)
{
    const unsigned depth = self->list->references[number].depth;
    self->describer.learned_count = 0;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        bool right = false;
        fm_description *description = fm_describe(&self->describer, number);
        if (!description) return self->error->status;
        fm_status status = check_description(self, description, number, checks, &right);
        if (status == FM_OK && right) status = count_description(self, description, depth, &right);
        fm_description_free(&self->describer, description);
        if (status != FM_OK) return status;
        if (right) {
            self->result->checked += checks;
            return keep_bins(self, number);
        }
    }
    return fm_fail(self->error, FM_E_LIMIT, NULL,
                   "distances of reference %u do not follow polynomials as far as random accesses tell",
                   number);
}

/* ---- all ---- */

static fm_status reconstruct_all(work *self)
{
    const fm_reference_list *list = self->list;
    fm_reuses *reuses = &self->result->reuses;
    uint64_t *counts = fm_calloc(list->count + 1, sizeof *counts), firsts = 0;
    fm_status status =
        counts ? FM_OK : fm_fail_memory(self->error, list->count * sizeof *counts, "a reconstruction");
    for (uint32_t i = 0; i < list->count && status == FM_OK; i++) {
        fm_points *points;
        status = fm_points_create(&points, &list->references[i], self->options->deadline, self->error);
        if (status != FM_OK) break;
        counts[i] = fm_points_count(points);
        fm_points_destroy(points);
        if (__builtin_add_overflow(reuses->accesses, counts[i], &reuses->accesses))
            status = fm_fail(self->error, FM_E_LIMIT, NULL, "the region has 2^63 accesses or more");
    }
    const uint64_t all = self->options->checks ? self->options->checks : USUAL_CHECKS;
    for (uint32_t i = 0; i < list->count && status == FM_OK; i++) {
        if (!counts[i]) continue;
        uint64_t checks = (uint64_t)((unsigned __int128)all * counts[i] / reuses->accesses) + LEAST_CHECKS;
        if (checks > counts[i]) checks = counts[i];
        status = fm_points_create(&self->points, &list->references[i], self->options->deadline, self->error);
        if (status == FM_OK) status = reconstruct_reference(self, i, checks);
        fm_points_destroy(self->points);
        self->points = NULL;
        firsts += reuses->firsts[i];
    }
    if (status == FM_OK)
        status = fm_oracle_first_touches(self->describer.oracle, &reuses->first_touches, self->error);
    if (status == FM_OK && firsts != reuses->first_touches)
        status = fm_fail(self->error, FM_E_LIMIT, NULL,
                         "%llu first touches were reconstructed, and there are %llu",
                         (unsigned long long)firsts, (unsigned long long)reuses->first_touches);
    if (status == FM_OK) fm_reuses_sort(reuses);
    free(counts);
    return status;
}

fm_status fm_reconstruct(fm_reconstructed *result, const fm_reference_list *list,
                         const fm_reconstruct_options *options, fm_error *error)
{
    fm_error own;
    if (!error) error = &own;
    *result = (fm_reconstructed){0};
    fm_specials *specials = NULL;
    work self = {.list = list,
                 .options = options,
                 .result = result,
                 .error = error,
                 .describer = {.list = list,
                               .random = {options->seed},
                               .deadline = options->deadline,
                               .memory_limit = options->memory ? options->memory : UINT64_C(1) << 30,
                               .error = error}};
    fm_status status = fm_reuses_create(&result->reuses, list->count, error);
    if (status == FM_OK) status = fm_oracle_create(&self.describer.oracle, list, options->sets, error);
    if (status == FM_OK) status = fm_specials_create(&specials, list, options->sets, error);
    self.describer.specials = specials;
    if (status == FM_OK) fm_oracle_limit(self.describer.oracle, options->deadline, options->memory);
    if (status == FM_OK) status = reconstruct_all(&self);
    result->asked = self.describer.asked;
    fm_specials_destroy(specials);
    fm_oracle_destroy(self.describer.oracle);
    free(self.bins);
    if (status != FM_OK) fm_reconstructed_clear(result);
    return status;
}

void fm_reconstructed_clear(fm_reconstructed *result)
{
    fm_reuses_clear(&result->reuses);
    *result = (fm_reconstructed){0};
}
