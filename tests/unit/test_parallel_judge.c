/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_parallel_judge.c - how many events a share of a trace is said to have, from a first piece of it,
 * against what probability says: of n references to keys that have the probabilities p(i), the expected
 * number of distinct ones is the sum of 1 - (1 - p(i))^n.
 */
#include "case.h"

#include "engine/parallel/parallel.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
// cmocka needs the four headers above first
enum { STEPS = 600 };

/* Keys that have the same probability, about: ranks in steps that grow with them. */
typedef struct keys {
    double many[STEPS], probability[STEPS];
    size_t steps;
} keys;

/* Probabilities as 1/rank^exponent; with 0, all are as likely. */
static keys keys_of(double count, double exponent)
{
    keys made = {0};
    double sum = 0;
    for (double first = 1; first <= count && made.steps < STEPS; made.steps++) {
        double end = floor(first * 1.05) + 1;
        if (end > count + 1) end = count + 1;
        made.many[made.steps] = end - first;
        made.probability[made.steps] = pow(sqrt(first * (end - 1)), -exponent);
        sum += made.many[made.steps] * made.probability[made.steps];
        first = end;
    }
    for (size_t i = 0; i < made.steps; i++) made.probability[i] /= sum;
    return made;
}

static double distinct(const keys *of, double references)
{
    double sum = 0;
    for (size_t i = 0; i < of->steps; i++)
        sum -= of->many[i] * expm1(references * log1p(-of->probability[i]));
    return sum;
}

static fm_chunk_growth_point point_of(const keys *of, uint64_t references)
{
    return (fm_chunk_growth_point){.references = references,
                                   .events = (uint64_t)distinct(of, (double)references)};
}

static fm_chunk_growth growth_of(const keys *of, uint64_t references)
{
    return (fm_chunk_growth){.chunks = 1,
                             .quarter = point_of(of, references / 4),
                             .half = point_of(of, references / 2),
                             .end = point_of(of, references)};
}

CASE(test_keys)
{
    static const double counts[] = {1e5, 1e6, 1e7, 1e9}, exponents[] = {0, 0.8, 1, 1.2};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
            const keys of = keys_of(counts[c], exponents[e]);
            for (uint64_t first = 1 << 18; first <= 1 << 19; first *= 2)
                for (uint64_t share = 4 * first; share <= 256 * first; share *= 4) {
                    const fm_chunk_growth seen = growth_of(&of, first);
                    const double right = distinct(&of, (double)share);
                    const double said = fm_chunk_growth_foretell(&seen, share);
                    if (said < right / 1.75 || said > right * 2.5)
                        fail_msg("%g keys, exponent %g: %g of %llu are said to be new, %g are", counts[c],
                                 exponents[e], said, (unsigned long long)share, right);
                }
        }
}

/* Pieces of one size, added up, say what one of them does. What is not known of them is not needed. */
CASE(test_sums_and_gaps)
{
    const keys of = keys_of(1e6, 1);
    const fm_chunk_growth one = growth_of(&of, 1 << 19);
    fm_chunk_growth four = one, no_quarter = one, all_new = one, none_new = one;
    fm_chunk_growth_point *const points[] = {&four.quarter, &four.half, &four.end};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        points[i]->references *= 4;
        points[i]->events *= 4;
    }
    four.chunks = 4;
    assert_true(fabs(fm_chunk_growth_foretell(&four, 1 << 25) / fm_chunk_growth_foretell(&one, 1 << 25) - 1) <
                1e-9);
    no_quarter.quarter = (fm_chunk_growth_point){0}; /* then there are more, if anything */
    assert_true(fm_chunk_growth_foretell(&no_quarter, 1 << 25) >= fm_chunk_growth_foretell(&one, 1 << 25));
    all_new.quarter.events = all_new.quarter.references;
    all_new.half.events = all_new.half.references;
    all_new.end.events = all_new.end.references;
    assert_true(fabs(fm_chunk_growth_foretell(&all_new, 1 << 25) / (1 << 25) - 1) < 1e-9);
    none_new.quarter.events = none_new.half.events = none_new.end.events = 1000;
    assert_true(fabs(fm_chunk_growth_foretell(&none_new, 1 << 25) - 1000) < 1e-6);
}
