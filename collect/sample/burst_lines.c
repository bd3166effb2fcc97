/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_lines.c - the program's code that was translated, in pieces of 64 bytes: a copy of each, from which
 * blocks are made, and which is compared with the program's when a burst begins. Neighbouring blocks, and the
 * two modes, share them; and comparing them one after the other takes a few nanoseconds each.
 *
 * Only code of files that cannot be written to is kept so (BURST_TRUST_FILE).
 */
#include "burst_state.h"

static uint32_t *head_of(burst *state, uint64_t address)
{
    const uint64_t mixed = address / BURST_LINE * UINT64_C(0x9E3779B97F4A7C15);
    return &state->line_heads[mixed >> 32 & state->line_heads_mask];
}

const unsigned char *burst_line_get(burst *state, uint64_t address, bool *full)
{
    address -= address % BURST_LINE;
    uint32_t *head = head_of(state, address);
    for (uint32_t number = *head; number; number = state->lines[number - 1].next)
        if (state->lines[number - 1].address == address) return state->lines[number - 1].bytes;
    *full = state->lines_used == state->lines_most;
    if (*full) return NULL;
    burst_line *line = &state->lines[state->lines_used];
    if (burst_copy(line->bytes, (const void *)address, BURST_LINE)) return NULL;
    line->address = address;
    line->next = *head;
    *head = ++state->lines_used;
    return line->bytes;
}

void burst_lines_forget(burst *state)
{
    for (uint32_t i = 0; i <= state->line_heads_mask; i++) state->line_heads[i] = 0;
    state->lines_used = 0;
}

bool burst_lines_touch(const burst *state, uint64_t first, uint64_t last)
{
    for (uint32_t i = 0; i < state->lines_used; i++)
        if (state->lines[i].address <= last && state->lines[i].address + BURST_LINE > first) return true;
    return false;
}
