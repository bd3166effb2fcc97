/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_translate.c - makes code of a block of the program's: its instructions up to a branch, with what logs
 * or counts its accesses around them.
 *
 *     cmp r15, [log_limit]; ja …       BURST_LOG: is there room?   (without flags where these are alive)
 *     sub qword [left], accesses; js … are there enough accesses?
 *     mov qword [r15], number          BURST_LOG: the block
 *     mov [r15 + 8], rdi               each address register, before the instruction that needs it
 *     the program's instruction …
 *     lea r15, [r15 + 8 * words]       at the end, so that the log has whole blocks only
 *     jump to the next block, or to the stub that has it made
 *
 * r15 is the log's cursor. Instructions that use r15 get the program's for as long as they follow each other;
 * it is in state->program_r15 otherwise.
 *
 * In BURST_COUNT r15 is the number of accesses left, and a block begins with lea r15, [r15 - accesses]. Only
 * blocks that end by a jump backwards look whether it is negative; so does the lookup of indirect branches,
 * so that there is no way round.
 */
#include "burst_translate.h"

static uint32_t offset_of(const maker *m)
{
    return (uint32_t)(m->out.at - (unsigned char *)m->out.state);
}

/* Where r15 is what it was for the program. */
static void need_program(maker *m)
{
    if (m->r15_loaded) return;
    burst *state = m->out.state;
    if (!m->cursor_kept) emit_save(&m->out, &state->cursor, BURST_R15);
    m->cursor_kept = true;
    emit_restore(&m->out, &state->program_r15, BURST_R15);
    m->r15_loaded = true;
    m->r15_changed = false;
}

void burst_need_cursor(maker *m)
{
    if (!m->r15_loaded) return;
    burst *state = m->out.state;
    if (m->r15_changed) emit_save(&m->out, &state->program_r15, BURST_R15);
    emit_restore(&m->out, &state->cursor, BURST_R15);
    m->r15_loaded = false;
}

/* Puts the program's own instruction, relative to rip or not, where it does the same. */
static void put_instruction(maker *m, const burst_instruction *in)
{
    burst_emitter *out = &m->out;
    burst *state = out->state;
    if (in->uses_r15) need_program(m);
    m->moved = m->r15_loaded ? BURST_R15_LOADED : 0;
    if (!(in->memory && in->relative)) {
        emit_instruction(out, in->bytes, in->length);
    } else {
        uint64_t target = (uint64_t)in->displacement;
        int64_t distance = (int64_t)(target - (uint64_t)(out->at + in->length));
        unsigned char *copy = out->at;
        bool load = in->opcode == 0x8b && !in->vex && !in->segment && in->shape.size >= 4;
        if (distance >= INT32_MIN && distance <= INT32_MAX) {
            emit_instruction(out, in->bytes, in->length);
            uint32_t displacement = (uint32_t)distance;
            __builtin_memcpy(copy + in->displacement_at, &displacement, 4);
        } else if (in->opcode == 0x8d && !in->vex && in->wide && !in->segment) { /* lea */
            emit_load_value(out, in->reg, target);
        } else if (load) { /* its own target is where the address can be */
            emit_save(out, &state->spilled, in->reg);
            m->moved |= (uint8_t)(BURST_SPILLED | in->reg << 4);
            emit_load_value(out, in->reg, target);
            copy = out->at;
            emit_based(out, 0x8b, in->reg, in->reg, 0);
            if (in->shape.size == 4) copy[0] &= 0xf7;
        } else {
            static const uint8_t candidates[] = {BURST_RAX, BURST_RCX, BURST_RDX,
                                                 BURST_RBX, BURST_RSI, BURST_RDI};
            uint32_t used = in->reads | in->writes, k = 0;
            while (used >> candidates[k] & 1) k++; /* no instruction uses them all and memory */
            uint8_t reg = candidates[k];
            emit_save(out, &state->spilled, reg);
            m->moved |= (uint8_t)(BURST_SPILLED | reg << 4);
            emit_load_value(out, reg, target);
            copy = out->at;
            emit_bytes(out, in->bytes, in->length);
            copy[in->modrm_at] = (unsigned char)((in->modrm & 0x38) | 0x80 | reg);
            __builtin_memset(copy + in->displacement_at, 0, 4);
            if (in->rex_at != BURST_NO_REGISTER) copy[in->rex_at] &= 0xfe;
            if (in->vex && copy[in->vex_at] != 0xc5) copy[in->vex_at + 1] |= 0x60;
            emit_restore(out, &state->spilled, reg);
        }
    }
    if (in->writes >> BURST_R15 & 1) m->r15_changed = true;
}

