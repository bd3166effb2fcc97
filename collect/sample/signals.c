/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signals.c - our handlers, and what the program sees of the signals that they take.
 *
 * SIGTRAP carries the clock and the watches. SIGSEGV, SIGBUS, SIGFPE and SIGILL may come while the translator
 * runs the program, and must then lead back to the program's own instruction. For these five the program's
 * actions are kept here; what is not ours is handed to them. SIGTRAP is never really blocked by the program:
 * a thread that blocks everything (as worker threads do) would not be seen.
 *
 * The kernel puts a signal's frame onto the stack of what it interrupts. A burst lets the program run on from
 * there, on that stack. So the frame is copied away first, and the program is returned to by way of the copy.
 */
#define _GNU_SOURCE
#include "collect/sample/sampler.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif
#define EXPORT __attribute__((visibility("default")))

enum { OURS = 5, SIGNALS_BYTES = 8, FP_SOFTWARE = 464, FP_MAGIC = 0x46505853 };
static const int ours[OURS] = {SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static struct sigaction actions[OURS]; /* the program's */
static bool installed;
static int timer = -1; /* of the process, instead of the receiver's clock */
/* As the kernel has it. */
typedef struct kernel_action {
    uint64_t handler, flags, restorer, mask;
} kernel_action;
static kernel_action found[OURS];                                             /* before we came */
static bool changed[OURS];                                                    /* by the program, since */
static __thread bool trap_blocked __attribute__((tls_model("initial-exec"))); /* as the program sees it */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));
extern const char end[] __attribute__((visibility("hidden"))); /* of all that is loaded of this library */

static int index_of(int number)
{
    for (int i = 0; installed && i < OURS; i++)
        if (ours[i] == number) return i;
    return -1;
}

/* ---- handing on ---- */

static uint64_t set_bits(const sigset_t *set)
{
    uint64_t value;
    memcpy(&value, set, sizeof value);
    return value;
}

static void to_default(int number)
{
    const uint64_t action[4] = {0};
    fm_syscall(__NR_rt_sigaction, number, (long)action, 0, SIGNALS_BYTES, 0, 0);
}

/* As the kernel would, had we not been there. */
static void hand_on(int number, siginfo_t *information, ucontext_t *context)
{
    const int i = index_of(number);
    const struct sigaction action = i >= 0 ? actions[i] : (struct sigaction){0};
    const bool forced = information->si_code > 0;
    const uint64_t one = UINT64_C(1) << (number - 1);
    if (number == SIGTRAP && trap_blocked && !forced) { /* it has to wait: really blocked, until it is not */
        uint64_t mask = set_bits(&context->uc_sigmask) | one;
        memcpy(&context->uc_sigmask, &mask, sizeof mask);
        fm_syscall(__NR_rt_sigprocmask, SIG_BLOCK, (long)&one, 0, SIGNALS_BYTES, 0, 0);
        fm_syscall(__NR_rt_tgsigqueueinfo, fm_getpid(), fm_gettid(), number, (long)information, 0, 0);
        return;
    }
    if (action.sa_handler == SIG_IGN && !forced) return;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
        to_default(number);
        /* An instruction that faults does so again. */
        if (!forced || number == SIGTRAP) fm_syscall(__NR_tgkill, fm_getpid(), fm_gettid(), number, 0, 0, 0);
        return;
    }
    if (action.sa_flags & (int)SA_RESETHAND) actions[i] = (struct sigaction){0};
    uint64_t mask = set_bits(&context->uc_sigmask) | set_bits(&action.sa_mask);
    if (!(action.sa_flags & SA_NODEFER)) mask |= one;
    fm_syscall(__NR_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, SIGNALS_BYTES, 0, 0);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, information, context);
    else
        action.sa_handler(number);
}

/* ---- ours ---- */

bool fm_sampler_is_own_code(uint64_t at)
{
    return at >= (uint64_t)(uintptr_t)__ehdr_start && at < (uint64_t)(uintptr_t)etext;
}

bool fm_sampler_is_own_data(uint64_t at)
{
    return (at >= (uint64_t)(uintptr_t)__ehdr_start && at < (uint64_t)(uintptr_t)end) ||
           at - (uint64_t)(uintptr_t)fm_self.session < fm_sample_file_bytes();
}

static bool in_our_code(const ucontext_t *context)
{
    return fm_sampler_is_own_code((uint64_t)context->uc_mcontext.gregs[REG_RIP]);
}

