/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_compiler.c - a receiver for the tests of collect/cc, written from collect/protocol.h and
 * collect/cc/README.md alone: it shares no code with src/collect. Runs a program, takes its words, checks
 * that every one of them makes sense, and prints what it counted, one line for each process and thread.
 *
 *     drain_compiler [--wants=loads,stores,sites,calls,heap,children] [--dump] [--fast]
 * [--detach-after=CHUNKS]
 *                    [--die-after=CHUNKS] [--stop-after=CHUNKS] [--kill-after=CHUNKS] -- PROGRAM ARGUMENTS…
 *
 * --region counts accesses only where the thread is within FATHOM_BEGIN and FATHOM_END. --fast takes chunks
 * without looking at them (to measure the runtime alone). --dump prints every record.
 * --die-after exits without a word; --stop-after stops taking chunks, so that the program must wait.
 * --kill-after kills the program.
 *
 * Exit code: 0 when the stream is sound, 1 when it is not, 2 for wrong usage. The program's own status is
 * printed.
 */
#define _GNU_SOURCE
#include "../../collect/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct counts {
    uint64_t words, load[7], store[7];
    uint64_t load_bytes, store_bytes;
    uint64_t pages, enters, leaves, allocs, frees, contexts, regions, region_ends, signals, thread_starts,
        thread_ends;
    uint64_t on_stack; /* accesses to the thread's own stack */
    uint32_t pid, tid, process, thread;
    uint64_t page, stack_low, stack_high;
    uint64_t *sites; /* distinct code addresses; a hash table, 0 is free */
    size_t site_count, site_room;
} counts;

/* One for each channel that was ever opened. */
static counts *all;
static size_t all_count;
static size_t current[FM_STREAM_CHANNELS]; /* index in all, plus 1 */
static fm_session *session;
static int memory;
static bool dump, fast, region_only;
static uint64_t chunks, faults, detach_after, die_after, stop_after, kill_after;

