/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_threads.h - one thread for each rank of a local cluster (cluster/local_transport.h), kept from one job
 * to the next. All ranks work on a job at the same time, as they wait for each other; the thread that asks
 * for it is rank 0.
 */
#ifndef FATHOM_CLUSTER_RANK_THREADS_H
#define FATHOM_CLUSTER_RANK_THREADS_H

#include <fathom/status.h>

typedef struct fm_rank_threads fm_rank_threads;
typedef void (*fm_rank_job)(void *context, uint32_t rank);

/* Fails unless there is a thread for every rank. */
fm_status fm_rank_threads_create(fm_rank_threads **threads, uint32_t ranks, fm_error *error);
void fm_rank_threads_destroy(fm_rank_threads *threads); /* NULL is fine */
/* Returns when all ranks have done it. */
void fm_rank_threads_run(fm_rank_threads *threads, fm_rank_job job, void *context);

#endif
