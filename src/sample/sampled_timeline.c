/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_timeline.c - see sampled_thread.h. */
#include "base/error.h"
#include "base/memory.h"
#include "sample/sampled_thread.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS_STEPS = 7 }; /* 1, 2, 4, … 64 bursts */

/* ---- what was watched when ---- */

static int by_begin(const void *a, const void *b)
{
    const fm_watched_time *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Those that overlap become one; how many there are then. */
static size_t merge_windows(fm_watched_time *times, size_t count)
{
    size_t kept = 0;
    qsort(times, count, sizeof *times, by_begin);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && times[i].begin <= times[kept - 1].end) {
            if (times[i].end > times[kept - 1].end) times[kept - 1].end = times[i].end;
            continue;
        }
        times[kept] = times[i];
        times[kept].before =
            kept > 0 ? times[kept - 1].before + (times[kept - 1].end - times[kept - 1].begin) : 0;
        kept++;
    }
    return kept;
}

static fm_status find_watched(const fm_sampled_thread *thread, fm_watched_time **times, size_t *count,
                              fm_error *error)
{
    *count = 0;
    *times = fm_calloc(thread->watch_count + 1, sizeof **times);
    if (!*times)
        return fm_fail_memory(error, thread->watch_count * sizeof **times, "the watches of a thread");
    for (size_t i = 0; i < thread->watch_count; i++) {
        const fm_sample_watched *watch = &thread->watches[i].is;
        if (watch->finish > watch->begin)
            (*times)[(*count)++] = (fm_watched_time){.begin = watch->begin, .end = watch->finish};
    }
    *count = merge_windows(*times, *count);
    return FM_OK;
}

/* Nanoseconds in which something was watched, until then. */
static uint64_t watched_until(const fm_watched_time *times, size_t count, uint64_t work)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (times[middle].begin <= work)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return 0;
    const fm_watched_time *last = &times[low - 1];
    return last->before + ((work < last->end ? work : last->end) - last->begin);
}

/* ---- rates ---- */

/*
 * Counting takes time itself: hardly any where code goes on from block to block, much where a function
 * returns, which the processor cannot foresee there. What is subtracted for a return is what was found on
 * programs that are known (bench/RESULTS.md).
 */
static double native_time(const fm_seen_burst *burst, double accesses, double measured)
{
    static const double price = 4, least_share = 0.5; /* nanoseconds a return; of what was measured */
    const double time = measured - price * burst->returns * accesses;
    return time > least_share * measured ? time : least_share * measured;
}

double fm_seen_burst_slowed(const fm_seen_burst *burst)
{
    const double time = burst->calm_time + burst->ahead_time;
    return time - native_time(burst, (double)burst->calm + burst->ahead_calm, time);
}

void fm_sampled_thread_counted(const fm_sampled_thread *thread, double *accesses, double *nanoseconds)
{
    for (size_t i = 0; i < thread->burst_count; i++) {
        const fm_seen_burst *burst = thread->bursts[i];
        const double calm = (double)burst->calm + burst->ahead_calm;
        const double time = burst->calm_time + burst->ahead_time;
        if (!(time > 0)) continue;
        *accesses += calm * burst->inside;
        *nanoseconds += native_time(burst, calm, time);
    }
}

/* Watching does not make so much of a difference: the two windows are of different phases. */
static bool is_other_code(fm_access_rate rate)
{
    static const double most = 4;
    return rate.plain > most * rate.watched || rate.watched > most * rate.plain;
}

/* As it was measured; 0: it was not. */
static fm_access_rate measured_rate(const fm_seen_burst *burst)
{
    fm_access_rate rate = {0, 0};
    double calm = burst->ahead_calm, time = burst->ahead_time;
    const double behind = burst->calm_time > 0 ? burst->calm / burst->calm_time : 0;
    if (behind > 0 && !burst->watching &&
        (!(time > 0) || !is_other_code((fm_access_rate){calm / time, behind}))) {
        calm += burst->calm;
        time += burst->calm_time;
    }
    if (time > 0) rate.plain = calm / native_time(burst, calm, time);
    if (burst->calm_time > 0 && burst->watching)
        rate.watched = burst->calm / native_time(burst, burst->calm, burst->calm_time);
    return rate;
}