static __attribute__((format(printf, 1, 2))) void complain(const char *format, ...)
{
    faults++;
    va_list arguments;
    va_start(arguments, format);
    printf("fault: ");
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

static uint64_t *ring_of(int channel)
{
    static uint64_t *rings[FM_STREAM_CHANNELS];
    if (!rings[channel]) {
        void *there = mmap(NULL, FM_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory,
                           FM_STREAM_RINGS_OFFSET + (off_t)channel * FM_RING_BYTES);
        if (there == MAP_FAILED) {
            perror("drain_compiler: mmap");
            exit(2);
        }
        rings[channel] = there;
    }
    return rings[channel];
}

static const char *text_of(const uint64_t *words, unsigned count)
{
    if (count == 0 || words[count - 1] >> 56 != 0) {
        complain("a text of %u words has no end", count);
        return "";
    }
    return (const char *)words;
}

static void count_range(counts *c, unsigned code, uint64_t bytes)
{
    if (code == FM_ACCESS_LOAD_RANGE) {
        c->load[6]++;
        c->load_bytes += bytes;
    } else {
        c->store[6]++;
        c->store_bytes += bytes;
    }
}

static void add_site(counts *c, uint64_t site)
{
    if (c->site_count * 2 >= c->site_room) {
        uint64_t *old = c->sites;
        size_t old_room = c->site_room;
        c->site_room = old_room ? old_room * 2 : 1024;
        c->sites = calloc(c->site_room, sizeof *c->sites);
        if (!c->sites) exit(2);
        c->site_count = 0;
        for (size_t i = 0; i < old_room; i++)
            if (old[i]) add_site(c, old[i]);
        free(old);
    }
    size_t place = site * UINT64_C(0x9E3779B97F4A7C15) >> 40 & (c->site_room - 1);
    while (c->sites[place] && c->sites[place] != site) place = (place + 1) & (c->site_room - 1);
    if (c->sites[place] == site) return;
    c->sites[place] = site;
    c->site_count++;
}

/* Returns how many words were read, at least 1. */
static size_t take_access(counts *c, const uint64_t *words, size_t left)
{
    uint64_t address = words[0] >> 16;
    unsigned code = (unsigned)(words[0] >> 12) & 15;
    uint64_t bytes;
    size_t used = 1;
    if (region_only && c->regions == c->region_ends)
        return code == FM_ACCESS_LOAD_RANGE || code == FM_ACCESS_STORE_RANGE ? 2 : 1;
    if (c->page) add_site(c, c->page << 12 | (words[0] & 0xFFF));
    if (address >= c->stack_low && address < c->stack_high) c->on_stack++;
    if (code == 0 || code > FM_ACCESS_STORE_RANGE) {
        complain("word %#" PRIx64 " is no access", words[0]);
        return 1;
    }
    if (code == FM_ACCESS_LOAD_RANGE || code == FM_ACCESS_STORE_RANGE) {
        if (left < 2) {
            complain("a range ends with its chunk");
            return 1;
        }
        bytes = words[1];
        if (bytes == 0 || bytes >> 48) complain("a range of %" PRIu64 " bytes", bytes);
        count_range(c, code, bytes);
        used = 2;
    } else if (code <= FM_ACCESS_LOAD_32) {
        bytes = UINT64_C(1) << (code - FM_ACCESS_LOAD_1);
        c->load[code - FM_ACCESS_LOAD_1]++;
        c->load_bytes += bytes;
    } else {
        bytes = UINT64_C(1) << (code - FM_ACCESS_STORE_1);
        c->store[code - FM_ACCESS_STORE_1]++;
        c->store_bytes += bytes;
    }
    if (dump)
        printf("%u.%u %s %#" PRIx64 " %" PRIu64 " at %#" PRIx64 "\n", c->process, c->thread,
               code <= FM_ACCESS_LOAD_RANGE ? "load" : "store", address, bytes,
               c->page << 12 | (words[0] & 0xFFF));
    return used;
}

static void take_record(counts *c, uint64_t head, const uint64_t *words)
{
    unsigned kind = FM_RECORD_KIND(head), count = FM_RECORD_WORDS(head);
    uint64_t argument = FM_RECORD_ARGUMENT(head);
    const char *name = "";
    static const struct {
        const char *name;
        unsigned least, most;
    } known[] = {
        [FM_RECORD_MODULE] = {"module", 9, 2048},
        [FM_RECORD_THREAD_START] = {"thread-start", 4, 4},
        [FM_RECORD_THREAD_END] = {"thread-end", 0, 0},
        [FM_RECORD_HEAP_ALLOC] = {"alloc", 3, 3},
        [FM_RECORD_HEAP_FREE] = {"free", 1, 1},
        [FM_RECORD_CONTEXT] = {"context", 2, 2048},
        [FM_RECORD_REGION_BEGIN] = {"region", 1, 512},
        [FM_RECORD_REGION_END] = {"region-end", 0, 0},
        [FM_RECORD_ENTER] = {"enter", 3, 3},
        [FM_RECORD_LEAVE] = {"leave", 0, 0},
        [FM_RECORD_SIGNAL] = {"signal", 0, 0},
        [FM_RECORD_SIGNAL_END] = {"signal-end", 0, 0},
        [FM_RECORD_PROCESS] = {"process", 5, 2048},
        [FM_RECORD_EXEC] = {"exec", 1, 512},
        [FM_RECORD_END] = {"end", 0, 0},
        [FM_RECORD_PAGE] = {"page", 0, 0},
        [FM_RECORD_UNWIND] = {"unwind", 1, 1},
        [FM_RECORD_THREAD_LOCAL] = {"thread-local", 4, 4},
    };
    if (kind >= sizeof known / sizeof *known || !known[kind].name) {
        complain("record of kind %u", kind);
        return;
    }
    name = known[kind].name;
    if (count < known[kind].least || count > known[kind].most) {
        printf("%s: ", name);
        complain("%u words", count);
        return;
    }
    switch (kind) {
    case FM_RECORD_PAGE:
        c->pages++, c->page = argument;
        break;
    case FM_RECORD_ENTER:
        c->enters++;
        break;
    case FM_RECORD_LEAVE:
        c->leaves++;
        break;
    case FM_RECORD_HEAP_ALLOC:
        c->allocs++;
        break;
    case FM_RECORD_HEAP_FREE:
        c->frees++;
        break;
    case FM_RECORD_CONTEXT:
        c->contexts++;
        break;
    case FM_RECORD_REGION_BEGIN:
        c->regions++;
        break;
    case FM_RECORD_REGION_END:
        c->region_ends++;
        break;
    case FM_RECORD_SIGNAL:
        c->signals++;
        break;
    case FM_RECORD_THREAD_END:
        c->thread_ends++;
        break;
    case FM_RECORD_THREAD_START:
        c->thread_starts++;
        c->stack_low = words[1];
        c->stack_high = words[2];
        if (words[0] != c->thread || words[3] != c->tid)
            complain("thread-start of thread %" PRIu64, words[0]);
        break;
    default:
        break;
    }
    if (kind == FM_RECORD_MODULE)
        printf("module %u.%" PRIu64 "%s%s text=%#" PRIx64 "-%#" PRIx64 " %s\n", c->process,
               words[0] & UINT32_MAX, words[0] >> 32 & FM_MODULE_INSTRUMENTED ? " instrumented" : "",
               words[0] >> 32 & FM_MODULE_PROGRAM ? " program" : "", words[2], words[3],
               text_of(words + 8, count - 8));
    else if (kind == FM_RECORD_PROCESS)
        printf("process %" PRIu64 " parent=%" PRIu64 " %s\n", words[3], words[2],
               text_of(words + 4, count - 4));
    else if (kind == FM_RECORD_EXEC)
        printf("exec %u %s\n", c->process, text_of(words, count));
    else if (kind == FM_RECORD_END)
        printf("end %u code=%" PRIu64 "\n", c->process, argument);
    else if (kind == FM_RECORD_REGION_BEGIN && dump)
        printf("%u.%u region %s\n", c->process, c->thread, text_of(words, count));
    else if (dump) {
        printf("%u.%u %s %#" PRIx64, c->process, c->thread, name, argument);
        for (unsigned i = 0; i < count; i++) printf(" %#" PRIx64, words[i]);
        printf("\n");
    }
}

static void take_words(counts *c, const uint64_t *words, size_t count)
{
    c->words += count;
    if (fast) return;
    for (size_t i = 0; i < count;) {
        if (!(words[i] >> 63)) {
            i += take_access(c, words + i, count - i);
            continue;
        }
        unsigned follow = FM_RECORD_WORDS(words[i]);
        if (follow >= count - i) {
            complain("a record of %u words crosses the end of its chunk", follow);
            return;
        }
        take_record(c, words[i], words + i + 1);
        i += 1 + follow;
    }
}

static counts *counts_of(int index)
{
    fm_channel *channel = &session->channels[index];
    if (!current[index]) {
        all = realloc(all, (all_count + 1) * sizeof *all);
        if (!all) exit(2);
        memset(&all[all_count], 0, sizeof *all);
        counts *c = &all[all_count++];
        c->pid = channel->pid;
        c->tid = channel->tid;
        c->process = channel->process;
        c->thread = channel->thread;
        current[index] = all_count;
        if (channel->producer != FM_PRODUCER_COMPILER) complain("producer %u", channel->producer);
    }
    return &all[current[index] - 1];
}

static int child;

/* Returns whether anything was taken. */
static bool take_chunks(int index)
{
    fm_channel *channel = &session->channels[index];
    bool took = false;
    while (channel->taken != __atomic_load_n(&channel->sealed, __ATOMIC_ACQUIRE)) {
        if (stop_after && chunks >= stop_after) return took;
        uint32_t chunk = channel->taken % FM_RING_CHUNKS;
        take_words(counts_of(index), ring_of(index) + (size_t)chunk * FM_CHUNK_BYTES / 8,
                   channel->chunk_words[chunk]);
        __atomic_store_n(&channel->taken, channel->taken + 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&channel->producer_waits, __ATOMIC_SEQ_CST))
            syscall(SYS_futex, &channel->taken, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
        took = true;
        chunks++;
        if (detach_after && chunks == detach_after) session->order = FM_ORDER_DETACH;
        if (kill_after && chunks == kill_after) kill(child, SIGKILL);
        if (die_after && chunks == die_after) _exit(0);
    }
    return took;
}

static void take_rest(int index)
{
    fm_channel *channel = &session->channels[index];
    uint64_t start = channel->ring_address + (uint64_t)(channel->sealed % FM_RING_CHUNKS) * FM_CHUNK_BYTES;
    if (channel->cursor > start && channel->cursor <= start + FM_CHUNK_BYTES)
        take_words(counts_of(index),
                   ring_of(index) + (size_t)(channel->sealed % FM_RING_CHUNKS) * FM_CHUNK_BYTES / 8,
                   (channel->cursor - start) / 8);
}

static void free_channel(int index)
{
    fm_channel *channel = &session->channels[index];
    counts_of(index); /* those without a word count too */
    current[index] = 0;
    channel->sealed = channel->taken = 0;
    __atomic_store_n(&channel->state, FM_CHANNEL_FREE, __ATOMIC_RELEASE);
}

static bool take_all(void)
{
    bool took = false;
    for (int i = 0; i < FM_STREAM_CHANNELS; i++) {
        uint32_t state = __atomic_load_n(&session->channels[i].state, __ATOMIC_ACQUIRE);
        if (state != FM_CHANNEL_OPEN && state != FM_CHANNEL_CLOSED) continue;
        took |= take_chunks(i);
        if (state == FM_CHANNEL_CLOSED && !stop_after) {
            take_chunks(i);
            free_channel(i);
        }
    }
    return took;
}

static void print_counts(void)
{
    uint64_t references = 0, words = 0;
    for (size_t i = 0; i < all_count; i++) {
        const counts *c = &all[i];
        words += c->words;
        uint64_t load = 0, store = 0;
        for (int size = 0; size < 7; size++) load += c->load[size], store += c->store[size];
        references += load + store;
        if (fast) continue;
        printf("thread %u.%u words=%" PRIu64 " loads=%" PRIu64 " stores=%" PRIu64, c->process, c->thread,
               c->words, load, store);
        static const char *const names[] = {"1", "2", "4", "8", "16", "32", "n"};
        for (int size = 0; size < 7; size++)
            if (c->load[size]) printf(" load%s=%" PRIu64, names[size], c->load[size]);
        for (int size = 0; size < 7; size++)
            if (c->store[size]) printf(" store%s=%" PRIu64, names[size], c->store[size]);
        printf(" load-bytes=%" PRIu64 " store-bytes=%" PRIu64, c->load_bytes, c->store_bytes);
        printf(" sites=%zu", c->site_count);
        printf(" on-stack=%" PRIu64 " pages=%" PRIu64 " enters=%" PRIu64 " leaves=%" PRIu64, c->on_stack,
               c->pages, c->enters, c->leaves);
        printf(" allocs=%" PRIu64 " frees=%" PRIu64 " contexts=%" PRIu64 " regions=%" PRIu64
               " region-ends=%" PRIu64 " signals=%" PRIu64,
               c->allocs, c->frees, c->contexts, c->regions, c->region_ends, c->signals);
        printf(" starts=%" PRIu64 " ends=%" PRIu64 " stack=%d\n", c->thread_starts, c->thread_ends,
               c->stack_high > c->stack_low);
    }
    uint64_t load_bytes = 0, store_bytes = 0, loads = 0, stores = 0;
    for (size_t i = 0; i < all_count; i++) {
        load_bytes += all[i].load_bytes, store_bytes += all[i].store_bytes;
        for (int size = 0; size < 7; size++) loads += all[i].load[size], stores += all[i].store[size];
    }
    printf("sum loads=%" PRIu64 " stores=%" PRIu64 " load-bytes=%" PRIu64 " store-bytes=%" PRIu64 " \n",
           loads, stores, load_bytes, store_bytes);
    printf("total references=%" PRIu64 " words=%" PRIu64 " chunks=%" PRIu64 " channels=%zu refused=%u\n",
           references, words, chunks, all_count, session->refused);
}

static bool number_option(const char *argument, const char *name, uint64_t *value)
{
    size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0) return false;
    *value = strtoull(argument + length, NULL, 10);
    return true;
}

