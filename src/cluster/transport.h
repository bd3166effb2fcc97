/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport.h - how ranks talk: by MPI, in a module of its own, or as threads of one process.
 */
#ifndef FATHOM_CLUSTER_TRANSPORT_H
#define FATHOM_CLUSTER_TRANSPORT_H

#include <fathom/status.h>

/*
 * ==== transport ====
 *
 * What ranks that analyse one trace together need to tell each other.
 *
 * A rank is a process of an MPI job (modules/mpi), or a thread of this one. Algorithms
 * are written against this interface alone, so that they are tested without MPI, and run with any.
 *
 * Messages between two ranks arrive in the order they were sent, and have the size that the receiver expects:
 * both sides know it. All calls block. send may wait until the other side receives: where two ranks send to
 * each other, exchange is the way. A rank that cannot go on calls fail, which ends the whole job: nobody
 * waits for it in vain.
 */

typedef struct fm_transport fm_transport;

struct fm_transport {
    uint32_t rank, size; /* rank < size */
    fm_status (*send)(fm_transport *self, uint32_t to, const void *data, size_t bytes, fm_error *error);
    fm_status (*receive)(fm_transport *self, uint32_t from, void *data, size_t bytes, fm_error *error);
    /* Sends and receives at the same time. `to` and `from` may be the same, also this rank itself. */
    fm_status (*exchange)(fm_transport *self, uint32_t to, const void *out, size_t out_bytes, uint32_t from,
                          void *in, size_t in_bytes, fm_error *error);
    /* Every rank gives `bytes` bytes; everybody gets those of all, by rank. */
    fm_status (*gather)(fm_transport *self, const void *mine, size_t bytes, void *all, fm_error *error);
    /* This rank gives up: calls of the others fail, or do not return. */
    void (*fail)(fm_transport *self, const fm_error *error);
    void (*close)(fm_transport *self);
};

/*
 * Every rank has something of any size for every other: out_begin[r] … out_begin[r + 1] are the items of
 * `out` for rank r. *in gets what the others have for this one, by rank, in_begin likewise (size + 1
 * numbers); the caller frees it. Items are of item_bytes bytes. size - 1 rounds, in each of which every rank
 * sends to one and receives from another.
 */
fm_status fm_transport_exchange_all(fm_transport *transport, size_t item_bytes, const void *out,
                                    const uint64_t *out_begin, void **in, uint64_t *in_begin,
                                    fm_error *error);

/* The sum over all ranks of each of `count` numbers, for everybody. */
fm_status fm_transport_sum(fm_transport *transport, uint64_t *numbers, size_t count, fm_error *error);

/*
 * ==== threads as ranks ====
 *
 * Ranks that are threads of this process: for the engine `parda`, and for testing what
 * runs on clusters. Messages are copied once, from the sender's memory into the receiver's: a sender waits
 * until its message was taken.
 */

typedef struct fm_local_cluster fm_local_cluster;

fm_status fm_local_cluster_create(fm_local_cluster **cluster, uint32_t size, fm_error *error);
void fm_local_cluster_destroy(fm_local_cluster *cluster); /* when no rank uses it any more; NULL is fine */
/* Of one rank; lives as long as the cluster. Each is used by one thread at a time. */
fm_transport *fm_local_cluster_rank(fm_local_cluster *cluster, uint32_t rank);

/*
 * ==== MPI modules ====
 *
 * What a module for MPI (modules/mpi) has to offer, and how it is loaded. Which one: MPIs
 * announce themselves to the processes they start by variables in their environment.
 */

enum { FM_MPI_INTERFACE = 1 };

typedef struct fm_mpi_module {
    unsigned interface; /* FM_MPI_INTERFACE of the time it was built */
    fm_status (*open)(fm_transport **transport);
} fm_mpi_module;

#define FM_MPI_SYMBOL "fm_mpi"

/* Joins the job that this process was started in; one of its own where there is none. */
fm_status fm_mpi_join(fm_transport **transport, fm_error *error);

#endif
