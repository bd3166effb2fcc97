/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_translate.h - a block while it is being made; shared by burst_translate.c (code), burst_branch.c
 * (where it leads) and burst_describe.c (what the log has of it, and what the table says).
 */
#ifndef FATHOM_BURST_TRANSLATE_H
#define FATHOM_BURST_TRANSLATE_H

#include "burst_emit.h"

enum { STUB_ENOUGH, STUB_IDLE, STUB_LOG_FULL, STUBS };

typedef struct maker {
    burst_emitter out;
    burst_mode mode;
    burst_code *code;
    uint32_t count;    /* instructions */
    uint32_t accesses; /* elements counted each; not those of a repeated instruction */
    bool repeated;
    bool dead;        /* flags at the beginning */
    bool r15_loaded;  /* r15 is the program's, in BURST_LOG */
    bool r15_changed; /* and is not what is in state->program_r15 */
    bool cursor_kept; /* state->cursor is right */
    uint8_t moved;    /* of the instruction's mark */
    /* The log. */
    burst_block *described; /* NULL: it has no words */
    uint32_t number;
    uint32_t words;
    uint8_t word_of[16]; /* the word with a register's value, or BURST_NO_WORD */
    int64_t delta[16];   /* what was added to the register since */
    /* Direct exits. */
    uint32_t exits;
    struct {
        uint64_t target;
        unsigned char *from; /* the displacement of the jump that is there now */
        uint32_t rest;       /* accesses of the block that are not done then */
        uint32_t patch;
    } exit[BURST_DIRECT];
    /* Jumps to stubs. */
    uint32_t stub_jumps[STUBS];
    unsigned char *stub_from[STUBS][2];
    burst_mark marks[BURST_INSTRUCTIONS];
    uint32_t fetched; /* of the program's code */
    bool full;        /* there is no room for more of it */
    unsigned char bytes[15 * BURST_INSTRUCTIONS + BURST_LINE + 15];
    burst_instruction in[BURST_INSTRUCTIONS];
} maker;

/* Where its code goes on, as an offset in the state. */
static inline uint32_t offset_of(const maker *m)
{
    return (uint32_t)(m->out.at - (unsigned char *)m->out.state);
}

/* burst_translate.c: from here on r15 is the program's, or the log's cursor. */
void burst_need_program(maker *m);
void burst_need_cursor(maker *m);

/* burst_branch.c: the block's words belong to the log. */
void burst_commit(maker *m);
/*
 * A jump (opcode 0: always, or the second byte of a conditional one) to a block that may not be there yet.
 * `rest`: accesses of this block that are not done then.
 */
void burst_put_exit(maker *m, uint32_t opcode, uint64_t target, uint32_t rest);
/* A branch; the block's last instruction, or one after which `rest` accesses follow. */
void burst_put_branch(maker *m, const burst_instruction *in, bool last, uint32_t rest);
/* What the block's exits lead to until they are linked. */
void burst_put_stubs(maker *m, uint32_t number);

/* burst_describe.c. */

void burst_maker_begin(maker *m, burst *state, burst_mode mode);

/* How many accesses it does, elements counted each; 0 for a repeated one. */
uint32_t burst_count_accesses(const burst_instruction *in);

/* Begins the block's entry in the table; false: no room. */
bool burst_describe_begin(maker *m);
void burst_describe_end(maker *m);

/* Writes what the log needs to know before the instruction, and describes its accesses. */
void burst_log_before(maker *m, const burst_instruction *in);
/* After a repeated instruction. */
void burst_log_after(maker *m, const burst_instruction *in);
/* Notes which registers have other values now. */
void burst_log_changes(maker *m, const burst_instruction *in);

#endif
