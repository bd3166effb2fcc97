/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_memory.c - looks at the program's code, which may have been unmapped: a fault while it does is an
 * answer, not the program's fault (burst_fault goes on at the end of these functions).
 */
#include "burst_state.h"

extern const char burst_memory_first[], burst_memory_last[], burst_memory_absent[];

__asm__(".pushsection .text\n"
        ".type burst_copy, @function\n"
        ".globl burst_copy\n"
        ".hidden burst_copy\n"
        "burst_copy:\n" /* rdi, rsi, rdx */
        "  mov %rdx, %rcx\n"
        ".globl burst_memory_first\n"
        ".hidden burst_memory_first\n"
        "burst_memory_first:\n"
        "  rep movsb\n"
        "  xor %eax, %eax\n"
        "  ret\n"
        ".size burst_copy, . - burst_copy\n"
        ".type burst_compare, @function\n"
        ".globl burst_compare\n"
        ".hidden burst_compare\n"
        "burst_compare:\n"
        "  xor %ecx, %ecx\n"
        "  sub $8, %rdx\n"
        "  jb 2f\n"
        "1: mov (%rsi, %rcx), %rax\n"
        "  cmp (%rdi, %rcx), %rax\n"
        "  jne 4f\n"
        "  add $8, %rcx\n"
        "  sub $8, %rdx\n"
        "  jae 1b\n"
        "2: add $8, %rdx\n"
        "  jz 5f\n"
        "3: movzbl (%rsi, %rcx), %eax\n"
        "  cmp (%rdi, %rcx), %al\n"
        "  jne 4f\n"
        "  inc %rcx\n"
        "  dec %rdx\n"
        "  jnz 3b\n"
        "5: xor %eax, %eax\n"
        "  ret\n"
        ".globl burst_memory_last\n"
        ".hidden burst_memory_last\n"
        "burst_memory_last:\n"
        ".globl burst_memory_absent\n"
        ".hidden burst_memory_absent\n"
        "burst_memory_absent:\n"
        "4: mov $1, %eax\n"
        "  ret\n"
        ".size burst_compare, . - burst_compare\n"
        ".popsection\n");

uint64_t burst_memory_fault(uint64_t place)
{
    bool inside = place >= (uint64_t)burst_memory_first && place < (uint64_t)burst_memory_last;
    return inside ? (uint64_t)burst_memory_absent : 0;
}
