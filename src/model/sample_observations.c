/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_observations.c - what a sampler saw: bursts and watches, of all threads, checked and kept.
 *
 * Time distances of bursts are kept by bins, each by its middle: a burst of 256 K references has as many
 * distances, but some thousand bins and pairs of code.
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory.h"
#include "model/sample_internal.h"

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
    samples_reserve((void **)&(array), &(capacity), (count), (more), sizeof *(array), error)

static fm_status samples_reserve(void **array, size_t *capacity, size_t count, size_t more, size_t size,
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

/*
 * ======== sample items ========
 * Observations in the order of time distances, each with its weight and its block of the
 * bootstrap: what sample_weigh.c goes through.
 *
 * A use of a burst is there from the beginning, until it is used again or the burst's end cuts it off. A
 * watch enters when it is armed, since its use was chosen for not having been used again until then; from
 * there on it stands for all uses that the burst's end cut off. With a reach, bursts are believed up to it
 * and watches from there on.
 */

static fm_status no_memory(fm_error *error, uint64_t bytes)
{
    return fm_fail_memory(error, bytes, "the estimate");
}

/* ---- the blocks of the bootstrap ---- */

/* A burst, or a watch without one, where it lies in the run. */
typedef struct unit {
    uint32_t thread;
    bool is_burst;
    uint64_t at;
    size_t index;
} unit;

static int by_place(const void *a, const void *b)
{
    const unit *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The last of the units in order that is not behind this place. */
static size_t unit_before(const unit *units, size_t count, uint32_t thread, uint64_t at)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const unit *of = &units[middle];
        if (of->thread < thread || (of->thread == thread && of->at <= at))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : 0;
}

static uint32_t block_of_unit(const fm_sample_items *items, size_t index, size_t count)
{
    return (uint32_t)((unsigned __int128)index * items->blocks / count);
}

/* Stretches with the same number of samples each, in the order of the run. A watch is where its burst is; the
 * reuse of a sample, which is none itself, where it lies. */
static fm_status choose_blocks(fm_sample_items *items, const fm_samples *samples, uint32_t blocks,
                               bool windows, fm_error *error)
{
    const size_t most = samples->burst_count + samples->watch_count;
    unit *units = fm_calloc(most + 1, sizeof *units);
    items->burst_blocks = fm_calloc(samples->burst_count + 1, sizeof *items->burst_blocks);
    items->watch_blocks = fm_calloc(samples->watch_count + 1, sizeof *items->watch_blocks);
    if (!units || !items->burst_blocks || !items->watch_blocks) {
        free(units);
        return no_memory(error, most * sizeof *units);
    }
    size_t count = 0;
    for (size_t i = 0; i < samples->burst_count; i++)
        units[count++] = (unit){samples->bursts[i].thread, true, samples->bursts[i].at, i};
    for (size_t i = 0; i < samples->watch_count; i++)
        if (samples->watches[i].burst == 0 && samples->watches[i].since == 0)
            units[count++] = (unit){samples->watches[i].thread, false, samples->watches[i].at, i};
    qsort(units, count, sizeof *units, by_place);
    items->blocks = count < blocks ? (uint32_t)count : blocks;
    fm_sample_place *places = fm_calloc(items->blocks + 1, sizeof *places);
    items->initial = fm_calloc(items->blocks + 1, sizeof *items->initial);
    items->known = fm_calloc(items->blocks + 1, sizeof *items->known);
    if (!places || !items->initial || !items->known) {
        free(units);
        free(places);
        return no_memory(error, items->blocks * sizeof *items->initial);
    }
    for (size_t i = 0, before = SIZE_MAX; i < count; i++) {
        const uint32_t block = block_of_unit(items, i, count);
        (units[i].is_burst ? items->burst_blocks : items->watch_blocks)[units[i].index] = block;
        items->known[block] += units[i].is_burst ? samples->bursts[units[i].index].weight
                                                 : samples->watches[units[i].index].weight;
        if (block != before) places[block] = (fm_sample_place){.thread = units[i].thread, .at = units[i].at};
        places[block].last_thread = units[i].thread;
        places[block].count++;
        before = block;
    }
    fm_status status = FM_OK;
    if (windows) status = fm_sample_windows(items, samples, places, error);
    free(places);
    for (size_t i = 0; i < samples->watch_count; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        if (watch->burst > 0)
            items->watch_blocks[i] = items->burst_blocks[watch->burst - 1];
        else if (watch->since > 0 && count > 0)
            items->watch_blocks[i] =
                block_of_unit(items, unit_before(units, count, watch->thread, watch->at), count);
    }
    free(units);
    return status;
}

/* ---- weights ---- */

static int by_context(const void *a, const void *b)
{
    const fm_sample_watch *x = *(const fm_sample_watch *const *)a, *y = *(const fm_sample_watch *const *)b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x > y) - (x < y);
}

