/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_check.c - verifies a stored trace: options for a job of the library (fathom/job.h). Exit code 0:
 * sound; 3: damaged, but some of it can be read; 1: cannot be read as a trace.
 */
#include "results.h"

static int check_trace(const char *path, const char *json, const fm_reader_options *reading, bool verbose,
                       bool progress)
{
    static const cli_attribution_options no_attribution;
    const cli_results results = {.json = json, .attribution = &no_attribution, .no_profiles = true};
    const fm_job_options nothing = {0};
    cli_job job;
    fm_error error;
    int code = cli_job_begin(&job, &results, &nothing, progress);
    if (code >= 0) return code;
    code = cli_job_end(&job, fm_job_check(job.job, path, reading, verbose ? stdout : NULL, &error), &error);
    cli_job_destroy(&job);
    return code;
}

int cli_verb_check(int argc, char **argv)
{
    const char *json = NULL;
    bool verbose = false, progress = false;
    cli_trace_options trace = {0};
    const cli_option table[] = {
        {"verbose", CLI_TO(&verbose)}, {"json", CLI_TO(&json), .help = "write the result as JSON"},
        {"quiet", CLI_TO(&cli_quiet)}, {"progress", CLI_TO(&progress)},
        CLI_TRACE_OPTIONS(&trace),     {0},
    };
    const cli_command command = {
        .usage = "fathom check [options] TRACE",
        .about = "Verifies a stored trace: the native format block by block with checksums and\n"
                 "index, any other by reading it to its end.",
        .options = table,
        .exits = "0 sound, 1 not readable as a trace, 2 bad usage, 3 damaged in part",
        .notes = "Example:\n"
                 "  fathom check --verbose trace.fathom\n",
        .least = 1,
        .reads = CLI_READS_TRACE,
        .most = 1,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if (verbose && cli_is_stdout(json))
        return cli_misuse("--verbose and --json - cannot both go to standard output");
    fm_reader_options options;
    code = cli_reader_options(&trace, &options);
    if (code >= 0) return code;
    return cli_finish(check_trace(argv[1], json, &options, verbose, progress));
}
