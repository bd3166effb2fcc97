/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_describe.c - which words of the log a block needs, the code that writes them, and the block's entry
 * in the table. An access is described by the registers of its address; their values become words, once for
 * as long as they do not change, or change by what is known (push, pop, add of a constant).
 *
 * What counts as an access, of which size and kind, is what `fathom run` says (collect/valgrind): each
 * instruction that modifies memory loads it and stores it; a call stores its return address.
 */
#include "burst_state.h"

enum { TABLE_UNIT = 8, ENTRY_MOST = sizeof(burst_block) + 2 * BURST_INSTRUCTIONS * sizeof(burst_access) };

void burst_maker_begin(maker *m, burst *state, burst_mode mode)
{
    m->out.state = state;
    m->out.at = NULL;
    m->mode = mode;
    m->count = m->accesses = m->words = m->number = 0;
    m->repeated = m->dead = m->full = m->r15_loaded = m->r15_changed = m->cursor_kept = false;
    m->moved = 0;
    m->described = NULL;
    for (uint32_t i = 0; i < 16; i++) {
        m->word_of[i] = BURST_NO_WORD;
        m->delta[i] = 0;
    }
    m->exits = 0;
    for (uint32_t i = 0; i < STUBS; i++) m->stub_jumps[i] = 0;
}

uint32_t burst_count_accesses(const burst_instruction *in)
{
    const burst_shape *shape = &in->shape;
    uint32_t named = !in->memory || shape->kind == BURST_NO_ACCESS ? 0 : shape->kind == BURST_MODIFY ? 2 : 1;
    switch (shape->group) {
    case BURST_ORDINARY:
    case BURST_JUMP_TO:
    case BURST_BIT_STRING:
        return named;
    case BURST_PUSH:
    case BURST_POP:
    case BURST_CALL_TO:
        return named + 1;
    case BURST_LEAVE:
    case BURST_CALL:
    case BURST_RETURN:
    case BURST_XLAT:
        return 1;
    case BURST_BYTES:
        return 2;
    case BURST_ONE_STRING:
        return shape->string & 1 && shape->string & 6 ? 2 : 1;
    case BURST_VECTOR:
        return in->count;
    default:
        return 0;
    }
}

bool burst_describe_begin(maker *m)
{
    burst *state = m->out.state;
    burst_table *table = state->table;
    if (state->table_bytes < table->used || state->table_bytes - table->used < ENTRY_MOST) return false;
    if (table->used / TABLE_UNIT > INT32_MAX) return false;
    m->described = (void *)((unsigned char *)table + table->used);
    m->number = (uint32_t)(table->used / TABLE_UNIT);
    m->described->accesses = 0;
    return true;
}

void burst_describe_end(maker *m)
{
    burst_block *block = m->described;
    burst_table *table = m->out.state->table;
    block->address = m->code->address;
    block->bytes = m->code->bytes;
    block->words = (uint16_t)m->words;
    block->instructions = (uint16_t)m->count;
    uint64_t used = table->used + sizeof *block + block->accesses * sizeof(burst_access);
    __atomic_store_n(&table->used, used, __ATOMIC_RELEASE);
}

static int32_t place_of(uint32_t word)
{
    return 8 + 8 * (int32_t)word;
}

static uint8_t new_words(maker *m, uint32_t count)
{
    uint8_t first = (uint8_t)m->words;
    m->words += count;
    return first;
}

/* mov [cursor + …], r15 of the program, by way of rax. */
static void put_program_r15(maker *m, uint32_t word)
{
    burst_emitter *out = &m->out;
    burst *state = out->state;
    emit_save(out, &state->saved[0], BURST_RAX);
    if (m->r15_loaded) {
        emit_restore(out, &state->cursor, BURST_RAX);
        emit_based(out, 0x89, BURST_R15, BURST_RAX, place_of(word));
    } else {
        emit_restore(out, &state->program_r15, BURST_RAX);
        emit_based(out, 0x89, BURST_RAX, BURST_R15, place_of(word));
    }
    emit_restore(out, &state->saved[0], BURST_RAX);
}

