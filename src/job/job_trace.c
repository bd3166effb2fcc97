/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_trace.c - a stored or piped trace, analysed by this process or by ranks of an MPI job: one pass over it
 * feeds an analyzer for each granularity. It joins reader, analyzers and profiles; it computes nothing
 * itself.
 *
 * What max_memory does where no engine is named: the analysis is exact as long as that fits, and there is an
 * approximate one for the case that it does not. How many distinct blocks a trace has is known at its end
 * only. So a small sampling analyzer (shards) works beside the exact one from the start; when the exact one
 * meets its limit, it is let go, and the samples, which have seen everything, go on alone. Nothing is read
 * twice: it works on pipes too.
 */
#define _GNU_SOURCE /* strverscmp */
#include "job/job_internal.h"

#include "base/error.h"

#include <fathom/experimental/cluster.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- exact, or by samples, within a limit ---- */

/* What `exact` takes at most for a block while it grows, and to start with. */
enum { EXACT_BYTES_A_BLOCK = 100, EXACT_BYTES_TO_START = 8 << 20 };
/* The samples' part of the memory: a quarter, but no more than brings anything. */
enum { SAMPLED_MOST = 64 << 20, SAMPLED_SHARE = 4 };
/* Of that: half for the exact small distances, the rest for samples, by what sampled.h says of a block.
 */
enum { HASHES = 4, SAMPLES_LEAST = 256, SAMPLE_BYTES_A_BLOCK = 44, SAMPLES_BASE = 512 << 10 };

/* The analyzers of one granularity. Usually one; within a limit of memory both. */
typedef struct analyzer_pair {
    fm_analyzer *exact;   /* NULL: it did not fit */
    fm_analyzer *sampled; /* NULL: there is no second one */
    uint64_t samples;     /* blocks in each sample */
} analyzer_pair;

static uint64_t samples_within(uint64_t bytes)
{
    const uint64_t half = bytes / 2;
    const uint64_t samples =
        half > SAMPLES_BASE ? (half - SAMPLES_BASE) / HASHES / SAMPLE_BYTES_A_BLOCK : SAMPLES_LEAST;
    return samples < SAMPLES_LEAST ? SAMPLES_LEAST : samples;
}

static bool exact_always_fits(uint64_t memory, uint64_t references)
{
    return references > 0 && memory > EXACT_BYTES_TO_START &&
           references <= (memory - EXACT_BYTES_TO_START) / EXACT_BYTES_A_BLOCK;
}

/* Both analyzers, which share options->max_memory. Where the trace says that it has so few references (0: it
 * does not say) that exact fits in any case, or where the limit is too small for samples, only the exact one.
 */
static fm_status pair_create(analyzer_pair *pair, const fm_analyzer_options *options, uint64_t references,
                             fm_error *error)
{
    fm_analyzer_options exact = *options, sampled = *options;
    if (!exact_always_fits(options->max_memory, references)) {
        sampled.engine = "shards";
        sampled.max_memory = options->max_memory / SAMPLED_SHARE;
        if (sampled.max_memory > SAMPLED_MOST) sampled.max_memory = SAMPLED_MOST;
        pair->samples = samples_within(sampled.max_memory);
        char own[100];
        snprintf(own, sizeof own, "samples=%" PRIu64 ",hashes=%d", pair->samples, (int)HASHES);
        sampled.engine_options = own;
        fm_status status = fm_analyzer_create(&pair->sampled, &sampled, error);
        if (status == FM_OK) exact.max_memory -= sampled.max_memory;
        if (status != FM_OK && status != FM_E_LIMIT) return status;
    }
    return fm_analyzer_create(&pair->exact, &exact, error);
}

/* An analyzer has met its limit: if it is the exact one, and there is another, it is let go. */
static bool pair_give_up(analyzer_pair *pair, const fm_analyzer *analyzer)
{
    if (!pair->sampled || analyzer != pair->exact) return false;
    fm_analyzer_destroy(pair->exact);
    pair->exact = NULL;
    return true;
}

/* ---- the trace ---- */

typedef struct trace_job {
    fm_job *job;
    fm_reader *reader;
    fm_trace_info info;
    fm_new_keys keys;
    unsigned threads; /* of all analyzers together */
    bool chooses;     /* the engine by itself, within max_memory */
    analyzer_pair analyzer[FM_JOB_GRANULARITIES];
    fm_site_index *sites; /* NULL: not asked for, or the trace does not know */
    const fm_trace_module *modules;
    size_t module_count;
} trace_job;

