/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster.c - see fathom/experimental/cluster.h: ranks join, agree on what they are going to do, and put the
 * profile together.
 */
#include "analyzer/block_cutter.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "cluster/team.h"
#include "cluster/transport.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * ==== reading ====
 *
 * Every thread of every rank reads its own part of the trace, or its own share of files that
 * follow each other. One phase.
 */

/* Reads a file, or a part of one, to its end. */
static fm_status read_file(fm_gathering *gatherings, const char *path, const fm_reader_options *reading,
                           fm_error *error)
{
    const fm_batch_taker taker = {.context = gatherings, .take = fm_cluster_feed};
    fm_reader *reader = NULL;
    fm_status status = fm_reader_open(&reader, path, reading, error);
    if (status == FM_OK) status = fm_read_all(reader, &taker, error);
    fm_reader_close(reader);
    return status;
}

static fm_status read_chunk(void *context, unsigned chunk, fm_error *error)
{
    const fm_cluster_run *run = context;
    const fm_cluster_work *work = run->work;
    /* All teams have the same places. */
    const uint32_t chunks = run->transport->size * work->threads;
    const uint32_t number = run->ops->place(run->teams[0]) * work->threads + chunk;
    fm_gathering *gatherings = fm_cluster_gather(run, chunk);
    fm_status status = gatherings ? FM_OK : FM_E_NOMEM;
    if (status != FM_OK && error)
        *error = (fm_error){.status = FM_E_NOMEM, .reason = "out of memory for a thread that reads"};
    fm_reader_options reading = *work->reading;
    if (work->shards) {
        const size_t first = (size_t)number * work->shard_count / chunks;
        const size_t end = ((size_t)number + 1) * work->shard_count / chunks;
        for (size_t i = first; i < end && status == FM_OK; i++)
            status = read_file(gatherings, work->shards[i], &reading, error);
    } else if (status == FM_OK) {
        reading.part = number;
        reading.parts = chunks;
        status = read_file(gatherings, work->path, &reading, error);
    }
    if (status == FM_OK) status = fm_cluster_feed_end(gatherings, error);
    free(gatherings);
    return status;
}

/* *damaged: some rank has met damage that is to be reported in order. The teams are of no use any more; all
 * ranks know. */
static fm_status read_own_files(const fm_cluster_run *run, bool *damaged, fm_error *error)
{
    fm_status status = fm_cluster_for_chunks(run, read_chunk, (void *)(uintptr_t)run, error);
    *damaged = false;
    if (fm_cluster_hears_damage(run) && (status == FM_OK || fm_status_is_damage(status))) {
        /* Nobody has sent anything to the others so far. */
        uint64_t met = status != FM_OK;
        status = fm_transport_sum(run->transport, &met, 1, error);
        *damaged = met > 0;
        if (status != FM_OK || *damaged) return status;
    }
    for (size_t i = 0; i < run->count && status == FM_OK; i++)
        status = run->ops->merge_phase(run->teams[i], true, error);
    return status;
}

/*
 * ==== teams ====
 *
 * See team.h: what is the same for all kinds of teams.
 */

/* Adds what another rank has counted. */
static fm_status receive_tally(fm_transport *transport, uint32_t from, fm_tally *tally, fm_error *error)
{
    uint64_t head[4]; /* bins, total, cold, beyond */
    fm_status status = transport->receive(transport, from, head, sizeof head, error);
    if (status == FM_OK) status = fm_tally_reserve(tally, head[0], error);
    if (status != FM_OK) return status;
    uint64_t *counts = fm_calloc(head[0] ? head[0] : 1, sizeof *counts);
    if (!counts) return fm_fail_memory(error, head[0] * sizeof *counts, "another rank's histogram");
    status = transport->receive(transport, from, counts, head[0] * sizeof *counts, error);
    for (uint64_t i = 0; i < head[0] && status == FM_OK; i++) tally->counts[i] += counts[i];
    free(counts);
    tally->total += head[1];
    tally->cold += head[2];
    tally->beyond += head[3];
    return status;
}

fm_status fm_team_sum_tallies(fm_transport *transport, fm_tally *tally, fm_error *error)
{
    fm_status status = FM_OK;
    if (transport->rank == 0) {
        for (uint32_t from = 1; from < transport->size && status == FM_OK; from++)
            status = receive_tally(transport, from, tally, error);
        return status;
    }
    const uint64_t bins = fm_tally_end(tally);
    const uint64_t head[4] = {bins, tally->total, tally->cold, tally->beyond};
    status = transport->send(transport, 0, head, sizeof head, error);
    if (status == FM_OK)
        status = transport->send(transport, 0, tally->counts, bins * sizeof *tally->counts, error);
    return status;
}

