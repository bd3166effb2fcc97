/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_thread.c - see sampled_thread.h. This file takes the records; sampled_observations.c makes
 * observations of what they say. */
#define _GNU_SOURCE
#include "sample/sampled_thread.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    COUNT_LEAST = 4096,    /* accesses that tell a rate */
    MOST_BURSTS = 1 << 22, /* of a thread */
};
fm_status fm_sampled_thread_create(fm_sampled_thread **thread, const fm_sample_context *context,
                                   uint32_t lane, fm_sample_code_of *process, fm_sampled_memory_of *memory,
                                   uint32_t number, fm_error *error)
{
    fm_sampled_thread *made = *thread = fm_calloc(1, sizeof *made);
    if (made) made->table = fm_calloc(1, FM_SAMPLE_TABLE_BYTES);
    if (made && context->with_paths) made->calls = fm_calloc(1, sizeof *made->calls);
    if (!made || !made->table || (context->with_paths && !made->calls)) {
        if (made) free(made->table);
        free(made);
        *thread = NULL;
        return fm_fail_memory(error, FM_SAMPLE_TABLE_BYTES, "a thread of the program");
    }
    const fm_sample_lane *shared = fm_sample_memory_lane(context->memory, lane);
    made->lane = lane;
    made->process = process;
    made->memory = memory;
    made->number = number;
    made->tid = __atomic_load_n(&shared->tid, __ATOMIC_RELAXED);
    made->taken = __atomic_load_n(&shared->taken, __ATOMIC_RELAXED); /* ours, and the thread began there */
    return FM_OK;
}

void fm_sampled_thread_destroy(fm_sampled_thread *thread, const fm_sample_context *context)
{
    if (!thread) return;
    for (size_t i = 0; i < thread->burst_count; i++) {
        for (size_t g = 0; g < context->granularity_count; g++) free(thread->bursts[i]->views[g].kinds);
        free(thread->bursts[i]);
    }
    free(thread->bursts);
    free(thread->watches);
    free(thread->uses);
    free(thread->table);
    free(thread->known);
    free(thread->calls);
    free(thread);
}

/* ---- logs ---- */

/* More of the table. False: it does not fit to what was told before. */
static bool extend_table(fm_sampled_thread *thread, const fm_sample_context *context, uint32_t slab,
                         size_t at, uint32_t from, uint32_t bytes, uint32_t generation)
{
    if (generation != thread->generation) {
        thread->generation = generation;
        thread->told = 0;
        thread->known_count = 0;
    }
    if (from != thread->told || bytes > FM_SAMPLE_TABLE_BYTES - from) return false;
    if (!fm_sample_slab_copy(context->memory, thread->lane, slab, at, thread->table + from, bytes))
        return false;
    thread->told += bytes;
    return true;
}

fm_status fm_sampled_thread_calls(fm_sampled_thread *thread, fm_sample_context *context, uint32_t slab,
                                  uint32_t stack_bytes, fm_error *error)
{
    uint64_t registers[FM_SAMPLE_REGISTERS];
    unsigned char *stack = context->stack;
    fm_sampled_frame frames[FM_SAMPLED_FRAMES];
    size_t count = 0;
    if (slab >= FM_SAMPLE_SLABS_IN_ALL || stack_bytes == 0 || stack_bytes > sizeof context->stack)
        return FM_OK;
    const size_t at = fm_sample_slab_at(slab).bytes - FM_SAMPLE_STACK_ROOM;
    if (!fm_sample_slab_copy(context->memory, thread->lane, slab, at, registers, sizeof registers) ||
        !fm_sample_slab_copy(context->memory, thread->lane, slab, at + sizeof registers, stack, stack_bytes))
        return FM_OK;
    fm_status status = fm_sampled_stack_unwind(thread->process, context->code, registers, stack, stack_bytes,
                                               frames, &count, error);
    if (status == FM_OK)
        status = fm_sampled_calls_begin(thread->calls, thread->process, context->code, frames, count, error);
    return status;
}

static bool touches_word(const fm_burst_touch *touch, uint64_t address)
{
    const uint64_t word = address & ~UINT64_C(7);
    return touch->address <= word + 7 && word < touch->address + touch->size;
}

