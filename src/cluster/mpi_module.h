/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_module.h - what a module for MPI (modules/mpi) has to offer, and how it is loaded. Which one: MPIs
 * announce themselves to the processes they start by variables in their environment.
 */
#ifndef FATHOM_CLUSTER_MPI_MODULE_H
#define FATHOM_CLUSTER_MPI_MODULE_H

#include "cluster/transport.h"

enum { FM_MPI_INTERFACE = 1 };

typedef struct fm_mpi_module {
    unsigned interface; /* FM_MPI_INTERFACE of the time it was built */
    fm_status (*open)(fm_transport **transport);
} fm_mpi_module;

#define FM_MPI_SYMBOL "fm_mpi"

/* Joins the job that this process was started in; one of its own where there is none. */
fm_status fm_mpi_join(fm_transport **transport, fm_error *error);

#endif