/* Proportional attribution (Q. Wang et al., section IV.A): a watch that traps stands for all samples that
 * were taken at the context of its use since it was armed, itself included. */
static fm_status sample_proportional(const fm_samples *samples, double *weights, fm_error *error)
{
    const size_t count = samples->watch_count;
    const fm_sample_watch **order = fm_calloc(count + 1, sizeof *order);
    double *before = fm_calloc(count + 1, sizeof *before); /* weight of those in front, in this order */
    if (!order || !before) {
        free(order);
        free(before);
        return no_memory(error, count * sizeof *order);
    }
    for (size_t i = 0; i < count; i++) order[i] = &samples->watches[i];
    qsort(order, count, sizeof *order, by_context);
    for (size_t i = 0; i < count; i++)
        before[i + 1] = before[i] + (order[i]->since > 0 ? 0 : order[i]->weight);
    for (size_t i = 0; i < count; i++) {
        const fm_sample_watch *watch = order[i];
        double *weight = &weights[watch - samples->watches];
        *weight = 0;
        if (watch->end != FM_WATCH_USED || watch->since > 0) continue;
        size_t from = i, to = count; /* the first one behind that is of another context, or after the trap */
        while (to - from > 1) {
            const size_t middle = from + (to - from) / 2;
            const fm_sample_watch *other = order[middle];
            const bool within = other->thread == watch->thread && other->context == watch->context &&
                                other->at < watch->at + watch->length;
            if (within)
                from = middle;
            else
                to = middle;
        }
        *weight = before[to] - before[i];
    }
    free(order);
    free(before);
    return FM_OK;
}

static fm_status weigh_watches(const fm_samples *samples, fm_sample_weights how,
                               const fm_estimate_options *options, double *weights, fm_error *error)
{
    if (how == FM_WEIGHTS_PROPORTIONAL) return sample_proportional(samples, weights, error);
    const bool papers = how == FM_WEIGHTS_TRAPPED; /* it knows of traps only */
    for (size_t i = 0; i < samples->watch_count; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        weights[i] = papers && watch->end != FM_WATCH_USED ? 0 : watch->weight;
        if (watch->since > 0 && how != FM_WEIGHTS_ENTRY) weights[i] = 0; /* the others know of samples only */
        if (how == FM_WEIGHTS_ENTRY || how == FM_WEIGHTS_BOTH) weights[i] /= watch->armed;
        if (how == FM_WEIGHTS_BOTH && watch->kept > 0) weights[i] /= watch->kept;
    }
    if (how != FM_WEIGHTS_ENTRY) return FM_OK;
    fm_status status = fm_sample_calibrate(samples, options, weights, error);
    return status == FM_OK ? fm_sample_weigh_seconds(samples, weights, error) : status;
}

/* ---- items ---- */

static fm_status items_append(fm_sample_items *items, fm_sample_item item, fm_error *error)
{
    void *grown = items->items;
    if (items->count == items->capacity &&
        fm_array_reserve(&grown, &items->capacity, items->count + 1, sizeof item))
        return no_memory(error, (items->count + 1) * sizeof item);
    items->items = grown;
    item.bin = (uint32_t)fm_bins_index(FM_SAMPLE_BINS, item.time);
    items->items[items->count++] = item;
    return FM_OK;
}

static fm_status add_watch(fm_sample_items *items, const fm_sample_watch *watch, uint32_t index,
                           double weight, uint64_t reach, fm_error *error)
{
    const uint32_t block = items->watch_blocks[index];
    fm_sample_item item = {.weight = weight, .block = block, .watch = index, .time = watch->length};
    if (watch->end == FM_WATCH_NOT_ARMED || weight <= 0) return FM_OK;
    item.kind = watch->end == FM_WATCH_USED ? FM_ITEM_REUSED : FM_ITEM_CUT;
    if (watch->end == FM_WATCH_NEVER) item.kind = FM_ITEM_NEVER;
    if (!items->survival) return item.kind == FM_ITEM_CUT ? FM_OK : items_append(items, item, error);
    const uint64_t from = watch->from > reach ? watch->from : reach;
    if (item.time <= from && from > 0) return FM_OK; /* it ended before it counts */
    fm_status status = items_append(items, item, error);
    if (from == 0)
        items->initial[block] += weight;
    else if (status == FM_OK)
        status = items_append(items, (fm_sample_item){from, weight, block, FM_ITEM_ENTERS, index, 0}, error);
    return status;
}

