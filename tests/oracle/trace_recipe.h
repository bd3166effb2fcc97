/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_recipe.h - generated traces for the oracle tests: everything about a trace follows from one
 * number, so that a failure can be told, and replayed, in one line.
 *
 * The shapes are chosen against the ways in which engines break: windows that fill up and are compacted
 * (sizes around powers of two, and around 448 = 7 * 64), short fronts of the stack that are searched
 * apart (8, 16, 32), blocks that come back exactly when they are dropped, keys that are special to a
 * hash table (0, 2^64-1, few bits apart, huge strides). The generators are not the library's
 * (fathom/generate.h): a fault there must not hide one here.
 */
#ifndef FATHOM_TESTS_TRACE_RECIPE_H
#define FATHOM_TESTS_TRACE_RECIPE_H

#include "random.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A number that FATHOM_TEST_… gives, or the usual one. */
static inline uint64_t from_environment(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : usual;
}

/* Large traces are so many times smaller where few traces are asked for; most so under sanitizers, which are
 * ten times slower. What the engines take at a time is to be divided by it, too. */
static inline size_t large_divisor(void)
{
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", 1000);
    return traces < 100 ? 16 : traces < 1000 ? 4 : 1;
}

/* References of one large trace. */
static inline size_t large_length(size_t usual)
{
    return usual / large_divisor();
}

/* Rounds over traces of one length: a quarter where few are asked for. */
static inline size_t few_rounds(size_t usual)
{
    return large_divisor() > 1 ? usual / 4 : usual;
}

/* ---- random numbers: splitmix64 ---- */

typedef struct recipe_random {
    uint64_t state;
} recipe_random;

static inline uint64_t recipe_next(recipe_random *random)
{
    return random_from(&random->state);
}

/* 0 … n−1; n is not 0. */
static inline uint64_t recipe_below(recipe_random *random, uint64_t n)
{
    return (uint64_t)(((__uint128_t)recipe_next(random) * n) >> 64);
}

static inline bool recipe_chance(recipe_random *random, unsigned one_in)
{
    return recipe_below(random, one_in) == 0;
}

/* ---- recipes ---- */

typedef enum recipe_kind {
    RECIPE_UNIFORM,
    RECIPE_ZIPF,
    RECIPE_CYCLIC,
    RECIPE_SAWTOOTH,
    RECIPE_SAME,
    RECIPE_DISTINCT,
    RECIPE_LOOPS,    /* short loops inside a long one */
    RECIPE_PHASES,   /* one shape after the other, on overlapping alphabets */
    RECIPE_HOT_COLD, /* a few hot blocks among a stream of new ones: many live windows, few live blocks */
    RECIPE_DEPTHS,   /* blocks picked by their depth in the stack, near chosen sizes */
    RECIPE_FRONT,    /* nearly always among the first few of the stack, seldom deep */
    RECIPE_RETURN,   /* exactly B new blocks, then the ones from B−1, B, B+1 ago */
    RECIPE_WALK,     /* a drunkard's walk over the alphabet */
    RECIPE_RARE_OLD, /* one block kept from the very start, touched again very late */
    RECIPE_KINDS,    /* how many kinds recipe_make takes turns in */
    RECIPE_LONG = RECIPE_KINDS, /* see recipe_make_long */
} recipe_kind;

static inline const char *recipe_kind_name(recipe_kind kind)
{
    static const char *const names[] = {"uniform",  "zipf",   "cyclic", "sawtooth", "same",
                                        "distinct", "loops",  "phases", "hot-cold", "depths",
                                        "front",    "return", "walk",   "rare-old"};
    return kind < RECIPE_KINDS ? names[kind] : "long";
}

typedef enum recipe_keys {
    RECIPE_KEYS_PLAIN,
    RECIPE_KEYS_DOWN,    /* 2^64−1 − k */
    RECIPE_KEYS_EDGES,   /* 0, 2^64−1, 1, 2^64−2, 2^63, … */
    RECIPE_KEYS_STRIDE,  /* arithmetic progression with a huge stride */
    RECIPE_KEYS_SHIFTED, /* only high bits differ */
    RECIPE_KEYS_BITS,    /* keys a few bits apart */
    RECIPE_KEYS_MIXED,   /* all bits random */
    RECIPE_KEYS_KINDS
} recipe_keys;

static inline const char *recipe_keys_name(recipe_keys keys)
{
    static const char *const names[] = {"plain", "down", "edges", "stride", "shifted", "bits", "mixed"};
    return keys < RECIPE_KEYS_KINDS ? names[keys] : "?";
}

