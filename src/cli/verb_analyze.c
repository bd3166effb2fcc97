/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_analyze.c - fathom analyze: a stored or piped trace in, its reuse-distance profile out; with the code
 * that it comes from, where the trace has code sites.
 *
 * One pass over the trace feeds an analyzer per granularity. It joins reader, analyzers, profile and
 * views; it computes nothing itself.
 */
#include "analysis_options.h"
#include "attribution_output.h"
#include "cli.h"
#include "memory_choice.h"
#include "mpi_analysis.h"
#include "new_keys.h"
#include "reading.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CLI_MOST_THREADS = 1024,
    CLI_MOST_DECODERS = 16, /* decode more than one thread can take from them, which is 1 ns a reference */
};

typedef struct analyze_options {
    const char *json, *distances;
    uint64_t threads;
    bool quiet, progress, sites;
    cli_analysis_options analysis;
    cli_attribution_options attribution;
    cli_trace_options trace;
    cli_mpi_options mpi;
} analyze_options;

/* Which code the references of the first granularity come from. */
typedef struct code_sites {
    fm_site_index *index; /* NULL: not asked for, or the trace does not know */
    uint64_t edges[CLI_MOST_EDGES];
    size_t edge_count;
    /* For describe_sites. */
    const fm_trace_module *modules;
    size_t module_count;
} code_sites;

typedef struct analysis {
    cli_reading reading;
    cli_analysis what;
    unsigned threads; /* of all analyzers together */
    bool memory_addresses;
    cli_new_keys keys;
    bool chooses; /* the engine by itself, within --max-memory */
    fm_analyzer *analyzer[CLI_MOST_GRANULARITIES];
    cli_memory_choice choice[CLI_MOST_GRANULARITIES]; /* instead of analyzer, where it chooses */
    fm_profile *profile[CLI_MOST_GRANULARITIES];
    fm_output *distances; /* NULL: not asked for, or committed */
    cli_attribution_caches caches;
    code_sites code;
} analysis;

/* ---- code sites ---- */

/* The option that cannot do without code sites; NULL: none was given. */
static const char *needs_sites(const analyze_options *options)
{
    if (options->sites) return "sites";
    if (options->attribution.callgrind) return "callgrind";
    return options->attribution.csv ? "csv" : NULL;
}

/* Sites are counted where the trace has them, unless that is not wanted or cannot be. */
static int prepare_sites(analysis *run, const analyze_options *options, const char *path,
                         const fm_trace_info *info)
{
    const char *needs = needs_sites(options);
    if (options->attribution.no_sites || run->what.histogram_only) return -1;
    if (!(info->columns & FM_COLUMN_SITE)) {
        if (!needs) return -1;
        cli_complain("--%s: %s does not tell which code its references come from (fathom record stores it)",
                     needs, path);
        return CLI_FAILED;
    }
    if (run->what.max_memory) {
        cli_note("code sites are left out: --max-memory cannot be promised with them");
        return -1;
    }
    const fm_engine_info *engine = cli_analysis_engine(&run->what);
    if (engine->no_sites && needs) {
        cli_complain("--%s: the engine %s does not tell code sites apart", needs, engine->name);
        return CLI_FAILED;
    }
    if (engine->no_sites) {
        cli_note("code sites are left out: the engine %s does not tell them apart", engine->name);
        return -1;
    }
    fm_error error;
    if (fm_site_index_create(&run->code.index, &error)) return cli_fail(&error);
    run->code.edge_count = cli_attribution_edges(&run->caches, run->what.granularity[0], run->code.edges);
    return -1;
}

static fm_status describe_sites(void *context, fm_attribution *attribution, const uint32_t **map,
                                size_t *map_count, fm_error *error)
{
    const code_sites *code = context;
    return fm_site_index_describe(code->index, code->modules, code->module_count, attribution, map, map_count,
                                  error);
}

static int attach_sites(analysis *run, const fm_reader *reader, const cli_attribution_options *options)
{
    code_sites *code = &run->code;
    fm_error error;
    fm_raw_pair *pairs;
    size_t count;
    if (!code->index) return -1;
    fm_reader_modules(reader, &code->modules, &code->module_count);
    if (code->module_count == 0)
        cli_note("the trace does not tell which files its code sites belong to: they are shown as addresses");
    if (fm_analyzer_pairs(run->analyzer[0], &pairs, &count, &error)) return cli_fail(&error);
    int status = cli_attribution_attach(run->profile[0], pairs, count, code->edges, code->edge_count, 0,
                                        describe_sites, code, false);
    free(pairs);
    return status < 0 ? cli_attribution_record_sources(options, run->profile[0]) : status;
}

/* ---- the run ---- */

/* The threads are shared out among the granularities: where there are several, at least two for each, so that
 * none of them holds up the others. */
