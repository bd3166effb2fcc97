/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_phases.c - fathom phases: where a trace begins anew with data that it had long left, a profile for
 * each stretch between, and which of them recur.
 *
 * Three passes over the trace: the largest distance, where no threshold is given; the samples; the phases'
 * profiles. So the trace must be a file.
 */
#include "cli.h"
#include "distance_stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct phases_options {
    const char *json, *profiles, *granularity;
    uint64_t threshold, top;
    double alike;
    bool progress;
    cli_trace_options trace;
} phases_options;

/* What the passes leave. */
typedef struct search {
    cli_distance_stream stream;
    uint64_t largest; /* distance */
    fm_sampler *sampler;
    fm_phases *phases;
    fm_phase_counter *counter;
    fm_profile **each; /* one for each phase */
} search;

/* ---- the passes ---- */

static fm_status see_largest(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                             fm_error *error)
{
    search *self = context;
    (void)blocks;
    (void)error;
    for (size_t i = 0; i < count; i++)
        if (distances[i] < FM_BEYOND && distances[i] > self->largest) self->largest = distances[i];
    return FM_OK;
}

static fm_status see_samples(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                             fm_error *error)
{
    return fm_sampler_feed(((search *)context)->sampler, blocks, distances, count, error);
}

static fm_status see_phases(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
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
    return cli_distance_stream_run(&self->stream);
}

static int find_phases(search *self, const phases_options *options)
{
    fm_error error;
    uint64_t threshold = options->threshold;
    const bool was_quiet = cli_quiet;
    int code = threshold ? -1 : pass(self, see_largest);
    if (code >= 0) return code;
    cli_quiet = true; /* notes on the trace were given, or come in the last pass */
    if (threshold == 0) threshold = self->largest / 2;
    fm_sampler_options sampling = {.threshold = threshold, .samples = FM_MOST_DATA_SAMPLES};
    if (fm_sampler_create(&self->sampler, &sampling, &error)) return cli_fail(&error);
    if ((code = pass(self, see_samples)) >= 0) return code;
    cli_quiet = was_quiet || !options->threshold;
    if (fm_phases_create(&self->phases, self->sampler, threshold, self->stream.references, &error) ||
        fm_phase_counter_create(&self->counter, self->phases, self->stream.granularity, &error))
        return cli_fail(&error);
    code = pass(self, see_phases);
    cli_quiet = was_quiet;
    if (code < 0 && fm_phase_counter_finish(self->counter, options->alike, &self->each, &error))
        code = cli_fail(&error);
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
    if (!(*whole)->name) {
        cli_complain("out of memory");
        return CLI_FAILED;
    }
    int code = cli_distance_stream_mark(&self->stream, *whole);
    for (size_t i = 0; i < self->phases->count && code < 0; i++) {
        code = cli_distance_stream_mark(&self->stream, self->each[i]);
        self->each[i]->lost = 0; /* in which phase they are missing is not known */
    }
    if (code >= 0) return code;
    (*whole)->phases = self->phases;
    self->phases = NULL;
    return -1;
}

static int write_each(const fm_profile *whole, fm_profile *const *each, const char *prefix)
{
    fm_error error;
    for (size_t i = 0; i < whole->phases->count; i++) {
        char path[4096];
        const fm_profile *one = each[i];
        if ((size_t)snprintf(path, sizeof path, "%s%zu.json", prefix, i + 1) >= sizeof path)
            return cli_misuse("--profiles: the name is too long");
        if (fm_profile_write(path, &one, 1, &error)) return cli_fail(&error);
    }
    return -1;
}

/* Letters for the first kinds, numbers for all. */
static const char *kind_name(uint32_t kind, char *text, size_t size)
{
    if (kind < 26)
        snprintf(text, size, "%c", (char)('A' + kind));
    else
        snprintf(text, size, "%" PRIu32, kind + 1);
    return text;
}

static void show_kinds(const fm_phases *phases)
{
    printf("\nkind   phases   references of each   distinct blocks of each   which\n");
    for (uint32_t kind = 0;; kind++) {
        char name[16];
        uint64_t count = 0, references = 0, distinct = 0;
        for (size_t i = 0; i < phases->count; i++)
            if (phases->phases[i].kind == kind) {
                count++;
                references += phases->phases[i].end - phases->phases[i].begin;
                distinct += phases->phases[i].distinct;
            }
        if (count == 0) return;
        printf("%-4s %8" PRIu64 " %20" PRIu64 " %25" PRIu64 "  ", kind_name(kind, name, sizeof name), count,
               references / count, distinct / count);
        size_t told = 0;
        for (size_t i = 0; i < phases->count && told < 12; i++)
            if (phases->phases[i].kind == kind && ++told <= 12) printf(" %zu", i + 1);
        printf("%s\n", count > told ? " ..." : "");
    }
}

