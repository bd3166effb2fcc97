/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of each processor, incremented in restartable sequences: between the load and the store of one
 * some time passes, and whoever is preempted there must begin anew, or an increment is lost. Prints whether
 * the sum is right. Several threads for each processor.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/rseq.h>

enum { THREADS = 6, PROCESSORS = 4096, SPIN = 40 };
static struct counter {
    uint64_t value;
    char rest[56];
} counters[PROCESSORS] __attribute__((aligned(64)));
static uint64_t rounds = 400000;

/* True: done. False: interrupted, or on another processor meanwhile. */
static inline __attribute__((always_inline)) int increment(struct rseq *rseq)
{
    const uint32_t cpu = *(volatile uint32_t *)&rseq->cpu_id_start;
    if (cpu >= PROCESSORS) abort();
    __asm__ volatile goto(".pushsection __rseq_cs, \"aw\"\n\t"
                          ".balign 32\n\t"
                          "3: .long 0, 0\n\t"
                          ".quad 1f, (2f - 1f), 4f\n\t"
                          ".popsection\n\t"
                          "lea 3b(%%rip), %%rax\n\t"
                          "mov %%rax, %[pointer]\n\t"
                          "1:\n\t"
                          "cmp %[cpu], %[current]\n\t"
                          "jne 4f\n\t"
                          "mov %[value], %%rax\n\t"
                          "mov %[spin], %%ecx\n\t"
                          "5: dec %%ecx\n\t"
                          "jnz 5b\n\t"
                          "inc %%rax\n\t"
                          "mov %%rax, %[value]\n\t"
                          "2:\n\t"
                          ".pushsection __rseq_failure, \"ax\"\n\t"
                          ".byte 0x0f, 0xb9, 0x3d\n\t" /* ud1, as the signature must be code */
                          ".long 0x53053053\n\t"
                          "4: jmp %l[failed]\n\t"
                          ".popsection\n\t"
                          :
                          : [pointer] "m"(rseq->rseq_cs), [cpu] "r"(cpu), [current] "m"(rseq->cpu_id),
                            [value] "m"(counters[cpu].value), [spin] "i"(SPIN)
                          : "rax", "rcx", "memory", "cc"
                          : failed);
    return 1;
failed:
    return 0;
}

static void *work(void *argument)
{
    struct rseq *rseq = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
    for (uint64_t i = 0; i < rounds; i++)
        while (!increment(rseq)) continue;
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    if (argc > 1) rounds = strtoull(argv[1], NULL, 10);
    if (__rseq_size == 0) {
        puts("no rseq");
        return 0;
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    uint64_t sum = 0;
    for (int i = 0; i < PROCESSORS; i++) sum += counters[i].value;
    printf("%s\n", sum == THREADS * rounds ? "right" : "wrong");
    if (sum != THREADS * rounds)
        fprintf(stderr, "%llu of %llu\n", (unsigned long long)sum, (unsigned long long)(THREADS * rounds));
    return 0;
}
