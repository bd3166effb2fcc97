/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_transport.c - ranks that are processes of an MPI job: cluster/transport.h over MPI. Built once for
 * every MPI that is there (Open MPI and MPICH differ in everything but the source), into modules that fathom
 * loads when --mpi is asked for.
 *
 * Only the thread that opened it calls MPI. What MPI itself cannot do ends the job, by its own doing: the
 * default error handler aborts.
 */
#include "cluster/transport.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* MPI counts in int: longer messages go in pieces. */
enum { PIECE = 1 << 30 };

static int piece_of(size_t bytes)
{
    return bytes < PIECE ? (int)bytes : PIECE;
}

static fm_status mpi_send(fm_transport *self, uint32_t to, const void *data, size_t bytes, fm_error *error)
{
    (void)self;
    (void)error;
    const char *at = data;
    while (bytes > 0) {
        const int piece = piece_of(bytes);
        MPI_Send(at, piece, MPI_BYTE, (int)to, 0, MPI_COMM_WORLD);
        at += piece;
        bytes -= (size_t)piece;
    }
    return FM_OK;
}

static fm_status mpi_receive(fm_transport *self, uint32_t from, void *data, size_t bytes, fm_error *error)
{
    (void)self;
    (void)error;
    char *at = data;
    while (bytes > 0) {
        const int piece = piece_of(bytes);
        MPI_Recv(at, piece, MPI_BYTE, (int)from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        at += piece;
        bytes -= (size_t)piece;
    }
    return FM_OK;
}

static fm_status mpi_exchange(fm_transport *self, uint32_t to, const void *out, size_t out_bytes,
                              uint32_t from, void *in, size_t in_bytes, fm_error *error)
{
    (void)error;
    const char *source = out;
    char *target = in;
    if (to == self->rank && from == self->rank) {
        if (out_bytes > 0) memcpy(in, out, out_bytes);
        return FM_OK;
    }
    while (out_bytes > 0 || in_bytes > 0) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        int count = 0;
        const int sent = piece_of(out_bytes), received = piece_of(in_bytes);
        if (received > 0)
            MPI_Irecv(target, received, MPI_BYTE, (int)from, 0, MPI_COMM_WORLD, &requests[count++]);
        if (sent > 0) MPI_Isend(source, sent, MPI_BYTE, (int)to, 0, MPI_COMM_WORLD, &requests[count++]);
        MPI_Waitall(count, requests, statuses);
        source += sent;
        target += received;
        out_bytes -= (size_t)sent;
        in_bytes -= (size_t)received;
    }
    return FM_OK;
}

static fm_status mpi_gather(fm_transport *self, const void *mine, size_t bytes, void *all, fm_error *error)
{
    if (bytes <= PIECE) {
        MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
        return FM_OK;
    }
    for (uint32_t round = 0; round < self->size; round++) {
        const uint32_t to = (self->rank + round) % self->size;
        const uint32_t from = (self->rank + self->size - round) % self->size;
        mpi_exchange(self, to, mine, bytes, from, (char *)all + from * bytes, bytes, error);
    }
    return FM_OK;
}

/* Does not return: the others may be waiting in the middle of anything. */
static void mpi_fail(fm_transport *self, const fm_error *error)
{
    (void)self;
    /* What the launcher then exits with: that of one process, 2 for wrong usage. */
    MPI_Abort(MPI_COMM_WORLD, error && error->status == FM_E_ARGUMENT ? 2 : 1);
    abort();
}

static void mpi_close(fm_transport *self)
{
    MPI_Finalize();
    free(self);
}

static fm_status mpi_open(fm_transport **transport)
{
    int given, rank, size;
    *transport = calloc(1, sizeof **transport);
    if (!*transport) return FM_E_NOMEM;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS) {
        free(*transport);
        *transport = NULL;
        return FM_E_UNSUPPORTED;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    **transport = (fm_transport){.rank = (uint32_t)rank,
                                 .size = (uint32_t)size,
                                 .send = mpi_send,
                                 .receive = mpi_receive,
                                 .exchange = mpi_exchange,
                                 .gather = mpi_gather,
                                 .fail = mpi_fail,
                                 .close = mpi_close};
    return FM_OK;
}

__attribute__((visibility("default"))) const fm_mpi_module fm_mpi = {
    .interface = FM_MPI_INTERFACE,
    .open = mpi_open,
};
