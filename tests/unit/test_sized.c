/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sized.c - programs that were compiled with an older or a newer header: their structs are shorter or
 * longer than the library's. Structs lie in blocks of the heap of just their size, so that the sanitizers see
 * what is read or written beyond them.
 */
#include "case.h"

#include "unit/trace_helpers.h"

#include "base/error.h"
#include "cluster/team.h"
#include "cluster/transport.h"
#include "collect/collection.h"

#include <fathom/experimental.h>

enum { MORE = 24, KEYS = 1000, PERIOD = 10 };

/* `size` bytes with the first ones of `from`, and `fill` behind it. */
static void *resized(const void *from, size_t from_size, size_t size, int fill)
{
    unsigned char *made = malloc(size ? size : 1);
    assert_non_null(made);
    memset(made, fill, size);
    memcpy(made, from, from_size < size ? from_size : size);
    return made;
}

/* ---- the helpers ---- */

CASE(every_size_is_copied_or_zeroed)
{
    unsigned char own[16], given[32];
    for (size_t i = 0; i < sizeof given; i++) given[i] = (unsigned char)(i < sizeof own ? i + 1 : 0);
    for (size_t size = 0; size <= sizeof given; size++) {
        void *block = resized(given, sizeof given, size, 0);
        memset(own, 0xAA, sizeof own);
        assert_int_equal(fm_sized_read(own, sizeof own, block, size, "x", NULL), FM_OK);
        for (size_t i = 0; i < sizeof own; i++) assert_int_equal(own[i], i < size ? i + 1 : 0);
        free(block);
    }
    memset(own, 0xAA, sizeof own);
    assert_int_equal(fm_sized_read(own, sizeof own, NULL, 999, "x", NULL), FM_OK);
    for (size_t i = 0; i < sizeof own; i++) assert_int_equal(own[i], 0);
}

CASE(any_unknown_byte_is_refused)
{
    unsigned char own[16], given[32] = {7};
    for (size_t i = 0; i < sizeof given; i++) {
        fm_error error;
        char byte[24];
        given[i] = given[i] ? given[i] : 1;
        const fm_status status = fm_sized_read(own, sizeof own, given, sizeof given, "fm_some", &error);
        assert_int_equal(status, i < sizeof own ? FM_OK : FM_E_UNSUPPORTED);
        assert_int_equal(own[0], 7);
        if (status != FM_OK) {
            snprintf(byte, sizeof byte, "byte %zu of fm_some", i);
            assert_non_null(strstr(error.reason, byte));
        }
        if (i > 0) given[i] = 0;
    }
}

/* ---- options: every call that takes some ---- */

static uint64_t keys[KEYS]; /* 0 1 … PERIOD-1, again and again */
static fm_profile *profiles[2];
static const char *path; /* of a trace of the keys */
static FILE *nowhere;

static fm_status try_analyzer(const void *options, size_t size, fm_error *error)
{
    fm_analyzer *analyzer;
    fm_profile *profile;
    fm_status status = fm_analyzer_create_sized(size, &analyzer, options, error);
    if (status != FM_OK) return status;
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, keys, KEYS, error), FM_OK);
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, error), FM_OK);
    assert_string_equal(profile->engine, "tree");
    assert_int_equal(profile->granularity, 64);
    assert_int_equal(profile->bound, 0);
    assert_false(profile->has_times);
    assert_int_equal(profile->cold, PERIOD);
    assert_int_equal(profile->distances.count, 1);
    assert_int_equal(profile->distances.bins[0].lo, PERIOD - 1);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
    return FM_OK;
}

static fm_status try_reader(const void *options, size_t size, fm_error *error)
{
    fm_reader *reader;
    fm_batch batch;
    fm_status status = fm_reader_open_sized(size, &reader, path, options, error);
    if (status != FM_OK) return status;
    assert_int_equal(fm_reader_next(reader, &batch, error), FM_OK);
    assert_int_equal(batch.count, KEYS);
    fm_reader_close(reader);
    return FM_OK;
}

static fm_status try_divisible(const void *options, size_t size, fm_error *error)
{
    fm_trace_extent extent;
    fm_status status = fm_trace_divisible_sized(size, sizeof extent, path, options, &extent, error);
    if (status == FM_OK) assert_int_equal(extent.references, KEYS);
    return status;
}

