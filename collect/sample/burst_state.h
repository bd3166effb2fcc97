/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_state.h - what the files of bursts share, and nobody else: system calls without libc, instructions as
 * they were decoded, a burst's state, code that is made, and how it is translated.
 */
#ifndef FATHOM_BURST_STATE_H
#define FATHOM_BURST_STATE_H

#include "burst.h"
#include "burst_log.h"
#include "collect/cc/system.h"

#include <stdint.h>

/*
 * ==== system calls ====
 *
 * System calls without libc: errno is the program's.
 */

static inline int64_t burst_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                   uint64_t e, uint64_t f)
{
    return fm_syscall((long)number, (long)a, (long)b, (long)c, (long)d, (long)e, (long)f);
}

/*
 * ==== instructions ====
 *
 * One instruction of the program: how long it is, what it accesses, which registers it
 * changes. Zydis knows; what it says of an instruction's shape (opcode, prefixes, not registers) is kept, so
 * that nearly all instructions are decoded without it.
 */

/* gcc makes calls of memcpy and memset of loops; those use vector registers, which are the program's. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

enum { /* general registers, as instructions encode them */
       BURST_RAX,
       BURST_RCX,
       BURST_RDX,
       BURST_RBX,
       BURST_RSP,
       BURST_RBP,
       BURST_RSI,
       BURST_RDI,
       BURST_R15 = 15,
       BURST_NO_REGISTER = 255,
};

/* What the translator has to do for an instruction. */
typedef enum burst_group {
    BURST_STOP, /* a burst ends before it */
    BURST_ORDINARY,
    BURST_PUSH,
    BURST_POP,
    BURST_LEAVE,
    BURST_JUMP,
    BURST_JUMP_IF,
    BURST_JUMP_RCX, /* jrcxz, loop and their kin: a displacement of one byte */
    BURST_CALL,
    BURST_RETURN,
    BURST_JUMP_TO, /* indirect */
    BURST_CALL_TO,
    BURST_REPEATED,   /* a string instruction that is repeated */
    BURST_ONE_STRING, /* one that is not */
    BURST_XLAT,
    BURST_BIT_STRING, /* bt and its kin with a register and memory */
    BURST_VECTOR, /* a gather, a scatter, an access under a mask: burst_instruction.mask_… and index_… */
    BURST_BYTES,  /* maskmovdqu: memory at rdi */
    BURST_SYSTEM_CALL,
} burst_group;

enum { /* burst_shape.roles */
       BURST_REG_WRITTEN = 1,
       BURST_RM_WRITTEN = 2,
       BURST_VVVV_WRITTEN = 4,
       BURST_OPCODE_WRITTEN = 8,
       BURST_REG_BYTE = 16, /* is one byte: without REX, 4 to 7 are ah to bh */
       BURST_RM_BYTE = 32,
       BURST_OPCODE_REGISTER = 64, /* the opcode's lowest bits are a general register */
};

enum { /* burst_shape.flags */
       BURST_FLAGS_READ = 1,
       BURST_FLAGS_WRITTEN = 2, /* all six of them, whatever they were before */
};

enum {                     /* what an instruction does to the memory that it names, beside burst_kind */
       BURST_MODIFY = 2,   /* it loads, and stores in the same place: two accesses of the log */
       BURST_NO_ACCESS = 3 /* nothing: it is named and not accessed (lea, prefetch) */
};

/* What all instructions of one shape have in common. */
typedef struct burst_shape {
    uint32_t key;
    uint16_t size;   /* of the memory that modrm names */
    uint16_t reads;  /* general registers that are not in its fields, one bit each */
    uint16_t writes; /* the same */
    uint8_t group;
    uint8_t kind;
    uint8_t roles;
    uint8_t flags;
    uint8_t immediate; /* bytes after opcode, modrm and displacement */
    uint8_t stack;     /* bytes that are pushed or popped */
    uint8_t string;    /* 1: rsi is read, 2: rdi is written, 4: rdi is read */
    uint8_t unused;
} burst_shape;

