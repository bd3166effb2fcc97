/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sample_seconds.c - reuses of samples that are watched in their turn: which registers they get, what is
 * told of them, and their weights, by hand and over many runs.
 */
#include "case.h"

#include "collect/reservoir.h"
#include "model/sample_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample_builder.h"

enum { COUNT = 40000 };

/* ---- registers ---- */

/* Whether a sample gets a register, and with which probability, is the same with and without lending; so are
 * the registers where the reservoir draws. Traps free registers in between, and then they are lent. */
CASE(samples_do_not_see_what_is_lent)
{
    fm_reservoir with, without;
    fm_reservoir_start(&with, 1, false, 5);
    fm_reservoir_start(&without, 1, false, 5);
    for (int i = 0; i < 5000; i++) {
        const bool lent = with.at[0].lent;
        const fm_reservoir_choice a = fm_reservoir_offer(&with), b = fm_reservoir_offer(&without);
        assert_int_equal(a.place, b.place);
        assert_int_equal(a.armed, b.armed);
        assert_int_equal(a.replaces, b.replaces || (a.place == 0 && lent));
        if (a.place < 0 || i % 3 > 0) continue;
        assert_int_equal(fm_reservoir_release(&with, 0), fm_reservoir_release(&without, 0));
        fm_reservoir_lend(&with, 0);
    }
}

CASE(registers_that_hold_nothing_are_taken_first)
{
    fm_reservoir reservoir;
    fm_reservoir_start(&reservoir, 3, false, 1);
    fm_reservoir_lend(&reservoir, 0);
    for (int32_t place = 1; place <= 2; place++) {
        const fm_reservoir_choice choice = fm_reservoir_offer(&reservoir);
        assert_int_equal(choice.place, place);
        assert_false(choice.replaces);
    }
    const fm_reservoir_choice last = fm_reservoir_offer(&reservoir);
    assert_int_equal(last.place, 0);
    assert_true(last.replaces && last.armed == UINT64_C(1) << FM_RESERVOIR_ARMED_BITS);
    assert_int_equal(last.replaced_kept, UINT32_C(1) << FM_RESERVOIR_KEPT_BITS);
    assert_int_equal(reservoir.at[0].lent, 0);
    /* What is lent is released as anything else. */
    fm_reservoir_release(&reservoir, 1);
    fm_reservoir_lend(&reservoir, 1);
    assert_int_equal(fm_reservoir_release(&reservoir, 1), UINT32_C(1) << FM_RESERVOIR_KEPT_BITS);
    assert_int_equal(fm_reservoir_offer(&reservoir).place, 1);
}

/* ---- the virtual sampler ---- */

static uint64_t blocks[COUNT];
static uint32_t tags[COUNT];
static size_t next_use[COUNT]; /* COUNT: none */

/* The square makes small numbers frequent: short and long time distances. */
static void make_stream(uint64_t most, uint64_t seed)
{
    static size_t last[100000];
    for (size_t i = 0; i < COUNT; i++) {
        const uint64_t number = test_random(&seed, most);
        blocks[i] = number * number / most;
        tags[i] = (uint32_t)(1 + number % 5);
    }
    for (size_t i = 0; i < most; i++) last[i] = COUNT;
    for (size_t i = COUNT; i-- > 0; last[blocks[i]] = i) next_use[i] = last[blocks[i]];
}

static fm_samples *sample(fm_virtual_sampler_options options)
{
    fm_virtual_sampler *sampler;
    fm_samples *samples;
    assert_int_equal(fm_virtual_sampler_create(&sampler, &options, NULL), FM_OK);
    assert_int_equal(fm_virtual_sampler_feed(sampler, blocks, tags, COUNT, NULL), FM_OK);
    assert_int_equal(fm_virtual_sampler_finish(sampler, &samples, NULL), FM_OK);
    fm_virtual_sampler_destroy(sampler);
    return samples;
}

static const fm_sample_watch *first_of(const fm_samples *samples, const fm_sample_watch *second)
{
    for (size_t i = 0; i < samples->watch_count; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        if (watch->since == 0 && watch->end == FM_WATCH_USED && watch->at + second->since == second->at &&
            watch->length == second->since && blocks[watch->at] == blocks[second->at])
            return watch;
    }
    return NULL;
}

