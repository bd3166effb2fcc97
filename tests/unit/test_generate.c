/* SPDX-License-Identifier: Apache-2.0 */
/* test_generate.c - synthetic streams against their closed forms: sequences exactly, distributions within
 * what chance allows (five standard deviations, fixed seeds). */
#include "case.h"

#include "unit/trace_helpers.h"

#include <fathom/generate.h>
#include <math.h>

static uint64_t *generate(const char *pattern, uint64_t keys, uint64_t references, uint64_t seed, double skew,
                          size_t step)
{
    fm_generator *generator;
    fm_error error;
    fm_generator_options options = {pattern, keys, references, seed, skew};
    assert_int_equal(fm_generator_create(&generator, &options, &error), FM_OK);
    uint64_t *stream = calloc(references + 1, sizeof *stream);
    assert_non_null(stream);
    size_t at = 0, got;
    while ((got = fm_generator_next(generator, stream + at, step)) > 0) {
        at += got;
        assert_true(at <= references);
    }
    assert_int_equal(at, references);
    fm_generator_destroy(generator);
    return stream;
}

CASE(sequences)
{
    for (uint64_t m = 1; m < 6; m++) {
        uint64_t *cyclic = generate("cyclic", m, 100, 1, 1, 7),
                 *sawtooth = generate("sawtooth", m, 100, 1, 1, 7);
        uint64_t *distinct = generate("distinct", m, 100, 1, 1, 7), *same = generate("same", m, 100, 1, 1, 7);
        for (uint64_t t = 0; t < 100; t++) {
            uint64_t period = m > 1 ? 2 * m - 2 : 1, p = t % period;
            assert_int_equal(cyclic[t], t % m);
            assert_int_equal(sawtooth[t], p < m ? p : period - p);
            assert_int_equal(distinct[t], t);
            assert_int_equal(same[t], 0);
        }
        free(cyclic);
        free(sawtooth);
        free(distinct);
        free(same);
    }
}

/* The stream depends on the options alone, not on how it is asked for. */
CASE(deterministic)
{
    for (size_t i = 0; fm_generator_pattern_at(i); i++) {
        const char *name = fm_generator_pattern_at(i)->name;
        uint64_t *a = generate(name, 1000, 5000, 3, 0.8, 5000), *b = generate(name, 1000, 5000, 3, 0.8, 1);
        assert_memory_equal(a, b, 5000 * sizeof *a);
        for (size_t t = 0; t < 5000; t++) assert_true(a[t] < 1000 || strcmp(name, "distinct") == 0);
        uint64_t *c = generate(name, 1000, 5000, 4, 0.8, 77);
        bool random = strcmp(name, "zipf") == 0 || strstr(name, "uniform");
        assert_int_equal(memcmp(a, c, 5000 * sizeof *a) != 0, random);
        free(a);
        free(b);
        free(c);
    }
    assert_int_equal(fm_generator_pattern_at(100) == NULL, 1);
}

/* Counts per key against probabilities: each within five standard deviations, and chi-square as a whole. */
static void assert_distribution(const uint64_t *stream, size_t n, const double *probability, size_t m)
{
    size_t *count = calloc(m, sizeof *count);
    assert_non_null(count);
    for (size_t i = 0; i < n; i++) {
        assert_true(stream[i] < m);
        count[stream[i]]++;
    }
    double chi = 0;
    for (size_t k = 0; k < m; k++) {
        double mean = probability[k] * (double)n, off = (double)count[k] - mean;
        assert_true(fabs(off) <= 5 * sqrt(mean) + 5);
        chi += off * off / mean;
    }
    assert_true(fabs(chi - (double)(m - 1)) < 5 * sqrt(2.0 * (double)m));
    free(count);
}