/* Leaves the handler by a frame that lies elsewhere. */
__attribute__((noreturn)) static void handler_leave(void *context)
{
    __asm__ volatile("mov %0, %%rsp\n\tmov %1, %%eax\n\tsyscall"
                     :
                     : "r"(context), "i"(__NR_rt_sigreturn)
                     : "memory");
    __builtin_unreachable();
}

/* A fault that comes while its signal is blocked would kill the program: a thread may block them all. The
 * mask in the context is what it returns to. */
static void open_faults(const ucontext_t *context)
{
    uint64_t faults = 0;
    for (int i = 1; i < OURS; i++) faults |= UINT64_C(1) << (ours[i] - 1);
    if (set_bits(&context->uc_sigmask) & faults)
        fm_syscall(__NR_rt_sigprocmask, SIG_UNBLOCK, (long)&faults, 0, SIGNALS_BYTES, 0, 0);
}

static void on_own_stack(fm_sampler_thread *thread, ucontext_t *context)
{
    open_faults(context);
    fm_sampler_tick(thread, context);
    thread->busy = false;
    fm_sampler_step_out();
    handler_leave(context);
}

/* Bytes of the floating-point state, at the place where it is. */
static size_t fp_bytes(const void *state)
{
    uint32_t words[2];
    memcpy(words, (const char *)state + FP_SOFTWARE, sizeof words);
    return words[0] == FP_MAGIC ? words[1] : 512;
}

/* The kernel's part of a ucontext_t ends with the mask. */
#define CONTEXT_BYTES (offsetof(ucontext_t, uc_sigmask) + SIGNALS_BYTES)

static void begin_tick(fm_sampler_thread *thread, const ucontext_t *context)
{
    char *top = fm_sampler_stack_top(thread);
    if (context->uc_mcontext.fpregs == NULL) return;
    const size_t bytes = fp_bytes(context->uc_mcontext.fpregs);
    if (bytes > FM_SAMPLER_STACK / 2) return;
    thread->busy = true;
    char *state = (char *)((uintptr_t)(top - bytes) & ~(uintptr_t)63);
    char *copy = (char *)((uintptr_t)(state - CONTEXT_BYTES) & ~(uintptr_t)63);
    memcpy(state, context->uc_mcontext.fpregs, bytes);
    memcpy(copy, context, CONTEXT_BYTES);
    ucontext_t *copied = (ucontext_t *)(void *)copy;
    copied->uc_mcontext.fpregs = (fpregset_t)(void *)state;
    /* rsp is aligned to 16 before the call. */
    __asm__ volatile("mov %0, %%rsp\n\tcall *%1\n\tud2"
                     :
                     : "r"(copy - 64), "r"(on_own_stack), "D"(thread), "S"(copied)
                     : "memory");
    __builtin_unreachable();
}

/* A perf event, or a timer, of ours. */
static bool is_ours(const siginfo_t *information, uint64_t *data)
{
    if (information->si_code == TRAP_PERF)
        memcpy(data, (const char *)information + 24, sizeof *data);
    else if (information->si_code == SI_TIMER)
        *data = (uint64_t)(uintptr_t)information->si_value.sival_ptr;
    else
        return false;
    return *data == FM_SAMPLE_TRAP_CLOCK || *data - FM_SAMPLE_TRAP_WATCH < FM_SAMPLE_WATCHES ||
           *data - FM_SAMPLE_TRAP_PMU < FM_SAMPLE_PMU_EVENTS;
}

/* Signals of a thread with counters: nothing of the program runs in our handlers. */
static void on_counted(fm_sampler_thread *thread, uint64_t data, const ucontext_t *context)
{
    /* What our own code does is no use of the program's: a watched word below the stack's end, say. */
    if (thread->busy || in_our_code(context)) return;
    if (data == FM_SAMPLE_TRAP_CLOCK)
        fm_sampler_pmu_tick(thread);
    else if (data - FM_SAMPLE_TRAP_PMU < FM_SAMPLE_PMU_EVENTS)
        fm_sampler_pmu_sample(thread, (uint32_t)(data - FM_SAMPLE_TRAP_PMU), context);
    else
        fm_sampler_pmu_trapped(thread, (uint32_t)(data - FM_SAMPLE_TRAP_WATCH), context);
}

static bool in_burst(fm_sampler_thread *thread, ucontext_t *context)
{
    return thread && burst_running(thread->burst) && burst_fault(thread->burst, context);
}

