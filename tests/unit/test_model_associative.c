/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_model_associative.c - the binomial estimate against direct sums, and against a simulated cache.
 *
 * When every block is put into a set at random, independently, the model is no estimate any more but
 * the exact mean over such placements: so a simulation averaged over many placements must agree.
 */
#include "case.h"

#include <fathom/model.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "unit/model_samples.h"

/* P(X < limit), term by term from 0 on, in long double. */
static long double naive_below(uint64_t n, uint64_t limit, long double p)
{
    long double log_term = (long double)n * log1pl(-p), sum = 0;
    for (uint64_t k = 0; k < limit && k <= n; k++) {
        sum += expl(log_term);
        if (k < n) log_term += logl((long double)(n - k) / (long double)(k + 1)) + logl(p / (1 - p));
    }
    return sum;
}

static void close_to(double found, long double wanted, double relative, double absolute)
{
    if (fabs(found - (double)wanted) > absolute + relative * fabs((double)wanted))
        fail_msg("found %.17g, expected %.17Lg", found, wanted);
}

CASE(small_cases_are_exact_fractions)
{
    /* d = 3 blocks, 2 sets: none in the set 1/8, one 3/8, two 3/8, three 1/8. */
    close_to(fm_binomial_below(3, 1, 0.5), 0.125L, 1e-15, 0);
    close_to(fm_binomial_below(3, 2, 0.5), 0.5L, 1e-15, 0);
    close_to(fm_binomial_below(3, 3, 0.5), 0.875L, 1e-15, 0);
    close_to(fm_binomial_below(3, 4, 0.5), 1, 0, 0);
    close_to(fm_binomial_below(0, 1, 0.5), 1, 0, 0);
    close_to(fm_binomial_below(1, 1, 0.25), 0.75L, 1e-15, 0);
    close_to(fm_binomial_capped_mean(3, 1, 0.5), 0.875L, 1e-15, 0);
    close_to(fm_binomial_capped_mean(3, 2, 0.5), (3 + 2 * 4) / 8.0L, 1e-15, 0);
    close_to(fm_binomial_capped_mean(3, 5, 0.5), 1.5L, 1e-15, 0);
    close_to(fm_binomial_probability(4, 0, 0.5), 1 / 16.0L, 1e-15, 0);
    close_to(fm_binomial_probability(4, 4, 0.5), 1 / 16.0L, 1e-15, 0);
    close_to(fm_binomial_probability(4, 2, 0.5), 6 / 16.0L, 1e-14, 0);
}

CASE(sums_agree_with_the_naive_ones)
{
    static const uint64_t sets[] = {2, 3, 64, 1024, 65536, 1 << 20};
    static const uint64_t ways[] = {1, 2, 4, 8, 12, 16, 20, 64};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            for (int step = 0; step < 26; step++) {
                /* around where the answer changes: d near sets * ways */
                uint64_t n = (uint64_t)(0.01 * pow(1.37, step) * (double)(sets[s] * ways[w]));
                long double wanted = naive_below(n, ways[w], 1 / (long double)sets[s]);
                close_to(fm_binomial_below((double)n, (double)ways[w], 1 / (double)sets[s]), wanted, 1e-10,
                         1e-13);
            }
}

CASE(huge_distances_keep_their_digits)
{
    /* 2^40 blocks over 2^36 sets: a mean of 16, next to Poisson (relative error of order mean²/d). */
    double n = 0x1p40, p = 0x1p-36;
    for (unsigned ways = 1; ways <= 64; ways++) {
        long double poisson = 0, term = expl(-16.0L);
        for (unsigned k = 0; k < ways; k++) {
            poisson += term;
            term *= 16.0L / (k + 1);
        }
        close_to(fm_binomial_below(n, ways, p), poisson, 1e-9, 1e-15);
    }
    /* Far beyond and far below the mean. */
    assert_true(fm_binomial_below(0x1p40, 64, 0x1p-10) == 0);
    assert_true(fm_binomial_below(100, 64, 0x1p-40) == 1);
    /* Many ways: the median of n trials of 1/2 is at n/2. */
    close_to(fm_binomial_below(1000001, 500001, 0.5), 0.5L, 1e-11, 0);
}