static void show(const fm_profile *whole, uint64_t top)
{
    const fm_phases *phases = whole->phases;
    size_t samples = 0;
    for (size_t i = 0; i < phases->sample_count; i++) samples += phases->samples[i].count;
    const fm_view_options view = cli_view_options();
    printf("phases of   ");
    fm_view_text(stdout, whole->name, &view);
    printf("\nreferences  %" PRIu64 "\nthreshold   %" PRIu64
           " blocks: %zu blocks were watched, which came back from further away %zu times\nphases      %zu\n",
           whole->references, phases->threshold, phases->sample_count, samples, phases->count);
    if (phases->sample_count > 0)
        printf("cut at      the peaks of block %" PRIu64 "\n", phases->samples[0].block);
    show_kinds(phases);
    printf("\nphase         begins at      references   distinct blocks     first touches   kind\n");
    for (size_t i = 0; i < phases->count && i < top; i++) {
        const fm_trace_phase *phase = &phases->phases[i];
        char name[16];
        printf("%5zu %17" PRIu64 " %15" PRIu64 " %17" PRIu64 " %17" PRIu64 "   %s\n", i + 1, phase->begin,
               phase->end - phase->begin, phase->distinct, phase->cold,
               kind_name(phase->kind, name, sizeof name));
    }
    if (phases->count > top)
        printf("and %zu more (--top shows more, --json has all)\n", phases->count - (size_t)top);
}

static int deliver(search *self, const phases_options *options)
{
    fm_error error;
    fm_profile *whole = NULL;
    const size_t count = self->phases->count;
    int code = make_whole(self, &whole);
    if (code < 0 && options->profiles) code = write_each(whole, self->each, options->profiles);
    const fm_profile *one = whole;
    if (code < 0 && options->json && fm_profile_write(options->json, &one, 1, &error))
        code = cli_fail(&error);
    if (code < 0 && (!options->json || strcmp(options->json, "-") != 0)) show(whole, options->top);
    for (size_t i = 0; i < count; i++) fm_profile_destroy(self->each[i]);
    free(self->each);
    fm_profile_destroy(whole);
    return code >= 0 ? code : self->stream.incomplete ? CLI_INCOMPLETE : CLI_COMPLETE;
}

int cli_verb_phases(int argc, char **argv)
{
    phases_options options = {.top = CLI_TOP, .alike = 0.9};
    const cli_option table[] = {
        {"threshold", 0, CLI_COUNT, &options.threshold, "BLOCKS",
         "distances over it tell phases (default: half of the largest\ndistance, found in a pass of its "
         "own)"},
        {"alike", 0, CLI_REAL, &options.alike, "SHARE",
         "phases whose profiles overlap by this are of one kind\n(default 0.9)"},
        {"granularity", 'g', CLI_STRING, &options.granularity, "BYTES",
         "block size, a power of two (default 64 for memory\naddresses, 1 for keys)"},
        {"json", 'j', CLI_STRING, &options.json, "FILE",
         "write the profile of the trace, with its phases, as JSON;\nfathom report draws them"},
        {"profiles", 0, CLI_STRING, &options.profiles, "PREFIX",
         "write a profile of each phase: PREFIX1.json, PREFIX2.json, …"},
        {"top", 0, CLI_COUNT, &options.top, "N", "show the first N phases (default 10)"},
        {"quiet", 'q', CLI_FLAG, &cli_quiet, NULL, "no progress, no notes"},
        {"progress", 0, CLI_FLAG, &options.progress, NULL,
         "progress also when standard error is no terminal"},
        CLI_TRACE_OPTIONS(&options.trace),
        {0},
    };
    const cli_command command = {
        .usage = "fathom phases [options] TRACE",
        .about =
            "Finds the phases of a trace. A few blocks that come back from afar are watched; phases are\n"
            "the stretches between the peaks of the distances at which one of them comes back. Phases\n"
            "with like profiles are of one kind: they recur.",
        .options = table,
        .notes = "Example:\n"
                 "  fathom record -o solve.fathom -- ./solve 100\n"
                 "  fathom phases solve.fathom --json phases.json\n"
                 "  fathom report phases.json -o phases.html\n",
        .least = 1,
        .most = 1,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    search self = {.stream = {.path = argv[1], .progress = options.progress}};
    uint64_t *granularity = &self.stream.granularity;
    if (strcmp(argv[1], "-") == 0) return cli_misuse("TRACE must be a file: it is read more than once");
    if (options.granularity && (!cli_parse_count(options.granularity, granularity) || *granularity == 0 ||
                                (*granularity & (*granularity - 1))))
        return cli_misuse("--granularity: expected a power of two such as 64 or 4K, found '%s'",
                          options.granularity);
    if (!(options.alike > 0 && options.alike <= 1))
        return cli_misuse("--alike: expected a number over 0 and up to 1");
    if ((code = cli_reader_options(&options.trace, &self.stream.reading)) >= 0) return code;
    code = find_phases(&self, &options);
    if (code < 0) code = deliver(&self, &options);
    fm_phase_counter_destroy(self.counter);
    fm_phases_destroy(self.phases);
    fm_sampler_destroy(self.sampler);
    return cli_finish(code);
}
