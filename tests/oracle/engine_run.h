/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_run.h - runs one recipe through one engine, and says what an engine must answer: the list
 * engine's answers, seen through the rules of engine_tables.h where a bound and a limit apply.
 */
#ifndef FATHOM_TESTS_ENGINE_RUN_H
#define FATHOM_TESTS_ENGINE_RUN_H

#include "engine/engine.h"
#include "engine/engine_tables.h"
#include "oracle/engine_calls.h"
#include "oracle/trace_recipe.h"

#include <fathom/analyzer.h>
#include <string.h>

typedef struct engine_answers {
    uint64_t *distances, *times;
    uint64_t distinct;
    bool cold_known;
    size_t forgot_at; /* first reference that was answered without knowing all blocks; else the length */
} engine_answers;

static inline engine_answers engine_answers_make(size_t length)
{
    engine_answers made = {malloc((length + 1) * sizeof(uint64_t)), malloc((length + 1) * sizeof(uint64_t)),
                           0, true, length};
    if (!made.distances || !made.times) abort();
    return made;
}

static inline void engine_answers_free(engine_answers *answers)
{
    free(answers->distances);
    free(answers->times);
}

static inline fm_engine_options engine_options_of(const recipe *made)
{
    return (fm_engine_options){.bound = made->bound,
                               .time_distances = made->times,
                               .seed = made->engine_seed,
                               .first_time = made->first_time};
}

/* Options of that engine alone, as users give them. */
static inline void engine_own_options(const fm_engine_ops *ops, const char *text, fm_engine_options *options)
{
    fm_error error;
    if (fm_own_options_parse(ops->info.name, ops->own, text, options->own, &error) == FM_OK) return;
    fprintf(stderr, "%s\n", error.reason);
    abort();
}

/* What every engine must answer, computed with the list engine; NULL, or what went wrong. */
static inline const char *engine_expect(const recipe *made, const uint64_t *trace, engine_answers *expected)
{
    fm_engine_options options = engine_options_of(made);
    fm_engine *list;
    if (fm_engine_list.create(&list, &options, NULL)) return "the list engine was not created";
    size_t done = 0;
    fm_status status = feed_blocks(&fm_engine_list, list, trace, made->length, expected->distances,
                                   expected->times, &done, NULL);
    expected->distinct = fm_engine_list.distinct(list);
    fm_engine_list.destroy(list);
    if (status || done != made->length) return "the list engine failed";
    expected->cold_known = true;
    expected->forgot_at = made->length;
    if (made->bound == 0 || expected->distinct <= made->seen_limit) return NULL;
    uint64_t distinct = 0;
    for (size_t i = 0; i < made->length; i++) {
        if (expected->distances[i] == FM_COLD && ++distinct > made->seen_limit) {
            if (expected->cold_known) expected->forgot_at = i;
            expected->cold_known = false;
            expected->distances[i] = FM_BEYOND;
            expected->times[i] = FM_BEYOND;
        }
    }
    expected->distinct = made->seen_limit;
    return NULL;
}

/* Feeds the recipe's trace in its random chunks. NULL, or what went wrong. */
static inline const char *engine_answer(const fm_engine_ops *ops, const char *isa, const recipe *made,
                                        const uint64_t *trace, engine_answers *got)
{
    fm_engine_options options = engine_options_of(made);
    options.isa = isa;
    fm_engine *engine;
    if (ops->create(&engine, &options, NULL)) return "the engine was not created";
    recipe_random random = {made->seed ^ 77};
    const char *wrong = NULL;
    for (size_t i = 0; i < made->length && !wrong;) {
        size_t chunk = 1 + recipe_below(&random, made->chunk_most), done = 12345678;
        if (chunk > made->length - i) chunk = made->length - i;
        if (feed_blocks(ops, engine, trace + i, chunk, got->distances + i,
                        made->times ? got->times + i : NULL, &done, NULL))
            wrong = "feed failed";
        else if (done != chunk)
            wrong = "feed took fewer references than it was given";
        i += chunk;
    }
    if (!wrong && ops->memory(engine) > ops->memory_peak(engine)) wrong = "memory is over its own peak";
    got->distinct = ops->distinct(engine);
    got->cold_known = ops->cold_known(engine);
    ops->destroy(engine);
    return wrong;
}

/*
 * The engine's other door, where it has one: counting without order, mixed at random with feeding. What
 * was fed must agree reference by reference, what was counted bin by bin. NULL, or what went wrong.
 */
