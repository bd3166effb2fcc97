/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate.c - synthetic reference streams with known answers.
 *
 * Random patterns draw from xoshiro256** (Blackman & Vigna), seeded through splitmix64: the same options
 * and seed give the same stream everywhere. Zipf is sampled by rejection-inversion (Hörmann & Derflinger,
 * "Rejection-inversion to generate variates from monotone discrete distributions", 1996): exact Zipf
 * probabilities, O(1) time and memory whatever M is. It needs pow and log, whose last bit may differ
 * between C libraries; fathom computes them by its own series, from +, * and / alone, which IEEE 754 fixes.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"

#include <fathom/generate.h>
#include <stdlib.h>
#include <string.h>

/* a*b + c in one rounding is not the same everywhere. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

static const fm_pattern_info patterns[] = {
    {"zipf", "rank r of M with probability ~ 1/r^skew; hot keys are scattered"},
    {"uniform", "every key equally likely"},
    {"loguniform", "key k with probability ~ log((k+2)/(k+1)): ranks without a knee"},
    {"cyclic", "0 1 ... M-1, again and again: every return has distance M-1"},
    {"sawtooth", "0 1 ... M-1 ... 1 0 1 ...: distances 1, 2, ... M-1 after each turn"},
    {"distinct", "0 1 2 ...: no key twice, whatever the number of keys"},
    {"same", "0 0 0 ...: one key only"},
};
enum { ZIPF, UNIFORM, LOGUNIFORM, CYCLIC, SAWTOOTH, DISTINCT, SAME, PATTERNS };

const fm_pattern_info *fm_generator_pattern_at(size_t index)
{
    return index < PATTERNS ? &patterns[index] : NULL;
}

enum { ATTEMPTS = 256 }; /* computed at a time */

struct fm_generator {
    int pattern;
    uint64_t keys, left, position;
    uint64_t random[4];
    uint64_t step, turns;           /* zipf: see prepare_zipf */
    bool near_one;                  /* zipf: skew is so near 1 that 1 / (1 - skew) is of no use */
    double inverse;                 /* zipf: 1 / (1 - skew) */
    double skew, h_first, shortcut; /* zipf, in the terms of the paper */
    double h_last;                  /* the same; loguniform: log(M+1) */
    int attempt;                    /* zipf: the next of these */
    double u[ATTEMPTS], x[ATTEMPTS];
};

/* ---- random numbers ---- */

static uint64_t generator_rotate(uint64_t value, int by)
{
    return value << by | value >> (64 - by);
}

static uint64_t generator_draw(uint64_t s[4])
{
    uint64_t result = generator_rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = generator_rotate(s[3], 45);
    return result;
}

/* In (0, 1], a multiple of 2^-53. */
static double draw_unit(uint64_t s[4])
{
    return (double)((generator_draw(s) >> 11) + 1) * 0x1p-53;
}

/* Below limit, exactly uniform (Lemire's multiplication with rejection). */
static uint64_t draw_below(uint64_t s[4], uint64_t limit)
{
    for (;;) {
        unsigned __int128 product = (unsigned __int128)generator_draw(s) * limit;
        uint64_t low = (uint64_t)product;
        if (low >= limit || low >= (0 - limit) % limit) return (uint64_t)(product >> 64);
    }
}

/* ---- logarithm and exponential, the same on every machine ---- */

/* x > 0 and normal. 2 artanh((m-1)/(m+1)) for the mantissa m in [sqrt(1/2), sqrt(2)). Without branches and
 * without operations that vector units lack, so that compilers can compute several at once. */
static inline double natural_log(double x)
{
    uint64_t bits, biased, number;
    memcpy(&bits, &x, sizeof bits);
    /* Subtracting the bits of sqrt(1/2) makes the exponent count from there; 1024 keeps it positive. */
    biased = (bits - UINT64_C(0x3FE6A09E667F3BCD) + (UINT64_C(1024) << 52)) >> 52;
    bits -= (biased - 1024) << 52;
    number = biased | UINT64_C(0x433) << 52; /* 2^52 + biased */
    double m, exponent;
    memcpy(&m, &bits, sizeof m);
    memcpy(&exponent, &number, sizeof exponent);
    exponent -= 0x1p52 + 1024;
    double s = (m - 1) / (m + 1), z = s * s, z2 = z * z, z4 = z2 * z2;
    /* Pairs of terms that do not wait for each other. */
    double low = (1.0 + z * (1.0 / 3)) + z2 * (1.0 / 5 + z * (1.0 / 7));
    double high = (1.0 / 9 + z * (1.0 / 11)) + z2 * (1.0 / 13 + z * (1.0 / 15));
    double top = (1.0 / 17 + z * (1.0 / 19)) + z2 * (1.0 / 21);
    double series = low + z4 * (high + z4 * top);
    return exponent * 0.6931471805599453 + 2 * s * series;
}