typedef struct burst_instruction {
    const unsigned char *bytes;
    burst_shape shape;
    uint64_t address;
    uint8_t length;
    uint8_t opcode;
    uint8_t modrm_at; /* offset, 0: there is none */
    uint8_t modrm;
    uint8_t displacement_at; /* offset of four bytes, of memory relative to rip */
    uint8_t vex_at;          /* offset of C4, C5, 8F or 62, where vex */
    uint8_t rex_at;          /* BURST_NO_REGISTER: no REX */
    bool vex;
    bool memory;   /* modrm (or an absolute address) names memory */
    bool relative; /* its address is relative to rip; displacement is then the address */
    bool wide;     /* REX.W, not of vex */
    bool uses_r15;
    bool short_address; /* prefix 67 */
    uint8_t segment;    /* BURST_FS, BURST_GS or 0 */
    uint8_t base;
    uint8_t index;
    uint8_t scale; /* a shift */
    uint8_t reg;   /* modrm.reg, extended */
    uint8_t rm;    /* of mod 3 */
    int64_t displacement;
    int64_t immediate; /* of branches: the target; of ret: bytes; otherwise signed, one or four bytes */
    uint16_t reads;    /* general registers, those of addresses included; rather too many than too few */
    uint16_t writes;
    /* Of BURST_VECTOR. */
    uint8_t index_register; /* vector register of a gather, or BURST_NO_REGISTER */
    uint8_t index_bytes;    /* of an index */
    uint8_t index_size;     /* of the vector register, in bytes */
    uint8_t mask_register;  /* BURST_NO_REGISTER: there is no mask */
    uint8_t mask_size;      /* of the vector register that is the mask; 0: it is a k register */
    uint8_t count;
    bool compressed;
} burst_instruction;

/* Area for the program's vector registers while Zydis is asked, and which of them there are. */
typedef struct burst_vectors {
    void *area;
    uint64_t mask;
} burst_vectors;

/*
 * Decodes the instruction in `bytes`, at most `room` of them, which lies at `address` in the program. What is
 * not understood has the group BURST_STOP.
 */
void burst_decode(burst_instruction *instruction, const burst_vectors *vectors, const unsigned char *bytes,
                  uint64_t address, size_t room);

/* The same without what is kept: for tests. */
void burst_decode_anew(burst_instruction *instruction, const burst_vectors *vectors,
                       const unsigned char *bytes, uint64_t address, size_t room);

/*
 * ==== shapes ====
 *
 * Asks Zydis what an instruction is. Fills in everything that burst_instruction says of the bytes at
 * in->bytes, at most `room` of them: registers, memory, and the shape, whose immediate is right where there
 * is no displacement behind it. The group is BURST_STOP where the instruction is unknown or is not run in
 * bursts.
 */
void burst_shape_ask(burst_instruction *in, const burst_vectors *vectors, size_t room);

/*
 * ==== state ====
 *
 * A thread's state, and what the parts of the translator share.
 *
 * One mapping holds everything: this struct, the blocks, then the code, which reaches all of it relative to
 * rip. Data and code lie on pages of their own: a processor that sees writes beside code it executes begins
 * anew.
 */

enum {
    BURST_BLOCK_BYTES = 256, /* of a state, for each block of both modes */
    BURST_LINE = 64,         /* bytes of the program's code that are kept and compared as one */
    BURST_LINE_BYTES = 512,  /* of a state, for each line */
    BURST_LOOKUPS = 2304,    /* at least 255 + 8 * 255 + 1: see burst.c */
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

/* burst.c: makes the code that is there once; returns offsets in stub_…. */
void burst_make_stubs(burst *state);

/* burst_translate.c: translates the block at `address`; NULL: no room. */
burst_code *burst_translate(burst *state, burst_mode mode, uint64_t address);

/* The same: fills in the first target of a block's indirect branch. */
void burst_guess_target(burst *state, burst_code *from, const burst_code *to);

/* burst_memory.c: the mapping with code at `address`; false: none that can be read. */
bool burst_find_range(burst *state, uint64_t address, burst_range *range);

/* burst_system_call.c: whether the call that the registers tell may be made in a burst. */
bool burst_call_allowed(const burst *state);

/* burst_memory.c: the line with the program's code at `address`, kept from now on. NULL: it is not there, or
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

/* burst_system_call.c: whether a struct rseq_cs lies at an address; whether an instruction has the address of
 * one; whether the one just before an address has, where a burst begins. */
bool burst_is_sequence(uint64_t address);
bool burst_names_sequence(const burst_instruction *in);
bool burst_is_before_sequence(uint64_t address);

/* burst.c: forgets all translated code, not the table. */
void burst_forget(burst *state);

/*
 * ==== making code ====
 *
 * Writes instructions into a state's code. None of those here changes flags but where said.
 */

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

/*
 * ==== translation ====
 *
 * A block while it is being made; shared by burst_translate.c (code), burst_branch.c
 * (where it leads) and burst_describe.c (what the log has of it, and what the table says).
 */

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
