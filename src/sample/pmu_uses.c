/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_uses.c - what samples of performance counters become. */
#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution_parts.h"
#include "sample/pmu.h"
#include "sample/sampled_thread.h"

#include <fathom/experimental/observations.h>
#include <stdlib.h>
#include <string.h>

/* ---- pmu latency ---- */

enum { LATENCY_MOST = 1 << 24 }; /* cycles: more is no latency of an access */

/* A sample that tells neither is not counted. */
static fm_status latencies_add(fm_latencies *latencies, uint32_t tag, const fm_sample_use *use,
                               fm_error *error)
{
    const fm_memory_level level = fm_pmu_source_level(use->source);
    const bool timed = use->latency > 0 && use->latency < LATENCY_MOST;
    if (tag == 0 || (!timed && level == FM_LEVEL_UNKNOWN)) return FM_OK;
    if (tag >= latencies->count) {
        const size_t before = latencies->count;
        if (fm_array_reserve((void **)&latencies->of_tag, &latencies->capacity, (size_t)tag + 1,
                             sizeof *latencies->of_tag) != 0)
            return fm_fail_memory(error, ((size_t)tag + 1) * sizeof *latencies->of_tag, "the latencies");
        latencies->count = (size_t)tag + 1;
        memset(latencies->of_tag + before, 0, (latencies->count - before) * sizeof *latencies->of_tag);
    }
    fm_site_latency *sum = &latencies->of_tag[tag];
    sum->samples++;
    sum->levels[level]++;
    if (timed) {
        sum->timed++;
        sum->cycles += use->latency;
    }
    return FM_OK;
}

fm_status fm_latencies_describe(const fm_latencies *latencies, fm_attribution *attribution,
                                const uint32_t *map, size_t map_count, fm_error *error)
{
    size_t count = 0;
    fm_site_latency *made = fm_calloc(latencies->count + 1, sizeof *made);
    if (!made) return fm_fail_memory(error, latencies->count * sizeof *made, "the latencies");
    for (size_t tag = 0; tag < latencies->count && tag < map_count; tag++) {
        if (latencies->of_tag[tag].samples == 0 || map[tag] == FM_NONE) continue;
        made[count] = latencies->of_tag[tag];
        made[count++].site = (uint32_t)tag;
    }
    const fm_attribution by_tag = {.latencies = made, .latency_count = count};
    const fm_status status = fm_site_latencies_merge(attribution, &by_tag, map, error);
    free(made);
    return status;
}

void fm_latencies_free(fm_latencies *latencies)
{
    free(latencies->of_tag);
    *latencies = (fm_latencies){0};
}

/* ---- pmu uses ---- */

/* Accesses that counters sampled, as the thread's lane tells them: which code, which calls,
 * whose data. */

enum { MOST_USES = 1 << 24 }; /* of a thread */

static fm_status find_object(fm_sampled_thread *thread, fm_sample_context *context, const fm_sample_use *use,
                             uint32_t *object, fm_error *error)
{
    *object = 0;
    if (!context->with_objects) return FM_OK;
    fm_status status =
        fm_sampled_memory_thread(thread->memory, thread->process, context->code, thread->number, use->stack,
                                 use->fs_base, &thread->stack, error);
    if (status != FM_OK) return status;
    fm_sampled_memory_begin(thread->memory);
    fm_sampled_extent found;
    status =
        fm_sampled_memory_find(thread->memory, context->objects, use->ticks, use->address, &found, error);
    *object = found.object;
    if (status != FM_OK || *object) return status;
    return fm_sampled_memory_unknown(thread->memory, thread->process, context->objects, use->address, object,
                                     error);
}

static fm_status find_tag(fm_sampled_thread *thread, fm_sample_context *context, const fm_sample_use *use,
                          uint32_t slab, fm_seen_use *seen, fm_error *error)
{
    uint32_t site = 0, path = 0, object = 0;
    fm_status status = fm_sampled_code_site(thread->process, context->code, use->code, &site, error);
    if (status == FM_OK && thread->calls && slab != FM_SAMPLE_NOWHERE && use->stack_bytes) {
        status = fm_sampled_thread_calls(thread, context, slab, use->stack_bytes, error);
        path = fm_sampled_calls_path(thread->calls);
    }
    if (status == FM_OK && context->function) {
        bool inside = false;
        status =
            fm_function_filter_inside(context->function, &context->code->program, site, path, &inside, error);
        seen->outside = !inside;
        seen->unknown = !inside && !use->stack_bytes; /* there was no room for its stack */
        if (status != FM_OK || !inside) return status;
        if (!context->tell_paths) path = 0;
    }
    if (status == FM_OK) status = find_object(thread, context, use, &object, error);
    if (status != FM_OK) return status;
    seen->tag = fm_sampled_code_tag(context->code, site, path, object);
    seen->context = object ? fm_sampled_code_tag(context->code, site, path, 0) : seen->tag;
    fm_sampled_code_count(context->code, seen->tag, 1);
    return FM_OK;
}

