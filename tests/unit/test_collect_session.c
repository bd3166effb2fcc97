/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collect_session.c - whole collections, with this program itself as what is collected from: it is
 * started with
 * `--produce SCENARIO` and writes a stream. Merging, partial chunks, ends of all kinds, limits, damage,
 * signals.
 */
#define _GNU_SOURCE
#include "case.h"

#include <stdint.h>

#include "unit/synthetic_producer.h"

#include <fathom/collect.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- what the program plays ---- */

static producer main_channel(void)
{
    producer self;
    producer_claim(&self, FM_PRODUCER_COMPILER, 0, 1);
    producer_begin(&self, 0, "/played/program");
    return self;
}

/* Loads of the numbers [from, to). */
static void numbers(producer *self, uint64_t from, uint64_t to)
{
    for (; from < to; from++) producer_word(self, FM_ACCESS_WORD(from, FM_ACCESS_LOAD_8, 0));
}

static void play_counting(uint64_t count, int code)
{
    producer self = main_channel();
    numbers(&self, 0, count);
    producer_word(&self, FM_RECORD(FM_RECORD_END, (unsigned)code, 0));
    producer_close(&self);
    exit(code);
}

/* Three threads take turns of one chunk each; every chunk holds its place in the order. */
static void play_turns(void)
{
    producer self[3];
    self[0] = main_channel();
    for (uint32_t i = 1; i < 3; i++)
        producer_claim(&self[i], FM_PRODUCER_COMPILER, self[0].channel->process, i + 1);
    uint64_t turn = 0;
    for (int round = 0; round < 200; round++)
        for (int i = 0; i < 3; i++, turn++) {
            numbers(&self[(i + round) % 3], turn * 100, turn * 100 + 50);
            producer_seal(&self[(i + round) % 3]);
        }
    for (int i = 0; i < 3; i++) producer_close(&self[i]);
    exit(0);
}

/* Threads of different speed, each with its own numbers, in order. Most never close their channel. */
static void *play_thread(void *number)
{
    producer self;
    uint64_t which = (uint64_t)(uintptr_t)number;
    producer_claim(&self, FM_PRODUCER_COMPILER, (uint32_t)(which >> 32), (uint32_t)which);
    which &= 0xFFFFFFFF;
    numbers(&self, which << 24, (which << 24) + which * 1000);
    if (which % 4 == 0) producer_close(&self);
    return NULL;
}

