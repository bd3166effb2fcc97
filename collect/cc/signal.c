/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal.c - signal handlers that make references of their own, in the middle of a hook that was about to
 * write one.
 *
 * While a program is traced, its handlers are entered through fm_signal_entry. A hook that was interrupted
 * before its last store begins anew after the handler (hooks.S says why it can), so the handler's
 * words come first and nothing is overwritten. It begins anew also when it was done but for the store, and
 * does not when it was done. A handler that leaves by siglongjmp leaves nothing unfinished behind.
 *
 * The other thing that hooks and handlers share is the code page that was reported last. A hook sets it
 * before the word that reports it, so what a handler finds may not have been reported yet: it is reported
 * again at the handler's beginning. At its end, the page of the interrupted code is.
 *
 * A handler that was not installed through these functions (raw system calls) and is instrumented may
 * overwrite or lose words of the hook it interrupts. Handlers without instrumented code write no words.
 */
#define _GNU_SOURCE
#include "interpose.h"

#include <signal.h>
#include <ucontext.h>

/* Begins an interrupted hook anew. */
static void begin_anew(const fm_cc_process *process, ucontext_t *interrupted)
{
    uintptr_t at = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
    for (unsigned i = 0; i < FM_COPIES; i++)
        if (at >= process->hooks[i].from && at < process->hooks[i].to &&
            *(const unsigned char *)at != 0xC3 /* ret: it is done */)
            interrupted->uc_mcontext.gregs[REG_RIP] = (greg_t)(at & ~(uintptr_t)(FM_HOOK_SLOT - 1));
}

static void tell_page(const fm_channel *channel)
{
    if (channel->spare0[FM_SPARE_MASK])
        fm_append1(FM_RECORD(FM_RECORD_PAGE, channel->spare0[FM_SPARE_PAGE] >> 12, 0));
}

void fm_signal_ends(fm_thread *thread, const fm_interruption *interruption)
{
    thread->interruption = interruption->outer;
    thread->depth = interruption->depth;
    thread->floor = interruption->floor;
    thread->floor_stack = interruption->floor_stack;
    thread->allocator_caller = interruption->allocator_caller;
    if (thread->record_calls) fm_append1(FM_RECORD(FM_RECORD_SIGNAL_END, interruption->signal, 0));
}

typedef void action_handler(int, siginfo_t *, void *);

