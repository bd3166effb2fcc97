/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_phases.c - fathom phases: the phases of a trace and those inside them, a profile for each, and which
 * of them recur.
 * Options for a job of the library (fathom/job.h).
 */
#include "results.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { PATH_MOST = 4096 };

typedef struct phases_options {
    const char *json, *report, *output, *profiles, *granularity;
    uint64_t threshold, top, depth;
    double alike;
    bool progress;
    cli_trace_options trace;
} phases_options;

/* The name of the profile of a phase, by its number from 1 on. -1, or an exit code after a message. */
static int name_profile(const char *prefix, size_t number, char *path, size_t size)
{
    const int length = snprintf(path, size, "%s%zu.json", prefix, number);
    return length < 0 || (size_t)length >= size ? cli_misuse("--profiles: the name is too long") : -1;
}

/* How many phases there are is not known before the trace was read: none of the names may be taken. */
static int check_profiles(const char *prefix)
{
    int code = -1;
    for (size_t i = 1; prefix && i <= FM_MOST_PHASES && code < 0; i++) {
        char path[PATH_MOST];
        code = name_profile(prefix, i, path, sizeof path);
        if (code < 0 && access(path, F_OK) == 0) code = cli_check_output("profiles", path);
    }
    return code;
}

static int write_each(fm_job *job, size_t level, const char *prefix)
{
    const fm_profile *const *profiles;
    const size_t count = fm_job_phase_profiles(job, level, &profiles);
    fm_error error;
    int code = -1;
    for (size_t i = 0; prefix && i < count && code < 0; i++) {
        char path[PATH_MOST];
        code = name_profile(prefix, i + 1, path, sizeof path);
        if (code < 0 && fm_profile_write(path, &profiles[i], 1, &error)) code = cli_fail(&error);
    }
    return code;
}

static int find_phases(const char *path, const phases_options *options, uint64_t granularity,
                       const fm_reader_options *reading)
{
    static const cli_attribution_options no_attribution;
    cli_attribution_options asked = no_attribution;
    cli_results results = {.json = options->json,
                           .report = options->report,
                           .output = options->output,
                           .attribution = &asked,
                           .depth = options->depth};
    const fm_job_options analysis = {.granularity = &granularity, .granularity_count = granularity > 0};
    const fm_phase_options what = {.threshold = options->threshold, .alike = options->alike};
    const fm_profile *const *profiles;
    cli_job job;
    fm_error error;
    asked.top = options->top;
    int code = cli_results_check(&results);
    if (code < 0) code = cli_results_try(&results);
    if (code < 0) code = cli_job_begin(&job, &results, &analysis, options->progress);
    if (code >= 0) return code;
    const fm_status status = fm_job_find_phases(job.job, path, reading, &what, &error);
    const size_t levels = fm_job_profiles(job.job, &profiles) ? profiles[0]->phases->inner_count + 1 : 1;
    results.no_text = options->depth > levels;
    code = cli_job_end(&job, status, &error);
    if (status == FM_OK && options->depth > levels) {
        cli_complain("--depth: there are phases on %zu level%s, none on level %" PRIu64, levels,
                     levels > 1 ? "s" : "", options->depth);
        code = CLI_FAILED;
    } else if (status == FM_OK && (code == CLI_COMPLETE || code == CLI_INCOMPLETE)) {
        const int written = write_each(job.job, (size_t)options->depth, options->profiles);
        if (written >= 0) code = written;
    }
    cli_job_destroy(&job);
    return code;
}

int cli_verb_phases(int argc, char **argv)
{
    phases_options options = {.top = CLI_TOP, .alike = 0.9, .depth = 1};
    const cli_option table[] = {
        {"threshold", CLI_TO(&options.threshold), .group = CLI_MEASURED,
         .help = "cut where blocks return from further away"},
        {"depth", CLI_TO(&options.depth)},
        {"alike", CLI_TO(&options.alike)},
        {"granularity", CLI_TO(&options.granularity), .help = "block size", .usual = "64; keys: 1"},
        {"json", CLI_TO(&options.json), .help = "write the profile with its phases, for fathom report"},
        {"report", CLI_TO(&options.report)},
        {"output", CLI_TO(&options.output), .usual = "stdout"},
        {"profiles", CLI_TO(&options.profiles)},
        {"top", CLI_TO(&options.top), .help = "show the first N phases of the level"},
        {"quiet", CLI_TO(&cli_quiet)},
        {"progress", CLI_TO(&options.progress)},
        CLI_TRACE_OPTIONS(&options.trace),
        {0},
    };
    const cli_command command = {
        .usage = "fathom phases [options] TRACE",
        .about = "Finds the phases of a trace, and the phases inside them. A phase begins where\n"
                 "the distances or the data in use change. A sequence of phases that repeats is a\n"
                 "phase of the level above; level 1 is the uppermost. A trace without changes is\n"
                 "split into its passes over the data. Similar phases are of one class.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete input",
        .notes = "Example:\n"
                 "  fathom record -o solve.fathom -- ./solve 100\n"
                 "  fathom phases solve.fathom --json phases.json\n"
                 "  fathom report phases.json -o phases.html\n",
        .least = 1,
        .reads = CLI_READS_TRACE,
        .most = 1,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    uint64_t granularity = 0;
    fm_reader_options reading;
    if (strcmp(argv[1], "-") == 0) return cli_misuse("TRACE must be a file: it is read more than once");
    if (options.granularity && (!cli_parse_bytes(options.granularity, &granularity) || granularity == 0 ||
                                (granularity & (granularity - 1))))
        return cli_misuse("--granularity: expected a power of two such as 64 or 4K, found '%s'",
                          options.granularity);
    if (!(options.alike > 0 && options.alike <= 1))
        return cli_misuse("--alike: expected a number over 0 and up to 1");
    if (options.depth < 1) return cli_misuse("--depth: expected a level, 1 or more");
    if ((code = cli_reader_options(&options.trace, &reading)) >= 0) return code;
    code = check_profiles(options.profiles);
    return cli_finish(code < 0 ? find_phases(argv[1], &options, granularity, &reading) : code);
}
