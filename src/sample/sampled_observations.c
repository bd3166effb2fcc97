/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_observations.c - what was seen of a thread becomes observations
 * (fathom/experimental/observations.h).
 *
 * Clock samples are uniform in time, and watches are timed in time; both have to be told in references, by
 * the thread's timeline.
 */
#include "sample/sampled_run_state.h"
#include "sample/sampled_thread.h"

#include "base/error.h"
#include "base/memory.h"

#include <fathom/experimental/observations.h>
#include <math.h>
#include <stdlib.h>

/* ---- bursts ---- */

static fm_status add_burst(const fm_timeline *line, uint32_t number, size_t i, size_t granularity,
                           fm_samples *samples, fm_error *error)
{
    const fm_seen_burst *seen = line->thread->bursts[i];
    const fm_burst_view *view = &seen->views[granularity];
    const size_t count = (size_t)view->found_count + view->cut_count;
    fm_burst_reuse *reuses = fm_calloc(count + 1, sizeof *reuses);
    if (!reuses) return fm_fail_memory(error, count * sizeof *reuses, "the uses of a burst");
    for (size_t k = 0; k < count; k++)
        reuses[k] = (fm_burst_reuse){.use = view->kinds[k].use,
                                     .reuse = view->kinds[k].reuse,
                                     .time = view->kinds[k].time,
                                     .count = view->kinds[k].count};
    const double weight = (double)seen->planned * fm_timeline_rate(line, i);
    const fm_burst burst = {.thread = number,
                            .at = seen->position,
                            .length = view->references,
                            .uses = view->uses,
                            .weight = weight > 0 ? weight : 1,
                            .found = reuses,
                            .found_count = view->found_count,
                            .cut = reuses + view->found_count,
                            .cut_count = view->cut_count};
    const fm_status status = fm_samples_add_burst(samples, &burst, error);
    free(reuses);
    return status;
}

/* ---- watches ---- */

/* References of the thread until a watch ended. Below 0: not known. */
static double end_of(const fm_timeline *line, const fm_seen_watch *watch)
{
    if (watch->is.end == FM_SAMPLE_WATCH_ENDED) return line->end;
    if (!watch->is.in_burst) return fm_timeline_until(line, watch->is.finish);
    const size_t i = fm_sampled_thread_burst(line->thread, watch->is.in_burst);
    if (i == SIZE_MAX) return fm_timeline_until(line, watch->is.finish);
    const fm_seen_burst *burst = line->thread->bursts[i];
    if (watch->is.in_window) {
        const double inside = burst->counted * burst->inside * line->ratios[i];
        const double rate = line->rates[i].watched, whole = rate > 0 ? inside / rate : 0;
        const double share = whole > 0 ? (double)watch->is.in_window * line->tick / whole : 0.5;
        return line->before[i] + burst->accesses * line->ratios[i] + inside * (share < 1 ? share : 1);
    }
    if (watch->is.end == FM_SAMPLE_WATCH_USED && watch->found == FM_BURST_NONE) return -1;
    return line->before[i] +
           (watch->found == FM_BURST_NONE ? burst->accesses : watch->found) * line->ratios[i];
}

/* The use of a burst that a watch is of; false: it cannot be told, or was used again within the burst. */
static bool describe_use(const fm_timeline *line, size_t i, size_t granularity, fm_sample_watch *watch)
{
    const fm_seen_burst *burst = line->thread->bursts[i];
    const fm_burst_view *view = &burst->views[granularity];
    if (burst->picked == FM_BURST_NONE || view->picked == FM_BURST_NONE || burst->picked_unused == 0 ||
        !(burst->armed > 0))
        return false;
    const double unused = (double)burst->picked_unused / burst->picked_of;
    const double weight = (double)burst->planned * fm_timeline_rate(line, i) * unused;
    watch->at = burst->position + view->picked;
    watch->from = view->references - 1 - view->picked;
    watch->weight = weight > 0 ? weight : 1;
    watch->armed = burst->armed * (1 - pow(1 - unused, FM_SAMPLE_TRIES));
    if (watch->armed > 1) watch->armed = 1;
    watch->use = burst->picked_tag;
    return watch->armed > 0;
}

static fm_sample_watch_end kind_of(uint32_t end)
{
    return end == FM_SAMPLE_WATCH_USED       ? FM_WATCH_USED
           : end == FM_SAMPLE_WATCH_REPLACED ? FM_WATCH_REPLACED
                                             : FM_WATCH_NEVER;
}

