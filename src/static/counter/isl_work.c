/* SPDX-License-Identifier: Apache-2.0 */
/* isl_work.c - see isl_work.h. */
#include "static/counter/isl_work.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <isl/options.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS_PER_SECOND = 20 };

typedef struct fm_isl_watch {
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool ended;
    isl_ctx *ctx;
    double end;      /* of the time allowed; 0: none */
    uint64_t memory; /* bytes of the process that are too many; 0: no limit */
    atomic_bool late, large;
} fm_isl_watch;

/* Bytes of the process that are in memory; 0: not known. */
static uint64_t resident(void)
{
    unsigned long long size, pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%llu %llu", &size, &pages) != 2) pages = 0;
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void look(fm_isl_watch *watch)
{
    if (watch->end > 0 && fm_now() >= watch->end) atomic_store(&watch->late, true);
    if (watch->memory && resident() > watch->memory) atomic_store(&watch->large, true);
    /* It is made to be called from signal handlers: isl's loops look at a flag. */
    if (atomic_load(&watch->late) || atomic_load(&watch->large)) isl_ctx_abort(watch->ctx);
}

static void *watching(void *argument)
{
    fm_isl_watch *watch = argument;
    pthread_mutex_lock(&watch->lock);
    while (!watch->ended) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 1000000000 / LOOKS_PER_SECOND;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&watch->over, &watch->lock, &until);
        if (!watch->ended) look(watch);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

fm_status fm_isl_work_begin(fm_isl_work *work, const fm_isl_limits *limits, fm_error *error)
{
    *work = (fm_isl_work){.status = FM_OK};
    fm_isl_watch *watch = fm_calloc(1, sizeof *watch);
    isl_ctx *ctx = watch ? isl_ctx_alloc() : NULL;
    if (!ctx) {
        free(watch);
        return fm_fail_memory(error, sizeof *watch, "isl");
    }
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(ctx, limits->operations);
    watch->ctx = ctx;
    watch->end = limits->seconds > 0 ? fm_now() + limits->seconds : 0;
    watch->memory = limits->memory ? resident() + limits->memory : 0;
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->over, NULL);
    work->ctx = ctx;
    work->watch = watch;
    if (watch->end > 0 || watch->memory) {
        int failure = pthread_create(&watch->thread, NULL, watching, watch);
        if (failure) {
            fm_isl_work_end(work, NULL);
            return fm_fail_io(error, NULL, "start a thread", failure);
        }
        watch->started = true;
    }
    return FM_OK;
}

fm_status fm_isl_work_end(fm_isl_work *work, fm_error *error)
{
    fm_isl_watch *watch = work->watch;
    if (!watch) return work->status;
    if (watch->started) {
        pthread_mutex_lock(&watch->lock);
        watch->ended = true;
        pthread_cond_signal(&watch->over);
        pthread_mutex_unlock(&watch->lock);
        pthread_join(watch->thread, NULL);
    }
    isl_ctx_free(watch->ctx);
    pthread_cond_destroy(&watch->over);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
    if (work->status != FM_OK && error) *error = work->error;
    work->watch = NULL;
    work->ctx = NULL;
    return work->status;
}

bool fm_isl_fail(fm_isl_work *work, fm_status status, const char *format, ...)
{
    if (work->status != FM_OK) return false;
    va_list arguments;
    char text[sizeof work->error.reason];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    work->status = fm_fail(&work->error, status, NULL, "%s", text);
    return false;
}

bool fm_isl_no_memory(fm_isl_work *work)
{
    return fm_isl_fail(work, FM_E_NOMEM, "no memory for the pieces of the exact count");
}

bool fm_isl_alive(fm_isl_work *work)
{
    if (work->status != FM_OK) return false;
    fm_isl_watch *watch = work->watch;
    if (atomic_load(&watch->large))
        return fm_isl_fail(work, FM_E_LIMIT,
                           "the exact count was given up: it needs more memory than allowed");
    if (atomic_load(&watch->late) || (watch->end > 0 && fm_now() >= watch->end))
        return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: the time allowed is over");
    return true;
}

bool fm_isl_gave_up(fm_isl_work *work)
{
    if (!fm_isl_alive(work)) return false;
    switch (isl_ctx_last_error(work->ctx)) {
    case isl_error_quota:
        return fm_isl_fail(work, FM_E_LIMIT,
                           "the exact count was given up: it needs more operations than allowed");
    case isl_error_alloc:
        return fm_isl_no_memory(work);
    default:
        break;
    }
    const char *message = isl_ctx_last_error_msg(work->ctx);
    return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: isl says: %s",
                       message ? message : "it cannot do it");
}
