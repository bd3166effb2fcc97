/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_observations.c - what a sampler saw: bursts and watches, of all threads, checked and kept.
 *
 * Time distances of bursts are kept by bins, each by its middle: a burst of 256 K references has as many
 * distances, but some thousand bins and pairs of code.
 */
#define _GNU_SOURCE
#include "model/sample_internal.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Positions and time distances are below this: sums of two of them do not overflow. */
#define MOST_TIME (UINT64_C(1) << 62)

size_t fm_sample_bin_count(void)
{
    return fm_bins_index(FM_SAMPLE_BINS, UINT64_MAX) + 1;
}

uint64_t fm_sample_bin_middle(size_t bin)
{
    uint64_t lo, hi;
    fm_bins_range(FM_SAMPLE_BINS, bin, &lo, &hi);
    return lo + (hi - lo) / 2;
}

fm_status fm_samples_create_sized(size_t given_size, fm_samples **samples, const fm_samples_options *given,
                                  fm_error *error)
{
    *samples = NULL;
    fm_samples_options options;
    fm_status status =
        fm_sized_read(&options, sizeof options, given, given_size, "fm_samples_options", error);
    if (status != FM_OK) return status;
    if (options.granularity == 0) options.granularity = 1;
    if (options.granularity & (options.granularity - 1))
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "the granularity of samples must be a power of two, not %" PRIu64,
                       options.granularity);
    fm_samples *made = fm_calloc(1, sizeof *made);
    if (made) made->method = strdup(options.method ? options.method : "unknown");
    if (!made || !made->method) {
        fm_samples_destroy(made);
        return fm_fail_memory(error, sizeof *made, "the samples");
    }
    made->granularity = options.granularity;
    *samples = made;
    return FM_OK;
}

void fm_samples_destroy(fm_samples *samples)
{
    if (!samples) return;
    free(samples->method);
    free(samples->references);
    free(samples->bursts);
    free(samples->reuses);
    free(samples->watches);
    free(samples);
}

/* Room for `more` elements behind the `count` that are there. */
#define RESERVE(array, count, capacity, more, error)                                                         \
    reserve((void **)&(array), &(capacity), (count), (more), sizeof *(array), error)

static fm_status reserve(void **array, size_t *capacity, size_t count, size_t more, size_t size,
                         fm_error *error)
{
    if (more <= SIZE_MAX / 2 - count && fm_array_reserve(array, capacity, count + more, size) == 0)
        return FM_OK;
    return fm_fail_memory(error, (uint64_t)(count + more) * size, "the samples");
}

fm_status fm_samples_add_thread(fm_samples *samples, uint64_t references, uint32_t *thread, fm_error *error)
{
    FM_REQUIRE(samples, error);
    fm_status status =
        RESERVE(samples->references, samples->thread_count, samples->thread_capacity, 1, error);
    if (status != FM_OK) return status;
    if (samples->thread_count == UINT32_MAX)
        return fm_fail(error, FM_E_LIMIT, NULL, "there are more threads than %" PRIu32, UINT32_MAX);
    *thread = (uint32_t)samples->thread_count;
    samples->references[samples->thread_count++] = references;
    return FM_OK;
}

static fm_status check_thread(const fm_samples *samples, uint32_t thread, fm_error *error)
{
    if (thread < samples->thread_count) return FM_OK;
    return fm_fail(error, FM_E_ARGUMENT, NULL, "the samples have %zu threads, and no number %" PRIu32,
                   samples->thread_count, thread);
}

fm_status fm_samples_set_references(fm_samples *samples, uint32_t thread, uint64_t references,
                                    fm_error *error)
{
    FM_REQUIRE(samples, error);
    fm_status status = check_thread(samples, thread, error);
    if (status == FM_OK) samples->references[thread] = references;
    return status;
}

static fm_status check_weight(double weight, const char *what, fm_error *error)
{
    if (weight > 0 && isfinite(weight)) return FM_OK;
    return fm_fail(error, FM_E_ARGUMENT, NULL, "the weight of a %s must be above 0, not %g", what, weight);
}

/* ---- bursts ---- */

