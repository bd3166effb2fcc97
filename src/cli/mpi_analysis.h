/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_analysis.h - fathom analyze --mpi: this process is one rank of many. */
#ifndef FATHOM_CLI_MPI_ANALYSIS_H
#define FATHOM_CLI_MPI_ANALYSIS_H

#include "cli.h"

typedef struct cli_mpi_options {
    bool mpi;
    const char *shards; /* a pattern of file names; NULL: a single trace */
} cli_mpi_options;

#define CLI_MPI_OPTIONS(options)                                                                             \
    {"mpi", CLI_TO(&(options)->mpi)},                                                                        \
    {                                                                                                        \
        "mpi-shards", CLI_TO(&(options)->shards)                                                             \
    }

#endif
