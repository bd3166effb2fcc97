/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_rseq.c - restartable sequences (rseq(2)): code that the kernel makes begin anew when its thread is
 * preempted in it, which it knows by the instruction pointer. Translated code lies elsewhere, and would not
 * be protected. So bursts end before the instruction that names such a sequence: the program executes it
 * itself.
 *
 * A sequence is described by a struct rseq_cs, to whose address a pointer in the thread's memory is set just
 * before it begins. The address has to come from somewhere: an instruction with it as a constant, or relative
 * to rip. That one is looked for in what is translated, and just before where a burst begins. What it points
 * to is such a struct if the kernel's signature stands before its abort handler.
 */
#include "burst_state.h"

enum {
    SIGNATURE = 0x53053053,
    ALIGNMENT = 32,
    LENGTH_MOST = 1 << 20,
    FLAGS_MOST = 7,
    LOWEST = 1 << 16,
    MOV_CONSTANT = 0xb8, /* opcodes */
    MOV_CONSTANT_LAST = 0xbf,
    STORE_CONSTANT = 0xc7,
};

typedef struct sequence { /* struct rseq_cs of linux/rseq.h */
    uint32_t version, flags;
    uint64_t begin, length, abort;
} sequence;

bool burst_is_sequence(uint64_t address)
{
    sequence found;
    uint32_t signature;
    if (address % ALIGNMENT || address < LOWEST || address >> 47) return false;
    if (burst_copy(&found, (const void *)address, sizeof found)) return false;
    if (found.version != 0 || found.flags > FLAGS_MOST || found.length == 0 || found.length > LENGTH_MOST ||
        found.begin < LOWEST || found.begin >> 47 || found.abort < LOWEST || found.abort >> 47)
        return false;
    return !burst_copy(&signature, (const void *)(found.abort - sizeof signature), sizeof signature) &&
           signature == SIGNATURE;
}

/* A constant can be the address of one only where the program lies as low as that. */
static bool is_near(uint64_t constant, uint64_t code)
{
    const uint64_t most = UINT64_C(1) << 28;
    return code >> 32 == 0 && (constant > code ? constant - code : code - constant) < most;
}

bool burst_names_sequence(const burst_instruction *in)
{
    if (in->shape.group != BURST_ORDINARY || in->vex) return false;
    if (in->relative && in->shape.kind == BURST_NO_ACCESS)
        return burst_is_sequence((uint64_t)in->displacement);
    if ((in->opcode >= MOV_CONSTANT && in->opcode <= MOV_CONSTANT_LAST) || in->opcode == STORE_CONSTANT) {
        const uint32_t bytes = in->shape.immediate;
        uint64_t constant = 0;
        if (bytes != 4 || in->length <= bytes) return false;
        __builtin_memcpy(&constant, in->bytes + in->length - bytes, bytes);
        return is_near(constant, in->address) && burst_is_sequence(constant);
    }
    return false;
}

bool burst_is_before_sequence(uint64_t address)
{
    enum { LEA_BYTES = 7, LEA = 0x8d, RELATIVE = 0x05, MOV_BYTES = 5 };
    unsigned char before[LEA_BYTES];
    int32_t number;
    if (burst_copy(before, (const void *)(address - LEA_BYTES), sizeof before)) return false;
    __builtin_memcpy(&number, before + LEA_BYTES - sizeof number, sizeof number);
    if ((before[0] & 0xf8) == 0x48 && before[1] == LEA && (before[2] & 0xc7) == RELATIVE)
        return burst_is_sequence(address + (uint64_t)(int64_t)number);
    return (before[LEA_BYTES - MOV_BYTES] & 0xf8) == MOV_CONSTANT && is_near((uint32_t)number, address) &&
           burst_is_sequence((uint32_t)number);
}