fm_status fm_sampled_thread_take_use(fm_sampled_thread *thread, fm_sample_context *context,
                                     const fm_sample_use *use, uint32_t slab, fm_error *error)
{
    const fm_seen_use *before = thread->use_count ? &thread->uses[thread->use_count - 1] : NULL;
    fm_seen_use seen = {.is = *use};
    if (thread->use_count >= MOST_USES) return FM_OK;
    fm_status status = find_tag(thread, context, use, slab, &seen, error);
    if (status == FM_OK && !seen.outside) status = latencies_add(&context->latencies, seen.tag, use, error);
    if (status == FM_OK && seen.unknown) thread->lost++;
    if (status != FM_OK || use->number == 0 || seen.unknown) return status; /* 0: it told a latency */
    if (before && (use->number <= before->is.number || use->position < before->is.position)) {
        thread->damaged++;
        return FM_OK;
    }
    if (fm_array_reserve((void **)&thread->uses, &thread->use_capacity, thread->use_count + 1,
                         sizeof *thread->uses) != 0)
        return fm_fail_memory(error, (thread->use_count + 1) * sizeof *thread->uses, "the samples");
    thread->uses[thread->use_count++] = seen;
    context->bursts += !seen.outside;
    return FM_OK;
}

uint32_t fm_sampled_thread_use_tag(const fm_sampled_thread *thread, uint64_t number)
{
    size_t low = 0, high = thread->use_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (thread->uses[middle].is.number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < thread->use_count && thread->uses[low].is.number == number ? thread->uses[low].tag : 0;
}

/* ---- pmu observations ---- */

/*
 * What counters sampled of a thread becomes observations (fathom/sample.h): each sampled
 * access is a watch, or one that was not armed. Positions are counted, so nothing has to be inferred: but
 * with a function (--function), outside of which counters go on. Which samples are inside says how many
 * accesses are, between two samples as many as the two together say: all, half, or none.
 */

enum { ARMED_BITS = 40, KEPT_BITS = 31 }; /* of probabilities (collect/reservoir.h) */

static int by_number(const void *a, const void *b)
{
    const fm_seen_watch *x = *(const fm_seen_watch *const *)a, *y = *(const fm_seen_watch *const *)b;
    if (x->is.burst != y->is.burst) return x->is.burst < y->is.burst ? -1 : 1;
    return x->is.position < y->is.position ? -1 : x->is.position > y->is.position;
}

/* The watches, by the use that they are of; that of its reuse comes second. */
static const fm_seen_watch **sorted_watches(const fm_sampled_thread *thread)
{
    const fm_seen_watch **sorted = fm_calloc(thread->watch_count + 1, sizeof *sorted);
    if (!sorted) return NULL;
    for (size_t i = 0; i < thread->watch_count; i++) sorted[i] = &thread->watches[i];
    qsort(sorted, thread->watch_count, sizeof *sorted, by_number);
    return sorted;
}

static double watch_probability(uint64_t units, unsigned bits)
{
    const double value = (double)units / (double)(UINT64_C(1) << bits);
    return value > 1 ? 1 : value;
}

/* ---- positions ---- */

/* Accesses that count, before each use and before the end. */
typedef struct counted {
    const fm_sampled_thread *thread;
    double *before; /* each use */
} counted;

static double share_between(const fm_sampled_thread *thread, size_t a, size_t b)
{
    return (double)(!thread->uses[a].outside + !thread->uses[b].outside) / 2;
}

static fm_status make_counted(counted *of, const fm_sampled_thread *thread, fm_error *error)
{
    *of = (counted){.thread = thread, .before = fm_calloc(thread->use_count + 1, sizeof *of->before)};
    if (!of->before)
        return fm_fail_memory(error, (thread->use_count + 1) * sizeof *of->before, "the samples");
    for (size_t i = 0; i < thread->use_count; i++) {
        const size_t last = i > 0 ? i - 1 : 0;
        const uint64_t from = i > 0 ? thread->uses[last].is.position : 0;
        of->before[i] = (i > 0 ? of->before[last] : 0) +
                        (double)(thread->uses[i].is.position - from) * share_between(thread, last, i);
    }
    return FM_OK;
}

/* Accesses that count until a position. */
static uint64_t counted_until(const counted *of, uint64_t position)
{
    const fm_sampled_thread *thread = of->thread;
    size_t low = 0, high = thread->use_count; /* the first use behind it */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (thread->uses[middle].is.position <= position)
            low = middle + 1;
        else
            high = middle;
    }
    if (thread->use_count == 0) return position;
    const size_t last = low > 0 ? low - 1 : 0, next = low < thread->use_count ? low : low - 1;
    const double from = low > 0 ? of->before[last] : 0;
    const uint64_t since = low > 0 ? position - thread->uses[last].is.position : position;
    return (uint64_t)(from + (double)since * share_between(thread, last, next) + 0.5);
}

