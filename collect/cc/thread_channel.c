/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_channel.c - threads: where a thread gets its channel, at its first hook, where it gives it back, at
 * its end, and where its stack lies.
 *
 * A thread that never ends in order (one of a pool, main at exit) never gives its channel back; the
 * receiver finds its words by the cursor.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include "system.h"

#include <pthread.h>

/* ---- where the stack is ---- */

typedef struct mapping {
    uintptr_t from, to;
    char access[5];
    bool named;
} mapping;

/* /proc/self/maps, line by line, through a small buffer. */
typedef struct maps_reader {
    int fd;
    char *buffer;
    size_t capacity, have, at;
} maps_reader;

static int next_byte(maps_reader *reader)
{
    if (reader->at == reader->have) {
        long got = fm_read(reader->fd, reader->buffer, reader->capacity);
        if (got <= 0) return -1;
        reader->have = (size_t)got;
        reader->at = 0;
    }
    return (unsigned char)reader->buffer[reader->at++];
}

static int read_hex(maps_reader *reader, uintptr_t *value)
{
    *value = 0;
    for (;;) {
        int c = next_byte(reader);
        if (c >= '0' && c <= '9')
            *value = *value * 16 + (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *value = *value * 16 + (uintptr_t)(c - 'a' + 10);
        else
            return c;
    }
}

/* "from-to rwxp offset device inode      name" */
static bool next_mapping(maps_reader *reader, mapping *found)
{
    if (read_hex(reader, &found->from) != '-' || read_hex(reader, &found->to) != ' ') return false;
    for (int i = 0; i < 4; i++) found->access[i] = (char)next_byte(reader);
    int c = next_byte(reader);
    bool blank = true;
    int word = 0; /* of those after the access; the fourth is the name */
    found->named = false;
    while (c != '\n' && c != -1) {
        if (c == ' ')
            blank = true;
        else if (blank) {
            blank = false;
            word++;
        }
        if (word == 4) found->named = true;
        c = next_byte(reader);
    }
    return c == '\n';
}

/* The mapping that holds an address, and the one before it. */
static bool find_mapping(fm_thread *thread, uintptr_t address, mapping *before, mapping *found)
{
    maps_reader reader = {fm_open("/proc/self/maps", O_RDONLY | O_CLOEXEC), (char *)thread->scratch,
                          sizeof thread->scratch, 0, 0};
    if (reader.fd < 0) return false;
    mapping previous = {0, 0, "----", false};
    bool there = false;
    while (!there && next_mapping(&reader, found)) {
        there = address >= found->from && address < found->to;
        if (there) *before = previous;
        previous = *found;
    }
    fm_close(reader.fd);
    return there;
}

/* A stack that pthread_create made: its own mapping, a guard below it, the thread's descriptor at its end. */
static bool is_plain_stack(const mapping *before, const mapping *found)
{
    uintptr_t descriptor = (uintptr_t)pthread_self();
    return !found->named && before->to == found->from && before->access[0] == '-' &&
           descriptor >= found->from && descriptor < found->to && found->to - descriptor <= 8192;
}

/* Main's grows down to the limit, or to what is in the way. */
static uintptr_t lowest_of_main(const mapping *before, const mapping *found)
{
    struct rlimit most = {0, 0};
    if (fm_syscall(__NR_prlimit64, 0, RLIMIT_STACK, 0, (long)&most, 0, 0) != 0 ||
        most.rlim_cur >= found->to || found->to - most.rlim_cur < before->to)
        return before->to;
    uintptr_t lowest = found->to - most.rlim_cur;
    return lowest < found->from ? lowest : found->from;
}

static void find_stack(fm_thread *thread, uintptr_t *low, uintptr_t *high)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    mapping before, found;
    *low = *high = 0;
    bool known = find_mapping(thread, here, &before, &found);
    if (known && thread->tid == fm_getpid()) {
        *low = lowest_of_main(&before, &found);
        *high = found.to;
        return;
    }
    if (known && is_plain_stack(&before, &found)) {
        *low = found.from;
        *high = found.to;
        return;
    }
    /* The program gave the thread a stack of its own, or mappings have grown together. This call allocates:
     * the hooks are silent now, and a stack like this in a handler that interrupted malloc would be needed
     * to do harm. */
    pthread_attr_t attributes;
    void *address;
    size_t size;
    if (fm_call_denied(__NR_sched_getaffinity) || fm_call_denied(__NR_openat)) return; /* which it makes */
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
        *low = (uintptr_t)address;
        *high = (uintptr_t)address + size;
    }
    pthread_attr_destroy(&attributes);
    if (here < *low || here >= *high) *low = *high = 0; /* on a signal's stack, or a coroutine's */
}

/* ---- cells ---- */

static void fill_cells(const fm_cc_process *process, fm_thread *thread, fm_cells *cells)
{
    fm_channel *channel = thread ? thread->channel : NULL;
    if (!channel) thread = NULL;
    uint32_t wants = thread ? process->wants : 0;
    cells->load = wants & FM_WANT_LOADS ? channel : NULL;
    cells->store = wants & FM_WANT_STORES ? channel : NULL;
    cells->any = channel;
    cells->calls = wants & (FM_WANT_CALLS | FM_WANT_HEAP) ? thread : NULL;
    cells->heap = wants & FM_WANT_HEAP ? thread : NULL;
    cells->thread = thread;
}