static unsigned threads_each(const analysis *run)
{
    const unsigned share = (run->threads + (unsigned)run->what.count - 1) / (unsigned)run->what.count;
    return run->threads > 1 && share < 2 ? 2 : share;
}

static int create_analyzers(analysis *run, const analyze_options *options, const fm_trace_info *info)
{
    fm_error error;
    uint64_t share;
    int code = cli_analysis_share_memory(&run->what, run->what.count, &share);
    if (code >= 0) return code;
    for (size_t i = 0; i < run->what.count; i++) {
        fm_analyzer_options analyzer = run->what.analyzer;
        analyzer.granularity = run->what.granularity[i];
        analyzer.max_memory = share;
        analyzer.threads = threads_each(run);
        analyzer.distances_only = true;
        cli_joined text;
        cli_analysis_place(&analyzer, i, run->what.count == 1, &text);
        if (i == 0 && run->code.index) {
            analyzer.edges = run->code.edges;
            analyzer.edge_count = run->code.edge_count;
        }
        fm_status status = run->chooses ? cli_memory_choice_create(&run->choice[i], &analyzer,
                                                                   info->references_total, &error)
                                        : fm_analyzer_create(&run->analyzer[i], &analyzer, &error);
        if (status) return cli_fail(&error);
    }
    if (options->distances) {
        if (fm_output_open(&run->distances, options->distances, &error)) return cli_fail(&error);
        if (fm_analyzer_set_sink(run->analyzer[0], cli_write_distances, run->distances, &error))
            return cli_fail(&error);
    }
    return -1;
}

static bool give_up(void *context, fm_analyzer *analyzer)
{
    analysis *run = context;
    for (size_t i = 0; i < run->what.count; i++)
        if (cli_memory_choice_give_up(&run->choice[i], analyzer)) return true;
    return false;
}

static int read_trace(fm_reader *reader, analysis *run, bool progress)
{
    fm_error error;
    fm_analyzer *analyzers[2 * CLI_MOST_GRANULARITIES];
    size_t count = 0;
    const fm_analyze_options options = {.threads = run->threads,
                                        .sites = run->code.index,
                                        .context = run,
                                        .damage = cli_reading_damage,
                                        .progress = cli_reading_progress,
                                        .give_up = run->chooses ? give_up : NULL};
    for (size_t i = 0; i < run->what.count; i++) {
        analyzers[count++] = run->chooses ? run->choice[i].exact : run->analyzer[i];
        if (run->chooses && run->choice[i].sampled) analyzers[count++] = run->choice[i].sampled;
    }
    cli_progress_start(&run->reading.progress, "references", progress);
    const fm_status status = fm_analyze(reader, analyzers, count, &options, &error);
    cli_progress_end(&run->reading.progress);
    if (!status) return -1;
    const int code = cli_fail(&error);
    if (status == FM_E_NOMEM && !run->what.max_memory && !cli_analysis_engine(&run->what)->on_card)
        cli_note(
            "--max-memory BYTES keeps to what there is: it takes samples where exact distances need more; "
            "--bound BLOCKS forgets what no cache of interest would keep");
    return code;
}

/* Where a profile comes from, and what is missing in it. */
static int label(const analysis *run, fm_profile *profile, const char *name)
{
    profile->name = strdup(name);
    return profile->name ? cli_reading_mark(&run->reading, profile) : cli_out_of_memory();
}

static int take_profiles(analysis *run, const char *name)
{
    fm_error error;
    for (size_t i = 0; i < run->what.count; i++) {
        fm_status status = run->chooses ? cli_memory_choice_profile(&run->choice[i], &run->profile[i], &error)
                                        : fm_analyzer_profile(run->analyzer[i], &run->profile[i], &error);
        if (status) return cli_fail(&error);
        fm_profile *profile = run->profile[i];
        if (run->chooses) cli_memory_choice_note(&run->choice[i], profile);
        int code = label(run, profile, name);
        if (code >= 0) return code;
    }
    return -1;
}

/* ---- results ---- */

static int show(const analysis *run, const analyze_options *options)
{
    static const char also[] = "also: --pairs (who used it last), --histogram, --by function|object,\n"
                               "      --json profile.json and then fathom report, fathom diff, fathom mrc\n";
    fm_view_options view = cli_view_options();
    if (!run->profile[0]->cold_known)
        cli_note("more distinct blocks than can be remembered under --bound: first touches after that "
                 "are counted as beyond");
    return cli_attribution_show(stdout, &view, &options->attribution, (const fm_profile *const *)run->profile,
                                run->what.count, &run->caches, also);
}

