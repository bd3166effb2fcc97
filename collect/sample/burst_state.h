/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_state.h - a thread's state, and what the parts of the translator share.
 *
 * One mapping holds everything: this struct, the blocks, then the code, which reaches all of it relative to
 * rip. Data and code lie on pages of their own: a processor that sees writes beside code it executes begins
 * anew.
 */
#ifndef FATHOM_BURST_STATE_H
#define FATHOM_BURST_STATE_H

#include "burst.h"
#include "burst_decode.h"

enum {
    BURST_BLOCK_BYTES = 256, /* of a state, for each block of both modes */
    BURST_LINE = 64,         /* bytes of the program's code that are kept and compared as one */
    BURST_LINE_BYTES = 512,  /* of a state, for each line */
    BURST_LOOKUPS = 2304,    /* at least 255 + 8 * 255 + 1: see burst_stubs.c */
    BURST_RANGES = 192,      /* of mappings with code */
    BURST_BYTES_LEAST = 1 << 20,
    BURST_BYTES_MOST = 1 << 26,
    BURST_INSTRUCTIONS = 40, /* of a block, at most */
    BURST_CODE_MOST = 6160,  /* bytes that a block can become, what belongs to it included */
    BURST_IDLE_MOST = 1 << 20,
    BURST_PAGE = 4096,
    BURST_MODES = 2,
};

/* How often code is compared with what was translated. */
typedef enum burst_trust {
    BURST_TRUST_FILE,    /* a file's, not writable: at the beginning of each burst */
    BURST_TRUST_NONE,    /* without a file: whenever it is entered, and nothing is linked to it */
    BURST_TRUST_WRITABLE /* the same, and a block is one instruction: it may change the next one */
} burst_trust;

/* A piece of the program's code; burst_compare_lines knows where its members are. */
typedef struct burst_line {
    uint64_t address;
    uint32_t next; /* of the same head: number + 1 */
    uint32_t unused;
    unsigned char bytes[BURST_LINE];
} burst_line;

typedef struct burst_range {
    uint64_t first, behind;
    burst_trust trust;
} burst_range;

/* How a block ends, for the dispatcher: by one of its direct exits, or so. */
enum { BURST_DIRECT = 8 }; /* at most */
typedef enum burst_exit {
    BURST_EXIT_INDIRECT = BURST_DIRECT, /* to state->jump_target, which may be anything */
    BURST_EXIT_HEAD,                    /* not executed: enough accesses */
    BURST_EXIT_IDLE,                    /* not executed: nothing but waiting */
    BURST_EXIT_LOG_FULL,                /* not executed, nor counted */
    BURST_EXIT_FAULT,                   /* in the middle; burst_fault has seen to registers */
    BURST_EXITS = 16                    /* a power of two */
} burst_exit;

/* A direct exit of a block. */
typedef struct burst_direct {
    uint64_t target;
    uint32_t patch; /* offset in the state of the displacement that leads there */
    uint32_t unused;
} burst_direct;

/* Where an instruction of a block ends in the translated code, and what lies elsewhere while it runs. */
typedef struct burst_mark {
    uint16_t behind; /* offset in the block's code */
    uint8_t length;  /* of the program's instruction */
    uint8_t moved;   /* BURST_R15_LOADED | register << 4 | BURST_SPILLED */
} burst_mark;

enum {
    BURST_R15_LOADED = 1, /* r15 is the program's */
    BURST_SPILLED = 2,    /* a register (moved >> 4) is in state->spilled */
    BURST_RAX_SPILLED = 4 /* rax is in state->saved[0] */
};

typedef struct burst_code {
    uint64_t address; /* of the program's code */
    uint32_t code;    /* offset in the state; 0: nothing is executed, `stop` says why */
    uint32_t code_end;
    uint32_t exits; /* offset of its direct exits, behind them its marks, behind these a copy of its code,
                       if it is not in lines */
    uint32_t marks;
    uint32_t next; /* of the same head: number + 1 */
    uint16_t bytes;
    uint16_t instructions;
    uint16_t accesses;
    uint8_t mode;
    uint8_t trust;
    uint8_t stop;   /* a burst_end, of a block without code; BURST_END_DONE: a system call */
    bool dropped;   /* not in the table any more */
    uint32_t guess; /* offset of the first target's value in its indirect branch, 0: there is none to be
                       filled in */
    int32_t popped; /* what its last branch, an indirect one, added to the stack pointer */
    uint16_t words; /* that it writes, its number included; 0: none */
} burst_code;

