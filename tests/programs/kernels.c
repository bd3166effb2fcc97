/* SPDX-License-Identifier: Apache-2.0 */
/* kernels of which every reference is known, most of them in assembly so that no compiler has a say; argv[1]
 * names one. The buffer is 128 KiB, aligned to a page. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000 };
static char buffer[1 << 17] __attribute__((aligned(4096)));
/* Not static: the compiler must not know that they stay zero. */
double a[64][64] __attribute__((aligned(64))), b[64][64] __attribute__((aligned(64))),
    c[64][64] __attribute__((aligned(64)));

/* N loads and N stores of 8 bytes */
__attribute__((noinline)) static void copy(void)
{
    uint64_t count = N;
    char *from = buffer, *to = buffer + 65536;
    __asm__ volatile("1: movq (%0), %%rax\n movq %%rax, (%1)\n addq $8, %0\n addq $8, %1\n decq %2\n jnz 1b"
                     : "+r"(from), "+r"(to), "+r"(count)
                     :
                     : "rax", "memory");
}

/* N loads, 64 bytes apart: N blocks */
__attribute__((noinline)) static void strided(void)
{
    uint64_t count = N;
    char *from = buffer;
    __asm__ volatile("1: movb (%0), %%al\n addq $64, %0\n decq %1\n jnz 1b"
                     : "+r"(from), "+r"(count)
                     :
                     : "rax", "memory");
}

/* N loads of 4 bytes that straddle two blocks: 2 N references at 64 bytes, N + 1 blocks */
__attribute__((noinline)) static void unaligned(void)
{
    uint64_t count = N;
    char *from = buffer + 62;
    __asm__ volatile("1: movl (%0), %%eax\n addq $64, %0\n decq %1\n jnz 1b"
                     : "+r"(from), "+r"(count)
                     :
                     : "rax", "memory");
}

/* N times a byte each way */
__attribute__((noinline)) static void rep_movsb(void)
{
    uint64_t count = N;
    char *from = buffer, *to = buffer + 65536;
    __asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(count) : : "memory");
}

__attribute__((noinline)) static void rep_stosq(void)
{
    uint64_t count = N;
    char *to = buffer;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(0) : "memory");
}

/* N gathers of four 8-byte elements in four blocks; every other one with two elements masked off: 3 N loads
 */
__attribute__((noinline)) static void gather(void)
{
    static const uint64_t index[4] __attribute__((aligned(64))) = {0, 8, 16, 24};
    static const uint64_t all[4] __attribute__((aligned(64))) = {~0ull, ~0ull, ~0ull, ~0ull};
    static const uint64_t half[4] __attribute__((aligned(64))) = {~0ull, 0, ~0ull, 0};
    uint64_t count = N / 2;
    __asm__ volatile("vmovdqa (%1), %%ymm1\n vmovdqa (%2), %%ymm4\n vmovdqa (%3), %%ymm5\n"
                     "1: vmovdqa %%ymm4, %%ymm2\n vpgatherqq %%ymm2, (%4,%%ymm1,8), %%ymm3\n"
                     "vmovdqa %%ymm5, %%ymm2\n vpgatherqq %%ymm2, (%4,%%ymm1,8), %%ymm3\n decq %0\n jnz 1b"
                     : "+r"(count)
                     : "r"(index), "r"(all), "r"(half), "r"(buffer)
                     : "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "memory");
}

/* N of each: xadd, cmpxchg (that succeeds or fails), add to memory, cmpxchg16b: 4 N loads and as many stores, one block */
__attribute__((noinline)) static void atomics(void)
{
    uint64_t count = N;
    char *at = buffer;
    __asm__ volatile(
        "1: movl $1, %%eax\n lock xaddl %%eax, (%1)\n lock cmpxchgq %%rcx, 8(%1)\n addl $1, 16(%1)\n"
        "lock cmpxchg16b 32(%1)\n decq %0\n jnz 1b"
        : "+r"(count)
        : "r"(at)
        : "rax", "rbx", "rcx", "rdx", "memory");
}

/* N 32-byte loads at offset 48: each in two blocks */
__attribute__((noinline)) static void vectors(void)
{
    uint64_t count = N;
    char *from = buffer + 48;
    __asm__ volatile("1: vmovdqu (%0), %%ymm1\n addq $64, %0\n decq %1\n jnz 1b"
                     : "+r"(from), "+r"(count)
                     :
                     : "xmm1", "memory");
}

/* 2 n^3 loads, n^2 stores */
__attribute__((noinline)) static void matmul(void)
{
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 64; j++) {
            double sum = 0;
            for (int k = 0; k < 64; k++) sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kernels[] = {{"copy", copy},           {"strided", strided},     {"unaligned", unaligned},
                   {"rep_movsb", rep_movsb}, {"rep_stosq", rep_stosq}, {"gather", gather},
                   {"atomics", atomics},     {"vectors", vectors},     {"matmul", matmul}};
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (argc > 1 && strcmp(argv[1], kernels[i].name) == 0) {
            kernels[i].run();
            return c[1][1] == 0 ? 0 : 1;
        }
    return 2;
}
