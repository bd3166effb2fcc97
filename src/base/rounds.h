/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rounds.h - a crew (crew.h) that does numbered tasks together, round after round.
 *
 *     fm_rounds_run(rounds, copy_piece, &copying, 8);     // copy_piece(&copying, 0 … 7), each once, in any
 * order
 *
 * The caller works along. Tasks are handed out one at a time, so that uneven ones balance themselves.
 */
#ifndef FATHOM_BASE_ROUNDS_H
#define FATHOM_BASE_ROUNDS_H

#include <fathom/status.h>

typedef struct fm_rounds fm_rounds;
typedef void (*fm_round_task)(void *context, size_t number);

/* `workers` counts the caller too: 1 starts no thread. */
fm_status fm_rounds_create(fm_rounds **rounds, unsigned workers, fm_error *error);
/* Those there are: fewer where the system refuses threads. As many tasks as these go on at the same time. */
unsigned fm_rounds_workers(const fm_rounds *rounds);
void fm_rounds_destroy(fm_rounds *rounds); /* NULL is fine */
/* Returns when all tasks are done. By the thread that created it. */
void fm_rounds_run(fm_rounds *rounds, fm_round_task task, void *context, size_t tasks);

#endif
