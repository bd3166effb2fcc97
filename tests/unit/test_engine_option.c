/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_engine_option.c - options of single engines: their tables are sound, texts are read as they say, and
 * what is wrong is refused with the names of engine and option.
 */
#include "case.h"

#include "engine/engine.h"

#include <fathom/experimental.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static size_t index_of(const char *engine, const char *name)
{
    const fm_engine_option *option;
    for (size_t i = 0; (option = fm_engine_option_at(engine, i)); i++)
        if (strcmp(option->name, name) == 0) return i;
    return SIZE_MAX;
}

/* Every engine's table: no name twice, a usual value that it takes itself, and friends that are there. */
CASE(test_tables)
{
    const fm_engine_info *engine;
    size_t options = 0;
    for (size_t e = 0; (engine = fm_engine_at(e)); e++) {
        const fm_engine_option *option;
        for (size_t i = 0; (option = fm_engine_option_at(engine->name, i)); i++) {
            char text[100], range[100];
            options++;
            assert_in_range(i, 0, FM_MOST_OWN_OPTIONS - 1);
            assert_int_equal(index_of(engine->name, option->name), i);
            assert_non_null(option->meaning);
            assert_null(strchr(option->meaning, '\n'));
            assert_true(strlen(fm_engine_option_range(option, range, sizeof range)) > 0);
            if (option->excludes) assert_int_not_equal(index_of(engine->name, option->excludes), SIZE_MAX);
            if (option->needs) assert_int_not_equal(index_of(engine->name, option->needs), SIZE_MAX);
            if (!option->usual || option->needs) continue;
            snprintf(text, sizeof text, "%s=%s", option->name, option->usual);
            fm_error error = {0};
            if (fm_engine_options_check(engine->name, text, &error)) fail_msg("%s", error.reason);
        }
    }
    assert_in_range(options, 10, 100);
    assert_null(fm_engine_option_at("exact", 0));
    assert_null(fm_engine_option_at(NULL, 0));
    assert_null(fm_engine_option_at("no such engine", 0));
}

static fm_option_value value_of(const char *engine, const char *text, const char *name)
{
    fm_option_value values[FM_MOST_OWN_OPTIONS];
    fm_error error;
    const fm_engine_ops *ops = fm_engine_find(engine);
    const size_t index = index_of(engine, name);
    assert_int_not_equal(index, SIZE_MAX);
    if (fm_own_options_parse(engine, ops->own, text, values, &error)) fail_msg("%s", error.reason);
    return (fm_option_value){values[index].given, fm_own_count(values, ops->own, index),
                             fm_own_real(values, ops->own, index)};
}

CASE(test_values)
{
    assert_true(value_of("shards", "rate=0.25", "rate").real == 0.25);
    assert_true(value_of("shards", "rate=1", "rate").real == 1);
    assert_true(value_of("shards", "rate=.5", "rate").real == 0.5);
    assert_true(value_of("shards", "rate=1e-3", "rate").real == 0.001);
    assert_int_equal(value_of("shards", "samples=8K,hashes=0x10", "samples").count, 8192);
    assert_int_equal(value_of("shards", "samples=8K,hashes=0x10", "hashes").count, 16);
    assert_int_equal(value_of("shards", "exact-below=0", "exact-below").count, 0);
    assert_int_equal(value_of("hp-rda", "disable-adjusting", "disable-adjusting").count, 1);
    assert_int_equal(value_of("hp-rda", "disable-adjusting=no", "disable-adjusting").count, 0);
    /* The last mention counts. */
    assert_int_equal(value_of("shards", "hashes=2,rate=0.1,hashes=7", "hashes").count, 7);
    /* Not given: the usual value. */
    static const char *const none[] = {NULL, "", "rate=0.1"};
    for (size_t i = 0; i < 3; i++) {
        assert_false(value_of("shards", none[i], "hashes").given);
        assert_int_equal(value_of("shards", none[i], "hashes").count, 4);
        assert_int_equal(value_of("shards", none[i], "exact-below").count, 4096);
        assert_int_equal(value_of("shards", none[i], "samples").count, 0);
    }
    assert_true(value_of("approx", NULL, "error").real == 0.01);
    assert_int_equal(value_of("hp-rda", NULL, "trace-size").count, UINT64_C(1) << 26);
    assert_int_equal(value_of("hp-rda-gpu", "card=3", "trace-size").count, UINT64_C(1) << 26);
}