static void on_event(uint64_t data, ucontext_t *context)
{
    fm_sampler_thread *thread = fm_sampler_me();
    if (!fm_self.session) return;
    if (fm_self.stopped || fm_sampler_halted()) {
        if (thread && data - FM_SAMPLE_TRAP_WATCH < FM_SAMPLE_WATCHES)
            fm_sampler_drop(thread, (uint32_t)(data - FM_SAMPLE_TRAP_WATCH));
        if (thread && !thread->busy) fm_sampler_pmu_end(thread);
        return;
    }
    if (fm_self.counting) {
        if (!thread && data == FM_SAMPLE_TRAP_CLOCK && !in_our_code(context))
            thread = fm_sampler_thread_get();
        if (thread) on_counted(thread, data, context);
        return;
    }
    if (data != FM_SAMPLE_TRAP_CLOCK) {
        if (!thread) return;
        const bool outside = !thread->busy;
        const uint64_t begin = outside ? fm_sampler_cpu() : 0;
        if (outside) thread->work = fm_sampler_worked(thread, begin);
        fm_sampler_trapped(thread, (uint32_t)(data - FM_SAMPLE_TRAP_WATCH), context);
        /* Outside of the region its clock stands still anyway. */
        if (outside && !fm_sampler_outside()) thread->own += fm_sampler_cpu() - begin + FM_SAMPLER_TRAP_COST;
        return;
    }
    if (fm_sampler_outside()) return;
    if (!thread) {
        if (in_our_code(context)) return;
        thread = fm_sampler_thread_get();
        if (!thread) return;
    }
    if (thread->busy) return;
    thread->lane->ticks++;
    thread->own += FM_SAMPLER_TICK_COST / 2;
    fm_sampler_span_tick(thread);
    if (thread->countdown > 1) {
        thread->countdown--;
        return;
    }
    if (in_our_code(context) || thread->tid != fm_gettid()) return;
    begin_tick(thread, context);
}

static void on_fault(int number, siginfo_t *information, void *given)
{
    fm_sampler_step_in();
    const bool ours_it_is = fm_self.session && in_burst(fm_sampler_me(), given);
    fm_sampler_step_out();
    if (!ours_it_is) hand_on(number, information, given);
}

static void on_trap(int number, siginfo_t *information, void *given)
{
    uint64_t data;
    if (!is_ours(information, &data)) {
        on_fault(number, information, given);
        return;
    }
    fm_sampler_step_in();
    on_event(data, given); /* which does not return when there is a burst */
    fm_sampler_step_out();
}

/* ---- the real functions ---- */

typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);
typedef int mask_function(int, const sigset_t *, sigset_t *);

static void *real_function(const char *name, void **known)
{
    if (!*known) *known = dlsym(fm_self.joined ? RTLD_DEFAULT : RTLD_NEXT, name);
    return *known;
}
#define REAL(type, name)                                                                                     \
    ({                                                                                                       \
        static void *known;                                                                                  \
        (type *)real_function(#name, &known);                                                                \
    })

static sigaction_function *set_action;

bool fm_sampler_signals_prepare(void)
{
    set_action = REAL(sigaction_function, sigaction);
    return set_action != NULL;
}

bool fm_sampler_signals_begin(void)
{
    sigaction_function *set = set_action;
    for (int i = 0; i < OURS; i++) {
        fm_syscall(__NR_rt_sigaction, ours[i], 0, (long)&found[i], SIGNALS_BYTES, 0, 0);
        changed[i] = false;
        struct sigaction action = {.sa_sigaction = i == 0 ? on_trap : on_fault,
                                   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER};
        sigfillset(&action.sa_mask);
        for (int k = 0; k < OURS; k++) sigdelset(&action.sa_mask, ours[k]);
        if (set(ours[i], NULL, &actions[i]) != 0) return false;
        /* Ignored, before it was executed: stays so. */
        if (i > 0 && actions[i].sa_handler == SIG_IGN) continue;
        if (set(ours[i], &action, NULL) != 0) return false;
    }
    installed = true;
    if (fm_self.joined) return true; /* what threads block is seen to from outside */
    const uint64_t trap = UINT64_C(1) << (SIGTRAP - 1);
    uint64_t before = 0;
    fm_syscall(__NR_rt_sigprocmask, SIG_UNBLOCK, (long)&trap, (long)&before, SIGNALS_BYTES, 0, 0);
    trap_blocked = before & trap;
    return true;
}

void fm_sampler_signals_end(bool forget)
{
    if (!installed) return;
    const kernel_action ignore = {.handler = 1}; /* SIG_IGN: what waits to be delivered is forgotten */
    if (forget) fm_syscall(__NR_rt_sigaction, SIGTRAP, (long)&ignore, 0, SIGNALS_BYTES, 0, 0);
    for (int i = 0; i < OURS; i++) {
        if (changed[i])
            set_action(ours[i], &actions[i], NULL);
        else
            fm_syscall(__NR_rt_sigaction, ours[i], (long)&found[i], 0, SIGNALS_BYTES, 0, 0);
    }
    installed = false;
}

bool fm_sampler_trap_blocked(int set)
{
    const bool was = trap_blocked;
    trap_blocked = set;
    return was;
}

bool fm_sampler_timer_begin(uint64_t nanoseconds)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                             .sigev_signo = SIGTRAP,
                             .sigev_value.sival_ptr = (void *)(uintptr_t)FM_SAMPLE_TRAP_CLOCK};
    const struct timespec each = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    const struct itimerspec when = {each, each};
    return fm_syscall(__NR_timer_create, CLOCK_PROCESS_CPUTIME_ID, (long)&event, (long)&timer, 0, 0, 0) ==
               0 &&
           fm_syscall(__NR_timer_settime, timer, 0, (long)&when, 0, 0, 0) == 0;
}