/* Watches that ended in this burst: by which access. */
static void find_ends(fm_sampled_thread *thread, const fm_sample_context *context, uint64_t number,
                      size_t count)
{
    for (size_t i = thread->watch_count; i-- > 0;) {
        fm_seen_watch *watch = &thread->watches[i];
        if (watch->is.in_burst > number) continue;
        if (watch->is.in_burst != number) {
            if (thread->watch_count - i > FM_SAMPLE_CELLS) break; /* they are told just before it */
            continue;
        }
        if (watch->is.in_window || watch->is.end != FM_SAMPLE_WATCH_USED) continue;
        for (size_t n = 0; n < count && watch->found == FM_BURST_NONE; n++)
            if (touches_word(&context->touches[n], watch->is.address)) {
                watch->found = (uint32_t)n; /* and its tag is all that it needs */
                watch->tag = context->touches[n].tag;
            }
    }
}

static fm_status look_at_log(fm_sampled_thread *thread, fm_sample_context *context,
                             const fm_sample_record *record, fm_seen_burst *burst, fm_error *error)
{
    size_t unused = 0;
    fm_log_reading reading = {.picked = burst->picked, .picked_at = FM_BURST_NONE};
    fm_status status = fm_sampled_thread_read_log(thread, context, record, &reading, error);
    if (status != FM_OK) return status;
    if (context->function && reading.all > 0) burst->inside = (double)reading.count / (double)reading.all;
    if (reading.all > 0) burst->returns = (double)reading.returns / (double)reading.all;
    context->slowed += fm_seen_burst_slowed(burst);
    const size_t count = reading.count;
    burst->picked = reading.picked_at;
    if (count == 0) return FM_OK;
    burst->accesses = (uint32_t)count; /* what was understood, which is all but for a damaged log */
    find_ends(thread, context, burst->number, count);
    uint64_t picked_address = 0;
    if (burst->picked < count / 2) {
        const size_t half = count / 2;
        const size_t from = half < FM_SAMPLE_PICK_FROM ? half : FM_SAMPLE_PICK_FROM;
        status = fm_burst_unused_words(context->table, context->touches, count, from, &unused, error);
        burst->picked_of = (uint32_t)from;
        burst->picked_unused = (uint32_t)unused;
        burst->picked_tag = context->touches[burst->picked].tag;
        picked_address = context->touches[burst->picked].address;
    } else {
        burst->picked = FM_BURST_NONE;
    }
    for (size_t g = 0; g < context->granularity_count && status == FM_OK; g++)
        status = fm_burst_view_make(context->table, context->touches, count, context->shifts[g],
                                    burst->picked, picked_address, &burst->views[g], error);
    context->accesses += count;
    return status;
}

static fm_status take_burst(fm_sampled_thread *thread, fm_sample_context *context,
                            const fm_sample_record *record, fm_error *error)
{
    fm_status status = FM_OK;
    if (thread->burst_count >= MOST_BURSTS) return FM_OK;
    if (fm_array_reserve((void **)&thread->bursts, &thread->burst_capacity, thread->burst_count + 1,
                         sizeof *thread->bursts) != 0)
        return fm_fail_memory(error, (thread->burst_count + 1) * sizeof *thread->bursts, "the bursts");
    const fm_seen_burst *before = thread->burst_count ? thread->bursts[thread->burst_count - 1] : NULL;
    if (before && (record->is.burst.number <= before->number || record->is.burst.work < before->work)) {
        thread->damaged++;
        return FM_OK;
    }
    fm_seen_burst *burst = fm_calloc(1, sizeof *burst + context->granularity_count * sizeof burst->views[0]);
    if (!burst) return fm_fail_memory(error, sizeof *burst, "a burst");
    burst->inside = 1;
    burst->number = record->is.burst.number;
    burst->work = record->is.burst.work;
    burst->planned = record->is.burst.planned;
    burst->accesses = record->is.burst.accesses;
    burst->counted = record->is.burst.counted;
    burst->picked = record->is.burst.picked;
    burst->picked_armed = record->is.burst.picked_place != FM_SAMPLE_NOWHERE;
    burst->armed = (double)record->is.burst.picked_armed / (double)(UINT64_C(1) << 40);
    if (record->is.burst.calm >= COUNT_LEAST && record->is.burst.calm_time > 0) {
        burst->calm = record->is.burst.calm;
        burst->calm_time = (double)record->is.burst.calm_time;
    }
    burst->watching = record->is.burst.watching != 0;
    burst->ahead = record->is.burst.ahead;
    burst->heard = record->is.burst.heard;
    if (record->is.burst.ahead_calm >= COUNT_LEAST && record->is.burst.ahead_time > 0) {
        burst->ahead_calm = record->is.burst.ahead_calm;
        burst->ahead_time = record->is.burst.ahead_time;
    }
    thread->bursts[thread->burst_count++] = burst;
    const size_t bytes = (size_t)record->is.burst.words * sizeof *context->log;
    const bool readable =
        record->slab != FM_SAMPLE_NOWHERE && bytes <= fm_sample_class_bytes(FM_SAMPLE_CLASSES - 1) &&
        fm_sample_slab_copy(context->memory, thread->lane, record->slab, 0, context->log, bytes) &&
        extend_table(thread, context, record->slab, bytes, record->is.burst.table_from,
                     record->is.burst.table_bytes, record->is.burst.generation);
    if (readable && thread->calls)
        status = fm_sampled_thread_calls(thread, context, record->slab, record->is.burst.stack_bytes, error);
    fm_sample_slab_release(context->memory, thread->lane, record->slab);
    if (readable && status == FM_OK) {
        context->bursts++;
        status = look_at_log(thread, context, record, burst, error);
    } else if (status == FM_OK) {
        context->left_out++;
    }
    return status;
}

