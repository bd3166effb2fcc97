/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_option_values.c - options of the public calls: all members 0 is what NULL is, and works as far as
 * nothing must be named (a program, a pattern, a cache); a value that is none is FM_E_ARGUMENT, whatever else
 * it would have led to, and its reason names the member; and no reason of the library names an option of the
 * program.
 */
#include "case.h"

#include "trace_helpers.h"

#include <fathom/experimental.h>
#include <limits.h>
#include <math.h>

static fm_error error;

#define WRONG(call, wanted)                                                                                  \
    do {                                                                                                     \
        memset(&error, 0, sizeof error);                                                                     \
        assert_int_equal(call, FM_E_ARGUMENT);                                                               \
        if (!strstr(error.reason, wanted)) fail_msg("%s", error.reason);                                     \
        if (strstr(error.reason, "--")) fail_msg("an option of the program: %s", error.reason);              \
    } while (0)

CASE(analyzers)
{
    static const uint64_t edges[] = {0, 1};
    static const struct {
        fm_analyzer_options options;
        const char *reason;
    } wrong[] = {
        {{.bins = (fm_bins)7}, "fm_analyzer_options.bins: there is no value 7"},
        {{.bins = (fm_bins)-1}, "fm_analyzer_options.bins"},
        {{.threads = UINT_MAX}, "fm_analyzer_options.threads"},
        {{.threads = UINT_MAX, .engine = "parda"}, "fm_analyzer_options.threads"},
        {{.edge_count = 3}, "fm_analyzer_options.edge_count is 3"},
        {{.edges = edges, .edge_count = SIZE_MAX / 16}, "edges of ranges"},
        {{.granularity = UINT64_MAX}, "is not a power of two"},
        {{.granularity = 8, .elements = true}, "elements have no granularity but 1"},
        {{.engine = "shards", .engine_options = "samples=99999999999999999"},
         "samples: expected a whole number"},
    };
    fm_analyzer *analyzer;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        WRONG(fm_analyzer_create(&analyzer, &wrong[i].options, &error), wrong[i].reason);
        assert_null(analyzer);
    }
    for (size_t i = 0; i < 2; i++) {
        fm_profile *profile;
        assert_int_equal(fm_analyzer_create(&analyzer, i ? &(fm_analyzer_options){0} : NULL, &error), FM_OK);
        assert_int_equal(fm_analyzer_feed_blocks(analyzer, (const uint64_t[]){5, 6, 5}, 3, &error), FM_OK);
        assert_int_equal(fm_analyzer_profile(analyzer, &profile, &error), FM_OK);
        assert_int_equal(profile->references, 3);
        assert_int_equal(profile->distinct, 2);
        fm_profile_destroy(profile);
        fm_analyzer_destroy(analyzer);
    }
}

/* The same references without options as with options of which each member is 0. */
CASE(readers)
{
    const char *path = in_directory("table.csv");
    write_file(path, "a,key\n5,6\n7,8\n", 14);
    for (size_t i = 0; i < 2; i++) {
        gathered all;
        gather(&all, path, i ? &(fm_reader_options){0} : NULL);
        assert_int_equal(all.count, 2);
        assert_int_equal(all.address[0], 6);
        gathered_free(&all);
    }
    /* The header is none of the references, whoever names the column. */
    gathered all;
    gather(&all, path, &(fm_reader_options){.csv_key = "2"});
    assert_int_equal(all.count, 2);
    gathered_free(&all);
    gather(&all, path, &(fm_reader_options){.csv_key = "2", .csv_header = -1});
    assert_int_equal(all.count, 2);
    gathered_free(&all);
    gather(&all, path, &(fm_reader_options){.csv_key = "2", .csv_header = FM_CSV_HEADER_NO});
    assert_int_equal(all.count, 3);
    gathered_free(&all);
    fm_reader *reader;
    WRONG(fm_reader_open(&reader, path, &(fm_reader_options){.csv_header = 9}, &error),
          "fm_reader_options.csv_header: there is no value 9");
    WRONG(fm_reader_open(&reader, path, &(fm_reader_options){.fetches = (fm_fetches)9}, &error),
          "fm_reader_options.fetches");
    WRONG(fm_reader_open(&reader, path, &(fm_reader_options){.format = "x"}, &error), "no trace format 'x'");
    path = in_directory("three.csv");
    write_file(path, "a,lba,sectors\n5,6,7\n", 20);
    WRONG(fm_reader_open(&reader, path, &(fm_reader_options){.csv_size = "3"}, &error), "csv_key_unit and");
    write_file(path, "a,b,c\n5,6,7\n", 12);
    WRONG(fm_reader_open(&reader, path, NULL, &error), "say csv_key=COLUMN");
    path = in_directory("nothing");
    write_file(path, "1\n", 2);
    assert_int_equal(fm_reader_open(&reader, path, NULL, &error), FM_E_FORMAT);
    assert_non_null(strstr(error.reason, "fm_reader_options.format"));
}