static fm_status try_writer(const void *options, size_t size, fm_error *error)
{
    fm_writer *writer;
    fm_status status = fm_writer_open_sized(size, &writer, in_directory("written"), options, error);
    if (status == FM_OK) fm_writer_close(writer);
    return status;
}

static fm_status try_generator(const void *options, size_t size, fm_error *error)
{
    fm_generator *generator;
    uint64_t made[KEYS + 1];
    fm_status status = fm_generator_create_sized(size, &generator, options, error);
    if (status != FM_OK) return status;
    assert_int_equal(fm_generator_next(generator, made, KEYS + 1), KEYS);
    fm_generator_destroy(generator);
    return FM_OK;
}

/* There is no command: that is found out after the options were taken. */
static fm_status try_collection(const void *options, size_t size, fm_error *error)
{
    fm_collection *collection;
    fm_status status = fm_collection_start_sized(size, &collection, options, error);
    assert_int_not_equal(status, FM_OK);
    return status == FM_E_ARGUMENT ? FM_OK : status;
}

static fm_status try_training(const void *options, size_t size, fm_error *error)
{
    fm_model *model;
    fm_status status =
        fm_model_train_sized(size, &model, (const fm_profile *const *)profiles, 2, options, error);
    if (status != FM_OK) return status;
    assert_int_equal(model->share_count, 10);
    fm_model_destroy(model);
    return FM_OK;
}

static fm_status try_sampler(const void *options, size_t size, fm_error *error)
{
    fm_sampler *sampler;
    fm_status status = fm_sampler_create_sized(size, &sampler, options, error);
    if (status == FM_OK) fm_sampler_destroy(sampler);
    return status;
}

static fm_status try_curve(const void *options, size_t size, fm_error *error)
{
    return fm_view_curve_sized(size, nowhere, profiles[0], options, error);
}

static fm_status try_pairs(const void *options, size_t size, fm_error *error)
{
    const fm_cache cache = {.name = "L1", .bytes = 1024};
    return fm_view_pairs_sized(size, nowhere, profiles[0], &cache, 3, options, error);
}

static fm_status try_report(const void *options, size_t size, fm_error *error)
{
    if (!fm_report_available()) return size > sizeof(fm_report_options) ? FM_E_UNSUPPORTED : FM_OK;
    return fm_report_write_page_sized(size, nowhere, options, (const fm_profile *const *)profiles, 2, NULL, 0,
                                      error);
}

static fm_status try_cluster_with(const void *work, size_t work_size, size_t reading_size,
                                  size_t listener_size, fm_error *error)
{
    fm_local_cluster *local;
    fm_profile *profile = NULL;
    bool memory;
    assert_int_equal(fm_local_cluster_create(&local, 1, NULL), FM_OK);
    fm_cluster cluster = {.transport = fm_local_cluster_rank(local, 0)};
    fm_status status = fm_cluster_analyze_sized(work_size, reading_size, listener_size, &cluster, work,
                                                &profile, &memory, error);
    if (status == FM_OK) assert_int_equal(profile->cold, PERIOD);
    fm_profile_destroy(profile);
    fm_local_cluster_destroy(local);
    return status;
}

static fm_reader_options reading = {.format = "u64"};

static fm_status try_cluster(const void *work, size_t size, fm_error *error)
{
    return try_cluster_with(work, size, sizeof reading, sizeof(fm_cluster_listener), error);
}

static fm_status try_cluster_reading(const void *options, size_t size, fm_error *error)
{
    const fm_cluster_work work = {.path = path, .reading = options, .threads = 1};
    return try_cluster_with(&work, sizeof work, size, 0, error);
}

static fm_status try_cluster_listener(const void *listener, size_t size, fm_error *error)
{
    const fm_cluster_work work = {.path = path, .reading = &reading, .threads = 1, .listener = listener};
    return try_cluster_with(&work, sizeof work, sizeof reading, size, error);
}

