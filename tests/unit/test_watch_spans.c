/* SPDX-License-Identifier: Apache-2.0 */
/* test_watch_spans.c - for how long debug registers may be armed: the runtime's rule, with a thread that is
 * played here. Its clock is a number, and what it watches is never used again, or after a known time. */
#include "case.h"

#include "collect/sample/watch_spans.c" /* what it counts is its own */

#include <string.h>

fm_sampler_self fm_self;
static fm_sample_session session;
static fm_sample_lane lane;
static fm_sampler_thread thread;
static uint64_t worked; /* nanoseconds */
static uint64_t cut;    /* watches that were cut off */

enum { TICK = 5000000, TICKS_OF_A_BURST = 10, BUDGET = 20000 };

uint64_t fm_sampler_worked(const fm_sampler_thread *played, uint64_t now)
{
    (void)played, (void)now;
    return worked;
}

void fm_sampler_replaced(fm_sampler_thread *played, uint32_t place, uint32_t kept)
{
    (void)kept;
    cut += played->lane->watches[place].on;
    played->lane->watches[place].on = 0;
    fm_sampler_span_ends(played);
}

static int begin(void **state)
{
    (void)state;
    memset(&session, 0, sizeof session);
    memset(&lane, 0, sizeof lane);
    memset(&pairs, 0, sizeof pairs);
    thread = (fm_sampler_thread){.lane = &lane, .random = 1};
    fm_self.session = &session;
    session.budget = BUDGET;
    worked = cut = 0;
    return 0;
}

/* Pairs of windows: this many times as long while a register is armed. */
static void tell_pairs(int count, uint64_t plain, uint64_t watched)
{
    for (int i = 0; i < count; i++) fm_sampler_windows(100000, plain * 100000, 50000, watched * 50000);
}

/* Bursts, each of which watches a use, if it may, that is used again after so many ticks (0: never). How long
 * the longest span was, in nanoseconds. */
static uint64_t run(uint32_t bursts, uint32_t used_after)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < bursts; i++) {
        thread.work = worked;
        thread.bursts++;
        const bool may = fm_sampler_may_watch(&thread);
        if (may) {
            lane.watches[0].on = 1;
            fm_sampler_span_begins(&thread);
        }
        for (uint32_t k = 1; k <= TICKS_OF_A_BURST; k++) {
            worked += TICK;
            const uint64_t before = thread.armed_time;
            if (k == used_after && lane.watches[0].on) {
                thread.work = worked;
                lane.watches[0].on = 0;
                fm_sampler_span_ends(&thread);
            }
            fm_sampler_span_tick(&thread);
            if (thread.armed_time - before > longest) longest = thread.armed_time - before;
        }
    }
    return longest;
}

/* The share of the time in which a register is armed, times the loss, is a fourth of the budget. */
CASE_WITH(test_slow_code_is_watched_as_the_budget_allows, begin, NULL)
{
    tell_pairs(100, 2, 3); /* half as long again: (1.5 - 1 / 1.5) / 2 = 0.417 */
    const uint64_t longest = run(20000, 0);
    const double spent = (double)thread.armed_time * 0.417 / (double)worked;
    assert_true(spent > 0.8 * BUDGET / 4 / 1e6 && spent < 1.2 * BUDGET / 4 / 1e6);
    assert_true(cut > 20);
    assert_true(longest >= 40000000); /* not the shortest ones alone */
}

/* What is used again soon costs little, and is watched at every burst. */
CASE_WITH(test_what_is_used_again_soon_is_watched_at_once, begin, NULL)
{
    tell_pairs(100, 1000, 1100); /* 0.095: a twentieth of the time may be used */
    for (int i = 0; i < 1000; i++) {
        thread.work = worked;
        assert_true(fm_sampler_may_watch(&thread));
        fm_sampler_span_begins(&thread);
        thread.work = worked += 1000000;
        fm_sampler_span_ends(&thread);
        worked += 24000000;
    }
    assert_int_equal(thread.spans, 0);
}

CASE_WITH(test_nothing_is_limited_where_nothing_is_lost, begin, NULL)
{
    tell_pairs(8, 3, 3);
    run(1000, 0);
    assert_int_equal(cut, 0);
    assert_int_equal(thread.spans, 0);
}

/* As much above as below: chance, however large, becomes no loss. */
CASE_WITH(test_chance_is_no_loss, begin, NULL)
{
    for (int i = 0; i < 100; i++) {
        tell_pairs(1, 2, 3);
        tell_pairs(1, 3, 2);
        tell_pairs(1, 1, 40); /* of another phase */
    }
    const uint64_t most = armed_loss(&thread), chance = 427 / 14; /* 0.417, over the root of some 200 */
    assert_in_range(most, chance - 6, chance + 10);
}

CASE_WITH(test_without_windows_it_is_limited_at_first_only, begin, NULL)
{
    run(UNKNOWN_MOST, 0);
    const uint32_t spans = thread.spans;
    assert_true(cut > 0);
    run(1000, 0);
    assert_true(thread.spans <= spans + 1);
    assert_int_equal(lane.watches[0].on, 1);
}

CASE_WITH(test_without_a_budget_nothing_is_limited, begin, NULL)
{
    session.budget = 0;
    tell_pairs(100, 1, 3);
    run(1000, 0);
    assert_int_equal(cut, 0);
    assert_true(thread.armed_since != 0);
}

/* Bursts have what is left of the budget. */
CASE_WITH(test_what_watching_costs_is_told, begin, NULL)
{
    tell_pairs(100, 2, 3);
    assert_int_equal(fm_sampler_watching_costs(&thread), 0);
    run(20000, 0);
    thread.work = worked;
    assert_in_range(fm_sampler_watching_costs(&thread), BUDGET / 4 * 8 / 10, BUDGET / 4);
}
