/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - see thread.h. */
#define _GNU_SOURCE
#include "base/thread.h"

#include "base/control_group.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

/* The usual size of a stack is what ulimit -s says, which may be next to nothing. */
static int start_with(size_t least, pthread_t *thread, void *(*work)(void *), void *context)
{
    pthread_attr_t attributes;
    size_t size;
    int cause = pthread_attr_init(&attributes);
    if (cause) return cause;
    if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < least)
        cause = pthread_attr_setstacksize(&attributes, least);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!cause) cause = pthread_create(thread, &attributes, work, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return cause;
}

int fm_thread_start(pthread_t *thread, void *(*work)(void *), void *context)
{
    enum { STACK_LEAST = 1 << 20 };
    return start_with(STACK_LEAST, thread, work, context);
}

/* Where it cannot be found out, there is. */
static bool is_stack_left(size_t bytes)
{
    if (gettid() == getpid()) { /* its stack may grow up to the limit; what is used of it now is little */
        struct rlimit limit;
        return getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur / 2 >= bytes;
    }
    pthread_attr_t attributes;
    void *lowest;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return true;
    const bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
    pthread_attr_destroy(&attributes);
    return !known || (uintptr_t)__builtin_frame_address(0) - (uintptr_t)lowest >= bytes;
}

int fm_thread_with_stack(size_t bytes, void *(*work)(void *), void *context)
{
    if (is_stack_left(bytes)) {
        work(context);
        return 0;
    }
    pthread_t thread;
    const int cause = start_with(2 * bytes, &thread, work, context);
    if (cause == 0) pthread_join(thread, NULL);
    return cause;
}

unsigned fm_processors_usable(void)
{
    cpu_set_t set;
    const bool fits = sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0;
    const long count = fits ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN); /* more than fit into a set */
    const unsigned usable = count < 1 ? 1 : count < INT_MAX ? (unsigned)count : INT_MAX;
    const unsigned quota = fm_control_group_processors("");
    return quota && quota < usable ? quota : usable;
}