void fm_job_hear_damage(void *job, const fm_error *error)
{
    fm_job *self = job;
    char message[1200];
    if (!self->damage.silent) fm_job_warn(self, "%s", fm_error_message(error, message, sizeof message));
    if (self->damage.places++ == 0) self->damage.first = *error;
    self->damage.lost += error->lost;
}

void fm_job_hear_progress(void *job, uint64_t references, double fraction)
{
    fm_job_progress_at(job, references, fraction);
}

fm_status fm_job_mark(const fm_job *job, fm_profile *profile, fm_error *error)
{
    if (job->damage.places == 0) return FM_OK;
    char message[1200], both[2600];
    fm_error_message(&job->damage.first, message, sizeof message);
    snprintf(both, sizeof both, "%s%s%s", profile->what_missing ? profile->what_missing : "",
             profile->what_missing ? "; " : "", message);
    char *what = strdup(both);
    if (!what) return fm_fail_memory(error, strlen(both), "what is missing");
    free(profile->what_missing);
    profile->what_missing = what;
    profile->complete = false;
    profile->lost += job->damage.lost;
    return FM_OK;
}

/* Where a profile comes from, and what is missing in it. */
static fm_status label_profile(const fm_job *job, fm_profile *profile, const char *name, fm_error *error)
{
    profile->name = strdup(name);
    return profile->name ? fm_job_mark(job, profile, error) : fm_fail_memory(error, strlen(name), "a name");
}

/* Code sites are counted where the trace has them, unless that is not wanted or cannot be. */
static fm_status prepare_sites(trace_job *self, const char *name, fm_error *error)
{
    fm_job *job = self->job;
    const char *needs = job->options.needs_sites;
    const fm_engine_info *engine = fm_job_engine(job);
    if (job->options.no_sites) return FM_OK;
    if (!(self->info.columns & FM_COLUMN_SITE)) {
        if (!needs) return FM_OK;
        return fm_fail(
            error, FM_E_UNSUPPORTED, NULL,
            "%s: %.300s does not tell which code its references come from (fathom record stores it)", needs,
            name);
    }
    if (engine->histogram_only) return FM_OK;
    if (job->options.max_memory) {
        fm_job_note(job, "code sites are left out: fm_job_options.max_memory cannot be promised with them");
        return FM_OK;
    }
    if (engine->no_sites && needs)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "%s: the engine %s does not tell code sites apart",
                       needs, engine->name);
    if (engine->no_sites) {
        fm_job_note(job, "code sites are left out: the engine %s does not tell them apart", engine->name);
        return FM_OK;
    }
    fm_job_cut_edges(job);
    return fm_site_index_create(&self->sites, error);
}

/* The threads are shared out among the granularities: where there are several, at least two for each, so that
 * none of them holds up the others. */
static unsigned threads_each(const trace_job *self)
{
    const size_t count = self->job->count;
    const unsigned share = (self->threads + (unsigned)count - 1) / (unsigned)count;
    return self->threads > 1 && share < 2 ? 2 : share;
}

static fm_status create_analyzers(trace_job *self, fm_error *error)
{
    fm_job *job = self->job;
    fm_status status = FM_OK;
    for (size_t i = 0; i < job->count && status == FM_OK; i++) {
        fm_analyzer_options options;
        status = fm_job_analyzer_of(job, i, job->count == 1, &options, error);
        if (status != FM_OK) return status;
        options.threads = threads_each(self);
        options.distances_only = true;
        if (i == 0 && self->sites) {
            options.edges = job->edges;
            options.edge_count = job->edge_count;
        }
        status = self->chooses ? pair_create(&self->analyzer[i], &options, self->info.references_total, error)
                               : fm_analyzer_create(&self->analyzer[i].exact, &options, error);
        status = fm_job_explain_limit(job, status, error);
    }
    if (status != FM_OK || !job->options.distances) return status;
    status = fm_output_open(&job->distances, job->options.distances, error);
    return status == FM_OK
               ? fm_analyzer_set_sink(self->analyzer[0].exact, fm_job_write_distances, job->distances, error)
               : status;
}

static bool analyzer_gives_up(void *context, fm_analyzer *analyzer)
{
    trace_job *self = context;
    for (size_t i = 0; i < self->job->count; i++)
        if (pair_give_up(&self->analyzer[i], analyzer)) return true;
    return false;
}