typedef struct recipe {
    uint64_t base_seed, index;
    uint64_t seed; /* follows from the two above */
    recipe_kind kind;
    recipe_keys keys;
    uint64_t parameter; /* of the key mapping */
    size_t length;
    uint64_t alphabet;
    uint64_t bound;      /* 0: none */
    uint64_t seen_limit; /* of fm_seen_limit */
    bool times;
    uint64_t first_time;
    uint64_t engine_seed;
    size_t chunk_most; /* feeds have random sizes of 1 … this */
} recipe;

static inline uint64_t recipe_near(recipe_random *random, size_t most)
{
    static const uint64_t sizes[] = {8,   16,   32,   64,   128,  256,   448,  512,
                                     896, 1024, 2048, 4096, 8192, 16384, 65536};
    size_t count = 0;
    while (count < sizeof sizes / sizeof sizes[0] && sizes[count] <= most + 2) count++;
    if (count == 0) return 1 + recipe_below(random, most ? most : 1);
    uint64_t size = sizes[recipe_below(random, count)];
    return size - 2 + recipe_below(random, 5);
}

static inline uint64_t recipe_key(const recipe *made, uint64_t k)
{
    switch (made->keys) {
    case RECIPE_KEYS_PLAIN:
        return k;
    case RECIPE_KEYS_DOWN:
        return UINT64_MAX - k;
    case RECIPE_KEYS_EDGES:
        switch (k) {
        case 0:
            return 0;
        case 1:
            return UINT64_MAX;
        case 2:
            return UINT64_C(1) << 63;
        case 3:
            return UINT64_MAX - 1;
        case 4:
            return UINT64_MAX >> 1;
        default:
            return k % 2 ? k / 2 : UINT64_MAX - k / 2;
        }
    case RECIPE_KEYS_STRIDE:
        return k * made->parameter + (made->parameter >> 7);
    case RECIPE_KEYS_SHIFTED:
        return k << (44 - made->parameter % 24);
    case RECIPE_KEYS_BITS: {
        uint64_t base = made->parameter;
        /* The bits of k, scattered one by one over the word. */
        for (unsigned bit = 0; bit < 17; bit++)
            if (k >> bit & 1) base ^= UINT64_C(1) << ((bit * 23 + 5) % 64);
        return base;
    }
    default: {
        recipe_random random = {k ^ made->parameter};
        return recipe_next(&random);
    }
    }
}

/* The recipe number index under a base seed. Lengths above 4096 are rare: the oracle is quadratic. */
static inline recipe recipe_make(uint64_t base_seed, uint64_t index)
{
    recipe_random random = {base_seed ^ (index * UINT64_C(0xD1342543DE82EF95))};
    recipe made = {.base_seed = base_seed, .index = index, .seed = recipe_next(&random)};
    random.state = made.seed;
    made.kind = (recipe_kind)(index % RECIPE_KINDS);
    made.keys = (recipe_keys)recipe_below(&random, RECIPE_KEYS_KINDS);
    made.parameter = recipe_next(&random);
    if (made.keys == RECIPE_KEYS_STRIDE)
        made.parameter =
            recipe_chance(&random, 2) ? made.parameter | 1 : UINT64_C(1) << (8 + made.parameter % 36);

    uint64_t die = recipe_below(&random, 1000);
    size_t most = die < 600 ? 300 : die < 950 ? 2000 : die < 994 ? 6000 : 20000;
    made.length = recipe_chance(&random, 4) ? recipe_near(&random, most) : recipe_below(&random, most + 1);
    if (most == 20000 && made.length < 6000) made.length += 12000;
    /* Alphabets from 1 to the length, small ones as likely as large ones; some near the special sizes. */
    uint64_t length = made.length ? made.length : 1;
    if (recipe_chance(&random, 3))
        made.alphabet = recipe_near(&random, length);
    else
        made.alphabet = (uint64_t)pow((double)length, (double)recipe_below(&random, 1001) / 1000.0);
    if (made.alphabet < 1) made.alphabet = 1;

    made.seen_limit = UINT64_C(1) << 21;
    if (recipe_chance(&random, 3)) {
        made.bound = recipe_chance(&random, 2) ? recipe_near(&random, made.alphabet + 1)
                                               : 1 + recipe_below(&random, made.alphabet + 2);
        if (made.bound < 1) made.bound = 1;
        if (recipe_chance(&random, 3)) made.seen_limit = recipe_below(&random, made.alphabet + 2);
    }
    made.times = recipe_chance(&random, 3);
    if (recipe_chance(&random, 4)) {
        static const uint64_t edges[] = {0, UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 63,
                                         UINT64_C(1) << 48};
        made.first_time = edges[recipe_below(&random, 5)] - recipe_below(&random, made.length + 2);
    }
    do made.engine_seed = recipe_next(&random);
    while (made.engine_seed == 0);
    static const size_t chunks[] = {1, 2, 7, 64, 500, 5000, 100000};
    made.chunk_most = chunks[recipe_below(&random, 7)];
    return made;
}

