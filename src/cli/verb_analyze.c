/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_analyze.c - fathom analyze: a stored or piped trace in, its reuse-distance profile out.
 *
 * One pass over the trace feeds an analyzer per granularity. It joins reader, analyzers, profile and
 * views; it computes nothing itself.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_GRANULARITIES = 16, MOST_CACHES = 16 };

/* What the program needs beside the analyzers: itself, the reader's buffers. */
#define PROGRAM_MEMORY (UINT64_C(16) << 20)

typedef struct analyze_options {
    const char *json, *granularity, *engine, *bins, *distances, *isa;
    uint64_t threads, bound, max_memory;
    bool time, quiet, progress;
    cli_trace_options trace;
} analyze_options;

typedef struct analysis {
    size_t count;
    uint64_t granularity[MOST_GRANULARITIES];
    fm_analyzer *analyzer[MOST_GRANULARITIES];
    fm_profile *profile[MOST_GRANULARITIES];
    fm_output *distances; /* NULL: not asked for, or committed */
    /* What is missing of the input. */
    uint64_t damages, lost;
    fm_error first_damage;
} analysis;

/* ---- options ---- */

static int parse_granularities(const char *list, analysis *run)
{
    char text[256];
    if ((size_t)snprintf(text, sizeof text, "%s", list) >= sizeof text)
        return cli_misuse("--granularity: the list is too long");
    char *rest = text;
    while (rest) {
        char *part = strsep(&rest, ",");
        uint64_t value;
        if (!cli_parse_count(part, &value) || value == 0 || (value & (value - 1)))
            return cli_misuse("--granularity: expected a power of two such as 64 or 4K, found '%s'", part);
        for (size_t i = 0; i < run->count; i++)
            if (run->granularity[i] == value) return cli_misuse("--granularity: %s is named twice", part);
        if (run->count == MOST_GRANULARITIES)
            return cli_misuse("--granularity: at most %d at a time", MOST_GRANULARITIES);
        run->granularity[run->count++] = value;
    }
    return -1;
}

static int parse_bins(const char *name, fm_bins *bins)
{
    if (!name || fm_bins_from_name(name, bins)) return -1;
    return cli_misuse("--bins: expected exact, log2 or loglinear, found '%s'", name);
}

static int check_engine(const char *name)
{
    char names[256] = "";
    const fm_engine_info *info;
    for (size_t i = 0; (info = fm_engine_at(i)); i++) {
        if (!name || strcmp(info->name, name) == 0) return -1;
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", info->name);
    }
    return cli_misuse("--engine: there is no engine '%s'; there are %s", name, names);
}

static int check_isa(const char *name)
{
    char names[256] = "";
    const char *isa;
    for (size_t i = 0; (isa = fm_isa_at(i)); i++) {
        if (!name || strcmp(isa, name) == 0) return -1;
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", isa);
    }
    return cli_misuse("--isa: this machine cannot run '%s'; it can run %s", name, names);
}

/* ---- the run ---- */

static fm_status write_distances(void *context, const uint64_t *distances, size_t count, fm_error *error)
{
    return fm_output_write(context, distances, count * sizeof *distances, error);
}

static int create_analyzers(analysis *run, const analyze_options *options, fm_bins bins)
{
    fm_error error;
    uint64_t share = 0;
    if (options->max_memory) {
        uint64_t left = options->max_memory > PROGRAM_MEMORY ? options->max_memory - PROGRAM_MEMORY : 0;
        share = left / run->count;
        if (share == 0) {
            cli_complain("--max-memory %" PRIu64 " cannot be kept: the program itself needs %" PRIu64
                         " bytes",
                         options->max_memory, (uint64_t)PROGRAM_MEMORY);
            return CLI_FAILED;
        }
    }
    for (size_t i = 0; i < run->count; i++) {
        fm_analyzer_options analyzer = {.engine = options->engine,
                                        .granularity = run->granularity[i],
                                        .bound = options->bound,
                                        .bins = bins,
                                        .time_distances = options->time,
                                        .max_memory = share,
                                        .isa = options->isa};
        if (fm_analyzer_create(&run->analyzer[i], &analyzer, &error)) return cli_fail(&error);
    }
    if (options->distances) {
        if (fm_output_open(&run->distances, options->distances, &error)) return cli_fail(&error);
        fm_analyzer_set_sink(run->analyzer[0], write_distances, run->distances);
    }
    return -1;
}

