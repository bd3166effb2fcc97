/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmu_observations.c - what counters sampled of a thread becomes observations (fathom/sample.h): each sampled
 * access is a watch, or one that was not armed. Positions are counted, so nothing has to be inferred.
 */
#include "sample/pmu_source.h"
#include "sample/sampled_thread.h"

#include "base/error.h"
#include "base/memory.h"

#include <fathom/sample.h>
#include <stdlib.h>

enum { ARMED_BITS = 40, KEPT_BITS = 31 }; /* of probabilities (collect/reservoir.h) */

static int by_number(const void *a, const void *b)
{
    const fm_seen_watch *x = *(const fm_seen_watch *const *)a, *y = *(const fm_seen_watch *const *)b;
    return x->is.burst < y->is.burst ? -1 : x->is.burst > y->is.burst;
}

/* The watches, by the use that they are of. */
static const fm_seen_watch **sorted_watches(const fm_sampled_thread *thread)
{
    const fm_seen_watch **sorted = fm_calloc(thread->watch_count + 1, sizeof *sorted);
    if (!sorted) return NULL;
    for (size_t i = 0; i < thread->watch_count; i++) sorted[i] = &thread->watches[i];
    qsort(sorted, thread->watch_count, sizeof *sorted, by_number);
    return sorted;
}

static double probability(uint64_t units, unsigned bits)
{
    const double value = (double)units / (double)(UINT64_C(1) << bits);
    return value > 1 ? 1 : value;
}

/* How its watch went. False: its record was lost, so nothing is known of it. */
static bool describe_watch(const fm_sampled_thread *thread, const fm_seen_use *use, const fm_seen_watch *seen,
                           fm_sample_watch *watch)
{
    watch->end = FM_WATCH_NOT_ARMED;
    if (use->is.place == FM_SAMPLE_NOWHERE) return true;
    if (!seen) return false;
    const bool never = seen->is.end == FM_SAMPLE_WATCH_ENDED;
    uint64_t finish = never ? thread->work : seen->is.finish;
    if (finish <= use->is.position) finish = use->is.position + 1;
    watch->end = never                                      ? FM_WATCH_NEVER
                 : seen->is.end == FM_SAMPLE_WATCH_REPLACED ? FM_WATCH_REPLACED
                                                            : FM_WATCH_USED;
    watch->length = finish - use->is.position;
    watch->kept = probability(seen->is.kept, KEPT_BITS);
    watch->reuse = seen->tag;
    return true;
}

/* All samples of a thread together stand for all its accesses. */
static double weight_of_period(const fm_sampled_thread *thread)
{
    double sum = 0;
    for (size_t i = 0; i < thread->use_count; i++) sum += (double)thread->uses[i].is.period;
    return sum > 0 && thread->work > 0 ? (double)thread->work / sum : 1;
}

static fm_status add_uses(const fm_sampled_thread *thread, uint32_t number, const fm_seen_watch **watches,
                          fm_samples *samples, fm_error *error)
{
    const double unit = weight_of_period(thread);
    size_t next = 0;
    fm_status status = FM_OK;
    for (size_t i = 0; i < thread->use_count && status == FM_OK; i++) {
        const fm_seen_use *use = &thread->uses[i];
        while (next < thread->watch_count && watches[next]->is.burst < use->is.number) next++;
        const bool has = next < thread->watch_count && watches[next]->is.burst == use->is.number;
        fm_sample_watch watch = {.thread = number,
                                 .at = use->is.position > 0 ? use->is.position - 1 : 0,
                                 .weight = use->is.period > 0 ? unit * (double)use->is.period : unit,
                                 .armed = probability(use->is.armed, ARMED_BITS),
                                 .use = use->tag,
                                 .context = use->context,
                                 .latency =
                                     use->is.latency < UINT32_MAX ? (uint32_t)use->is.latency : UINT32_MAX,
                                 .level = fm_pmu_source_level(use->is.source)};
        if (!(watch.armed > 0)) watch.armed = 1;
        if (describe_watch(thread, use, has ? watches[next] : NULL, &watch))
            status = fm_samples_add_watch(samples, &watch, error);
    }
    return status;
}

fm_status fm_sampled_thread_observe_uses(const fm_sampled_thread *thread, fm_samples *samples,
                                         fm_error *error)
{
    uint32_t number = 0;
    fm_status status = fm_samples_add_thread(samples, thread->work, &number, error);
    if (status != FM_OK) return status;
    const fm_seen_watch **watches = sorted_watches(thread);
    if (!watches) return fm_fail_memory(error, thread->watch_count * sizeof *watches, "the watches");
    status = add_uses(thread, number, watches, samples, error);
    free(watches);
    return status;
}
