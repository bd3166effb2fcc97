/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of accesses whose time distances are known, told to a fake PMU (fake_pmu.h). The word on the
 * command line names one; it prints how many accesses there were.
 */
#define _GNU_SOURCE
#include "fake_pmu.h"

#include "fathom/markers.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 1 << 17, L1 = 1 << 1 | 1 << 3, MEMORY = 1 << 1 | 1 << 7 }; /* mem_lvl: hit, and where */
static uint64_t table[WORDS];

/* union perf_mem_data_src: what was done in bits 0 to 4, the level from bit 5 on. */
static uint64_t source(unsigned level)
{
    return 2 | (uint64_t)level << 5;
}

/* All distances are `words`. Every third one is a store. */
__attribute__((noinline)) static void cycle(unsigned words, unsigned rounds)
{
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < words; i++) fake_access(&table[i], 8, (r + i) % 3 == 0, 4, source(L1));
}

/* Lower halves of words, then the upper ones: each half comes again after both, each word after one. */
static void halves(unsigned words, unsigned rounds)
{
    uint32_t *half = (uint32_t *)(void *)table;
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < words; i++) fake_access(&half[2 * i + r % 2], 4, false, 4, source(L1));
}

/* The paper's listing 2, with n for 100K: loops i and j are as far apart as they are long, and in loop k each
 * word is used twice at once. */
static void listing_2(unsigned n)
{
    for (unsigned i = 0; i < n; i++) fake_access(&table[i], 8, false, 4, source(L1));
    for (unsigned j = 0; j < n; j++) fake_access(&table[j], 8, false, 4, source(L1));
    for (unsigned k = 0; k < n; k++) {
        fake_access(&table[k], 8, false, 4, source(L1));
        fake_access(&table[k], 8, false, 4, source(L1));
    }
}

/* Fast accesses at one line, slow ones at another. */
static void two_speeds(unsigned rounds)
{
    for (unsigned r = 0; r < rounds; r++) {
        fake_access(&table[r % 100], 8, false, 4, source(L1));
        fake_access(&table[1000 + r % 5000], 8, false, 300, source(MEMORY)); /* slow */
        fake_operation();
        fake_operation();
        if (r % 8 == 0) fake_kernel_access(&table[3]);
    }
}

/* The same code for two callers. */
__attribute__((noinline)) static void near_caller(void)
{
    cycle(100, 500);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}
__attribute__((noinline)) static void far_caller(void)
{
    cycle(20000, 4);
    __asm__ volatile("" ::: "memory");
}

/* The same, with time for whoever reads the samples: 20,000 accesses of one, 30,000 of the other. */
__attribute__((noinline)) static void calm_near(void)
{
    for (unsigned i = 0; i < 4; i++, usleep(20000)) cycle(100, 50);
}
__attribute__((noinline)) static void calm_far(void)
{
    for (unsigned i = 0; i < 6; i++, usleep(20000)) cycle(5000, 1);
}

/* 1,000 words in the region, and between its parts many accesses to others and some to the same. */
static void region(void)
{
    for (unsigned i = 0; i < 100; i++) {
        FATHOM_BEGIN("inside");
        cycle(1000, 2);
        FATHOM_END;
        cycle(10, 1);
        for (unsigned k = 0; k < 5000; k++) fake_access(&table[2000 + k], 8, false, 4, source(L1));
        FATHOM_BEGIN("another");
        for (unsigned k = 0; k < 500; k++) fake_access(&table[20000 + k], 8, false, 4, source(L1));
        FATHOM_END;
    }
}

/* Longer than it is sampled. */
static void long_run(void)
{
    for (unsigned r = 0, more = 5; r < 3000 && more > 0; r++, more -= fake_is_over()) {
        cycle(20000, 1);
        usleep(20000);
    }
}

/* Until it is killed. A signal that is on its way when fathom leaves must not kill it: those of real events
 * end with them. */
static void endless(void)
{
    signal(SIGTRAP, SIG_IGN);
    for (;;) {
        cycle(1000, 20);
        usleep(1000);
    }
}

static void *of_thread(void *rounds)
{
    cycle(500, *(const unsigned *)rounds);
    return (void *)(uintptr_t)fake_accesses();
}

static uint64_t threads(void)
{
    pthread_t made[3];
    unsigned rounds[3] = {100, 200, 300};
    uint64_t sum = 0;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&made[i], NULL, of_thread, &rounds[i]) != 0) exit(1);
    for (int i = 0; i < 3; i++) {
        void *accesses;
        pthread_join(made[i], &accesses);
        sum += (uintptr_t)accesses;
    }
    return sum;
}

int main(int count, char **words)
{
    const char *word = count > 1 ? words[1] : "";
    uint64_t others = 0;
    if (strcmp(word, "cycle") == 0)
        cycle(1000, 300);
    else if (strcmp(word, "halves") == 0)
        halves(400, 500);
    else if (strcmp(word, "listing") == 0)
        for (unsigned i = 0; i < 5; i++) listing_2(20000);
    else if (strcmp(word, "speeds") == 0)
        two_speeds(100000);
    else if (strcmp(word, "callers") == 0)
        for (unsigned i = 0; i < 4; i++) near_caller(), far_caller();
    else if (strcmp(word, "calm") == 0)
        for (unsigned i = 0; i < 3; i++) calm_near(), calm_far();
    else if (strcmp(word, "region") == 0)
        region();
    else if (strcmp(word, "endless") == 0)
        endless();
    else if (strcmp(word, "long") == 0)
        long_run();
    else if (strcmp(word, "threads") == 0)
        others = threads();
    else if (strcmp(word, "losses") == 0) {
        cycle(1000, 20);
        fake_lost(7);
        fake_throttled();
        cycle(1000, 20);
    } else if (strcmp(word, "fork") == 0) {
        cycle(1000, 100);
        const pid_t child = fork();
        if (child == 0) {
            cycle(200, 500);
            printf("%" PRIu64 "\n", fake_accesses());
            fflush(stdout);
            exit(0);
        }
        waitpid(child, NULL, 0);
    } else
        return 2;
    printf("%" PRIu64 "\n", fake_accesses() + others);
    return 0;
}
