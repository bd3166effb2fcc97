/* SPDX-License-Identifier: BSD-2-Clause */
/* burst_emit.h - writes instructions into a state's code. None of those here changes flags but where said. */
#ifndef FATHOM_BURST_EMIT_H
#define FATHOM_BURST_EMIT_H

#include "burst_state.h"

typedef struct burst_emitter {
    burst *state;
    unsigned char *at;
} burst_emitter;

static inline void emit_byte(burst_emitter *out, uint32_t byte)
{
    *out->at++ = (unsigned char)byte;
}

static inline void emit_bytes(burst_emitter *out, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) out->at[i] = bytes[i];
    out->at += count;
}

/* An instruction of the program's: 16 bytes are copied, which can be read and written there. */
static inline void emit_instruction(burst_emitter *out, const unsigned char *bytes, size_t length)
{
    uint64_t low, high;
    __builtin_memcpy(&low, bytes, 8);
    __builtin_memcpy(&high, bytes + 8, 8);
    __builtin_memcpy(out->at, &low, 8);
    __builtin_memcpy(out->at + 8, &high, 8);
    out->at += length;
}

static inline void emit_32(burst_emitter *out, uint32_t value)
{
    __builtin_memcpy(out->at, &value, 4);
    out->at += 4;
}

static inline void emit_64(burst_emitter *out, uint64_t value)
{
    __builtin_memcpy(out->at, &value, 8);
    out->at += 8;
}

/* The displacement of [rip + …] that reaches `place`; `behind` bytes of the instruction follow it. */
static inline void emit_relative(burst_emitter *out, const void *place, uint32_t behind)
{
    emit_32(out, (uint32_t)((const unsigned char *)place - (out->at + 4 + behind)));
}

/* mov [place], reg */
static inline void emit_save(burst_emitter *out, void *place, uint32_t reg)
{
    emit_byte(out, 0x48 | (reg >> 3) << 2);
    emit_byte(out, 0x89);
    emit_byte(out, 5 | (reg & 7) << 3);
    emit_relative(out, place, 0);
}

/* mov reg, [place] */
static inline void emit_restore(burst_emitter *out, const void *place, uint32_t reg)
{
    emit_byte(out, 0x48 | (reg >> 3) << 2);
    emit_byte(out, 0x8b);
    emit_byte(out, 5 | (reg & 7) << 3);
    emit_relative(out, place, 0);
}

/* opcode reg, [base + displacement] or [base + displacement], reg; 64 bits wide. */
static inline void emit_based(burst_emitter *out, uint32_t opcode, uint32_t reg, uint32_t base,
                              int32_t displacement)
{
    emit_byte(out, 0x48 | (reg >> 3) << 2 | base >> 3);
    emit_byte(out, opcode);
    bool near_by = displacement >= -128 && displacement < 128;
    emit_byte(out, (near_by ? 0x40 : 0x80) | (reg & 7) << 3 | (base & 7));
    if ((base & 7) == BURST_RSP) emit_byte(out, 0x24);
    if (near_by)
        emit_byte(out, (uint32_t)displacement & 0xff);
    else
        emit_32(out, (uint32_t)displacement);
}

/* mov reg, value */
static inline void emit_load_value(burst_emitter *out, uint32_t reg, uint64_t value)
{
    if (value <= UINT32_MAX) {
        if (reg >= 8) emit_byte(out, 0x41);
        emit_byte(out, 0xb8 | (reg & 7));
        emit_32(out, (uint32_t)value);
    } else {
        emit_byte(out, 0x48 | reg >> 3);
        emit_byte(out, 0xb8 | (reg & 7));
        emit_64(out, value);
    }
}

/* jmp place */
static inline void emit_jump(burst_emitter *out, const unsigned char *place)
{
    emit_byte(out, 0xe9);
    emit_relative(out, place, 0);
}

/* mov dword [place], value */
static inline void emit_store_32(burst_emitter *out, void *place, uint32_t value)
{
    emit_byte(out, 0xc7);
    emit_byte(out, 0x05);
    emit_relative(out, place, 4);
    emit_32(out, value);
}

#endif