/* Long traces have their own numbers, so that one number still replays any trace. */
#define RECIPE_FIRST_LONG UINT64_C(2000000)

/*
 * Around a million references and more, enough for the exact engine's window to fill up and restart
 * (every 917,504 references or later), yet with short distances for nearly all, so that the list engine
 * keeps up.
 */
static inline recipe recipe_make_long(uint64_t base_seed, uint64_t index)
{
    recipe made = recipe_make(base_seed, index);
    recipe_random random = {made.seed ^ 4242};
    made.kind = RECIPE_LONG;
    made.length = recipe_chance(&random, 3)
                      ? 917504 - 3 + recipe_below(&random, 7)
                      : 900000 + recipe_below(&random, recipe_chance(&random, 4) ? 2500000 : 900000);
    /* Distinct blocks at most: the oracle walks past all of them at every first touch. */
    made.alphabet = recipe_chance(&random, 3) ? recipe_near(&random, 9000) : 1 + recipe_below(&random, 9000);
    made.bound = 0;
    made.seen_limit = UINT64_C(1) << 21;
    if (recipe_chance(&random, 2)) {
        made.bound =
            1 + recipe_below(&random, recipe_chance(&random, 2) ? made.alphabet : 1 + made.alphabet / 20);
        if (recipe_chance(&random, 4)) made.seen_limit = recipe_below(&random, made.alphabet + 2);
    }
    static const size_t chunks[] = {100, 5000, 70000, 4000000};
    made.chunk_most = chunks[recipe_below(&random, 4)];
    if (made.first_time) made.first_time -= recipe_below(&random, made.length);
    return made;
}

static inline void recipe_print(const recipe *made)
{
    fprintf(stderr,
            "trace %" PRIu64 ": %s, keys %s (0x%" PRIx64 "), length %zu, alphabet %" PRIu64 ", bound %" PRIu64
            ", seen limit %" PRIu64 ", times %d, first time 0x%" PRIx64 ", engine seed 0x%" PRIx64
            ", feeds of up to %zu\n  replay only this one: FATHOM_TEST_SEED=%" PRIu64
            " FATHOM_TEST_ONLY=%" PRIu64 "\n",
            made->index, recipe_kind_name(made->kind), recipe_keys_name(made->keys), made->parameter,
            made->length, made->alphabet, made->bound, made->seen_limit, made->times, made->first_time,
            made->engine_seed, made->chunk_most, made->base_seed, made->index);
}

/* ---- shapes: small numbers, mapped to keys at the end ---- */

/* Blocks picked by stack depth. The stack is kept as a plain array, most recent last. */
static inline void recipe_fill_depths(recipe_random *random, uint64_t *trace, size_t length,
                                      uint64_t alphabet, bool front)
{
    uint64_t *stack = malloc((length + 1) * sizeof *stack);
    if (!stack) abort();
    size_t live = 0;
    uint64_t fresh = 0;
    uint64_t target = front ? 4 + recipe_below(random, 40) : 1 + recipe_near(random, alphabet);
    for (size_t i = 0; i < length; i++) {
        if (recipe_chance(random, 200)) target = 1 + recipe_near(random, alphabet);
        uint64_t depth;
        if (front && !recipe_chance(random, 50))
            depth = recipe_below(random, target < 34 ? target : 34);
        else
            depth = target - 1 + recipe_below(random, 4) - recipe_below(random, 3);
        uint64_t block;
        if (live == 0 || depth >= live) {
            if (fresh >= alphabet && live > 0)
                depth = live - 1;
            else
                depth = live;
        }
        if (depth == live) {
            block = fresh++;
            stack[live++] = block;
        } else {
            size_t place = live - 1 - (size_t)depth;
            block = stack[place];
            for (size_t j = place; j + 1 < live; j++) stack[j] = stack[j + 1];
            stack[live - 1] = block;
        }
        trace[i] = block;
    }
    free(stack);
}

