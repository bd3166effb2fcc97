/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tick.c - what a clock tick leads to when a burst is due: the burst, a use of it that is watched from then
 * on, a window in which accesses are only counted, the record of all this, and the plan for the next one.
 */
#define _GNU_SOURCE
#include "collect/sample/sampler.h"

#include <string.h>

enum {
    COUNT_FIRST = 6 << 10,   /* accesses of a window in which they are only counted: of its first piece, */
    COUNT_SECOND = 32 << 10, /* of each other one, at least, */
    COUNT_MOST = 48 << 10,   /* and at most; */
    COUNT_LEAST = 4 << 10,   /* of one that tells a rate: blocks are not cut; */
    COUNT_TIME = 10000,      /* nanoseconds that others are meant to take, */
    COUNT_ALONE = 200000,    /* and one that is enough by itself; */
    COUNT_PIECES = 6,        /* at most; */
    COUNT_SHARE = 16,        /* of the time until the next burst, the share that a window is meant to take, */
    COUNT_SHORT = 20000,     /* but so many nanoseconds at least */
    COUNT_COST = 200,        /* nanoseconds that it takes to enter the translator and to leave it */
    CLOCK_COST = 500,        /* to ask for the time */
    FRESH_MOST = 8,          /* new blocks, after which it is not gone on with; */
    NEW_CODE = 64,           /* accesses of a burst for each new block: if fewer, its code is new; */
    NEW_WHOLE = 1 << 16,     /* all of the last bursts were of new code: of more than a half, */
    NEW_TRIED = 4,           /* and one in so many bursts has windows */
    AHEAD_SKIP_MOST = 63,    /* bursts without a window ahead of them, after one that came to nothing */
    LOOK_AHEAD = 16 << 10,   /* accesses in which a use that is to be watched must not be used again */
    FIRST_COST = 1000000,    /* nanoseconds that a burst is expected to take before there was one */
    RECEIVER_COST_MOST = 1000000000, /* that is believed */
    ROUND = 16,
};

/* ---- slabs ---- */

