/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_observations.c - what was seen of a thread becomes observations (fathom/sample.h).
 *
 * Clock samples are uniform in time, and watches are timed in time; both have to be told in references. In
 * the window behind each burst accesses were counted and timed: the rate there. How many references an access
 * is (blocks that it touches) is known of each burst, and differs from loop to loop as much as rates do: 8
 * bytes here, a vector there. Between two bursts the rate is the mean of theirs. In bursts and windows the
 * accesses are known, and the thread's clock stands still.
 */
#include "sample/sampled_results.h"
#include "sample/sampled_thread.h"

#include "base/error.h"
#include "base/memory.h"

#include <fathom/sample.h>
#include <math.h>
#include <stdlib.h>

/* References as a function of a thread's time. */
typedef struct timeline {
    const fm_sampled_thread *thread;
    double *ratios; /* references in an access, at each burst */
    double *rates;  /* references in a nanosecond, at each burst */
    double *before; /* references before each burst */
    double end;     /* all of the thread */
    double tick;    /* nanoseconds of one of the time-stamp counter's */
} timeline;

/*
 * Counting takes time itself: hardly any where code goes on from block to block, much where a function
 * returns, which the processor cannot foresee there. What is subtracted for a return is what was found on
 * programs that are known (bench/RESULTS.md).
 */
static double calm_time_of(const fm_seen_burst *burst)
{
    static const double price = 8, least_share = 0.25; /* nanoseconds a return; of what was measured */
    const double time = burst->calm_time - price * burst->returns * burst->calm;
    return time > least_share * burst->calm_time ? time : least_share * burst->calm_time;
}

void fm_sampled_thread_counted(const fm_sampled_thread *thread, double *accesses, double *nanoseconds)
{
    for (size_t i = 0; i < thread->burst_count; i++) {
        const fm_seen_burst *burst = thread->bursts[i];
        if (!(burst->calm_time > 0)) continue;
        *accesses += burst->calm * burst->inside;
        *nanoseconds += calm_time_of(burst);
    }
}

static double rate_of(const fm_seen_burst *burst)
{
    return burst->calm_time > 0 ? burst->calm / calm_time_of(burst) : 0;
}

double fm_sampled_thread_inside(const fm_sampled_thread *thread)
{
    double accesses = 0, nanoseconds = 0, inside = 0;
    fm_sampled_thread_counted(thread, &accesses, &nanoseconds);
    if (!(nanoseconds > 0)) return 0;
    for (size_t i = 0; i < thread->burst_count; i++) {
        const fm_seen_burst *burst = thread->bursts[i];
        const double rate = rate_of(burst) > 0 ? rate_of(burst) : accesses / nanoseconds;
        inside += ((double)burst->accesses + burst->counted) / rate;
    }
    return inside;
}

/* Where a rate is not known it is that of the nearest burst whose is. */
static void fill_rates(const fm_sampled_thread *thread, double fallback, double *rates)
{
    const size_t count = thread->burst_count;
    double last = 0;
    size_t last_at = 0;
    for (size_t i = 0; i < count; i++) {
        rates[i] = rate_of(thread->bursts[i]);
        if (!(rates[i] > 0)) continue;
        for (size_t gap = last > 0 ? last_at + 1 : 0; gap < i; gap++)
            rates[gap] = last > 0 && gap - last_at <= i - gap ? last : rates[i];
        last = rates[i];
        last_at = i;
    }
    for (size_t i = last > 0 ? last_at + 1 : 0; i < count; i++) rates[i] = last > 0 ? last : fallback;
    for (size_t i = 0; i < count; i++) /* the fallback is of what counts already */
        if (last > 0) rates[i] *= thread->bursts[i]->inside;
}

/* The mean over time takes the place of all: as many accesses in all, and no burst counts for more than the
 * time that it stands for. */
static void level_rates(const fm_sampled_thread *thread, double *rates)
{
    double time = 0, accesses = 0;
    for (size_t i = 0; i < thread->burst_count; i++) {
        time += (double)thread->bursts[i]->planned;
        accesses += (double)thread->bursts[i]->planned * rates[i];
    }
    for (size_t i = 0; i < thread->burst_count && time > 0; i++) rates[i] = accesses / time;
}

static double behind(const timeline *line, size_t i)
{
    const fm_seen_burst *burst = line->thread->bursts[i];
    return line->before[i] + (burst->counted * burst->inside + burst->accesses) * line->ratios[i];
}

/* Where a log could not be read, it is the mean of the thread. */
static void fill_ratios(const fm_sampled_thread *thread, size_t granularity, double *ratios)
{
    double accesses = 0, references = 0;
    for (size_t i = 0; i < thread->burst_count; i++) {
        const fm_seen_burst *burst = thread->bursts[i];
        if (burst->views[granularity].references == 0 || burst->accesses == 0) continue;
        ratios[i] = (double)burst->views[granularity].references / burst->accesses;
        accesses += burst->accesses;
        references += burst->views[granularity].references;
    }
    for (size_t i = 0; i < thread->burst_count; i++)
        if (!(ratios[i] > 0)) ratios[i] = accesses > 0 ? references / accesses : 1;
}