static inline void recipe_fill(recipe_random *random, recipe_kind kind, uint64_t *trace, size_t length,
                               uint64_t alphabet)
{
    switch (kind) {
    case RECIPE_UNIFORM:
        for (size_t i = 0; i < length; i++) trace[i] = recipe_below(random, alphabet);
        break;
    case RECIPE_ZIPF: {
        /* Inverse of a power law's distribution: close enough to Zipf, skew by chance. */
        double power = 1.5 + (double)recipe_below(random, 600) / 100.0;
        for (size_t i = 0; i < length; i++) {
            double u = (double)(recipe_next(random) >> 11) * 0x1p-53;
            trace[i] = (uint64_t)((double)alphabet * pow(u, power));
            if (trace[i] >= alphabet) trace[i] = alphabet - 1;
        }
        break;
    }
    case RECIPE_CYCLIC:
        for (size_t i = 0; i < length; i++) trace[i] = i % alphabet;
        break;
    case RECIPE_SAWTOOTH:
        for (size_t i = 0; i < length; i++) {
            uint64_t at = i % (2 * alphabet);
            trace[i] = at < alphabet ? at : 2 * alphabet - 1 - at;
        }
        break;
    case RECIPE_SAME:
        for (size_t i = 0; i < length; i++) trace[i] = alphabet - 1;
        break;
    case RECIPE_DISTINCT:
        for (size_t i = 0; i < length; i++) trace[i] = i;
        break;
    case RECIPE_LOOPS: {
        uint64_t inner = 1 + recipe_below(random, alphabet), rounds = 1 + recipe_below(random, 5);
        uint64_t start = 0;
        for (size_t i = 0; i < length;) {
            for (uint64_t r = 0; r < rounds && i < length; r++)
                for (uint64_t j = 0; j < inner && i < length; j++) trace[i++] = (start + j) % alphabet;
            start += inner;
        }
        break;
    }
    case RECIPE_PHASES:
        for (size_t i = 0; i < length;) {
            size_t part = 1 + recipe_below(random, length - i);
            recipe_kind phase = (recipe_kind)recipe_below(random, RECIPE_KINDS);
            if (phase == RECIPE_PHASES) phase = RECIPE_UNIFORM;
            uint64_t some = 1 + recipe_below(random, alphabet), offset = recipe_below(random, alphabet);
            recipe_fill(random, phase, trace + i, part, some);
            for (size_t j = 0; j < part; j++) trace[i + j] = trace[i + j] + offset;
            i += part;
        }
        break;
    case RECIPE_HOT_COLD: {
        uint64_t hot = 1 + recipe_below(random, 40), fresh = hot;
        unsigned one_in = 2 + (unsigned)recipe_below(random, 100);
        for (size_t i = 0; i < length; i++)
            trace[i] = recipe_chance(random, one_in) ? recipe_below(random, hot) : fresh++;
        break;
    }
    case RECIPE_DEPTHS:
        recipe_fill_depths(random, trace, length, alphabet, false);
        break;
    case RECIPE_FRONT:
        recipe_fill_depths(random, trace, length, alphabet, true);
        break;
    case RECIPE_RETURN: {
        uint64_t gap = recipe_near(random, alphabet), fresh = 0;
        if (gap < 1) gap = 1;
        for (size_t i = 0; i < length;) {
            for (uint64_t j = 0; j < gap && i < length; j++) trace[i++] = fresh++;
            for (int64_t back = (int64_t)gap + 1; back >= (int64_t)gap - 1 && i < length; back--)
                trace[i++] = fresh >= (uint64_t)back ? fresh - (uint64_t)back : 0;
        }
        break;
    }
    case RECIPE_WALK: {
        uint64_t at = 0, step = 1 + recipe_below(random, 8);
        for (size_t i = 0; i < length; i++) {
            at = (at + alphabet + recipe_below(random, 2 * step + 1) - step % alphabet) % alphabet;
            trace[i] = at;
        }
        break;
    }
    case RECIPE_RARE_OLD: {
        uint64_t every = recipe_near(random, length);
        if (every < 2) every = 2;
        for (size_t i = 0; i < length; i++)
            trace[i] = i % every == 0 ? 0 : 1 + recipe_below(random, alphabet);
        break;
    }
    case RECIPE_KINDS:
        break;
    }
}

