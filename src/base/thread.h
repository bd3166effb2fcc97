/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads of the library: the program's signals are not for them. */
#ifndef FATHOM_BASE_THREAD_H
#define FATHOM_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create, with all signals blocked in the new thread: 0, or what is wrong. */
int fm_thread_start(pthread_t *thread, void *(*work)(void *), void *context);
/* Processors that are online: at least 1, also where the system does not say. */
unsigned fm_processors_online(void);

#endif