static void check_second(const fm_samples *samples, const fm_sample_watch *watch)
{
    const fm_sample_watch *first = first_of(samples, watch);
    const size_t next = next_use[watch->at];
    assert_non_null(first);
    assert_int_equal(watch->use, tags[watch->at]);
    assert_true(watch->weight == first->weight && watch->armed == first->armed);
    assert_true(watch->end != FM_WATCH_NOT_ARMED);
    if (watch->end == FM_WATCH_USED) assert_int_equal(watch->length, next - watch->at);
    if (watch->end == FM_WATCH_USED) assert_int_equal(watch->reuse, tags[next]);
    if (watch->end == FM_WATCH_REPLACED) assert_true(watch->at + watch->length < next);
    if (watch->end == FM_WATCH_NEVER) assert_int_equal(next, COUNT);
}

CASE(seconds_tell_the_truth)
{
    make_stream(3000, 1);
    size_t all_cut = 0, all_seconds = 0;
    for (unsigned registers = 1; registers <= 4; registers++)
        for (uint64_t period = 7; period < 400; period *= 7) {
            fm_samples *samples = sample((fm_virtual_sampler_options){
                .period = period, .registers = registers, .seed = period, .again = 1, .stratified = 1});
            size_t firsts = 0, used = 0, seconds = 0, cut = 0;
            for (size_t i = 0; i < samples->watch_count; i++) {
                const fm_sample_watch *watch = &samples->watches[i];
                firsts += watch->since == 0;
                used += watch->since == 0 && watch->end == FM_WATCH_USED;
                seconds += watch->since > 0;
                cut += watch->since > 0 && watch->end == FM_WATCH_REPLACED;
                if (watch->since > 0) check_second(samples, watch);
            }
            /* One sample in each period; each that was used again was watched again. */
            assert_int_equal(firsts / (COUNT / period), 1);
            assert_int_equal(seconds, used);
            assert_true(seconds > 0);
            all_cut += cut;
            all_seconds += seconds;
            fm_samples_destroy(samples);
        }
    assert_true(all_cut > 0 && all_seconds > all_cut);
}

CASE(one_sample_in_each_period)
{
    make_stream(1000, 2);
    double sum = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        fm_samples *samples =
            sample((fm_virtual_sampler_options){.period = 100, .seed = seed, .stratified = 1});
        unsigned found[COUNT / 100] = {0};
        for (size_t i = 0; i < samples->watch_count; i++) {
            found[samples->watches[i].at / 100]++;
            sum += (double)(samples->watches[i].at % 100);
        }
        for (size_t i = 0; i < COUNT / 100; i++) assert_int_equal(found[i], 1);
        fm_samples_destroy(samples);
    }
    /* At any place of it alike: the mean is 49.5, with a standard error of 0.32. */
    assert_true(fabs(sum / (20 * COUNT / 100) - 49.5) < 5 * 0.33);
}

/* The paper watches each sample once; a burst has its own second half. */
CASE(no_seconds_of_bursts_and_of_the_paper)
{
    make_stream(1000, 3);
    for (int bursts = 0; bursts <= 1; bursts++) {
        fm_samples *samples = sample((fm_virtual_sampler_options){.period = 500,
                                                                  .plain_reservoir = !bursts,
                                                                  .bursts = bursts,
                                                                  .burst_length = 100,
                                                                  .again = 1,
                                                                  .stratified = 1});
        for (size_t i = 0; i < samples->watch_count; i++) assert_int_equal(samples->watches[i].since, 0);
        fm_samples_destroy(samples);
    }
}

/* ---- weights ---- */

static fm_samples *four_samples(void)
{
    fm_samples *samples = samples_of_one(1000000);
    put_watch(samples, (fm_sample_watch){.at = 1000, .length = 10, .end = FM_WATCH_USED});
    put_watch(samples, (fm_sample_watch){.at = 2000, .length = 20, .end = FM_WATCH_REPLACED});
    put_watch(samples, (fm_sample_watch){.at = 3000, .length = 30, .end = FM_WATCH_USED});
    put_watch(samples, (fm_sample_watch){.at = 4000, .length = 100, .end = FM_WATCH_NEVER});
    return samples;
}

