/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attach.c - the beginning of sampling in a process: the session is mapped, the environment put back, the
 * clock asked for. And what becomes of it in a fork and at the end.
 */
#include "collect/sample/sampler.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

fm_sampler_self fm_self;
extern char **environ;

/* Milliseconds. A receiver that lives answers sooner or later: on a busy machine, or while it reads symbols,
 * it may be late. */
enum { CLOCK_PATIENCE = 2000, CLOCK_PATIENCE_MOST = 60000, CLOCK_STEP = 50 };

void fm_sampler_wake(void)
{
    __atomic_fetch_add(&fm_self.session->wake, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&fm_self.session->receiver_waits, __ATOMIC_SEQ_CST))
        fm_futex_wake(&fm_self.session->wake);
}

/* Or is it not known whether it lives? */
static bool receiver_is_gone(void)
{
    const long handle = fm_syscall(__NR_pidfd_open, (long)fm_self.session->receiver_pid, 0, 0, 0, 0, 0);
    if (handle < 0) return true;
    struct pollfd end = {.fd = (int)handle, .events = POLLIN};
    const bool gone = fm_syscall(__NR_poll, (long)&end, 1, 0, 0, 0, 0) != 0;
    fm_close((int)handle);
    return gone;
}

/* Waits until the clock's state is not `state` any more. */
static uint32_t wait_for_clock(uint32_t state)
{
    uint32_t *clock = &fm_self.process->clock, now = state;
    for (int waited = 0; waited < CLOCK_PATIENCE_MOST; waited += CLOCK_STEP) {
        now = __atomic_load_n(clock, __ATOMIC_ACQUIRE);
        if (now != state || fm_sampler_halted()) break;
        if (waited >= CLOCK_PATIENCE && receiver_is_gone()) break;
        fm_futex_wait(clock, state, CLOCK_STEP);
    }
    return now;
}

static void ask_for_clock(void)
{
    fm_sample_process *process = fm_self.process;
    __atomic_store_n(&process->clock, FM_SAMPLE_CLOCK_ASKED, __ATOMIC_RELEASE);
    __atomic_fetch_add(&fm_self.session->wake, 1, __ATOMIC_SEQ_CST);
    fm_futex_wake(&fm_self.session->wake);
    if (wait_for_clock(FM_SAMPLE_CLOCK_ASKED) != FM_SAMPLE_CLOCK_REFUSED) return;
    fm_self.watching = false;
    if (fm_sampler_timer_begin(fm_self.session->tick))
        __atomic_store_n(&process->clock, FM_SAMPLE_CLOCK_TIMER, __ATOMIC_RELEASE);
    else
        fm_sampler_trouble(FM_SAMPLE_TROUBLE_TIMER);
}

