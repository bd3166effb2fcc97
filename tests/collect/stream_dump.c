/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_dump.c - the plainest receiver of collect/protocol.h: runs a program under the Valgrind tool, reads
 * every record, checks that the stream keeps its rules, and prints what it counted, one line for each fact.
 * It does not analyse, and shares no code with src/collect, so that each can be checked against the other.
 *
 *     stream_dump [options] --tool PATH -- PROGRAM ARGS…
 *
 *     --wants LIST        loads,stores,calls,heap,children,shared (default loads,stores)
 *     -v                  every record as text, on standard error
 *     --accesses FILE     every access: code address, kind (L, S), address, size
 *     --drain             take chunks without looking into them (for measuring the tool)
 *     --detach-after N    order DETACH after N chunks, and read on
 *     --vanish-after N    exit after N chunks without a word, while the program runs (its exit is not waited
 * for)
 *     --kill-after N      SIGKILL to the first process after N chunks
 *
 * Exit: 0 the stream was sound, 1 it was not (or could not be had), 2 wrong usage.
 */
#define _GNU_SOURCE
#include "collect/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MOST = 4096 };

typedef struct definition {
    uint64_t first;
    unsigned accesses, flags;
    uint64_t *access; /* as in DEFINE */
} definition;

typedef struct process {
    uint32_t pid;
    uint64_t serial, parent;
    char *path;
    uint64_t kinds[2], guarded_off, blocks, words, chunks;
    uint64_t records[32];
    definition *definitions;
    size_t definition_count;
    uint64_t threads[THREADS_MOST]; /* references of each */
    unsigned thread, depth;
    bool ended;
    int exit_code;
    bool closed;
    char *last_exec;
    uint64_t heap_live;
} process;

static struct {
    fm_session *session;
    uint8_t *rings; /* all of them, mapped */
    process *of[FM_STREAM_CHANNELS];
    FILE *accesses;
    bool verbose, drain;
    uint64_t chunks, total_words;
    unsigned long detach_after, vanish_after, kill_after;
    pid_t child;
} all;

static void fail(const char *what, uint64_t value)
{
    fprintf(stderr, "stream_dump: %s (%#" PRIx64 ")\n", what, value);
    if (all.child > 0) kill(all.child, SIGKILL);
    exit(1);
}

static void *grow(void *memory, size_t bytes)
{
    void *grown = realloc(memory, bytes);
    if (!grown) fail("out of memory", bytes);
    return grown;
}

static const char *text_of(const uint64_t *words, unsigned count)
{
    const char *text = (const char *)words;
    if (count == 0 || !memchr(text, 0, (size_t)count * 8)) fail("a text does not end", count);
    return text;
}

static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    if (!copy) fail("out of memory", strlen(text));
    return copy;
}

static const char *const names[32] = {
    [FM_RECORD_BLOCK] = "block",
    [FM_RECORD_DEFINE] = "define",
    [FM_RECORD_MODULE] = "module",
    [FM_RECORD_THREAD] = "thread",
    [FM_RECORD_THREAD_START] = "thread-start",
    [FM_RECORD_THREAD_END] = "thread-end",
    [FM_RECORD_HEAP_ALLOC] = "heap-alloc",
    [FM_RECORD_HEAP_FREE] = "heap-free",
    [FM_RECORD_CONTEXT] = "context",
    [FM_RECORD_REGION_BEGIN] = "region-begin",
    [FM_RECORD_REGION_END] = "region-end",
    [FM_RECORD_SIGNAL] = "signal",
    [FM_RECORD_SIGNAL_END] = "signal-end",
    [FM_RECORD_PROCESS] = "process",
    [FM_RECORD_EXEC] = "exec",
    [FM_RECORD_END] = "end",
    [FM_RECORD_NOTE] = "note",
    [FM_RECORD_LOST] = "lost",
    [FM_RECORD_THREAD_LOCAL] = "thread-local",
};