/*
 * Flags that the block's beginning may change: whether all of them are written before one is read. (A signal
 * handler that the program has for a fault in between would find others than without us.)
 */
static bool flags_dead(const maker *m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        const burst_shape *shape = &m->in[i].shape;
        if (shape->flags & BURST_FLAGS_READ) return false;
        if (shape->group != BURST_ORDINARY) {
            if (shape->group == BURST_PUSH && m->in[i].opcode == 0x9c) return false; /* pushf */
            if (shape->group != BURST_PUSH && shape->group != BURST_POP && shape->group != BURST_LEAVE)
                return false;
        }
        if (shape->flags & BURST_FLAGS_WRITTEN) return true;
    }
    return false;
}

static void jump_to_stub(maker *m, uint32_t opcode, uint32_t stub)
{
    emit_byte(&m->out, 0x0f);
    emit_byte(&m->out, opcode);
    m->stub_from[stub][m->stub_jumps[stub]++] = m->out.at;
    emit_32(&m->out, 0);
}

/* rcx is zero: go on; otherwise to a stub. */
static void leave_unless_zero(maker *m, uint32_t stub)
{
    burst_emitter *out = &m->out;
    emit_byte(out, 0xe3), emit_byte(out, 12); /* jrcxz, over the 7 and 5 bytes that follow */
    emit_restore(out, &out->state->saved[1], BURST_RCX);
    emit_byte(out, 0xe9);
    m->stub_from[stub][m->stub_jumps[stub]++] = out->at;
    emit_32(out, 0);
}

/* Is there room in the log, and are accesses left? */
static void check_log_and_count(maker *m, int64_t *counter, uint32_t amount, uint32_t stub, bool logs)
{
    burst_emitter *out = &m->out;
    burst *state = out->state;
    if (m->dead) {
        if (logs) {
            emit_byte(out, 0x4c), emit_byte(out, 0x3b), emit_byte(out, 0x3d); /* cmp r15, [log_limit] */
            emit_relative(out, &state->log_limit, 0);
            jump_to_stub(m, 0x87, STUB_LOG_FULL); /* ja */
        }
        emit_byte(out, 0x48), emit_byte(out, amount < 128 ? 0x83 : 0x81), emit_byte(out, 0x2d); /* sub */
        emit_relative(out, counter, amount < 128 ? 1 : 4);
        if (amount < 128)
            emit_byte(out, amount);
        else
            emit_32(out, amount);
        jump_to_stub(m, 0x88, stub); /* js */
        return;
    }
    emit_save(out, &state->saved[1], BURST_RCX);
    if (logs) {
        static const unsigned char compare[] = {0x4a, 0x8d, 0x0c, 0x39, /* lea rcx, [rcx + r15] */
                                                0x48, 0xf7, 0xd1};      /* not rcx */
        emit_restore(out, &state->minus_log_limit, BURST_RCX);
        emit_bytes(out, compare, sizeof compare);
        emit_save(out, &state->scratch, BURST_RCX);
        emit_byte(out, 0x0f), emit_byte(out, 0xb6), emit_byte(out, 0x0d); /* movzx ecx, byte [scratch + 7] */
        emit_relative(out, (unsigned char *)&state->scratch + 7, 0);
        leave_unless_zero(m, STUB_LOG_FULL);
    }
    emit_restore(out, counter, BURST_RCX);
    emit_based(out, 0x8d, BURST_RCX, BURST_RCX, -(int32_t)amount); /* lea rcx, [rcx - amount] */
    emit_save(out, counter, BURST_RCX);
    emit_byte(out, 0x0f), emit_byte(out, 0xb6), emit_byte(out, 0x0d); /* movzx ecx, byte [counter + 7] */
    emit_relative(out, (unsigned char *)counter + 7, 0);
    leave_unless_zero(m, stub);
    emit_restore(out, &state->saved[1], BURST_RCX);
}

/* BURST_COUNT: subtracts the block's accesses, and looks at what is left where `check`. */
static void count(maker *m, bool check)
{
    burst_emitter *out = &m->out;
    burst *state = out->state;
    if (!check || !m->dead) {
        if (m->accesses) emit_based(out, 0x8d, BURST_R15, BURST_R15, -(int32_t)m->accesses);
    } else {
        bool near_by = m->accesses < 128; /* sub r15, accesses */
        emit_byte(out, 0x49), emit_byte(out, near_by ? 0x83 : 0x81), emit_byte(out, 0xef);
        if (near_by)
            emit_byte(out, m->accesses);
        else
            emit_32(out, m->accesses);
        jump_to_stub(m, 0x88, STUB_ENOUGH); /* js */
    }
    if (!check || m->dead) return;
    emit_save(out, &state->saved[1], BURST_RCX);
    emit_save(out, &state->scratch, BURST_R15);
    emit_byte(out, 0x0f), emit_byte(out, 0xb6), emit_byte(out, 0x0d); /* movzx ecx, byte [scratch + 7] */
    emit_relative(out, (unsigned char *)&state->scratch + 7, 0);
    leave_unless_zero(m, STUB_ENOUGH);
    emit_restore(out, &state->saved[1], BURST_RCX);
}