fm_status fm_cluster_join(fm_cluster **cluster, fm_error *error)
{
    *cluster = fm_calloc(1, sizeof **cluster);
    if (!*cluster) return fm_fail_memory(error, sizeof **cluster, "the cluster");
    fm_status status = fm_mpi_join(&(*cluster)->transport, error);
    if (status != FM_OK) {
        free(*cluster);
        *cluster = NULL;
    }
    return status;
}

uint32_t fm_cluster_rank(const fm_cluster *cluster)
{
    return cluster->transport->rank;
}

uint32_t fm_cluster_size(const fm_cluster *cluster)
{
    return cluster->transport->size;
}

void fm_cluster_abort(fm_cluster *cluster, const fm_error *error)
{
    cluster->transport->fail(cluster->transport, error);
}

void fm_cluster_leave(fm_cluster *cluster)
{
    if (!cluster) return;
    cluster->transport->close(cluster->transport);
    free(cluster);
}

/* ---- chunks ---- */

fm_gathering *fm_cluster_gather(const fm_cluster_run *run, unsigned chunk)
{
    fm_gathering *gatherings = fm_calloc(run->count, sizeof *gatherings);
    for (size_t i = 0; i < run->count && gatherings; i++) {
        gatherings[i].run = run;
        gatherings[i].team = run->teams[i];
        gatherings[i].chunk = chunk;
        gatherings[i].shift = (unsigned)__builtin_ctzll(run->granularity[i]);
    }
    return gatherings;
}

static fm_status feed_gathered(fm_gathering *self, fm_error *error)
{
    const size_t count = self->count;
    self->count = 0;
    return count > 0 ? self->run->ops->feed(self->team, self->chunk, self->blocks, count, error) : FM_OK;
}

static fm_status gathering_take(fm_gathering *self, const fm_batch *batch, fm_error *error)
{
    fm_batch whole = *batch;
    if (self->run->work->elements) whole.size = NULL;
    fm_block_cutter cutter = {.kernels = self->run->kernels,
                              .batch = &whole,
                              .shift = self->shift,
                              .end = batch->count,
                              .budget = &self->budget};
    fm_status status = FM_OK;
    while (status == FM_OK && fm_block_cutter_left(&cutter) > 0) {
        size_t count;
        status = fm_block_cutter_next(&cutter, self->blocks + self->count, FM_GATHER_MOST - self->count,
                                      &count, error);
        self->count += count;
        if (status == FM_OK && self->count == FM_GATHER_MOST) status = feed_gathered(self, error);
    }
    self->budget.accesses += batch->count;
    return status;
}

fm_status fm_cluster_feed(void *gatherings, const fm_batch *batch, fm_error *error)
{
    fm_gathering *all = gatherings;
    fm_status status = FM_OK;
    for (size_t i = 0; i < all->run->count && status == FM_OK; i++)
        status = gathering_take(&all[i], batch, error);
    return status;
}

fm_status fm_cluster_feed_end(fm_gathering *gatherings, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < gatherings->run->count && status == FM_OK; i++)
        status = feed_gathered(&gatherings[i], error);
    return status;
}

/* What became of a chunk. */
typedef struct chunk_end {
    fm_status status;
    fm_error error;
} chunk_end;

typedef struct chunk_round {
    fm_chunk_work work;
    void *context;
    chunk_end *ends;
} chunk_round;

static void work_on_chunk(void *context, size_t chunk)
{
    const chunk_round *round = context;
    chunk_end *end = &round->ends[chunk];
    end->status = round->work(round->context, (unsigned)chunk, &end->error);
}

fm_status fm_cluster_for_chunks(const fm_cluster_run *run, fm_chunk_work work, void *context, fm_error *error)
{
    const unsigned count = run->work->threads;
    chunk_round round = {.work = work, .context = context, .ends = fm_calloc(count, sizeof *round.ends)};
    if (!round.ends) return fm_fail_memory(error, count * sizeof *round.ends, "threads");
    fm_rounds_run(run->threads, work_on_chunk, &round, count);
    fm_status status = FM_OK;
    for (unsigned i = 0; i < count && status == FM_OK; i++) {
        status = round.ends[i].status;
        if (status != FM_OK && error) *error = round.ends[i].error;
    }
    free(round.ends);
    return status;
}

/* ---- what ranks agree on ---- */

/* What a rank sees of the trace. */
typedef struct seen_trace {
    uint64_t bytes, references;
    uint64_t divisible;
    uint64_t addresses; /* 1: memory, 2: keys, 0: it has not looked */
} seen_trace;

/* Somebody else will end everything: waits for it. */
static fm_status wait_for_end(fm_transport *transport, uint32_t rank, fm_error *error)
{
    char never;
    return transport->receive(transport, rank, &never, 1, error);
}