static void define(process *p, const uint64_t *words, unsigned count)
{
    size_t number = (uint32_t)words[0];
    if (count < 4) fail("a DEFINE is too short", count);
    if (number != p->definition_count) fail("blocks are not numbered in order", number);
    p->definitions = grow(p->definitions, (p->definition_count + 1) * sizeof *p->definitions);
    definition *d = &p->definitions[p->definition_count++];
    d->accesses = (unsigned)(words[0] >> 32) & 0xFFFF;
    d->flags = (unsigned)(words[0] >> 48);
    d->first = words[2];
    d->access = grow(NULL, (size_t)(count - 4) * 8 + 1);
    memcpy(d->access, words + 4, (size_t)(count - 4) * 8);
    unsigned shared = 0, own = 0;
    for (unsigned i = 0; i < d->accesses; i++) {
        unsigned kind = (unsigned)(d->access[i] >> 60) & 3, size = (unsigned)(d->access[i] >> 48) & 0xFFF;
        if (kind > 1 || size == 0) fail("an access is neither load nor store", d->access[i]);
        if (i % FM_BLOCK_EIGHT == 0) own = 0;
        if (!(d->access[i] & FM_DEFINE_SHARED))
            own++;
        else if (d->access[d->accesses + shared++] >> 16 >= own)
            fail("an access shares a word that there is not", words[0]);
    }
    if (d->accesses + shared != count - 4) fail("a DEFINE has another length than it says", words[0]);
}

/* Returns how many words belong to the block. */
static size_t block(process *p, const uint64_t *words, size_t count)
{
    size_t number = FM_RECORD_ARGUMENT(words[0]), at = 1;
    if (number == 0 || number >= p->definition_count) fail("a block was not defined", number);
    const definition *d = &p->definitions[number];
    p->blocks++;
    if (all.verbose) fprintf(stderr, "  block %zu", number);
    if (d->flags & FM_BLOCK_HAS_SP) {
        if (at >= count || words[at] >> 63) fail("a block has no stack pointer", number);
        if (all.verbose) fprintf(stderr, " sp=%#" PRIx64, words[at]);
        at++;
    }
    size_t eight = at; /* the first word of the eight accesses at hand */
    const uint64_t *shared = d->access + d->accesses;
    for (unsigned i = 0; i < d->accesses; i++) {
        unsigned kind = (unsigned)(d->access[i] >> 60) & 3, size = (unsigned)(d->access[i] >> 48) & 0xFFF;
        uint64_t address;
        if (i % FM_BLOCK_EIGHT == 0) eight = at;
        if (d->access[i] & FM_DEFINE_SHARED) {
            address = words[eight + (*shared >> 16)] + (uint64_t)(int16_t)(uint16_t)*shared;
            shared++;
        } else {
            if (at >= count || words[at] >> 63) break; /* it was left here */
            address = words[at++];
        }
        if (all.verbose) fprintf(stderr, " %c%#" PRIx64 ",%u", "LS"[kind], address, size);
        if (address == 0) {
            p->guarded_off++;
            continue;
        }
        p->kinds[kind]++;
        if (p->thread < THREADS_MOST) p->threads[p->thread]++;
        if (all.accesses)
            fprintf(all.accesses, "%" PRIx64 " %c %" PRIx64 ",%u\n", d->access[i] & 0xFFFFFFFFFFFF,
                    "LS"[kind], address, size);
    }
    if (all.verbose) fputc('\n', stderr);
    if (at < count && !(words[at] >> 63)) fail("a block has more words than accesses", number);
    return at;
}

static void show(const process *p, unsigned kind, uint64_t argument, const uint64_t *words, unsigned count)
{
    static const struct {
        int kind, text;
    } with_text[] = {{FM_RECORD_MODULE, 8},
                     {FM_RECORD_REGION_BEGIN, 0},
                     {FM_RECORD_PROCESS, 4},
                     {FM_RECORD_EXEC, 0},
                     {FM_RECORD_NOTE, 0}};
    unsigned plain = count;
    for (size_t i = 0; i < sizeof with_text / sizeof *with_text; i++)
        if ((int)kind == with_text[i].kind) plain = (unsigned)with_text[i].text;
    fprintf(stderr, "  [%u] %s %" PRIu64, p->pid, names[kind] ? names[kind] : "?", argument);
    for (unsigned i = 0; i < plain && i < count; i++) fprintf(stderr, " %#" PRIx64, words[i]);
    if (plain < count) fprintf(stderr, " \"%s\"", (const char *)(words + plain));
    fputc('\n', stderr);
}