/* A hot set that moves over the blocks; now and then a deep block, a new one, or a loop over many. */
static inline void recipe_fill_long(recipe_random *random, uint64_t *trace, size_t length, uint64_t alphabet)
{
    uint64_t fresh = 1, hot = 1, hot_start = 0, loop = 0, loop_at = 0;
    unsigned new_in = 0, deep_in = 0;
    for (size_t i = 0; i < length; i++) {
        if (i == 0 || recipe_chance(random, 60000)) {
            hot = 1 + recipe_below(random, recipe_chance(random, 2) ? 30 : 250);
            hot_start = recipe_below(random, fresh);
            new_in = 2 + (unsigned)recipe_below(random, recipe_chance(random, 3) ? 3 : 500);
            deep_in = 50 + (unsigned)recipe_below(random, 2000);
            loop = recipe_chance(random, 8) ? recipe_below(random, fresh < 3000 ? fresh : 3000) * 2 : 0;
        }
        if (loop > 0) {
            trace[i] = loop_at++ % fresh;
            loop--;
        } else if (fresh < alphabet && recipe_chance(random, new_in)) {
            trace[i] = fresh++;
        } else if (recipe_chance(random, deep_in)) {
            trace[i] = recipe_below(random, fresh);
        } else {
            trace[i] = (hot_start + recipe_below(random, hot)) % fresh;
        }
    }
}

/* The trace of a recipe; to be freed. */
static inline uint64_t *recipe_trace(const recipe *made)
{
    uint64_t *trace = malloc((made->length + 1) * sizeof *trace);
    if (!trace) abort();
    recipe_random random = {made->seed ^ UINT64_C(0x5DEECE66D)};
    if (made->kind == RECIPE_LONG)
        recipe_fill_long(&random, trace, made->length, made->alphabet);
    else
        recipe_fill(&random, made->kind, trace, made->length, made->alphabet);
    for (size_t i = 0; i < made->length; i++) trace[i] = recipe_key(made, trace[i]);
    return trace;
}

/* ---- many of them ---- */

typedef bool (*recipe_check)(const recipe *made);

/*
 * How many of the first `traces` recipes fail, the fifth being the last that is tried; or only the one that
 * FATHOM_TEST_ONLY names, long or not. FATHOM_TEST_SEED gives others.
 */
static inline uint64_t recipes_failing(recipe_check check, uint64_t usual_seed, uint64_t traces)
{
    const uint64_t seed = from_environment("FATHOM_TEST_SEED", usual_seed);
    const uint64_t only = from_environment("FATHOM_TEST_ONLY", UINT64_MAX);
    uint64_t bad = 0;
    if (only != UINT64_MAX) {
        const recipe made =
            only >= RECIPE_FIRST_LONG ? recipe_make_long(seed, only) : recipe_make(seed, only);
        return !check(&made);
    }
    for (uint64_t index = 0; index < traces && bad < 5; index++) {
        const recipe made = recipe_make(seed, index);
        bad += !check(&made);
    }
    return bad;
}

/* The same for long ones, up to the third. */
static inline uint64_t long_recipes_failing(recipe_check check, uint64_t usual_seed, uint64_t traces)
{
    const uint64_t seed = from_environment("FATHOM_TEST_SEED", usual_seed);
    uint64_t bad = 0;
    for (uint64_t index = 0; index < traces && bad < 3; index++) {
        const recipe made = recipe_make_long(seed, RECIPE_FIRST_LONG + index);
        bad += !check(&made);
    }
    return bad;
}

/* The two as cases of case.h: NAME_generated_traces, and NAME_long_traces with one long trace for so many. */
#define RECIPE_CASES(name, check, usual_seed, usual_traces, traces_per_long_one)                             \
    CASE(name##_generated_traces)                                                                            \
    {                                                                                                        \
        const uint64_t traces = from_environment("FATHOM_TEST_TRACES", usual_traces);                        \
        assert_int_equal(recipes_failing(check, usual_seed, traces), 0);                                     \
    }                                                                                                        \
    CASE(name##_long_traces)                                                                                 \
    {                                                                                                        \
        const uint64_t traces = from_environment("FATHOM_TEST_TRACES", usual_traces);                        \
        if (getenv("FATHOM_TEST_ONLY")) return;                                                              \
        assert_int_equal(long_recipes_failing(check, usual_seed, traces / (traces_per_long_one)), 0);        \
    }

#endif