static void trace_damage(void *context, const fm_error *error)
{
    fm_job_hear_damage(((trace_job *)context)->job, error);
}

static void trace_progress(void *context, uint64_t references, double fraction)
{
    fm_job_progress_at(((trace_job *)context)->job, references, fraction);
}

static fm_status read_trace(trace_job *self, fm_error *error)
{
    fm_job *job = self->job;
    fm_analyzer *analyzers[2 * FM_JOB_GRANULARITIES];
    size_t count = 0;
    const fm_analyze_options options = {.threads = self->threads,
                                        .sites = self->sites,
                                        .context = self,
                                        .damage = trace_damage,
                                        .progress = trace_progress,
                                        .give_up = self->chooses ? analyzer_gives_up : NULL};
    for (size_t i = 0; i < job->count; i++) {
        analyzers[count++] = self->analyzer[i].exact;
        if (self->analyzer[i].sampled) analyzers[count++] = self->analyzer[i].sampled;
    }
    fm_job_progress_begin(job, "references", false);
    const fm_status status = fm_analyze(self->reader, analyzers, count, &options, error);
    fm_job_progress_end(job);
    return fm_job_explain_limit(job, status, error);
}

/* Which engine lasted, and what error to expect. */
static void note_choice(fm_job *job, const analyzer_pair *pair, const fm_profile *profile)
{
    if (pair->exact)
        fm_job_note(job, "fm_job_options.max_memory: the exact engine fits");
    else
        fm_job_note(
            job,
            "fm_job_options.max_memory: the exact engine does not fit; chosen was fm_job_options.engine "
            "shards fm_job_options.engine_options samples=%" PRIu64 ": %s",
            pair->samples, profile->accuracy->statement);
}

static fm_status take_profiles(trace_job *self, const char *name, fm_error *error)
{
    fm_job *job = self->job;
    fm_status status = FM_OK;
    for (size_t i = 0; i < job->count && status == FM_OK; i++) {
        const analyzer_pair *pair = &self->analyzer[i];
        status = fm_analyzer_profile(pair->exact ? pair->exact : pair->sampled, &job->profile[i], error);
        if (status != FM_OK) return fm_job_explain_limit(job, status, error);
        if (self->chooses) note_choice(job, pair, job->profile[i]);
        status = label_profile(job, job->profile[i], name, error);
    }
    return status;
}

static fm_status describe_sites(void *context, fm_attribution *attribution, const uint32_t **map,
                                size_t *map_count, fm_error *error)
{
    const trace_job *self = context;
    return fm_site_index_describe(self->sites, self->modules, self->module_count, attribution, map, map_count,
                                  error);
}

static fm_status attach_sites(trace_job *self, fm_error *error)
{
    fm_job *job = self->job;
    fm_raw_pair *pairs;
    size_t count;
    if (!self->sites) return FM_OK;
    fm_reader_modules(self->reader, &self->modules, &self->module_count);
    if (self->module_count == 0)
        fm_job_note(
            job, "the trace does not tell which files its code sites belong to: they are shown as addresses");
    fm_status status = fm_analyzer_pairs(self->analyzer[0].exact, &pairs, &count, error);
    if (status != FM_OK) return status;
    status = fm_job_attribute(job, job->profile[0], pairs, count, 0, describe_sites, self, false, error);
    free(pairs);
    return status == FM_OK ? fm_job_record_sources(job, job->profile[0], error) : status;
}

/* Whether code sites would be lost, or a limit, if the engine "auto" chose a card. */
static bool needs_exact(const trace_job *self)
{
    const fm_job_options *options = &self->job->options;
    return options->max_memory || (self->info.columns & FM_COLUMN_SITE && !options->no_sites);
}

/* As many as the trace says, or as its size tells; 0: nobody knows. */
static uint64_t references_expected(const fm_trace_info *info)
{
    if (info->references_total) return info->references_total;
    const bool raw = strcmp(info->format, "u64") == 0 && strcmp(info->compression, "none") == 0;
    return raw ? info->bytes_total / sizeof(uint64_t) : 0;
}

/* Keys of a storage trace do not live in this machine's caches, nor do elements. */
static void find_caches(fm_job *job, bool memory_addresses)
{
    fm_job_find_caches(job, memory_addresses && !job->analyzer.elements);
}