static void make_session(uint32_t wants)
{
    memory = memfd_create("fathom-session", MFD_CLOEXEC);
    off_t bytes = (off_t)FM_STREAM_RINGS_OFFSET + (off_t)FM_RING_BYTES * FM_STREAM_CHANNELS;
    if (memory < 0 || ftruncate(memory, bytes) != 0) {
        perror("drain_compiler: memfd");
        exit(2);
    }
    session = mmap(NULL, FM_STREAM_RINGS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (session == MAP_FAILED || flock(memory, LOCK_EX) != 0) {
        perror("drain_compiler: session");
        exit(2);
    }
    session->version = FM_STREAM_VERSION;
    session->wants = wants;
    session->receiver_pid = (uint32_t)getpid();
    session->processes = 1;
    session->magic = FM_STREAM_MAGIC;
}

static uint32_t parse_wants(const char *text)
{
    static const char *const names[] = {"loads", "stores", "sites", "calls", "heap", "children"};
    uint32_t wants = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        bool found = false;
        for (int i = 0; i < 6; i++)
            if (strlen(names[i]) == length && strncmp(names[i], text, length) == 0)
                wants |= 1U << i, found = true;
        if (!found) {
            fprintf(stderr, "drain_compiler: unknown want '%s'\n", text);
            exit(2);
        }
        text += length + (text[length] == ',');
    }
    return wants;
}