/* How much faster code is when nothing is watched: by bursts with both. */
static double gain_of(const fm_sampled_thread *thread)
{
    enum { PAIRS_LEAST = 4 };
    double sum = 0;
    size_t pairs = 0;
    for (size_t i = 0; i < thread->burst_count; i++) {
        const fm_access_rate rate = measured_rate(thread->bursts[i]);
        if (!(rate.plain > 0) || !(rate.watched > 0)) continue;
        if (is_other_code(rate)) continue;
        sum += log(rate.plain / rate.watched);
        pairs++;
    }
    return pairs >= PAIRS_LEAST && sum > 0 ? exp(sum / (double)pairs) : 1;
}

/* Accesses in a nanosecond at each burst. Where a rate is not known it is that of the nearest burst whose is.
 * More than `most` cannot be: whether any was. */
static bool fill_rates(const fm_sampled_thread *thread, double fallback, double most, fm_access_rate *rates)
{
    const size_t count = thread->burst_count;
    const double gain = gain_of(thread);
    bool known = false, limited = false;
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
        rates[i] = measured_rate(thread->bursts[i]);
        /* What was counted first is where the clock ticked. */
        if (rates[i].plain > 0 && rates[i].watched > 0 && is_other_code(rates[i])) rates[i].watched = 0;
        if (!(rates[i].plain > 0)) rates[i].plain = rates[i].watched * gain;
        if (!(rates[i].watched > 0)) rates[i].watched = rates[i].plain / gain;
        if (!(rates[i].plain > 0)) continue;
        for (size_t gap = known ? last + 1 : 0; gap < i; gap++)
            rates[gap] = known && gap - last <= i - gap ? rates[last] : rates[i];
        last = i;
        known = true;
    }
    for (size_t i = known ? last + 1 : 0; i < count; i++)
        rates[i] = known ? rates[last] : (fm_access_rate){fallback, fallback};
    for (size_t i = 0; i < count && most > 0; i++) {
        limited |= rates[i].plain > most || rates[i].watched > most;
        rates[i].plain = fmin(rates[i].plain, most);
        rates[i].watched = fmin(rates[i].watched, most);
    }
    for (size_t i = 0; i < count && known; i++) { /* the fallback is of what counts already */
        rates[i].plain *= thread->bursts[i]->inside;
        rates[i].watched *= thread->bursts[i]->inside;
    }
    return limited;
}

/*
 * The share of the thread's time that is not the kernel's: there are no accesses then, and no ticks of the
 * clock. From the first burst on.
 */
