/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_phases.c - fathom phases: the phases of a trace and those inside them, a profile for each, and which
 * of them recur.
 *
 * Three passes over the trace: about where it changes, with the largest distance or, where a threshold is
 * given, the samples; where exactly, with the samples; the phases' profiles. So the trace must be a file.
 */
#include "attribution_output.h"
#include "cli.h"
#include "distance_stream.h"
#include "file_checks.h"
#include "phases_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_MOST = 4096 };

typedef struct phases_options {
    const char *json, *profiles, *granularity;
    uint64_t threshold, top, depth;
    double alike;
    bool progress;
    cli_trace_options trace;
} phases_options;

/* What the passes leave. */
typedef struct search {
    cli_distance_stream stream;
    uint64_t largest; /* distance */
    fm_phase_finder *finder;
    fm_sampler *sampler;
    fm_phases *phases;
    fm_phase_counter *counter;
    fm_profile **each;   /* one for each phase of level 1 */
    fm_profile **deeper; /* of the level that is shown, where that is another one */
    size_t deeper_count;
} search;

/* ---- the passes ---- */

static fm_status survey(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                        fm_error *error)
{
    search *self = context;
    for (size_t i = 0; i < count; i++)
        if (distances[i] < FM_BEYOND && distances[i] > self->largest) self->largest = distances[i];
    fm_status status = fm_phase_finder_survey(self->finder, distances, count, error);
    if (status == FM_OK && self->sampler)
        status = fm_sampler_feed(self->sampler, blocks, distances, count, error);
    return status;
}

static fm_status locate(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                        fm_error *error)
{
    return fm_phase_finder_locate(((search *)context)->finder, blocks, distances, count, error);
}

static fm_status locate_and_sample(void *context, const uint64_t *blocks, const uint64_t *distances,
                                   size_t count, fm_error *error)
{
    fm_status status = locate(context, blocks, distances, count, error);
    return status ? status : fm_sampler_feed(((search *)context)->sampler, blocks, distances, count, error);
}

static fm_status count_phases(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                              fm_error *error)
{
    (void)blocks;
    return fm_phase_counter_feed(((search *)context)->counter, distances, count, error);
}

static int pass(search *self,
                fm_status (*take)(void *, const uint64_t *, const uint64_t *, size_t, fm_error *))
{
    self->stream.take = take;
    self->stream.context = self;
    const int code = cli_distance_stream_run(&self->stream);
    self->stream.heard.silent = true;
    return code;
}

static int start_sampling(search *self, uint64_t threshold)
{
    fm_error error;
    fm_sampler_options sampling = {.threshold = threshold, .samples = FM_MOST_DATA_SAMPLES};
    return fm_sampler_create(&self->sampler, &sampling, &error) ? cli_fail(&error) : -1;
}

/* The two passes that find them, and the phases. */
static int find_phases(search *self, const phases_options *options)
{
    fm_error error;
    uint64_t threshold = options->threshold;
    int code = threshold ? start_sampling(self, threshold) : -1;
    if (code < 0 && fm_phase_finder_create(&self->finder, &error)) code = cli_fail(&error);
    if (code < 0) code = pass(self, survey);
    if (code >= 0) return code;
    if (threshold)
        code = pass(self, locate);
    else if ((code = start_sampling(self, threshold = self->largest / 2)) < 0)
        code = pass(self, locate_and_sample);
    if (code < 0 && fm_phases_create_nested(&self->phases, self->finder, self->sampler, threshold,
                                            options->threshold > 0, self->stream.references, &error))
        code = cli_fail(&error);
    return code;
}

static int profile_phases(search *self, const phases_options *options)
{
    fm_error error;
    if (fm_phase_counter_create(&self->counter, self->phases, self->stream.granularity, &error))
        return cli_fail(&error);
    const int code = pass(self, count_phases);
    if (code < 0 && fm_phase_counter_finish(self->counter, options->alike, &self->each, &error))
        return cli_fail(&error);
    return code;
}

/* ---- results ---- */

