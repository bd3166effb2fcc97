/* SPDX-License-Identifier: Apache-2.0 */
/* crew.c - see crew.h. */
#define _GNU_SOURCE
#include "base/crew.h"

#include "base/error.h"
#include "base/memory.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* ======== one thread ======== */

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

/* ======== a crew ======== */

typedef struct crew_thread {
    fm_crew *crew;
    unsigned worker;
    pthread_t thread;
} crew_thread;

struct fm_crew {
    pthread_mutex_t lock;
    pthread_cond_t work; /* for the crew's threads: there may be something to claim */
    pthread_cond_t news; /* for the creator in fm_crew_help */
    unsigned idle;       /* threads that wait for work */
    bool waits;          /* the creator does */
    const fm_crew_work *employer;
    void *context;
    bool stop;
    unsigned threads; /* that run */
    crew_thread thread[];
};

/* There may be work for one more. Whoever finds some calls the next: were all called at once, most would
 * come for nothing, one after the other through the lock. */
static void call_one(fm_crew *crew)
{
    if (crew->idle > 0)
        pthread_cond_signal(&crew->work);
    else if (crew->waits)
        pthread_cond_signal(&crew->news);
}

/* One job, if there is any. With the lock held, before and after. */
static bool work_once(fm_crew *crew, unsigned worker)
{
    fm_crew_job job = {.worker = worker};
    if (!crew->employer->claim(crew->context, &job)) return false;
    call_one(crew);
    pthread_mutex_unlock(&crew->lock);
    crew->employer->run(crew->context, job, worker);
    pthread_mutex_lock(&crew->lock);
    crew->employer->complete(crew->context, job);
    if (crew->waits) pthread_cond_signal(&crew->news);
    return true;
}

static void *look_for_work(void *argument)
{
    const crew_thread *self = argument;
    fm_crew *crew = self->crew;
    pthread_mutex_lock(&crew->lock);
    while (!crew->stop) {
        if (work_once(crew, self->worker)) continue;
        crew->idle++;
        pthread_cond_wait(&crew->work, &crew->lock);
        crew->idle--;
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

fm_status fm_crew_create(fm_crew **made, unsigned size, const fm_crew_work *work, void *context,
                         fm_error *error)
{
    *made = NULL;
    const size_t bytes = sizeof(fm_crew) + (size - 1) * sizeof(crew_thread);
    fm_crew *crew = fm_calloc(1, bytes);
    if (!crew) return fm_fail_memory(error, bytes, "the threads");
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->work, NULL);
    pthread_cond_init(&crew->news, NULL);
    crew->employer = work;
    crew->context = context;
    while (crew->threads + 1 < size) {
        crew_thread *next = &crew->thread[crew->threads];
        next->crew = crew;
        next->worker = crew->threads + 1;
        if (fm_thread_start(&next->thread, look_for_work, next) != 0) break;
        crew->threads++;
    }
    *made = crew;
    return FM_OK;
}

unsigned fm_crew_size(const fm_crew *crew)
{
    return crew->threads + 1;
}

void fm_crew_destroy(fm_crew *crew)
{
    if (!crew) return;
    pthread_mutex_lock(&crew->lock);
    crew->stop = true;
    pthread_cond_broadcast(&crew->work);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->threads; i++) pthread_join(crew->thread[i].thread, NULL);
    pthread_cond_destroy(&crew->work);
    pthread_cond_destroy(&crew->news);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

void fm_crew_lock(fm_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
}

void fm_crew_unlock(fm_crew *crew)
{
    pthread_mutex_unlock(&crew->lock);
}

void fm_crew_call(fm_crew *crew)
{
    call_one(crew);
    if (crew->waits) pthread_cond_signal(&crew->news);
}

void fm_crew_help(fm_crew *crew, bool (*enough)(void *context))
{
    pthread_mutex_lock(&crew->lock);
    while (!enough(crew->context)) {
        if (work_once(crew, 0)) continue;
        if (enough(crew->context)) break; /* that there is nothing to claim may be what was waited for */
        crew->waits = true;
        pthread_cond_wait(&crew->news, &crew->lock);
        crew->waits = false;
    }
    call_one(crew); /* a call that was meant for this thread */
    pthread_mutex_unlock(&crew->lock);
}

/* ======== rounds ======== */

struct fm_rounds {
    fm_crew *crew;
    /* The round; under the crew's lock, but for the first two, which only change between rounds. */
    fm_round_task task;
    void *context;
    size_t tasks, begun, done;
};

static bool round_claim(void *context, fm_crew_job *job)
{
    fm_rounds *rounds = context;
    if (rounds->begun == rounds->tasks) return false;
    *job = (fm_crew_job){.task = rounds->begun++};
    return true;
}

static void round_run(void *context, fm_crew_job job, unsigned worker)
{
    (void)worker;
    const fm_rounds *rounds = context;
    rounds->task(rounds->context, job.task);
}

static void round_complete(void *context, fm_crew_job job)
{
    (void)job;
    ((fm_rounds *)context)->done++;
}

static bool all_done(void *context)
{
    const fm_rounds *rounds = context;
    return rounds->done == rounds->tasks;
}

fm_status fm_rounds_create(fm_rounds **rounds, unsigned workers, fm_error *error)
{
    static const fm_crew_work work = {.claim = round_claim, .run = round_run, .complete = round_complete};
    fm_rounds *self = *rounds = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "threads");
    fm_status status = fm_crew_create(&self->crew, workers ? workers : 1, &work, self, error);
    if (status == FM_OK) return FM_OK;
    free(self);
    *rounds = NULL;
    return status;
}

unsigned fm_rounds_workers(const fm_rounds *rounds)
{
    return fm_crew_size(rounds->crew);
}

void fm_rounds_destroy(fm_rounds *rounds)
{
    if (!rounds) return;
    fm_crew_destroy(rounds->crew);
    free(rounds);
}

void fm_rounds_run(fm_rounds *rounds, fm_round_task task, void *context, size_t tasks)
{
    fm_crew_lock(rounds->crew);
    rounds->task = task;
    rounds->context = context;
    rounds->tasks = tasks;
    rounds->begun = rounds->done = 0;
    fm_crew_call(rounds->crew);
    fm_crew_unlock(rounds->crew);
    fm_crew_help(rounds->crew, all_done);
}