static void note_damage(analysis *run, const fm_error *error)
{
    char message[1200];
    cli_complain("%s", fm_error_message(error, message, sizeof message));
    if (run->damages++ == 0) run->first_damage = *error;
    run->lost += error->lost;
}

static fm_status feed_all(fm_reader *reader, analysis *run, cli_progress *progress, fm_error *error)
{
    for (;;) {
        fm_batch batch;
        fm_status status = fm_reader_next(reader, &batch, error);
        if (fm_status_is_damage(status)) {
            note_damage(run, error);
            continue;
        }
        if (status) return status;
        if (batch.count == 0) return FM_OK;
        for (size_t i = 0; i < run->count; i++) {
            status = fm_analyzer_feed(run->analyzer[i], &batch, error);
            if (status) return status;
        }
        fm_trace_info info;
        fm_reader_info(reader, &info);
        cli_progress_update_read(progress, &info);
    }
}

static int take_profiles(analysis *run, const char *name)
{
    fm_error error;
    for (size_t i = 0; i < run->count; i++) {
        if (fm_analyzer_profile(run->analyzer[i], &run->profile[i], &error)) return cli_fail(&error);
        fm_profile *profile = run->profile[i];
        profile->name = strdup(name);
        if (run->damages) {
            char message[1200];
            profile->complete = false;
            profile->lost = run->lost;
            profile->what_missing = strdup(fm_error_message(&run->first_damage, message, sizeof message));
        }
        if (!profile->name || (run->damages && !profile->what_missing)) {
            cli_complain("out of memory");
            return CLI_FAILED;
        }
    }
    return -1;
}

/* ---- results ---- */

static void show(const analysis *run, bool memory_addresses)
{
    fm_view_options view = cli_view_options();
    fm_cache caches[MOST_CACHES];
    size_t count = 0;
    fm_error error;
    if (memory_addresses && fm_machine_caches(caches, MOST_CACHES, &count, &error))
        cli_note("this machine's caches are left out: %s", error.reason);
    for (size_t i = 0; i < run->count; i++) {
        if (i > 0) printf("\n");
        fm_view_histogram(stdout, run->profile[i], &view);
        if (count > 0) {
            printf("\n");
            fm_view_caches(stdout, run->profile[i], caches, count, &view);
        }
    }
    if (!run->profile[0]->cold_known)
        cli_note("more distinct blocks than can be remembered under --bound: first touches after that "
                 "are counted as beyond");
}

static int deliver(analysis *run, const analyze_options *options, bool memory_addresses)
{
    fm_error error;
    if (run->distances) {
        fm_output *distances = run->distances;
        run->distances = NULL;
        if (fm_output_commit(distances, &error)) return cli_fail(&error);
    }
    if (options->json &&
        fm_profile_write(options->json, (const fm_profile *const *)run->profile, run->count, &error))
        return cli_fail(&error);
    bool stdout_taken = (options->json && strcmp(options->json, "-") == 0) ||
                        (options->distances && strcmp(options->distances, "-") == 0);
    if (!stdout_taken) show(run, memory_addresses);
    return run->damages ? CLI_INCOMPLETE : CLI_COMPLETE;
}

static int analyze(const char *path, const analyze_options *options, fm_reader_options *reading, fm_bins bins,
                   analysis *run)
{
    fm_reader *reader = NULL;
    fm_error error;
    fm_trace_info info;
    if (fm_reader_open(&reader, path, reading, &error)) return cli_fail(&error);
    fm_reader_info(reader, &info);
    if (run->count == 0) run->granularity[run->count++] = info.memory_addresses ? 64 : 1;
    int code = create_analyzers(run, options, bins);
    if (code < 0) {
        cli_progress progress;
        cli_progress_start(&progress, "references", options->progress);
        fm_status status = feed_all(reader, run, &progress, &error);
        cli_progress_end(&progress);
        code = status ? cli_fail(&error) : -1;
    }
    if (code < 0) {
        cli_trace_notes(reader);
        code = take_profiles(run, strcmp(path, "-") ? path : "standard input");
    }
    if (code < 0) code = deliver(run, options, info.memory_addresses);
    fm_reader_close(reader);
    return code;
}