/* Phases are parts of one trace: their counts add up to those of the whole, but for distinct blocks. */
static int make_whole(search *self, fm_profile **whole)
{
    fm_error error;
    if (fm_profile_create(whole, &error)) return cli_fail(&error);
    (*whole)->granularity = self->stream.granularity;
    for (size_t i = 0; i < self->phases->count; i++)
        if (fm_profile_merge(*whole, self->each[i], &error)) return cli_fail(&error);
    (*whole)->distinct = (*whole)->cold;
    free((*whole)->name);
    (*whole)->name = strdup(self->stream.path);
    if (!(*whole)->name) return cli_out_of_memory();
    int code = cli_reading_mark(&self->stream.heard, *whole);
    for (size_t i = 0; i < self->phases->count && code < 0; i++) {
        code = cli_reading_mark(&self->stream.heard, self->each[i]);
        self->each[i]->lost = 0; /* in which phase they are missing is not known */
    }
    if (code >= 0) return code;
    (*whole)->phases = self->phases;
    self->phases = NULL;
    return -1;
}

static cli_phase_view view_of(const search *self, const fm_phases *phases, uint64_t depth)
{
    cli_phase_view made = {.phases = phases, .level = (size_t)depth, .levels = phases->inner_count + 1};
    made.count = depth > 1 ? phases->inner[depth - 2].count : phases->count;
    made.each = depth > 1 ? phases->inner[depth - 2].phases : phases->phases;
    made.profiles = depth > 1 ? self->deeper : self->each;
    return made;
}

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

static int write_each(const cli_phase_view *shown, const char *prefix)
{
    fm_error error;
    int code = -1;
    for (size_t i = 0; i < shown->count && code < 0; i++) {
        char path[PATH_MOST];
        const fm_profile *one = shown->profiles[i];
        code = name_profile(prefix, i + 1, path, sizeof path);
        if (code < 0 && fm_profile_write(path, &one, 1, &error)) code = cli_fail(&error);
    }
    return code;
}

static void destroy_profiles(fm_profile **profiles, size_t count)
{
    for (size_t i = 0; profiles && i < count; i++) fm_profile_destroy(profiles[i]);
    free(profiles);
}

static int deliver(search *self, const phases_options *options)
{
    fm_error error;
    fm_profile *whole = NULL;
    const size_t count = self->phases->count, levels = self->phases->inner_count + 1;
    int code = make_whole(self, &whole);
    if (code < 0) code = cli_profiles_check(&whole, 1);
    const fm_profile *one = whole;
    if (code < 0 && options->json && fm_profile_write(options->json, &one, 1, &error))
        code = cli_fail(&error);
    if (code < 0 && options->depth > levels) {
        cli_complain("--depth: there are phases on %zu level%s, none on level %" PRIu64, levels,
                     levels > 1 ? "s" : "", options->depth);
        code = CLI_FAILED;
    }
    if (code < 0) {
        if (options->depth > 1) {
            self->deeper = fm_phase_counter_take(self->counter, (unsigned)options->depth);
            self->deeper_count = whole->phases->inner[options->depth - 2].count;
        }
        const cli_phase_view shown = view_of(self, whole->phases, options->depth);
        if (options->profiles) code = write_each(&shown, options->profiles);
        if (code < 0 && (!options->json || strcmp(options->json, "-") != 0))
            cli_show_phases(whole, &shown, options->top);
    }
    destroy_profiles(self->each, count);
    destroy_profiles(self->deeper, self->deeper_count);
    fm_profile_destroy(whole);
    return code >= 0 ? code : self->stream.heard.damages ? CLI_INCOMPLETE : CLI_COMPLETE;
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
    search self = {.stream = {.path = argv[1], .progress = options.progress}};
    uint64_t *granularity = &self.stream.granularity;
    if (strcmp(argv[1], "-") == 0) return cli_misuse("TRACE must be a file: it is read more than once");
    if (options.granularity && (!cli_parse_bytes(options.granularity, granularity) || *granularity == 0 ||
                                (*granularity & (*granularity - 1))))
        return cli_misuse("--granularity: expected a power of two such as 64 or 4K, found '%s'",
                          options.granularity);
    if (!(options.alike > 0 && options.alike <= 1))
        return cli_misuse("--alike: expected a number over 0 and up to 1");
    if (options.depth < 1) return cli_misuse("--depth: expected a level, 1 or more");
    if ((code = cli_reader_options(&options.trace, &self.stream.reading)) >= 0) return code;
    if ((code = check_profiles(options.profiles)) < 0) code = find_phases(&self, &options);
    if (code < 0) code = profile_phases(&self, &options);
    if (code < 0) code = deliver(&self, &options);
    fm_phase_counter_destroy(self.counter);
    fm_phases_destroy(self.phases);
    fm_sampler_destroy(self.sampler);
    fm_phase_finder_destroy(self.finder);
    return cli_finish(code);
}