static fm_status add_watches(fm_sample_items *items, const fm_samples *samples, fm_sample_weights how,
                             const fm_estimate_options *options, fm_error *error)
{
    double *weights = fm_calloc(samples->watch_count + 1, sizeof *weights);
    fm_status status = weights ? weigh_watches(samples, how, options, weights, error)
                               : no_memory(error, samples->watch_count * sizeof *weights);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < samples->watch_count && weights && status == FM_OK; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        status = add_watch(items, watch, (uint32_t)i, weights[i], options->reach, error);
        if (watch->end == FM_WATCH_NOT_ARMED || watch->since > 0) continue;
        sum += weights[i];
        squares += weights[i] * weights[i];
    }
    free(weights);
    items->effective = squares > 0 ? sum * sum / squares : 0;
    return status;
}

/* Uses of bursts, of all bursts of a block together: by kind and bin. */
static fm_status add_bursts(fm_sample_items *items, const fm_samples *samples, uint64_t reach,
                            fm_error *error)
{
    const size_t bins = fm_sample_bin_count();
    enum { KINDS = 3 };
    double *sums = fm_calloc(bins * KINDS * items->blocks + 1, sizeof *sums);
    if (!sums) return no_memory(error, bins * KINDS * items->blocks * sizeof *sums);
    const size_t end = reach ? fm_bins_index(FM_SAMPLE_BINS, reach) : bins;
    for (size_t i = 0; i < samples->burst_count; i++) {
        const fm_sample_burst *burst = &samples->bursts[i];
        const uint32_t block = items->burst_blocks[i];
        const double each = burst->weight / (double)burst->uses;
        const fm_burst_reuse *reuse = samples->reuses + burst->first;
        items->initial[block] += burst->weight;
        for (size_t k = 0; k < burst->found_count + burst->cut_count; k++, reuse++) {
            size_t kind = k < burst->found_count ? FM_ITEM_REUSED
                          : burst->ended         ? FM_ITEM_NEVER
                                                 : FM_ITEM_CUT;
            size_t bin = fm_bins_index(FM_SAMPLE_BINS, reuse->time);
            const double weight = each * (double)reuse->count;
            if (bin >= end) kind = FM_ITEM_CUT, bin = end;
            sums[(block * KINDS + kind) * bins + bin] += weight;
        }
    }
    fm_status status = FM_OK;
    for (size_t i = 0; i < KINDS * items->blocks * bins && status == FM_OK; i++) {
        const size_t bin = i % bins, kind = i / bins % KINDS, block = i / bins / KINDS;
        if (!(sums[i] > 0) || (!items->survival && kind == FM_ITEM_CUT)) continue;
        const uint64_t time = reach && bin == end ? reach : fm_sample_bin_middle(bin);
        const fm_sample_item item = {time, sums[i], (uint32_t)block, (uint32_t)kind, FM_ITEM_OF_BURSTS, 0};
        status = items_append(items, item, error);
    }
    free(sums);
    return status;
}

static int by_time(const void *a, const void *b)
{
    const fm_sample_item *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->watch != y->watch) return x->watch < y->watch ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

fm_status fm_sample_items_create(fm_sample_items *items, const fm_samples *samples,
                                 const fm_estimator *estimator, const fm_estimate_options *options,
                                 fm_error *error)
{
    *items = (fm_sample_items){.survival = estimator->survival, .levels = 1, .window_count = 1};
    /* Shen's conversion is for the run as a whole. */
    const bool windows = estimator->windows && strcmp(options->conversion, "shen") != 0;
    fm_status status = choose_blocks(items, samples, options->blocks, windows, error);
    if (status == FM_OK) status = add_watches(items, samples, estimator->weights, options, error);
    if (status == FM_OK && samples->burst_count > 0) {
        status = add_bursts(items, samples, options->reach, error);
        items->effective = (double)samples->burst_count;
    }
    if (status == FM_OK && items->count > 0) qsort(items->items, items->count, sizeof *items->items, by_time);
    if (status == FM_OK && items->window_count > 1) fm_sample_windows_compare(items);
    if (status != FM_OK) fm_sample_items_clear(items);
    return status;
}

void fm_sample_items_clear(fm_sample_items *items)
{
    free(items->items);
    free(items->initial);
    free(items->known);
    free(items->burst_blocks);
    free(items->watch_blocks);
    *items = (fm_sample_items){0};
}
