/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst_preload.c - loaded into programs by tests: runs bursts at clock signals, of random lengths, in both
 * modes, and checks that each log can be read and has as many accesses as were counted. Main thread only.
 * What it did goes to the file that BURST_OUT names; the program must do what it does without it.
 *
 * BURST_EVERY: microseconds between signals; BURST_MOST: accesses at most; BURST_SEED;
 * BURST_MODE: log, count or both; BURST_BYTES: of a state.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/sample/burst.h"

#define SS_AUTODISARM_ (1U << 31)

enum { TABLE_BYTES = 4 << 20, LOG_WORDS = 1 << 20, STACK_BYTES = 1 << 18 };

#define clock_signal (SIGRTMAX - 3) /* programs use SIGPROF themselves (sort) */

static burst *state;
static void *table;
static uint64_t *log_words;
static uint64_t random_state = 88172645463325252u;
static uint64_t most_accesses = 4096;
static long every_us = 1000;
static int modes = 3;
static const char *out_name;
static timer_t timer;
static pid_t owner;
static uint64_t bursts, accesses, fresh, damaged, nanoseconds, ends[BURST_ENDS], counted, count_ns, log_ns,
    log_total, all_words, entered;
static struct sigaction program_actions[8];
static stack_t alternate;
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
enum { FAULTS = sizeof faults / sizeof *faults };

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    if (burst_fault(state, context)) return;
    char text[200];
    uint64_t place = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    int length = snprintf(
        text, sizeof text,
        "burst_preload: signal %d at %llx (translated from %llx), for %p: not the program's\n", signal,
        (unsigned long long)place, (unsigned long long)burst_where(state, place), info->si_addr);
    if (write(2, text, (size_t)length) < 0) _exit(98);
    _exit(99);
}

static uint64_t now(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void arm(void)
{
    struct itimerspec when = {0};
    long us = every_us / 2 + (long)(next_random() % (uint64_t)(every_us + 1));
    when.it_value.tv_sec = us / 1000000;
    when.it_value.tv_nsec = us % 1000000 * 1000;
    syscall(SYS_timer_settime, timer, 0, &when, NULL);
}

static void check_log(const burst_result *result)
{
    burst_reader reader;
    burst_use use;
    burst_reading reading;
    uint64_t uses = 0;
    burst_reader_begin(&reader, table, TABLE_BYTES, log_words, result->words, result->fs_base,
                       result->gs_base);
    while ((reading = burst_reader_next(&reader, &use)) == BURST_READ_USE) uses++;
    if (reading != BURST_READ_END || uses > result->accesses) damaged++;
    if (uses != result->accesses && getenv("BURST_EXACT")) damaged++;
}

static void on_clock(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    if (getpid() != owner) return;
    /* Left by a jump, any handler of the program's leaves the stack disarmed: this is not ours then. */
    size_t depth = (size_t)((char *)&signal - (char *)alternate.ss_sp);
    if (depth >= STACK_BYTES) {
        ((ucontext_t *)context)->uc_stack = alternate;
        arm();
        return;
    }
    burst_mode mode = modes == 3   ? (burst_mode)(next_random() >> 20 & 1)
                      : modes == 1 ? BURST_LOG
                                   : BURST_COUNT;
    uint64_t most = 1 + (next_random() >> 8) % most_accesses;
    if (mode == BURST_LOG && most > LOG_WORDS / 4) most = LOG_WORDS / 4;
    struct sigaction mine = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    for (int i = 0; i < FAULTS; i++) sigaction(faults[i], &mine, &program_actions[i]);
    burst_result result;
    uint64_t begin = now();
    burst_end end = burst_run(state, context, mode, most, log_words, LOG_WORDS, &result);
    uint64_t took = now() - begin;
    for (int i = 0; i < FAULTS; i++) sigaction(faults[i], &program_actions[i], NULL);
    nanoseconds += took;
    if (mode == BURST_COUNT)
        counted += result.accesses, count_ns += took;
    else
        log_total += result.accesses, log_ns += took;
    bursts++;
    accesses += result.accesses;
    all_words += result.words;
    fresh += result.fresh;
    entered += result.blocks;
    ends[end]++;
    if (mode == BURST_LOG) check_log(&result);
    if (end == BURST_END_FULL) burst_reset(state, table, TABLE_BYTES);
    arm();
}

static void finish(void)
{
    if (getpid() != owner || !out_name) return;
    timer_delete(timer);
    FILE *out = fopen(out_name, "a");
    if (!out) return;
    fprintf(out, "bursts %llu accesses %llu fresh %llu entered %llu damaged %llu ns %llu words %llu ends",
            (unsigned long long)bursts, (unsigned long long)accesses, (unsigned long long)fresh,
            (unsigned long long)entered, (unsigned long long)damaged, (unsigned long long)nanoseconds,
            (unsigned long long)all_words);
    for (int i = 0; i < BURST_ENDS; i++) fprintf(out, " %llu", (unsigned long long)ends[i]);
    fprintf(out, " log %.2f ns count %.2f ns\n", log_total ? (double)log_ns / (double)log_total : 0,
            counted ? (double)count_ns / (double)counted : 0);
    fclose(out);
}

__attribute__((constructor)) static void begin(void)
{
    out_name = getenv("BURST_OUT");
    if (!out_name) return;
    if (getenv("BURST_EVERY")) every_us = atol(getenv("BURST_EVERY"));
    if (getenv("BURST_MOST")) most_accesses = (uint64_t)atol(getenv("BURST_MOST"));
    if (getenv("BURST_SEED")) random_state ^= (uint64_t)atol(getenv("BURST_SEED")) * 0x9E3779B97F4A7C15u;
    if (getenv("BURST_MODE"))
        modes = !strcmp(getenv("BURST_MODE"), "log") ? 1 : !strcmp(getenv("BURST_MODE"), "count") ? 2 : 3;
    owner = getpid();
    table = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    log_words = mmap(NULL, 8 * (size_t)LOG_WORDS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t bytes = getenv("BURST_BYTES") ? (size_t)atol(getenv("BURST_BYTES")) : burst_bytes();
    state = burst_create_sized(table, TABLE_BYTES, bytes);
    if (!state || stack == MAP_FAILED) {
        fprintf(stderr, "burst_preload: no state\n");
        _exit(97);
    }
    alternate = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES, .ss_flags = (int)SS_AUTODISARM_};
    if (sigaltstack(&alternate, NULL)) _exit(96);
    struct sigaction clock = {.sa_sigaction = on_clock, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigfillset(&clock.sa_mask);
    for (int i = 0; i < FAULTS; i++) sigdelset(&clock.sa_mask, faults[i]);
    sigaction(clock_signal, &clock, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = clock_signal};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer)) _exit(95);
    atexit(finish);
    arm();
}