int cli_verb_analyze(int argc, char **argv)
{
    /* Numbers nobody gives: not asked for. */
    analyze_options options = {.threads = UINT64_MAX, .max_memory = UINT64_MAX};
    const char *bound = NULL;
    const cli_option table[] = {
        {"json", 'j', CLI_STRING, &options.json, "FILE", "write the profile as JSON; - for standard output"},
        {"granularity", 'g', CLI_STRING, &options.granularity, "BYTES",
         "block size, a power of two; several as 8,64,4096 in one pass\n"
         "(default 64 for memory addresses, 1 for keys)"},
        {"engine", 'e', CLI_STRING, &options.engine, "NAME",
         "exact (default), tree (Olken's splay tree), list (Mattson's stack)"},
        {"threads", 0, CLI_COUNT, &options.threads, "N",
         "1: everything in one thread; 2 and more: the trace is decoded\n"
         "ahead of the analysis (default: as many as there are cores)"},
        {"bound", 0, CLI_STRING, &bound, "BLOCKS",
         "distances from here on are one class, `beyond`; memory is\nbounded by it"},
        {"bins", 0, CLI_STRING, &options.bins, "NAME",
         "histogram resolution: loglinear (default; exact below 1024,\n"
         "then 64 bins per power of two), log2, exact"},
        {"time", 0, CLI_FLAG, &options.time, NULL, "count time distances too"},
        {"distances", 0, CLI_STRING, &options.distances, "FILE",
         "write every reference's distance: little-endian u64 in trace\n"
         "order, first touch = 2^64-1, beyond the bound = 2^64-2"},
        {"max-memory", 0, CLI_COUNT, &options.max_memory, "BYTES",
         "never use more; stop with a message when that cannot be kept"},
        {"isa", 0, CLI_STRING, &options.isa, "NAME",
         "instruction set of the exact engine: avx512, avx2, portable\n(default: the best this machine has)"},
        {"quiet", 'q', CLI_FLAG, &options.quiet, NULL, "no progress, no notes"},
        {"progress", 0, CLI_FLAG, &options.progress, NULL,
         "progress also when standard error is no terminal"},
        CLI_TRACE_OPTIONS(&options.trace),
        {0},
    };
    const cli_command command = {
        .usage = "fathom analyze [options] TRACE",
        .about =
            "The exact reuse-distance profile of a trace: how many distinct blocks were touched between\n"
            "two references to the same block, as a histogram. TRACE is a file, or - for standard\n"
            "input; zstd and gzip are recognised by content.",
        .options = table,
        .notes = "Examples:\n"
                 "  fathom analyze trace.fathom --json profile.json\n"
                 "  fathom analyze --format csv --key lbn requests.csv\n"
                 "  zstdcat keys.txt.zst | fathom analyze --format text -\n",
        .least = 1,
        .most = 1,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    cli_quiet = options.quiet;

    analysis run = {0};
    fm_bins bins = FM_BINS_LOGLINEAR;
    fm_reader_options reading = {0};
    if (options.granularity && (code = parse_granularities(options.granularity, &run)) >= 0) return code;
    if ((code = parse_bins(options.bins, &bins)) >= 0) return code;
    if ((code = check_engine(options.engine)) >= 0) return code;
    if ((code = check_isa(options.isa)) >= 0) return code;
    if (bound && (!cli_parse_count(bound, &options.bound) || options.bound == 0))
        return cli_misuse("--bound: expected a number of blocks, at least 1, found '%s'", bound);
    if (options.distances && run.count > 1)
        return cli_misuse("--distances: takes one granularity, not %zu", run.count);
    if (options.distances && options.json && strcmp(options.distances, "-") == 0 &&
        strcmp(options.json, "-") == 0)
        return cli_misuse("--distances and --json cannot both go to standard output");
    if (options.trace.size_column && run.count == 0)
        return cli_misuse("--size-column: needs --granularity, the size of a block in bytes");
    if ((code = cli_reader_options(&options.trace, &reading)) >= 0) return code;
    if (options.threads == 0) return cli_misuse("--threads: expected at least 1");
    if (options.max_memory == 0) return cli_misuse("--max-memory: expected at least 1 byte");
    if (options.max_memory == UINT64_MAX) options.max_memory = 0;
    if (options.threads == UINT64_MAX) options.threads = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    reading.read_ahead = options.threads > 1;

    code = analyze(argv[1], &options, &reading, bins, &run);
    for (size_t i = 0; i < run.count; i++) {
        fm_analyzer_destroy(run.analyzer[i]);
        fm_profile_destroy(run.profile[i]);
    }
    fm_output_abandon(run.distances);
    return cli_finish(code);
}