/* The word with a register's value; written now, where it is not in the log. */
static uint8_t word_for(maker *m, uint32_t reg)
{
    if (m->word_of[reg] != BURST_NO_WORD) return m->word_of[reg];
    uint8_t word = new_words(m, 1);
    if (reg == BURST_R15) {
        put_program_r15(m, word);
    } else {
        burst_need_cursor(m);
        emit_based(&m->out, 0x89, reg, BURST_R15, place_of(word));
    }
    m->word_of[reg] = word;
    m->delta[reg] = 0;
    return word;
}

static burst_access *new_access(maker *m, const burst_instruction *in, burst_form form, uint32_t kind,
                                uint32_t size)
{
    burst_access *access = &m->described->access[m->described->accesses++];
    access->instruction = (uint16_t)(in->address - m->code->address);
    access->size = (uint16_t)size;
    access->form_kind = (uint8_t)((uint32_t)form << 4 | kind);
    access->base = access->index = BURST_NO_WORD;
    access->scale_flags = 0;
    access->addend = 0;
    return access;
}

/* The access that was described last, if it modifies: it becomes a load, and a store of the same follows. */
static void split_modify(maker *m)
{
    burst_access *load = &m->described->access[m->described->accesses - 1];
    if ((load->form_kind & 3) != BURST_MODIFY) return;
    load->form_kind ^= BURST_MODIFY ^ BURST_LOAD;
    burst_access *store = &m->described->access[m->described->accesses++];
    *store = *load;
    store->form_kind ^= BURST_LOAD ^ BURST_STORE;
}

/* Base and index that modrm names; what is to be added to them. */
static int64_t name_address(maker *m, const burst_instruction *in, burst_access *access)
{
    uint64_t addend = (uint64_t)in->displacement;
    if (in->base != BURST_NO_REGISTER) {
        access->base = word_for(m, in->base);
        addend += (uint64_t)m->delta[in->base];
    }
    if (in->index != BURST_NO_REGISTER) {
        access->index = word_for(m, in->index);
        addend += (uint64_t)m->delta[in->index] << in->scale;
    }
    access->scale_flags = (uint8_t)(in->scale << 6 | in->segment | (in->short_address ? BURST_SHORT : 0));
    return (int64_t)addend;
}

static void named_access(maker *m, const burst_instruction *in, int64_t further)
{
    if (!in->memory || in->shape.kind == BURST_NO_ACCESS) return;
    burst_access *access = new_access(m, in, BURST_PLAIN, in->shape.kind, in->shape.size);
    access->addend = (int64_t)((uint64_t)name_address(m, in, access) + (uint64_t)further);
    split_modify(m);
}

static void register_access(maker *m, const burst_instruction *in, uint32_t kind, uint32_t size, uint32_t reg,
                            int64_t further)
{
    burst_access *access = new_access(m, in, BURST_PLAIN, kind, size);
    access->base = word_for(m, reg);
    access->addend = (int64_t)((uint64_t)m->delta[reg] + (uint64_t)further);
}

/* Stores a vector register into the log: vmovdqu, or vmovdqu64 for the registers of AVX-512. */
static void put_vector(maker *m, uint32_t reg, uint32_t bytes, uint32_t word)
{
    burst_emitter *out = &m->out;
    burst_need_cursor(m);
    if (bytes <= 32 && reg < 16) {
        emit_byte(out, 0xc4);
        emit_byte(out, (reg < 8 ? 0x80 : 0) | 0x41);
        emit_byte(out, 0x7a | (bytes == 32 ? 4 : 0));
    } else {
        emit_byte(out, 0x62);
        emit_byte(out, (reg & 8 ? 0 : 0x80) | 0x40 | (reg & 16 ? 0 : 0x10) | 1);
        emit_byte(out, 0xfe);
        emit_byte(out, (bytes == 64 ? 0x40 : bytes == 32 ? 0x20 : 0) | 8);
    }
    emit_byte(out, 0x7f);
    emit_byte(out, 0x80 | (reg & 7) << 3 | 7);
    emit_32(out, (uint32_t)place_of(word));
}

