/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_stubs.c - the code that each state has once: the way from C into translated code, the way back, and
 * the lookup of targets of indirect jumps.
 */
#include "burst_emit.h"

static const unsigned char push_all[] = {0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57};
static const unsigned char pop_all_and_return[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d,
                                                   0x41, 0x5c, 0x5d, 0x5b, 0xc3};

/* A function of C's: keeps its registers, loads the program's, goes to enter_target. */
static void make_enter(burst_emitter *out)
{
    burst *state = out->state;
    emit_bytes(out, push_all, sizeof push_all);
    emit_save(out, &state->host_stack, BURST_RSP);
    emit_byte(out, 0xff), emit_byte(out, 0x35), emit_relative(out, &state->flags, 0); /* push [flags] */
    emit_byte(out, 0x9d);                                                             /* popfq */
    for (uint32_t i = 0; i < 16; i++) emit_restore(out, &state->registers[i], i);
    emit_byte(out, 0xff), emit_byte(out, 0x25), emit_relative(out, &state->enter_target, 0);
}

/* Keeps the program's registers, and returns from what make_enter made. */
static void make_exit(burst_emitter *out)
{
    burst *state = out->state;
    for (uint32_t i = 0; i < 16; i++) emit_save(out, &state->registers[i], i);
    emit_restore(out, &state->host_stack, BURST_RSP);
    emit_byte(out, 0x9c);                                                             /* pushfq */
    emit_byte(out, 0x8f), emit_byte(out, 0x05), emit_relative(out, &state->flags, 0); /* pop [flags] */
    emit_byte(out, 0xfc);                                                             /* cld */
    emit_bytes(out, pop_all_and_return, sizeof pop_all_and_return);
}

/*
 * rax is the target, the program's rax is in saved[0], state->exit says which block it was. Flags must stay:
 * additions are made by lea, the comparison by jrcxz. In BURST_COUNT it ends
 * the burst too, when there are enough accesses. The entry is number (lowest byte) + 8 * (next byte).
 */
static void make_lookup(burst_emitter *out, burst_mode mode)
{
    burst *state = out->state;
    static const unsigned char number[] = {
        0x0f, 0xb6, 0xc8,       /* movzx ecx, al */
        0x0f, 0xb6, 0xd4,       /* movzx edx, ah */
        0x8d, 0x14, 0xd1,       /* lea edx, [rcx + rdx*8] */
        0x48, 0x8d, 0x14, 0x12, /* lea rdx, [rdx + rdx] */
    };
    static const unsigned char compare[] = {
        0x48, 0x8d, 0x14, 0xd1, /* lea rdx, [rcx + rdx*8] */
        0x48, 0x8b, 0x0a,       /* mov rcx, [rdx] */
        0x48, 0x8d, 0x0c, 0x01, /* lea rcx, [rcx + rax] */
    };
    emit_save(out, &state->saved[1], BURST_RCX);
    emit_save(out, &state->saved[2], BURST_RDX);
    unsigned char *enough = NULL;
    if (mode == BURST_COUNT) {
        emit_save(out, &state->scratch, BURST_R15);
        emit_byte(out, 0x0f), emit_byte(out, 0xb6), emit_byte(out, 0x0d); /* movzx ecx, byte [scratch + 7] */
        emit_relative(out, (unsigned char *)&state->scratch + 7, 0);
        emit_byte(out, 0xe3), emit_byte(out, 5); /* jrcxz over the jump */
        emit_byte(out, 0xe9);
        enough = out->at;
        emit_32(out, 0);
    }
    emit_bytes(out, number, sizeof number);
    emit_byte(out, 0x48), emit_byte(out, 0x8d), emit_byte(out, 0x0d); /* lea rcx, [lookup] */
    emit_relative(out, state->lookup[mode], 0);
    emit_bytes(out, compare, sizeof compare);
    emit_byte(out, 0xe3); /* jrcxz found */
    unsigned char *hop = out->at;
    emit_byte(out, 0);
    if (enough) {
        uint32_t distance = (uint32_t)(out->at - (enough + 4));
        __builtin_memcpy(enough, &distance, 4);
    }
    emit_save(out, &state->jump_target, BURST_RAX);
    emit_restore(out, &state->saved[0], BURST_RAX);
    emit_restore(out, &state->saved[1], BURST_RCX);
    emit_restore(out, &state->saved[2], BURST_RDX);
    emit_jump(out, burst_at(state, state->stub_exit));
    *hop = (unsigned char)(out->at - hop - 1);
    emit_based(out, 0x8b, BURST_RDX, BURST_RDX, 8);
    emit_save(out, &state->jump_slot, BURST_RDX);
    emit_restore(out, &state->saved[0], BURST_RAX);
    emit_restore(out, &state->saved[1], BURST_RCX);
    emit_restore(out, &state->saved[2], BURST_RDX);
    emit_byte(out, 0xff), emit_byte(out, 0x25), emit_relative(out, &state->jump_slot, 0);
}

/* rax is a target that is met for the first time at this place: the dispatcher finds it. */
static void make_first(burst_emitter *out)
{
    burst *state = out->state;
    emit_save(out, &state->jump_target, BURST_RAX);
    emit_restore(out, &state->saved[0], BURST_RAX);
    emit_jump(out, burst_at(state, state->stub_exit));
}

static uint32_t offset_of(const burst_emitter *out)
{
    return (uint32_t)(out->at - (unsigned char *)out->state);
}

void burst_make_stubs(burst *state)
{
    burst_emitter out = {.state = state, .at = burst_at(state, state->code_used)};
    state->stub_enter = offset_of(&out);
    make_enter(&out);
    state->stub_exit = offset_of(&out);
    make_exit(&out);
    state->stub_first = offset_of(&out);
    make_first(&out);
    for (burst_mode mode = BURST_LOG; mode <= BURST_COUNT; mode++) {
        state->stub_lookup[mode] = offset_of(&out);
        make_lookup(&out, mode);
    }
    state->code_used = (offset_of(&out) + 63) / 64 * 64;
}