void fm_sampler_stop_clock(void)
{
    fm_sample_process *process = fm_self.process;
    uint32_t runs = FM_SAMPLE_CLOCK_RUNS;
    if (!__atomic_compare_exchange_n(&process->clock, &runs, FM_SAMPLE_CLOCK_STOP, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    __atomic_fetch_add(&fm_self.session->wake, 1, __ATOMIC_SEQ_CST);
    fm_futex_wake(&fm_self.session->wake);
    wait_for_clock(FM_SAMPLE_CLOCK_STOP);
}

/* ---- the session ---- */

bool fm_sampler_claim_process(uint32_t parent)
{
    fm_sample_session *session = fm_self.session;
    for (uint32_t i = 0; i < FM_SAMPLE_PROCESSES; i++) {
        fm_sample_process *process = &session->processes[i];
        uint32_t free = FM_SAMPLE_FREE;
        if (!__atomic_compare_exchange_n(&process->state, &free, FM_SAMPLE_CLAIMED, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        process->pid = fm_self.pid = fm_getpid();
        process->tid = fm_gettid();
        process->parent = parent;
        process->parent_pid = fm_getppid();
        process->serial = __atomic_fetch_add(&session->serial, 1, __ATOMIC_RELAXED) + 1;
        process->clock = FM_SAMPLE_CLOCK_NONE;
        process->clock_error = process->watch_error = process->pmu_error = 0;
        process->trouble = process->refused_threads = 0;
        process->cost = process->ended_at = process->peak_memory = 0;
        process->heap_limit = process->heap_large = 0;
        process->region_met = 0;
        process->heap_seen = process->heap_lost = 0;
        fm_self.process = process;
        fm_self.watching = session->wants & FM_SAMPLE_WANT_WATCHES;
        fm_sampler_heap_begin();
        __atomic_store_n(&process->state, FM_SAMPLE_OPEN, __ATOMIC_RELEASE);
        return true;
    }
    __atomic_fetch_add(&session->refused, 1, __ATOMIC_RELAXED);
    return false;
}

static fm_sample_session *map_session(const char *path)
{
    struct stat status;
    fm_sample_session *session = NULL;
    const int file = fm_open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    if (fm_fstat(file, &status) == 0 && (uint64_t)status.st_size == fm_sample_file_bytes())
        session = fm_map(fm_sample_file_bytes(), file, 0);
    fm_close(file);
    if (session && (session->magic != FM_SAMPLE_MAGIC || session->version != FM_SAMPLE_VERSION)) {
        fm_unmap(session, fm_sample_file_bytes());
        session = NULL;
    }
    return session;
}

/* ---- the environment ---- */

static char **find_variable(const char *name)
{
    const size_t length = strlen(name);
    for (char **at = environ; at && *at; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') return at;
    return NULL;
}

static void remove_variable(char **at)
{
    for (; *at; at++) at[0] = at[1];
}

/* As it would be without us: we are the first of LD_PRELOAD. */
static void restore_environment(void)
{
    char **session = find_variable(FM_SAMPLE_ENVIRONMENT);
    if (session) remove_variable(session);
    char **preload = find_variable("LD_PRELOAD");
    if (!preload) return;
    char *value = *preload + sizeof "LD_PRELOAD=" - 1, *others = strchr(value, ':');
    if (others)
        memmove(value, others + 1, strlen(others)); /* with its end */
    else
        remove_variable(preload);
}

/* ---- fork and the end ---- */

/* Nothing of the session is used any more. */
static void session_forget(void)
{
    fm_unmap(fm_self.session, fm_sample_file_bytes());
    fm_self = (fm_sampler_self){.joined = fm_self.joined, .epoch = fm_self.epoch + 1};
}

void fm_sampler_forked(void)
{
    fm_self.inside = 0;
    fm_sampler_heap_forked();
    if (!fm_self.session || fm_self.stopped) return; /* stopped: no system call may be made */
    if (!fm_self.process) {                          /* sampling has not begun yet */
        session_forget();
        return;
    }
    const uint32_t parent = fm_self.process->serial;
    fm_sampler_threads_forget();
    if (!(fm_self.session->wants & FM_SAMPLE_WANT_CHILDREN) || fm_sampler_halted() ||
        !fm_sampler_claim_process(parent)) {
        session_forget();
        fm_sampler_heap_begin();
        return;
    }
    ask_for_clock();
    if (fm_self.counting) fm_sampler_thread_get(); /* without waiting for a tick */
}

__attribute__((destructor)) static void session_end(void)
{
    if (!fm_self.session || fm_self.stopped || fm_getpid() != fm_self.pid) return;
    fm_sampler_thread *thread = fm_sampler_me();
    if (thread) {
        thread->busy = true; /* what other destructors do is not sampled any more */
        fm_sampler_now(thread);
        thread->lane->work = thread->work;
        thread->lane->ticks_then = thread->lane->ticks;
    }
    fm_self.process->ended_at = fm_sampler_clock(CLOCK_PROCESS_CPUTIME_ID);
    fm_self.process->peak_memory = fm_sampler_peak_memory();
}

__attribute__((constructor(101))) static void session_begin(void)
{
    char **path = find_variable(FM_SAMPLE_ENVIRONMENT);
    if (!path) return;
    fm_sample_session *session = map_session(*path + sizeof FM_SAMPLE_ENVIRONMENT);
    if (!session || !(session->wants & FM_SAMPLE_WANT_CHILDREN)) restore_environment();
    if (!session) return;
    fm_self.session = session;
    if (fm_sampler_halted() || !fm_sampler_claim_process(0)) {
        session_forget();
        return;
    }
    if (fm_sampler_limited()) {
        fm_self.stopped = true;
        fm_sampler_trouble(FM_SAMPLE_TROUBLE_SECCOMP);
        return;
    }
    fm_sampler_threads_begin();
    if (!fm_sampler_thread_get()) { /* the translator's first state must not be made in a handler */
        fm_sampler_trouble(FM_SAMPLE_TROUBLE_MEMORY);
        return;
    }
    burst_learn_maps(fm_me->burst);
    if (!fm_sampler_signals_prepare() || !fm_sampler_signals_begin()) {
        fm_sampler_trouble(FM_SAMPLE_TROUBLE_TIMER);
        return;
    }
    pthread_atfork(NULL, NULL, fm_sampler_forked);
    ask_for_clock();
    fm_self.counting = session->method == FM_SAMPLE_METHOD_PMU;
    if (fm_self.counting && fm_me) fm_sampler_pmu_begin(fm_me);
}
