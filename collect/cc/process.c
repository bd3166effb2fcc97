/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.c - the process: whether anybody profiles it, what is reported when it begins, forks, executes
 * another program and ends; and the regions that a program marks itself.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include "system.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#if defined __has_include
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef RUNNING_ON_VALGRIND
#define RUNNING_ON_VALGRIND 0
#endif

/* What is linked by fathom cc asks for this name (-u), and nobody exports it: so everything gets a copy of
 * the runtime of its own, and with it the note, though a library beside it may have all the hooks. */
extern const uint32_t fm_anchor __asm__("__fathom_anchor") __attribute__((visibility("hidden")));
const uint32_t fm_anchor = FM_STREAM_VERSION;

fm_cc_process fm_process_own;
fm_cc_process *fm_process_here;

/* ---- beginning ---- */

static const char *session_path(void)
{
    static const char name[] = FM_STREAM_ENVIRONMENT "=";
    for (char **variable = environ; variable && *variable; variable++) {
        size_t i = 0;
        while (name[i] && (*variable)[i] == name[i]) i++;
        if (!name[i]) return *variable + i;
    }
    return NULL;
}

/* The arguments of the program, each with its zero byte, as far as there is room. Returns their bytes, and
 * what PROCESS says of their number. */
static size_t read_arguments(char *text, size_t room, uint64_t *reported)
{
    size_t used = 0, whole = 0;
    int file = fm_open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    *reported = 0;
    if (file < 0) return 0;
    for (long got; used < room && (got = fm_read(file, text + used, room - used)) > 0;) used += (size_t)got;
    fm_close(file);
    for (size_t i = 0; i < used; i++) {
        if (text[i]) continue;
        whole = i + 1;
        ++*reported;
    }
    if (used == room) *reported |= FM_PROCESS_MORE_ARGUMENTS;
    return whole;
}

void fm_process_begin(fm_cc_process *process)
{
    fm_thread *thread = fm_my.thread;
    if (!thread) return;
    uint64_t *words = thread->scratch, reported;
    char *text = (char *)&words[5];
    long length = fm_readlink("/proc/self/exe", text, 4000);
    size_t used = length > 0 ? (size_t)length : 0;
    text[used++] = 0;
    used += read_arguments(text + used, sizeof thread->scratch - 6 * sizeof *words - used, &reported);
    while (used % sizeof *words) text[used++] = 0;
    words[1] = process->pid;
    words[2] = fm_getppid();
    words[3] = process->parent_serial;
    words[4] = process->serial;
    size_t count = 4 + used / sizeof *words;
    words[0] = FM_RECORD(FM_RECORD_PROCESS, reported, count);
    fm_append_many(words, count + 1);
}

/* In a child: the calls that led to fork, which its channel has not seen. */
static void copy_calls(fm_thread *thread, const fm_thread *parent)
{
    uint32_t depth = parent->depth < FM_FRAMES ? parent->depth : FM_FRAMES;
    for (uint32_t i = 0; i < depth; i++) {
        volatile fm_cc_frame *frame = &thread->frames[i];
        frame->call_site = parent->frames[i].call_site;
        frame->inside = parent->frames[i].inside;
        frame->stack = parent->frames[i].stack;
        if (thread->record_calls)
            fm_append4(FM_RECORD(FM_RECORD_ENTER, 0, 3), frame->inside, frame->call_site, frame->stack);
    }
    thread->depth = depth;
}

/* A channel for this thread, and everything that is reported at the beginning. parent: the same thread before
 * a fork, or NULL. */
static bool process_begin(fm_cc_process *process, const fm_thread *parent)
{
    process->pid = fm_getpid();
    process->serial = __atomic_fetch_add(&process->session->processes, 1, __ATOMIC_RELAXED);
    fm_thread *thread = fm_thread_new(process);
    if (!thread) return false;
    if (!fm_channel_claim(process, thread)) {
        fm_unmap(thread, sizeof *thread);
        return false;
    }
    pthread_setspecific(process->key, thread);
    fm_thread_set_cells(process, thread);
    fm_process_begin(process);
    fm_thread_begin(process, thread);
    fm_modules_report(process);
    if (parent) copy_calls(thread, parent);
    return true;
}

#ifdef FM_VARIANT_LIBRARY
/* The state lives in a library that may be unloaded, which would take our destructors with it. */
static void stay_loaded(void)
{
    Dl_info info;
    if (dladdr(&fm_process_own, &info) && info.dli_fname && info.dli_fname[0])
        dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}
#endif

static void at_exit(int code, void *unused)
{
    (void)unused;
    fm_cc_process *process = fm_process_active();
    if (!process) return;
    if (fm_my.any == &fm_unclaimed_channel) fm_thread_attach(); /* main's channel ended with pthread_exit */
    fm_modules_report(process);
    fm_process_end(process, code);
}

/* What this thread reported before the fork arrives before what its child reports: the child has its heap. */
static void about_to_fork(void)
{
    fm_cc_process *process = fm_process_active();
    if (!process || !(process->wants & FM_WANT_CHILDREN)) return;
    uint64_t signals = fm_signals_block();
    fm_thread *thread = pthread_getspecific(process->key);
    if (thread) fm_channel_hand_over(process, thread);
    fm_signals_restore(signals);
}

