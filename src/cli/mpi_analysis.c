/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_analysis.c - see mpi_analysis.h. Only rank 0 speaks, but for one that fails. */
#define _GNU_SOURCE
#include "mpi_analysis.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOMENT = 500 * 1000 }; /* microseconds */

/* The numbers in names count as numbers: trace.9 comes before trace.10. */
static int by_version(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static int find_shards(const char *pattern, glob_t *found)
{
    int result = glob(pattern, GLOB_ERR, NULL, found);
    if (result == GLOB_NOMATCH) {
        cli_complain("--mpi-shards: there is no file like %s", pattern);
        return CLI_FAILED;
    }
    if (result != 0) {
        cli_complain("--mpi-shards: %s cannot be looked for%s", pattern,
                     result == GLOB_NOSPACE ? ": out of memory" : "");
        return CLI_FAILED;
    }
    qsort(found->gl_pathv, found->gl_pathc, sizeof *found->gl_pathv, by_version);
    return -1;
}

static void fail(fm_cluster *cluster, const fm_error *error)
{
    char message[1200];
    cli_complain("rank %u of %u: %s", fm_cluster_rank(cluster), fm_cluster_size(cluster),
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

int cli_mpi_analyze(const cli_mpi_options *options, const char *path, cli_analysis *what,
                    const fm_reader_options *reading, unsigned threads, fm_profile **profiles,
                    const fm_cluster_listener *listener, bool *memory_addresses, bool *first)
{
    fm_cluster *cluster;
    fm_error error;
    glob_t shards = {0};
    *first = false;
    if (options->shards) {
        int code = find_shards(options->shards, &shards);
        if (code >= 0) return code;
    }
    if (fm_cluster_join(&cluster, &error)) {
        globfree(&shards);
        return cli_fail(&error);
    }
    const fm_cluster_work work = {.path = path,
                                  .shards = options->shards ? (const char *const *)shards.gl_pathv : NULL,
                                  .shard_count = shards.gl_pathc,
                                  .reading = reading,
                                  .engine = what->analyzer.engine,
                                  .engine_options = what->analyzer.engine_options,
                                  .bound = what->analyzer.bound,
                                  .bins = what->analyzer.bins,
                                  .isa = what->analyzer.isa,
                                  .seed = what->analyzer.seed,
                                  .granularity = what->granularity,
                                  .granularity_count = what->count,
                                  .elements = what->analyzer.elements,
                                  .threads = threads,
                                  .listener = listener};
    if (fm_cluster_analyze(cluster, &work, profiles, memory_addresses, &error)) fail(cluster, &error);
    globfree(&shards);
    *first = fm_cluster_rank(cluster) == 0;
    if (*first && path && strcmp(path, "-") == 0) drain_standard_input();
    if (*first && what->count == 0) what->granularity[what->count++] = profiles[0]->granularity;
    fm_cluster_leave(cluster);
    return -1;
}