static void receive(void)
{
    int status = 0;
    bool child_ended = false;
    double stopped = 0;
    for (;;) {
        uint32_t wake = __atomic_load_n(&session->wake, __ATOMIC_SEQ_CST);
        bool took = take_all();
        if (took) continue;
        int one;
        pid_t ended;
        while ((ended = waitpid(-1, &one, WNOHANG)) > 0)
            if (ended == child) status = one, child_ended = true;
        if (ended < 0 && errno == ECHILD && child_ended) break;
        if (stop_after && chunks >= stop_after &&
            (stopped += 0.01) > 1.0) { /* nobody takes any more: end it */
            kill(child, SIGKILL);
            stop_after = 0;
        }
        __atomic_store_n(&session->receiver_waits, 1, __ATOMIC_SEQ_CST);
        const struct timespec most = {0, 10000000};
        if (__atomic_load_n(&session->wake, __ATOMIC_SEQ_CST) == wake)
            syscall(SYS_futex, &session->wake, FUTEX_WAIT, wake, &most, NULL, 0);
        __atomic_store_n(&session->receiver_waits, 0, __ATOMIC_SEQ_CST);
    }
    take_all();
    for (int i = 0; i < FM_STREAM_CHANNELS; i++) {
        uint32_t state = session->channels[i].state;
        if (state == FM_CHANNEL_OPEN) take_rest(i), counts_of(i);
        if (state == FM_CHANNEL_CLAIMED) complain("channel %d was claimed and not opened", i);
    }
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    double user = (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6;
    double kernel = (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6;
    printf("cpu %.3f user=%.3f kernel=%.3f\n", user + kernel, user, kernel);
    if (WIFEXITED(status)) printf("exited %d\n", WEXITSTATUS(status));
    if (WIFSIGNALED(status)) printf("killed %d\n", WTERMSIG(status));
}

int main(int argc, char **argv)
{
    uint32_t wants = FM_WANT_LOADS | FM_WANT_STORES;
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--wants=", 8) == 0)
            wants = parse_wants(argv[i] + 8);
        else if (strcmp(argv[i], "--dump") == 0)
            dump = true;
        else if (strcmp(argv[i], "--fast") == 0)
            fast = true;
        else if (strcmp(argv[i], "--region") == 0)
            region_only = true;
        else if (!number_option(argv[i], "--detach-after=", &detach_after) &&
                 !number_option(argv[i], "--die-after=", &die_after) &&
                 !number_option(argv[i], "--stop-after=", &stop_after) &&
                 !number_option(argv[i], "--kill-after=", &kill_after)) {
            fprintf(stderr, "drain_compiler: unknown option '%s'\n", argv[i]);
            return 2;
        }
    }
    if (i + 1 >= argc) {
        fprintf(stderr, "usage: drain_compiler [options] -- PROGRAM ARGUMENTS...\n");
        return 2;
    }
    make_session(wants);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), memory);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        setenv(FM_STREAM_ENVIRONMENT, path, 1);
        execvp(argv[i + 1], argv + i + 1);
        perror(argv[i + 1]);
        _exit(127);
    }
    receive();
    print_counts();
    if (faults) printf("%" PRIu64 " faults\n", faults);
    return faults ? 1 : 0;
}