CASE(test_refusals)
{
    static const struct {
        const char *engine, *text, *reason;
    } bad[] = {
        {"shards", "rate=2", "engine shards: rate: expected a number over 0 and up to 1, found '2'"},
        {"shards", "rate=0", "engine shards: rate: expected a number over 0 and up to 1, found '0'"},
        {"shards", "rate=nan", "engine shards: rate: expected a number over 0 and up to 1, found 'nan'"},
        {"shards", "rate= 1", "engine shards: rate: expected a number over 0 and up to 1, found ' 1'"},
        {"shards", "rate=0.1x", "engine shards: rate: expected a number over 0 and up to 1, found '0.1x'"},
        {"shards", "rate=", "engine shards: rate: expected a number over 0 and up to 1, found ''"},
        {"shards", "rate", "engine shards: rate needs a value: a number over 0 and up to 1"},
        {"shards", "hashes=33", "engine shards: hashes: expected a whole number from 1 to 32, found '33'"},
        {"shards", "hashes=0", "engine shards: hashes: expected a whole number from 1 to 32, found '0'"},
        {"shards", "samples=2G", "engine shards: samples: expected a whole number from 1 to 1G, found '2G'"},
        {"shards", "rate=0.1,samples=5", "engine shards: rate and samples: one of them, not both"},
        {"shards", "rats=1",
         "the engine shards has no option 'rats'; it has rate, samples, hashes, exact-below, hash-seed"},
        {"shards", "cutoff=1", "the engine shards has no option 'cutoff': that one is for approx"},
        {"exact", "rate=1", "the engine exact has no option 'rate': that one is for shards, aet"},
        {NULL, "rate=1", "the engine exact has no option 'rate': that one is for shards, aet"},
        {"exact", "x=1", "the engine exact has no option 'x'; it has none"},
        {"approx", "error=1",
         "engine approx: error: expected a number between 0 and 1, both excluded, found '1'"},
        {"approx", "abs-error=0", "engine approx: abs-error: expected a whole number, at least 1, found '0'"},
        {"approx", "cutoff=5", "engine approx: cutoff goes with abs-error only"},
        {"hp-rda", "disable-adjusting=1", "engine hp-rda: disable-adjusting: expected yes or no, found '1'"},
        {"hp-rda", "card=1", "the engine hp-rda has no option 'card': that one is for gpu, hp-rda-gpu"},
        {"shards", "rate=1,,hashes=2",
         "engine shards: expected NAME=VALUE,… of options, found 'rate=1,,hashes=2'"},
        {"shards", "rate=1,", NULL},
        {"shards", "=1", NULL},
        {"nothing", "", "there is no engine 'nothing'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fm_error error = {0};
        fm_analyzer *analyzer;
        fm_analyzer_options options = {.engine = bad[i].engine, .engine_options = bad[i].text};
        assert_int_equal(fm_engine_options_check(bad[i].engine, bad[i].text, &error), FM_E_ARGUMENT);
        if (bad[i].reason) assert_string_equal(error.reason, bad[i].reason);
        assert_int_equal(fm_analyzer_create(&analyzer, &options, &error), FM_E_ARGUMENT);
        if (bad[i].reason) assert_string_equal(error.reason, bad[i].reason);
        assert_null(analyzer);
    }
    /* Longer than any option. */
    char text[1000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(fm_engine_options_check("shards", text, NULL), FM_E_ARGUMENT);
}

/* A program that uses the library may have another decimal point. */
CASE(test_locale)
{
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    for (size_t i = 0; i < 3; i++) {
        if (!setlocale(LC_ALL, locales[i])) continue; /* not installed here */
        assert_true(value_of("shards", "rate=0.25", "rate").real == 0.25);
    }
    setlocale(LC_ALL, "C");
}

CASE(test_counts)
{
    uint64_t value;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},
                {"64", 64},
                {"0x40", 64},
                {"0X4f", 79},
                {"4K", 4096},
                {"1m", 1 << 20},
                {"3G", UINT64_C(3) << 30},
                {"2T", UINT64_C(2) << 40},
                {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {
        "",          "-1", "+1", " 1", "1 ", "1KB", "K", "0x", "1.5", "1k1", "18446744073709551616",
        "16777216T", "1q"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(fm_parse_count(good[i].text, &value));
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (fm_parse_count(bad[i], &value)) fail_msg("'%s' is a count", bad[i]);
}
