/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counting_run.h - engines with several threads, whose count only takes references and counts them when it
 * suits (fm_engine_ops.catch_up): a recipe through one of them, results asked for in between, distances in
 * order from some reference on, compared with what the list engine finds.
 */
#ifndef FATHOM_TESTS_COUNTING_RUN_H
#define FATHOM_TESTS_COUNTING_RUN_H

#include "oracle/engine_run.h"

#include <fathom/analyzer.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* How a recipe goes through the engine. */
typedef struct counting_way {
    unsigned threads;
    fm_bins bins;
    unsigned catch_up_one_in; /* calls after which results are asked for */
    size_t ordered_from;      /* reference from which on distances are wanted in order */
    const char *isa;          /* NULL: best */
} counting_way;

static inline void counting_way_print(const counting_way *way, char *text, size_t size)
{
    snprintf(text, size, "%u threads, bins %d, in order from %zu, %s", way->threads, (int)way->bins,
             way->ordered_from, way->isa ? way->isa : "best instruction set");
}

/* One call with a random number of references from number `at` on: counted, or found in order. */
static inline const char *counting_give(const fm_engine_ops *ops, fm_engine *engine,
                                        const counting_way *chosen, const uint64_t *trace, size_t at,
                                        size_t count, const engine_answers *expected, fm_tally *got,
                                        fm_tally *wanted, uint64_t *distances)
{
    size_t done = 12345678;
    if (at >= chosen->ordered_from) {
        if (feed_blocks(ops, engine, trace + at, count, distances, NULL, &done, NULL)) return "feed failed";
        if (memcmp(distances, expected->distances + at, count * sizeof *distances) != 0)
            return "wrong distances in order";
    } else {
        if (count_blocks(ops, engine, trace + at, count, got, &done, NULL)) return "count failed";
        if (fm_tally_add(wanted, expected->distances + at, count, NULL)) abort();
    }
    return done == count ? NULL : "fewer references were taken than given";
}

/* The recipe through an engine that counts when it suits; NULL, or what was wrong. */
static inline const char *counting_run(const fm_engine_ops *ops, const recipe *made,
                                       const counting_way *chosen, const uint64_t *trace,
                                       const engine_answers *expected)
{
    fm_engine_options options = engine_options_of(made);
    options.time_distances = false;
    options.threads = chosen->threads;
    options.isa = chosen->isa;
    fm_engine *engine;
    fm_tally got, wanted;
    uint64_t *distances = malloc((made->length + 1) * sizeof *distances);
    if (!distances || ops->create(&engine, &options, NULL) || fm_tally_create(&got, chosen->bins, NULL) ||
        fm_tally_create(&wanted, chosen->bins, NULL))
        abort();
    recipe_random random = {made->seed ^ 44};
    const char *wrong = NULL;
    for (size_t i = 0; i < made->length && !wrong;) {
        size_t count = 1 + recipe_below(&random, made->chunk_most);
        const size_t end = i < chosen->ordered_from ? chosen->ordered_from : made->length;
        if (count > end - i) count = end - i;
        wrong = counting_give(ops, engine, chosen, trace, i, count, expected, &got, &wanted, distances);
        i += count;
        if (!wrong && recipe_chance(&random, chosen->catch_up_one_in)) {
            if (catch_up(ops, engine, &got, NULL)) wrong = "catching up failed";
            if (!wrong) wrong = engine_tallies_agree(&got, &wanted);
        }
    }
    if (!wrong && catch_up(ops, engine, &got, NULL)) wrong = "catching up at the end failed";
    if (!wrong) wrong = engine_tallies_agree(&got, &wanted);
    if (!wrong && ops->distinct(engine) != expected->distinct) wrong = "wrong number of distinct blocks";
    if (!wrong && ops->cold_known(engine) != expected->cold_known) wrong = "wrong cold_known";
    if (!wrong && ops->memory(engine) > ops->memory_peak(engine)) wrong = "memory is over its own peak";
    ops->destroy(engine);
    fm_tally_clear(&got);
    fm_tally_clear(&wanted);
    free(distances);
    return wrong;
}

static inline void assert_same_counts(const fm_profile *one, const fm_profile *many)
{
    assert_int_equal(one->references, many->references);
    assert_int_equal(one->distinct, many->distinct);
    assert_int_equal(one->cold, many->cold);
    assert_int_equal(one->beyond, many->beyond);
    assert_int_equal(one->cold_known, many->cold_known);
    assert_int_equal(one->distances.count, many->distances.count);
    for (size_t i = 0; i < one->distances.count; i++)
        assert_memory_equal(&one->distances.bins[i], &many->distances.bins[i], sizeof(fm_bin));
}

#endif