/* |x| < 700. */
static inline double generator_exponential(double x)
{
    double shifted = x * 1.4426950408889634 + 0x1.8p52; /* the nearest whole number is in the low bits */
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    double n = shifted - 0x1.8p52;
    double r = (x - n * 0x1.62e42fefa38p-1) - n * 0x1.ef35793c7673p-45, r2 = r * r, r4 = r2 * r2;
    double a = (1.0 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
    double b = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
    double c = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800));
    double d = 1.0 / 479001600 + r * (1.0 / 6227020800);
    double series = a + r4 * (b + r4 * (c + r4 * d));
    bits = (bits + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return series * power;
}

/* log(1+t)/t for |t| up to 0.01, and (exp(y)-1)/y; 0 included. */
static double log_quotient(double t)
{
    return 1 - t * (1.0 / 2 - t * (1.0 / 3 - t * (1.0 / 4 - t * (1.0 / 5 - t * (1.0 / 6 - t * (1.0 / 7))))));
}

static double exp_quotient(double y)
{
    if (y > 0.01 || y < -0.01) return (generator_exponential(y) - 1) / y;
    return 1 + y * (1.0 / 2) *
                   (1 + y * (1.0 / 3) * (1 + y * (1.0 / 4) * (1 + y * (1.0 / 5) * (1 + y * (1.0 / 6)))));
}

/* ---- Zipf by rejection-inversion; h(x) = x^-skew, H its integral from 1 ---- */

static double zipf_h(const fm_generator *generator, double x)
{
    return generator_exponential(-generator->skew * natural_log(x));
}

static double zipf_integral(const fm_generator *generator, double x)
{
    double log_x = natural_log(x);
    return exp_quotient((1 - generator->skew) * log_x) * log_x;
}

static double zipf_inverse(const fm_generator *generator, double u)
{
    double t = u * (1 - generator->skew);
    /* Near skew 1, t is near 0 and the quotient 0/0; elsewhere an error of 2^-53 in the logarithm does not
     * matter. Which it is depends on the skew alone, so the branch is predictable. */
    if (generator->near_one) return generator_exponential(log_quotient(t) * u);
    return generator_exponential(natural_log(1 + t) * generator->inverse);
}

/* A run of attempts: u and the x it leads to. Each takes one random number, so that the stream does not
 * depend on how many keys are asked for at a time. */
static void draw_attempts(fm_generator *generator)
{
    double *u = generator->u, *x = generator->x;
    double from = generator->h_last, width = generator->h_first - generator->h_last;
    double off = 1 - generator->skew, inverse = generator->inverse;
    generator->attempt = 0;
    for (int i = 0; i < ATTEMPTS; i++) u[i] = from + draw_unit(generator->random) * width;
    if (generator->near_one) {
        for (int i = 0; i < ATTEMPTS; i++) x[i] = zipf_inverse(generator, u[i]);
        return;
    }
    for (int i = 0; i < ATTEMPTS; i++) { /* zipf_inverse, several at once */
        x[i] = generator_exponential(natural_log(1 + u[i] * off) * inverse);
    }
}

static uint64_t zipf_rank(fm_generator *generator)
{
    double most = (double)generator->keys;
    for (;;) {
        if (generator->attempt == ATTEMPTS) draw_attempts(generator);
        double u = generator->u[generator->attempt], x = generator->x[generator->attempt];
        generator->attempt++;
        double k = x < 0.5 ? 1 : x + 0.5 >= most ? most : (double)(int64_t)(x + 0.5);
        if (k - x <= generator->shortcut || u >= zipf_integral(generator, k + 0.5) - zipf_h(generator, k))
            return (uint64_t)(int64_t)k;
    }
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Rank r becomes key (r-1) * step mod M, with the first step from M / golden ratio on that shares no
 * divisor with M: a bijection that puts neighbouring ranks far from each other. */
static void prepare_zipf(fm_generator *generator)
{
    uint64_t keys = generator->keys;
    uint64_t step = (uint64_t)((unsigned __int128)keys * UINT64_C(0x9E3779B97F4A7C15) >> 64);
    if (step == 0) step = 1;
    while (greatest_divisor(step, keys) != 1) step++;
    generator->step = step;
    generator->turns = (uint64_t)(((unsigned __int128)step << 64) / keys);
    double off = 1 - generator->skew;
    generator->attempt = ATTEMPTS;
    generator->near_one = off < 1e-4 && off > -1e-4;
    generator->inverse = generator->near_one ? 0 : 1 / off;
    generator->h_first = zipf_integral(generator, 1.5) - 1;
    generator->h_last = zipf_integral(generator, (double)keys + 0.5);
    /* Above skew 1 the integral has a limit, 1 / (skew - 1); rounding must not reach it, where the inverse
     * is infinite. The ranks beyond are so rare that no stream meets them. */
    double reach = generator->h_last * (1 - generator->skew), most = -(1 - 0x1p-50);
    if (reach < most) generator->h_last = most / (1 - generator->skew);
    generator->shortcut = 2 - zipf_inverse(generator, zipf_integral(generator, 2.5) - zipf_h(generator, 2));
}

/* (rank-1) * step mod M, by a product with step/M as a fraction of 2^64: the quotient is right or one too
 * small, for ranks and M are below 2^53. */
static uint64_t generator_scatter(const fm_generator *generator, uint64_t rank)
{
    uint64_t quotient = (uint64_t)((unsigned __int128)(rank - 1) * generator->turns >> 64);
    uint64_t key = (rank - 1) * generator->step - quotient * generator->keys;
    return key >= generator->keys ? key - generator->keys : key;
}

/* ---- the interface ---- */

/* Ranks are computed as doubles: beyond this they would not be whole numbers any more. */
#define RANKS_MOST (UINT64_C(1) << 52)
#define USUAL_SKEW 0.99

static fm_status generator_check(int pattern, const fm_generator_options *options, fm_error *error)
{
    if (pattern < DISTINCT && options->keys == 0)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "pattern %s needs a number of keys, 1 or more",
                       options->pattern);
    if ((pattern == ZIPF || pattern == LOGUNIFORM) && options->keys > RANKS_MOST)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "pattern %s takes at most 2^52 keys", options->pattern);
    if (pattern == SAWTOOTH && options->keys > UINT64_MAX / 2)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "pattern %s takes fewer than 2^63 keys", options->pattern);
    if (pattern == ZIPF && !(options->skew >= 0.001 && options->skew <= 16))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a Zipf exponent of %g; expected 0.001 to 16",
                       options->skew);
    return FM_OK;
}

