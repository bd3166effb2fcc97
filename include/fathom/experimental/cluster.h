/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster.h - one trace analysed by many processes together, on one machine or many: the ranks of an MPI job.
 * The result is, to the last bit, that of one process. MPI is not linked: a module is loaded by
 * fm_cluster_join, for the MPI that started the process.
 *
 *     fm_error error;
 *     fm_cluster *cluster;
 *     fm_profile *profile = NULL; // rank 0 gets it
 *     bool memory_addresses;
 *     fm_cluster_work work = {.path = "trace.fathom", .threads = 1};
 *     if (fm_cluster_join(&cluster, &error)) return;
 *     if (fm_cluster_analyze(cluster, &work, &profile, &memory_addresses, &error)) // every rank
 *         fm_cluster_abort(cluster, &error);                                       // ends them all
 *     fm_cluster_leave(cluster);
 *
 * Where MPI itself fails, it ends the job.
 */
#ifndef FATHOM_EXPERIMENTAL_CLUSTER_H
#define FATHOM_EXPERIMENTAL_CLUSTER_H

#include <fathom/analyzer.h>
#include <fathom/profile.h>
#include <fathom/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fm_cluster fm_cluster;

/* FM_E_UNSUPPORTED: no module for this MPI, or none at all; the error says what to install. */
FM_API fm_status fm_cluster_join(fm_cluster **cluster, fm_error *error);
FM_API uint32_t fm_cluster_rank(const fm_cluster *cluster); /* from 0 */
FM_API uint32_t fm_cluster_size(const fm_cluster *cluster);
/* This rank cannot go on. Ends the whole job, with an exit code that is not 0; does not return. */
FM_API void fm_cluster_abort(fm_cluster *cluster, const fm_error *error);
/* Every rank, at the end. NULL is fine. */
FM_API void fm_cluster_leave(fm_cluster *cluster);

/* What rank 0 hears of the trace on the way. Members may be NULL. */
typedef struct fm_cluster_listener {
    void *context;
    /* The trace, or the first of its files, was opened: by fm_reader_info, what it is. */
    void (*opened)(void *context, const fm_reader *reader);
    /*
     * Damage, in the order of the trace; what is sound counts, as in one process. Where ranks that read parts
     * meet damage, everything is begun anew with rank 0 reading for all: the damage, and what is behind it,
     * are told in no other way. NULL: damage is a failure.
     */
    void (*damage)(void *context, const fm_error *error);
    /* Where rank 0 reads one trace for all, at its end. */
    void (*ended)(void *context, const fm_reader *reader);
} fm_cluster_listener;

/* The same for every rank, but for what they find in their files. */
typedef struct fm_cluster_work {
    /*
     * A trace that every rank can read: each reads its own part, if it can be divided (fm_trace_divisible);
     * otherwise, and from "-", rank 0 alone reads, and deals out what it reads.
     */
    const char *path;
    /* Instead: files that follow each other in time. Every rank reads its share of them. */
    const char *const *shards;
    size_t shard_count;
    const fm_reader_options *reading; /* NULL: the usual ones */
    const char *engine;               /* "exact", also where NULL, or "parda" */
    const char *engine_options;       /* as in fm_analyzer_options, and so are … */
    uint64_t bound;
    fm_bins bins;
    unsigned threads; /* of each rank; 0: 1 */
    const char *isa;
    uint64_t seed;               /* … these two */
    const uint64_t *granularity; /* one profile for each; none: 64 for memory addresses, 1 for keys */
    size_t granularity_count;
    uint64_t deal;                       /* references dealt to a rank at a time; 0: as many as suit */
    const fm_cluster_listener *listener; /* NULL: nobody listens. All ranks have one, or none has */
    bool elements;                       /* as in fm_analyzer_options; granularities must be 1 */
    bool unused[7];                      /* false: so that there is no padding at the end */
} fm_cluster_work;

/*
 * In rank 0, profiles get one for each granularity (one where none was given); the caller destroys them. In
 * other ranks nothing. *memory_addresses: see fm_trace_info. Damage of the trace is a failure unless the
 * listener hears of it. A rank that fails must call fm_cluster_abort.
 */
FM_SIZED_BY(fm_status, fm_cluster_analyze, (size_t, size_t, size_t),
            (sizeof(fm_cluster_work), sizeof *work->reading, sizeof *work->listener),
            (fm_cluster *cluster, const fm_cluster_work *work, fm_profile **profiles, bool *memory_addresses,
             fm_error *error),
            (cluster, work, profiles, memory_addresses, error));

#ifdef __cplusplus
}
#endif
#endif