/* Everything that is known once the trace is open. */
static fm_status prepare_trace(trace_job *self, const char *name, fm_error *error)
{
    fm_job *job = self->job;
    fm_reader_info(self->reader, &self->info);
    const fm_trace_info *info = &self->info;
    fm_new_keys_look(&self->keys, info);
    fm_reader_opened_notes(self->reader, job->count > 0 ? job->granularity[0] : 0, job->options.note,
                           job->options.context);
    fm_job_choose_engine(job, needs_exact(self) ? 0 : references_expected(info));
    fm_job_granularity_default(job, info->memory_addresses ? 64 : 1);
    if (info->memory_addresses && info->columns & FM_COLUMN_SIZE) fm_job_note_bytes(job);
    fm_status status = fm_job_opened(job, info->memory_addresses, error);
    if (status != FM_OK) return status;
    find_caches(job, info->memory_addresses);
    status = prepare_sites(self, name, error);
    return status == FM_OK ? create_analyzers(self, error) : status;
}

static const char *name_of_trace(const char *path)
{
    return path && strcmp(path, "-") != 0 ? path : "standard input";
}

static fm_status analyze_trace(trace_job *self, const char *path, fm_reader_options *reading, fm_error *error)
{
    enum {
        MOST_DECODERS = 16
    }; /* decode more than one thread can take from them, which is 1 ns a reference */
    fm_job *job = self->job;
    const fm_job_options *options = &job->options;
    self->threads = fm_job_threads(job);
    self->chooses = options->max_memory && !options->engine && !options->bound && !options->time_distances &&
                    !options->distances;
    reading->read_ahead = self->threads > 1;
    /* Memory that was promised not to be used is not taken for batches. */
    if (!options->max_memory)
        reading->threads = self->threads < MOST_DECODERS ? self->threads : MOST_DECODERS;
    fm_status status = fm_reader_open(&self->reader, path, reading, error);
    const char *name = name_of_trace(path);
    if (status == FM_OK) status = prepare_trace(self, name, error);
    if (status == FM_OK) status = read_trace(self, error);
    if (status != FM_OK) return status;
    fm_reader_ended_notes(self->reader, false, job->options.note, job->options.warn, job->options.context);
    status = take_profiles(self, name, error);
    if (status == FM_OK) status = attach_sites(self, error);
    if (status != FM_OK) return status;
    fm_new_keys_note(job, &self->keys, job->profile[0]->references, job->profile[0]->cold);
    return fm_job_settle(job, error);
}

fm_status fm_job_trace_sized(size_t reading_size, fm_job *job, const char *path,
                             const fm_reader_options *reading, fm_error *error)
{
    fm_reader_options own;
    FM_REQUIRE(job, error);
    FM_REQUIRE(path, error);
    fm_status status =
        fm_sized_read(&own, sizeof own, reading, reading ? reading_size : 0, "fm_reader_options", error);
    if (status == FM_OK) status = fm_job_begin(job, FM_JOB_TRACE, error);
    if (status != FM_OK) return status;
    trace_job self = {.job = job};
    status = analyze_trace(&self, path, &own, error);
    for (size_t i = 0; i < FM_JOB_GRANULARITIES; i++) {
        fm_analyzer_destroy(self.analyzer[i].exact);
        fm_analyzer_destroy(self.analyzer[i].sampled);
    }
    fm_site_index_destroy(self.sites);
    fm_reader_close(self.reader);
    return status;
}

/* ---- ranks ---- */