/* The same for a mask register: kmovw, or kmovq where there are more than 16 elements. */
static void put_mask(maker *m, uint32_t reg, uint32_t count, uint32_t word)
{
    burst_emitter *out = &m->out;
    burst_need_cursor(m);
    emit_byte(out, 0x49), emit_byte(out, 0xc7), emit_byte(out, 0x87); /* mov qword [r15 + …], 0 */
    emit_32(out, (uint32_t)place_of(word));
    emit_32(out, 0);
    emit_byte(out, 0xc4), emit_byte(out, 0xc1);
    emit_byte(out, count > 16 ? 0xf8 : 0x78);
    emit_byte(out, 0x91);
    emit_byte(out, 0x80 | (reg & 7) << 3 | 7);
    emit_32(out, (uint32_t)place_of(word));
}

/* The same as name_address, where what is to be added has 32 bits only. */
static int32_t name_short_address(maker *m, const burst_instruction *in, burst_access *access)
{
    int64_t addend = name_address(m, in, access);
    if (addend >= INT32_MIN && addend <= INT32_MAX) return (int32_t)addend;
    /* An address relative to rip: it becomes a word. */
    burst_emitter *out = &m->out;
    access->base = new_words(m, 1);
    burst_need_cursor(m);
    for (uint32_t half = 0; half < 2; half++) {
        emit_byte(out, 0x41), emit_byte(out, 0xc7), emit_byte(out, 0x87); /* mov dword [r15 + …], … */
        emit_32(out, (uint32_t)place_of(access->base) + 4 * half);
        emit_32(out, (uint32_t)((uint64_t)addend >> 32 * half));
    }
    return 0;
}

static void vector_access(maker *m, const burst_instruction *in)
{
    bool gather = in->index_register != BURST_NO_REGISTER;
    burst_access *access =
        new_access(m, in, gather ? BURST_GATHER : BURST_MASKED, in->shape.kind, in->shape.size);
    access->vector.addend = name_short_address(m, in, access);
    access->vector.count = in->count;
    access->vector.index_bytes = in->index_bytes;
    access->vector.mask = BURST_NO_WORD;
    access->vector.unused = 0;
    if (gather) {
        access->index = new_words(m, in->index_size / 8u);
        put_vector(m, in->index_register, in->index_size, access->index);
    }
    if (in->mask_register == BURST_NO_REGISTER) return;
    access->vector.mask = new_words(m, in->mask_size ? in->mask_size / 8u : 1);
    if (in->mask_size) {
        put_vector(m, in->mask_register, in->mask_size, access->vector.mask);
    } else {
        access->scale_flags |= BURST_MASK_BITS;
        if (in->compressed) access->scale_flags |= BURST_COMPRESSED;
        put_mask(m, in->mask_register, in->count, access->vector.mask);
    }
}

/* Of cmps, what rdi points to is loaded first, as `fathom run` has it. */
static void string_accesses(maker *m, const burst_instruction *in, burst_form form)
{
    uint8_t string = in->shape.string;
    bool two = string & 1 && string & 6;
    for (uint32_t turn = 0; turn < 2; turn++) {
        bool source = (turn == 0) == !(string & 4);
        if (!(string & (source ? 1 : 6))) continue;
        uint32_t reg = source ? BURST_RSI : BURST_RDI;
        burst_access *access =
            new_access(m, in, form, string & 2 && !source ? BURST_STORE : BURST_LOAD, in->shape.size);
        access->base = word_for(m, reg);
        access->scale_flags = source ? in->segment : 0;
        if (form == BURST_PLAIN)
            access->addend = m->delta[reg];
        else if (two && access == m->described->access)
            access->scale_flags |= BURST_PAIRED;
    }
}

