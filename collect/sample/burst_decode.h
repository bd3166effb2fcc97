/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_decode.h - one instruction of the program: how long it is, what it accesses, which registers it
 * changes. Zydis knows; what it says of an instruction's shape (opcode, prefixes, not registers) is kept, so
 * that nearly all instructions are decoded without it.
 */
#ifndef FATHOM_BURST_DECODE_H
#define FATHOM_BURST_DECODE_H

/* gcc makes calls of memcpy and memset of loops; those use vector registers, which are the program's. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

#include "burst_log.h"

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

#endif
