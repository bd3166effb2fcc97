/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_run.c - fathom run: runs a program and shows its reuse-distance profile and the code that re-uses
 * data too late. Nothing is stored but the results asked for.
 *
 * It joins a collection, analyzers, attribution and views; it computes nothing itself.
 */
#define _GNU_SOURCE
#include "analysis_options.h"
#include "attribution_output.h"
#include "cli.h"
#include "closing_text.h"
#include "collect_options.h"
#include "pass_status.h"
#include "run_profiles.h"

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

/* What one run holds, so that every way out can let go of it. */
typedef struct job {
    cli_analysis analysis;
    unsigned threads; /* that analyse; 0: the one that receives does */
    fm_collect_options collecting;
    cli_attribution_caches caches;
    fm_output *distances;
    fm_collection *collection;
    cli_run_profiles *profiles;
    fm_profile *profile[CLI_MOST_GRANULARITIES];
} job;

/* ---- the run ---- */

/* Until everything has ended. -1, or an exit code after a message. */
static int receive(job *work, bool show_progress)
{
    fm_error error;
    fm_collected collected;
    cli_progress progress;
    int code = -1;
    cli_progress_start_beside(&progress, "accesses", show_progress);
    while (code < 0) {
        if (fm_collection_next(work->collection, &collected, &error)) {
            code = cli_fail(&error);
            break;
        }
        if (collected.event == FM_COLLECTED_END) break;
        if (collected.event != FM_COLLECTED_IDLE) code = cli_run_profiles_feed(work->profiles, &collected);
        fm_collection_state state;
        fm_collection_state_get(work->collection, &state);
        cli_progress_update(&progress, state.references,
                            work->collecting.limit ? (double)state.references / (double)work->collecting.limit
                                                   : -1);
    }
    cli_progress_end(&progress);
    return code;
}

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

/* Whether code sites are told apart. */
static bool tells_sites(const run_options *options, const job *work)
{
    return !options->attribution.no_sites && !work->analysis.histogram_only &&
           !cli_analysis_engine(&work->analysis)->no_sites;
}

static int start(job *work, const run_options *options)
{
    fm_error error;
    const char *const results[] = {options->json, options->report, options->output,
                                   options->attribution.callgrind, options->attribution.csv};
    int tried = cli_try_outputs(results, sizeof results / sizeof *results);
    if (tried >= 0) return tried;
    if (options->distances && fm_output_open(&work->distances, options->distances, &error))
        return cli_fail(&error);
    if (options->reproducible) {
        int code = fix_surroundings();
        if (code >= 0) return code;
    }
    if (fm_collection_start(&work->collection, &work->collecting, &error)) return cli_fail(&error);
    if (!options->attribution.sizes && !work->analysis.analyzer.elements) {
        int code = cli_attribution_find_caches(&options->attribution, &work->caches);
        if (code >= 0) return code;
    }
    cli_run_setup setup = {.analysis = &work->analysis,
                           .caches = &work->caches,
                           .sites = tells_sites(options, work),
                           .threads_private = options->threads_private,
                           .reproducible = options->reproducible,
                           .threads = work->threads,
                           .distances = work->distances};
    return cli_run_profiles_create(&work->profiles, &setup, work->collection);
}

/* ---- results ---- */

static int show(FILE *out, const fm_view_options *view, const job *work, const run_options *options)
{
    static const char also[] = "also: --pairs (who used it last), --histogram, --by function|object,\n"
                               "      --report page.html, --json run.json and then fathom diff, fathom mrc\n";
    return cli_attribution_show(out, view, &options->attribution, (const fm_profile *const *)work->profile,
                                work->analysis.count, &work->caches, also);
}

static int show_text(const job *work, const run_options *options)
{
    enum { FILE_WIDTH = 80 };
    cli_closing_text text;
    const int code = cli_closing_text_open(&text, options->output, FILE_WIDTH);
    if (code >= 0) return code;
    return cli_closing_text_close(&text, show(text.stream, &text.view, work, options));
}

static int write_report(const job *work, const run_options *options)
{
    const fm_report_options how = {.no_source = options->no_source};
    return cli_write_page(options->report, &how, (const fm_profile *const *)work->profile,
                          work->analysis.count, &work->caches);
}

/* A result that cannot be written does not take the others with it: the run may have taken long. */
static int deliver(job *work, const run_options *options)
{
    fm_error error;
    int code = -1;
    if (work->distances) {
        fm_output *distances = work->distances;
        work->distances = NULL;
        if (fm_output_commit(distances, &error)) code = cli_fail(&error);
    }
    if (options->json && fm_profile_write(options->json, (const fm_profile *const *)work->profile,
                                          work->analysis.count, &error))
        code = cli_worse(code, cli_fail(&error));
    if (work->profile[0]->attribution)
        code = cli_worse(code, cli_attribution_write(&options->attribution, work->profile[0], &work->caches));
    if (options->report) code = cli_worse(code, write_report(work, options));
    bool taken = cli_is_stdout(options->json) || cli_is_stdout(options->distances) ||
                 cli_is_stdout(options->report) || cli_attribution_takes_stdout(&options->attribution);
    if (options->output || !taken) code = cli_worse(code, show_text(work, options));
    return code;
}

