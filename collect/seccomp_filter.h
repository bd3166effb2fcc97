/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seccomp_filter.h - what a filter of system calls (seccomp) answers for a call: its program, in the classic
 * form of BPF, run as the kernel does. For the runtime of `fathom cc`, which must not make calls that a
 * filter forbids, and for the Valgrind tool, which stands in for the kernel. Freestanding.
 */
#ifndef FATHOM_SECCOMP_FILTER_H
#define FATHOM_SECCOMP_FILTER_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One step of arithmetic; false: it cannot be. */
static inline bool fm_filter_calculate(unsigned operation, uint32_t *a, uint32_t with)
{
    switch (operation) {
    case BPF_ADD:
        *a += with;
        return true;
    case BPF_SUB:
        *a -= with;
        return true;
    case BPF_MUL:
        *a *= with;
        return true;
    case BPF_DIV:
        if (with) *a /= with;
        return with != 0;
    case BPF_AND:
        *a &= with;
        return true;
    case BPF_OR:
        *a |= with;
        return true;
    case BPF_XOR:
        *a ^= with;
        return true;
    case BPF_LSH:
        *a = with < 32 ? *a << with : 0;
        return true;
    case BPF_RSH:
        *a = with < 32 ? *a >> with : 0;
        return true;
    case BPF_NEG:
        *a = -*a;
        return true;
    default:
        return false;
    }
}

static inline bool fm_filter_jumps(unsigned operation, uint32_t a, uint32_t with)
{
    switch (operation) {
    case BPF_JEQ:
        return a == with;
    case BPF_JGT:
        return a > with;
    case BPF_JGE:
        return a >= with;
    default: /* BPF_JSET */
        return (a & with) != 0;
    }
}

/* Its answer for a call, as the kernel finds it; one that the kernel would refuse to install: to end the
 * program. */
static inline uint32_t fm_filter_answer(const struct sock_filter *steps, size_t count,
                                        const struct seccomp_data *call)
{
    uint32_t a = 0, x = 0, memory[BPF_MEMWORDS];
    for (unsigned i = 0; i < BPF_MEMWORDS; i++) memory[i] = 0;
    for (size_t at = 0; at < count; at++) {
        const struct sock_filter *step = &steps[at];
        const uint32_t k = step->k, with = BPF_SRC(step->code) == BPF_X ? x : k;
        switch (BPF_CLASS(step->code)) {
        case BPF_LD:
        case BPF_LDX: {
            uint32_t value = k;
            const unsigned mode = BPF_MODE(step->code);
            if (mode == BPF_MEM)
                value = k < BPF_MEMWORDS ? memory[k] : 0;
            else if (mode == BPF_LEN)
                value = sizeof *call;
            else if (mode == BPF_ABS && k <= sizeof *call - 4 && k % 4 == 0)
                value = ((const uint32_t *)(const void *)call)[k / 4];
            else if (mode != BPF_IMM)
                return SECCOMP_RET_KILL_PROCESS;
            *(BPF_CLASS(step->code) == BPF_LD ? &a : &x) = value;
            break;
        }
        case BPF_ST:
        case BPF_STX:
            if (k >= BPF_MEMWORDS) return SECCOMP_RET_KILL_PROCESS;
            memory[k] = BPF_CLASS(step->code) == BPF_ST ? a : x;
            break;
        case BPF_ALU:
            if (!fm_filter_calculate(BPF_OP(step->code), &a, with)) return SECCOMP_RET_KILL_PROCESS;
            break;
        case BPF_JMP:
            if (BPF_OP(step->code) == BPF_JA)
                at += k;
            else
                at += fm_filter_jumps(BPF_OP(step->code), a, with) ? step->jt : step->jf;
            break;
        case BPF_RET:
            return BPF_RVAL(step->code) == BPF_A ? a : k;
        default: /* BPF_MISC */
            if (BPF_MISCOP(step->code) == BPF_TAX)
                x = a;
            else
                a = x;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}

#endif
