/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst_judge.c - a program whose function judged() is run wholly in bursts and written down, access by
 * access
 * (`burst_judge FILE`), or executed as it is (`burst_judge`), for another collector to say what it accesses.
 * No function of libc is called in it: those may be other ones under another collector. Not
 * position-independent, so that its data lies where it lies.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "collect/sample/burst.h"

enum { SIDE = 12, NODES = 200, NUMBERS = 150, BYTES = 600 };

typedef struct node {
    struct node *next;
    uint64_t value;
} node;

static double left_matrix[SIDE][SIDE], right_matrix[SIDE][SIDE], product[SIDE][SIDE];
static float sums[SIDE];
static node nodes[NODES];
static uint32_t numbers[NUMBERS];
static unsigned char from[BYTES], to[BYTES];
static uint64_t counters[8], bits[32];
static uint16_t shorts[64];
static __uint128_t pair __attribute__((aligned(16)));
uint64_t outcome;

__attribute__((noinline)) static void multiply(void)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) left_matrix[i][j] = i + j, right_matrix[i][j] = i - 2 * j;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            for (int k = 0; k < SIDE; k++) product[i][j] += left_matrix[i][k] * right_matrix[k][j];
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) sums[i] += (float)product[i][j];
}

__attribute__((noinline)) static uint64_t walk(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < NODES; i++) nodes[i].next = &nodes[(i * 71 + 13) % NODES], nodes[i].value = i;
    node *at = nodes;
    for (int i = 0; i < 1000; i++, at = at->next) sum += at->value;
    return sum;
}

static int ascending(const uint32_t *a, const uint32_t *b)
{
    return *a < *b ? -1 : *a > *b;
}

static int (*volatile compare)(const uint32_t *, const uint32_t *) = ascending;

__attribute__((noinline)) static void quicksort(uint32_t *values, int count)
{
    if (count < 2) return;
    uint32_t middle = values[count / 2];
    int i = 0, j = count - 1;
    for (;; i++, j--) {
        while (compare(&values[i], &middle) < 0) i++;
        while (compare(&values[j], &middle) > 0) j--;
        if (i >= j) break;
        uint32_t other = values[i];
        values[i] = values[j];
        values[j] = other;
    }
    quicksort(values, i);
    quicksort(values + j + 1, count - j - 1);
}

