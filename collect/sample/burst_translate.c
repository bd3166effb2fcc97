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
#include "burst_state.h"

void burst_need_program(maker *m)
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
    if (in->uses_r15) burst_need_program(m);
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
static void emit_count(maker *m, bool check)
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
        emit_count(m, may_loop(m) || m->repeated);
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
static size_t code_fetch(maker *m, uint64_t address, const burst_range *range)
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
        size_t room = code_fetch(m, address, range);
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
            burst_put_branch(m, in, i + 1 == m->count, rest);
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
        burst_commit(m);
        burst_put_exit(m, 0, code->address + code->bytes, 0);
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
        burst_put_stubs(&m, number);
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