void burst_log_before(maker *m, const burst_instruction *in)
{
    if (!m->described) return;
    const burst_shape *shape = &in->shape;
    switch (shape->group) {
    case BURST_ORDINARY:
    case BURST_JUMP_TO:
        named_access(m, in, 0);
        break;
    case BURST_PUSH:
        named_access(m, in, 0);
        register_access(m, in, BURST_STORE, shape->stack, BURST_RSP, -(int64_t)shape->stack);
        break;
    case BURST_POP:
        register_access(m, in, BURST_LOAD, shape->stack, BURST_RSP, 0);
        named_access(m, in, in->base == BURST_RSP ? shape->stack : 0);
        break;
    case BURST_LEAVE:
        register_access(m, in, BURST_LOAD, 8, BURST_RBP, 0);
        break;
    case BURST_CALL:
    case BURST_CALL_TO:
        named_access(m, in, 0);
        register_access(m, in, BURST_STORE | BURST_CALLS, 8, BURST_RSP, -8);
        break;
    case BURST_RETURN:
        register_access(m, in, BURST_LOAD | BURST_RETURNS, 8, BURST_RSP, 0);
        break;
    case BURST_REPEATED:
        string_accesses(m, in, BURST_STRING);
        break;
    case BURST_ONE_STRING:
        string_accesses(m, in, BURST_PLAIN);
        break;
    case BURST_XLAT: {
        burst_access *access = new_access(m, in, BURST_TABLE, BURST_LOAD, 1);
        access->base = word_for(m, BURST_RBX);
        access->addend = m->delta[BURST_RBX];
        m->word_of[BURST_RAX] = BURST_NO_WORD; /* its lowest byte: nothing may be added to it */
        access->index = word_for(m, BURST_RAX);
        access->scale_flags = in->segment;
        break;
    }
    case BURST_BYTES:
        register_access(m, in, BURST_MODIFY, shape->size, BURST_RDI, 0);
        m->described->access[m->described->accesses - 1].scale_flags = in->segment;
        split_modify(m);
        break;
    case BURST_BIT_STRING: {
        burst_access *access = new_access(m, in, BURST_BIT, shape->kind, 1);
        access->vector.addend = name_short_address(m, in, access);
        access->vector.count = 1;
        access->vector.index_bytes = (uint8_t)shape->size;
        access->vector.unused = 0;
        m->word_of[in->reg] = BURST_NO_WORD;
        access->vector.mask = word_for(m, in->reg);
        split_modify(m);
        break;
    }
    case BURST_VECTOR:
        vector_access(m, in);
        break;
    default:
        break;
    }
}

void burst_log_after(maker *m, const burst_instruction *in)
{
    if (!m->described) return;
    uint32_t reg = in->shape.string & 1 && !(in->shape.string & 4) ? BURST_RSI : BURST_RDI;
    uint8_t word = new_words(m, 1);
    burst_need_cursor(m);
    emit_based(&m->out, 0x89, reg, BURST_R15, place_of(word));
    m->described->access[0].index = word;
}

/* add or sub of a constant to a whole register. */
static bool is_addition(const burst_instruction *in, int64_t *amount)
{
    if (in->vex || !in->wide || !in->modrm_at || in->modrm >> 6 != 3) return false;
    if (in->opcode != 0x81 && in->opcode != 0x83) return false;
    if (in->modrm_at != in->rex_at + 2) return false; /* not of another map */
    uint32_t which = in->modrm >> 3 & 7;
    if (which != 0 && which != 5) return false;
    *amount = which == 0 ? in->immediate : -in->immediate;
    return true;
}

void burst_log_changes(maker *m, const burst_instruction *in)
{
    if (!m->described) return;
    uint32_t changed = in->writes;
    const burst_shape *shape = &in->shape;
    int64_t amount;
    switch (shape->group) {
    case BURST_PUSH:
        m->delta[BURST_RSP] -= shape->stack;
        changed &= ~(1u << BURST_RSP);
        break;
    case BURST_POP:
        m->delta[BURST_RSP] += shape->stack;
        if (!(shape->roles & BURST_OPCODE_REGISTER && in->rm == BURST_RSP)) changed &= ~(1u << BURST_RSP);
        if (in->modrm_at && in->modrm >> 6 == 3 && in->rm == BURST_RSP) changed |= 1u << BURST_RSP;
        break;
    case BURST_LEAVE:
        m->word_of[BURST_RSP] = m->word_of[BURST_RBP];
        m->delta[BURST_RSP] = m->delta[BURST_RBP] + 8;
        changed &= ~(1u << BURST_RSP);
        changed |= 1u << BURST_RBP;
        break;
    case BURST_ORDINARY:
        if (is_addition(in, &amount)) {
            m->delta[in->rm] += amount;
            changed &= ~(1u << in->rm);
        }
        break;
    default:
        break;
    }
    for (; changed; changed &= changed - 1) m->word_of[__builtin_ctz(changed)] = BURST_NO_WORD;
}
