/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel.c - the shared memory: opening the session, claiming a channel, sealing chunks, waiting for the
 * receiver, and noticing that it is gone. The protocol is collect/protocol.h's.
 *
 * Everything here runs with the thread's signals blocked, but for the time that fm_make_room waits: there a
 * handler may run, find the chunk full as well, and wait by itself.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include "system.h"

#include <pthread.h>

/*
 * ==== text in records ====
 *
 * Strings into words of a record, and hashes; what string.h would do, without it.
 */

static size_t text_length(const char *text)
{
    size_t length = 0;
    while (text[length]) length++;
    return length;
}

size_t fm_text_words(uint64_t *words, size_t most, const char *text)
{
    size_t length = text_length(text);
    if (length > most * 8 - 1) length = most * 8 - 1;
    size_t count = length / 8 + 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = 0;
        for (size_t byte = 0; byte < 8 && i * 8 + byte < length; byte++)
            word |= (uint64_t)(unsigned char)text[i * 8 + byte] << (8 * byte);
        words[i] = word;
    }
    return count;
}

uint64_t fm_hash(uint64_t seed, uint64_t value)
{
    uint64_t x = (seed ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 29;
}

enum {
    WAIT_MILLISECONDS = 100,
    CLAIM_TRIES = 10,
    /* Where a filter forbids to ask whether the receiver is there: so long it may stand still, in waits or,
     * where these are forbidden, too, in looks of some 50 nanoseconds. Half a minute, about. */
    STILL_WAITS = 300,
    STILL_LOOKS = 1 << 29,
};

/* ---- the file ---- */

static bool is_session(const fm_cc_process *process, int fd)
{
    struct stat status;
    status.st_dev = status.st_ino = 0;
    return fm_fstat(fd, &status) == 0 && status.st_dev == process->device && status.st_ino == process->inode;
}

/*
 * The session's descriptor, and whether the caller must close it. It is kept at a high number, where it
 * changes none that the program gets; but the program may close all it has, and open something of its own
 * there. Then the path must do, which needs /proc and the right to look there.
 */
static int session_file(const fm_cc_process *process, bool *mine)
{
    *mine = false;
    if (process->fd >= 0 && is_session(process, process->fd)) return process->fd;
    int fd = fm_open(process->path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return -1;
    if (!is_session(process, fd)) {
        fm_close(fd);
        return -1;
    }
    *mine = true;
    return fd;
}

/* Maps the session that a file is; false: it is none of this version. */
static bool session_map(fm_cc_process *process, int fd)
{
    struct stat status;
    fm_session *session = NULL;
    status.st_size = 0;
    status.st_dev = status.st_ino = 0;
    if (fm_fstat(fd, &status) == 0 &&
        status.st_size >= (off_t)FM_STREAM_RINGS_OFFSET + (off_t)FM_RING_BYTES * FM_STREAM_CHANNELS)
        session = fm_map(FM_STREAM_RINGS_OFFSET, fd, 0);
    if (!session) return false;
    if (session->magic != FM_STREAM_MAGIC || session->version != FM_STREAM_VERSION) {
        fm_unmap(session, FM_STREAM_RINGS_OFFSET);
        return false;
    }
    process->fd = fd;
    process->device = status.st_dev;
    process->inode = status.st_ino;
    process->session = session;
    process->wants = session->wants;
    return true;
}

static int inherited_place(void)
{
    struct rlimit files = {0, 0};
    fm_syscall(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&files, 0, 0);
    return fm_stream_descriptor(files.rlim_cur);
}

bool fm_session_may_be(const char *path)
{
    struct stat status;
    status.st_size = 0;
    return path ||
           (fm_fstat(inherited_place(), &status) == 0 && status.st_size > (off_t)FM_STREAM_RINGS_OFFSET);
}

bool fm_session_open(fm_cc_process *process, const char *path)
{
    const int place = inherited_place();
    size_t length = path ? text_length(path) : 0;
    if (length >= sizeof process->path) return false;
    for (size_t i = 0; i < length; i++) process->path[i] = path[i];
    process->path[length] = 0;
    int fd = length > 0 ? fm_open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return session_map(process, place);
    bool mapped = session_map(process, fd);
    process->fd = mapped ? fm_dup_above(fd, place) : -1;
    if (process->fd < 0) process->fd = -1;
    fm_close(fd);
    return mapped;
}

void fm_session_leave_rings(fm_cc_process *process)
{
    for (int i = 0; i < FM_STREAM_CHANNELS; i++) {
        fm_thread *thread = process->by_channel[i];
        if (thread) fm_map_over(thread->ring, FM_RING_BYTES);
        process->by_channel[i] = NULL;
    }
}

void fm_session_leave(fm_cc_process *process)
{
    fm_session_leave_rings(process);
    fm_map_over(process->session, FM_STREAM_RINGS_OFFSET);
    if (process->fd >= 0 && is_session(process, process->fd)) fm_close(process->fd);
    process->fd = -1;
}

/* The receiver works as long as its count rises: all that can be known without a system call. */
typedef struct standstill {
    uint64_t beats;
    uint32_t since; /* so many waits or looks ago */
} standstill;

static bool stands_still(const fm_cc_process *process, standstill *still, bool waited)
{
    uint64_t beats = __atomic_load_n(&process->session->beats, __ATOMIC_RELAXED);
    if (beats != still->beats) still->since = 0;
    still->beats = beats;
    if (++still->since < (waited ? STILL_WAITS : STILL_LOOKS)) return false;
    __atomic_fetch_add(&process->session->refused, 1, __ATOMIC_RELAXED); /* should it be there after all */
    return true;
}

static bool may_ask_for_receiver(void)
{
    return !fm_call_denied(__NR_fstat) && !fm_call_denied(__NR_flock);
}

/* The receiver holds a lock on the file as long as it lives. */
static bool receiver_is_gone(const fm_cc_process *process)
{
    bool mine;
    int fd = session_file(process, &mine);
    if (fd < 0) { /* no /proc (chroot), no right to look: is there a process of that number? */
        return fm_syscall(__NR_kill, process->session->receiver_pid, 0, 0, 0, 0, 0) == -3 /* ESRCH */;
    }
    bool gone = fm_flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (gone) fm_flock(fd, LOCK_UN);
    if (mine) fm_close(fd);
    return gone;
}

static void wake_receiver(fm_session *session)
{
    __atomic_fetch_add(&session->wake, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&session->receiver_waits, __ATOMIC_SEQ_CST)) fm_futex_wake(&session->wake);
}

/* ---- claiming ---- */

static uintptr_t chunk_start(const fm_thread *thread)
{
    return (uintptr_t)thread->ring + (size_t)(thread->channel->sealed % FM_RING_CHUNKS) * FM_CHUNK_BYTES;
}

static void open_chunk(fm_thread *thread)
{
    thread->channel->limit = chunk_start(thread) + FM_CHUNK_BYTES - FM_RECORD_MOST_BYTES;
}

static void enter_chunk(fm_thread *thread, bool open)
{
    fm_channel *channel = thread->channel;
    channel->cursor = chunk_start(thread);
    channel->limit = 0;
    if (open) open_chunk(thread);
    thread->chunk_pending = !open;
}

static void channel_describe(fm_cc_process *process, fm_thread *thread, fm_channel *channel)
{
    thread->channel = channel;
    channel->ring_address = (uintptr_t)thread->ring;
    channel->spare0[FM_SPARE_PAGE] = 0;
    channel->spare0[FM_SPARE_MASK] = process->wants & FM_WANT_SITES ? UINT64_MAX : 0;
    channel->sealed = __atomic_load_n(&channel->taken, __ATOMIC_ACQUIRE);
    channel->producer_waits = 0;
    channel->producer = FM_PRODUCER_COMPILER;
    channel->pid = process->pid;
    channel->tid = thread->tid;
    channel->process = process->serial;
    channel->thread = thread->number;
    channel->born = __atomic_load_n(&process->session->sequence, __ATOMIC_RELAXED);
    enter_chunk(thread, true);
    __atomic_store_n(&channel->state, FM_CHANNEL_OPEN, __ATOMIC_RELEASE);
}

/* -1: none is free, nor will one be soon; -2: perhaps in a moment, when the receiver has done with one. */
static int claim_free(fm_session *session)
{
    bool closing = false;
    for (int i = 0; i < FM_STREAM_CHANNELS; i++) {
        uint32_t state = __atomic_load_n(&session->channels[i].state, __ATOMIC_RELAXED);
        closing |= state == FM_CHANNEL_CLOSED;
        if (state == FM_CHANNEL_FREE &&
            __atomic_compare_exchange_n(&session->channels[i].state, &state, FM_CHANNEL_CLAIMED, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return i;
    }
    return closing ? -2 : -1;
}

bool fm_channel_claim(fm_cc_process *process, fm_thread *thread)
{
    fm_session *session = process->session;
    int index = -1;
    for (int tries = 0;; tries++) { /* as long as there is somebody who will make room */
        if (__atomic_load_n(&session->order, __ATOMIC_RELAXED) != FM_ORDER_TRACE) return false;
        index = claim_free(session);
        if (fm_call_denied(__NR_nanosleep) && index == -2) break;
        if (index != -2 || (tries % CLAIM_TRIES == CLAIM_TRIES - 1 && receiver_is_gone(process))) break;
        struct timespec moment = {0, 20 * 1000000};
        fm_syscall(__NR_nanosleep, (long)&moment, 0, 0, 0, 0, 0);
    }
    bool mine = false;
    int fd = index >= 0 ? session_file(process, &mine) : -1;
    if (fd >= 0) {
        thread->ring = fm_map(FM_RING_BYTES, fd, FM_STREAM_RINGS_OFFSET + (uint64_t)index * FM_RING_BYTES);
        if (mine) fm_close(fd);
    }
    if (index < 0 || fd < 0 || !thread->ring) {
        if (index >= 0) __atomic_store_n(&session->channels[index].state, FM_CHANNEL_FREE, __ATOMIC_RELEASE);
        __atomic_fetch_add(&session->refused, 1, __ATOMIC_RELAXED);
        return false;
    }
    fm_syscall(__NR_madvise, (long)thread->ring, FM_RING_BYTES, MADV_DONTDUMP, 0, 0, 0);
    thread->index = (uint32_t)index;
    __atomic_store_n(&process->by_channel[index], thread, __ATOMIC_RELEASE);
    channel_describe(process, thread, &session->channels[index]);
    return true;
}

/* ---- sealing ---- */

static void channel_seal(fm_cc_process *process, fm_thread *thread)
{
    fm_channel *channel = thread->channel;
    uint32_t chunk = channel->sealed % FM_RING_CHUNKS;
    uint64_t start = (uintptr_t)thread->ring + (uint64_t)chunk * FM_CHUNK_BYTES;
    channel->chunk_words[chunk] = (uint32_t)((channel->cursor - start) / 8);
    channel->chunk_sequence[chunk] = __atomic_fetch_add(&process->session->sequence, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&channel->sealed, channel->sealed + 1, __ATOMIC_RELEASE);
    enter_chunk(thread, false);
    wake_receiver(process->session);
}

void fm_channel_hand_over(fm_cc_process *process, fm_thread *thread)
{
    const fm_channel *channel = thread->channel;
    if (channel && !thread->chunk_pending &&
        channel->cursor >
            (uintptr_t)thread->ring + (uint64_t)(channel->sealed % FM_RING_CHUNKS) * FM_CHUNK_BYTES)
        channel_seal(process, thread);
}

void fm_channel_close(fm_cc_process *process, fm_thread *thread)
{
    fm_channel *channel = thread->channel;
    if (!channel) return;
    fm_channel_hand_over(process, thread);
    thread->channel = NULL;
    __atomic_store_n(&channel->state, FM_CHANNEL_CLOSED, __ATOMIC_RELEASE);
    wake_receiver(process->session);
}

/* No more tracing, in this thread now, in others when they come here. The rings stay mapped: a hook that a
 * signal interrupted may still hold the address of one. */
static void process_stop(fm_cc_process *process, fm_thread *thread)
{
    __atomic_store_n(&process->state, FM_STATE_STOPPED, __ATOMIC_RELEASE);
    fm_thread_silence(thread);
    fm_channel_close(process, thread);
}

static bool must_stop(const fm_cc_process *process)
{
    return __atomic_load_n(&process->state, __ATOMIC_ACQUIRE) == FM_STATE_STOPPED ||
           __atomic_load_n(&process->session->order, __ATOMIC_RELAXED) != FM_ORDER_TRACE;
}

void fm_channel_ask(fm_thread *thread)
{
    if (thread->channel) *(volatile uint64_t *)&thread->channel->limit = 0;
}

/* The thread, if it has a channel. */
static fm_thread *own_thread(void)
{
    fm_thread *thread = fm_my.thread;
    return thread && thread != &fm_unclaimed_thread && thread->channel ? thread : NULL;
}

FM_COLD void fm_make_room(void)
{
    standstill still = {0, 0};
    uint64_t signals = fm_signals_block();
    fm_thread *asked = own_thread();
    if (asked && asked->local_pending && !asked->chunk_pending) { /* by fm_channel_ask */
        open_chunk(asked);
        fm_locals_report(fm_process_here, asked);
    }
    for (;;) {
        fm_cc_process *process = fm_process_here;
        fm_thread *thread = own_thread();
        /* A handler that ran while this waited may have changed everything. */
        if (!thread) break;
        fm_channel *channel = thread->channel;
        if (channel->cursor <= channel->limit) break;
        if (!thread->chunk_pending) channel_seal(process, thread);
        if (must_stop(process)) {
            process_stop(process, thread);
            break;
        }
        uint32_t taken = __atomic_load_n(&channel->taken, __ATOMIC_ACQUIRE);
        if (channel->sealed - taken < FM_RING_CHUNKS) {
            enter_chunk(thread, true);
            break;
        }
        const bool sleeps = !fm_call_denied(__NR_futex);
        if (sleeps) __atomic_store_n(&channel->producer_waits, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&channel->taken, __ATOMIC_SEQ_CST) == taken) {
            fm_signals_restore(signals);
            if (!sleeps) {
                __builtin_ia32_pause();
                fm_syscall(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
            }
            fm_futex_wait(&channel->taken, taken, WAIT_MILLISECONDS);
            signals = fm_signals_block();
        }
        if (fm_my.thread != thread || thread->channel != channel) continue;
        __atomic_store_n(&channel->producer_waits, 0, __ATOMIC_RELAXED);
        if (__atomic_load_n(&channel->taken, __ATOMIC_ACQUIRE) == taken &&
            (may_ask_for_receiver() ? receiver_is_gone(process) : stands_still(process, &still, sleeps)))
            __atomic_store_n(&process->state, FM_STATE_STOPPED, __ATOMIC_RELEASE);
    }
    asked = own_thread();
    if (asked && asked->unseen && !asked->chunk_pending) {
        asked->unseen = false;
        fm_append1(FM_RECORD(FM_RECORD_LOST, 1, 0)); /* at least */
    }
    /* Modules that others have loaded. */
    if (asked && !asked->chunk_pending &&
        asked->local_modules != __atomic_load_n(&fm_process_here->module_count, __ATOMIC_ACQUIRE))
        fm_locals_report(fm_process_here, asked);
    fm_signals_restore(signals);
}

/*
 * ==== threads ====
 *
 * threads: where a thread gets its channel, at its first hook, where it gives it back, at
 * its end, and where its stack lies.
 *
 * A thread that never ends in order (one of a pool, main at exit) never gives its channel back; the
 * receiver finds its words by the cursor.
 */

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