void fm_sampler_timer_end(void)
{
    if (timer >= 0) fm_syscall(__NR_timer_delete, timer, 0, 0, 0, 0, 0);
    timer = -1;
}

/* ---- what the program calls ---- */

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    sigaction_function *set = REAL(sigaction_function, sigaction);
    fm_sampler_step_in(); /* sampling must not end in between: what is noted here would be lost */
    const int i = index_of(number);
    if (i < 0) {
        fm_sampler_step_out();
        return set(number, action, before);
    }
    const struct sigaction known = actions[i];
    if (action) {
        actions[i] = *action;
        changed[i] = true;
    }
    if (before) *before = known;
    fm_sampler_step_out();
    return 0;
}
int __sigaction(int, const struct sigaction *, struct sigaction *);
EXPORT int __sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    return sigaction(number, action, before);
}

typedef void (*handler_function)(int);

static handler_function handler_change(int i, handler_function handler, int flags)
{
    const handler_function before = actions[i].sa_handler;
    changed[i] = true;
    actions[i] = (struct sigaction){.sa_handler = handler, .sa_flags = flags};
    if (!(flags & SA_NODEFER)) sigaddset(&actions[i].sa_mask, ours[i]);
    return before;
}

#define DEFINE_SIGNAL(name, flags)                                                                           \
    EXPORT handler_function name(int number, handler_function handler)                                       \
    {                                                                                                        \
        typedef handler_function function(int, handler_function);                                            \
        function *set = REAL(function, name);                                                                \
        fm_sampler_step_in();                                                                                \
        const int i = index_of(number);                                                                      \
        const handler_function before = i < 0 ? SIG_DFL : handler_change(i, handler, flags);                 \
        fm_sampler_step_out();                                                                               \
        return i < 0 ? set(number, handler) : before;                                                        \
    }
handler_function __sysv_signal(int, handler_function); /* NOLINT(readability-redundant-declaration) */
handler_function bsd_signal(int, handler_function);
DEFINE_SIGNAL(signal, SA_RESTART)
DEFINE_SIGNAL(bsd_signal, SA_RESTART)
DEFINE_SIGNAL(ssignal, SA_RESTART)
DEFINE_SIGNAL(sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
DEFINE_SIGNAL(__sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
DEFINE_SIGNAL(sigset, 0)

EXPORT int sigignore(int number)
{
    typedef int function(int);
    function *set = REAL(function, sigignore);
    fm_sampler_step_in();
    const int i = index_of(number);
    if (i >= 0) handler_change(i, SIG_IGN, 0);
    fm_sampler_step_out();
    return i < 0 ? set(number) : 0;
}

/* SIGTRAP stays open; the program is told what it believes. */
static int change_mask(mask_function *set, int how, const sigset_t *given, sigset_t *before)
{
    const bool was = trap_blocked, active = installed; /* sampling may begin or end while we are here */
    sigset_t open;
    if (given && active) {
        const bool has = sigismember(given, SIGTRAP) == 1;
        open = *given;
        if (how == SIG_BLOCK || how == SIG_SETMASK) sigdelset(&open, SIGTRAP);
        if (has && how == SIG_BLOCK) trap_blocked = true;
        if (has && how == SIG_UNBLOCK) trap_blocked = false;
        if (how == SIG_SETMASK) trap_blocked = has;
        given = &open;
    }
    const int result = set(how, given, before);
    if (result != 0)
        trap_blocked = was;
    else if (before && active) {
        if (was)
            sigaddset(before, SIGTRAP);
        else
            sigdelset(before, SIGTRAP);
    }
    return result;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
    return change_mask(REAL(mask_function, sigprocmask), how, set, before);
}
EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    return change_mask(REAL(mask_function, pthread_sigmask), how, set, before);
}