__attribute__((noinline)) static uint64_t choose(uint32_t what, uint64_t value)
{
    switch (what) {
    case 0:
        return counters[0] += value;
    case 1:
        return __atomic_fetch_add(&counters[1], value, __ATOMIC_SEQ_CST);
    case 2:
        return __atomic_exchange_n(&counters[2], value, __ATOMIC_SEQ_CST);
    case 3: {
        uint64_t expected = value;
        return __atomic_compare_exchange_n(&counters[3], &expected, value + 1, 0, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
    }
    case 4:
        return counters[4] ^= value << 3;
    case 5:
        return shorts[value % 64] = (uint16_t)value;
    case 6:
        return (uint64_t)(int64_t)(int16_t)shorts[value % 64] + from[value % BYTES];
    default:
        return counters[7]++;
    }
}

__attribute__((noinline)) static void strings(void)
{
    unsigned char *destination = to;
    const unsigned char *source = from;
    uint64_t count = BYTES;
    for (uint32_t i = 0; i < BYTES; i++) from[i] = (unsigned char)(i * 31);
    __asm__ volatile("rep movsb" : "+D"(destination), "+S"(source), "+c"(count) : : "memory");
    destination = to, count = 40;
    __asm__ volatile("rep stosq" : "+D"(destination), "+c"(count) : "a"(0x0102030405060708) : "memory");
    destination = to, count = BYTES;
    __asm__ volatile("repne scasb" : "+D"(destination), "+c"(count) : "a"(5) : "memory", "cc");
    to[300] = from[300], destination = to + 300, source = from + 300, count = 100;
    __asm__ volatile("repe cmpsb" : "+D"(destination), "+S"(source), "+c"(count) : : "memory", "cc");
    __asm__ volatile("movsq; lodsb" : "+D"(destination), "+S"(source) : : "rax", "memory");
    for (int64_t i = 0; i < 100; i += 9)
        __asm__ volatile("btcq %0, %1" : : "r"(i * 7), "m"(bits[0]) : "memory", "cc");
    uint64_t low = 0, high = 0;
    __asm__ volatile("lock cmpxchg16b %2" : "+a"(low), "+d"(high), "+m"(pair) : "b"(1ul), "c"(2ul) : "cc");
    __asm__ volatile("fldl %0; fstpt %1; fldt %1; fstps %2"
                     :
                     : "m"(product[1][1]), "m"(to[32]), "m"(to[64])
                     : "memory");
    __asm__ volatile("push %0; pushfq; pop %%rax; pop %1" : : "r"(low), "m"(counters[5]) : "rax", "memory");
    __asm__ volatile("movups %0, %%xmm1; movhlps %%xmm1, %%xmm2; movlps %%xmm2, %1; cvtss2sd %2, %%xmm1"
                     :
                     : "m"(from[3]), "m"(to[5]), "m"(sums[2])
                     : "xmm1", "xmm2", "memory");
}

__attribute__((noinline)) void judged(void);
void judged(void)
{
    multiply();
    uint64_t sum = walk();
    for (uint32_t i = 0; i < NUMBERS; i++) numbers[i] = (i * 2654435761u) >> 7;
    quicksort(numbers, NUMBERS);
    for (uint32_t i = 0; i < 300; i++) sum += choose(i * 5 % 9, sum);
    strings();
    outcome = sum + numbers[7] + to[9];
}

enum { TABLE_BYTES = 1 << 20, LOG_WORDS = 1 << 16, STACK_BYTES = 1 << 18 };

static FILE *out;
static char table[TABLE_BYTES] __attribute__((aligned(8)));
static uint64_t log_words[LOG_WORDS];
static const char *failed;

static void on_trap(int signal, siginfo_t *info, void *argument)
{
    (void)signal, (void)info;
    ucontext_t *context = argument;
    greg_t *registers = context->uc_mcontext.gregs;
    burst *state = burst_create(table, sizeof table);
    if (!state) {
        failed = "no state";
        return;
    }
    /* As if judged() were called, by what lies before the int3 that is jumped over. */
    greg_t next = registers[REG_RIP], back = next + 2, stack = registers[REG_RSP];
    registers[REG_RSP] = ((registers[REG_RSP] - 256) & -16) - 8;
    *(greg_t *)registers[REG_RSP] = back;
    registers[REG_RIP] = (greg_t)judged;
    while (!failed) {
        burst_result result;
        burst_end end = burst_run(state, context, BURST_LOG, 5000, log_words, LOG_WORDS, &result);
        burst_reader reader;
        burst_use use;
        burst_reader_begin(&reader, table, sizeof table, log_words, result.words, result.fs_base,
                           result.gs_base);
        while (burst_reader_next(&reader, &use) == BURST_READ_USE)
            fprintf(out, " %c %08llx,%u\n", "LSM"[use.kind], (unsigned long long)use.address, use.size);
        if (end != BURST_END_DONE) {
            if (end != BURST_END_INSTRUCTION || registers[REG_RIP] != back)
                failed = "a burst ended too early";
            break;
        }
    }
    registers[REG_RIP] = next;
    registers[REG_RSP] = stack;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        judged();
        printf("%llu\n", (unsigned long long)outcome);
        return 0;
    }
    out = fopen(argv[1], "w");
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t alternate = {.ss_sp = stack, .ss_size = STACK_BYTES, .ss_flags = (int)(1U << 31)};
    if (!out || stack == MAP_FAILED || sigaltstack(&alternate, NULL)) return 2;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGTRAP, &action, NULL);
    /* The second int3 ends the bursts: judged() returns to it. It is jumped over. */
    __asm__ volatile("int3; .byte 0xeb, 1; int3"
                     :
                     :
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    if (failed) fprintf(stderr, "%s\n", failed);
    if (fclose(out) || failed) return 1;
    printf("%llu\n", (unsigned long long)outcome);
    return 0;
}