static void record(process *p, uint64_t word, const uint64_t *words, unsigned count)
{
    unsigned kind = FM_RECORD_KIND(word);
    uint64_t argument = FM_RECORD_ARGUMENT(word);
    if (all.verbose) show(p, kind, argument, words, count);
    switch (kind) {
    case FM_RECORD_DEFINE:
        define(p, words, count);
        break;
    case FM_RECORD_THREAD:
        p->thread = (unsigned)argument;
        break;
    case FM_RECORD_PROCESS:
        p->parent = words[2];
        p->serial = words[3];
        p->path = copy_of(text_of(words + 4, count - 4));
        break;
    case FM_RECORD_EXEC:
        free(p->last_exec);
        p->last_exec = copy_of(text_of(words, count));
        break;
    case FM_RECORD_END:
        p->ended = true;
        p->exit_code = (int)argument;
        break;
    case FM_RECORD_NOTE:
        printf("process %" PRIu64 " note %" PRIu64 " %s\n", p->serial, argument, text_of(words, count));
        break;
    case FM_RECORD_REGION_BEGIN:
        printf("process %" PRIu64 " region %s at %" PRIu64 "\n", p->serial, text_of(words, count),
               p->kinds[0] + p->kinds[1]);
        break;
    case FM_RECORD_REGION_END:
        printf("process %" PRIu64 " region-end at %" PRIu64 "\n", p->serial, p->kinds[0] + p->kinds[1]);
        break;
    case FM_RECORD_HEAP_ALLOC:
        p->heap_live++;
        break;
    case FM_RECORD_HEAP_FREE:
        p->heap_live--;
        break;
    default:
        break;
    }
}

static void read_words(process *p, const uint64_t *words, size_t count)
{
    for (size_t at = 0; at < count;) {
        if (!(words[at] >> 63)) fail("there is a word where a record should begin", words[at]);
        unsigned kind = FM_RECORD_KIND(words[at]);
        if (kind >= 32 || !names[kind]) fail("there is no such record", words[at]);
        p->records[kind]++;
        if (kind == FM_RECORD_BLOCK) {
            at += block(p, words + at, count - at);
        } else {
            unsigned follow = FM_RECORD_WORDS(words[at]);
            if (at + 1 + follow > count) fail("a record crosses the chunk's end", words[at]);
            record(p, words[at], words + at + 1, follow);
            at += 1 + follow;
        }
    }
}

static process *new_process(const fm_channel *channel)
{
    process *p = calloc(1, sizeof *p);
    if (!p) fail("out of memory", 0);
    p->pid = channel->pid;
    p->definition_count = 1;
    p->definitions = grow(NULL, sizeof *p->definitions);
    return p;
}

static void report(process *p)
{
    uint64_t s = p->serial;
    printf("process %" PRIu64 " parent %" PRIu64 " path %s\n", s, p->parent, p->path ? p->path : "?");
    printf("process %" PRIu64 " loads %" PRIu64 " stores %" PRIu64 " off %" PRIu64 "\n", s, p->kinds[0],
           p->kinds[1], p->guarded_off);
    printf("process %" PRIu64 " words %" PRIu64 " chunks %" PRIu64 "\n", s, p->words, p->chunks);
    for (unsigned i = 0; i < 32; i++)
        if (p->records[i]) printf("process %" PRIu64 " %s %" PRIu64 "\n", s, names[i], p->records[i]);
    for (unsigned i = 0; i < THREADS_MOST; i++)
        if (p->threads[i])
            printf("process %" PRIu64 " thread-references %u %" PRIu64 "\n", s, i, p->threads[i]);
    if (p->last_exec) printf("process %" PRIu64 " executed %s\n", s, p->last_exec);
    if (p->ended) printf("process %" PRIu64 " exit-code %d\n", s, p->exit_code);
    printf("process %" PRIu64 " %s\n", s, p->closed ? "closed" : "left-open");
    for (size_t i = 1; i < p->definition_count; i++) free(p->definitions[i].access);
    free(p->definitions);
    free(p->path);
    free(p->last_exec);
    free(p);
}

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *most)
{
    return syscall(SYS_futex, word, operation, value, most, NULL, 0);
}

