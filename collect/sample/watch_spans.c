/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch_spans.c - for how long registers may be armed, where sampling has a budget.
 *
 * An armed debug register makes some code slower, whoever uses it: on some processors rep movs takes twice as
 * long, and so do programs that copy much. The windows around bursts tell by how much: ahead of a burst
 * accesses are counted while nothing is watched, behind it while something is. That loss, times the time in
 * which registers are armed, is to be a fourth of the budget at most (BUDGET_PART).
 *
 * A span is a time in which at least one register is armed. It ends by itself when all that is watched was
 * used again. Else it is cut off after a while: most after 5 ms, one in four after four times as long, one in
 * 16 after sixteen times, … The next one begins with a burst when the thread has worked for as long as the
 * spans so far cost. So short and long times until a use are both seen, as the estimate understands what is
 * cut off at a time that has nothing to do with what the program does. Nothing is watched in between.
 *
 * As long as little is known of the loss, it is taken for larger than it seems, by as much as it may be by
 * chance. Where no windows tell it, registers are not limited.
 */
#include "collect/sample/sampler.h"

enum {
    BUDGET_PART = 4,
    SHORTEST = 5000000, /* nanoseconds of a span */
    LONGER_MOST = 6,    /* steps of four */
    ONE = 1 << 10,      /* losses are in units of 1/1024 */
    FAR = 4,            /* a ratio of this and more is another phase's, not a loss */
    LOSS_LEAST = 4,     /* losses below it are none */
    LOSS_FIRST = 128,   /* before anything is known */
    PAIRS_LEAST = 4,    /* pairs of windows that tell something */
    PAIRS_MOST = 256,   /* older ones count half, from so many on */
    UNKNOWN_MOST = 24,  /* bursts after which pairs are not waited for any longer */
};

/* What pairs of windows tell, of all threads. Threads may disturb each other's counting, by a pair or two. */
static struct {
    int64_t count, sum, squares;
} pairs;

static uint64_t root_of(uint64_t square)
{
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= square) root |= bit;
    return root;
}

/* How much slower code is while a register is armed, at most by what is known. */
static uint64_t armed_loss(const fm_sampler_thread *thread)
{
    const int64_t count = __atomic_load_n(&pairs.count, __ATOMIC_RELAXED);
    if (count < PAIRS_LEAST) return thread->bursts > UNKNOWN_MOST ? 0 : LOSS_FIRST;
    const int64_t mean = __atomic_load_n(&pairs.sum, __ATOMIC_RELAXED) / count;
    const int64_t square = __atomic_load_n(&pairs.squares, __ATOMIC_RELAXED) / count - mean * mean;
    const uint64_t error = root_of(square > 0 ? (uint64_t)(square / count) : 0);
    const uint64_t most = (mean > 0 ? (uint64_t)mean : 0) + error;
    return most < LOSS_LEAST ? 0 : most;
}

void fm_sampler_windows(uint64_t plain, uint64_t plain_time, uint64_t watched, uint64_t watched_time)
{
    if (plain == 0 || plain_time == 0 || watched == 0 || watched_time == 0) return;
    /* Nanoseconds for as many accesses, and accesses of a window: far below 2^32 both. */
    const uint64_t slow = watched_time * plain, fast = plain_time * watched;
    if (slow / FAR >= fast || fast / FAR >= slow) return;
    /* Half of the ratio less its inverse is its logarithm, nearly: chance is as much above as below. */
    const int64_t off =
        ((int64_t)(ONE * (unsigned __int128)slow / fast) - (int64_t)(ONE * (unsigned __int128)fast / slow)) /
        2;
    if (pairs.count >= PAIRS_MOST) {
        pairs.count /= 2;
        pairs.sum /= 2;
        pairs.squares /= 2;
    }
    pairs.sum += off;
    pairs.squares += off * off;
    pairs.count++;
}

/* By how many steps of four the next span is longer than the shortest. */
static uint32_t steps_of(uint32_t number)
{
    uint32_t steps = 0;
    while (steps < LONGER_MOST && number % 4 == 3) number /= 4, steps++;
    return steps;
}

/* What the spans so far cost, in nanoseconds. */
static uint64_t cost_of(const fm_sampler_thread *thread, uint64_t lost)
{
    return (uint64_t)((unsigned __int128)thread->armed_time * lost / ONE);
}

uint64_t fm_sampler_watching_costs(const fm_sampler_thread *thread)
{
    const uint64_t most = fm_self.session->budget / BUDGET_PART;
    if (thread->work == 0 || thread->armed_time == 0) return 0;
    const uint64_t cost =
        (uint64_t)((unsigned __int128)cost_of(thread, armed_loss(thread)) * 1000000 / thread->work);
    return cost < most ? cost : most;
}

bool fm_sampler_may_watch(fm_sampler_thread *thread)
{
    if (thread->armed_since) return true;
    thread->span_end = UINT64_MAX;
    const uint64_t lost = fm_self.session->budget ? armed_loss(thread) : 0;
    if (lost == 0) return true;
    const uint64_t budget = fm_self.session->budget / BUDGET_PART;
    if (cost_of(thread, lost) > (uint64_t)((unsigned __int128)thread->work * budget / 1000000)) return false;
    const uint64_t mean = (uint64_t)SHORTEST << (2 * steps_of(thread->spans));
    thread->span_end = thread->work + mean / 2 + fm_sampler_random(thread, mean);
    return true;
}

void fm_sampler_span_begins(fm_sampler_thread *thread)
{
    if (thread->armed_since == 0) thread->armed_since = thread->work + 1; /* 0 is none */
}

void fm_sampler_span_ends(fm_sampler_thread *thread)
{
    if (thread->armed_since == 0) return;
    if (thread->work >= thread->armed_since) thread->armed_time += thread->work - thread->armed_since;
    thread->armed_since = 0;
}

void fm_sampler_span_tick(fm_sampler_thread *thread)
{
    if (thread->armed_since == 0 || thread->span_end == UINT64_MAX) return;
    const uint64_t begin = fm_sampler_cpu();
    thread->work = fm_sampler_worked(thread, begin);
    if (thread->work < thread->span_end) return;
    thread->spans++;
    for (uint32_t place = 0; place < FM_SAMPLE_WATCHES; place++)
        fm_sampler_replaced(thread, place, fm_reservoir_release(&thread->reservoir, place));
    thread->own += fm_sampler_cpu() - begin;
}