static bool process_start(fm_cc_process *process, const char *path)
{
    pthread_key_t key;
    if (pthread_key_create(&key, fm_thread_end) != 0) return false;
    process->key = key;
    process->contexts = fm_map(FM_CONTEXTS * sizeof *process->contexts, -1, 0);
    if (!process->contexts || !fm_session_open(process, path)) {
        if (process->contexts) fm_unmap(process->contexts, FM_CONTEXTS * sizeof *process->contexts);
        pthread_key_delete(key);
        return false;
    }
    if (!(process->wants & FM_WANT_CHILDREN)) unsetenv(FM_STREAM_ENVIRONMENT);
#ifdef FM_VARIANT_LIBRARY
    stay_loaded();
#endif
    on_exit(at_exit, NULL);
    pthread_atfork(about_to_fork, NULL, fm_process_forked);
    uint64_t signals = fm_signals_block();
    bool begun = process_begin(process, NULL);
    fm_signals_restore(signals);
    return begun;
}

/* This copy of the runtime begins: joins one that has, or looks whether there is a session. */
static void start_copy(void)
{
    static uint32_t begun;
    if (__atomic_exchange_n(&begun, 1, __ATOMIC_ACQ_REL)) return;
    fm_cc_process *process = fm_process_find_other();
    if (!process) {
        process = &fm_process_own;
        const char *path = session_path();
        process->state = FM_STATE_STARTING;
        /* Without a path it may have inherited the session. */
        bool traced = !getauxval(AT_SECURE) && !RUNNING_ON_VALGRIND && fm_session_may_be(path);
        if (traced) fm_process_here = process; /* in this state no other thread gets a channel yet */
        traced = traced && process_start(process, path);
        __atomic_store_n(&process->state, traced ? FM_STATE_ACTIVE : FM_STATE_PASSIVE, __ATOMIC_RELEASE);
    }
    uint32_t copy = __atomic_fetch_add(&process->copies, 1, __ATOMIC_RELAXED);
    if (copy < FM_COPIES) {
        process->hooks[copy].from = (uintptr_t)fm_hooks_begin;
        process->hooks[copy].to = (uintptr_t)fm_hooks_end;
    }
    __atomic_store_n(&fm_process_here, process, __ATOMIC_RELEASE);
}

FM_EXPORT void __tsan_init(void);

/* Called by a constructor of every instrumented source file: there may be a module that was not reported. */
FM_EXPORT void __tsan_init(void)
{
    if (!fm_process_here) start_copy();
    fm_cc_process *process = fm_process_active();
    if (!process) return;
    if (fm_my.any == &fm_unclaimed_channel) fm_thread_attach();
    fm_modules_report(process);
}

/* Where nothing instrumented was linked, only the runtime. */
static __attribute__((constructor(101))) void fm_constructor(void)
{
    __tsan_init();
}

/* ---- fork, exec, end ---- */

void fm_process_forked(void)
{
    fm_cc_process *process = fm_process_active();
    if (!process) return;
    const bool told = !fm_call_denied(__NR_getpid);
    if (told && process->pid == fm_getpid()) return;
    fm_thread *thread = pthread_getspecific(process->key);
    process->module_lock = 0; /* whoever held it is not here */
    uint64_t signals = fm_signals_block();
    if (thread) fm_thread_silence(thread);
    if (!told || !(process->wants & FM_WANT_CHILDREN)) {
        if (!told && (process->wants & FM_WANT_CHILDREN))
            __atomic_fetch_add(&process->session->refused, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&process->state, FM_STATE_STOPPED, __ATOMIC_RELEASE);
        fm_session_leave(process);
    } else {
        fm_session_leave_rings(process);
        process->parent_serial = process->serial;
        process->threads = 0;
        process->module_count = 0;
        process->module_changes = 0;
        process->end_sent = false;
        fm_my.number = 0;
        /* The thread's cells in other copies ask again: they find the new channel by the key. */
        for (unsigned i = 0; thread && i < thread->copies; i++) {
            fm_cells *cells = thread->cells[i];
            if (cells != &fm_my) cells->load = cells->store = cells->any = cells->unclaimed;
        }
        if (!process_begin(process, thread))
            __atomic_store_n(&process->state, FM_STATE_STOPPED, __ATOMIC_RELEASE);
    }
    fm_signals_restore(signals);
}

/* Not in a child of vfork, which has our memory but is another process. */
static bool is_this_process(const fm_cc_process *process)
{
    return fm_call_denied(__NR_getpid) || process->pid == fm_getpid();
}

void fm_process_end(fm_cc_process *process, int code)
{
    if (!is_this_process(process) || __atomic_exchange_n(&process->end_sent, true, __ATOMIC_RELAXED)) return;
    fm_append1(FM_RECORD(FM_RECORD_END, (uint32_t)code & 0xFF, 0));
}

void fm_process_execs(fm_cc_process *process, const char *path)
{
    if (!is_this_process(process) || !path) return;
    uint64_t words[1 + 64];
    size_t count = fm_text_words(&words[1], 64, path);
    words[0] = FM_RECORD(FM_RECORD_EXEC, 0, count);
    fm_append_many(words, count + 1);
}

/* ---- regions: include/fathom/markers.h ---- */

FM_EXPORT void fathom_region_begin(const char *name);
FM_EXPORT void fathom_region_end(void);

FM_EXPORT void fathom_region_begin(const char *name)
{
    if (fm_likely(!fm_my.any)) return;
    uint64_t words[1 + 64];
    size_t count = fm_text_words(&words[1], 64, name ? name : "");
    words[0] = FM_RECORD(FM_RECORD_REGION_BEGIN, 0, count);
    fm_append_many(words, count + 1);
}

FM_EXPORT void fathom_region_end(void)
{
    if (fm_likely(!fm_my.any)) return;
    fm_append1(FM_RECORD(FM_RECORD_REGION_END, 0, 0));
}
