/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_drain.c - the thread that takes samples out of the shared memory while the program runs. It stands
 * back: it has a low priority, and what it does not come to is left out, and counted.
 */
#define _GNU_SOURCE
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "sample/sampled_run_state.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Nanoseconds from pass to pass, unless a program wakes us up because room runs short; of those that would
 * find nothing, even a hundred a second cost a quarter of what sampling may. */
enum { NAP = 100000000, LOW_PRIORITY = 5 };

/* The process with this serial number; NULL: it is not known yet. */
static fm_sampled_process *owner_of(fm_sampled_run *run, uint32_t serial)
{
    fm_sampled_process *found = NULL;
    pthread_mutex_lock(&run->lock);
    for (size_t i = run->process_count; i-- > 0 && !found;)
        if (run->processes[i]->serial == serial) found = run->processes[i];
    pthread_mutex_unlock(&run->lock);
    return found;
}

static fm_status open_lane(fm_sampled_run *run, uint32_t lane, fm_error *error)
{
    const fm_sample_lane *shared = fm_sample_memory_lane(&run->memory, lane);
    fm_sampled_process *owner = owner_of(run, __atomic_load_n(&shared->serial, __ATOMIC_RELAXED));
    if (!owner || __atomic_load_n(&owner->drained, __ATOMIC_RELAXED)) return FM_OK;
    if (fm_array_reserve((void **)&run->threads, &run->thread_capacity, run->thread_count + 1,
                         sizeof(fm_sampled_thread *)) != 0 ||
        fm_array_reserve((void **)&run->owners, &run->owner_capacity, run->thread_count + 1,
                         sizeof(fm_sampled_process *)) != 0)
        return fm_fail_memory(error, (run->thread_count + 1) * sizeof(void *), "the threads");
    fm_status status = fm_sampled_thread_create(&run->lanes[lane], &run->context, lane, &owner->code,
                                                &owner->memory, owner->threads + 1, error);
    if (status != FM_OK) return status;
    run->owners[run->thread_count] = owner;
    run->threads[run->thread_count++] = run->lanes[lane];
    owner->threads++;
    return FM_OK;
}

static fm_status close_lane(fm_sampled_run *run, uint32_t lane, fm_error *error)
{
    fm_status status = fm_sampled_thread_finish(run->lanes[lane], &run->context, run->tick, error);
    run->lanes[lane] = NULL;
    fm_sample_lane_release(&run->memory, lane);
    return status;
}

