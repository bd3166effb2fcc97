/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_log.h - what a burst leaves behind: the log, and the table of blocks that says how to read it. It is
 * compiled into the program that is sampled and into fathom, which reads what the other wrote: it needs
 * nothing but the C language, and the reader believes nothing.
 *
 * The log is a row of 64-bit words. Each executed block that accesses memory has one word with its number,
 * followed by as many words as the table says: values of registers, from which addresses are worked out by
 * what the table knows of each access. An address that is the same whenever the block is executed (global
 * variables) has no word; a register that does not change between two accesses of a block has one for both.
 *
 * The number of a block is its place in the table, in units of 8 bytes from its beginning. The table only
 * grows, up to a burst_reset; what was written is not changed any more.
 */
#ifndef FATHOM_BURST_LOG_H
#define FATHOM_BURST_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BURST_NO_WORD = 255,    /* of burst_access.base and .index: there is none */
    BURST_WORDS_MOST = 254, /* of a block, after its number */
};

/* The values of fm_kind (fathom/trace.h). */
typedef enum burst_kind { BURST_LOAD, BURST_STORE } burst_kind;

enum {                   /* of burst_use.branch */
       BURST_CALLS = 4,  /* a call stores its return address here */
       BURST_RETURNS = 8 /* a return reads it */
};

/*
 * How an address is worked out. `plain` is addend + word[base] + (word[index] << scale), each where there is
 * one, cut to 32 bits where BURST_SHORT is set, and then the base of the segment where one is used.
 */
typedef enum burst_form {
    BURST_PLAIN,  /* one access of `size` bytes at plain */
    BURST_STRING, /* a repeated string instruction. Its accesses, of `size` bytes each, begin at word[base];
                     the register was word[index] afterwards, from which follow their number and direction.
                     With BURST_PAIRED the next access of the table belongs to the same repetitions, one of
                     each in turn (movs, cmps). */
    BURST_MASKED, /* `count` elements of `size` bytes, one after the other from plain on; only those whose bit
                     or sign in the mask is set. By bits, those side by side are one access */
    BURST_GATHER, /* `count` elements of `size` bytes; the address of each is plain (without index) and its
                     index, `index_bytes` wide, from the words that begin at `index`, << scale */
    BURST_BIT,    /* bt and its kin: the byte at plain + (word[mask], `index_bytes` wide, >> 3) */
    BURST_TABLE,  /* xlat: the index is the lowest byte of its word */
} burst_form;

enum { /* burst_access.flags */
       BURST_FS = 1,
       BURST_GS = 2,
       BURST_SHORT = 4,       /* the sum is cut to 32 bits */
       BURST_PAIRED = 8,      /* see BURST_STRING */
       BURST_MASK_BITS = 16,  /* the mask is one word of bits (AVX-512), not elements whose signs count */
       BURST_COMPRESSED = 32, /* elements that are not in the mask take no place in memory */
};

/* The parameters of an access whose form is not BURST_PLAIN; see burst_form. */
typedef struct burst_vector {
    int32_t addend;
    uint8_t mask; /* its first word, BURST_NO_WORD: all elements */
    uint8_t count;
    uint8_t index_bytes;
    uint8_t unused;
} burst_vector;

/* One access of a block, in the order in which the program does them. */
typedef struct burst_access {
    uint16_t instruction; /* its address, from the block's */
    uint16_t size;
    uint8_t form_kind; /* form << 4 | BURST_CALLS or BURST_RETURNS | kind */
    uint8_t base;      /* number of a word, the first after the block's number is 0 */
    uint8_t index;
    uint8_t scale_flags; /* scale << 6 | flags */
    union {
        int64_t addend; /* of BURST_PLAIN and BURST_TABLE */
        burst_vector vector;
    };
} burst_access;

typedef struct burst_block {
    uint64_t address;  /* of its first instruction */
    uint16_t bytes;    /* of the program's code */
    uint16_t words;    /* after its number */
    uint16_t accesses; /* of the table: repeated and masked ones are one here */
    uint16_t instructions;
    burst_access access[];
} burst_block;

/* The table begins with this. */
typedef struct burst_table {
    uint64_t used;   /* bytes, this header included; written last, so that what lies below is whole */
    uint64_t resets; /* how often it was begun anew */
} burst_table;

/* One access that a program did. */
typedef struct burst_use {
    uint64_t address;
    uint64_t instruction;
    uint32_t size;
    burst_kind kind;
    uint32_t branch; /* BURST_CALLS, BURST_RETURNS or 0 */
    uint32_t entry;  /* bytes of the table before its burst_access */
} burst_use;

typedef enum burst_reading {
    BURST_READ_USE,     /* *use is the next access */
    BURST_READ_END,     /* there are no more */
    BURST_READ_DAMAGED, /* log and table do not fit together */
} burst_reading;

/* Reads a log. The members are its own, but for where it is: `at` words of the log are understood. */
typedef struct burst_reader {
    const unsigned char *table;
    size_t table_bytes;
    const uint64_t *log;
    size_t words;
    uint64_t fs_base, gs_base;
    size_t at;
    const burst_block *block;
    const uint64_t *values; /* of the block's words */
    uint32_t access;        /* the next of the block */
    uint64_t element;       /* of an access that is several */
} burst_reader;

/*
 * Begins to read `words` words at `log` with the table at `table` (of `table_bytes` bytes). Bases of segments
 * are those of burst_result. Nothing is copied: what lies there must not change meanwhile. (A table that
 * another process can write to is to be copied first.)
 */
void burst_reader_begin(burst_reader *reader, const void *table, size_t table_bytes, const uint64_t *log,
                        size_t words, uint64_t fs_base, uint64_t gs_base);

burst_reading burst_reader_next(burst_reader *reader, burst_use *use);
/* As many as `room`, at once. Less: there are no more, or log and table do not fit together. */
size_t burst_reader_take(burst_reader *reader, burst_use *uses, size_t room);
/* Passes over so many accesses. False: there are not so many, or log and table do not fit together. */
bool burst_reader_pass(burst_reader *reader, uint64_t accesses);
/* The next of at most *ahead accesses that touches the 8 bytes at `word`, which becomes *use. *ahead becomes
 * how many follow it. False: there is none. */
bool burst_reader_seek(burst_reader *reader, uint64_t word, uint64_t *ahead, burst_use *use);

#endif