/* Without options ranks read as a reader without options does: it looks for a header, which is no key. */
CASE(ranks_without_options_read_as_readers_do)
{
    static const char table[] = "key\n5\n7\n5\n";
    const char *name = in_directory("table.csv");
    write_file(name, table, sizeof table - 1);
    fm_local_cluster *local;
    fm_profile *profile = NULL;
    bool memory;
    assert_int_equal(fm_local_cluster_create(&local, 1, NULL), FM_OK);
    fm_cluster cluster = {.transport = fm_local_cluster_rank(local, 0)};
    const fm_cluster_work work = {.path = name, .threads = 1};
    assert_int_equal(fm_cluster_analyze(&cluster, &work, &profile, &memory, NULL), FM_OK);
    assert_int_equal(profile->references, 3);
    assert_int_equal(profile->cold, 2);
    fm_profile_destroy(profile);
    fm_local_cluster_destroy(local);
}

/* A struct as an older program has it ends behind the last member that is set here. */
#define UNTIL(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

static const fm_analyzer_options analyzer_options = {.engine = "tree", .granularity = 64};
static const fm_writer_options writer_options = {.format = "u64"};
static const fm_generator_options generator_options = {
    .pattern = "cyclic", .keys = PERIOD, .references = KEYS};
static const fm_collect_options collect_options = {.collector = FM_COLLECTOR_VALGRIND};
static const fm_training_options training_options = {.percent = 10};
static const fm_sampler_options sampler_options = {.threshold = 10};
static const fm_view_options view_options = {.width = 60};
static const fm_report_options report_options = {.title = "title"};
static const fm_cluster_listener listener;
static fm_cluster_work cluster_work = {.reading = &reading, .threads = 1};

static const struct call {
    const char *name;
    fm_status (*try)(const void *options, size_t size, fm_error *error);
    const void *options;
    size_t least, size;
} calls[] = {
    {"analyzer", try_analyzer, &analyzer_options, UNTIL(fm_analyzer_options, granularity),
     sizeof analyzer_options},
    {"reader", try_reader, &reading, UNTIL(fm_reader_options, format), sizeof reading},
    {"divisible", try_divisible, &reading, UNTIL(fm_reader_options, format), sizeof reading},
    {"writer", try_writer, &writer_options, UNTIL(fm_writer_options, format), sizeof writer_options},
    {"generator", try_generator, &generator_options, UNTIL(fm_generator_options, references),
     sizeof generator_options},
    {"collection", try_collection, &collect_options, UNTIL(fm_collect_options, collector),
     sizeof collect_options},
    {"training", try_training, &training_options, UNTIL(fm_training_options, percent),
     sizeof training_options},
    {"sampler", try_sampler, &sampler_options, UNTIL(fm_sampler_options, threshold), sizeof sampler_options},
    {"curve", try_curve, &view_options, UNTIL(fm_view_options, width), sizeof view_options},
    {"pairs", try_pairs, &view_options, UNTIL(fm_view_options, width), sizeof view_options},
    {"report", try_report, &report_options, UNTIL(fm_report_options, title), sizeof report_options},
    {"cluster", try_cluster, &cluster_work, UNTIL(fm_cluster_work, threads), sizeof cluster_work},
    {"reading", try_cluster_reading, &reading, UNTIL(fm_reader_options, format), sizeof reading},
    {"listener", try_cluster_listener, &listener, UNTIL(fm_cluster_listener, context), sizeof listener},
};
enum { CALLS = sizeof calls / sizeof *calls };

CASE(older_programs_are_understood)
{
    for (size_t i = 0; i < CALLS; i++) {
        fm_error error = {0};
        void *older = resized(calls[i].options, calls[i].size, calls[i].least, 0);
        const fm_status status = calls[i].try(older, calls[i].least, &error);
        if (status != FM_OK) fail_msg("%s: %s", calls[i].name, error.reason);
        free(older);
    }
}

CASE(newer_programs_that_want_nothing_new_are_served)
{
    for (size_t i = 0; i < CALLS; i++) {
        fm_error error = {0};
        void *newer = resized(calls[i].options, calls[i].size, calls[i].size + MORE, 0);
        const fm_status status = calls[i].try(newer, calls[i].size + MORE, &error);
        if (status != FM_OK) fail_msg("%s: %s", calls[i].name, error.reason);
        free(newer);
    }
}

CASE(newer_programs_that_want_more_are_told)
{
    for (size_t i = 0; i < CALLS; i++) {
        fm_error error = {0};
        unsigned char *newer = resized(calls[i].options, calls[i].size, calls[i].size + MORE, 0);
        newer[calls[i].size + MORE - 1] = 1;
        const fm_status status = calls[i].try(newer, calls[i].size + MORE, &error);
        if (status != FM_E_UNSUPPORTED) fail_msg("%s: status %d", calls[i].name, (int)status);
        if (calls[i].try != try_report || fm_report_available())
            assert_non_null(strstr(error.reason, "the program is newer than libfathom"));
        free(newer);
    }
}