/* The mean over a wide bin against one term per distance. */
CASE(wide_bins_are_summed_right)
{
    static const uint64_t shapes[][2] = {{2, 1}, {4, 2}, {16, 8}, {64, 8}, {64, 12}, {512, 4}, {1024, 16}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t index = 0; index < 16; index++) {
            fm_bin bin = {.count = 1000};
            fm_bins_range(FM_BINS_LOG2, index, &bin.lo, &bin.hi);
            fm_profile profile = {
                .references = 1003, .cold = 3, .bins = FM_BINS_LOG2, .distances = {1, &bin}};
            long double hits = 0;
            for (uint64_t d = bin.lo; d <= bin.hi; d++)
                hits += naive_below(d, shapes[s][1], 1 / (long double)shapes[s][0]);
            long double wanted = 1003 - 1000 * hits / (long double)(bin.hi - bin.lo + 1);
            close_to(fm_profile_misses_associative(&profile, shapes[s][0], shapes[s][1]), wanted, 0, 1e-8);
        }
}

CASE(one_set_is_fully_associative)
{
    sample drawn;
    sample_draw(&drawn, 1000, 3000);
    fm_profile *profile = sample_profile(&drawn, FM_BINS_EXACT, 9);
    for (uint64_t ways = 1; ways < 4000; ways += 97)
        close_to(fm_profile_misses_associative(profile, 1, ways), 9 + sample_at_least(&drawn, ways), 0, 1e-9);
    close_to(fm_profile_misses_associative(profile, 0, 4), 1009, 0, 0);
    close_to(fm_profile_misses_associative(profile, 4, 0), 1009, 0, 0);
    fm_profile_destroy(profile);
}

enum { REFERENCES = 3000, BLOCKS = 300, PLACEMENTS = 300 };

/* Mattson's stack. Returns the distance, or -1 for a first touch. */
static long stack_distance(unsigned *stack, size_t *depth, unsigned block)
{
    size_t at = 0;
    while (at < *depth && stack[at] != block) at++;
    long distance = at < *depth ? (long)at : -1;
    if (at == *depth) (*depth)++;
    memmove(stack + 1, stack, at * sizeof *stack);
    stack[0] = block;
    return distance;
}

CASE(simulated_caches_agree)
{
    static const unsigned shapes[][2] = {{4, 1}, {8, 4}, {16, 8}, {64, 2}};
    static unsigned trace[REFERENCES];
    for (size_t i = 0; i < REFERENCES; i++)
        trace[i] = (unsigned)(sample_random() % BLOCKS >> (sample_random() % 5));
    sample drawn = {0};
    unsigned stack[BLOCKS] = {0};
    size_t depth = 0;
    for (size_t i = 0; i < REFERENCES; i++) {
        long distance = stack_distance(stack, &depth, trace[i]);
        if (distance >= 0) drawn.distances[drawn.count++] = (uint64_t)distance;
    }
    qsort(drawn.distances, drawn.count, sizeof *drawn.distances, sample_order);
    fm_profile *profile = sample_profile(&drawn, FM_BINS_EXACT, depth);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        double sum = 0, squares = 0;
        for (int placement = 0; placement < PLACEMENTS; placement++) {
            unsigned set_of[BLOCKS];
            for (size_t b = 0; b < BLOCKS; b++) set_of[b] = (unsigned)(sample_random() >> 20) % shapes[s][0];
            static unsigned ways[64][BLOCKS]; /* each set as a stack of its own */
            size_t depths[64] = {0};
            unsigned misses = 0;
            for (size_t i = 0; i < REFERENCES; i++) {
                unsigned set = set_of[trace[i]];
                long position = stack_distance(ways[set], &depths[set], trace[i]);
                misses += position < 0 || position >= (long)shapes[s][1];
            }
            sum += misses;
            squares += (double)misses * misses;
        }
        double mean = sum / PLACEMENTS;
        double deviation = sqrt((squares / PLACEMENTS - mean * mean) / PLACEMENTS);
        double estimate = fm_profile_misses_associative(profile, shapes[s][0], shapes[s][1]);
        if (fabs(estimate - mean) > 4.5 * deviation)
            fail_msg("%u sets of %u ways: estimated %g, simulated %g ± %g", shapes[s][0], shapes[s][1],
                     estimate, mean, deviation);
        assert_true(deviation < 0.02 * mean); /* else it would agree with anything */
    }
    fm_profile_destroy(profile);
}
