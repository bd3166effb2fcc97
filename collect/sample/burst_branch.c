/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_branch.c - where a block leads: branches, jumps to blocks that may not be there yet, the lookup of
 * targets that are known only when it runs, and the stubs behind the code that say which exit it was.
 */
#include "burst_state.h"

void burst_commit(maker *m)
{
    burst_need_cursor(m);
    if (m->mode == BURST_LOG && m->described)
        emit_based(&m->out, 0x8d, BURST_R15, BURST_R15, 8 * (int32_t)(1 + m->words));
}

void burst_put_exit(maker *m, uint32_t opcode, uint64_t target, uint32_t rest)
{
    if (opcode)
        emit_byte(&m->out, 0x0f), emit_byte(&m->out, opcode);
    else
        emit_byte(&m->out, 0xe9);
    m->exit[m->exits].target = target;
    m->exit[m->exits].from = m->out.at;
    m->exit[m->exits].rest = rest;
    m->exit[m->exits++].patch = offset_of(m);
    emit_32(&m->out, 0);
}

/* Puts the program's return address on its stack. A fault leaves the stack pointer as it was. */
static void put_return_address(maker *m, uint64_t address)
{
    burst_emitter *out = &m->out;
    static const unsigned char low[] = {0xc7, 0x44, 0x24, 0xf8}, high[] = {0xc7, 0x44, 0x24, 0xfc};
    emit_bytes(out, low, sizeof low), emit_32(out, (uint32_t)address);
    emit_bytes(out, high, sizeof high), emit_32(out, (uint32_t)(address >> 32));
    emit_based(out, 0x8d, BURST_RSP, BURST_RSP, -8);
}

/* rax becomes the target of an indirect branch. */
static void put_target(maker *m, const burst_instruction *in)
{
    burst_emitter *out = &m->out;
    if (in->uses_r15)
        burst_need_program(m);
    else
        burst_need_cursor(m);
    emit_save(out, &out->state->saved[0], BURST_RAX);
    m->moved = (uint8_t)((m->r15_loaded ? BURST_R15_LOADED : 0) | BURST_RAX_SPILLED);
    uint32_t rex = in->rex_at != BURST_NO_REGISTER ? in->bytes[in->rex_at] & 3u : 0;
    if (in->relative) {
        emit_load_value(out, BURST_RAX, (uint64_t)in->displacement);
        emit_based(out, 0x8b, BURST_RAX, BURST_RAX, 0);
        return;
    }
    if (in->segment) emit_byte(out, in->segment == BURST_FS ? 0x64 : 0x65);
    if (in->short_address) emit_byte(out, 0x67);
    emit_byte(out, 0x48 | rex);
    emit_byte(out, 0x8b);
    emit_byte(out, in->modrm & 0xc7);
    emit_bytes(out, in->bytes + in->modrm_at + 1, (size_t)(in->length - in->modrm_at - 1));
}

/* Places in the code of put_lookup, from the first target's value on. */
enum {
    GUESS_LOOK = 8 + 4 + 2,
    GUESS_EQUAL = GUESS_LOOK + 7 + 10 + 5,
    GUESS_CHECK = 7 + 7 + 2 + 2,
    GUESS_JUMP = 7 + 7 + 1,
};

static void lead_to(unsigned char *from, const unsigned char *to)
{
    uint32_t distance = (uint32_t)(to - (from + 4));
    __builtin_memcpy(from, &distance, 4);
}

/*
 * To the block at the address in rax. The first target that this branch had is compared with first (the
 * dispatcher fills it in, burst_guess_target); others are looked up.
 */
static void put_lookup(maker *m, int32_t popped)
{
    burst_emitter *out = &m->out;
    burst *state = out->state;
    burst_commit(m);
    m->code->popped = popped;
    emit_save(out, &state->saved[1], BURST_RCX);
    emit_byte(out, 0x48), emit_byte(out, 0xb9); /* mov rcx, - the first target */
    m->code->guess = offset_of(m);
    emit_64(out, 0);
    static const unsigned char compare[] = {0x48, 0x8d,
                                            0x0c, 0x01,                      /* lea rcx, [rcx + rax] */
                                            0xe3, GUESS_EQUAL - GUESS_LOOK}; /* jrcxz */
    emit_bytes(out, compare, sizeof compare);
    /* GUESS_LOOK: another one */
    emit_restore(out, &state->saved[1], BURST_RCX);
    emit_store_32(out, &state->exit, (uint32_t)(m->code - state->codes) * BURST_EXITS + BURST_EXIT_INDIRECT);
    emit_jump(out, burst_at(state, state->stub_first));
    /* GUESS_EQUAL */
    if (m->mode == BURST_COUNT) { /* are accesses left? */
        emit_save(out, &state->scratch, BURST_R15);
        emit_byte(out, 0x0f), emit_byte(out, 0xb6), emit_byte(out, 0x0d); /* movzx ecx, byte [scratch + 7] */
        emit_relative(out, (unsigned char *)&state->scratch + 7, 0);
        emit_byte(out, 0xe3), emit_byte(out, 2); /* jrcxz over the jump */
        emit_byte(out, 0xeb);                    /* jmp GUESS_LOOK */
        emit_byte(out, (uint32_t)(burst_at(state, m->code->guess) + GUESS_LOOK - (out->at + 1)) & 0xff);
    }
    emit_restore(out, &state->saved[1], BURST_RCX);
    emit_restore(out, &state->saved[0], BURST_RAX);
    emit_byte(out, 0xe9);
    emit_32(out, 0); /* not taken before it is filled in: no address is 0 */
}