static void put_seconds(fm_samples *samples)
{
    put_watch(samples, (fm_sample_watch){.at = 1010, .since = 10, .length = 5, .end = FM_WATCH_USED});
    put_watch(samples, (fm_sample_watch){.at = 3030, .since = 30, .length = 50, .end = FM_WATCH_REPLACED});
}

/* Three are left after the first was used again; the one that is cut off at 20 leaves its share to the two
 * others, so that each of these is worth 1.5; and 1.5 of 4 is never used again. */
CASE(weights_by_hand)
{
    fm_samples *samples = four_samples();
    put_seconds(samples);
    double weights[6] = {1, 1, 1, 1, 1, 1};
    assert_int_equal(fm_sample_weigh_seconds(samples, weights, NULL), FM_OK);
    const double missing = 1.5 / 4, worth = 2.5 * 2.5 / (1 + 1.5 * 1.5);
    const double factor = worth / 4 / (1 + 2 * 4 * missing * missing);
    for (int i = 0; i < 4; i++) assert_true(weights[i] == 1);
    assert_true(fabs(weights[4] - factor) < 1e-12);
    assert_true(fabs(weights[5] - 1.5 * factor) < 1e-12);
    fm_samples_destroy(samples);
}

/* They were made for samples that are watched once. */
CASE(other_estimators_leave_seconds_out)
{
    static const char *const names[] = {"kaplan-meier", "horvitz-thompson", "rdx", "rdx-trapped"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fm_profile *found[2];
        for (int with = 0; with <= 1; with++) {
            fm_samples *samples = four_samples();
            for (size_t k = 0; k < samples->watch_count; k++) samples->watches[k].kept = 1;
            if (with) put_seconds(samples);
            fm_estimate *estimate = estimate_by(samples, names[i], NULL);
            found[with] = estimate->profile;
            estimate->profile = NULL;
            fm_estimate_destroy(estimate);
            fm_samples_destroy(samples);
        }
        assert_int_equal(found[0]->times.count, found[1]->times.count);
        for (size_t k = 0; k < found[0]->times.count; k++)
            assert_int_equal(found[0]->times.bins[k].count, found[1]->times.bins[k].count);
        assert_int_equal(found[0]->accuracy->samples, 4);
        assert_int_equal(found[1]->accuracy->samples, 4);
        fm_profile_destroy(found[0]);
        fm_profile_destroy(found[1]);
    }
}

/* What a stream has of time distances up to 100, from many runs with fixed seeds: right in the mean with
 * seconds and without, and nearer with. */
CASE(seconds_bring_the_estimate_nearer)
{
    enum { RUNS = 150 };
    make_stream(1000, 4);
    double actual = 0, sum[2] = {0}, squares[2] = {0};
    for (size_t i = 0; i < COUNT; i++) actual += next_use[i] < COUNT && next_use[i] - i <= 100;
    actual /= COUNT;
    for (uint32_t again = 0; again <= 1; again++)
        for (uint64_t seed = 1; seed <= RUNS; seed++) {
            fm_samples *samples = sample(
                (fm_virtual_sampler_options){.period = 100, .seed = seed, .again = again, .stratified = 1});
            fm_estimate *estimate = estimate_by(samples, NULL, NULL);
            const double off = (double)times_within(estimate->profile, 1, 100) / COUNT - actual;
            sum[again] += off;
            squares[again] += off * off;
            fm_estimate_destroy(estimate);
            fm_samples_destroy(samples);
        }
    for (uint32_t again = 0; again <= 1; again++) {
        const double error = sqrt(squares[again]) / RUNS;
        assert_true(fabs(sum[again] / RUNS) < 4 * error + 0.002);
    }
    assert_true(squares[1] < 0.9 * squares[0]);
}

CASE(wrong_seconds_are_refused)
{
    fm_samples *samples = four_samples();
    const fm_sample_watch wrong[] = {
        {.at = 5, .since = 6, .length = 1, .end = FM_WATCH_USED, .weight = 1, .armed = 1},
        {.at = 50, .since = 6, .end = FM_WATCH_NOT_ARMED, .weight = 1, .armed = 1},
        {.at = 50, .since = 6, .from = 1, .length = 9, .end = FM_WATCH_USED, .weight = 1, .armed = 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(fm_samples_add_watch(samples, &wrong[i], NULL), FM_E_ARGUMENT);
    assert_int_equal(fm_samples_watches(samples), 4);
    fm_samples_destroy(samples);
}