/* All must see the same file. The first one that does not says so. */
static fm_status compare_extents(const fm_cluster_run *run, const seen_trace *all, fm_error *error)
{
    const uint32_t rank = run->transport->rank;
    for (uint32_t r = 1; r < run->transport->size; r++) {
        if (all[r].bytes == all[0].bytes && all[r].references == all[0].references &&
            all[r].divisible == all[0].divisible)
            continue;
        if (rank != r) return wait_for_end(run->transport, r, error);
        return fm_fail(error, FM_E_IO, run->work->path,
                       "not the same file as rank 0 sees: here %" PRIu64 " bytes and %" PRIu64
                       " references, there %" PRIu64 " and %" PRIu64,
                       all[r].bytes, all[r].references, all[0].bytes, all[0].references);
    }
    return FM_OK;
}

static fm_status look_at_file(const fm_cluster_run *run, seen_trace *seen, fm_error *error)
{
    const char *path = run->work->path;
    fm_trace_extent extent = {0};
    fm_error why;
    if (strcmp(path, "-") == 0) return FM_OK; /* rank 0's */
    fm_status status = fm_trace_divisible(path, run->work->reading, &extent, &why);
    if (status == FM_E_UNSUPPORTED) return FM_OK;
    if (status != FM_OK) {
        if (error) *error = why;
        return status;
    }
    seen->bytes = extent.bytes;
    seen->references = extent.references;
    seen->divisible = 1;
    return FM_OK;
}

bool fm_cluster_hears_damage(const fm_cluster_run *run)
{
    return run->work->listener && run->work->listener->damage;
}

/* Memory or keys: rank 0 opens the trace, or the first of its files. */
static fm_status look_inside(const fm_cluster_work *work, seen_trace *seen, fm_reader **reader,
                             fm_error *error)
{
    fm_trace_info info;
    fm_status status =
        fm_reader_open(reader, work->shards ? work->shards[0] : work->path, work->reading, error);
    if (status != FM_OK) return status;
    fm_reader_info(*reader, &info);
    seen->addresses = info.memory_addresses ? 1 : 2;
    if (work->listener && work->listener->opened) work->listener->opened(work->listener->context, *reader);
    return FM_OK;
}

/*
 * Whether every rank reads for itself, and the granularity where none was given. *reader: opened by rank 0
 * where it reads for all.
 */
static fm_status ranks_agree(fm_cluster_run *run, fm_reader **reader, bool *together, bool *memory_addresses,
                             fm_error *error)
{
    static const uint64_t usual[] = {0, 64, 1, 1};
    fm_transport *transport = run->transport;
    const fm_cluster_work *work = run->work;
    seen_trace mine = {0}, *all = fm_calloc(transport->size, sizeof *all);
    if (!all) return fm_fail_memory(error, transport->size * sizeof *all, "what ranks see");
    fm_status status = work->shards ? FM_OK : look_at_file(run, &mine, error);
    if (status == FM_OK && transport->rank == 0) status = look_inside(work, &mine, reader, error);
    if (status == FM_OK && (work->shards || mine.divisible)) {
        fm_reader_close(*reader); /* each reads its own */
        *reader = NULL;
    }
    if (status == FM_OK) status = transport->gather(transport, &mine, sizeof mine, all, error);
    if (status == FM_OK && !work->shards) status = compare_extents(run, all, error);
    if (status == FM_OK) {
        *together = work->shards || all[0].divisible;
        *memory_addresses = all[0].addresses == 1;
        if (run->count == 0) {
            run->granularity = &usual[work->elements ? 3 : all[0].addresses];
            run->count = 1;
        }
    }
    free(all);
    return status;
}

/* Hash tables of all ranks have one seed, that nobody outside knows. */
static fm_status agree_on_seed(const fm_cluster_run *run, uint64_t *seed, fm_error *error)
{
    uint64_t *all = fm_calloc(run->transport->size, sizeof *all), mine = fm_random_seed();
    if (!all) return fm_fail_memory(error, run->transport->size * sizeof *all, "seeds");
    fm_status status = run->transport->gather(run->transport, &mine, sizeof mine, all, error);
    *seed = run->work->seed ? run->work->seed : all[0];
    free(all);
    return status;
}

/* ---- the analysis ---- */

static fm_status create_teams(fm_cluster_run *run, fm_error *error)
{
    const fm_cluster_work *work = run->work;
    fm_team_options options = {
        .bound = work->bound, .bins = work->bins, .isa = work->isa, .chunks = work->threads};
    fm_status status = agree_on_seed(run, &options.seed, error);
    run->teams = fm_calloc(run->count, sizeof(fm_team *));
    if (!run->teams) return fm_fail_memory(error, run->count * sizeof(fm_team *), "teams");
    for (size_t i = 0; i < run->count && status == FM_OK; i++)
        status = run->ops->create(&run->teams[i], run->transport, &options, error);
    return status;
}

