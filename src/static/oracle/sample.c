/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.c - see oracle_sample.h.
 *
 * The sampled share of first touches differs from the true one, which is known. The difference is taken from,
 * or given to, the largest sampled distances: the curve moves towards what is surely so, so that it stays
 * within the band.
 */
#include "static/oracle/oracle_sample.h"

#include "base/error.h"
#include "base/memory.h"
#include "static/polyhedra/points.h"

#include <math.h>
#include <stdlib.h>

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

static fm_status ask(sampler *self, uint32_t reference, uint64_t rank)
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
static uint64_t cut(uint64_t whole, uint64_t part, uint64_t parts)
{
    return (uint64_t)((unsigned __int128)whole * part / parts);
}

/* One draw from each part: a real number in it, rounded down, so that every access is drawn equally often. */
static uint64_t draw(sampler *self, uint64_t whole, uint64_t part, uint64_t parts)
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
        const uint64_t at = self->result->exact ? cut(whole, i, samples) : draw(self, whole, i, samples);
        while (at - before >= fm_points_count(self->points[reference]))
            before += fm_points_count(self->points[reference++]);
        fm_status status = ask(self, reference, at - before);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

/* From counts of samples to counts of accesses. */
static fm_status weigh(sampler *self, uint64_t samples)
{
    fm_reuses *reuses = &self->result->reuses;
    const uint64_t all = reuses->accesses - reuses->first_touches;
    uint64_t seen = 0, given = 0;
    fm_reuses_sort(reuses);
    for (size_t i = 0; i < reuses->count; i++) {
        seen += reuses->items[i].count;
        uint64_t up_to = cut(reuses->accesses, seen, samples);
        if (up_to > all || i + 1 == reuses->count) up_to = all;
        reuses->items[i].count = up_to - given;
        given = up_to;
    }
    seen = given = 0;
    for (size_t i = 0; i < reuses->reference_count; i++) {
        seen += reuses->firsts[i];
        const uint64_t up_to = self->firsts ? cut(reuses->first_touches, seen, self->firsts) : 0;
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
        if (status == FM_OK) status = weigh(&self, samples);
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