typedef struct burst_lookup {
    uint64_t negated; /* - address; 0: none */
    uint64_t code;
} burst_lookup;

struct burst {
    /* What translated code uses. */
    uint64_t registers[16];
    uint64_t flags;
    uint64_t host_stack;
    uint64_t enter_target;
    int64_t left; /* accesses until the end, negative: reached; in BURST_COUNT it is in r15 */
    int64_t idle;
    uint64_t log_limit;
    uint64_t minus_log_limit;
    uint64_t cursor;      /* of the log, or accesses left, while r15 is the program's */
    uint64_t program_r15; /* while r15 is that */
    uint64_t saved[3];    /* rax, rcx, rdx */
    uint64_t spilled;
    uint64_t repeats; /* rcx before a repeated instruction */
    uint64_t scratch;
    uint64_t jump_target;
    uint64_t jump_slot;
    uint32_t exit; /* block number * BURST_EXITS + number of a direct exit or burst_exit */
    uint32_t running;
    /* What only C uses. */
    burst_mode mode;
    burst_vectors vectors;
    uint64_t most;    /* of the running burst */
    bool goes_on;     /* burst_goes_on */
    bool gs_readable; /* the processor's instructions for bases of segments may be used */
    uint32_t codes_used;
    uint32_t codes_most;
    burst_code *codes;   /* behind this struct */
    uint32_t lines_used; /* of the program's code */
    uint32_t lines_most;
    burst_line *lines; /* behind codes */
    uint32_t *heads;   /* of the table that finds codes: number + 1 of the last of each */
    uint32_t *line_heads;
    uint32_t heads_mask; /* how many there are, a power of two, less one */
    uint32_t line_heads_mask;
    size_t bytes;        /* of all this */
    uint32_t code_begin; /* offsets in the state */
    uint32_t code_used;
    uint32_t code_end;
    uint32_t stub_enter, stub_exit, stub_first, stub_lookup[BURST_MODES];
    burst_table *table;
    size_t table_bytes;
    uint32_t ranges_used;
    uint64_t fresh, entered;
    burst_range ranges[BURST_RANGES];
    burst_lookup lookup[BURST_MODES][BURST_LOOKUPS];
};

static inline unsigned char *burst_at(burst *state, uint32_t offset)
{
    return (unsigned char *)state + offset;
}

/* burst_stubs.c: makes the code that is there once; returns offsets in stub_…. */
void burst_make_stubs(burst *state);

/* burst_translate.c: translates the block at `address`; NULL: no room. */
burst_code *burst_translate(burst *state, burst_mode mode, uint64_t address);

/* The same: fills in the first target of a block's indirect branch. */
void burst_guess_target(burst *state, burst_code *from, const burst_code *to);

/* burst_maps.c: the mapping with code at `address`; false: none that can be read. */
bool burst_find_range(burst *state, uint64_t address, burst_range *range);

/* burst_system_call.c: whether the call that the registers tell may be made in a burst. */
bool burst_call_allowed(const burst *state);

/* burst_lines.c: the line with the program's code at `address`, kept from now on. NULL: it is not there, or
 * (*full) there is no room for it. */
const unsigned char *burst_line_get(burst *state, uint64_t address, bool *full);
void burst_lines_forget(burst *state);
/* Whether one has a byte from first to last. */
bool burst_lines_touch(const burst *state, uint64_t first, uint64_t last);

/* burst_memory.c: copies or compares bytes of the program's, which may not be there; 0: done, equal. The last
 * one uses vector registers. */
int burst_copy(void *to, const void *from, size_t bytes);
int burst_compare(const void *mine, const void *program, size_t bytes);
int burst_compare_lines(const burst_line *lines, size_t count);
/* Where to go on after a fault at this place in one of them; 0: it is not in them. */
uint64_t burst_memory_fault(uint64_t place);

/* burst_rseq.c: whether a struct rseq_cs lies at an address; whether an instruction has the address of one;
 * whether the one just before an address has, where a burst begins. */
bool burst_is_sequence(uint64_t address);
bool burst_names_sequence(const burst_instruction *in);
bool burst_is_before_sequence(uint64_t address);

/* burst.c: forgets all translated code, not the table. */
void burst_forget(burst *state);

#endif
