/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_predict.c - fathom predict: the profile that a model expects for data of another size, which is given,
 * or found by sampling the beginning of a trace.
 */
#include "cli.h"
#include "distance_stream.h"

#include <inttypes.h>
#include <string.h>

typedef struct predict_options {
    const char *json, *trace_path, *bins;
    double data_size;
    uint64_t threshold, samples, peaks;
    bool progress;
    cli_trace_options trace;
} predict_options;

/* ---- the size of the data ---- */

typedef struct sampling {
    fm_sampler *sampler;
    bool found;
} sampling;

static fm_status sample(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                        fm_error *error)
{
    sampling *self = context;
    uint64_t size, after;
    fm_status status = fm_sampler_feed(self->sampler, blocks, distances, count, error);
    self->found = fm_sampler_found(self->sampler, &size, &after);
    return status;
}

/* From distinct blocks, which the sampler finds, to the unit of the model's sizes. */
static double in_units_of(const fm_model *model, double blocks)
{
    return model->distinct_e > 0 ? (blocks - model->distinct_c) / model->distinct_e : blocks;
}

static int report_size(const sampling *self, const cli_distance_stream *stream, const fm_model *model,
                       const predict_options *options, double *size)
{
    uint64_t blocks, after;
    if (!fm_sampler_found(self->sampler, &blocks, &after)) {
        cli_complain("%s: no size was found: %" PRIu64
                     " data samples with a peak over the threshold of %" PRIu64
                     " blocks are needed; --data-size tells it, --threshold lowers what is looked for",
                     options->trace_path, options->samples ? options->samples : 2, options->threshold);
        return CLI_FAILED;
    }
    *size = in_units_of(model, (double)blocks);
    const double share = stream->references ? (double)after / (double)stream->references : 1;
    cli_note("data of size %.6g (%" PRIu64 " blocks), found after %" PRIu64 " of %" PRIu64
             " references: a coverage of %.2f %%",
             *size, blocks, after, stream->references, 100 * (1 - share));
    return -1;
}

/* What was found in the trace is in `stream` afterwards. */
static int find_size(const fm_model *model, predict_options *options, cli_distance_stream *stream,
                     double *size)
{
    fm_error error;
    sampling self = {0};
    *stream = (cli_distance_stream){.path = options->trace_path,
                                    .granularity = model->granularity,
                                    .elements = model->elements,
                                    .progress = options->progress,
                                    .take = sample,
                                    .context = &self,
                                    .enough = &self.found};
    int code = cli_reader_options(&options->trace, &stream->reading);
    if (code >= 0) return code;
    /* What is far for the smallest run that was seen is no detail. */
    if (options->threshold == 0) options->threshold = model->runs[0].distinct / 2;
    fm_sampler_options sampler = {.threshold = options->threshold,
                                  .samples = (unsigned)options->samples,
                                  .peaks = (unsigned)options->peaks};
    if (fm_sampler_create(&self.sampler, &sampler, &error)) return cli_fail(&error);
    code = cli_distance_stream_run(stream);
    if (code < 0) code = report_size(&self, stream, model, options, size);
    fm_sampler_destroy(self.sampler);
    return code;
}

/* ---- the profile ---- */

static int deliver(const fm_model *model, double size, const cli_distance_stream *stream,
                   const predict_options *options, fm_bins bins)
{
    fm_error error;
    fm_profile *profile;
    const char *json = options->json;
    if (fm_model_predict(model, size, bins, &profile, &error)) return cli_fail(&error);
    int code = cli_reading_mark(&stream->heard, profile);
    const fm_profile *one = profile;
    if (code < 0 && json && fm_profile_write(json, &one, 1, &error)) code = cli_fail(&error);
    if (code < 0 && (!json || strcmp(json, "-") != 0)) {
        fm_view_options view = cli_view_options();
        fm_view_histogram(stdout, profile, &view);
    }
    if (code < 0) code = profile->complete ? CLI_COMPLETE : CLI_INCOMPLETE;
    fm_profile_destroy(profile);
    return code;
}

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

static int predict(const char *path, predict_options *options, fm_bins bins)
{
    fm_error error;
    fm_model *model;
    if (fm_model_read(path, &model, &error)) return cli_fail(&error);
    double size = options->data_size;
    cli_distance_stream stream = {0};
    if (!options->trace_path) say_unit(model, size);
    int code = options->trace_path ? find_size(model, options, &stream, &size) : -1;
    if (code < 0) code = deliver(model, size, &stream, options, bins);
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
    return cli_finish(predict(argv[1], &options, bins));
}