static int by_kind(const void *a, const void *b)
{
    const fm_burst_reuse *x = a, *y = b;
    if (x->use != y->use) return x->use < y->use ? -1 : 1;
    if (x->reuse != y->reuse) return x->reuse < y->reuse ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

/* Those of one kind become one. Returns how many are left. */
static size_t join_alike(fm_burst_reuse *reuses, size_t count)
{
    if (count == 0) return 0;
    for (size_t i = 0; i < count; i++)
        reuses[i].time = fm_sample_bin_middle(fm_bins_index(FM_SAMPLE_BINS, reuses[i].time));
    qsort(reuses, count, sizeof *reuses, by_kind);
    size_t kept = 0;
    for (size_t i = 1; i < count; i++)
        if (by_kind(&reuses[kept], &reuses[i]) == 0)
            reuses[kept].count += reuses[i].count;
        else
            reuses[++kept] = reuses[i];
    return kept + 1;
}

static fm_status check_reuses(const fm_burst *burst, const fm_burst_reuse *reuses, size_t count, bool found,
                              uint64_t *sum, fm_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const fm_burst_reuse *each = &reuses[i];
        if ((found && each->time == 0) || each->time >= burst->length)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "a time distance of %" PRIu64 " is not one of a burst of %" PRIu64 " references",
                           each->time, burst->length);
        if (__builtin_add_overflow(*sum, each->count, sum))
            return fm_fail(error, FM_E_ARGUMENT, NULL, "the uses of a burst exceed 64 bits together");
    }
    return FM_OK;
}

static fm_status check_burst(const fm_samples *samples, const fm_burst *burst, fm_error *error)
{
    fm_status status = check_thread(samples, burst->thread, error);
    if (status == FM_OK) status = check_weight(burst->weight, "burst", error);
    if (status != FM_OK) return status;
    if (burst->uses == 0 || burst->uses > burst->length || burst->at >= MOST_TIME ||
        burst->length >= MOST_TIME)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "%" PRIu64 " uses in a burst of %" PRIu64 " references at %" PRIu64
                       ": expected one use at least, and no more than references",
                       burst->uses, burst->length, burst->at);
    uint64_t sum = 0;
    status = check_reuses(burst, burst->found, burst->found_count, true, &sum, error);
    if (status == FM_OK) status = check_reuses(burst, burst->cut, burst->cut_count, false, &sum, error);
    if (status == FM_OK && sum != burst->uses)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "a burst has %" PRIu64 " uses, but %" PRIu64 " of them are told", burst->uses, sum);
    return status;
}

fm_status fm_samples_add_burst_sized(size_t given_size, fm_samples *samples, const fm_burst *given,
                                     fm_error *error)
{
    FM_REQUIRE(samples, error);
    fm_burst burst;
    fm_status status = fm_sized_read(&burst, sizeof burst, given, given_size, "fm_burst", error);
    if (status == FM_OK) status = check_burst(samples, &burst, error);
    if (status != FM_OK) return status;
    status = RESERVE(samples->bursts, samples->burst_count, samples->burst_capacity, 1, error);
    if (status == FM_OK)
        status = RESERVE(samples->reuses, samples->reuse_count, samples->reuse_capacity,
                         burst.found_count + burst.cut_count, error);
    if (status != FM_OK) return status;
    fm_sample_burst kept = {.thread = burst.thread,
                            .ended = burst.ended != 0,
                            .at = burst.at,
                            .length = burst.length,
                            .uses = burst.uses,
                            .weight = burst.weight,
                            .first = samples->reuse_count};
    fm_burst_reuse *to = samples->reuses + kept.first;
    if (burst.found_count) memcpy(to, burst.found, burst.found_count * sizeof *to);
    kept.found_count = join_alike(to, burst.found_count);
    to += kept.found_count;
    if (burst.cut_count) memcpy(to, burst.cut, burst.cut_count * sizeof *to);
    for (size_t i = 0; i < burst.cut_count; i++) to[i].reuse = 0;
    kept.cut_count = join_alike(to, burst.cut_count);
    samples->reuse_count += kept.found_count + kept.cut_count;
    samples->bursts[samples->burst_count++] = kept;
    return FM_OK;
}

/* ---- watches ---- */