static void after_chunk(void)
{
    all.chunks++;
    if (all.vanish_after && all.chunks == all.vanish_after) _exit(0);
    if (all.detach_after && all.chunks == all.detach_after)
        __atomic_store_n(&all.session->order, FM_ORDER_DETACH, __ATOMIC_SEQ_CST);
    if (all.kill_after && all.chunks == all.kill_after) kill(all.child, SIGKILL);
}

/* Takes what there is; true when there was something. */
static bool take(unsigned at, bool final)
{
    fm_channel *channel = &all.session->channels[at];
    uint32_t state = __atomic_load_n(&channel->state, __ATOMIC_SEQ_CST);
    if (state < FM_CHANNEL_OPEN) return false;
    if (!all.of[at]) all.of[at] = new_process(channel);
    process *p = all.of[at];
    uint8_t *ring = all.rings + (size_t)at * FM_RING_BYTES;
    bool some = false;
    while (channel->taken != __atomic_load_n(&channel->sealed, __ATOMIC_ACQUIRE)) {
        uint32_t slot = channel->taken % FM_RING_CHUNKS, count = channel->chunk_words[slot];
        if (count == 0 || count >= FM_CHUNK_BYTES / 8) fail("a chunk has an odd length", count);
        if (!all.drain) read_words(p, (uint64_t *)(ring + (size_t)slot * FM_CHUNK_BYTES), count);
        p->words += count;
        p->chunks++;
        __atomic_store_n(&channel->taken, channel->taken + 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&channel->producer_waits, __ATOMIC_SEQ_CST))
            futex(&channel->taken, FUTEX_WAKE, 1, NULL);
        some = true;
        after_chunk();
    }
    if (final) { /* what was written but not sealed */
        uint64_t from = channel->ring_address + (uint64_t)(channel->sealed % FM_RING_CHUNKS) * FM_CHUNK_BYTES;
        if (channel->cursor > from && channel->cursor < from + FM_CHUNK_BYTES && state == FM_CHANNEL_OPEN) {
            size_t count = (channel->cursor - from) / 8;
            if (!all.drain) read_words(p, (uint64_t *)(ring + (from - channel->ring_address)), count);
            p->words += count;
        }
    }
    if (state == FM_CHANNEL_CLOSED || final) {
        p->closed = state == FM_CHANNEL_CLOSED;
        report(p);
        all.of[at] = NULL;
        channel->taken = channel->sealed = 0;
        madvise(ring, FM_RING_BYTES, MADV_REMOVE);
        __atomic_store_n(&channel->state, FM_CHANNEL_FREE, __ATOMIC_SEQ_CST);
        some = true;
    }
    return some;
}

static bool take_all(void)
{
    bool some = false;
    for (unsigned at = 0; at < FM_STREAM_CHANNELS; at++)
        if (all.session->channels[at].state >= FM_CHANNEL_OPEN) some |= take(at, false);
    return some;
}

/* Ends channels whose process is gone, or has become another program. */
static bool take_of_the_dead(bool *alive)
{
    bool some = false;
    *alive = false;
    for (unsigned at = 0; at < FM_STREAM_CHANNELS; at++) {
        fm_channel *channel = &all.session->channels[at];
        if (channel->state == FM_CHANNEL_FREE) continue;
        bool dead = kill((pid_t)channel->pid, 0) != 0 && errno == ESRCH;
        for (unsigned other = 0; !dead && other < FM_STREAM_CHANNELS; other++)
            dead = other != at && all.session->channels[other].state >= FM_CHANNEL_OPEN &&
                   all.session->channels[other].pid == channel->pid &&
                   all.session->channels[other].process > channel->process;
        if (dead)
            some |= take(at, true);
        else
            *alive = true;
    }
    return some;
}

static void start(const char *tool, char **command, int session_file)
{
    char session[64];
    snprintf(session, sizeof session, "--session=/proc/%d/fd/%d", (int)getpid(), session_file);
    size_t count = 0;
    while (command[count]) count++;
    char **arguments = grow(NULL, (count + 8) * sizeof *arguments);
    size_t n = 0;
    arguments[n++] = (char *)tool;
    arguments[n++] = "--tool=fathom";
    arguments[n++] = "--command-line-only=yes";
    arguments[n++] = "--quiet";
    arguments[n++] = session;
    arguments[n++] = "--";
    for (size_t i = 0; i <= count; i++) arguments[n++] = command[i];
    all.child = fork();
    if (all.child == 0) {
        execv(tool, arguments);
        perror(tool);
        _exit(126);
    }
    free(arguments);
    if (all.child < 0) fail("cannot fork", (uint64_t)errno);
}