static fm_status make_timeline(timeline *line, const fm_sampled_thread *thread, double fallback, bool mean,
                               size_t granularity, fm_error *error)
{
    const size_t count = thread->burst_count;
    *line = (timeline){.thread = thread};
    line->ratios = fm_calloc(count + 1, sizeof *line->ratios);
    line->rates = fm_calloc(count + 1, sizeof *line->rates);
    line->before = fm_calloc(count + 1, sizeof *line->before);
    if (!line->ratios || !line->rates || !line->before)
        return fm_fail_memory(error, 3 * (count + 1) * sizeof(double), "the rates of a thread");
    fill_ratios(thread, granularity, line->ratios);
    fill_rates(thread, fallback, line->rates);
    if (mean) level_rates(thread, line->rates);
    for (size_t i = 0; i < count; i++) line->rates[i] *= line->ratios[i];
    for (size_t i = 0; i < count; i++) {
        fm_seen_burst *burst = thread->bursts[i];
        line->before[i] = i == 0 ? (double)burst->work * line->rates[0]
                                 : behind(line, i - 1) + (double)(burst->work - thread->bursts[i - 1]->work) *
                                                             (line->rates[i - 1] + line->rates[i]) / 2;
        burst->position = (uint64_t)line->before[i];
    }
    line->end = count == 0
                    ? (double)thread->work * fallback
                    : behind(line, count - 1) +
                          (double)(thread->work - thread->bursts[count - 1]->work) * line->rates[count - 1];
    return FM_OK;
}

static void free_timeline(timeline *line)
{
    free(line->ratios);
    free(line->rates);
    free(line->before);
}

/* The last burst whose work is not above this; SIZE_MAX: none. */
static size_t burst_before(const fm_sampled_thread *thread, uint64_t work)
{
    size_t low = 0, high = thread->burst_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (thread->bursts[middle]->work <= work)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

static size_t burst_numbered(const fm_sampled_thread *thread, uint64_t number)
{
    size_t low = 0, high = thread->burst_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (thread->bursts[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < thread->burst_count && thread->bursts[low]->number == number ? low : SIZE_MAX;
}

/* References of the thread until a moment outside of bursts. */
static double references_until(const timeline *line, uint64_t work)
{
    const fm_sampled_thread *thread = line->thread;
    const size_t i = burst_before(thread, work);
    if (i == SIZE_MAX) return (double)work * line->rates[0];
    const double next = i + 1 < thread->burst_count ? line->rates[i + 1] : line->rates[i];
    return behind(line, i) + (double)(work - thread->bursts[i]->work) * (line->rates[i] + next) / 2;
}

/* ---- bursts ---- */

static fm_status add_burst(const timeline *line, uint32_t number, size_t i, size_t granularity,
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
    const double weight = (double)seen->planned * line->rates[i];
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
static double end_of(const timeline *line, const fm_seen_watch *watch)
{
    if (watch->is.end == FM_SAMPLE_WATCH_ENDED) return line->end;
    if (!watch->is.in_burst) return references_until(line, watch->is.finish);
    const size_t i = burst_numbered(line->thread, watch->is.in_burst);
    if (i == SIZE_MAX) return references_until(line, watch->is.finish);
    const fm_seen_burst *burst = line->thread->bursts[i];
    if (watch->is.in_window) {
        const double inside = burst->counted * burst->inside * line->ratios[i];
        const double whole = line->rates[i] > 0 ? inside / line->rates[i] : 0;
        const double share = whole > 0 ? (double)watch->is.in_window * line->tick / whole : 0.5;
        return line->before[i] + burst->accesses * line->ratios[i] + inside * (share < 1 ? share : 1);
    }
    if (watch->is.end == FM_SAMPLE_WATCH_USED && watch->found == FM_BURST_NONE) return -1;
    return line->before[i] +
           (watch->found == FM_BURST_NONE ? burst->accesses : watch->found) * line->ratios[i];
}

/* The use of a burst that a watch is of; false: it cannot be told, or was used again within the burst. */
static bool describe_use(const timeline *line, size_t i, size_t granularity, fm_sample_watch *watch)
{
    const fm_seen_burst *burst = line->thread->bursts[i];
    const fm_burst_view *view = &burst->views[granularity];
    if (burst->picked == FM_BURST_NONE || view->picked == FM_BURST_NONE || burst->picked_unused == 0 ||
        !(burst->armed > 0))
        return false;
    const double unused = (double)burst->picked_unused / burst->picked_of;
    const double weight = (double)burst->planned * line->rates[i] * unused;
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
static void list_watches(const timeline *line, uint32_t number, size_t granularity, const uint64_t *numbers,
                         watch_list *list)
{
    const fm_sampled_thread *thread = line->thread;
    for (size_t k = 0; k < thread->watch_count; k++) {
        const fm_seen_watch *seen = &thread->watches[k];
        const size_t i = burst_numbered(thread, seen->is.burst);
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

static fm_status add_watches(const timeline *line, uint32_t number, size_t granularity,
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
    timeline line;
    uint32_t number = 0;
    uint64_t *numbers = fm_calloc(thread->burst_count + 1, sizeof *numbers);
    fm_status status = make_timeline(&line, thread, fallback_rate, context->mean_rate, granularity, error);
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
    free_timeline(&line);
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