fm_status fm_generator_create_sized(size_t given_size, fm_generator **generator_out,
                                    const fm_generator_options *given, fm_error *error)
{
    *generator_out = NULL;
    fm_generator_options known;
    fm_status status = fm_sized_read(&known, sizeof known, given, given_size, "fm_generator_options", error);
    if (status != FM_OK) return status;
    const fm_generator_options *options = &known;
    if (known.skew == 0) known.skew = USUAL_SKEW;
    int pattern = 0;
    while (pattern < PATTERNS && (!options->pattern || strcmp(patterns[pattern].name, options->pattern) != 0))
        pattern++;
    if (pattern == PATTERNS)
        return fm_fail(
            error, FM_E_ARGUMENT, NULL,
            "there is no pattern '%s'; expected zipf, uniform, loguniform, cyclic, sawtooth, distinct "
            "or same",
            options->pattern ? options->pattern : "");
    status = generator_check(pattern, options, error);
    if (status != FM_OK) return status;
    fm_generator *generator = fm_calloc(1, sizeof *generator);
    if (!generator) return fm_fail_memory(error, sizeof *generator, "a generator");
    generator->pattern = pattern;
    generator->keys = options->keys;
    generator->left = options->references;
    generator->skew = options->skew;
    uint64_t seed = options->seed;
    for (int i = 0; i < 4; i++) generator->random[i] = fm_random_next(&seed);
    if (pattern == ZIPF) prepare_zipf(generator);
    if (pattern == LOGUNIFORM) generator->h_last = natural_log((double)options->keys + 1);
    *generator_out = generator;
    return FM_OK;
}

static uint64_t draw_loguniform(fm_generator *generator)
{
    double x = generator_exponential((1 - draw_unit(generator->random)) * generator->h_last);
    uint64_t rank = x < 1 ? 1 : (uint64_t)x;
    return rank > generator->keys ? generator->keys - 1 : rank - 1;
}

size_t fm_generator_next(fm_generator *generator, uint64_t *keys, size_t capacity)
{
    size_t count = generator->left < capacity ? (size_t)generator->left : capacity;
    uint64_t position = generator->position, most = generator->keys;
    switch (generator->pattern) {
    case ZIPF:
        for (size_t i = 0; i < count; i++) keys[i] = generator_scatter(generator, zipf_rank(generator));
        break;
    case UNIFORM:
        for (size_t i = 0; i < count; i++) keys[i] = draw_below(generator->random, most);
        break;
    case LOGUNIFORM:
        for (size_t i = 0; i < count; i++) keys[i] = draw_loguniform(generator);
        break;
    case CYCLIC:
        for (size_t i = 0; i < count; i++) {
            keys[i] = position;
            if (++position == most) position = 0;
        }
        break;
    case SAWTOOTH: /* position runs through one period, 2M-2 references */
        for (size_t i = 0; i < count; i++) {
            keys[i] = position < most ? position : 2 * most - 2 - position;
            if (++position >= 2 * most - 2) position = 0;
        }
        break;
    case DISTINCT:
        for (size_t i = 0; i < count; i++) keys[i] = position++;
        break;
    default:
        memset(keys, 0, count * sizeof *keys);
        break;
    }
    generator->position = position;
    generator->left -= count;
    return count;
}

void fm_generator_destroy(fm_generator *generator)
{
    free(generator);
}
