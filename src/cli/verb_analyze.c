/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_analyze.c - fathom analyze: a stored or piped trace in, its reuse-distance profile out; with the code
 * that it comes from, where the trace has code sites.
 *
 * Options for a job of the library (fathom/job.h).
 */
#include "results.h"

#include <inttypes.h>
#include <string.h>

enum { CLI_MOST_THREADS = 1024 };

typedef struct analyze_options {
    const char *json, *report, *output, *distances;
    uint64_t threads;
    bool quiet, progress, sites, no_source;
    cli_analysis_options analysis;
    cli_attribution_options attribution;
    cli_trace_options trace;
    cli_mpi_options mpi;
} analyze_options;

/* The option that cannot do without code sites; NULL: none was given. */
static const char *needs_sites(const analyze_options *options)
{
    if (options->sites) return "--sites";
    if (options->attribution.callgrind) return "--callgrind";
    return options->attribution.csv ? "--csv" : NULL;
}

/* ---- options ---- */

/* What ranks cannot do together. */
static int check_mpi(const analyze_options *options, const cli_analysis *what, size_t traces)
{
    if (!options->mpi.mpi) {
        if (options->mpi.shards) return cli_misuse("--mpi-shards goes with --mpi");
        if (traces == 1) return -1;
        return cli_misuse(
            "too few arguments: 0 where at least 1 is needed\nUsage: fathom analyze [options] TRACE");
    }
    if (options->mpi.shards && traces > 0)
        return cli_misuse("--mpi-shards and a trace: one of them, not both");
    if (!options->mpi.shards && traces == 0) return cli_misuse("expected a trace, or --mpi-shards");
    const char *alone = options->distances ? "--distances" : needs_sites(options);
    if (!alone && what->analyzer.time_distances) alone = "--time";
    if (!alone && what->max_memory) alone = "--max-memory";
    if (alone) return cli_misuse("--mpi and %s: cannot be had together", alone);
    return -1;
}

static int check_options(const analyze_options *options, const cli_results *results, size_t traces,
                         cli_analysis *what, fm_reader_options *reading)
{
    int code = cli_analysis_check(&options->analysis, what);
    if (code < 0) code = cli_attribution_check(&options->attribution, options->json);
    if (code >= 0) return code;
    if (options->distances && what->count > 1)
        return cli_misuse("--distances: takes one granularity, not %zu", what->count);
    if (cli_is_stdout(options->distances) && cli_is_stdout(options->json))
        return cli_misuse("--distances and --json cannot both go to standard output");
    if ((code = cli_results_check(results)) >= 0) return code;
    if (options->sites && options->attribution.no_sites)
        return cli_misuse("--sites and --no-sites contradict each other");
    const char *needs = needs_sites(options);
    if (what->histogram_only && (needs || options->distances))
        return cli_misuse("%s: the engine %s tells the histogram of distances only",
                          needs ? needs : "--distances", options->analysis.engine);
    if (needs && what->max_memory) return cli_misuse("--max-memory: cannot be promised with %s", needs);
    if ((code = cli_reader_options(&options->trace, reading)) >= 0) return code;
    if (reading->csv_size && what->count == 0)
        return cli_misuse("--size-column: needs --granularity, the size of a block in bytes");
    if ((code = cli_check_threads(options->threads, CLI_MOST_THREADS)) >= 0) return code;
    return check_mpi(options, what, traces);
}

/* What to do where exact distances need more memory than there is. */
static void say_remedy(const cli_analysis *what)
{
    const fm_engine_info *engine = cli_analysis_engine(what);
    if (what->max_memory || (engine && engine->on_card)) return;
    cli_note("--max-memory BYTES keeps to what there is: it takes samples where exact distances need more; "
             "--bound BLOCKS forgets what no cache of interest would keep");
}

static int analyze_trace(const char *path, const analyze_options *options, const cli_results *results,
                         const cli_analysis *what, const fm_reader_options *reading)
{
    fm_job_options analysis = cli_job_options(what);
    cli_job job;
    fm_error error;
    analysis.threads = options->threads == UINT64_MAX ? 0 : options->threads;
    analysis.needs_sites = needs_sites(options);
    int code = cli_job_begin(&job, results, &analysis, options->progress);
    if (code >= 0) return code;
    const fm_status status = options->mpi.mpi
                                 ? fm_job_ranks(job.job, path, options->mpi.shards, reading, &error)
                                 : fm_job_trace(job.job, path, reading, &error);
    code = cli_job_end(&job, status, &error);
    if (status == FM_E_NOMEM) say_remedy(what);
    cli_job_destroy(&job);
    return code;
}

int cli_verb_analyze(int argc, char **argv)
{
    /* Numbers nobody gives: not asked for. */
    analyze_options options = {
        .threads = UINT64_MAX, .analysis.max_memory = UINT64_MAX, .attribution.top = CLI_TOP};
    const cli_option table[] = {
        {"json", CLI_TO(&options.json)},
        {"report", CLI_TO(&options.report)},
        {"no-source", CLI_TO(&options.no_source)},
        {"output", CLI_TO(&options.output), .usual = "stdout"},
        {"granularity", CLI_TO(&options.analysis.granularity), .usual = "64; keys: 1"},
        {"engine", CLI_TO(&options.analysis.engine), .group = CLI_SPEED},
        CLI_ANALYSIS_OPTIONS(&options.analysis),
        {"max-memory", CLI_TO(&options.analysis.max_memory), .help = "use samples instead of more memory"},
        {"threads", CLI_TO(&options.threads)},
        {"distances", CLI_TO(&options.distances)},
        {"sites", CLI_TO(&options.sites)},
        {"no-sites", CLI_TO(&options.attribution.no_sites)},
        CLI_ATTRIBUTION_OPTIONS(&options.attribution),
        {"quiet", CLI_TO(&options.quiet)},
        {"progress", CLI_TO(&options.progress)},
        CLI_TRACE_OPTIONS(&options.trace),
        CLI_MPI_OPTIONS(&options.mpi),
        {0},
    };
    const cli_command command = {
        .usage = "fathom analyze [options] TRACE",
        .about = "Counts the reuse distance of every reference of TRACE: the distinct other blocks\n"
                 "touched since the last one to the same block. TRACE is a file, or - for standard\n"
                 "input; zstd and gzip are recognised. Where it has code locations (fathom\n"
                 "record), the source lines that cause the misses are shown, too.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete input",
        .notes = "Examples:\n"
                 "  fathom analyze trace.fathom --json profile.json\n"
                 "  fathom analyze trace.fathom --size 32K,1M --callgrind callgrind.out.trace\n"
                 "  fathom analyze --format csv:key=lbn disk.csv\n"
                 "  zstdcat keys.txt.zst | fathom analyze --format text -\n",
        .least = 0,
        .reads = CLI_READS_TRACE,
        .most = 1,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    cli_quiet = options.quiet;

    static const char also[] = "also: --pairs (who used it last), --histogram, --by function|object,\n"
                               "      --json profile.json and then fathom report, fathom diff, fathom mrc\n";
    const cli_results results = {.json = options.json,
                                 .report = options.report,
                                 .output = options.output,
                                 .no_source = options.no_source,
                                 .file_width = 80,
                                 .distances = options.distances,
                                 .attribution = &options.attribution,
                                 .also = also};
    cli_analysis what;
    fm_reader_options reading = {0};
    code = check_options(&options, &results, count, &what, &reading);
    if (code < 0 && !options.mpi.mpi) code = cli_results_try(&results);
    if (code < 0) code = analyze_trace(count > 0 ? argv[1] : NULL, &options, &results, &what, &reading);
    return cli_finish(code);
}