static void destroy_teams(fm_cluster_run *run)
{
    for (size_t i = 0; run->teams && i < run->count; i++) run->ops->destroy(run->teams[i]);
    free(run->teams);
    run->teams = NULL;
}

/* All that is in the trace, into teams. */
static fm_status feed_teams(fm_cluster_run *run, bool together, fm_reader **reader, fm_error *error)
{
    fm_status status = create_teams(run, error);
    if (status != FM_OK || !together) return status == FM_OK ? fm_cluster_deal(run, reader, error) : status;
    bool damaged;
    status = read_own_files(run, &damaged, error);
    if (status != FM_OK || !damaged) return status;
    destroy_teams(run);
    status = create_teams(run, error);
    return status == FM_OK ? fm_cluster_deal(run, reader, error) : status;
}

static fm_status make_profile(const fm_cluster_run *run, size_t index, fm_profile **profile, fm_error *error)
{
    fm_tally tally;
    fm_team_result result;
    fm_status status = fm_tally_create(&tally, run->work->bins, error);
    if (status == FM_OK) status = run->ops->finish(run->teams[index], &tally, &result, error);
    if (status == FM_OK && run->transport->rank == 0) {
        const fm_tally_origin origin = {.engine = run->ops->name,
                                        .exact = true,
                                        .granularity = run->granularity[index],
                                        .bound = run->work->bound,
                                        .distinct = result.distinct,
                                        .cold_known = result.cold_known};
        status = fm_tally_profile(&tally, &origin, profile, error);
        if (status == FM_OK) (*profile)->elements = run->work->elements;
    }
    fm_tally_clear(&tally);
    return status;
}

static fm_status find_engine(const char *name, const fm_team_ops **ops, fm_error *error)
{
    static const fm_team_ops *const all[] = {&fm_team_exact, &fm_team_parda};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *ops = all[i];
        if (!name || strcmp(name, all[i]->name) == 0) return FM_OK;
    }
    return fm_fail(error, FM_E_ARGUMENT, NULL, "the engine '%s' does not work on several ranks", name);
}

static fm_status cluster_analyze(fm_cluster *cluster, const fm_cluster_work *work, fm_profile **profiles,
                                 bool *memory_addresses, fm_error *error)
{
    fm_cluster_run run = {.transport = cluster->transport,
                          .work = work,
                          .granularity = work->granularity,
                          .count = work->granularity_count};
    fm_reader *reader = NULL;
    bool together = false;
    fm_status status = find_engine(work->engine, &run.ops, error);
    for (size_t i = 0; work->elements && i < work->granularity_count && status == FM_OK; i++)
        if (work->granularity[i] != 1)
            status = fm_fail(error, FM_E_ARGUMENT, NULL, "elements have no granularity but 1, not %" PRIu64,
                             work->granularity[i]);
    if (status == FM_OK) status = fm_engine_options_check(work->engine, work->engine_options, error);
    if (status != FM_OK) return status;
    run.kernels = fm_exact_kernels_find(work->isa);
    if (!run.kernels)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "this machine cannot run the instruction set '%s'",
                       work->isa ? work->isa : "");
    status = ranks_agree(&run, &reader, &together, memory_addresses, error);
    if (status == FM_OK) status = fm_rounds_create(&run.threads, work->threads, error);
    if (status == FM_OK) status = feed_teams(&run, together, &reader, error);
    for (size_t i = 0; i < run.count && status == FM_OK; i++)
        status = make_profile(&run, i, &profiles[i], error);
    destroy_teams(&run);
    fm_rounds_destroy(run.threads);
    fm_reader_close(reader);
    return status;
}

fm_status fm_cluster_analyze_sized(size_t given_size, size_t reading_size, size_t listener_size,
                                   fm_cluster *cluster, const fm_cluster_work *given, fm_profile **profiles,
                                   bool *memory_addresses, fm_error *error)
{
    FM_REQUIRE(cluster, error);
    fm_cluster_work work;
    fm_reader_options reading;
    fm_cluster_listener listener;
    fm_status status = fm_sized_read(&work, sizeof work, given, given_size, "fm_cluster_work", error);
    if (status == FM_OK)
        status =
            fm_sized_read(&reading, sizeof reading, work.reading, reading_size, "fm_reader_options", error);
    if (status == FM_OK && work.listener)
        status = fm_sized_read(&listener, sizeof listener, work.listener, listener_size,
                               "fm_cluster_listener", error);
    if (status == FM_OK) status = fm_check_choice(work.bins, FM_BINS_EXACT, "fm_cluster_work.bins", error);
    if (status != FM_OK) return status;
    if (work.threads == 0) work.threads = 1;
    work.reading = &reading;
    if (work.listener) work.listener = &listener;
    return cluster_analyze(cluster, &work, profiles, memory_addresses, error);
}