/* Nanoseconds that this thread has used. */
static uint64_t used_time(void)
{
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/*
 * What a burst costs beside what the sampler in the program sees: our own time, and by how much the windows
 * in which accesses are counted were slower than the program itself, which only we can tell. It is the mean
 * of all there were, as a long burst costs as much as sixty of the short ones, and an expected cost stands in
 * for the first few.
 */
static void tell_cost(fm_sampled_run *run)
{
    enum { EXPECTED = 300000, EXPECTED_FOR = 16 }; /* nanoseconds; bursts */
    const uint64_t bursts = run->context.bursts;
    const uint64_t cost =
        (run->burst_time + (uint64_t)run->context.slowed + (uint64_t)EXPECTED * EXPECTED_FOR) /
        (bursts + EXPECTED_FOR);
    __atomic_store_n(&run->memory.session->receiver_cost, cost, __ATOMIC_RELAXED);
}

static bool has_records(const fm_sampled_run *run, uint32_t lane)
{
    const fm_sample_lane *shared = fm_sample_memory_lane(&run->memory, lane);
    return __atomic_load_n(&shared->written, __ATOMIC_ACQUIRE) != run->lanes[lane]->taken;
}

static fm_status drain_lane(fm_sampled_run *run, uint32_t lane, bool last, fm_error *error)
{
    const uint32_t state = __atomic_load_n(&run->memory.session->lane_state[lane], __ATOMIC_ACQUIRE);
    fm_status status = FM_OK;
    if (!run->lanes[lane] && state != FM_SAMPLE_OPEN && state != FM_SAMPLE_CLOSED) return FM_OK;
    if (!run->lanes[lane]) status = open_lane(run, lane, error);
    fm_sampled_thread *thread = run->lanes[lane];
    if (status != FM_OK || !thread) return status;
    /* What is gone writes no more: it was so before we look for the last time. */
    const bool gone = last || state == FM_SAMPLE_CLOSED || thread->ended ||
                      !__atomic_load_n(&thread->process->alive, __ATOMIC_ACQUIRE);
    if (has_records(run, lane)) {
        const uint64_t begin = used_time();
        pthread_mutex_lock(&run->code_lock);
        status = fm_sampled_thread_drain(thread, &run->context, error);
        pthread_mutex_unlock(&run->code_lock);
        run->burst_time += used_time() - begin;
        tell_cost(run);
    }
    if (status == FM_OK && gone && (thread->ended || last || !has_records(run, lane)))
        status = close_lane(run, lane, error);
    return status;
}

/* Processes that are gone, and have nothing left. */
static void mark_drained(fm_sampled_run *run)
{
    pthread_mutex_lock(&run->lock);
    for (size_t i = 0; i < run->process_count; i++) {
        fm_sampled_process *process = run->processes[i];
        if (process->drained || __atomic_load_n(&process->code.alive, __ATOMIC_ACQUIRE)) continue;
        bool open = false;
        for (uint32_t lane = 0; lane < FM_SAMPLE_THREADS && !open; lane++)
            open = run->lanes[lane] && run->lanes[lane]->process == &process->code;
        if (!open) __atomic_store_n(&process->drained, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&run->lock);
}

/* Lanes of processes that are gone and that were never opened: claimed, and then the process was killed. */
static void free_orphans(fm_sampled_run *run)
{
    for (uint32_t lane = 0; lane < FM_SAMPLE_THREADS; lane++) {
        const uint32_t state = __atomic_load_n(&run->memory.session->lane_state[lane], __ATOMIC_ACQUIRE);
        if (state == FM_SAMPLE_FREE || run->lanes[lane]) continue;
        const fm_sample_lane *shared = fm_sample_memory_lane(&run->memory, lane);
        const fm_sampled_process *owner = owner_of(run, __atomic_load_n(&shared->serial, __ATOMIC_RELAXED));
        if (owner && __atomic_load_n(&owner->drained, __ATOMIC_ACQUIRE))
            fm_sample_lane_release(&run->memory, lane);
    }
}

static fm_status drain_pass(fm_sampled_run *run, bool last, fm_error *error)
{
    fm_status status = FM_OK;
    if (run->context.with_objects) { /* also where there is no burst: cells are few */
        pthread_mutex_lock(&run->code_lock);
        status = fm_sample_heap_take(run, error);
        pthread_mutex_unlock(&run->code_lock);
    }
    /* Seen before the lanes are: a process that is gone now wrote all it ever will. */
    for (uint32_t lane = 0; lane < FM_SAMPLE_THREADS && status == FM_OK; lane++)
        status = drain_lane(run, lane, last, error);
    if (status == FM_OK) mark_drained(run);
    return status;
}

static void *drain_lanes(void *argument)
{
    fm_sampled_run *run = argument;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LOW_PRIORITY); /* of this thread alone */
    fm_status status = FM_OK;
    for (unsigned round = 0; status == FM_OK; round++) {
        uint32_t *wake = &run->memory.session->wake;
        const uint32_t seen = __atomic_load_n(wake, __ATOMIC_SEQ_CST);
        const int finish = __atomic_load_n(&run->finish, __ATOMIC_ACQUIRE);
        if (finish > 1) break;
        status = drain_pass(run, finish, &run->drain_error);
        __atomic_store_n(&run->drain_time, used_time(), __ATOMIC_RELAXED);
        __atomic_fetch_add(&run->memory.session->heartbeat, 1, __ATOMIC_RELAXED);
        if (round % 64 == 0) free_orphans(run);
        if (finish) break;
        const struct timespec nap = {.tv_nsec = NAP};
        syscall(SYS_futex, wake, FUTEX_WAIT, seen, &nap, NULL, 0);
    }
    __atomic_store_n(&run->drain_status, status, __ATOMIC_RELEASE);
    return NULL;
}

fm_status fm_sample_drain_begin(fm_sampled_run *run, fm_error *error)
{
    const int why = fm_thread_start(&run->drain, drain_lanes, run);
    if (why != 0) return fm_fail_io(error, NULL, "start a thread", why);
    run->draining = true;
    return FM_OK;
}

fm_status fm_sample_drain_status(fm_sampled_run *run, fm_error *error)
{
    const fm_status status = __atomic_load_n(&run->drain_status, __ATOMIC_ACQUIRE);
    if (status != FM_OK && error) *error = run->drain_error;
    return status;
}

static void join_drain(fm_sampled_run *run, int how)
{
    if (!run->draining) return;
    __atomic_store_n(&run->finish, how, __ATOMIC_RELEASE);
    __atomic_fetch_add(&run->memory.session->wake, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &run->memory.session->wake, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    pthread_join(run->drain, NULL);
    run->draining = false;
}

fm_status fm_sample_drain_end(fm_sampled_run *run, fm_error *error)
{
    join_drain(run, 1);
    return fm_sample_drain_status(run, error);
}

void fm_sample_drain_abandon(fm_sampled_run *run)
{
    join_drain(run, 2);
}

/* ---- sample clock ---- */

/* Before Linux 5.18, a signal of a perf event that comes while it is blocked kills the process. */
static int kernel_is_older(long major, long minor)
{
    struct utsname name;
    char *end;
    if (uname(&name) != 0) return 0;
    const long is_major = strtol(name.release, &end, 10),
               is_minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return is_major < major || (is_major == major && is_minor < minor);
}

int fm_sample_clock_open(uint32_t thread, uint64_t nanoseconds, uint64_t data)
{
    /* For tests: as where perf events are refused. */
    const char *refused = getenv("FATHOM_TEST_NO_PERF");
    if (refused && refused[0]) return -EACCES;
    if (kernel_is_older(5, 18)) return -EOPNOTSUPP;
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_CPU_CLOCK;
    event.sample_period = nanoseconds;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    event.inherit = 1;
    event.inherit_thread = 1;
    event.remove_on_exec = 1;
    event.sigtrap = 1;
    event.sig_data = data;
    const long file = syscall(SYS_perf_event_open, &event, (pid_t)thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return file < 0 ? -errno : (int)file;
}
