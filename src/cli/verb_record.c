/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_record.c - fathom record: runs a program and stores its references in the native format, with sizes,
 * kinds, threads and code sites, to be analysed later and as often as one likes.
 * Options for a job of the library (fathom/job.h).
 */
#include "results.h"

#include <string.h>

typedef struct record_options {
    const char *output;
    uint64_t level;
    bool store, pass_status, quiet, progress;
    cli_collect_options collect;
} record_options;

static int record_program(const record_options *options, int level, const fm_collect_options *program,
                          fm_job_end *end)
{
    static const cli_attribution_options no_attribution;
    const cli_results results = {.attribution = &no_attribution, .text = CLI_TEXT_ERROR, .no_profiles = true};
    const fm_job_options nothing = {0};
    const fm_record_options what = {.path = options->output, .level = level, .overwrite = cli_force};
    cli_job job;
    fm_error error;
    int code = cli_job_begin(&job, &results, &nothing, options->progress);
    if (code >= 0) return code;
    const fm_status status = fm_job_record(job.job, &what, program, &error);
    *end = fm_job_program_end(job.job);
    code = cli_job_end(&job, status, &error);
    cli_job_destroy(&job);
    return code;
}

int cli_verb_record(int argc, char **argv)
{
    record_options options = {.level = UINT64_MAX, .collect.limit = UINT64_MAX, .collect.limit_time = -1};
    const cli_option table[] = {
        {"output", CLI_TO(&options.output), .argument = "TRACE",
         .help = "the trace to write, in the native format", .usual = "", .group = CLI_WRITTEN},
        CLI_COLLECT_OPTIONS(&options.collect),
        {"level", CLI_TO(&options.level)},
        {"store", CLI_TO(&options.store), .help = "do not compress"},
        {"pass-status", CLI_TO(&options.pass_status)},
        {"quiet", CLI_TO(&options.quiet)},
        {"progress", CLI_TO(&options.progress), .help = "a line of progress a second on stderr"},
        {0},
    };
    const cli_command command = {
        .usage = "fathom record [options] -o TRACE -- PROGRAM [ARGUMENTS…]",
        .about = "Runs PROGRAM and stores its data references, with the code that makes them, for\n"
                 "`fathom analyze`. `fathom run` does both at once and stores nothing.",
        .options = table,
        .exits = CLI_PROGRAM_EXITS,
        .notes = "Examples:\n"
                 "  fathom record -o sort.fathom -- sort -n numbers.txt\n"
                 "  fathom record --limit 100M --at-limit stop -o start.fathom -- ./server\n",
        .least = 1,
        .reads = CLI_READS_PROGRAM,
        .most = SIZE_MAX,
        .command_follows = true,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    cli_quiet = options.quiet;
    argv[1 + count] = NULL;
    int level;
    fm_collect_options program;
    fm_job_end end = {0};
    if (!options.output) return cli_misuse("where to? -o TRACE names the file to write");
    if (strcmp(options.output, "-") == 0)
        return cli_misuse("-o -: standard output is the program's own; name a file");
    const fm_format_info *format = fm_format_of_name(options.output);
    if (format && strcmp(format->name, "fathom") != 0)
        return cli_misuse(
            "-o %s: only the native format holds everything; name it .fathom and use fathom convert",
            options.output);
    if ((code = cli_check_level(options.level, options.store, &level)) >= 0) return code;
    if ((code = cli_collect_check(&options.collect, argv + 1, &program)) >= 0) return code;
    if (options.pass_status && program.stop_at_limit)
        return cli_misuse("--pass-status and --at-limit stop contradict each other: fathom ends the program");

    code = cli_finish(record_program(&options, level, &program, &end));
    return options.pass_status ? cli_pass_status(code, &end) : code;
}
