/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_burst.c - what bursts (collect/sample/burst.h) cost: nanoseconds an access when the code is known,
 * how much slower than natively counting is, and what a block costs that is met for the first time.
 *
 * Each subject runs natively, then wholly in bursts, several times in turn; the least time of each counts.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "collect/sample/burst.h"

enum {
    TABLE_BYTES = 4 << 20,
    LOG_WORDS = 1 << 17,
    STACK_BYTES = 1 << 18,
    TURNS = 7,
    SIDE = 96,
    NODES = 1 << 14,
    NUMBERS = 20000
};

/* --- Subjects
 * ------------------------------------------------------------------------------------------------ */

static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
typedef struct node {
    struct node *next;
    uint64_t value, more[6];
} node;
static node nodes[NODES];
static uint32_t numbers[NUMBERS];
static char text[1 << 16];
static uint32_t table_of[1 << 12];
static volatile uint64_t result_of;

static void matrix(void)
{
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            for (int j = 0; j < SIDE; j++) c[i][j] += a[i][k] * b[k][j];
}

static void list(void)
{
    uint64_t sum = 0;
    node *at = nodes;
    for (int i = 0; i < 20 * NODES; i++, at = at->next) sum += at->value;
    result_of = sum;
}

static int ascending(const void *x, const void *y)
{
    uint32_t one = *(const uint32_t *)x, other = *(const uint32_t *)y;
    return one < other ? -1 : one > other;
}

static void sorting(void)
{
    for (uint32_t i = 0; i < NUMBERS; i++) numbers[i] = i * 2654435761u;
    qsort(numbers, NUMBERS, sizeof *numbers, ascending);
}

/* Hashing and comparing, as compressors do. */
static void matching(void)
{
    uint64_t best = 0;
    for (uint32_t i = 0; i + 300 < sizeof text; i++) {
        uint32_t hash =
            ((uint32_t)text[i] << 16 ^ (uint32_t)text[i + 1] << 8 ^ (uint32_t)text[i + 2]) * 2654435761u >>
            20;
        uint32_t before = table_of[hash], length = 0;
        while (length < 250 && text[before + length] == text[i + length]) length++;
        if (length > best) best = length;
        table_of[hash] = i;
    }
    result_of = best;
}

static uint64_t fibonacci(uint32_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void recursion(void)
{
    result_of = fibonacci(24);
}

static void printing(void)
{
    char line[200];
    for (int i = 0; i < 3000; i++)
        result_of +=
            (uint64_t)snprintf(line, sizeof line, "%d %s %g %lx\n", i, "words", i * 0.37, (long)i * i);
}

static const struct subject {
    const char *name;
    void (*run)(void);
} subjects[] = {{"matrix", matrix},     {"list", list},           {"sort", sorting},
                {"matching", matching}, {"recursion", recursion}, {"printing", printing}};

/* --- Measuring
 * ----------------------------------------------------------------------------------------------- */

static burst *state;
static char *table;
static uint64_t *log_words;
static const struct subject *now;
static burst_mode mode;
static uint64_t most, accesses, fresh, bursts, words, bursts_most;
static double seconds_taken;
static bool began;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void subject_and_end(void)
{
    now->run();
    __asm__ volatile("bench_end_here: nop");
}

extern const char bench_end_here[];

/* From an int3 on, all in bursts, until one reaches the end (or what bursts do not run). */
static void on_trap(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    if (began) return;
    began = true;
    accesses = fresh = bursts = words = 0;
    double begin = seconds();
    for (;;) {
        burst_result result;
        burst_end end = burst_run(state, context, mode, most, log_words, LOG_WORDS, &result);
        accesses += result.accesses;
        fresh += result.fresh;
        words += result.words;
        if (++bursts == bursts_most) break;
        if (end == BURST_END_FULL)
            burst_reset(state, table, TABLE_BYTES);
        else if (end != BURST_END_DONE && end != BURST_END_LOG_FULL)
            break;
    }
    seconds_taken = seconds() - begin;
}

static void in_bursts(burst_mode wanted, uint64_t length)
{
    mode = wanted;
    most = length;
    began = false;
    __asm__ volatile("int3" : : : "memory");
    subject_and_end();
    __asm__ volatile("int3" : : : "memory"); /* the burst ends before it */
}

int main(void)
{
    table = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    log_words = mmap(NULL, 8 * LOG_WORDS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED || log_words == MAP_FAILED || stack == MAP_FAILED) return 1;
    state = burst_create(table, TABLE_BYTES);
    if (!state) {
        printf("SKIP: no bursts on this machine\n");
        return 0;
    }
    stack_t alternate = {.ss_sp = stack, .ss_size = STACK_BYTES, .ss_flags = (int)(1U << 31)};
    sigaltstack(&alternate, NULL);
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGTRAP, &action, NULL);
    for (uint32_t i = 0; i < NODES; i++) nodes[i].next = &nodes[(i * 40503u + 1) % NODES], nodes[i].value = i;
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)("etaoin shrdlu"[(i * i + i / 7) % 13]);

    printf("%-10s %9s %9s %9s %9s %9s %9s %7s %7s %7s %9s\n", "subject", "accesses", "native", "count",
           "log 256K", "log 16K", "log 4K", "count", "log", "words", "new block");
    printf("%-10s %9s %9s %9s %9s %9s %9s %7s %7s %7s %9s\n", "", "thousand", "ns/acc", "ns/acc", "ns/acc",
           "ns/acc", "ns/acc", "x", "x", "/acc", "us");
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        now = &subjects[i];
        double native = 1e9, best[4] = {1e9, 1e9, 1e9, 1e9}, first = 1e9, again = 1e9;
        static const uint64_t lengths[4] = {1 << 20, 1 << 18, 1 << 14, 1 << 12};
        uint64_t counted = 0, blocks = 0, all_words = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            double begin = seconds();
            subject_and_end();
            double took = seconds() - begin;
            if (took < native) native = took;
            for (int way = 0; way < 4; way++) {
                in_bursts(way == 0 ? BURST_COUNT : BURST_LOG, lengths[way]);
                if (seconds_taken < best[way]) best[way] = seconds_taken;
                if (way == 1) all_words = words;
                counted = accesses;
            }
            bursts_most = 1;
            burst_reset(state, table, TABLE_BYTES); /* all code is new again */
            in_bursts(BURST_LOG, 1 << 14);
            if (seconds_taken < first) first = seconds_taken;
            blocks = fresh;
            in_bursts(BURST_LOG, 1 << 14);
            bursts_most = 0;
            if (seconds_taken < again) again = seconds_taken;
        }
        double each = 1e9 / (double)counted;
        printf("%-10s %9.0f %9.2f %9.2f %9.2f %9.2f %9.2f %7.2f %7.2f %7.2f %9.2f\n", now->name,
               (double)counted / 1000, native * each, best[0] * each, best[1] * each, best[2] * each,
               best[3] * each, best[0] / native, best[1] / native, (double)all_words / (double)counted,
               (first - again) * 1e6 / (double)blocks);
    }
    return 0;
}