/* The numbers in names count as numbers: trace.9 comes before trace.10. */
static int compare_versions(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static fm_status find_shards(const char *pattern, glob_t *found, fm_error *error)
{
    const int result = glob(pattern, GLOB_ERR, NULL, found);
    if (result == GLOB_NOMATCH)
        return fm_fail(error, FM_E_IO, NULL, "fm_job_options.mpi_shards: there is no file like %.300s",
                       pattern);
    if (result != 0)
        return fm_fail(error, FM_E_IO, NULL, "fm_job_options.mpi_shards: %.300s cannot be looked for%s",
                       pattern, result == GLOB_NOSPACE ? ": out of memory" : "");
    qsort(found->gl_pathv, found->gl_pathc, sizeof *found->gl_pathv, compare_versions);
    return FM_OK;
}

static void rank_fail(fm_job *job, fm_cluster *cluster, const fm_error *error)
{
    enum { MOMENT = 500 * 1000 }; /* microseconds */
    char message[1200];
    fm_job_warn(job, "rank %u of %u: %s", fm_cluster_rank(cluster), fm_cluster_size(cluster),
                fm_error_message(error, message, sizeof message));
    usleep(MOMENT); /* a launcher that hears of the end first may not pass on what was said before it */
    fm_cluster_abort(cluster, error);
}

/* A launcher that still has something for rank 0 takes it amiss when nobody reads it. */
static void drain_standard_input(void)
{
    char rest[8192];
    while (read(STDIN_FILENO, rest, sizeof rest) > 0) continue;
}

static void rank_opened(void *context, const fm_reader *reader)
{
    trace_job *self = context;
    fm_reader_info(reader, &self->info);
    fm_new_keys_look(&self->keys, &self->info);
    fm_job *job = self->job;
    fm_reader_opened_notes(reader, job->count > 0 ? job->granularity[0] : 0, job->options.note,
                           job->options.context);
}

static void rank_ended(void *context, const fm_reader *reader)
{
    const fm_job_options *options = &((trace_job *)context)->job->options;
    fm_reader_ended_notes(reader, false, options->note, options->warn, options->context);
}

/* This process is one rank of many: only rank 0 speaks, but for one that fails. */
static fm_status analyze_together(trace_job *self, const char *path, const glob_t *shards,
                                  const fm_reader_options *reading, bool *first, bool *memory_addresses,
                                  fm_error *error)
{
    fm_job *job = self->job;
    fm_cluster *cluster;
    const fm_cluster_listener listener = {
        .context = self, .opened = rank_opened, .damage = trace_damage, .ended = rank_ended};
    const fm_cluster_work work = {.path = path,
                                  .shards = shards->gl_pathc ? (const char *const *)shards->gl_pathv : NULL,
                                  .shard_count = shards->gl_pathc,
                                  .reading = reading,
                                  .engine = job->analyzer.engine,
                                  .engine_options = job->analyzer.engine_options,
                                  .bound = job->analyzer.bound,
                                  .bins = job->analyzer.bins,
                                  .isa = job->analyzer.isa,
                                  .granularity = job->granularity,
                                  .granularity_count = job->count,
                                  .elements = job->analyzer.elements,
                                  .threads = self->threads,
                                  .listener = &listener};
    fm_status status = fm_cluster_join(&cluster, error);
    if (status != FM_OK) return status;
    fm_error failure;
    if (fm_cluster_analyze(cluster, &work, job->profile, memory_addresses, &failure))
        rank_fail(job, cluster, &failure);
    *first = fm_cluster_rank(cluster) == 0;
    if (*first && path && strcmp(path, "-") == 0) drain_standard_input();
    if (*first) fm_job_granularity_default(job, job->profile[0]->granularity);
    fm_cluster_leave(cluster);
    return FM_OK;
}

fm_status fm_job_ranks_sized(size_t reading_size, fm_job *job, const char *path, const char *shards,
                             const fm_reader_options *reading, fm_error *error)
{
    fm_reader_options own;
    bool first = false, memory_addresses = false;
    glob_t files = {0};
    FM_REQUIRE(job, error);
    fm_status status =
        fm_sized_read(&own, sizeof own, reading, reading ? reading_size : 0, "fm_reader_options", error);
    if (status == FM_OK && !path == !shards)
        status = fm_fail(error, FM_E_ARGUMENT, NULL, "expected a trace or a pattern of files, and not both");
    if (status == FM_OK) status = fm_job_begin(job, FM_JOB_TRACE, error);
    if (status == FM_OK && shards) status = find_shards(shards, &files, error);
    if (status != FM_OK) return status;
    trace_job self = {.job = job, .threads = job->options.threads ? (unsigned)job->options.threads : 1};
    own.read_ahead = fm_job_threads(job) > 1;
    status = analyze_together(&self, path, &files, &own, &first, &memory_addresses, error);
    globfree(&files);
    if (status != FM_OK || !first) return status;
    const char *name = shards ? shards : name_of_trace(path);
    for (size_t i = 0; i < job->count && status == FM_OK; i++)
        status = label_profile(job, job->profile[i], name, error);
    if (status == FM_OK) status = fm_job_opened(job, memory_addresses, error);
    if (status != FM_OK) return status;
    find_caches(job, memory_addresses);
    fm_new_keys_note(job, &self.keys, job->profile[0]->references, job->profile[0]->cold);
    return fm_job_settle(job, error);
}
