/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_predict.c - fathom predict: the profile that a model expects for data of another size, which is given,
 * or found by sampling the beginning of a trace.
 */
#include "results.h"

#include <inttypes.h>
#include <string.h>

typedef struct predict_options {
    const char *json, *report, *output, *trace_path, *bins;
    double data_size;
    uint64_t threshold, samples, peaks;
    bool progress;
    cli_trace_options trace;
} predict_options;

/* What --data-size was taken for. */
static void say_unit(const fm_model *model, double size)
{
    bool blocks = true; /* unless fathom train was given other sizes */
    for (size_t i = 0; i < model->run_count; i++)
        blocks &= model->runs[i].size == (double)model->runs[i].distinct;
    const double least = model->run_count ? model->runs[0].size : 0,
                 most = model->run_count ? model->runs[model->run_count - 1].size : 0;
    if (blocks && model->granularity > 1)
        cli_note("--data-size: %.0f distinct blocks of %" PRIu64
                 " bytes, %.6g MiB; the model's runs had %.0f to %.0f",
                 size, model->granularity, size * (double)model->granularity / 1048576, least, most);
    else if (blocks)
        cli_note("--data-size: %.0f distinct keys; the model's runs had %.0f to %.0f", size, least, most);
    else
        cli_note(
            "--data-size: %.6g, in the unit of fathom train --data-size; the model's runs had %.6g to %.6g",
            size, least, most);
}

static int predict_with(const fm_model *model, cli_job *job, const predict_options *options,
                        const fm_reader_options *reading)
{
    const fm_sampler_options sampling = {.threshold = options->threshold,
                                         .samples = (unsigned)options->samples,
                                         .peaks = (unsigned)options->peaks};
    fm_error error;
    fm_status status = FM_OK;
    double size = options->data_size;
    if (options->trace_path)
        status = fm_job_find_size(job->job, model, options->trace_path, reading, &sampling, &size, &error);
    else
        say_unit(model, size);
    if (status == FM_OK) status = fm_job_predict(job->job, model, size, &error);
    return cli_job_end(job, status, &error);
}

static int predict_profile(const char *path, const predict_options *options, fm_bins bins)
{
    static const cli_attribution_options no_attribution;
    const cli_results results = {.json = options->json,
                                 .report = options->report,
                                 .output = options->output,
                                 .attribution = &no_attribution};
    const fm_job_options analysis = {.bins = bins};
    fm_reader_options reading;
    fm_model *model;
    fm_error error;
    cli_job job;
    if (fm_model_read(path, &model, &error)) return cli_fail(&error);
    int code = cli_reader_options(&options->trace, &reading);
    if (code < 0) code = cli_results_check(&results);
    if (code < 0) code = cli_results_try(&results);
    if (code < 0) code = cli_job_begin(&job, &results, &analysis, options->progress);
    if (code < 0) {
        code = predict_with(model, &job, options, &reading);
        cli_job_destroy(&job);
    }
    fm_model_destroy(model);
    return code;
}

int cli_verb_predict(int argc, char **argv)
{
    predict_options options = {0};
    const char *size = NULL;
    const cli_option table[] = {
        {"data-size", CLI_TO(&size), .help = "size of the data in blocks, or in train's unit"},
        {"size-from", CLI_TO(&options.trace_path)},
        {"threshold", CLI_TO(&options.threshold), .help = "--size-from: look at distances over this only"},
        {"data-samples", CLI_TO(&options.samples)},
        {"peaks", CLI_TO(&options.peaks)},
        {"json", CLI_TO(&options.json)},
        {"report", CLI_TO(&options.report)},
        {"output", CLI_TO(&options.output), .usual = "stdout"},
        {"bins", CLI_TO(&options.bins), .help = "histogram: log2 or loglinear"},
        {"quiet", CLI_TO(&cli_quiet)},
        {"progress", CLI_TO(&options.progress)},
        CLI_TRACE_OPTIONS(&options.trace),
        {"sample", CLI_OLD("size-from")},
        {"samples", CLI_OLD("data-samples")},
        {0},
    };
    const cli_command command = {
        .usage = "fathom predict [options] MODEL",
        .about = "The profile that a model (fathom train) expects for data of another size. It is\n"
                 "a profile like any other, marked as predicted, with the accuracy to be expected.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete input",
        .notes = "Examples:\n"
                 "  fathom predict solve.model --data-size 1M --json huge.json\n"
                 "  fathom predict solve.model --size-from huge.fathom\n",
        .least = 1,
        .reads = CLI_READS_MODEL,
        .most = 1,
    };
    size_t count;
    fm_bins bins = FM_BINS_LOGLINEAR;
    uint64_t number = 0;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if (!size == !options.trace_path) return cli_misuse("expected one of --data-size and --size-from");
    if (size && (!cli_parse_count(size, &number) || number == 0))
        return cli_misuse("--data-size: expected a number such as 1000 or 4K, found '%s'", size);
    if (!options.trace_path && (options.threshold || options.samples || options.peaks))
        return cli_misuse("--threshold, --data-samples and --peaks go with --size-from only");
    if (options.samples > FM_MOST_DATA_SAMPLES)
        return cli_misuse("--data-samples: expected at most %d", FM_MOST_DATA_SAMPLES);
    if (options.peaks > UINT32_MAX) return cli_misuse("--peaks: that is too many");
    if (options.bins && (!fm_bins_from_name(options.bins, &bins) || bins == FM_BINS_EXACT))
        return cli_misuse("--bins: expected loglinear or log2, found '%s'", options.bins);
    options.data_size = (double)number;
    return cli_finish(predict_profile(argv[1], &options, bins));
}
