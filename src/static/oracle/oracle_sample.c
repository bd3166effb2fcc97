/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_sample.c - the reuses of a region, from some of its accesses (oracle.h). */
#include "static/oracle/oracle.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* ---- reuses ---- */

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

static int compare_reuses(const void *left, const void *right)
{
    const fm_reuse_count *a = left, *b = right;
    if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

void fm_reuses_sort(fm_reuses *reuses)
{
    if (reuses->count) qsort(reuses->items, reuses->count, sizeof *reuses->items, compare_reuses);
    size_t kept = 0;
    for (size_t i = 0; i < reuses->count; i++) {
        const fm_reuse_count one = reuses->items[i];
        if (kept && !compare_reuses(&reuses->items[kept - 1], &one))
            reuses->items[kept - 1].count += one.count;
        else if (one.count)
            reuses->items[kept++] = one;
    }
    reuses->count = kept;
}

/* ---- samples ---- */

/*
 * The sampled share of first touches differs from the true one, which is known. The difference is taken
 * from, or given to, the largest sampled distances: the curve moves towards what is surely so, so that it
 * stays within the band.
 */

enum { USUAL_SAMPLES = 10000, LOOK_EVERY = 64 };

typedef struct sampler {
    const fm_reference_list *list;
    const fm_sample_options *options;
    fm_oracle *oracle;
    fm_points **points; /* of each reference */
    fm_static_random random;
    fm_sampled_reuses *result;
    uint64_t samples, firsts; /* drawn so far; of them first touches */
    fm_error *error;
} sampler;

static fm_status count_points(sampler *self)
{
    uint64_t *accesses = &self->result->reuses.accesses;
    for (size_t i = 0; i < self->list->count; i++) {
        fm_status status = fm_points_create(&self->points[i], &self->list->references[i],
                                            self->options->deadline, self->error);
        if (status != FM_OK) return status;
        if (__builtin_add_overflow(*accesses, fm_points_count(self->points[i]), accesses) ||
            *accesses > (uint64_t)INT64_MAX)
            return fm_fail(self->error, FM_E_LIMIT, NULL, "the region has 2^63 accesses or more");
    }
    return FM_OK;
}

static fm_status ask_oracle(sampler *self, uint32_t reference, uint64_t rank)
{
    fm_point point = {.reference = reference};
    fm_reuse reuse;
    fm_status status = fm_points_at(self->points[reference], rank, point.x, self->error);
    if (status == FM_OK) status = fm_oracle_ask(self->oracle, &point, &reuse, self->error);
    if (status != FM_OK) return status;
    if (self->options->deadline > 0 && ++self->samples % LOOK_EVERY == 0 &&
        fm_now() > self->options->deadline)
        return fm_fail(self->error, FM_E_LIMIT, NULL, "no time is left after %llu samples",
                       (unsigned long long)self->samples);
    if (!reuse.first)
        return fm_reuses_add(&self->result->reuses, reuse.distance, reuse.previous.reference, reference, 1,
                             self->error);
    self->result->reuses.firsts[reference]++;
    self->firsts++;
    return FM_OK;
}

/* The begin of part number `part` of `parts` of `whole`. */
static uint64_t cut_part(uint64_t whole, uint64_t part, uint64_t parts)
{
    return (uint64_t)((unsigned __int128)whole * part / parts);
}

/* One draw from each part: a real number in it, rounded down, so that every access is drawn equally often. */
static uint64_t draw_rank(sampler *self, uint64_t whole, uint64_t part, uint64_t parts)
{
    const unsigned __int128 within =
        fm_static_random_below(&self->random, whole); /* parts-ths of an access */
    return (uint64_t)(((unsigned __int128)whole * part + within) / parts);
}

static fm_status draw_all(sampler *self, uint64_t samples)
{
    const uint64_t whole = self->result->reuses.accesses;
    uint32_t reference = 0;
    uint64_t before = 0; /* accesses of the references before this one */
    for (uint64_t i = 0; i < samples; i++) {
        const uint64_t at =
            self->result->exact ? cut_part(whole, i, samples) : draw_rank(self, whole, i, samples);
        while (at - before >= fm_points_count(self->points[reference]))
            before += fm_points_count(self->points[reference++]);
        fm_status status = ask_oracle(self, reference, at - before);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

/* From counts of samples to counts of accesses. */
static fm_status weigh_first_touches(sampler *self, uint64_t samples)
{
    fm_reuses *reuses = &self->result->reuses;
    const uint64_t all = reuses->accesses - reuses->first_touches;
    uint64_t seen = 0, given = 0;
    fm_reuses_sort(reuses);
    for (size_t i = 0; i < reuses->count; i++) {
        seen += reuses->items[i].count;
        uint64_t up_to = cut_part(reuses->accesses, seen, samples);
        if (up_to > all || i + 1 == reuses->count) up_to = all;
        reuses->items[i].count = up_to - given;
        given = up_to;
    }
    seen = given = 0;
    for (size_t i = 0; i < reuses->reference_count; i++) {
        seen += reuses->firsts[i];
        const uint64_t up_to = self->firsts ? cut_part(reuses->first_touches, seen, self->firsts) : 0;
        reuses->firsts[i] = up_to - given;
        given = up_to;
    }
    /* No sample is a first touch, yet there are some: nobody knows whose, so the first access has them. */
    if (!self->firsts && reuses->reference_count) reuses->firsts[0] = reuses->first_touches;
    /* No sample is a reuse, yet there are some: as far as can be. */
    if (all && !reuses->count)
        return fm_reuses_add(reuses, reuses->first_touches - 1, 0, 0, all, self->error);
    fm_reuses_sort(reuses);
    return FM_OK;
}

fm_status fm_sample(fm_sampled_reuses *sampled, const fm_reference_list *list,
                    const fm_sample_options *options, fm_error *error)
{
    *sampled = (fm_sampled_reuses){0};
    sampler self = {.list = list,
                    .options = options,
                    .random = {options->seed},
                    .result = sampled,
                    .points = fm_calloc(list->count + 1, sizeof *self.points),
                    .error = error};
    fm_status status = self.points ? fm_reuses_create(&sampled->reuses, list->count, error)
                                   : fm_fail_memory(error, list->count * sizeof *self.points, "samples");
    if (status == FM_OK) status = fm_oracle_create(&self.oracle, list, options->sets, error);
    if (status == FM_OK) {
        fm_oracle_limit(self.oracle, options->deadline, 0);
        status = count_points(&self);
    }
    if (status == FM_OK) status = fm_oracle_first_touches(self.oracle, &sampled->reuses.first_touches, error);
    if (status == FM_OK && sampled->reuses.accesses) {
        uint64_t samples = options->samples ? options->samples : USUAL_SAMPLES;
        sampled->exact = samples >= sampled->reuses.accesses;
        if (sampled->exact) samples = sampled->reuses.accesses;
        sampled->samples = samples;
        sampled->band = sampled->exact ? 0 : sqrt(log(2 * exp(1) / 0.05) / (2 * (double)samples));
        status = draw_all(&self, samples);
        if (status == FM_OK) status = weigh_first_touches(&self, samples);
    }
    if (status == FM_OK && !sampled->reuses.accesses) sampled->exact = true;
    for (size_t i = 0; i < list->count && self.points; i++) fm_points_destroy(self.points[i]);
    free(self.points);
    fm_oracle_destroy(self.oracle);
    if (status != FM_OK) fm_sampled_reuses_clear(sampled);
    return status;
}

void fm_sampled_reuses_clear(fm_sampled_reuses *sampled)
{
    fm_reuses_clear(&sampled->reuses);
    *sampled = (fm_sampled_reuses){0};
}