static void play_threads(unsigned count)
{
    producer self = main_channel();
    pthread_t threads[64];
    for (uint64_t i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, play_thread,
                       (void *)(uintptr_t)((uint64_t)self.channel->process << 32 | (i + 2)));
    for (uint64_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    _exit(0);
}

static void play_damage(const char *which)
{
    producer self = main_channel();
    fm_channel *channel = self.channel;
    numbers(&self, 0, 1000);
    producer_seal(&self);
    if (strcmp(which, "cursor") == 0) {
        channel->cursor = 12345;
        raise(SIGKILL);
    }
    if (strcmp(which, "words") == 0) { /* a chunk larger than a chunk */
        numbers(&self, 1000, 1100);
        uint32_t slot = channel->sealed % FM_RING_CHUNKS;
        channel->chunk_words[slot] = UINT32_MAX;
        channel->chunk_sequence[slot] = __atomic_fetch_add(&self.session->sequence, 1, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&channel->sealed, 1, __ATOMIC_SEQ_CST);
        producer_chunk(&self);
        numbers(&self, 2000, 2100);
    }
    if (strcmp(which, "sealed") == 0) { /* more chunks than there are, when what was before has been taken */
        for (int naps = 0; naps < 30000 && __atomic_load_n(&channel->taken, __ATOMIC_SEQ_CST) !=
                                               __atomic_load_n(&channel->sealed, __ATOMIC_SEQ_CST);
             naps++)
            usleep(1000);
        __atomic_add_fetch(&channel->sealed, 5000, __ATOMIC_SEQ_CST);
        producer_wake(&self);
        usleep(300000);
        producer_chunk(&self);
        numbers(&self, 2000, 2100);
    }
    if (strcmp(which, "sequence") == 0) { /* numbers of the order that make no sense */
        for (uint64_t i = 0; i < 20; i++) {
            self.session->sequence = i % 2 ? UINT64_MAX - 1 : 5000000;
            numbers(&self, 1000 + i, 1001 + i);
            producer_seal(&self);
        }
    }
    if (strcmp(which, "gap") == 0) { /* a number that was taken, and whose chunk never comes */
        producer other;
        producer_claim(&other, FM_PRODUCER_COMPILER, channel->process, 2);
        __atomic_add_fetch(&self.session->sequence, 1, __ATOMIC_SEQ_CST);
        producer_close(&other);
        numbers(&self, 1000, 1100);
        producer_seal(&self);
        numbers(&self, 1100, 1200);
    }
    if (strcmp(which, "text") == 0) { /* a module without an end */
        uint64_t words[1000];
        memset(words, 'x', sizeof words);
        words[0] = FM_RECORD(FM_RECORD_MODULE, 0, 999);
        producer_put(&self, words, 1000);
        numbers(&self, 2000, 2100);
    }
    if (strcmp(which, "record") == 0) { /* the rest of the chunk is lost */
        numbers(&self, 1000, 1100);
        producer_word(&self, FM_RECORD(77, 0, 0));
        numbers(&self, 1100, 1200);
        producer_seal(&self);
        numbers(&self, 2000, 2100);
    }
    if (strcmp(which, "lost") == 0) producer_word(&self, FM_RECORD(FM_RECORD_LOST, 42, 0));
    if (strcmp(which, "refused") == 0) __atomic_add_fetch(&self.session->refused, 1, __ATOMIC_SEQ_CST);
    if (strcmp(which, "thread") == 0) {
        producer other;
        producer_claim(&other, FM_PRODUCER_COMPILER, channel->process, UINT32_MAX);
        numbers(&other, 2000, 2100);
        producer_close(&other);
    }
    if (strcmp(which, "channel") == 0) { /* one that says nothing about itself */
        producer other;
        producer_claim(&other, 99, 0, 0);
        usleep(200000);
    }
    producer_close(&self);
    exit(0);
}

static void play_fork(void)
{
    producer self = main_channel();
    numbers(&self, 0, 10);
    uint32_t serial = self.channel->process;
    producer_seal(&self);
    pid_t child = fork();
    if (child == 0) {
        producer mine;
        producer_claim(&mine, FM_PRODUCER_COMPILER, 0, 1);
        producer_begin(&mine, serial, "/played/program");
        numbers(&mine, 100, 120);
        uint32_t parent = mine.channel->process; /* the channel may soon be another's */
        pid_t grandchild = fork();
        if (grandchild == 0) { /* an orphan that outlives all others, and is killed */
            producer last;
            usleep(100000);
            producer_claim(&last, FM_PRODUCER_COMPILER, 0, 1);
            producer_begin(&last, parent, "/played/program");
            numbers(&last, 200, 230);
            usleep(200000);
            raise(SIGKILL);
        }
        producer_word(&mine, FM_RECORD(FM_RECORD_END, 7, 0));
        _exit(7);
    }
    waitpid(child, NULL, 0);
    numbers(&self, 10, 20);
    exit(1);
}

static void play_exec(void)
{
    producer self = main_channel();
    numbers(&self, 0, 10);
    producer_text(&self, FM_RECORD_EXEC, 0, NULL, 0, "/nowhere"); /* fails */
    numbers(&self, 10, 20);
    producer_text(&self, FM_RECORD_EXEC, 0, NULL, 0, "/proc/self/exe");
    execl("/proc/self/exe", "again", "--produce", "counting", NULL);
    exit(99);
}

/* A child that became another program, and whose end comes before anything that it told; seen in either
 * order. */
static void play_quick_exec(bool other_order)
{
    producer self = main_channel(), first, second;
    int status;
    pid_t child = fork();
    if (child == 0) _exit(7);
    waitpid(child, &status, 0);
    producer_pid = (uint32_t)child;
    uint32_t serial = __atomic_fetch_add(&self.session->processes, 2, __ATOMIC_SEQ_CST);
    if (other_order) producer_claim(&second, FM_PRODUCER_COMPILER, serial + 1, 1);
    producer_claim(&first, FM_PRODUCER_COMPILER, serial, 1);
    if (!other_order) producer_claim(&second, FM_PRODUCER_COMPILER, serial + 1, 1);
    producer_begin(&first, self.channel->process, "/played/program");
    numbers(&first, 100, 110);
    producer_text(&first, FM_RECORD_EXEC, 0, NULL, 0, "/played/other");
    producer_begin(&second, 0, "/played/other");
    numbers(&second, 200, 220);
    producer_word(&second, FM_RECORD(FM_RECORD_END, 7, 0));
    /* Closing shows a channel. A process that is over has shown all of its own: the first program must not be
     * seen to its end while the second one is still to come. */
    producer_close(&second);
    producer_close(&first);
    exit(1);
}

/* A process that was three programs, which are seen in this order. */
static void play_execs(const char *order)
{
    producer self[3];
    int file;
    uint32_t serial = __atomic_fetch_add(&producer_session(&file)->processes, 3, __ATOMIC_SEQ_CST);
    producer_pid = (uint32_t)getpid();
    for (int i = 0; i < 3; i++) {
        uint32_t which = (uint32_t)(order[i] - '0');
        char path[] = "/played/0";
        path[8] = order[i];
        producer_claim(&self[i], FM_PRODUCER_COMPILER, serial + which, 1);
        producer_begin(&self[i], 0, path);
        numbers(&self[i], 0, 10 * (which + 1));
        if (which < 2) producer_text(&self[i], FM_RECORD_EXEC, 0, NULL, 0, "/played/told");
    }
    for (int i = 0; i < 3; i++) producer_close(&self[i]);
    exit(4);
}

/* A command line behind the program's path; `count` of the three that are there, or more. */
static void play_arguments(uint64_t count)
{
    producer self;
    producer_claim(&self, FM_PRODUCER_COMPILER, 0, 1);
    static const char text[24] = "/p\0name\0\0x y"; /* a path, three arguments */
    uint64_t words[8] = {FM_RECORD(FM_RECORD_PROCESS, count, 7), self.channel->pid, (uint64_t)getppid(), 0,
                         self.channel->process};
    memcpy(words + 5, text, sizeof text);
    producer_put(&self, words, 8);
    numbers(&self, 0, 10);
    producer_close(&self);
    exit(0);
}

/* A process under Valgrind with one block of one access, `count` times; the last word tells how it ends. */
static void play_valgrind(int count, uint64_t last, int code)
{
    producer self;
    producer_claim(&self, FM_PRODUCER_VALGRIND, 0, 1);
    producer_begin(&self, 0, "/played/program");
    const uint64_t define[6] = {FM_RECORD(FM_RECORD_DEFINE, 0, 5), 1 | UINT64_C(1) << 32, 0, 0x400000, 0,
                                0x400000 | UINT64_C(8) << 48};
    const uint64_t block[2] = {FM_RECORD(FM_RECORD_BLOCK, 1, 0), 0x1000};
    producer_put(&self, define, 6);
    for (int i = 0; i < count; i++) producer_put(&self, block, 2);
    if (last) producer_word(&self, last);
    producer_seal(&self);
    _exit(code);
}

/* A module at 0x400000 that is nowhere else, another that is not instrumented; two calls deep, one of them of
 * malloc. */
static void play_described(void)
{
    producer self = main_channel();
    const uint64_t program[8] = {1 | (uint64_t)(FM_MODULE_INSTRUMENTED | FM_MODULE_PROGRAM) << 32,
                                 0x400000,
                                 0x400000,
                                 0x410000,
                                 0x500000,
                                 0x501000};
    const uint64_t library[8] = {2, 0x700000, 0x700000, 0x710000};
    const uint64_t enter[4] = {FM_RECORD(FM_RECORD_ENTER, 0, 3), 0x400200, 0x400106, 0x7000};
    const uint64_t context[4] = {FM_RECORD(FM_RECORD_CONTEXT, 0, 3), 1, 0x400306, 0x400106};
    const uint64_t allocated[4] = {FM_RECORD(FM_RECORD_HEAP_ALLOC, 0, 3), 0x900000, 64, 1};
    producer_text(&self, FM_RECORD_MODULE, 0, program, 8, "/played/program");
    producer_text(&self, FM_RECORD_MODULE, 0, library, 8, "/played/library.so");
    producer_put(&self, context, 4);
    producer_put(&self, allocated, 4);
    producer_word(&self, FM_RECORD(FM_RECORD_PAGE, 0x400, 0));
    producer_word(&self, FM_ACCESS_WORD(0x900000, FM_ACCESS_STORE_8, 0x411));
    producer_put(&self, enter, 4);
    producer_word(&self, FM_ACCESS_WORD(0x900008, FM_ACCESS_LOAD_8, 0x411));
    producer_word(&self, FM_ACCESS_WORD(0x500010, FM_ACCESS_LOAD_8, 0x421));
    producer_word(&self, FM_RECORD(FM_RECORD_LEAVE, 0, 0));
    producer_word(&self, FM_ACCESS_WORD(0x900000, FM_ACCESS_LOAD_8, 0x411));
    producer_close(&self);
    exit(0);
}

/* Notes that come again, end like another, hold nothing or two lines. */
static void play_noting(void)
{
    static const char *const notes[] = {"one", "two", "one", "two",  "two", "lone",
                                        "one", "",    "",    "1\n2", "1\n2"};
    producer self = main_channel();
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        producer_text(&self, FM_RECORD_NOTE, FM_NOTE_TEXT, NULL, 0, notes[i]);
    producer_close(&self);
    exit(0);
}

static int play(const char *scenario)
{
    static const char damage[] = "damage-";
    if (strncmp(scenario, damage, sizeof damage - 1) == 0) play_damage(scenario + sizeof damage - 1);
    if (strcmp(scenario, "counting") == 0) play_counting(1000000, 3);
    if (strcmp(scenario, "few") == 0) play_counting(10, 0);
    if (strcmp(scenario, "turns") == 0) play_turns();
    if (strcmp(scenario, "threads") == 0) play_threads(60);
    if (strcmp(scenario, "fork") == 0) play_fork();
    if (strcmp(scenario, "exec") == 0) play_exec();
    if (strcmp(scenario, "described") == 0) play_described();
    if (strcmp(scenario, "noting") == 0) play_noting();
    if (strcmp(scenario, "quick-exec") == 0) play_quick_exec(false);
    if (strcmp(scenario, "quick-exec-other-order") == 0) play_quick_exec(true);
    if (strncmp(scenario, "execs-", 6) == 0) play_execs(scenario + 6);
    if (strcmp(scenario, "arguments") == 0) play_arguments(3);
    if (strcmp(scenario, "arguments-cut") == 0) play_arguments(2 | FM_PROCESS_MORE_ARGUMENTS);
    if (strcmp(scenario, "arguments-wrong") == 0) play_arguments(UINT32_MAX);
    if (strcmp(scenario, "own-end") == 0) play_valgrind(10, FM_RECORD(FM_RECORD_END, 1, 0), 1);
    if (strcmp(scenario, "no-end") == 0) play_valgrind(10, 0, 1);
    if (strcmp(scenario, "gave-up") == 0)
        play_valgrind(10, FM_RECORD(FM_RECORD_NOTE, FM_NOTE_GAVE_UP, 0), 101);
    if (strcmp(scenario, "never-ran") == 0) play_valgrind(0, 0, 1);
    if (strcmp(scenario, "nothing") == 0) return 17;
    producer self = main_channel();
    numbers(&self, 0, 5000);
    if (strcmp(scenario, "killed") == 0) raise(SIGKILL);
    if (strcmp(scenario, "crashed") == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own */
        raise(SIGSEGV);
    }
    if (strcmp(scenario, "interrupting") == 0) { /* the receiver passes on what is sent to it alone */
        usleep(50000);
        kill(getppid(), SIGTERM);
        sleep(30);
    }
    if (strcmp(scenario, "stubborn") == 0) {
        sigset_t interrupt;
        int number;
        sigemptyset(&interrupt);
        sigaddset(&interrupt, SIGINT);
        sigprocmask(SIG_BLOCK, &interrupt, NULL);
        kill(getppid(), SIGINT);
        sigwait(&interrupt, &number); /* it was taken, and passed on */
        kill(getppid(), SIGINT);
        sleep(30);
    }
    if (strcmp(scenario, "endless") == 0)
        for (;;) {
            numbers(&self, 0, 100);
            if (__atomic_load_n(&self.session->order, __ATOMIC_SEQ_CST) == FM_ORDER_DETACH) {
                producer_close(&self);
                sleep(30);
            }
        }
    if (strcmp(scenario, "running-on") == 0) { /* stops to write when told to, and ends later */
        while (__atomic_load_n(&self.session->order, __ATOMIC_SEQ_CST) != FM_ORDER_DETACH)
            numbers(&self, 0, 100);
        producer_close(&self);
        usleep(200000);
        return 5;
    }
    return 2;
}

/* ---- what is collected ---- */

enum { ADDRESSES = 3000000, PROCESSES = 8 };
typedef struct result {
    fm_status status;
    fm_error error;
    size_t count, batches, announced;
    uint64_t *addresses;
    uint32_t *threads;
    uint64_t by_process[PROCESSES];
    uint64_t thread_next[80]; /* of thread i: how many came, in order */
    size_t process_count;
    fm_collected_process processes[PROCESSES];
    char missing[PROCESSES][256];
    char arguments[200]; /* of the first process, each in brackets */
    char became[PROCESSES][32];
    fm_collection_state state;
    char notes[1000];
    double seconds;
} result;

static char *command[] = {"/proc/self/exe", "--produce", NULL, NULL};
static char own_path[4096];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void collect_with(const char *scenario, fm_collect_options options, result *got)
{
    command[0] = own_path;
    command[2] = (char *)(uintptr_t)scenario;
    options.command = command;
    if (!options.columns) options.columns = FM_COLUMN_SIZE | FM_COLUMN_THREAD;
    free(got->addresses);
    free(got->threads);
    *got = (result){.addresses = malloc(ADDRESSES * 8), .threads = malloc(ADDRESSES * 4)};
    fm_collection *collection;
    fm_collected collected;
    double begin = now();
    got->status = fm_collection_start(&collection, &options, &got->error);
    if (got->status != FM_OK) {
        assert_null(collection);
        return;
    }
    do {
        got->status = fm_collection_next(collection, &collected, &got->error);
        if (got->status != FM_OK) break;
        if (collected.event == FM_COLLECTED_PROCESS) assert_int_equal(collected.process, got->announced++);
        if (collected.event != FM_COLLECTED_REFERENCES) continue;
        const fm_batch *batch = &collected.batch;
        assert_in_range(batch->count, 1, FM_BATCH_MAX);
        assert_true(collected.process < got->announced && collected.process < PROCESSES);
        bool fits = got->count + batch->count <= ADDRESSES; /* what is endless does not */
        if (fits) memcpy(got->addresses + got->count, batch->address, batch->count * 8);
        for (size_t i = 0; i < batch->count; i++) {
            assert_int_equal(batch->thread[i], collected.thread);
            if (fits) got->threads[got->count + i] = collected.thread;
        }
        got->count += batch->count;
        got->batches++;
        got->by_process[collected.process] += batch->count;
    } while (collected.event != FM_COLLECTED_END);
    got->seconds = now() - begin;
    got->process_count = fm_collection_processes(collection);
    for (size_t i = 0; i < got->process_count && i < PROCESSES; i++) {
        fm_collected_process *process = &got->processes[i];
        fm_collection_process(collection, i, process);
        if (process->what_missing)
            snprintf(got->missing[i], sizeof got->missing[i], "%s", process->what_missing);
        if (got->status == FM_OK) assert_int_equal(process->references, got->by_process[i]);
        snprintf(got->became[i], sizeof got->became[i], "%s", process->became ? process->became : "");
        for (char *const *at = process->arguments; at && *at && i == 0; at++) {
            size_t used = strlen(got->arguments);
            snprintf(got->arguments + used, sizeof got->arguments - used, "[%s]", *at);
        }
    }
    fm_collection_state_get(collection, &got->state);
    snprintf(got->notes, sizeof got->notes, "%s", got->state.notes);
    assert_true(got->status != FM_OK || got->state.references == got->count);
    fm_collection_close(collection);
}

static result got;

static void collect(const char *scenario)
{
    collect_with(scenario, (fm_collect_options){.signals = true}, &got);
}

static void expect_numbers(uint64_t from, uint64_t to)
{
    assert_int_equal(got.count, to - from);
    for (uint64_t i = 0; i < to - from; i++) assert_int_equal(got.addresses[i], from + i);
}

static int forget(void **state)
{
    (void)state;
    free(got.addresses);
    free(got.threads);
    got.addresses = NULL;
    got.threads = NULL;
    return 0;
}

CASE(counts_through_the_ring)
{
    collect("counting"); /* half of a ring's chunks seven times over */
    assert_int_equal(got.status, FM_OK);
    expect_numbers(0, 1000000);
    assert_int_equal(got.process_count, 1);
    const fm_collected_process *process = &got.processes[0];
    assert_int_equal(process->parent, FM_NONE);
    assert_true(process->ended && process->complete && !process->what_missing && process->exit_code == 3);
    assert_int_equal(got.state.collector, FM_COLLECTOR_COMPILER);
    assert_true(got.batches >= 1000000 / FM_BATCH_MAX);
}

CASE(chunks_are_merged_in_order)
{
    collect("turns");
    assert_int_equal(got.status, FM_OK);
    assert_int_equal(got.count, 600 * 50);
    for (uint64_t i = 0; i < got.count; i++) {
        assert_int_equal(got.addresses[i], i / 50 * 100 + i % 50);
        assert_int_equal(got.threads[i], (i / 50 % 3 + i / 150) % 3 + 1);
    }
    assert_int_equal(got.processes[0].threads, 3);
    assert_non_null(strstr(got.notes, "interleaving"));
}

/* Every thread's references arrive in its order, also of those that never closed their channel. */
CASE(many_threads)
{
    collect("threads");
    assert_int_equal(got.status, FM_OK);
    uint64_t next[64] = {0};
    for (size_t i = 0; i < got.count; i++) {
        uint64_t which = got.threads[i];
        assert_int_equal(got.addresses[i], (which << 24) + next[which]++);
    }
    for (uint64_t which = 2; which < 62; which++) assert_int_equal(next[which], which * 1000);
    assert_true(got.processes[0].complete);
    assert_int_equal(got.processes[0].threads, 61);
}

CASE(killed_with_a_chunk_begun)
{
    collect("killed");
    assert_int_equal(got.status, FM_OK);
    expect_numbers(0, 5000);
    assert_true(got.processes[0].ended && got.processes[0].signal == SIGKILL && !got.processes[0].complete);
    assert_string_equal(got.missing[0], "killed by SIGKILL before its end");
    collect("crashed"); /* its own doing: everything that it did is there */
    expect_numbers(0, 5000);
    assert_true(got.processes[0].signal == SIGSEGV && got.processes[0].complete);
}

CASE(damage)
{
    static const struct {
        const char *scenario, *missing;
        uint64_t least; /* numbers from 0 that come */
        bool more;      /* and those from 2000 to 2099 */
    } table[] = {
        {"damage-cursor", "damaged", 1000, false},   {"damage-words", "damaged", 1000, true},
        {"damage-sealed", "damaged", 1000, false},   {"damage-sequence", NULL, 1020, false},
        {"damage-gap", NULL, 1200, false},           {"damage-text", NULL, 1000, true},
        {"damage-record", "kind 77", 1100, true},    {"damage-lost", "42 references", 1000, false},
        {"damage-refused", "channels", 1000, false}, {"damage-thread", "4294967295", 1000, true},
        {"damage-channel", NULL, 1000, false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        collect(table[i].scenario);
        assert_int_equal(got.status, FM_OK);
        assert_true(got.count >= table[i].least);
        for (uint64_t k = 0; k < table[i].least; k++) assert_int_equal(got.addresses[k], k);
        uint64_t more = 0;
        for (size_t k = table[i].least; k < got.count; k++) more += got.addresses[k] == 2000 + more;
        if (table[i].more) assert_int_equal(more, 100);
        if (table[i].missing ? !strstr(got.missing[0], table[i].missing) : !got.processes[0].complete)
            fail_msg("%s: %s", table[i].scenario, got.missing[0]);
        assert_true(got.processes[0].complete == !table[i].missing);
    }
}

CASE(command_lines)
{
    collect("few"); /* tells none */
    assert_string_equal(got.arguments, "");
    assert_false(got.processes[0].more_arguments);
    collect("arguments");
    assert_string_equal(got.arguments, "[name][][x y]");
    assert_false(got.processes[0].more_arguments);
    collect("arguments-cut");
    assert_string_equal(got.arguments, "[name][]");
    assert_true(got.processes[0].more_arguments);
    collect("arguments-wrong"); /* what is padding may look like arguments, but nothing behind it does */
    assert_int_equal(strncmp(got.arguments, "[name][][x y]", 13), 0);
    assert_true(got.processes[0].more_arguments && got.count == 10);
}

/* Under Valgrind an exit status may be Valgrind's own: only what the tool tells is the program's end. */
CASE(ends_under_valgrind)
{
    collect("own-end");
    assert_int_equal(got.status, FM_OK);
    assert_int_equal(got.count, 10);
    assert_true(got.processes[0].complete && got.processes[0].ended && got.processes[0].exit_code == 1);
    static const char *const others[] = {"no-end", "gave-up"};
    for (size_t i = 0; i < 2; i++) {
        collect(others[i]);
        assert_int_equal(got.status, FM_OK);
        assert_int_equal(got.count, 10);
        const fm_collected_process *process = &got.processes[0];
        assert_true(!process->complete && !process->ended && process->given_up);
        assert_non_null(strstr(got.missing[0], i ? "exit code 101" : "exit code 1,"));
    }
    collect("never-ran");
    assert_int_equal(got.status, FM_E_IO);
    assert_non_null(strstr(got.error.reason, "exit code 1 before it made a reference"));
}

CASE(children)
{
    collect_with("fork", (fm_collect_options){.follow_children = true}, &got);
    assert_int_equal(got.status, FM_OK);
    assert_int_equal(got.process_count, 3);
    const fm_collected_process *all = got.processes;
    assert_int_equal(all[0].references, 20);
    assert_int_equal(all[1].references, 20);
    assert_int_equal(all[2].references, 30);
    assert_int_equal(all[1].parent, 0);
    assert_int_equal(all[2].parent, 1);
    assert_false(all[1].by_exec || all[2].by_exec);
    assert_true(all[0].complete && all[0].exit_code == 1);
    assert_true(all[1].complete && all[1].ended && all[1].exit_code == 7);
    assert_true(!all[2].complete && all[2].ended && all[2].signal == SIGKILL);
}

CASE(another_program)
{
    collect_with("exec", (fm_collect_options){.follow_children = true}, &got);
    assert_int_equal(got.status, FM_OK);
    assert_int_equal(got.process_count, 2);
    const fm_collected_process *all = got.processes;
    assert_int_equal(all[0].pid, all[1].pid);
    assert_true(all[1].by_exec && all[1].parent == 0);
    assert_int_equal(all[0].references, 20);
    assert_true(all[0].complete && !all[0].ended);
    assert_string_equal(got.became[0], "/played/program");
    assert_string_equal(got.became[1], "");
    assert_int_equal(all[1].references, 1000000);
    assert_true(all[1].complete && all[1].exit_code == 3);
}

CASE(another_program_that_was_over)
{
    static const char *const scenarios[] = {"quick-exec", "quick-exec-other-order"};
    for (int i = 0; i < 2; i++) {
        collect_with(scenarios[i], (fm_collect_options){.follow_children = true}, &got);
        assert_int_equal(got.status, FM_OK);
        assert_int_equal(got.process_count, 3);
        const fm_collected_process *before = NULL, *after = NULL;
        for (size_t k = 1; k < 3; k++)
            *(got.processes[k].references == 10 ? &before : &after) = &got.processes[k];
        assert_true(before && after && before->pid == after->pid);
        assert_true(!before->by_exec && before->complete && !before->ended);
        assert_true(after->by_exec && after->parent == (uint32_t)(before - got.processes));
        assert_true(after->complete && after->ended && after->exit_code == 7);
    }
}

/* Each became the next, in whatever order they were seen. */
CASE(several_programs_in_any_order)
{
    static const char *const orders[] = {"execs-012", "execs-021", "execs-102",
                                         "execs-120", "execs-201", "execs-210"};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        collect_with(orders[i], (fm_collect_options){.follow_children = true}, &got);
        assert_int_equal(got.status, FM_OK);
        assert_int_equal(got.process_count, 3);
        uint32_t at[3];
        for (uint32_t k = 0; k < 3; k++) at[got.processes[k].references / 10 - 1] = k;
        for (uint32_t k = 0; k < 3; k++) {
            const fm_collected_process *process = &got.processes[at[k]];
            assert_int_equal(process->by_exec, k > 0);
            assert_int_equal(process->parent, k > 0 ? at[k - 1] : FM_NONE);
            assert_string_equal(got.became[at[k]], k == 0 ? "/played/1" : k == 1 ? "/played/2" : "");
            assert_true(process->complete && process->ended == (k == 2));
        }
        assert_int_equal(got.processes[at[2]].exit_code, 4);
    }
}

/* With a limit of time; a longer one where the machine was too busy to start the program within it. */
static void collect_within(double seconds, const char *scenario, fm_collect_options options)
{
    do {
        options.limit_seconds = seconds;
        collect_with(scenario, options, &got);
        seconds *= 5;
    } while (got.count == 0 && seconds < 20);
    assert_true(got.count > 0);
}

CASE(limits)
{
    static const uint64_t limit[] = {1, 8191, 8192, 8193, 100000};
    for (size_t i = 0; i < sizeof limit / sizeof limit[0]; i++) {
        collect_with("counting", (fm_collect_options){.limit = limit[i]}, &got);
        assert_int_equal(got.status, FM_OK);
        expect_numbers(0, limit[i]);
        assert_true(got.state.limit_reached && got.processes[0].complete && got.processes[0].exit_code == 3);
        assert_in_range(got.processes[0].left_out, 0, 1000000 - limit[i]);
    }
    collect_with("few", (fm_collect_options){.limit = 11}, &got);
    assert_true(!got.state.limit_reached && got.count == 10);
    collect_with("endless", (fm_collect_options){.limit = 20000, .stop_at_limit = true}, &got);
    assert_int_equal(got.count, 20000);
    assert_true(got.processes[0].complete && got.processes[0].signal == SIGTERM && got.seconds < 20);
    collect_within(0.2, "endless", (fm_collect_options){.stop_at_limit = true});
    assert_true(got.state.limit_reached && got.processes[0].complete && got.seconds < 20);
    collect_within(0.1, "running-on", (fm_collect_options){0});
    assert_true(got.state.limit_reached && got.processes[0].complete && got.processes[0].exit_code == 5);
}

CASE(signals)
{
    struct sigaction before, after;
    sigaction(SIGTERM, NULL, &before);
    collect("interrupting");
    assert_int_equal(got.status, FM_OK);
    expect_numbers(0, 5000);
    assert_true(got.state.interrupted && !got.processes[0].complete && got.processes[0].signal == SIGTERM);
    assert_non_null(strstr(got.missing[0], "interrupted"));
    assert_true(got.seconds < 20);
    sigaction(SIGTERM, NULL, &after);
    assert_ptr_equal(before.sa_handler, after.sa_handler);
    struct sigaction ignored = {.sa_handler = SIG_DFL}; /* the test's own starter may have it ignored */
    sigaction(SIGINT, &ignored, &before);
    collect("stubborn");
    assert_true(got.state.interrupted && got.processes[0].signal == SIGKILL && got.seconds < 20);
    sigaction(SIGINT, &before, NULL);
}

/* ---- what was seen ---- */

static void described(bool call_paths)
{
    fm_collection *collection;
    fm_collected collected;
    fm_error error;
    uint32_t tags[8] = {0};
    size_t count = 0, map_count;
    const uint32_t *map;
    fm_attribution *told;
    command[2] = "described";
    const fm_late late[2] = {{0, 1, FM_RANGE_COLD}, {3, 1, 0}}; /* both to the heap block, both of one site */
    fm_collect_options options = {.command = command,
                                  .columns = FM_COLUMN_SIZE | FM_COLUMN_TAG,
                                  .call_paths = call_paths,
                                  .objects = true};
    assert_int_equal(fm_collection_start(&collection, &options, &error), FM_OK);
    do {
        assert_int_equal(fm_collection_next(collection, &collected, &error), FM_OK);
        if (collected.event != FM_COLLECTED_REFERENCES) continue;
        assert_int_equal(collected.batch.count, 4);
        memcpy(tags, collected.batch.tag, 4 * sizeof *tags);
        count += 4;
        assert_int_equal(fm_collection_count_late(collection, &collected, late, 2, &error), FM_OK);
    } while (collected.event != FM_COLLECTED_END);
    assert_int_equal(count, 4);
    assert_int_equal(fm_attribution_create(&told, &error), FM_OK);
    assert_int_equal(fm_attribution_set_edges(told, (uint64_t[]){0, 1}, 2, 0, &error), FM_OK);
    assert_int_equal(fm_collection_describe(collection, 0, told, &map, &map_count, &error), FM_OK);
    assert_int_equal(told->module_count, 2);
    assert_string_equal(told->modules[0].path, "/played/program");
    assert_int_equal(told->modules[0].bias, 0x400000);
    assert_true(!told->modules[0].unseen && told->modules[1].unseen);
    static const uint64_t sites[] = {0x410, 0x410, 0x420, 0x410};
    for (size_t i = 0; i < 4; i++) {
        assert_in_range(tags[i], 1, map_count - 1);
        const fm_site *site = &told->sites[map[tags[i]]];
        assert_int_equal(site->module, 0);
        assert_int_equal(site->address, sites[i]);
        assert_true((site->path != FM_NONE) == (call_paths && (i == 1 || i == 2)));
        if (site->path == FM_NONE) continue;
        assert_int_equal(told->paths[site->path].parent, FM_NONE);
        const fm_site *call = &told->sites[told->paths[site->path].call];
        assert_true(call->module == 0 && call->address == 0x105 && call->path == FM_NONE);
    }
    assert_int_equal(tags[0], tags[3]);
    assert_true((tags[0] == tags[1]) == !call_paths);
    /* The block and where it was asked for. */
    assert_int_equal(told->object_count, 1);
    assert_int_equal(told->objects[0].kind, FM_OBJECT_HEAP);
    assert_int_equal(told->objects[0].size, 64);
    const fm_call_path *inner = &told->paths[told->objects[0].allocation];
    assert_int_equal(told->sites[inner->call].address, 0x305);
    assert_int_equal(told->sites[told->paths[inner->parent].call].address, 0x105);
    assert_int_equal(told->object_use_count, 1);
    assert_int_equal(told->object_uses[0].count, 2);
    assert_int_equal(told->object_uses[0].site, map[1]);
    fm_trace_module modules[2];
    assert_int_equal(fm_collection_modules(collection, 0, NULL, 0), 2);
    assert_int_equal(fm_collection_modules(collection, 0, modules, 2), 2);
    assert_true(modules[1].from == 0x700000 && modules[1].to == 0x710000 && modules[1].bias == 0x700000);
    fm_collection_state state;
    fm_collection_state_get(collection, &state);
    assert_non_null(strstr(state.notes, "library.so"));
    assert_null(strstr(state.notes, "program"));
    fm_attribution_destroy(told);
    fm_collection_close(collection);
}

CASE(descriptions)
{
    described(false);
    described(true);
}

/* ---- the beginning and the end ---- */

/* Each note once, and a repeated one does not keep the receiver busy for ever. */
CASE(notes_are_kept_once)
{
    collect("noting");
    assert_int_equal(got.status, FM_OK);
    assert_string_equal(got.notes, "one\ntwo\nlone\n\n1?2\n");
}

CASE(nothing_is_seen)
{
    collect("nothing");
    assert_int_equal(got.status, FM_E_IO);
    assert_non_null(strstr(got.error.reason, "exit code 17"));
}

CASE(one_at_a_time_and_closing)
{
    fm_collection *first, *second;
    fm_error error;
    fm_collected collected;
    command[2] = "endless";
    fm_collect_options options = {.command = command, .columns = FM_COLUMN_SIZE};
    assert_int_equal(fm_collection_start(&first, &options, &error), FM_OK);
    assert_int_equal(fm_collection_start(&second, &options, &error), FM_E_ARGUMENT);
    assert_null(second);
    do assert_int_equal(fm_collection_next(first, &collected, &error), FM_OK);
    while (collected.event != FM_COLLECTED_REFERENCES);
    fm_collected_process process;
    fm_collection_process(first, 0, &process);
    fm_collection_close(first); /* ends the program */
    assert_int_equal(kill((pid_t)process.pid, 0), -1);
    /* And by request. */
    assert_int_equal(fm_collection_start(&first, &options, &error), FM_OK);
    for (bool asked = false;;) {
        assert_int_equal(fm_collection_next(first, &collected, &error), FM_OK);
        if (collected.event == FM_COLLECTED_END) break;
        if (collected.event == FM_COLLECTED_REFERENCES && !asked) fm_collection_stop(first, true);
        asked |= collected.event == FM_COLLECTED_REFERENCES;
    }
    fm_collection_process(first, 0, &process);
    assert_true(!process.complete && process.signal == SIGTERM);
    fm_collection_close(first);
    fm_collection_close(NULL);
}

static void write_program(const char *path, const void *bytes, size_t count, mode_t mode)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

CASE(refused_programs)
{
    char directory[] = "/tmp/fathom-test-XXXXXX", path[128];
    assert_non_null(mkdtemp(directory));
    unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 1, 1, 1, [16] = 2, [18] = 3};
    unsigned char arm[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 2, [18] = 183};
    unsigned char plain[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 2, [18] = 62};
    static const char script[] = "#!/nowhere/interpreter -x\n", text[] = "echo hello\n";
    const struct {
        const void *bytes;
        size_t count;
        mode_t mode;
        fm_status status;
        const char *why;
    } table[] = {
        {elf, sizeof elf, 0755, FM_E_UNSUPPORTED, "32-bit"},
        {arm, sizeof arm, 0755, FM_E_UNSUPPORTED, "183"},
        {arm, 10, 0755, FM_E_UNSUPPORTED, "another processor"},
        {plain, sizeof plain, 0644, FM_E_IO, "permission"},
        {plain, sizeof plain, 04755, FM_E_UNSUPPORTED, "set-user-ID"},
        {plain, sizeof plain, 02755, FM_E_UNSUPPORTED, "set-group-ID"},
        {script, sizeof script - 1, 0755, FM_E_IO, "interpreter"},
        {text, sizeof text - 1, 0755, FM_E_UNSUPPORTED, "neither"},
        {"", 0, 0755, FM_E_UNSUPPORTED, "neither"},
    };
    snprintf(path, sizeof path, "%s/program", directory);
    char *line[] = {path, NULL};
    fm_collect_options options = {.command = line, .columns = FM_COLUMN_SIZE};
    fm_collection *collection;
    fm_error error;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        write_program(path, table[i].bytes, table[i].count, table[i].mode);
        assert_int_equal(fm_collection_start(&collection, &options, &error), table[i].status);
        if (!strstr(error.reason, table[i].why)) fail_msg("%zu: %s", i, error.reason);
        unlink(path);
    }
    assert_int_equal(fm_collection_start(&collection, &options, &error), FM_E_IO); /* it is not there */
    assert_non_null(strstr(error.reason, "No such file"));
    line[0] = directory;
    assert_int_equal(fm_collection_start(&collection, &options, &error), FM_E_IO);
    assert_non_null(strstr(error.reason, "directory"));
    line[0] = "no-such-program-anywhere";
    assert_int_equal(fm_collection_start(&collection, &options, &error), FM_E_IO);
    assert_non_null(strstr(error.reason, "PATH"));
    line[0] = "";
    assert_int_equal(fm_collection_start(&collection, &options, &error), FM_E_ARGUMENT);
    /* A part that is not there; a program that was not built for the other collector. */
    line[0] = "true";
    options.collector = FM_COLLECTOR_VALGRIND;
    options.parts = directory;
    assert_int_equal(fm_collection_start(&collection, &options, &error), FM_E_UNSUPPORTED);
    assert_non_null(strstr(error.reason, "fathom cc"));
    options.collector = FM_COLLECTOR_COMPILER; /* it might load a library that was */
    assert_int_equal(fm_collection_start(&collection, &options, &error), FM_OK);
    fm_collected collected = {.event = FM_COLLECTED_REFERENCES};
    fm_status status = FM_OK;
    while (!status && collected.event != FM_COLLECTED_END)
        status = fm_collection_next(collection, &collected, &error);
    assert_int_equal(status, FM_E_UNSUPPORTED);
    assert_non_null(strstr(error.reason, "fathom cc"));
    fm_collection_close(collection);
    options.no_loads = options.no_stores = true;
    assert_int_equal(fm_collection_start(&collection, &options, &error), FM_E_ARGUMENT);
    assert_int_equal(rmdir(directory), 0);
}

CASE(function_that_is_nowhere)
{
    collect_with("few", (fm_collect_options){.function = "no_such_function"}, &got);
    assert_int_equal(got.status, FM_E_ARGUMENT);
    assert_non_null(strstr(got.error.reason, "no_such_function"));
}

CASES_WITH(NULL, forget);

BEFORE_CASES
{
    if (argc == 3 && strcmp(argv[1], "--produce") == 0) return play(argv[2]);
    ssize_t length = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    if (length <= 0) return 1;
    return -1;
}