/* ---- observations ---- */

/* How the watch went that began at this position. */
static void describe_watch(const counted *of, uint64_t position, const fm_seen_watch *seen,
                           fm_sample_watch *watch)
{
    const bool never = seen->is.end == FM_SAMPLE_WATCH_ENDED;
    uint64_t finish = never ? of->thread->work : seen->is.finish;
    finish = counted_until(of, finish);
    const uint64_t begin = counted_until(of, position);
    if (finish <= begin) finish = begin + 1;
    watch->end = never                                      ? FM_WATCH_NEVER
                 : seen->is.end == FM_SAMPLE_WATCH_REPLACED ? FM_WATCH_REPLACED
                                                            : FM_WATCH_USED;
    watch->length = finish - begin;
    watch->kept = watch_probability(seen->is.kept, KEPT_BITS);
    watch->reuse = seen->tag;
}

/* The reuse of a sampled use was watched in its turn. */
static fm_status add_second(const counted *of, const fm_sample_watch *first, const fm_seen_watch *seen,
                            fm_samples *samples, fm_error *error)
{
    fm_sample_watch watch = {.thread = first->thread,
                             .at = first->at + first->length,
                             .since = first->length,
                             .weight = first->weight,
                             .armed = first->armed,
                             .use = first->reuse};
    describe_watch(of, seen->is.begin, seen, &watch);
    return fm_samples_add_watch(samples, &watch, error);
}

/* The watch at this place of those in order, if it is of this use; second: of its reuse. NULL: there is none,
 * or its record was lost. */
static const fm_seen_watch *find_watch(const fm_sampled_thread *thread, const fm_seen_watch **watches,
                                       size_t place, uint64_t number, bool second)
{
    if (place >= thread->watch_count || watches[place]->is.burst != number) return NULL;
    return (watches[place]->is.position > 0) == second ? watches[place] : NULL;
}

/* All samples of a thread together stand for all its accesses. */
static double weight_of_period(const fm_sampled_thread *thread, uint64_t accesses)
{
    double sum = 0;
    for (size_t i = 0; i < thread->use_count; i++)
        if (!thread->uses[i].outside) sum += (double)thread->uses[i].is.period;
    return sum > 0 && accesses > 0 ? (double)accesses / sum : 1;
}

static fm_status add_uses(const counted *of, uint32_t number, const fm_seen_watch **watches,
                          fm_samples *samples, fm_error *error)
{
    const fm_sampled_thread *thread = of->thread;
    const double unit = weight_of_period(thread, counted_until(of, thread->work));
    size_t next = 0;
    fm_status status = FM_OK;
    for (size_t i = 0; i < thread->use_count && status == FM_OK; i++) {
        const fm_seen_use *use = &thread->uses[i];
        while (next < thread->watch_count && watches[next]->is.burst < use->is.number) next++;
        if (use->outside) continue;
        const uint64_t position = counted_until(of, use->is.position);
        const fm_seen_watch *seen = find_watch(thread, watches, next, use->is.number, false);
        fm_sample_watch watch = {.thread = number,
                                 .end = FM_WATCH_NOT_ARMED,
                                 .at = position > 0 ? position - 1 : 0,
                                 .weight = use->is.period > 0 ? unit * (double)use->is.period : unit,
                                 .armed = watch_probability(use->is.armed, ARMED_BITS),
                                 .use = use->tag,
                                 .context = use->context,
                                 .latency =
                                     use->is.latency < UINT32_MAX ? (uint32_t)use->is.latency : UINT32_MAX,
                                 .level = fm_pmu_source_level(use->is.source)};
        if (!(watch.armed > 0)) watch.armed = 1;
        if (!seen && use->is.place != FM_SAMPLE_NOWHERE) continue; /* nothing is known of it */
        if (seen && use->is.place != FM_SAMPLE_NOWHERE) describe_watch(of, use->is.position, seen, &watch);
        status = fm_samples_add_watch(samples, &watch, error);
        const fm_seen_watch *second = find_watch(thread, watches, next + 1, use->is.number, true);
        if (status == FM_OK && watch.end == FM_WATCH_USED && second)
            status = add_second(of, &watch, second, samples, error);
    }
    return status;
}

fm_status fm_sampled_thread_observe_uses(const fm_sampled_thread *thread, fm_samples *samples,
                                         fm_error *error)
{
    uint32_t number = 0;
    counted of;
    fm_status status = make_counted(&of, thread, error);
    const fm_seen_watch **watches = status == FM_OK ? sorted_watches(thread) : NULL;
    if (status == FM_OK && !watches)
        status = fm_fail_memory(error, thread->watch_count * sizeof *watches, "the watches");
    if (status == FM_OK)
        status = fm_samples_add_thread(samples, counted_until(&of, thread->work), &number, error);
    if (status == FM_OK) status = add_uses(&of, number, watches, samples, error);
    free(watches);
    free(of.before);
    return status;
}