/* Rank r has key (r-1) * step mod M; probability 1/r^skew over the sum of all. */
CASE(zipf)
{
    enum { M = 1000, N = 2000000 };
    static const double skews[] = {0.2, 0.5, 0.99, 0.99995, 1, 1.00005, 1.2, 2, 5};
    uint64_t step = 618; /* floor(1000 * 0.6180339887…), made coprime to 1000 */
    while (step % 2 == 0 || step % 5 == 0) step++;
    for (size_t s = 0; s < sizeof skews / sizeof skews[0]; s++) {
        double probability[M], sum = 0;
        size_t used = M;
        for (size_t r = 1; r <= M; r++) sum += pow((double)r, -skews[s]);
        for (size_t r = 1; r <= M; r++) probability[(r - 1) * step % M] = pow((double)r, -skews[s]) / sum;
        uint64_t *stream = generate("zipf", M, N, 11 + s, skews[s], 4096);
        if (skews[s] < 2) assert_distribution(stream, N, probability, used);
        /* Where high ranks are too rare for chi-square, the first three tell. */
        for (size_t r = 1; r <= 3; r++) {
            size_t count = 0;
            for (size_t i = 0; i < N; i++) count += stream[i] == (r - 1) * step % M;
            double p = probability[(r - 1) * step % M], mean = p * N;
            assert_true(fabs((double)count - mean) <= 5 * sqrt(mean * (1 - p)) + 1);
        }
        free(stream);
    }
}

CASE(zipf_edges)
{
    uint64_t *one = generate("zipf", 1, 1000, 1, 0.99, 100);
    for (size_t i = 0; i < 1000; i++) assert_int_equal(one[i], 0);
    free(one);
    uint64_t *two = generate("zipf", 2, 100000, 1, 1, 100);
    size_t second = 0;
    for (size_t i = 0; i < 100000; i++) second += two[i];
    assert_true(fabs((double)second - 100000.0 / 3) < 5 * sqrt(100000.0 * 2 / 9)); /* 1 : 1/2 */
    free(two);
    static const double skews[] = {0.001, 0.99, 1, 16};
    for (size_t s = 0; s < 4; s++) {
        uint64_t *wide = generate("zipf", UINT64_C(1) << 52, 100000, 1, skews[s], 100);
        for (size_t i = 0; i < 100000; i++) assert_true(wide[i] < UINT64_C(1) << 52);
        free(wide);
    }
}

CASE(uniforms)
{
    enum { M = 777, N = 2000000 };
    double probability[M];
    for (size_t k = 0; k < M; k++) probability[k] = 1.0 / M;
    uint64_t *stream = generate("uniform", M, N, 5, 1, 1000);
    assert_distribution(stream, N, probability, M);
    free(stream);
    for (size_t k = 0; k < M; k++) probability[k] = log((double)(k + 2) / (double)(k + 1)) / log(M + 1.0);
    stream = generate("loguniform", M, N, 5, 1, 1000);
    assert_distribution(stream, N, probability, M);
    free(stream);
    stream = generate("uniform", UINT64_MAX, 1000, 5, 1, 1000);
    uint64_t all = 0;
    for (size_t i = 0; i < 1000; i++) all |= stream[i];
    assert_int_equal(all, UINT64_MAX);
    free(stream);
}

CASE(wrong_options)
{
    static const struct {
        fm_generator_options options;
        const char *reason;
    } cases[] = {
        {{"nonsense", 1, 1, 1, 1},
         "there is no pattern 'nonsense'; expected zipf, uniform, loguniform, cyclic, sawtooth, distinct or "
         "same"},
        {{NULL, 1, 1, 1, 1},
         "there is no pattern ''; expected zipf, uniform, loguniform, cyclic, sawtooth, distinct or same"},
        {{"zipf", 0, 1, 1, 1}, "pattern zipf needs a number of keys, 1 or more"},
        {{"cyclic", 0, 1, 1, 1}, "pattern cyclic needs a number of keys, 1 or more"},
        {{"zipf", 5, 1, 1, -1}, "a Zipf exponent of -1; expected 0.001 to 16"},
        {{"zipf", UINT64_MAX, 1, 1, 1}, "pattern zipf takes at most 2^52 keys"},
        {{"sawtooth", UINT64_MAX, 1, 1, 1}, "pattern sawtooth takes fewer than 2^63 keys"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fm_generator *generator;
        fm_error error;
        assert_int_equal(fm_generator_create(&generator, &cases[i].options, &error), FM_E_ARGUMENT);
        assert_null(generator);
        assert_string_equal(error.reason, cases[i].reason);
    }
    uint64_t *none = generate("uniform", 5, 0, 1, 1, 10);
    free(none);
}
