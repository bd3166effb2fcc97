/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_fault.c - faults in translated code: which instruction of the program it was, and what its registers
 * are. The fault's context becomes the program's, but goes on in the code that leaves the burst.
 */
#include "burst_state.h"

static const burst_code *code_at(const burst *state, uint64_t place)
{
    uint64_t begin = (uint64_t)state;
    if (place < begin + state->code_begin || place >= begin + state->code_used) return NULL;
    uint32_t offset = (uint32_t)(place - begin);
    for (uint32_t i = 0; i < state->codes_used; i++) {
        const burst_code *code = &state->codes[i];
        if (code->code && offset >= code->code && offset < code->code_end) return code;
    }
    return NULL;
}

/* The mark of the instruction at an address in the code; its own address in *address. */
static const burst_mark *mark_at(const burst *state, const burst_code *code, uint64_t place,
                                 uint64_t *address)
{
    const burst_mark *marks = (const void *)((const unsigned char *)state + code->marks);
    uint64_t offset = place - (uint64_t)state - code->code;
    *address = code->address;
    for (uint32_t i = 0; i < code->instructions; i++) {
        if (offset < marks[i].behind) return &marks[i];
        *address += marks[i].length;
    }
    return NULL;
}

uint64_t burst_where(const burst *state, uint64_t place)
{
    uint64_t address;
    const burst_code *code = code_at(state, place);
    if (!code) return 0;
    mark_at(state, code, place, &address);
    return address;
}

static greg_t *register_at(ucontext_t *context, uint32_t number)
{
    static const uint8_t places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15};
    return &context->uc_mcontext.gregs[places[number]];
}

bool burst_fault(burst *state, ucontext_t *context)
{
    if (!state->running) return false;
    greg_t *registers = context->uc_mcontext.gregs;
    uint64_t place = (uint64_t)registers[REG_RIP];
    uint64_t absent = burst_memory_fault(place);
    if (absent) {
        registers[REG_RIP] = (greg_t)absent;
        return true;
    }
    uint64_t address;
    const burst_code *code = code_at(state, place);
    const burst_mark *mark = code ? mark_at(state, code, place, &address) : NULL;
    if (!mark) return false;
    if (mark->moved & BURST_SPILLED) *register_at(context, mark->moved >> 4) = (greg_t)state->spilled;
    if (mark->moved & BURST_RAX_SPILLED) registers[REG_RAX] = (greg_t)state->saved[0];
    if (!(mark->moved & BURST_R15_LOADED)) {
        state->cursor = (uint64_t)registers[REG_R15];
        registers[REG_R15] = (greg_t)state->program_r15;
    }
    if (code->mode == BURST_LOG)
        state->left += code->accesses;
    else
        state->cursor += code->accesses;
    state->jump_target = address;
    state->exit = BURST_EXIT_FAULT;
    registers[REG_RIP] = (greg_t)((uint64_t)state + state->stub_exit);
    return true;
}