static inline const char *engine_count_agrees(const fm_engine_ops *ops, const char *isa, const recipe *made,
                                              const uint64_t *trace, const engine_answers *expected)
{
    if (!ops->count) return NULL;
    fm_engine_options options = engine_options_of(made);
    options.isa = isa;
    options.time_distances = false;
    fm_engine *engine;
    fm_tally tally, wanted;
    uint64_t *distances = malloc((made->length + 1) * sizeof *distances);
    if (!distances) abort();
    recipe_random random = {made->seed ^ 55};
    fm_bins bins = (fm_bins)recipe_below(&random, 3);
    unsigned feed_one_in = recipe_chance(&random, 2) ? 1000000 : 2;
    if (ops->create(&engine, &options, NULL)) {
        free(distances);
        return "the engine was not created";
    }
    if (fm_tally_create(&tally, bins, NULL) || fm_tally_create(&wanted, bins, NULL)) abort();
    const char *wrong = NULL;
    for (size_t i = 0; i < made->length && !wrong;) {
        size_t chunk = 1 + recipe_below(&random, made->chunk_most), done = 12345678;
        if (chunk > made->length - i) chunk = made->length - i;
        if (recipe_chance(&random, feed_one_in)) {
            if (feed_blocks(ops, engine, trace + i, chunk, distances, NULL, &done, NULL))
                wrong = "feed between counts failed";
            else if (memcmp(distances, expected->distances + i, chunk * sizeof *distances) != 0)
                wrong = "wrong distances from a feed between counts";
        } else {
            if (count_blocks(ops, engine, trace + i, chunk, &tally, &done, NULL)) wrong = "count failed";
            if (fm_tally_add(&wanted, expected->distances + i, chunk, NULL)) abort();
        }
        if (!wrong && done != chunk) wrong = "count took fewer references than it was given";
        i += chunk;
    }
    if (!wrong && ops->catch_up && catch_up(ops, engine, &tally, NULL)) wrong = "catching up failed";
    if (!wrong && (tally.cold != wanted.cold || tally.beyond != wanted.beyond || tally.total != wanted.total))
        wrong = "count: wrong totals";
    for (uint64_t b = 0; b < tally.capacity && !wrong; b++)
        if (tally.counts[b] != (b < wanted.capacity ? wanted.counts[b] : 0)) wrong = "count: a wrong bin";
    if (!wrong && ops->distinct(engine) != expected->distinct)
        wrong = "count: wrong number of distinct blocks";
    if (!wrong && ops->cold_known(engine) != expected->cold_known) wrong = "count: wrong cold_known";
    fm_tally_clear(&tally);
    fm_tally_clear(&wanted);
    ops->destroy(engine);
    free(distances);
    return wrong;
}

/* True when all answers agree; otherwise says where not. */
static inline bool engine_answers_agree(const char *who, const recipe *made, const uint64_t *trace,
                                        const engine_answers *expected, const engine_answers *got)
{
    const char *what = NULL;
    size_t at = 0;
    uint64_t wanted = 0, found = 0;
    for (size_t i = 0; i < made->length && !what; i++) {
        if (got->distances[i] != expected->distances[i])
            what = "distance", at = i, wanted = expected->distances[i], found = got->distances[i];
        else if (made->times && got->times[i] != expected->times[i]) {
            /* Once blocks were forgotten, an engine need not know the last time of one beyond the bound. */
            bool forgiven =
                i >= expected->forgot_at && expected->distances[i] == FM_BEYOND && got->times[i] == FM_BEYOND;
            if (!forgiven) what = "time distance", at = i, wanted = expected->times[i], found = got->times[i];
        }
    }
    if (!what && got->distinct != expected->distinct)
        what = "distinct", at = made->length, wanted = expected->distinct, found = got->distinct;
    if (!what && got->cold_known != expected->cold_known)
        what = "cold_known", at = made->length, wanted = expected->cold_known, found = got->cold_known;
    if (!what) return true;
    fprintf(stderr,
            "%s: wrong %s at reference %zu: expected %" PRIu64 " (0x%" PRIx64 "), got %" PRIu64 " (0x%" PRIx64
            ")\n",
            who, what, at, wanted, wanted, found, found);
    recipe_print(made);
    if (made->length <= 40) {
        for (size_t i = 0; i < made->length; i++) fprintf(stderr, " %" PRIx64, trace[i]);
        fprintf(stderr, "\n");
    }
    return false;
}

/* What two tallies with the same bins do not agree on; NULL: nothing. */
static inline const char *engine_tallies_agree(const fm_tally *got, const fm_tally *wanted)
{
    if (got->cold != wanted->cold) return "wrong number of first touches";
    if (got->beyond != wanted->beyond) return "wrong number beyond the bound";
    if (got->total != wanted->total) return "wrong total";
    const uint64_t end = got->capacity > wanted->capacity ? got->capacity : wanted->capacity;
    for (uint64_t b = 0; b < end; b++)
        if ((b < got->capacity ? got->counts[b] : 0) != (b < wanted->capacity ? wanted->counts[b] : 0))
            return "a wrong bin";
    return NULL;
}

/* One way to run a recipe: NULL, or what was wrong; `how` describes the way. */
typedef const char *(*recipe_runner)(const recipe *made, const uint64_t *trace,
                                     const engine_answers *expected, char *how, size_t size);

/* Runs it with the list engine's answers, under the recipe's limit of blocks seen; says what was wrong. */
static inline bool recipe_agrees(const recipe *made, recipe_runner run)
{
    uint64_t *trace = recipe_trace(made);
    engine_answers expected = engine_answers_make(made->length);
    char how[512] = "";
    fm_seen_limit = made->seen_limit;
    const char *wrong = engine_expect(made, trace, &expected);
    if (!wrong) wrong = run(made, trace, &expected, how, sizeof how);
    fm_seen_limit = FM_SEEN_LIMIT;
    if (wrong) {
        fprintf(stderr, "%s: %s\n", wrong, how);
        recipe_print(made);
    }
    engine_answers_free(&expected);
    free(trace);
    return !wrong;
}

#endif
