/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_convert.c - one trace format to another: options for a job of the library (fathom/job.h).
 */
#include "results.h"

typedef struct convert_options {
    const char *output, *to;
    uint64_t level;
    int writing_level;
    bool store, progress;
    cli_trace_options trace;
} convert_options;

static int convert_trace(const char *input, const convert_options *options, const fm_reader_options *reading)
{
    static const cli_attribution_options no_attribution;
    const cli_results results = {.attribution = &no_attribution, .no_profiles = true, .no_text = true};
    const fm_job_options nothing = {0};
    const fm_writer_options writing = {.format = options->to, .level = options->writing_level};
    cli_job job;
    fm_error error;
    int code = cli_job_begin(&job, &results, &nothing, options->progress);
    if (code >= 0) return code;
    code =
        cli_job_end(&job, fm_job_convert(job.job, input, reading, options->output, &writing, &error), &error);
    cli_job_destroy(&job);
    return code;
}

int cli_verb_convert(int argc, char **argv)
{
    convert_options options = {.level = UINT64_MAX};
    const cli_option table[] = {
        {"output", CLI_TO(&options.output), .argument = "OUT",
         .help = "the trace to write; - is stdout (needs --to)", .usual = "", .group = CLI_WRITTEN},
        {"to", CLI_TO(&options.to)},
        {"level", CLI_TO(&options.level)},
        {"store", CLI_TO(&options.store)},
        {"quiet", CLI_TO(&cli_quiet)},
        {"progress", CLI_TO(&options.progress)},
        CLI_TRACE_OPTIONS(&options.trace),
        {0},
    };
    const cli_command command = {
        .usage = "fathom convert [options] IN -o OUT",
        .about = "Writes the trace IN (- is standard input) in another format: that of the ending\n"
                 "of OUT, or of --to; .zst and .gz compress all but the native format. OUT appears\n"
                 "only when it is complete. Of a damaged trace, what is sound is written.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete input",
        .notes = "Examples:\n"
                 "  fathom convert trace.lackey -o trace.fathom\n"
                 "  fathom convert disk.csv --format csv:key=lbn,key-unit=512 -o disk.fathom\n"
                 "  fathom convert trace.fathom --to text -o - | head\n",
        .least = 1,
        .reads = CLI_READS_TRACE,
        .most = 1,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if (!options.output) return cli_misuse("say where to write with -o OUT");
    if ((code = cli_check_level(options.level, options.store, &options.writing_level)) >= 0) return code;
    fm_reader_options reading;
    code = cli_reader_options(&options.trace, &reading);
    if (code >= 0) return code;
    return cli_finish(convert_trace(argv[1], &options, &reading));
}
