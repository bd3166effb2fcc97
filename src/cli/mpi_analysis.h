/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_analysis.h - fathom analyze --mpi: this process is one rank of many. */
#ifndef FATHOM_CLI_MPI_ANALYSIS_H
#define FATHOM_CLI_MPI_ANALYSIS_H

#include "analysis_options.h"
#include "cli.h"

#include <fathom/cluster.h>

typedef struct cli_mpi_options {
    bool mpi;
    const char *shards; /* a pattern of file names; NULL: a single trace */
} cli_mpi_options;

#define CLI_MPI_OPTIONS(options)                                                                             \
    {"mpi", CLI_TO(&(options)->mpi)},                                                                        \
    {                                                                                                        \
        "mpi-shards", CLI_TO(&(options)->shards)                                                             \
    }

/*
 * All ranks, all with a listener that hears of damage; profiles and what->granularity are filled in by rank
 * 0, of which *first says that this is it. -1, or an exit code after a message; a rank that fails ends all of
 * them, and does not return.
 */
int cli_mpi_analyze(const cli_mpi_options *options, const char *path, cli_analysis *what,
                    const fm_reader_options *reading, unsigned threads, fm_profile **profiles,
                    const fm_cluster_listener *listener, bool *memory_addresses, bool *first);

#endif
