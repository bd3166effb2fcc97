/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_leave.c - a program that was attached to is as it was before: handlers, masks and slots are put
 * back, and traps of ours that were sent and not delivered are forgotten.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "sample/sampled_attachment.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

static const double leave_seconds = 3.0;
enum { LEAVE_TRIES = 200 }; /* at least, however little time we get */

/* Does a thread stand in our code? */
static bool is_inside(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    return fm_attach_stands_in(tracee, self->code, self->code_behind);
}

/* A trap of the sampler's: a perf event's, or a timer's (sample_protocol.h). */
static bool is_our_trap(const siginfo_t *information)
{
    enum { PERF_DATA_AT = 24, PERF = 6 /* TRAP_PERF */ };
    uint64_t data = 0;
    if (information->si_signo != SIGTRAP) return false;
    if (information->si_code == PERF)
        memcpy(&data, (const char *)information + PERF_DATA_AT, sizeof data);
    else if (information->si_code == SI_TIMER)
        data = (uint64_t)(uintptr_t)information->si_value.sival_ptr;
    return data >= FM_SAMPLE_TRAPS && data < FM_SAMPLE_TRAPS_END;
}

typedef struct waiting_traps {
    bool ours, others;
} waiting_traps;

static void look_at_queue(pid_t tid, bool shared, waiting_traps *waiting)
{
    enum { AT_ONCE = 16, MOST = 1024 };
    siginfo_t some[AT_ONCE];
    struct __ptrace_peeksiginfo_args range = {.flags = shared ? PTRACE_PEEKSIGINFO_SHARED : 0, .nr = AT_ONCE};
    long got = AT_ONCE;
    for (; got == AT_ONCE && range.off < MOST; range.off += AT_ONCE) {
        got = ptrace(PTRACE_PEEKSIGINFO, tid, &range, some);
        for (long i = 0; i < got; i++) {
            if (some[i].si_signo != SIGTRAP) continue;
            if (is_our_trap(&some[i]))
                waiting->ours = true;
            else
                waiting->others = true;
        }
    }
}

/* Traps that were sent and not delivered yet. One of ours that is just being delivered is not. */
static waiting_traps look_for_traps(fm_tracee *tracee)
{
    waiting_traps waiting = {0};
    for (size_t i = 0; i < tracee->count; i++) {
        fm_tracee_thread *thread = &tracee->threads[i];
        siginfo_t information;
        look_at_queue(thread->tid, i == 0, &waiting);
        if (i == 0) look_at_queue(thread->tid, false, &waiting);
        if (thread->signal == SIGTRAP && ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, &information) == 0 &&
            is_our_trap(&information))
            thread->signal = 0;
    }
    return waiting;
}

/* SIGTRAP, for those that believe to block it. */
static void block_again(const fm_sampled_attachment *self, fm_tracee *tracee)
{
    const uint64_t trap = UINT64_C(1) << (SIGTRAP - 1);
    for (size_t i = 0; i < tracee->count; i++) {
        fm_tracee_thread *thread = &tracee->threads[i];
        long blocked = 0;
        uint64_t mask;
        if (thread->signal ||
            fm_attach_call(self, tracee, thread, FM_ATTACH_REBLOCK, 0, &blocked, NULL) != FM_OK)
            continue;
        if (blocked && fm_tracee_mask(thread, &mask)) fm_tracee_set_mask(thread, mask | trap);
    }
}

/* The program is another one now, or has ended. */
static bool is_still_there(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    fm_remote_modules modules;
    if (fm_remote_modules_read(&modules, tracee, NULL) != FM_OK) return false;
    const fm_remote_module *runtime = fm_remote_module_named(&modules, "libfathom-sample.so");
    const bool there = runtime && runtime->code == self->code;
    fm_remote_modules_free(&modules);
    return there;
}

fm_status fm_attach_leave(fm_sampled_attachment *self, fm_tracee *tracee, fm_error *error)
{
    const double until = fm_now() + leave_seconds;
    long inside = 1;
    if (!is_still_there(self, tracee)) return FM_OK;
    for (int tries = 0; inside; tries++) {
        fm_status status = fm_tracee_stop(tracee, error);
        fm_tracee_thread *thread = status == FM_OK ? fm_tracee_any(tracee) : NULL;
        if (status == FM_OK) fm_attach_restore_allocator(self, tracee); /* whoever is in it comes out soon */
        const waiting_traps waiting = look_for_traps(tracee);
        /* What the program sent to itself is not lost, if that can be helped. */
        const bool late = tries > LEAVE_TRIES / 2 && fm_now() > until - leave_seconds / 2;
        if (status == FM_OK && thread && !is_inside(self, tracee) &&
            (late || !(waiting.ours && waiting.others)))
            status = fm_attach_call(self, tracee, thread, FM_ATTACH_LEAVE, waiting.ours || !waiting.others,
                                    &inside, error);
        if (status != FM_OK) return status;
        if (!inside) break;
        fm_tracee_resume(tracee);
        if (tries > LEAVE_TRIES && fm_now() > until)
            return fm_fail(
                error, FM_E_IO, NULL,
                "process %ld: a thread of it has been in the sampler for %.0f s: the sampler stays "
                "in it, and does nothing",
                (long)self->pid, leave_seconds);
        usleep(2000);
    }
    fm_attach_restore_slots(self, tracee);
    block_again(self, tracee);
    return FM_OK;
}
