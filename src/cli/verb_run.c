/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_run.c - fathom run: runs a program and shows its reuse-distance profile and the code that re-uses
 * data too late. Nothing is stored but the results asked for.
 *
 * Options for a job of the library (fathom/job.h).
 */
#define _GNU_SOURCE
#include "results.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

typedef struct run_options {
    const char *json, *report, *output, *distances;
    bool no_source;
    bool threads_private, call_paths, reproducible, pass_status, quiet, progress;
    uint64_t threads;
    cli_analysis_options analysis;
    cli_collect_options collect;
    cli_attribution_options attribution;
} run_options;

/*
 * What makes two runs of a deterministic program differ, where that can be: addresses that the kernel draws
 * at random, and the environment, which is on the stack and moves everything below it. Ours are what the
 * program gets.
 */
static int fix_surroundings(void)
{
    static const char *const kept[] = {"PATH", "HOME", "LD_LIBRARY_PATH", "VALGRIND_LIB", "TMPDIR"};
    enum { KEPT = sizeof kept / sizeof *kept };
    char *values[KEPT] = {0};
    bool made = true;
    for (size_t i = 0; i < KEPT; i++) {
        const char *value = getenv(kept[i]);
        values[i] = value ? strdup(value) : NULL;
        made &= !value || values[i];
    }
    made = made && clearenv() == 0;
    for (size_t i = 0; i < KEPT; i++) {
        if (made && values[i]) made = setenv(kept[i], values[i], 1) == 0;
        free(values[i]);
    }
    if (!made || setenv("LC_ALL", "C", 1) != 0) return cli_out_of_memory();
    const int now = personality(0xffffffff);
    if (now < 0 || personality((unsigned)now | ADDR_NO_RANDOMIZE) < 0)
        cli_note(
            "--reproducible: the kernel does not let addresses be fixed (%s): those of programs built by "
            "fathom cc will differ; under Valgrind they do not",
            strerror(errno));
    return -1;
}

/* ---- options ---- */

static int check_options(const run_options *options, const cli_results *results, char **command,
                         cli_analysis *what, fm_collect_options *program)
{
    int code = cli_analysis_check(&options->analysis, what);
    if (code < 0) cli_analysis_choose_engine(what, 0);
    if (code < 0) code = cli_collect_check(&options->collect, command, program);
    if (code < 0) code = cli_attribution_check(&options->attribution, options->json);
    if (code >= 0) return code;
    if (what->count == 0) what->granularity[what->count++] = 64;
    if (what->analyzer.elements && !options->attribution.sizes)
        cli_note("--granularity element: this machine's caches hold bytes and are left out; --size N,M names "
                 "sizes "
                 "in elements");
    if (options->distances && what->count > 1)
        return cli_misuse("--distances: takes one granularity, not %zu", what->count);
    if (options->distances && options->collect.follow_children)
        return cli_misuse("--distances and --follow-children: distances are written of one process only");
    if ((code = cli_results_check(results)) >= 0) return code;
    if (what->histogram_only && (options->distances || options->call_paths ||
                                 options->attribution.callgrind || options->attribution.csv))
        return cli_misuse(
            "the engine %s tells the histogram of distances only: no --distances, --call-paths, "
            "--callgrind or --csv",
            options->analysis.engine);
    if (options->call_paths && options->attribution.no_sites)
        return cli_misuse("--call-paths and --no-sites contradict each other");
    const fm_engine_info *engine = cli_analysis_engine(what);
    if (options->call_paths && engine->no_sites)
        return cli_misuse("--call-paths: the engine %s does not tell code sites apart", engine->name);
    if (what->max_memory && (options->threads_private || options->collect.follow_children))
        return cli_misuse("--max-memory: cannot be promised for an unknown number of threads or processes");
    if (options->pass_status && program->stop_at_limit)
        return cli_misuse("--pass-status and --at-limit stop contradict each other: fathom ends the program");
    program->call_paths = options->call_paths;
    return cli_check_threads(options->threads, FM_PIPELINE_THREADS);
}