void fm_thread_set_cells(fm_cc_process *process, fm_thread *thread)
{
    if (!thread) {
        fill_cells(process, NULL, &fm_my);
        return;
    }
    for (unsigned i = 0; i < thread->copies; i++) fill_cells(process, thread, thread->cells[i]);
}

void fm_thread_silence(fm_thread *thread)
{
    for (unsigned i = 0; i < thread->copies; i++) fill_cells(NULL, NULL, thread->cells[i]);
}

/* ---- beginning ---- */

fm_thread *fm_thread_new(fm_cc_process *process)
{
    fm_thread *thread = fm_map(sizeof *thread, -1, 0);
    if (!thread) return NULL;
    thread->tid = fm_gettid();
    thread->number = fm_my.number ? fm_my.number : __atomic_add_fetch(&process->threads, 1, __ATOMIC_RELAXED);
    thread->record_calls = (process->wants & FM_WANT_CALLS) != 0;
    thread->cells[thread->copies++] = &fm_my;
    fm_my.number = thread->number;
    return thread;
}

void fm_thread_begin(fm_cc_process *process, fm_thread *thread)
{
    uintptr_t low, high;
    find_stack(thread, &low, &high);
    high = fm_locals_lowest(low, high); /* its storage is no part of the stack */
    fm_thread_set_cells(process, thread);
    const uint64_t words[5] = {FM_RECORD(FM_RECORD_THREAD_START, 0, 4), thread->number, low, high,
                               thread->tid};
    fm_append_many(words, 5);
}

/* Another copy of the runtime has given this thread a channel: this one uses it as well. */
static bool channel_join(fm_cc_process *process)
{
    fm_thread *thread = pthread_getspecific(process->key);
    if (!thread) return false;
    if (thread->copies < FM_COPIES) {
        thread->cells[thread->copies++] = &fm_my;
        fill_cells(process, thread, &fm_my);
        fm_my.number = thread->number;
    }
    return true;
}

static void channel_attach(fm_cc_process *process)
{
    if (channel_join(process)) return;
    fm_thread *thread = fm_thread_new(process);
    if (!thread) {
        __atomic_fetch_add(&process->session->refused, 1, __ATOMIC_RELAXED);
        return;
    }
    if (!fm_channel_claim(process, thread)) {
        fm_unmap(thread, sizeof *thread);
        return;
    }
    /* The first keys need no memory, and ours was among them. */
    pthread_setspecific(process->key, thread);
    fm_thread_begin(process, thread);
    fm_locals_report(process, thread);
}

FM_COLD void fm_thread_attach(void)
{
    fm_cc_process *process = fm_process_here;
    uint32_t state = process ? __atomic_load_n(&process->state, __ATOMIC_ACQUIRE) : FM_STATE_NEW;
    if (state == FM_STATE_NEW || state == FM_STATE_STARTING) return; /* too early: asked again later */
    uint64_t signals = fm_signals_block();
    if (fm_my.any == &fm_unclaimed_channel) {
        fm_thread_set_cells(process, NULL); /* nothing below is reported */
        if (state == FM_STATE_ACTIVE) channel_attach(process);
    }
    fm_signals_restore(signals);
}

void fm_thread_lost(void)
{
    fm_cc_process *process = fm_process_here;
    fm_my.busy = 0;
    fm_thread_set_cells(process, NULL);
    if (process && process->session) __atomic_fetch_add(&process->session->refused, 1, __ATOMIC_RELAXED);
}

/* ---- end ---- */

/*
 * Runs among the destructors of thread-specific data, in an order that nobody knows, and those of the
 * program may make references. It asks to be called again until the last round.
 */
void fm_thread_end(void *data)
{
    fm_thread *thread = data;
    fm_cc_process *process = fm_process_here;
    enum { ROUNDS = 4 }; /* PTHREAD_DESTRUCTOR_ITERATIONS of glibc, and the least that POSIX allows */
    if (++thread->closing_rounds < ROUNDS) {
        pthread_setspecific(process->key, thread);
        return;
    }
    uint64_t signals = fm_signals_block();
    fm_cells *here = &fm_my; /* perhaps only other copies have used the channel so far */
    fill_cells(process, thread, here);
    if (thread->channel) fm_append1(FM_RECORD(FM_RECORD_THREAD_END, thread->number, 0));
    __atomic_store_n(&process->by_channel[thread->index], NULL, __ATOMIC_RELEASE);
    fm_channel_close(process, thread); /* from here on the channel may be another's */
    /* Should references still follow, they get a channel of their own. Blocks that libc gives back at a
     * thread's very end are not worth one. */
    for (unsigned i = 0; i <= thread->copies; i++) {
        fm_cells *cells = i < thread->copies ? thread->cells[i] : here;
        cells->load = cells->store = cells->any = cells->unclaimed;
        cells->calls = cells->heap = cells->thread = NULL;
    }
    fm_unmap(thread->ring, FM_RING_BYTES);
    fm_unmap(thread, sizeof *thread);
    fm_signals_restore(signals);
}