static int run(job *work, const run_options *options)
{
    int code = start(work, options);
    if (code < 0) code = receive(work, options->progress);
    if (code >= 0) return code;
    if (fm_collection_processes(work->collection) == 0) {
        cli_collect_completeness(work->collection);
        cli_complain("%s: nothing of it was seen", work->collecting.command[0]);
        return CLI_FAILED;
    }
    int completeness = cli_collect_completeness(work->collection);
    code = cli_run_profiles_take(work->profiles, &work->collecting, work->profile);
    if (code < 0 && tells_sites(options, work))
        code = cli_attribution_record_sources(&options->attribution, work->profile[0]);
    if (code < 0) code = cli_profiles_check(work->profile, work->analysis.count);
    if (code < 0) code = cli_attribution_keep_caches(&work->caches, work->profile, work->analysis.count);
    if (code < 0) code = deliver(work, options);
    return code < 0 ? completeness : code;
}

/* ---- options ---- */

/* The program and the thread that receives have a processor each; more threads than this have nothing to do.
 * With one processor for all, none: what another thread would do takes less time in the one that receives.
 * Each has memory of its own: one where memory is limited, or where there may be any number of processes. */
static unsigned spare_processors(const run_options *options, const job *work)
{
    enum { TAKEN = 2, USEFUL = 6 };
    const unsigned processors = fm_analyzer_processors();
    if (processors == 1) return 0;
    if (work->analysis.max_memory || options->collect.follow_children || processors <= TAKEN + 1) return 1;
    return processors - TAKEN < USEFUL ? processors - TAKEN : USEFUL;
}

static int check(const run_options *options, char **command, job *work)
{
    int code = cli_analysis_check(&options->analysis, &work->analysis);
    if (code < 0) cli_analysis_choose_engine(&work->analysis, 0);
    if (code < 0) code = cli_collect_check(&options->collect, command, &work->collecting);
    if (code < 0) code = cli_attribution_check(&options->attribution, options->json);
    if (code >= 0) return code;
    if (work->analysis.count == 0) work->analysis.granularity[work->analysis.count++] = 64;
    code = cli_check_sizes(options->attribution.sizes, cli_analysis_least_granularity(&work->analysis),
                           work->analysis.analyzer.elements ? "elements" : NULL);
    if (code >= 0) return code;
    cli_analysis_note_bytes(&work->analysis);
    if (work->analysis.analyzer.elements && !options->attribution.sizes)
        cli_note("--granularity element: this machine's caches hold bytes and are left out; --size N,M names "
                 "sizes "
                 "in elements");
    if (options->distances && work->analysis.count > 1)
        return cli_misuse("--distances: takes one granularity, not %zu", work->analysis.count);
    if (options->distances && options->collect.follow_children)
        return cli_misuse("--distances and --follow-children: distances are written of one process only");
    if (cli_is_stdout(options->json) + cli_is_stdout(options->distances) + cli_is_stdout(options->report) +
            cli_is_stdout(options->output) + cli_attribution_takes_stdout(&options->attribution) >
        1)
        return cli_misuse("only one result can go to standard output");
    if (work->analysis.histogram_only && (options->distances || options->call_paths ||
                                          options->attribution.callgrind || options->attribution.csv))
        return cli_misuse(
            "the engine %s tells the histogram of distances only: no --distances, --call-paths, "
            "--callgrind or --csv",
            options->analysis.engine);
    if (options->call_paths && options->attribution.no_sites)
        return cli_misuse("--call-paths and --no-sites contradict each other");
    const fm_engine_info *engine = cli_analysis_engine(&work->analysis);
    if (options->call_paths && engine->no_sites)
        return cli_misuse("--call-paths: the engine %s does not tell code sites apart", engine->name);
    if (engine->no_sites && !options->attribution.no_sites)
        cli_note("code sites are left out: the engine %s does not tell them apart", engine->name);
    if (work->analysis.max_memory && (options->threads_private || options->collect.follow_children))
        return cli_misuse("--max-memory: cannot be promised for an unknown number of threads or processes");
    if (options->pass_status && work->collecting.stop_at_limit)
        return cli_misuse("--pass-status and --at-limit stop contradict each other: fathom ends the program");
    if (options->no_source && !options->report)
        return cli_misuse("--no-source is about the page that --report writes");
    if (options->report && !fm_report_available())
        return cli_misuse("--report: this build has no report page (it was built with FATHOM_REPORT=OFF)");
    if ((code = cli_check_threads(options->threads, FM_PIPELINE_THREADS)) >= 0) return code;
    work->threads =
        options->threads == UINT64_MAX ? spare_processors(options, work) : (unsigned)options->threads;
    if (strcmp(engine->name, "exact") != 0) { /* only for that one is there anything to prepare */
        work->analysis.analyzer.threads = work->threads > 0 ? work->threads : 1;
        work->threads = 1;
    }
    bool sites = tells_sites(options, work);
    work->collecting.columns = FM_COLUMN_SIZE | (sites ? FM_COLUMN_TAG : 0);
    work->collecting.call_paths = options->call_paths;
    work->collecting.objects = sites;
    /* Looking for those of the machine takes longer than short programs do: it is done while this one runs.
     */
    return options->attribution.sizes ? cli_attribution_find_caches(&options->attribution, &work->caches)
                                      : -1;
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

    job work = {0};
    code = check(&options, argv + 1, &work);
    if (code < 0) code = run(&work, &options);
    cli_program_end end;
    cli_program_end_find(work.collection, &end);
    for (size_t i = 0; i < work.analysis.count; i++) fm_profile_destroy(work.profile[i]);
    cli_run_profiles_destroy(work.profiles);
    fm_collection_close(work.collection);
    fm_output_abandon(work.distances);
    code = cli_finish(code);
    return options.pass_status ? cli_pass_status(code, &end) : code;
}