typedef struct watch_list {
    fm_sample_watch *watches;
    size_t count;
} watch_list;

static int by_position(const void *a, const void *b)
{
    const fm_sample_watch *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* numbers[i]: that of burst i among the samples; 0: it is not there. */
static void list_watches(const fm_timeline *line, uint32_t number, size_t granularity,
                         const uint64_t *numbers, watch_list *list)
{
    const fm_sampled_thread *thread = line->thread;
    for (size_t k = 0; k < thread->watch_count; k++) {
        const fm_seen_watch *seen = &thread->watches[k];
        const size_t i = fm_sampled_thread_burst(thread, seen->is.burst);
        fm_sample_watch watch = {.thread = number, .end = kind_of(seen->is.end), .reuse = seen->tag};
        if (i == SIZE_MAX || numbers[i] == 0 || !describe_use(line, i, granularity, &watch)) continue;
        const double end = end_of(line, seen);
        if (end < 0) continue;
        const double length = end - (double)watch.at;
        watch.length = length > (double)watch.from ? (uint64_t)length : watch.from + 1;
        watch.kept = (double)seen->is.kept / (double)(UINT32_C(1) << 31);
        if (!(watch.kept <= 1)) watch.kept = 0;
        watch.burst = numbers[i];
        list->watches[list->count++] = watch;
    }
    for (size_t i = 0; i < thread->burst_count; i++) {
        fm_sample_watch watch = {.thread = number, .end = FM_WATCH_NOT_ARMED, .burst = numbers[i]};
        if (numbers[i] == 0 || thread->bursts[i]->picked_armed || !describe_use(line, i, granularity, &watch))
            continue;
        watch.length = watch.from;
        list->watches[list->count++] = watch;
    }
    qsort(list->watches, list->count, sizeof *list->watches, by_position);
}

static fm_status add_watches(const fm_timeline *line, uint32_t number, size_t granularity,
                             const uint64_t *numbers, fm_samples *samples, fm_error *error)
{
    const size_t most = line->thread->watch_count + line->thread->burst_count;
    watch_list list = {fm_calloc(most + 1, sizeof *list.watches), 0};
    if (!list.watches) return fm_fail_memory(error, most * sizeof *list.watches, "the watches");
    list_watches(line, number, granularity, numbers, &list);
    fm_status status = FM_OK;
    for (size_t i = 0; i < list.count && status == FM_OK; i++)
        status = fm_samples_add_watch(samples, &list.watches[i], error);
    free(list.watches);
    return status;
}

fm_status fm_sampled_thread_observe(fm_sampled_thread *thread, const fm_sample_context *context,
                                    size_t granularity, double fallback_rate, fm_samples *samples,
                                    fm_error *error)
{
    if (context->counters) return fm_sampled_thread_observe_uses(thread, samples, error);
    fm_timeline line;
    uint32_t number = 0;
    uint64_t *numbers = fm_calloc(thread->burst_count + 1, sizeof *numbers);
    fm_status status = fm_timeline_make(&line, thread, fallback_rate, context->ceiling, context->mean_rate,
                                        granularity, error);
    thread->too_fast |= line.limited;
    line.tick = context->nanoseconds;
    if (status == FM_OK && !numbers)
        status = fm_fail_memory(error, thread->burst_count * sizeof *numbers, "the bursts");
    if (status == FM_OK) status = fm_samples_add_thread(samples, (uint64_t)line.end, &number, error);
    for (size_t i = 0; i < thread->burst_count && status == FM_OK; i++) {
        if (thread->bursts[i]->views[granularity].uses == 0) continue;
        status = add_burst(&line, number, i, granularity, samples, error);
        numbers[i] = fm_samples_bursts(samples);
    }
    if (status == FM_OK) status = add_watches(&line, number, granularity, numbers, samples, error);
    free(numbers);
    fm_timeline_free(&line);
    return status;
}

fm_status fm_sampled_samples_create(fm_samples **samples, uint64_t granularity, bool counters,
                                    fm_error *error)
{
    const fm_samples_options options = {.granularity = granularity, .method = counters ? "pmu" : "software"};
    return fm_samples_create(samples, &options, error);
}

void fm_sampled_samples_destroy(fm_samples *samples)
{
    fm_samples_destroy(samples);
}