/* What returns nothing does what it knows. */
static char *shown(const void *options, size_t size)
{
    char *text;
    size_t length;
    const fm_cache cache = {.name = "\xC3\xA9", .bytes = 1024};
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    fm_view_text_sized(size, out, "\xC3\xA9", options);
    fm_view_histogram_sized(size, out, profiles[0], options);
    fm_view_caches_sized(size, out, profiles[0], &cache, 1, options);
    fm_view_parts_sized(size, out, profiles[0], &cache, 1, options);
    assert_int_equal(fclose(out), 0);
    return text;
}

CASE(views_do_what_they_know)
{
    const fm_view_options options = {.width = 60, .unicode = true}, plain = {.width = 60};
    void *newer = resized(&options, sizeof options, sizeof options + MORE, 1);
    void *older = resized(&options, sizeof options, UNTIL(fm_view_options, width), 0);
    char *with = shown(&options, sizeof options), *without = shown(&plain, sizeof plain);
    char *of_newer = shown(newer, sizeof options + MORE),
         *of_older = shown(older, UNTIL(fm_view_options, width));
    assert_string_not_equal(with, without);
    assert_string_equal(of_newer, with);
    assert_string_equal(of_older, without);
    free(newer), free(older), free(with), free(without), free(of_newer), free(of_older);
}

/* ---- results: every call that fills in some ---- */

static fm_reader *reader;
static fm_model *model;
static fm_collection collection = {.collector = FM_COLLECTOR_COMPILER, .version = "some", .ended = true};

static void ask_info(void *result, size_t size)
{
    fm_reader_info_sized(size, reader, result);
}
static void ask_check(void *result, size_t size)
{
    assert_int_equal(fm_trace_check_sized(size, in_directory("native"), NULL, NULL, result, NULL), FM_OK);
}
static void ask_extent(void *result, size_t size)
{
    assert_int_equal(fm_trace_divisible_sized(0, size, path, NULL, result, NULL), FM_OK);
}
static void ask_comparison(void *result, size_t size)
{
    assert_int_equal(fm_profile_compare_sized(size, profiles[0], profiles[0], result, NULL), FM_OK);
}
static void ask_expectation(void *result, size_t size)
{
    assert_int_equal(fm_model_expect_sized(size, model, 20, result, NULL), FM_OK);
}
static void ask_process(void *result, size_t size)
{
    fm_collection_process_sized(size, &collection, 0, result);
}
static void ask_state(void *result, size_t size)
{
    fm_collection_state_get_sized(size, &collection, result);
}
static void ask_next(void *result, size_t size)
{
    assert_int_equal(fm_collection_next_sized(size, &collection, result, NULL), FM_OK);
}

/* Where a value is that is not 0, and its bytes. */
static const struct question {
    const char *name;
    void (*ask)(void *result, size_t size);
    size_t size, offset, bytes;
    uint64_t value;
} questions[] = {
#define ANSWER(type, member, number) sizeof(type), offsetof(type, member), sizeof(((type *)0)->member), number
    {"info", ask_info, ANSWER(fm_trace_info, references, KEYS)},
    {"check", ask_check, ANSWER(fm_check_result, references, KEYS)},
    {"extent", ask_extent, ANSWER(fm_trace_extent, bytes, KEYS * 8)},
    {"comparison", ask_comparison, ANSWER(fm_comparison, overlap, UINT64_C(0x3FF0000000000000))},
    {"expectation", ask_expectation, ANSWER(fm_expectation, sizes, 2)},
    {"process", ask_process, ANSWER(fm_collected_process, parent, FM_NONE)},
    {"state", ask_state, ANSWER(fm_collection_state, collector, FM_COLLECTOR_COMPILER)},
    {"next", ask_next, ANSWER(fm_collected, event, FM_COLLECTED_END)},
};