static int deliver(analysis *run, const analyze_options *options)
{
    fm_error error;
    int code = -1;
    cli_new_keys_note(&run->keys, run->profile[0]->references, run->profile[0]->cold);
    if (run->distances) {
        fm_output *distances = run->distances;
        run->distances = NULL;
        if (fm_output_commit(distances, &error)) return cli_fail(&error);
    }
    code = cli_profiles_check(run->profile, run->what.count);
    if (code < 0) code = cli_attribution_keep_caches(&run->caches, run->profile, run->what.count);
    if (code >= 0) return code;
    if (options->json &&
        fm_profile_write(options->json, (const fm_profile *const *)run->profile, run->what.count, &error))
        return cli_fail(&error);
    if (run->profile[0]->attribution)
        code = cli_attribution_write(&options->attribution, run->profile[0], &run->caches);
    bool taken = cli_is_stdout(options->json) || cli_is_stdout(options->distances) ||
                 cli_attribution_takes_stdout(&options->attribution);
    if (code < 0 && !taken) code = show(run, options);
    return code >= 0 ? code : run->reading.damages ? CLI_INCOMPLETE : CLI_COMPLETE;
}

/* Whether code sites would be lost, or a limit, if --engine auto chose a card. */
static bool needs_exact(const analysis *run, const analyze_options *options, const fm_trace_info *info)
{
    return run->what.max_memory || (info->columns & FM_COLUMN_SITE && !options->attribution.no_sites);
}

/* As many as the trace says, or as its size tells; 0: nobody knows. */
static uint64_t references_expected(const fm_trace_info *info)
{
    if (info->references_total) return info->references_total;
    const bool raw = strcmp(info->format, "u64") == 0 && strcmp(info->compression, "none") == 0;
    return raw ? info->bytes_total / sizeof(uint64_t) : 0;
}

static int check_sizes(const analysis *run, const analyze_options *options)
{
    const uint64_t least = cli_analysis_least_granularity(&run->what);
    return cli_check_sizes(options->attribution.sizes, least,
                           run->what.analyzer.elements            ? "elements"
                           : least == 1 && !run->memory_addresses ? "keys"
                                                                  : NULL);
}

/* Everything that is known once the trace is open. */
static int prepare(analysis *run, const analyze_options *options, const char *path, const fm_reader *reader)
{
    fm_trace_info info;
    int code = -1;
    fm_reader_info(reader, &info);
    run->memory_addresses = info.memory_addresses;
    cli_analysis_choose_engine(&run->what, needs_exact(run, options, &info) ? 0 : references_expected(&info));
    if (run->what.count == 0) run->what.granularity[run->what.count++] = info.memory_addresses ? 64 : 1;
    if (info.memory_addresses && info.columns & FM_COLUMN_SIZE) cli_analysis_note_bytes(&run->what);
    code = check_sizes(run, options);
    /* Keys of a storage trace do not live in this machine's caches, nor do elements. */
    if (code < 0 && ((info.memory_addresses && !run->what.analyzer.elements) || options->attribution.sizes))
        code = cli_attribution_find_caches(&options->attribution, &run->caches);
    if (code < 0) code = prepare_sites(run, options, path, &info);
    return code < 0 ? create_analyzers(run, options, &info) : code;
}

static void hear_opened(void *context, const fm_reader *reader)
{
    analysis *run = context;
    fm_trace_info info;
    fm_reader_info(reader, &info);
    cli_new_keys_look(&run->keys, &info);
    cli_trace_key_notes(reader, run->what.count > 0 ? run->what.granularity[0] : 0);
}

static void hear_ended(void *context, const fm_reader *reader)
{
    (void)context;
    cli_trace_notes(reader);
}

/* As one rank of many: rank 0 shows what all have found. */
static int analyze_together(const char *path, const analyze_options *options,
                            const fm_reader_options *reading, analysis *run)
{
    bool first;
    const unsigned threads = options->threads == UINT64_MAX ? 1 : (unsigned)options->threads;
    const fm_cluster_listener listener = {
        .context = run, .opened = hear_opened, .damage = cli_reading_damage, .ended = hear_ended};
    int code = cli_mpi_analyze(&options->mpi, path, &run->what, reading, threads, run->profile, &listener,
                               &run->memory_addresses, &first);
    if (code >= 0) return code;
    if (!first) return CLI_COMPLETE;
    const char *name = options->mpi.shards              ? options->mpi.shards
                       : path && strcmp(path, "-") != 0 ? path
                                                        : "standard input";
    for (size_t i = 0; i < run->what.count && code < 0; i++) code = label(run, run->profile[i], name);
    if (code >= 0) return code;
    code = check_sizes(run, options);
    if (code < 0 && ((run->memory_addresses && !run->what.analyzer.elements) || options->attribution.sizes))
        code = cli_attribution_find_caches(&options->attribution, &run->caches);
    return code < 0 ? deliver(run, options) : code;
}