/* A block without accesses can be a part of a loop without any: these must end too. */
static bool may_loop(const maker *m)
{
    const burst_instruction *last = &m->in[m->count - 1];
    switch (last->shape.group) {
    case BURST_JUMP:
    case BURST_JUMP_IF:
    case BURST_JUMP_RCX:
    case BURST_CALL:
        return (uint64_t)last->immediate <= last->address;
    case BURST_JUMP_TO:
        return true;
    default:
        return false;
    }
}

static void put_head(maker *m)
{
    burst *state = m->out.state;
    bool logs = m->mode == BURST_LOG && m->described;
    if (m->mode == BURST_COUNT && (m->accesses || m->repeated)) {
        count(m, may_loop(m) || m->repeated);
    } else if (m->accesses || m->repeated) {
        check_log_and_count(m, &state->left, m->accesses, STUB_ENOUGH, logs);
    } else if (may_loop(m)) {
        check_log_and_count(m, &state->idle, 1, STUB_IDLE, false);
    }
    if (logs) {
        emit_byte(&m->out, 0x49), emit_byte(&m->out, 0xc7),
            emit_byte(&m->out, 0x07); /* mov qword [r15], number */
        emit_32(&m->out, m->number);
    }
}

/* The block's words belong to the log. */
static void commit(maker *m)
{
    burst_need_cursor(m);
    if (m->mode == BURST_LOG && m->described)
        emit_based(&m->out, 0x8d, BURST_R15, BURST_R15, 8 * (int32_t)(1 + m->words));
}

/*
 * A jump (opcode 0: always, or the second byte of a conditional one) to a block that may not be there yet.
 * `rest`: accesses of this block that are not done then.
 */
static void put_exit(maker *m, uint32_t opcode, uint64_t target, uint32_t rest)
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
        need_program(m);
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