/* ---- watches ---- */

/* Used again, but not in the function that is looked at: it could not be watched any longer. */
static fm_status judge_watch(fm_sample_context *context, fm_seen_watch *watch, bool *known, fm_error *error)
{
    bool inside = false;
    fm_status status = fm_function_filter_inside(context->function, &context->code->program, watch->site,
                                                 watch->path, &inside, error);
    if (!inside) watch->is.end = FM_SAMPLE_WATCH_REPLACED;
    *known = inside || watch->is.stack_bytes > 0; /* there may have been no room for the stack */
    return status;
}

static fm_status take_watch(fm_sampled_thread *thread, fm_sample_context *context,
                            const fm_sample_watched *watched, uint32_t slab, fm_error *error)
{
    if (fm_array_reserve((void **)&thread->watches, &thread->watch_capacity, thread->watch_count + 1,
                         sizeof *thread->watches) != 0)
        return fm_fail_memory(error, (thread->watch_count + 1) * sizeof *thread->watches, "the watches");
    fm_seen_watch *watch = &thread->watches[thread->watch_count];
    bool known = true;
    *watch = (fm_seen_watch){.is = *watched, .found = FM_BURST_NONE};
    if (watched->end > FM_SAMPLE_WATCH_ENDED || watched->finish < watched->begin || watched->burst == 0) {
        thread->damaged++;
        return FM_OK;
    }
    /* The processor tells where it is after the access: one byte back is inside the instruction, and the
     * symbol and line are the same. */
    if (watched->end == FM_SAMPLE_WATCH_USED && !watched->in_burst && watched->code > 0) {
        fm_status status =
            fm_sampled_code_site(thread->process, context->code, watched->code - 1, &watch->site, error);
        if (status == FM_OK && thread->calls && slab != FM_SAMPLE_NOWHERE)
            status = fm_sampled_thread_calls(thread, context, slab, (uint32_t)watched->stack_bytes, error);
        if (status == FM_OK && thread->calls && slab != FM_SAMPLE_NOWHERE)
            watch->path = fm_sampled_calls_path(thread->calls);
        if (status == FM_OK && context->function) status = judge_watch(context, watch, &known, error);
        if (status != FM_OK) return status;
        if (!context->tell_paths) watch->path = 0;
    }
    /* In a window behind a burst it is not known who it was. */
    if (context->function && watched->in_window) watch->is.end = FM_SAMPLE_WATCH_REPLACED;
    thread->watch_count += known;
    context->watches += known;
    thread->lost += !known;
    return FM_OK;
}

/* ---- the lane ---- */