static uint32_t wants_of(const char *list)
{
    static const char *const words[] = {"loads", "stores", "sites", "calls", "heap", "children", "shared"};
    enum { WORDS = sizeof words / sizeof *words };
    uint32_t wants = 0;
    while (*list) {
        size_t length = strcspn(list, ","), i = 0;
        while (i < WORDS && (strlen(words[i]) != length || strncmp(words[i], list, length) != 0)) i++;
        if (i == WORDS) {
            fprintf(stderr, "stream_dump: no such want: %s\n", list);
            exit(2);
        }
        wants |= 1U << i;
        list += length + (list[length] == ',');
    }
    return wants;
}

int main(int argc, char **argv)
{
    const char *tool = NULL, *wants = "loads,stores";
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        const char *option = argv[at];
        if (strcmp(option, "-v") == 0) {
            all.verbose = true;
            continue;
        }
        if (strcmp(option, "--drain") == 0) {
            all.drain = true;
            continue;
        }
        const char *value = at + 1 < argc ? argv[++at] : "";
        if (strcmp(option, "--tool") == 0)
            tool = value;
        else if (strcmp(option, "--wants") == 0)
            wants = value;
        else if (strcmp(option, "--accesses") == 0)
            all.accesses = fopen(value, "w");
        else if (strcmp(option, "--detach-after") == 0)
            all.detach_after = strtoul(value, NULL, 10);
        else if (strcmp(option, "--vanish-after") == 0)
            all.vanish_after = strtoul(value, NULL, 10);
        else if (strcmp(option, "--kill-after") == 0)
            all.kill_after = strtoul(value, NULL, 10);
        else
            at = argc;
    }
    if (!tool || at + 1 >= argc) {
        fprintf(stderr, "usage: stream_dump [options] --tool PATH -- PROGRAM ARGS...\n");
        return 2;
    }
    size_t bytes = FM_STREAM_RINGS_OFFSET + (size_t)FM_STREAM_CHANNELS * FM_RING_BYTES;
    int file = memfd_create("fathom-session", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0 || flock(file, LOCK_EX) != 0)
        fail("no session", (uint64_t)errno);
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fail("cannot map the session", (uint64_t)errno);
    all.session = (fm_session *)memory;
    all.rings = memory + FM_STREAM_RINGS_OFFSET;
    all.session->magic = FM_STREAM_MAGIC;
    all.session->version = FM_STREAM_VERSION;
    all.session->wants = wants_of(wants);
    all.session->receiver_pid = (uint32_t)getpid();
    all.session->processes = 1;
    start(tool, argv + at + 1, file);

    bool child_ended = false;
    int status = 0;
    struct rusage used = {0};
    for (;;) {
        uint32_t wake = __atomic_load_n(&all.session->wake, __ATOMIC_SEQ_CST);
        if (take_all()) continue;
        if (!child_ended && wait4(all.child, &status, WNOHANG, &used) == all.child) child_ended = true;
        bool alive;
        if (take_of_the_dead(&alive)) continue;
        if (child_ended && !alive) break;
        __atomic_store_n(&all.session->receiver_waits, 1, __ATOMIC_SEQ_CST);
        struct timespec most = {0, 10 * 1000 * 1000};
        futex(&all.session->wake, FUTEX_WAIT, wake, &most);
        __atomic_store_n(&all.session->receiver_waits, 0, __ATOMIC_SEQ_CST);
    }
    if (WIFSIGNALED(status))
        printf("status signal %d\n", WTERMSIG(status));
    else
        printf("status exit %d\n", WEXITSTATUS(status));
    printf("cpu %.3f user %.3f system\n", (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6,
           (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6);
    if (all.session->refused) printf("refused %u\n", all.session->refused);
    if (all.accesses && fclose(all.accesses) != 0) fail("cannot write the accesses", (uint64_t)errno);
    return 0;
}