static void put_repeated(maker *m, const burst_instruction *in)
{
    burst_emitter *out = &m->out;
    burst *state = out->state;
    emit_save(out, &state->repeats, BURST_RCX);
    m->moved = 0;
    emit_bytes(out, in->bytes, in->length);
    burst_log_after(m, in);
    static const unsigned char done[] = {0x48, 0xf7, 0xd2,              /* not rdx */
                                         0x48, 0x8d, 0x4c, 0x11, 0x01}; /* lea rcx, [rcx + rdx + 1] */
    static const unsigned char twice[] = {0x48, 0x8d, 0x0c, 0x09};      /* lea rcx, [rcx + rcx] */
    static const unsigned char subtract[] = {0x48, 0x8d, 0x14, 0x0a};   /* lea rdx, [rdx + rcx] */
    emit_save(out, &state->saved[1], BURST_RCX);
    emit_save(out, &state->saved[2], BURST_RDX);
    emit_restore(out, &state->repeats, BURST_RDX);
    emit_bytes(out, done, sizeof done);
    if (in->shape.string & 1 && in->shape.string & 6) emit_bytes(out, twice, sizeof twice);
    if (m->mode == BURST_COUNT) {
        static const unsigned char subtract_count[] = {0x4d, 0x8d, 0x3c, 0x0f}; /* lea r15, [r15 + rcx] */
        emit_bytes(out, subtract_count, sizeof subtract_count);
    } else {
        emit_restore(out, &state->left, BURST_RDX);
        emit_bytes(out, subtract, sizeof subtract);
        emit_save(out, &state->left, BURST_RDX);
    }
    emit_restore(out, &state->saved[1], BURST_RCX);
    emit_restore(out, &state->saved[2], BURST_RDX);
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
    commit(m);
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

/* A branch; the block's last instruction, or one after which `rest` accesses follow. */
static void put_branch(maker *m, const burst_instruction *in, bool last, uint32_t rest)
{
    burst_emitter *out = &m->out;
    burst *state = out->state;
    uint64_t next = in->address + in->length, target = (uint64_t)in->immediate;
    m->moved = 0;
    switch (in->shape.group) {
    case BURST_JUMP:
        commit(m);
        put_exit(m, 0, target, 0);
        break;
    case BURST_JUMP_IF:
        commit(m);
        put_exit(m, 0x80 | (in->opcode & 15), target, rest);
        if (last) put_exit(m, 0, next, 0);
        break;
    case BURST_JUMP_RCX:
        commit(m);
        emit_bytes(out, in->bytes, (size_t)in->length - 1);
        emit_byte(out, 5);
        put_exit(m, 0, next, 0);
        put_exit(m, 0, target, 0);
        break;
    case BURST_CALL:
        burst_need_cursor(m);
        put_return_address(m, next);
        commit(m);
        put_exit(m, 0, target, 0);
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

static bool is_branch(const burst_instruction *in)
{
    switch (in->shape.group) {
    case BURST_JUMP:
    case BURST_JUMP_IF:
    case BURST_JUMP_RCX:
    case BURST_CALL:
    case BURST_RETURN:
    case BURST_JUMP_TO:
    case BURST_CALL_TO:
        return true;
    default:
        return false;
    }
}

/* What burst_log_before could not tell. */
static bool is_tellable(const burst *state, const burst_instruction *in)
{
    if (in->segment == BURST_GS && in->memory && !state->gs_readable) return false;
    switch (in->shape.group) {
    case BURST_REPEATED:
        return !in->segment;
    case BURST_JUMP_TO:
    case BURST_CALL_TO:
        return !(in->relative && in->segment);
    default:
        return true;
    }
}

/* Each costs code, which is then not there for other blocks. */
enum { SIDE_EXITS = 2 };

/* BURST_COUNT: a block goes on after a branch forwards that is not taken, so that less is counted and jumped.
 */
static bool goes_on(maker *m, const burst_instruction *in, const burst_range *range)
{
    if (m->mode != BURST_COUNT || range->trust != BURST_TRUST_FILE || in->shape.group != BURST_JUMP_IF)
        return false;
    if ((uint64_t)in->immediate <= in->address || m->exits >= SIDE_EXITS) return false;
    m->exits++; /* so many are needed */
    return true;
}

/* Copies the program's code, as far as the instruction at `address` may reach; returns how many bytes of it.
 */
static size_t fetch(maker *m, uint64_t address, const burst_range *range)
{
    uint64_t begin = m->code->address;
    while (m->fetched < address - begin + 15 && begin + m->fetched < range->behind) {
        uint64_t at = begin + m->fetched, left = range->behind - at, in_line = BURST_LINE - at % BURST_LINE;
        size_t count = left < in_line ? (size_t)left : (size_t)in_line;
        const void *from = (const void *)at;
        if (range->trust == BURST_TRUST_FILE) {
            from = burst_line_get(m->out.state, at, &m->full);
            if (!from) break;
            from = (const unsigned char *)from + at % BURST_LINE;
        }
        if (burst_copy(m->bytes + m->fetched, from, count)) break;
        m->fetched += (uint32_t)count;
    }
    return m->fetched - (address - begin);
}

/* Decodes the block; m->count instructions. Returns why it is empty, if it is. */
static burst_end decode_block(maker *m, uint64_t address, const burst_range *range)
{
    burst *state = m->out.state;
    uint32_t most = range->trust == BURST_TRUST_WRITABLE ? 1 : BURST_INSTRUCTIONS;
    uint32_t words = 0;
    uint64_t begin = address;
    m->count = 0;
    m->fetched = 0;
    while (m->count < most && words < BURST_WORDS_MOST - 24) {
        burst_instruction *in = &m->in[m->count];
        size_t room = fetch(m, address, range);
        if (room == 0) {
            if (m->count) break;
            return BURST_END_MEMORY;
        }
        burst_decode(in, &state->vectors, m->bytes + (address - begin), address, room);
        burst_group group = (burst_group)in->shape.group;
        if (group == BURST_STOP || !is_tellable(state, in) || burst_names_sequence(in)) {
            if (m->count) break;
            return BURST_END_INSTRUCTION;
        }
        if (group == BURST_SYSTEM_CALL) {
            if (m->count) break;
            m->code->bytes = in->length;
            return BURST_END_SYSTEM_CALL;
        }
        if (group == BURST_REPEATED) {
            if (m->count) break;
            most = 1;
            m->repeated = true;
        }
        m->count++;
        address += in->length;
        m->accesses += burst_count_accesses(in);
        words += group == BURST_VECTOR ? 19 : 3;
        if (is_branch(in) && !goes_on(m, in, range)) break;
    }
    m->code->bytes = (uint16_t)(address - m->in[0].address);
    return BURST_END_DONE;
}

static void lead_here(const burst_emitter *out, unsigned char *from)
{
    lead_to(from, out->at);
}

static void put_stub(burst_emitter *out, uint32_t number)
{
    emit_store_32(out, &out->state->exit, number);
    emit_jump(out, burst_at(out->state, out->state->stub_exit));
}

static void put_stubs(maker *m, uint32_t number)
{
    static const uint8_t exits[STUBS] = {BURST_EXIT_HEAD, BURST_EXIT_IDLE, BURST_EXIT_LOG_FULL};
    burst_emitter *out = &m->out;
    for (uint32_t i = 0; i < m->exits; i++) {
        lead_here(out, m->exit[i].from);
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
        for (uint32_t i = 0; i < m->stub_jumps[stub]; i++) lead_here(out, m->stub_from[stub][i]);
        put_stub(out, number * BURST_EXITS + exits[stub]);
    }
}

static void put_block(maker *m)
{
    burst_code *code = m->code;
    burst_mark *marks = m->marks;
    unsigned char *begin = m->out.at;
    uint32_t rest = m->accesses;
    m->dead = flags_dead(m);
    put_head(m);
    for (uint32_t i = 0; i < m->count; i++) {
        const burst_instruction *in = &m->in[i];
        burst_log_before(m, in);
        rest -= burst_count_accesses(in);
        if (is_branch(in))
            put_branch(m, in, i + 1 == m->count, rest);
        else if (in->shape.group == BURST_REPEATED)
            put_repeated(m, in);
        else
            put_instruction(m, in);
        burst_log_changes(m, in);
        marks[i].behind = (uint16_t)(m->out.at - begin);
        marks[i].length = in->length;
        marks[i].moved = m->moved;
    }
    if (!is_branch(&m->in[m->count - 1])) {
        commit(m);
        put_exit(m, 0, code->address + code->bytes, 0);
    }
}

burst_code *burst_translate(burst *state, burst_mode mode, uint64_t address)
{
    if (state->codes_used == state->codes_most || state->code_end - state->code_used < BURST_CODE_MOST)
        return NULL;
    burst_range range;
    maker m;
    burst_maker_begin(&m, state, mode);
    uint32_t number = state->codes_used;
    burst_code *code = m.code = &state->codes[number];
    code->address = address;
    code->code = code->code_end = code->marks = code->exits = 0;
    code->bytes = code->instructions = code->accesses = code->words = 0;
    code->popped = 0;
    code->guess = 0;
    code->mode = (uint8_t)mode;
    code->dropped = false;
    burst_end stop = BURST_END_MEMORY;
    code->trust = BURST_TRUST_NONE;
    if (burst_find_range(state, address, &range)) {
        code->trust = (uint8_t)range.trust;
        stop = decode_block(&m, address, &range);
        if (m.full) return NULL;
    }
    code->stop = (uint8_t)stop;
    if (stop == BURST_END_DONE) {
        if (mode == BURST_LOG && (m.accesses || m.repeated) && !burst_describe_begin(&m)) return NULL;
        m.out.at = burst_at(state, state->code_used);
        m.exits = 0;
        code->code = state->code_used;
        put_block(&m);
        put_stubs(&m, number);
        code->code_end = offset_of(&m);
        code->instructions = (uint16_t)m.count;
        code->accesses = (uint16_t)m.accesses;
        code->words = m.described ? (uint16_t)(1 + m.words) : 0;
        if (m.described) burst_describe_end(&m);
    } else {
        m.out.at = burst_at(state, state->code_used);
        m.count = m.exits = 0;
    }
    /* Behind the code: where it leads, where its instructions end, and what they were. */
    while ((uint64_t)m.out.at & 7) emit_byte(&m.out, 0xcc);
    code->exits = offset_of(&m);
    for (uint32_t i = 0; i < m.exits; i++) {
        burst_direct direct = {.target = m.exit[i].target, .patch = m.exit[i].patch, .unused = 0};
        __builtin_memcpy(m.out.at, &direct, sizeof direct);
        m.out.at += sizeof direct;
    }
    code->marks = offset_of(&m);
    for (uint32_t i = 0; i < m.count; i++) {
        __builtin_memcpy(m.out.at, &m.marks[i], sizeof m.marks[i]);
        m.out.at += sizeof m.marks[i];
    }
    if (code->trust != BURST_TRUST_FILE && (stop == BURST_END_DONE || stop == BURST_END_SYSTEM_CALL))
        emit_bytes(&m.out, m.bytes, code->bytes);
    state->code_used = (offset_of(&m) + 31) / 32 * 32;
    state->codes_used++;
    state->fresh++;
    return code;
}