fm_status fm_sampled_thread_drain(fm_sampled_thread *thread, fm_sample_context *context, fm_error *error)
{
    fm_sample_lane *lane = fm_sample_memory_lane(context->memory, thread->lane);
    fm_sample_record record;
    bool damaged;
    fm_status status = FM_OK;
    /* Only so many at a time: who writes faster than we read must not keep us. */
    for (int i = 0; i < 2 * FM_SAMPLE_CELLS && status == FM_OK && !thread->ended; i++) {
        if (!fm_sample_lane_next(lane, &thread->taken, &record, &damaged)) {
            thread->damaged += damaged;
            break;
        }
        switch (record.kind) {
        case FM_SAMPLE_RECORD_BURST:
            status = take_burst(thread, context, &record, error);
            break;
        case FM_SAMPLE_RECORD_WATCH:
            status = take_watch(thread, context, &record.is.watch, record.slab, error);
            fm_sample_slab_release(context->memory, thread->lane, record.slab);
            break;
        case FM_SAMPLE_RECORD_USE:
            status = fm_sampled_thread_take_use(thread, context, &record.is.use, record.slab, error);
            fm_sample_slab_release(context->memory, thread->lane, record.slab);
            break;
        case FM_SAMPLE_RECORD_TABLE:
            if (!extend_table(thread, context, record.slab, 0, record.is.table.from, record.is.table.bytes,
                              record.is.table.generation))
                thread->damaged++;
            fm_sample_slab_release(context->memory, thread->lane, record.slab);
            break;
        case FM_SAMPLE_RECORD_END:
            thread->work = record.is.end.work;
            thread->own = record.is.end.own;
            thread->time = record.is.end.time;
            thread->ended = true;
            break;
        default:
            thread->damaged++;
        }
    }
    return status;
}

size_t fm_sampled_thread_burst(const fm_sampled_thread *thread, uint64_t number)
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

/* Who used it again is known; what it is, from its use in a burst, which may be told after the watch. */
static void tag_watches(fm_sampled_thread *thread, const fm_sample_context *context)
{
    for (size_t i = 0; i < thread->watch_count; i++) {
        fm_seen_watch *watch = &thread->watches[i];
        if (watch->tag || !watch->site) continue;
        const size_t burst = fm_sampled_thread_burst(thread, watch->is.burst);
        const uint32_t use = burst != SIZE_MAX ? thread->bursts[burst]->picked_tag
                                               : fm_sampled_thread_use_tag(thread, watch->is.burst);
        const uint32_t object = fm_sampled_code_object(context->code, use);
        watch->tag = fm_sampled_code_tag(context->code, watch->site, watch->path, object);
    }
}

fm_status fm_sampled_thread_finish(fm_sampled_thread *thread, fm_sample_context *context, uint64_t tick,
                                   fm_error *error)
{
    const fm_sample_lane *shared = fm_sample_memory_lane(context->memory, thread->lane);
    fm_sample_lane *lane = malloc(sizeof *lane); /* read once */
    if (!lane) return fm_fail_memory(error, sizeof *lane, "a thread of the program");
    memcpy(lane, shared, sizeof *lane);
    fm_status status = FM_OK;
    const bool halted = __atomic_load_n(&context->memory->session->order, __ATOMIC_RELAXED) == FM_SAMPLE_HALT;
    thread->tick = tick;
    thread->heard = halted ? 0 : lane->ticks_then; /* later ones are not heard */
    thread->heard_work = lane->work;
    thread->crowded = lane->crowded;
    thread->lost += lane->lost;
    thread->overrun = lane->stale + lane->dropped;
    thread->throttled = lane->throttled;
    thread->foreign = lane->foreign;
    if (!thread->ended) {
        /* Since the last time that it told us, as long as ticks came; by counters, it told all that is known.
         */
        const uint64_t ticks = context->counters ? 0 : lane->ticks - lane->ticks_then;
        thread->time = lane->time;
        thread->work = lane->work + (ticks < UINT32_MAX ? ticks * tick : 0);
        thread->own = lane->own;
        for (size_t i = 0; i < FM_SAMPLE_WATCHES && status == FM_OK; i++) {
            fm_sample_watched watched = lane->watches[i];
            if (!watched.on) continue;
            /* Where sampling ended before the thread did, it was cut off. */
            watched.end = halted ? FM_SAMPLE_WATCH_REPLACED : FM_SAMPLE_WATCH_ENDED;
            watched.finish = thread->work > watched.begin ? thread->work : watched.begin;
            watched.in_burst = 0;
            status = take_watch(thread, context, &watched, FM_SAMPLE_NOWHERE, error);
        }
    }
    thread->ended = true;
    tag_watches(thread, context);
    if (thread->burst_count > 0 && thread->work < thread->bursts[thread->burst_count - 1]->work)
        thread->work = thread->bursts[thread->burst_count - 1]->work;
    free(lane);
    return status;
}