CASE(writers)
{
    static const char *const names[] = {"a.fathom", "a.csv", "a.u64"};
    fm_writer *writer;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = in_directory(names[i]);
        for (unsigned bit = 0; bit < 32; bit++) {
            const unsigned column = 1U << bit;
            const bool known = column <= FM_COLUMN_SITE;
            const fm_status status =
                fm_writer_open(&writer, path, &(fm_writer_options){.columns = column}, &error);
            if (!known) assert_int_equal(status, FM_E_ARGUMENT);
            if (!known) assert_non_null(strstr(error.reason, "fm_writer_options.columns"));
            if (status != FM_OK) continue;
            /* What was opened can be read. */
            assert_int_equal(fm_writer_finish(writer, &error), FM_OK);
            fm_writer_close(writer);
            fm_reader *reader;
            assert_int_equal(fm_reader_open(&reader, path, NULL, &error), FM_OK);
            fm_reader_close(reader);
        }
    }
    WRONG(fm_writer_open(&writer, "x.fathom", &(fm_writer_options){.level = 99}, &error),
          "compression level");
}

CASE(other_options)
{
    fm_generator *generator;
    /* As the program's usual exponent. */
    const fm_generator_options usual = {.pattern = "zipf", .keys = 1000, .references = 1, .seed = 3},
                               named = {
                                   .pattern = "zipf", .keys = 1000, .references = 1, .seed = 3, .skew = 0.99};
    uint64_t keys[2];
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(fm_generator_create(&generator, i ? &usual : &named, &error), FM_OK);
        assert_int_equal(fm_generator_next(generator, &keys[i], 1), 1);
        fm_generator_destroy(generator);
    }
    assert_int_equal(keys[0], keys[1]);
    WRONG(fm_generator_create(&generator, &(fm_generator_options){.pattern = "zipf", .keys = 5, .skew = NAN},
                              &error),
          "Zipf exponent");
    fm_pipeline *pipeline;
    WRONG(fm_pipeline_create(&pipeline, &(fm_pipeline_options){.threads = SIZE_MAX}, &error), "threads");
    WRONG(fm_pipeline_create(&pipeline, &(fm_pipeline_options){.in_caller = 2}, &error),
          "fm_pipeline_options.in_caller");
    fm_virtual_sampler *sampler;
    assert_int_equal(fm_virtual_sampler_create(&sampler, &(fm_virtual_sampler_options){0}, &error), FM_OK);
    fm_virtual_sampler_destroy(sampler);
    WRONG(fm_virtual_sampler_create(&sampler, &(fm_virtual_sampler_options){.period = UINT64_MAX}, &error),
          "period");
    char *const program[] = {"/bin/true", NULL};
    fm_collection *collection;
    WRONG(fm_collection_start(&collection, &(fm_collect_options){0}, &error), "no program");
    WRONG(fm_collection_start(
              &collection, &(fm_collect_options){.command = program, .collector = (fm_collector)9}, &error),
          "fm_collect_options.collector");
    WRONG(
        fm_collection_start(&collection, &(fm_collect_options){.command = program, .columns = 0x80}, &error),
        "fm_collect_options.columns");
    WRONG(fm_collection_start(&collection, &(fm_collect_options){.command = program, .limit_seconds = -1},
                              &error),
          "fm_collect_options.limit_seconds");
    fm_sampled_run *run;
    WRONG(fm_sampled_run_start(&run, &(fm_sampled_run_options){0}, &error), "no program");
    WRONG(fm_sampled_run_start(&run, &(fm_sampled_run_options){.command = program, .granularity_count = 3},
                               &error),
          "fm_sampled_run_options.granularity_count is 3");
    WRONG(
        fm_sampled_run_start(
            &run, &(fm_sampled_run_options){.command = program, .method = (fm_sampled_run_method)9}, &error),
        "fm_sampled_run_options.method");
    WRONG(fm_sampled_run_start(&run, &(fm_sampled_run_options){.command = program, .rate = NAN}, &error),
          "rate, overhead and time");
}

CASES_WITH(make_directory, remove_directory);