static double in_program(const fm_sampled_thread *thread)
{
    enum { TICKS_LEAST = 20 };
    static const double least = 0.05;
    if (thread->burst_count == 0) return 1;
    const fm_seen_burst *first = thread->bursts[0], *last = thread->bursts[thread->burst_count - 1];
    const bool told = thread->heard >= last->heard && thread->heard_work >= last->work;
    const uint64_t heard = told ? thread->heard : last->heard;
    const uint64_t work = told ? thread->heard_work : last->work;
    if (first->heard == 0 || heard < first->heard || heard - first->heard < TICKS_LEAST ||
        work <= first->work)
        return 1;
    const double share = (double)(heard - first->heard) * (double)thread->tick / (double)(work - first->work);
    return share < least ? least : share < 1 ? share : 1;
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

/* What the sampler cost that its own clock does not see, and what it executed of the program. */
fm_status fm_sampled_thread_effects(const fm_sampled_thread *thread, double *inside, double *slowed,
                                    fm_error *error)
{
    const size_t count = thread->burst_count;
    double accesses = 0, nanoseconds = 0;
    fm_watched_time *times = NULL;
    size_t time_count = 0;
    *inside = *slowed = 0;
    fm_sampled_thread_counted(thread, &accesses, &nanoseconds);
    if (!(nanoseconds > 0)) return FM_OK;
    fm_access_rate *rates = fm_calloc(count + 1, sizeof *rates);
    fm_status status = find_watched(thread, &times, &time_count, error);
    if (status == FM_OK && !rates) status = fm_fail_memory(error, count * sizeof *rates, "the rates");
    if (status == FM_OK) {
        fill_rates(thread, accesses / nanoseconds, INFINITY, rates);
        for (size_t i = 0; i < count; i++) {
            const fm_seen_burst *burst = thread->bursts[i];
            const uint64_t until = i + 1 < count ? thread->bursts[i + 1]->work : thread->work;
            const uint64_t watched =
                watched_until(times, time_count, until) - watched_until(times, time_count, burst->work);
            if (!(rates[i].plain > 0)) continue;
            *inside += ((double)burst->accesses + burst->counted + burst->ahead) / rates[i].plain;
            *slowed += (double)watched * fmax(0, 1 - rates[i].watched / rates[i].plain);
        }
    }
    free(rates);
    free(times);
    return status;
}

/* ---- the timeline ---- */

/* From one moment to another, watched and not, at this rate. */
static double references_between(const fm_timeline *line, uint64_t from, uint64_t to, fm_access_rate rate)
{
    const double watched = (double)(watched_until(line->watch, line->watch_count, to) -
                                    watched_until(line->watch, line->watch_count, from));
    return ((double)(to - from) - watched) * rate.plain + watched * rate.watched;
}

/* Bursts that began before. */
static size_t bursts_before(const fm_sampled_thread *thread, uint64_t work)
{
    size_t low = 0, high = thread->burst_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (thread->bursts[middle]->work < work)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How far rates are from the mean of their neighbours, so many on each side: squares, in all. */
static double error_of(const fm_timeline *line, const fm_access_rate *sums, size_t neighbours)
{
    const size_t count = line->thread->burst_count;
    double error = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t first = i > neighbours ? i - neighbours : 0;
        const size_t last = count - i > neighbours ? i + neighbours + 1 : count;
        const double others = sums[last].plain - sums[first].plain - line->rates[i].plain;
        const double off = line->rates[i].plain - others / (double)(last - first - 1);
        error += off * off;
    }
    return error;
}

/*
 * Of how many bursts on each side the mean is the rate between two: as many as foretell each other well.
 * Where phases are longer than what is between bursts, that is the next one; where they are shorter (two
 * loops that take turns) or there is none, the more the better, and chance is not to decide for few.
 */
static size_t choose_neighbours(const fm_timeline *line, const fm_access_rate *sums)
{
    static const double tolerance = 1.15;
    const size_t count = line->thread->burst_count;
    double errors[NEIGHBOURS_STEPS], least = INFINITY;
    size_t steps = 0, best = 0;
    for (; count > 2 && steps < NEIGHBOURS_STEPS && UINT64_C(1) << steps < count; steps++) {
        errors[steps] = error_of(line, sums, (size_t)1 << steps);
        least = fmin(least, errors[steps]);
    }
    for (size_t step = 0; step < steps; step++)
        if (errors[step] <= tolerance * least) best = step;
    return (size_t)1 << best;
}

/* Where bursts are missing (nobody had time to read them), those that are half as far away as the gap is long
 * count too: one burst is not to decide for long. */
static void fill_gaps(fm_timeline *line, const fm_access_rate *sums)
{
    const fm_sampled_thread *thread = line->thread;
    const size_t count = thread->burst_count, neighbours = choose_neighbours(line, sums);
    for (size_t i = 0; i <= count && count > 0; i++) {
        const uint64_t from = i > 0 ? thread->bursts[i - 1]->work : 0;
        const uint64_t to = i < count ? thread->bursts[i]->work : thread->work;
        const uint64_t reach = (to - from) / 2;
        size_t first = bursts_before(thread, from > reach ? from - reach : 0);
        size_t last = to < UINT64_MAX - reach ? bursts_before(thread, to + reach) : count;
        const size_t least = i > neighbours ? i - neighbours : 0;
        const size_t most = count - i > neighbours ? i + neighbours : count;
        if (first > least) first = least;
        if (last < most) last = most;
        line->gaps[i].plain = (sums[last].plain - sums[first].plain) / (double)(last - first);
        line->gaps[i].watched = (sums[last].watched - sums[first].watched) / (double)(last - first);
    }
}

static fm_status make_gaps(fm_timeline *line, fm_error *error)
{
    const size_t count = line->thread->burst_count;
    fm_access_rate *sums = fm_calloc(count + 1, sizeof *sums);
    if (!sums) return fm_fail_memory(error, (count + 1) * sizeof *sums, "the rates of a thread");
    for (size_t i = 0; i < count; i++)
        sums[i + 1] =
            (fm_access_rate){sums[i].plain + line->rates[i].plain, sums[i].watched + line->rates[i].watched};
    fill_gaps(line, sums);
    free(sums);
    return FM_OK;
}

static double behind_window(const fm_timeline *line, size_t i)
{
    const fm_seen_burst *burst = line->thread->bursts[i];
    return line->before[i] + (burst->counted * burst->inside + burst->accesses) * line->ratios[i];
}

double fm_timeline_rate(const fm_timeline *line, size_t i)
{
    const fm_sampled_thread *thread = line->thread;
    const uint64_t from = i > 0 ? thread->bursts[i - 1]->work : 0;
    const uint64_t to = i + 1 < thread->burst_count ? thread->bursts[i + 1]->work : thread->work;
    if (to <= from) return line->rates[i].plain;
    return references_between(line, from, to, line->rates[i]) / (double)(to - from);
}

/* The mean over time takes the place of all: as many accesses in all, and no burst counts for more than the
 * time that it stands for. */
static void level_rates(fm_timeline *line)
{
    const fm_sampled_thread *thread = line->thread;
    double time = 0, accesses = 0;
    for (size_t i = 0; i < thread->burst_count; i++) {
        time += (double)thread->bursts[i]->planned;
        accesses += (double)thread->bursts[i]->planned * fm_timeline_rate(line, i);
    }
    for (size_t i = 0; i < thread->burst_count && time > 0; i++)
        line->rates[i] = (fm_access_rate){accesses / time, accesses / time};
}

fm_status fm_timeline_make(fm_timeline *line, const fm_sampled_thread *thread, double fallback, double most,
                           bool mean, size_t granularity, fm_error *error)
{
    const size_t count = thread->burst_count;
    *line = (fm_timeline){.thread = thread};
    line->ratios = fm_calloc(count + 1, sizeof *line->ratios);
    line->rates = fm_calloc(count + 1, sizeof *line->rates);
    line->before = fm_calloc(count + 1, sizeof *line->before);
    line->gaps = fm_calloc(count + 1, sizeof *line->gaps);
    if (!line->ratios || !line->rates || !line->before || !line->gaps)
        return fm_fail_memory(error, 6 * (count + 1) * sizeof(double), "the rates of a thread");
    fm_status status = find_watched(thread, &line->watch, &line->watch_count, error);
    if (status != FM_OK) return status;
    fill_ratios(thread, granularity, line->ratios);
    line->limited = fill_rates(thread, fallback, most, line->rates);
    if (mean) level_rates(line);
    const double share = in_program(thread);
    for (size_t i = 0; i < count; i++) {
        line->rates[i].plain *= line->ratios[i] * share;
        line->rates[i].watched *= line->ratios[i] * share;
    }
    status = make_gaps(line, error);
    if (status != FM_OK) return status;
    for (size_t i = 0; i < count; i++) {
        fm_seen_burst *burst = thread->bursts[i];
        const uint64_t from = i > 0 ? thread->bursts[i - 1]->work : 0;
        line->before[i] = (i > 0 ? behind_window(line, i - 1) : 0) +
                          references_between(line, from, burst->work, line->gaps[i]) +
                          burst->ahead * burst->inside * line->ratios[i];
        burst->position = (uint64_t)line->before[i];
    }
    line->end = count == 0 ? (double)thread->work * fallback : fm_timeline_until(line, thread->work);
    return FM_OK;
}

void fm_timeline_free(fm_timeline *line)
{
    free(line->ratios);
    free(line->rates);
    free(line->before);
    free(line->gaps);
    free(line->watch);
}

double fm_timeline_until(const fm_timeline *line, uint64_t work)
{
    const fm_sampled_thread *thread = line->thread;
    const size_t next = work < UINT64_MAX ? bursts_before(thread, work + 1) : thread->burst_count;
    if (next == 0) return references_between(line, 0, work, line->gaps[0]);
    return behind_window(line, next - 1) +
           references_between(line, thread->bursts[next - 1]->work, work, line->gaps[next]);
}

/* ---- access ceiling ---- */

static const double accesses_a_cycle = 4, unknown_clock = 6; /* GHz */

/* GHz. 0: it is not told. */
static double clock_by_driver(void)
{
    double kilohertz = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re");
    if (!file) return 0;
    if (fscanf(file, "%lf", &kilohertz) != 1) kilohertz = 0;
    fclose(file);
    return kilohertz / 1e6;
}

static double clock_now(void)
{
    static const char name[] = "cpu MHz";
    char *line = NULL;
    size_t room = 0;
    double fastest = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return 0;
    while (getline(&line, &room, file) > 0) {
        const char *value = strncmp(line, name, sizeof name - 1) == 0 ? strchr(line, ':') : NULL;
        const double megahertz = value ? strtod(value + 1, NULL) : 0;
        if (megahertz > fastest) fastest = megahertz;
    }
    free(line);
    fclose(file);
    return fastest / 1e3;
}

double fm_access_ceiling(void)
{
    const double most = clock_by_driver(), now = clock_now();
    const double clock = most > now ? most : now;
    return accesses_a_cycle * (clock > 0.1 ? clock : unknown_clock);
}