static int analyze(const char *path, const analyze_options *options, fm_reader_options *reading,
                   analysis *run)
{
    fm_reader *reader = NULL;
    fm_error error;
    if (fm_reader_open(&reader, path, reading, &error)) return cli_fail(&error);
    hear_opened(run, reader);
    const char *name = strcmp(path, "-") ? path : "standard input";
    int code = prepare(run, options, name, reader);
    if (code < 0) code = read_trace(reader, run, options->progress);
    if (code < 0) {
        cli_trace_notes(reader);
        code = take_profiles(run, name);
    }
    if (code < 0) code = attach_sites(run, reader, &options->attribution);
    if (code < 0) code = deliver(run, options);
    fm_reader_close(reader);
    return code;
}

/* ---- options ---- */

/* What ranks cannot do together. */
static int check_mpi(const analyze_options *options, const analysis *run, size_t traces)
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
    const char *alone = options->distances ? "distances" : needs_sites(options);
    if (!alone && run->what.analyzer.time_distances) alone = "time";
    if (!alone && run->what.max_memory) alone = "max-memory";
    if (alone) return cli_misuse("--mpi and --%s: cannot be had together", alone);
    return -1;
}

static int check(const analyze_options *options, size_t traces, analysis *run, fm_reader_options *reading)
{
    int code = cli_analysis_check(&options->analysis, &run->what);
    if (code < 0) code = cli_attribution_check(&options->attribution, options->json);
    if (code >= 0) return code;
    if (options->distances && run->what.count > 1)
        return cli_misuse("--distances: takes one granularity, not %zu", run->what.count);
    if (cli_is_stdout(options->distances) && cli_is_stdout(options->json))
        return cli_misuse("--distances and --json cannot both go to standard output");
    if (cli_is_stdout(options->distances) && cli_attribution_takes_stdout(&options->attribution))
        return cli_misuse("only one result can go to standard output");
    if (options->sites && options->attribution.no_sites)
        return cli_misuse("--sites and --no-sites contradict each other");
    const char *needs = needs_sites(options);
    if (run->what.histogram_only && (needs || options->distances))
        return cli_misuse("--%s: the engine %s tells the histogram of distances only",
                          needs ? needs : "distances", options->analysis.engine);
    if (needs && run->what.max_memory) return cli_misuse("--max-memory: cannot be promised with --%s", needs);
    /* What only single distances can tell needs an engine that tells them. */
    run->chooses = run->what.max_memory && !options->analysis.engine && !options->analysis.bound &&
                   !options->analysis.time && !options->distances;
    if ((code = cli_reader_options(&options->trace, reading)) >= 0) return code;
    if (reading->csv_size && run->what.count == 0)
        return cli_misuse("--size-column: needs --granularity, the size of a block in bytes");
    if ((code = cli_check_threads(options->threads, CLI_MOST_THREADS)) >= 0) return code;
    if ((code = check_mpi(options, run, traces)) >= 0) return code;
    uint64_t threads = options->threads == UINT64_MAX ? fm_analyzer_processors() : options->threads;
    reading->read_ahead = threads > 1;
    run->threads = threads < CLI_MOST_THREADS ? (unsigned)threads : CLI_MOST_THREADS;
    /* Ranks read parts; and memory that was promised not to be used is not taken for batches. */
    if (!options->mpi.mpi && !run->what.max_memory)
        reading->threads = run->threads < CLI_MOST_DECODERS ? run->threads : CLI_MOST_DECODERS;
    return -1;
}

int cli_verb_analyze(int argc, char **argv)
{
    /* Numbers nobody gives: not asked for. */
    analyze_options options = {
        .threads = UINT64_MAX, .analysis.max_memory = UINT64_MAX, .attribution.top = CLI_TOP};
    const cli_option table[] = {
        {"json", CLI_TO(&options.json)},
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

    analysis run = {0};
    fm_reader_options reading = {0};
    if ((code = check(&options, count, &run, &reading)) >= 0) return code;
    const char *const results[] = {options.json, options.attribution.callgrind, options.attribution.csv};
    if (!options.mpi.mpi && (code = cli_try_outputs(results, 3)) >= 0) return code;
    code = options.mpi.mpi ? analyze_together(count > 0 ? argv[1] : NULL, &options, &reading, &run)
                           : analyze(argv[1], &options, &reading, &run);
    for (size_t i = 0; i < run.what.count; i++) {
        fm_analyzer_destroy(run.analyzer[i]);
        cli_memory_choice_destroy(&run.choice[i]);
        fm_profile_destroy(run.profile[i]);
    }
    fm_output_abandon(run.distances);
    fm_site_index_destroy(run.code.index);
    return cli_finish(code);
}
