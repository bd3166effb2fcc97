/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - see thread.h. */
#include "base/thread.h"

#include <limits.h>
#include <signal.h>
#include <unistd.h>

int fm_thread_start(pthread_t *thread, void *(*work)(void *), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int cause = pthread_create(thread, NULL, work, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return cause;
}

unsigned fm_processors_online(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count < INT_MAX ? (unsigned)count : INT_MAX;
}