static int run_program(const run_options *options, const cli_results *results, const cli_analysis *what,
                       const fm_collect_options *program, fm_job_end *end)
{
    fm_job_options analysis = cli_job_options(what);
    cli_job job;
    fm_error error;
    analysis.threads = options->threads == UINT64_MAX ? 0 : options->threads;
    analysis.threads_private = options->threads_private;
    analysis.reproducible = options->reproducible;
    int code = cli_job_begin(&job, results, &analysis, options->progress);
    if (code < 0 && options->reproducible) code = fix_surroundings();
    if (code < 0) {
        const fm_status status = fm_job_run(job.job, program, &error);
        code = cli_job_end(&job, status, &error);
        *end = fm_job_program_end(job.job);
    }
    cli_job_destroy(&job);
    return code;
}

int cli_verb_run(int argc, char **argv)
{
    run_options options = {.threads = UINT64_MAX,
                           .analysis.max_memory = UINT64_MAX,
                           .collect.limit = UINT64_MAX,
                           .collect.limit_time = -1,
                           .attribution.top = CLI_TOP};
    const cli_option table[] = {
        {"json", CLI_TO(&options.json)},
        {"report", CLI_TO(&options.report)},
        {"no-source", CLI_TO(&options.no_source)},
        {"output", CLI_TO(&options.output)},
        CLI_COLLECT_OPTIONS(&options.collect),
        {"threads-private", CLI_TO(&options.threads_private)},
        {"no-sites", CLI_TO(&options.attribution.no_sites)},
        {"call-paths", CLI_TO(&options.call_paths)},
        CLI_ATTRIBUTION_OPTIONS(&options.attribution),
        {"granularity", CLI_TO(&options.analysis.granularity)},
        {"engine", CLI_TO(&options.analysis.engine)},
        CLI_ANALYSIS_OPTIONS(&options.analysis),
        {"max-memory", CLI_TO(&options.analysis.max_memory)},
        {"threads", CLI_TO(&options.threads), .usual = "free cores"},
        {"distances", CLI_TO(&options.distances)},
        {"reproducible", CLI_TO(&options.reproducible)},
        {"pass-status", CLI_TO(&options.pass_status)},
        {"quiet", CLI_TO(&options.quiet)},
        {"progress", CLI_TO(&options.progress), .help = "a line of progress a second on stderr"},
        {0},
    };
    const cli_command command = {
        .usage = "fathom run [options] -- PROGRAM [ARGUMENTS…]",
        .about = "Runs PROGRAM and shows the misses at each cache size, from the reuse distance of\n"
                 "every access, and the source lines and data that cause them. Any x86-64 program\n"
                 "will do (under Valgrind: slow); `fathom cc` builds faster ones. Compile with -g.",
        .options = table,
        .exits = CLI_PROGRAM_EXITS,
        .notes = "Examples:\n"
                 "  fathom run -- ./program input.txt\n"
                 "  fathom run --report report.html -o summary.txt -- sort -n numbers.txt\n"
                 "  fathom run --function solve --no-stack --json solve.json -- ./solver\n",
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

    static const char also[] = "also: --pairs (who used it last), --histogram, --by function|object,\n"
                               "      --report page.html, --json run.json and then fathom diff, fathom mrc\n";
    const cli_results results = {.json = options.json,
                                 .report = options.report,
                                 .output = options.output,
                                 .distances = options.distances,
                                 .no_source = options.no_source,
                                 .attribution = &options.attribution,
                                 .text = CLI_TEXT_ERROR,
                                 .file_width = 80,
                                 .also = also};
    cli_analysis what;
    fm_collect_options program;
    fm_job_end end = {0};
    code = check_options(&options, &results, argv + 1, &what, &program);
    if (code < 0) code = run_program(&options, &results, &what, &program, &end);
    code = cli_finish(code);
    return options.pass_status ? cli_pass_status(code, &end) : code;
}
