/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that read and write the same place, and their neighbours that do not; argv[1] names the
 * function. Numbers in comments are those of one round, without the stack. */
#include <stdint.h>
#include <string.h>

enum { ROUNDS = 1000, NODES = 1000 };
static char buffer[4096] __attribute__((aligned(4096)));

/* 10 loads and 10 stores */
__attribute__((noinline)) static void arithmetic(void)
{
    uint64_t count = ROUNDS;
    __asm__ volatile(
        "1: incq (%1)\n decl 8(%1)\n negw 16(%1)\n notb 24(%1)\n addq $1, 32(%1)\n adcl %%eax, 40(%1)\n"
        "orb $4, 48(%1)\n shll $1, 56(%1)\n rolw %%cl, 64(%1)\n lock subq %%rax, 72(%1)\n decq %0\n jnz 1b"
        : "+r"(count)
        : "r"(buffer)
        : "rax", "rcx", "memory");
}

/* 9 loads and 9 stores: exchanges, whether they succeed or fail */
__attribute__((noinline)) static void exchanges(void)
{
    uint64_t count = ROUNDS;
    __asm__ volatile(
        "1: xaddl %%eax, (%1)\n lock xaddq %%rax, 8(%1)\n xchgl %%eax, 16(%1)\n movl $77, %%eax\n"
        "cmpxchgl %%ecx, 24(%1)\n movl $77, %%eax\n lock cmpxchgl %%ecx, 32(%1)\n"
        "lock cmpxchgb %%cl, 40(%1)\n cmpxchg8b 48(%1)\n lock cmpxchg8b 56(%1)\n"
        "lock cmpxchg16b 64(%1)\n decq %0\n jnz 1b"
        : "+r"(count)
        : "r"(buffer)
        : "rax", "rbx", "rcx", "rdx", "memory");
}

/* 5 loads and 4 stores: the bit's byte, or the whole operand where the number is a constant; bt reads */
__attribute__((noinline)) static void bits(void)
{
    uint64_t count = ROUNDS;
    __asm__ volatile("movl $100, %%eax\n 1: btsl $3, (%1)\n btrq %%rax, 64(%1)\n lock btcl %%eax, 128(%1)\n"
                     "lock btsw $3, 192(%1)\n btl %%eax, 256(%1)\n decq %0\n jnz 1b"
                     : "+r"(count)
                     : "r"(buffer)
                     : "rax", "memory");
}

/* 3 loads and 4 stores: read or written, not both at one place; the other halves are of the stack */
__attribute__((noinline)) static void neighbours(void)
{
    uint64_t count = ROUNDS;
    char *code;
    __asm__ volatile(
        "leaq 2f(%%rip), %1\n movq %1, (%2)\n jmp 1f\n 2: ret\n"
        "1: leaq -128(%%rsp), %%rsp\n call *(%2)\n pushq 8(%2)\n popq 16(%2)\n leaq 128(%%rsp), %%rsp\n"
        "cmpl $0, 24(%2)\n movl %%eax, 40(%2)\n setc 48(%2)\n movl $0, 56(%2)\n"
        "decq %0\n jnz 1b"
        : "+r"(count), "=&r"(code)
        : "r"(buffer)
        : "rax", "memory");
}

/* 7 loads and 6 stores: vectors, elements under a mask one by one, strings, maskmovdqu as the read and write
 * of 16 bytes */
__attribute__((noinline)) static void vectors(void)
{
    static const uint32_t half[4] __attribute__((aligned(16))) = {~0U, 0, 0, ~0U};
    uint64_t count = ROUNDS;
    char *from, *to;
    __asm__ volatile("movdqa %4, %%xmm2\n pcmpeqd %%xmm1, %%xmm1\n"
                     "1: addps (%3), %%xmm0\n movups %%xmm0, 16(%3)\n"
                     "vpmaskmovd %%xmm0, %%xmm2, 32(%3)\n vpmaskmovd 32(%3), %%xmm2, %%xmm0\n"
                     "movq %3, %1\n leaq 64(%3), %2\n movl $2, %%ecx\n rep movsb\n"
                     "leaq 128(%3), %2\n maskmovdqu %%xmm1, %%xmm1\n addss 144(%3), %%xmm0\n decq %0\n jnz 1b"
                     : "+r"(count), "=&S"(from), "=&D"(to)
                     : "r"(buffer), "m"(half)
                     : "rcx", "xmm0", "xmm1", "xmm2", "memory");
}

/* 4 loads and 4 stores: of two blocks each */
__attribute__((noinline)) static void straddling(void)
{
    uint64_t count = ROUNDS;
    __asm__ volatile("1: addl $1, 62(%1)\n lock xaddl %%eax, 126(%1)\n decq %0\n jnz 1b"
                     : "+r"(count)
                     : "r"(buffer)
                     : "rax", "memory");
}

/* In C, for all collectors: 2 loads and a store for each node; one more of each for the atomic operation. */
typedef struct node {
    struct node *next;
    uint64_t visits, atomic;
    char fill[40];
} node;
static node nodes[NODES] __attribute__((aligned(64)));

__attribute__((noinline)) static void chase(node *at)
{
    for (; at; at = at->next) at->visits++;
}

__attribute__((noinline)) static void chase_atomic(node *at)
{
    for (; at; at = at->next) __atomic_fetch_add(&at->atomic, 1, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } functions[] = {{"arithmetic", arithmetic}, {"exchanges", exchanges}, {"bits", bits},
                     {"neighbours", neighbours}, {"vectors", vectors},     {"straddling", straddling}};
    for (int i = 0; i + 1 < NODES; i++) nodes[i * 7 % NODES].next = &nodes[(i + 1) * 7 % NODES];
    for (size_t i = 0; argc > 1 && i < sizeof functions / sizeof *functions; i++)
        if (strcmp(argv[1], functions[i].name) == 0) functions[i].run();
    if (argc > 1 && strcmp(argv[1], "chase") == 0) chase(&nodes[0]);
    if (argc > 1 && strcmp(argv[1], "chase_atomic") == 0) chase_atomic(&nodes[0]);
    return 0;
}