uint32_t fm_sampler_claim_slab(const fm_sampler_thread *thread, uint32_t class)
{
    for (uint32_t i = FM_SAMPLE_SLABS_IN_ALL; i-- > 0;) { /* the largest are the last */
        uint32_t free = 0, *owner = &fm_self.session->slab_owner[i];
        if (fm_sample_slab_at(i).class > class || __atomic_load_n(owner, __ATOMIC_RELAXED)) continue;
        if (__atomic_compare_exchange_n(owner, &free, thread->lane_number + 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return i;
    }
    return FM_SAMPLE_NOWHERE;
}

bool fm_sampler_slabs_run_short(void)
{
    uint32_t used = 0;
    bool large = false;
    for (uint32_t i = 0; i < FM_SAMPLE_SLABS_IN_ALL; i++) {
        const bool taken = __atomic_load_n(&fm_self.session->slab_owner[i], __ATOMIC_RELAXED) != 0;
        used += taken;
        large |= taken && fm_sample_slab_at(i).class >= 2;
    }
    return used >= FM_SAMPLE_SLABS_IN_ALL / 2 || large;
}

void fm_sampler_free_slab(uint32_t slab)
{
    __atomic_store_n(&fm_self.session->slab_owner[slab], 0, __ATOMIC_RELEASE);
}

static void *slab_memory(uint32_t slab)
{
    return (char *)fm_self.session + fm_sample_slab_at(slab).offset;
}

/* The registers and the stack that its callers can be found by. */
uint32_t fm_sampler_tell_stack(uint32_t slab, const ucontext_t *context)
{
    static const uint8_t places[FM_SAMPLE_REGISTERS] = {REG_RIP, REG_RSP, REG_RBP, REG_RBX,
                                                        REG_R12, REG_R13, REG_R14, REG_R15};
    uint64_t *registers =
        (void *)((char *)slab_memory(slab) + fm_sample_slab_at(slab).bytes - FM_SAMPLE_STACK_ROOM);
    for (uint32_t i = 0; i < FM_SAMPLE_REGISTERS; i++)
        registers[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
    return fm_sampler_copy_stack(registers + FM_SAMPLE_REGISTERS, registers[1], FM_SAMPLE_STACK);
}

/* ---- the table of blocks ---- */

static uint32_t untold_blocks(const fm_sampler_thread *thread)
{
    return (uint32_t)((const burst_table *)thread->table)->used - thread->told;
}

/* Tells so much of the table that what is left fits into `room` bytes. False: there is no slab for it. */
static bool tell_table(fm_sampler_thread *thread, size_t room)
{
    while (untold_blocks(thread) > room) {
        const uint32_t slab = fm_sampler_claim_slab(thread, 0);
        if (slab == FM_SAMPLE_NOWHERE) return false;
        const uint32_t most = fm_sample_slab_at(slab).bytes;
        const uint32_t bytes = untold_blocks(thread) < most ? untold_blocks(thread) : most;
        memcpy(slab_memory(slab), (const char *)thread->table + thread->told, bytes);
        if (!fm_sampler_record(thread,
                               &(fm_sample_record){.kind = FM_SAMPLE_RECORD_TABLE,
                                                   .slab = slab,
                                                   .is.table = {thread->told, bytes, thread->generation}})) {
            fm_sampler_free_slab(slab);
            return false;
        }
        thread->told += bytes;
    }
    return true;
}

static void begin_table(fm_sampler_thread *thread)
{
    burst_reset(thread->burst, thread->table, FM_SAMPLE_TABLE_BYTES);
    thread->told = 0;
    thread->generation++;
}

/* ---- the use to watch ---- */

typedef struct candidate {
    uint64_t at, address; /* number of an access of the burst, and the word that it uses */
} candidate;

/* What our own functions do when the program calls them is no use. Our own data must never be watched: the
 * handler uses it, too, and would trap in itself for ever. */
static bool is_ours(const burst_use *use)
{
    return fm_sampler_is_own_code(use->instruction) || fm_sampler_is_own_data(use->address);
}

/* Whether the use at a place of the burst is not used again by the accesses that follow, of the first `most`.
 */
static bool is_unused(burst_reader reader, uint64_t most, candidate *tried)
{
    burst_use use;
    if (!burst_reader_pass(&reader, tried->at) || burst_reader_next(&reader, &use) != BURST_READ_USE ||
        is_ours(&use))
        return false;
    tried->address = use.address & ~UINT64_C(7);
    uint64_t ahead = most - tried->at - 1;
    while (burst_reader_seek(&reader, tried->address, &ahead, &use))
        if (!is_ours(&use)) return false;
    return true;
}

/* A use among the first ones that was not used again: one of these at random. False: none was found. */
static bool candidate_pick(fm_sampler_thread *thread, const uint64_t *log, const burst_result *result,
                           uint64_t accesses, candidate *picked)
{
    const uint64_t half = accesses / 2, from = half < FM_SAMPLE_PICK_FROM ? half : FM_SAMPLE_PICK_FROM;
    if (from == 0) return false;
    burst_reader reader;
    burst_reader_begin(&reader, thread->table, FM_SAMPLE_TABLE_BYTES, log, result->words, result->fs_base,
                       result->gs_base);
    for (uint32_t i = 0; i < FM_SAMPLE_TRIES; i++) {
        picked->at = fm_sampler_random(thread, from);
        if (is_unused(reader, from + LOOK_AHEAD, picked)) return true;
    }
    return false;
}

static void candidate_watch(fm_sampler_thread *thread, const candidate *picked, fm_sample_record *record)
{
    const fm_reservoir_choice choice = fm_reservoir_offer(&thread->reservoir);
    record->is.burst.picked = (uint32_t)picked->at;
    record->is.burst.picked_armed = choice.armed;
    if (choice.place < 0) return;
    const uint32_t place = (uint32_t)choice.place;
    if (choice.replaces) fm_sampler_replaced(thread, place, choice.replaced_kept);
    if (!fm_sampler_arm(thread, place, picked->address)) {
        fm_reservoir_release(&thread->reservoir, place);
        return;
    }
    record->is.burst.picked_place = place;
    fm_sample_watched *watched = &thread->lane->watches[place];
    thread->strays[place] = 0;
    watched->end = FM_SAMPLE_WATCH_ENDED;
    watched->burst = thread->bursts;
    watched->address = picked->address;
    watched->position = picked->at;
    watched->begin = thread->work;
    watched->armed = choice.armed;
    watched->kept = UINT64_C(1) << FM_RESERVOIR_KEPT_BITS;
    __atomic_store_n(&watched->on, 1, __ATOMIC_RELEASE);
    fm_sampler_span_begins(thread);
}

/* ---- plans ---- */

/* At least so long until the next burst. */
static uint64_t least_interval(const fm_sampler_thread *thread)
{
    const fm_sample_session *session = fm_self.session;
    uint64_t interval = session->interval;
    if (session->period && thread->rate) interval = (session->period << 20) / thread->rate;
    if (session->budget) {
        uint64_t cost = __atomic_load_n(&fm_self.process->cost, __ATOMIC_RELAXED);
        if (cost == 0) cost = FIRST_COST;
        const uint64_t received = __atomic_load_n(&session->receiver_cost, __ATOMIC_RELAXED);
        cost += received < RECEIVER_COST_MOST ? received : RECEIVER_COST_MOST;
        const uint64_t left = session->budget - fm_sampler_watching_costs(thread);
        const uint64_t affordable = (uint64_t)((unsigned __int128)cost * 1000000 / left);
        if (interval < affordable) interval = affordable;
    }
    return interval;
}

/* Between a half and three halves of that, in whole ticks. */
void fm_sampler_plan(fm_sampler_thread *thread)
{
    const uint64_t tick = fm_self.session->tick ? fm_self.session->tick : 1;
    uint64_t interval = least_interval(thread);
    if (interval < tick) interval = tick;
    const uint64_t chosen = interval / 2 + fm_sampler_random(thread, interval + 1);
    /* Rounded up or down at random, so that the mean is kept. */
    thread->countdown = (chosen + fm_sampler_random(thread, tick)) / tick;
    if (thread->countdown == 0) thread->countdown = 1;
    thread->planned = interval;
}

/* The mean of the last few, of all threads. */
static void count_cost(uint64_t cost)
{
    const uint64_t before = __atomic_load_n(&fm_self.process->cost, __ATOMIC_RELAXED);
    const uint64_t now = before ? before + cost / ROUND - before / ROUND : cost;
    __atomic_store_n(&fm_self.process->cost, now ? now : 1, __ATOMIC_RELAXED);
}

/* ---- a burst ---- */

/* A stretch in which accesses are only counted: how fast they are made here. */
typedef struct counted_window {
    uint64_t accesses;
    uint64_t calm, calm_time; /* of these, those of pieces that were not disturbed; nanoseconds */
    burst_end reason;
} counted_window;

/*
 * Runs a piece of it; nanoseconds that it took. The time-stamp counter tells them, as asking for the thread's
 * clock takes a good part of a microsecond; the clock tells whether another thread had the processor
 * meanwhile, and leaves its time out.
 */
static uint64_t time_piece(fm_sampler_thread *thread, ucontext_t *context, uint64_t accesses,
                           burst_result *counted, burst_end *reason, bool *alone)
{
    const uint64_t begin = fm_sampler_cpu(), first = fm_sampler_ticks();
    *reason = burst_run(thread->burst, context, BURST_COUNT, accesses, NULL, 0, counted);
    const uint64_t ticks = fm_sampler_ticks() - first, clock = fm_sampler_cpu() - begin;
    const uint64_t frequency = fm_self.session->frequency;
    *alone = true;
    if (frequency == 0) return clock > CLOCK_COST + COUNT_COST ? clock - CLOCK_COST - COUNT_COST : 1;
    const uint64_t time = (uint64_t)((unsigned __int128)ticks * 1000000000u / frequency);
    *alone = time <= clock + clock / 16; /* the frequency is not known that well */
    return time > COUNT_COST ? time - COUNT_COST : 1;
}

/* Accesses of the next piece, when so many took so long, and so much time is left. */
static uint64_t next_size(uint64_t accesses, uint64_t time, uint64_t left)
{
    uint64_t size = accesses * COUNT_TIME / (time + 1);
    if (size < COUNT_SECOND) size = COUNT_SECOND;
    const uint64_t most = accesses * left / (time + 1);
    if (size > most) size = most;
    return size < COUNT_FIRST ? COUNT_FIRST : size < COUNT_MOST ? size : COUNT_MOST;
}

/* How long a window is meant to be, in nanoseconds: where bursts are many, each needs to tell less. */
static uint64_t window_time(const fm_sampler_thread *thread)
{
    const uint64_t time = thread->planned / COUNT_SHARE;
    return time < COUNT_SHORT ? COUNT_SHORT : time < COUNT_ALONE ? time : COUNT_ALONE;
}

/*
 * In pieces: code that has to be translated first takes its time, and what is mostly new is not worth it. The
 * first piece tells how long the others have to be; where accesses are slow it is enough by itself, and the
 * window does not reach into what the program does next. The processor has forgotten the translated code
 * since the last time, where its branches lead above all: pieces count from where they are not getting faster
 * any more.
 */
static counted_window count_window(fm_sampler_thread *thread, ucontext_t *context)
{
    counted_window window = {0};
    uint64_t size = COUNT_FIRST, spent = 0;
    const uint64_t most = window_time(thread);
    for (uint32_t piece = 0; piece < COUNT_PIECES; piece++) {
        burst_result counted = {0};
        bool alone;
        thread->traps = 0;
        const uint64_t time = time_piece(thread, context, size, &counted, &window.reason, &alone);
        burst_goes_on(thread->burst, true);
        window.accesses += counted.accesses;
        spent += time;
        const bool calm = counted.fresh + thread->traps == 0 && alone && counted.accesses >= COUNT_LEAST;
        const bool enough = time >= most;
        if (calm && (piece > 0 || enough)) {
            const bool faster = time * window.calm * 16 < window.calm_time * counted.accesses * 15;
            window.calm = faster ? counted.accesses : window.calm + counted.accesses;
            window.calm_time = faster ? time : window.calm_time + time;
            if (spent >= most || (!faster && window.calm > counted.accesses)) break;
        }
        if (window.reason == BURST_END_FULL) begin_table(thread);
        if (window.reason != BURST_END_DONE || counted.fresh > FRESH_MOST) break;
        size = next_size(counted.accesses, time, spent < most ? most - spent : 0);
    }
    return window;
}

/*
 * A program that executes new code all along (a compiler) has no window that tells anything: all that it does
 * is to translate blocks, which are not met again before they are forgotten. How new the code of the last
 * bursts was tells that. Once in a while a window is tried all the same.
 */
static bool is_in_vain(const fm_sampler_thread *thread)
{
    return thread->new_code && thread->newness > NEW_WHOLE / 2 && thread->bursts % NEW_TRIED != 0;
}

/*
 * Code may be slower while a register watches (copies by rep movs take twice as long). Behind a burst one
 * does, nearly always; so accesses are counted before it, too, if none does. Where such a window comes to a
 * system call that may wait, nothing is left for the burst: then the next ones go without.
 */
static void count_ahead(fm_sampler_thread *thread, ucontext_t *context, fm_sample_record *record,
                        uint64_t *useful)
{
    if (!fm_self.watching || fm_sampler_is_watching(thread) || is_in_vain(thread)) return;
    if (thread->ahead_skip > 0) {
        thread->ahead_skip--;
        return;
    }
    const counted_window window = count_window(thread, context);
    record->is.burst.ahead = (uint32_t)window.accesses;
    record->is.burst.ahead_calm = (uint32_t)window.calm;
    record->is.burst.ahead_time = window.calm_time < UINT32_MAX ? (uint32_t)window.calm_time : UINT32_MAX;
    *useful += window.calm_time;
    if (window.reason == BURST_END_DONE || window.reason == BURST_END_FULL)
        thread->ahead_failed /= 2;
    else if (thread->ahead_failed < AHEAD_SKIP_MOST)
        thread->ahead_failed = 4 * thread->ahead_failed + 3;
    thread->ahead_skip = thread->ahead_failed;
}

static void count_behind(fm_sampler_thread *thread, ucontext_t *context, fm_sample_record *record,
                         uint64_t *useful)
{
    record->is.burst.watching = fm_sampler_is_watching(thread);
    thread->window = fm_sampler_ticks();
    const counted_window window = count_window(thread, context);
    thread->window = 0;
    record->is.burst.counted = (uint32_t)window.accesses;
    record->is.burst.calm = (uint32_t)window.calm;
    record->is.burst.calm_time = window.calm_time;
    *useful += window.calm_time;
    if (record->is.burst.watching)
        fm_sampler_windows(record->is.burst.ahead_calm, record->is.burst.ahead_time, window.calm,
                           window.calm_time);
    if (window.calm_time > 0) thread->rate = (window.calm << 20) / window.calm_time + 1;
}

static void take_sample(fm_sampler_thread *thread, ucontext_t *context, uint32_t slab, uint64_t *useful)
{
    const bool paths = fm_self.session->wants & FM_SAMPLE_WANT_PATHS;
    const size_t bytes = fm_sample_slab_at(slab).bytes - (paths ? FM_SAMPLE_STACK_ROOM : 0u);
    const uint32_t class = fm_sample_slab_at(slab).class;
    const size_t log_words = (bytes - FM_SAMPLE_TABLE_ROOM) / 8;
    uint64_t *log = slab_memory(slab);
    fm_sample_record record = {.kind = FM_SAMPLE_RECORD_BURST, .slab = slab};
    burst_result result = {0};
    thread->bursts++;
    thread->in_burst = true;
    count_ahead(thread, context, &record, useful);
    record.is.burst.number = thread->bursts;
    record.is.burst.work = thread->work;
    record.is.burst.own = thread->own;
    /* The clock of the receiver's has no ticks while the kernel works for the thread. */
    if (__atomic_load_n(&fm_self.process->clock, __ATOMIC_RELAXED) != FM_SAMPLE_CLOCK_TIMER)
        record.is.burst.heard = (uint32_t)thread->lane->ticks;
    record.is.burst.planned = thread->planned;
    record.is.burst.picked = record.is.burst.picked_place = FM_SAMPLE_NOWHERE;
    record.is.burst.ticks = fm_sampler_ticks();
    record.is.burst.stack = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
    if (paths) record.is.burst.stack_bytes = fm_sampler_tell_stack(slab, context);
    const burst_end reason = burst_run(thread->burst, context, BURST_LOG,
                                       (uint64_t)FM_SAMPLE_SHORTEST << (2 * class), log, log_words, &result);
    record.is.burst.ticks_end = fm_sampler_ticks();
    record.is.burst.reason = reason;
    record.is.burst.accesses = (uint32_t)result.accesses;
    record.is.burst.words = (uint32_t)result.words;
    record.is.burst.fs_base = result.fs_base;
    record.is.burst.gs_base = result.gs_base;
    record.is.burst.generation = thread->generation;
    candidate picked;
    if (fm_self.watching && fm_sampler_may_watch(thread) &&
        candidate_pick(thread, log, &result, result.accesses, &picked))
        candidate_watch(thread, &picked, &record);
    const size_t room = bytes - (size_t)result.words * 8;
    if (tell_table(thread, room)) {
        record.is.burst.table_from = thread->told;
        record.is.burst.table_bytes = untold_blocks(thread);
        memcpy(log + result.words, (const char *)thread->table + thread->told, untold_blocks(thread));
        thread->told += untold_blocks(thread);
    } else {
        fm_sampler_free_slab(slab);
        record.slab = FM_SAMPLE_NOWHERE;
    }
    thread->new_code = result.fresh * NEW_CODE > result.accesses;
    thread->newness += ((thread->new_code ? NEW_WHOLE : 0) - thread->newness) / ROUND;
    if (reason == BURST_END_FULL) begin_table(thread);
    if (reason == BURST_END_DONE || reason == BURST_END_LOG_FULL) {
        burst_goes_on(thread->burst, true);
        if (!is_in_vain(thread)) count_behind(thread, context, &record, useful);
    }
    burst_goes_on(thread->burst, false);
    thread->in_burst = false;
    if (!fm_sampler_record(thread, &record) && record.slab != FM_SAMPLE_NOWHERE) {
        fm_sampler_free_slab(slab);
        if (thread->generation == record.is.burst.generation) thread->told -= record.is.burst.table_bytes;
    }
}

void fm_sampler_tick(fm_sampler_thread *thread, ucontext_t *context)
{
    const uint64_t begin = fm_sampler_cpu();
    uint64_t useful = 0;
    thread->work = fm_sampler_worked(thread, begin);
    uint32_t class = 0;
    while (class + 1 < FM_SAMPLE_CLASSES && fm_sampler_random(thread, 4) == 0) class ++;
    const uint32_t slab = fm_sampler_claim_slab(thread, class);
    if (slab == FM_SAMPLE_NOWHERE) {
        thread->lane->crowded++;
        fm_sampler_wake();
        fm_sampler_unheard();
    } else {
        take_sample(thread, context, slab, &useful);
        thread->lane->bursts++;
    }
    const uint64_t used = fm_sampler_cpu() - begin + FM_SAMPLER_TICK_COST;
    thread->own += used;
    if (slab != FM_SAMPLE_NOWHERE) count_cost(used > useful ? used - useful : 1);
    thread->lane->work = thread->work;
    thread->lane->own = thread->own;
    thread->lane->ticks_then = thread->lane->ticks;
    fm_sampler_plan(thread);
}
