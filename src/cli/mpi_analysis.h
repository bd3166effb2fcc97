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
    {"mpi",                                                                                                  \
     0,                                                                                                      \
     CLI_FLAG,                                                                                               \
     &(options)->mpi,                                                                                        \
     NULL,                                                                                                   \
     "this is a rank of an MPI job: mpirun -np 8 fathom analyze --mpi …\n"                                 \
     "All ranks together analyse the trace; --threads is for each"},                                         \
    {                                                                                                        \
        "mpi-shards", 0, CLI_STRING, &(options)->shards, "PATTERN",                                          \
            "with --mpi, instead of TRACE: files that follow each other in\n"                                \
            "time, in the order of the numbers in their names"                                               \
    }

#endif