/* The handler of a thread that is traced, between what it leaves untouched. */
static void enter_handler(action_handler *of_program, int number, siginfo_t *information, void *context)
{
    fm_thread *thread = fm_my.thread;
    uint64_t page = thread->channel->spare0[FM_SPARE_PAGE];
    /* No initializer, which might become a call of memset. */
    fm_interruption here;
    here.outer = thread->interruption;
    here.depth = thread->depth;
    here.floor = thread->floor;
    here.floor_stack = thread->floor_stack;
    here.allocator_caller = thread->allocator_caller;
    here.stack = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
    here.signal = number;
    tell_page(thread->channel);
    if (thread->record_calls) fm_append1(FM_RECORD(FM_RECORD_SIGNAL, number, 0));
    thread->interruption = &here;
    thread->floor = here.depth;
    thread->floor_stack = (uintptr_t)__builtin_frame_address(0);
    thread->allocator_caller = 0;

    of_program(number, information, context);

    thread = fm_my.thread; /* another one in a child of fork, none when tracing has ended */
    if (!thread || thread == &fm_unclaimed_thread || !thread->channel) return;
    fm_signal_ends(thread, &here);
    if (thread->channel->spare0[FM_SPARE_PAGE] != page) {
        __atomic_store_n(&thread->channel->spare0[FM_SPARE_PAGE], page, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        tell_page(thread->channel);
    }
}

/*
 * Signals could not be blocked (filter.c), and the thread is within something that a hook must not meet half
 * done. All that a hook looks at is set to nothing meanwhile.
 */
static void run_unseen(fm_thread *thread, action_handler *of_program, int number, siginfo_t *information,
                       void *context)
{
    fm_channel *load = fm_my.load, *store = fm_my.store, *any = fm_my.any;
    fm_thread *calls = fm_my.calls, *heap = fm_my.heap;
    if (thread && thread != &fm_unclaimed_thread) thread->unseen = true;
    fm_my.load = fm_my.store = fm_my.any = NULL;
    fm_my.calls = fm_my.heap = fm_my.thread = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    of_program(number, information, context);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    fm_my.load = load;
    fm_my.store = store;
    fm_my.any = any;
    fm_my.calls = calls;
    fm_my.heap = heap;
    fm_my.thread = thread;
}

static void fm_signal_entry(int number, siginfo_t *information, void *context)
{
    fm_cc_process *process = fm_process_here;
    action_handler *of_program =
        (action_handler *)__atomic_load_n(&process->handlers[number], __ATOMIC_ACQUIRE);
    fm_thread *thread = fm_my.thread;
    if (fm_unlikely(fm_my.busy > 0)) {
        run_unseen(thread, of_program, number, information, context);
        return;
    }
    if (!thread || thread == &fm_unclaimed_thread || !thread->channel) {
        of_program(number, information, context);
        return;
    }
    begin_anew(process, context);
    enter_handler(of_program, number, information, context);
}

#define ENTRY ((uintptr_t)fm_signal_entry)

static bool is_handler(uintptr_t asked)
{
    return asked != (uintptr_t)SIG_DFL && asked != (uintptr_t)SIG_IGN && asked != (uintptr_t)SIG_ERR &&
           asked != (uintptr_t)SIG_HOLD && asked != ENTRY;
}

/* NULL: not traced, handlers are left to the program. */
static fm_cc_process *watching_process(int number)
{
    return number > 0 && number < FM_SIGNALS ? fm_process_active() : NULL;
}

/* The kernel passes all three arguments whatever the flags say, so the flags stay as they are. */
INTERPOSED(int, sigaction, (int sig, const struct sigaction *act, struct sigaction *oact))
{
    fm_cc_process *process = watching_process(sig);
    if (!process) {
        int plain = NEXT(sigaction)(sig, act, oact);
        if (plain == 0 && oact && (uintptr_t)oact->sa_handler == ENTRY) /* tracing has ended meanwhile */
            oact->sa_handler = (__sighandler_t)fm_process_here->handlers[sig];
        return plain;
    }
    uintptr_t before = __atomic_load_n(&process->handlers[sig], __ATOMIC_ACQUIRE);
    struct sigaction entered;
    if (act && is_handler((uintptr_t)act->sa_handler)) {
        entered.sa_handler = (__sighandler_t)ENTRY;
        entered.sa_flags = act->sa_flags;
        entered.sa_mask = act->sa_mask;
        entered.sa_restorer = act->sa_restorer;
        /* First, so that a signal in between finds a handler: the new one, as if it had come later. */
        __atomic_store_n(&process->handlers[sig], (uintptr_t)act->sa_handler, __ATOMIC_RELEASE);
        act = &entered;
    }
    int result = NEXT(sigaction)(sig, act, oact);
    if (result == 0 && oact && (uintptr_t)oact->sa_handler == ENTRY)
        oact->sa_handler = (__sighandler_t)before;
    if (result != 0) __atomic_store_n(&process->handlers[sig], before, __ATOMIC_RELEASE);
    return result;
}

/* signal() in its variants: what they do beside is libc's. */
static __sighandler_t set_by(__sighandler_t (*next)(int, __sighandler_t), int sig, __sighandler_t asked)
{
    fm_cc_process *process = watching_process(sig);
    uintptr_t before = 0;
    if (fm_process_here && sig > 0 && sig < FM_SIGNALS)
        before = __atomic_load_n(&fm_process_here->handlers[sig], __ATOMIC_ACQUIRE);
    bool entered = process && is_handler((uintptr_t)asked);
    if (entered) __atomic_store_n(&process->handlers[sig], (uintptr_t)asked, __ATOMIC_RELEASE);
    __sighandler_t result = next(sig, entered ? (__sighandler_t)ENTRY : asked);
    if (result == SIG_ERR && entered) __atomic_store_n(&process->handlers[sig], before, __ATOMIC_RELEASE);
    return (uintptr_t)result == ENTRY ? (__sighandler_t)before : result;
}

INTERPOSED(__sighandler_t, signal, (int sig, __sighandler_t handler))
{
    return set_by(NEXT(signal), sig, handler);
}

INTERPOSED(__sighandler_t, bsd_signal, (int sig, __sighandler_t handler))
{
    return set_by(NEXT(bsd_signal), sig, handler);
}

INTERPOSED(__sighandler_t, sysv_signal, (int sig, __sighandler_t handler))
{
    return set_by(NEXT(sysv_signal), sig, handler);
}

INTERPOSED(__sighandler_t, __sysv_signal, (int sig, __sighandler_t handler))
{
    return set_by(NEXT(__sysv_signal), sig, handler);
}

INTERPOSED(__sighandler_t, sigset, (int sig, __sighandler_t disp))
{
    return set_by(NEXT(sigset), sig, disp);
}
