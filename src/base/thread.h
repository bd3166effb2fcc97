/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads of the library: the program's signals are not for them. */
#ifndef FATHOM_BASE_THREAD_H
#define FATHOM_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create, with all signals blocked in the new thread: 0, or what is wrong. */
int fm_thread_start(pthread_t *thread, void *(*work)(void *), void *context);
/*
 * Calls work in this thread, or where that has less than so many bytes of stack left (ulimit -s, a small
 * thread of the caller), in another one that has them, and waits for it. 0, or what is wrong: it was not
 * called.
 */
int fm_thread_with_stack(size_t bytes, void *(*work)(void *), void *context);
/* Processors that this process can use: fewer than the machine has under taskset, in a cpuset, or with a
 * quota of processor time (containers). At least 1, also where the system does not tell. */
unsigned fm_processors_usable(void);

#endif