static fm_status check_watch(const fm_samples *samples, const fm_sample_watch *watch, fm_error *error)
{
    fm_status status = check_thread(samples, watch->thread, error);
    if (status == FM_OK) status = check_weight(watch->weight, "watch", error);
    if (status != FM_OK) return status;
    if (!(watch->armed > 0 && watch->armed <= 1) || !(watch->kept >= 0 && watch->kept <= 1))
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "a watch was armed with probability %g and kept with %g: expected numbers up to 1",
                       watch->armed, watch->kept);
    if (watch->end != FM_WATCH_USED && watch->end != FM_WATCH_REPLACED && watch->end != FM_WATCH_NEVER &&
        watch->end != FM_WATCH_NOT_ARMED)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a watch ended in a way that is not known: %d",
                       (int)watch->end);
    const bool armed = watch->end != FM_WATCH_NOT_ARMED;
    if (watch->at >= MOST_TIME || (armed && (watch->length >= MOST_TIME || watch->length < watch->from)) ||
        (watch->end == FM_WATCH_USED && watch->length == watch->from))
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "a watch of the use at %" PRIu64 " began %" PRIu64
                       " references later and ended %" PRIu64 " later: expected it the other way round",
                       watch->at, watch->from, watch->length);
    if (watch->burst > samples->burst_count ||
        (watch->burst > 0 && samples->bursts[watch->burst - 1].thread != watch->thread))
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "a watch is said to be of burst %" PRIu64 ", which is not one of its thread",
                       watch->burst);
    if (watch->since > 0 && (!armed || watch->since > watch->at || watch->from > 0 || watch->burst > 0))
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "the use at %" PRIu64 " is said to follow one %" PRIu64
                       " references before: expected that not before the first, watched at once, and not of "
                       "a burst",
                       watch->at, watch->since);
    return FM_OK;
}

fm_status fm_samples_add_watch_sized(size_t given_size, fm_samples *samples, const fm_sample_watch *given,
                                     fm_error *error)
{
    FM_REQUIRE(samples, error);
    fm_sample_watch watch;
    fm_status status = fm_sized_read(&watch, sizeof watch, given, given_size, "fm_sample_watch", error);
    if (status == FM_OK) status = check_watch(samples, &watch, error);
    if (status == FM_OK)
        status = RESERVE(samples->watches, samples->watch_count, samples->watch_capacity, 1, error);
    if (status != FM_OK) return status;
    if (samples->watch_count == FM_ITEM_OF_BURSTS)
        return fm_fail(error, FM_E_LIMIT, NULL, "there are more watches than %" PRIu32, UINT32_MAX);
    if (watch.context == 0) watch.context = watch.use;
    if (watch.end != FM_WATCH_USED) watch.reuse = 0;
    samples->watches[samples->watch_count++] = watch;
    return FM_OK;
}

uint64_t fm_samples_bursts(const fm_samples *samples)
{
    return samples->burst_count;
}

uint64_t fm_samples_watches(const fm_samples *samples)
{
    return samples->watch_count;
}

/* ---- threads and processes together ---- */

fm_status fm_samples_merge(fm_samples *into, const fm_samples *from, fm_error *error)
{
    FM_REQUIRE(into, error);
    FM_REQUIRE(from, error);
    if (into->granularity != from->granularity)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "cannot merge samples of different granularities, %" PRIu64 " and %" PRIu64,
                       into->granularity, from->granularity);
    if (into == from) return fm_fail(error, FM_E_ARGUMENT, NULL, "samples cannot be merged with themselves");
    if (into->thread_count + from->thread_count > UINT32_MAX ||
        into->watch_count + from->watch_count > UINT32_MAX)
        return fm_fail(error, FM_E_LIMIT, NULL, "there are more threads or watches than %" PRIu32,
                       UINT32_MAX);
    fm_status status =
        RESERVE(into->references, into->thread_count, into->thread_capacity, from->thread_count, error);
    if (status == FM_OK)
        status = RESERVE(into->bursts, into->burst_count, into->burst_capacity, from->burst_count, error);
    if (status == FM_OK)
        status = RESERVE(into->reuses, into->reuse_count, into->reuse_capacity, from->reuse_count, error);
    if (status == FM_OK)
        status = RESERVE(into->watches, into->watch_count, into->watch_capacity, from->watch_count, error);
    if (status != FM_OK) return status;
    for (size_t i = 0; i < from->burst_count; i++) {
        fm_sample_burst *burst = &into->bursts[into->burst_count + i];
        *burst = from->bursts[i];
        burst->thread += (uint32_t)into->thread_count;
        burst->first += into->reuse_count;
    }
    for (size_t i = 0; i < from->watch_count; i++) {
        fm_sample_watch *watch = &into->watches[into->watch_count + i];
        *watch = from->watches[i];
        watch->thread += (uint32_t)into->thread_count;
        if (watch->burst > 0) watch->burst += into->burst_count;
    }
    for (size_t i = 0; i < from->thread_count; i++)
        into->references[into->thread_count + i] = from->references[i];
    for (size_t i = 0; i < from->reuse_count; i++) into->reuses[into->reuse_count + i] = from->reuses[i];
    into->thread_count += from->thread_count;
    into->burst_count += from->burst_count;
    into->reuse_count += from->reuse_count;
    into->watch_count += from->watch_count;
    return FM_OK;
}