CASE(results_fit_into_what_the_program_has)
{
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        const struct question *question = &questions[i];
        const size_t sizes[] = {question->offset + question->bytes, question->size, question->size + MORE};
        for (size_t s = 0; s < 3; s++) {
            unsigned char *result = resized("", 0, sizes[s], 0xAA);
            uint64_t value = 0;
            question->ask(result, sizes[s]);
            memcpy(&value, result + question->offset, question->bytes);
            if (value != question->value) fail_msg("%s: %llu", question->name, (unsigned long long)value);
            for (size_t j = question->size; j < sizes[s]; j++) assert_int_equal(result[j], 0);
            free(result);
        }
    }
}

/* Results that are handed back: what the library does not know may hold anything. */
CASE(results_are_taken_back)
{
    fm_error error;
    const fm_collected collected = {.process = 5};
    void *newer = resized(&collected, sizeof collected, sizeof collected + MORE, 1);
    assert_int_equal(
        fm_collection_count_late_sized(sizeof collected + MORE, &collection, newer, NULL, 0, &error),
        FM_E_ARGUMENT);
    assert_string_equal(error.reason, "there is no process number 5");
    free(newer);
    const fm_comparison comparison = {.overlap = 0.25, .curve_mean = 0.75};
    void *longer = resized(&comparison, sizeof comparison, sizeof comparison + MORE, 1);
    void *shorter = resized(&comparison, sizeof comparison, UNTIL(fm_comparison, overlap), 0);
    for (int json = 0; json < 2; json++) {
        char *texts[3];
        const void *given[] = {&comparison, longer, shorter};
        const size_t sizes[] = {sizeof comparison, sizeof comparison + MORE, UNTIL(fm_comparison, overlap)};
        for (int i = 0; i < 3; i++) {
            size_t length;
            FILE *out = open_memstream(&texts[i], &length);
            assert_non_null(out);
            (json ? fm_view_comparison_json_sized : fm_view_comparison_sized)(sizes[i], out, given[i], "a",
                                                                              "b");
            assert_int_equal(fclose(out), 0);
        }
        assert_string_equal(texts[0], texts[1]);
        assert_non_null(strstr(texts[0], "0.75"));
        assert_non_null(strstr(texts[2], "0.25"));
        assert_null(strstr(texts[2], "0.75"));
        for (int i = 0; i < 3; i++) free(texts[i]);
    }
    free(longer), free(shorter);
}

/* ---- what they work on ---- */

static fm_profile *cyclic(uint64_t period)
{
    fm_analyzer *analyzer;
    fm_profile *profile;
    const fm_analyzer_options options = {.granularity = 1};
    assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
    for (uint64_t i = 0; i < 100 * period; i++) {
        const uint64_t block = i % period;
        assert_int_equal(fm_analyzer_feed_blocks(analyzer, &block, 1, NULL), FM_OK);
    }
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
    fm_analyzer_destroy(analyzer);
    return profile;
}

static int begin(void **state)
{
    if (make_directory(state) != 0) return -1;
    for (size_t i = 0; i < KEYS; i++) keys[i] = i % PERIOD;
    static char kept[256];
    snprintf(kept, sizeof kept, "%s", in_directory("keys.u64"));
    path = cluster_work.path = kept;
    write_file(path, keys, sizeof keys);
    fm_writer *writer;
    const fm_batch batch = {.count = KEYS, .address = keys};
    const fm_writer_options options = {.format = "fathom"};
    fm_batch read;
    const fm_training_options training = {.percent = 10};
    nowhere = fopen("/dev/null", "w");
    profiles[0] = cyclic(20);
    profiles[1] = cyclic(40);
    return nowhere && fm_writer_open(&writer, in_directory("native"), &options, NULL) == FM_OK &&
                   fm_writer_append(writer, &batch, NULL) == FM_OK &&
                   fm_writer_finish(writer, NULL) == FM_OK && (fm_writer_close(writer), true) &&
                   fm_reader_open(&reader, path, NULL, NULL) == FM_OK &&
                   fm_reader_next(reader, &read, NULL) == FM_OK &&
                   fm_model_train(&model, (const fm_profile *const *)profiles, 2, &training, NULL) == FM_OK
               ? 0
               : -1;
}

static int end(void **state)
{
    fm_reader_close(reader);
    fm_model_destroy(model);
    for (size_t i = 0; i < 2; i++) fm_profile_destroy(profiles[i]);
    fclose(nowhere);
    return remove_directory(state);
}

CASES_WITH(begin, end);