void burst_guess_target(burst *state, burst_code *from, const burst_code *to)
{
    if (!from->guess) return;
    unsigned char *guess = burst_at(state, from->guess);
    uint32_t jump = GUESS_EQUAL + (from->mode == BURST_COUNT ? GUESS_CHECK : 0) + GUESS_JUMP;
    lead_to(guess + GUESS_EQUAL - 4, burst_at(state, state->stub_lookup[from->mode]));
    from->guess = 0;
    if (to->trust != BURST_TRUST_FILE) return;
    uint64_t negated = 0 - to->address;
    __builtin_memcpy(guess, &negated, 8);
    lead_to(guess + jump, burst_at(state, to->code));
}

void burst_put_branch(maker *m, const burst_instruction *in, bool last, uint32_t rest)
{
    burst_emitter *out = &m->out;
    burst *state = out->state;
    uint64_t next = in->address + in->length, target = (uint64_t)in->immediate;
    m->moved = 0;
    switch (in->shape.group) {
    case BURST_JUMP:
        burst_commit(m);
        burst_put_exit(m, 0, target, 0);
        break;
    case BURST_JUMP_IF:
        burst_commit(m);
        burst_put_exit(m, 0x80 | (in->opcode & 15), target, rest);
        if (last) burst_put_exit(m, 0, next, 0);
        break;
    case BURST_JUMP_RCX:
        burst_commit(m);
        emit_bytes(out, in->bytes, (size_t)in->length - 1);
        emit_byte(out, 5);
        burst_put_exit(m, 0, next, 0);
        burst_put_exit(m, 0, target, 0);
        break;
    case BURST_CALL:
        burst_need_cursor(m);
        put_return_address(m, next);
        burst_commit(m);
        burst_put_exit(m, 0, target, 0);
        break;
    case BURST_RETURN:
        burst_need_cursor(m);
        emit_save(out, &state->saved[0], BURST_RAX);
        m->moved = BURST_RAX_SPILLED;
        emit_based(out, 0x8b, BURST_RAX, BURST_RSP, 0);
        emit_based(out, 0x8d, BURST_RSP, BURST_RSP, 8 + (int32_t)in->immediate);
        put_lookup(m, 8 + (int32_t)in->immediate);
        break;
    case BURST_JUMP_TO:
        put_target(m, in);
        put_lookup(m, 0);
        break;
    case BURST_CALL_TO:
        put_target(m, in);
        put_return_address(m, next);
        put_lookup(m, -8);
        break;
    default:
        break;
    }
}

static void put_stub(burst_emitter *out, uint32_t number)
{
    emit_store_32(out, &out->state->exit, number);
    emit_jump(out, burst_at(out->state, out->state->stub_exit));
}

void burst_put_stubs(maker *m, uint32_t number)
{
    static const uint8_t exits[STUBS] = {BURST_EXIT_HEAD, BURST_EXIT_IDLE, BURST_EXIT_LOG_FULL};
    burst_emitter *out = &m->out;
    for (uint32_t i = 0; i < m->exits; i++) {
        lead_to(m->exit[i].from, out->at);
        if (m->exit[i].rest) { /* of what was counted at the beginning, this was not done */
            emit_based(out, 0x8d, BURST_R15, BURST_R15, (int32_t)m->exit[i].rest);
            emit_byte(out, 0xe9);
            m->exit[i].patch = offset_of(m);
            emit_32(out, 0);
        }
        put_stub(out, number * BURST_EXITS + i);
    }
    for (uint32_t stub = 0; stub < STUBS; stub++) {
        if (!m->stub_jumps[stub]) continue;
        for (uint32_t i = 0; i < m->stub_jumps[stub]; i++) lead_to(m->stub_from[stub][i], out->at);
        put_stub(out, number * BURST_EXITS + exits[stub]);
    }
}
