/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder.h - words of a chunk to rows of a batch, and all that has to be known of a traced process for that:
 * its code, its blocks or pages, its threads.
 */
#ifndef FATHOM_COLLECT_DECODER_H
#define FATHOM_COLLECT_DECODER_H

#include "collect/decode_kernels.h"
#include "process/watch.h"
#include "program/object_map.h"
#include "program/program.h"

#include <fathom/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- filter ---- */

/* Which references of a program are wanted, and with what beside them: for the decoders. */

typedef struct fm_collect_filter {
    bool loads, stores;
    bool no_stack;
    bool tags;            /* sites are told apart */
    bool paths;           /* by the calls that led there, too */
    const char *function; /* only inside of it; NULL: always */
    const char *region;   /* likewise */
} fm_collect_filter;

/* ---- code ---- */

/* What is known of a process's code (program/program.h), as producers report it. */

typedef struct fm_code {
    fm_program program;
    fm_code_maps maps;
    uint32_t *contexts; /* node in the program's heap by the producer's number */
    size_t context_count, context_capacity;
} fm_code;

/* words: those of FM_RECORD_MODULE; path: behind them. *index: the file. */
fm_status fm_code_load(fm_code *code, const uint64_t words[8], const char *path, uint32_t *index,
                       fm_error *error);
/* For a child of fork: files, contexts and trees. */
fm_status fm_code_inherit(fm_code *child, const fm_code *parent, fm_error *error);
void fm_code_free(fm_code *code);

/* return addresses, innermost first. */
fm_status fm_code_context(fm_code *code, uint64_t number, const uint64_t *returns, size_t count,
                          fm_error *error);

/* ---- blocks ---- */

/*
 * The blocks of translated code that a process under Valgrind has defined: what each access of a
 * block is, laid out for the kernels, and the tags of its accesses on each call path.
 */

/* What the kernel does not need. */
typedef struct fm_block_detail {
    uint64_t call_behind; /* address behind the call that ends it, 0: none */
    uint16_t count;       /* accesses */
    uint16_t flags;       /* FM_BLOCK_…, and: */
    uint32_t path_node;   /* the path it was on last, */
    uint32_t path_tags;   /* and where the tags for that are */
    uint32_t words;       /* that tell of all accesses */
} fm_block_detail;
enum {
    FM_BLOCK_KNOWN = 1 << 8,       /* it was defined */
    FM_BLOCK_WATCHED = 1 << 9,     /* its code belongs to the function that is watched */
    FM_BLOCK_CALL_INSIDE = 1 << 10 /* its call belongs to it, or to an inlined copy */
};

typedef struct fm_blocks {
    fm_block *blocks; /* by number; in pages, which grow in place */
    fm_block_detail *details;
    size_t room;  /* numbers that have a place */
    size_t count; /* highest number + 1 */
    fm_block_group *groups;
    fm_block_marks *marks;
    uint64_t *sites;
    size_t group_count, group_room;
    fm_intern_table paths; /* block, node; value: where its tags are */
    uint32_t *tags;
    size_t tag_count, tag_capacity;
} fm_blocks;

/* words: those of FM_RECORD_DEFINE, count of them. FM_E_CORRUPT when they are impossible. */
fm_status fm_blocks_define(fm_blocks *blocks, fm_code *code, const uint64_t *words, size_t count,
                           const fm_collect_filter *filter, fm_error *error);
const uint32_t *fm_blocks_find_tags(fm_blocks *blocks, fm_code *code, uint32_t number, uint32_t node);
/* The tags of a block's accesses on a path. NULL: no memory. */
static inline const uint32_t *fm_blocks_tags(fm_blocks *blocks, fm_code *code, uint32_t number, uint32_t node)
{
    const fm_block_detail *detail = &blocks->details[number];
    if (detail->path_node == node) return blocks->tags + detail->path_tags;
    return fm_blocks_find_tags(blocks, code, number, node);
}
void fm_blocks_free(fm_blocks *blocks);

/* ---- pages ---- */

/*
 * The pages of code that a process built by fathom cc has reported: tables from the low bits of a
 * code address to the tag of its site.
 */

typedef struct fm_code_pages {
    fm_code_page *cache[FM_PAGE_CACHE];
    fm_intern_table index; /* page; value: its place in pages */
    fm_code_page **pages;
    size_t count, capacity, homeless;
    fm_code_page *nowhere; /* stands for pages that are too many: they have no tags */
} fm_code_pages;

/* The page with a number, made where there is none, with what is in it now. NULL: no memory. */
fm_code_page *fm_code_pages_find(fm_code_pages *pages, const fm_code *code, uint64_t number);
/* Modules have changed: what is in the cache may not be what is in memory. */
void fm_code_pages_forget(fm_code_pages *pages);
/* The site (see fm_program_site) of an address in a page, remembered in its table. */
uint32_t fm_code_pages_site(fm_code *code, fm_code_page *page, unsigned place);
/* Does it belong to the watched function? */
bool fm_code_pages_watched(const fm_code *code, fm_code_page *page, unsigned place);
void fm_code_pages_free(fm_code_pages *pages);

/* ---- thread table ---- */

/*
 * The threads of a process by number, from 1. Threads come and go, numbers are not used
 * again: what is kept of one that is over is one bit, so that a process may have had millions.
 */

struct fm_traced_thread;

enum {
    FM_THREADS_A_PAGE = 1024,
    FM_THREAD_NUMBER_MOST = 1 << 26, /* the table takes 9 MiB then */
    FM_THREADS_AT_ONCE = 1 << 20,    /* the kernel's own limit is 4 million for all processes */
};

typedef struct fm_thread_page {
    struct fm_traced_thread **slots; /* NULL: none of them is there */
    uint32_t live;
    uint64_t seen[FM_THREADS_A_PAGE / 64]; /* was there ever */
} fm_thread_page;

/* All zeroes is an empty table. */
typedef struct fm_thread_table {
    fm_thread_page *pages;
    size_t page_count;
    size_t live, seen; /* threads */
} fm_thread_table;

/* NULL: it is not there. */
struct fm_traced_thread *fm_thread_table_find(const fm_thread_table *table, uint32_t number);

/* ---- traced thread ---- */

/*
 * What a traced thread is doing: where its stack lies, which calls it is in, whether it is
 * inside the function and the region that are watched.
 *
 * Calls are reported by two kinds of producers. Valgrind reports the stack pointer at the beginning of every
 * block: a call is a block that ends with one and a next block whose stack pointer is where the return
 * address was pushed; a frame is over when the stack pointer is above it, however that came (return, longjmp,
 * exception). The compiler's runtime reports entering and leaving, and where the stack pointer is after
 * functions were left otherwise; what it could not see lies below the stack pointer of the next function
 * entered.
 */

typedef struct fm_call_frame {
    uint64_t stack; /* the stack pointer when the function was entered */
    uint32_t node;  /* in the program's calls */
    bool inside;    /* the watched function or a callee of it (compiler) */
} fm_call_frame;

/* A signal handler has begun: what it interrupted. */
typedef struct fm_interrupted {
    size_t depth, floor;
    uint64_t stack;
    uint64_t pushed_at, call_behind;
    bool call_inside;
    bool inside;
    uint64_t inside_stack;
} fm_interrupted;

typedef struct fm_traced_thread {
    uint32_t number;
    uint32_t channels;  /* that are being read (compiler) */
    bool over;          /* it has ended */
    uint64_t low, high; /* its stack; 0 0: not known */
    fm_call_frame *frames;
    size_t depth, capacity;
    size_t floor;   /* frames below belong to what a signal interrupted */
    uint64_t stack; /* the stack pointer reported last */
    /* The block before ended with a call (Valgrind). */
    uint64_t pushed_at;   /* where it pushed the return address; 0: no call */
    uint64_t call_behind; /* that address */
    bool call_inside;     /* the call is part of the watched function */
    /* The watched function runs, or one that it called, as long as the stack pointer is not above this. */
    bool inside;
    uint64_t inside_stack;
    fm_interrupted *interrupted;
    size_t interrupted_count, interrupted_capacity;
    uint8_t *regions; /* open ones, innermost last; 1: the one that is watched */
    size_t region_count, region_capacity;
    size_t region_open; /* how many of them are that one */
} fm_traced_thread;

bool fm_thread_moves(fm_traced_thread *thread, fm_code *code, uint64_t stack, bool paths, bool watched);
/* Valgrind: a block begins with this stack pointer. paths: keep account of frames. watched: the block is part
 * of the watched function. False: no memory. */
static inline bool fm_thread_block(fm_traced_thread *thread, fm_code *code, uint64_t stack, bool paths,
                                   bool watched)
{
    bool moves = thread->pushed_at != 0 || thread->interrupted_count > 0 || watched ||
                 (thread->depth > thread->floor && stack > thread->frames[thread->depth - 1].stack) ||
                 (thread->inside && stack > thread->inside_stack);
    if (moves) return fm_thread_moves(thread, code, stack, paths, watched);
    thread->stack = stack;
    return true;
}
/* It has ended with a call. */
static inline void fm_thread_calls(fm_traced_thread *thread, uint64_t pushed_at, uint64_t behind, bool inside)
{
    thread->pushed_at = pushed_at;
    thread->call_behind = behind;
    thread->call_inside = inside;
}

/* Compiler. */
bool fm_thread_enter(fm_traced_thread *thread, fm_code *code, const uint64_t words[3], bool paths);
void fm_thread_leave(fm_traced_thread *thread);
void fm_thread_unwind(fm_traced_thread *thread, uint64_t stack);

bool fm_thread_signal(fm_traced_thread *thread);
void fm_thread_signal_end(fm_traced_thread *thread);

bool fm_thread_region_begin(fm_traced_thread *thread, bool watched);
void fm_thread_region_end(fm_traced_thread *thread);

/* The path that the thread is on. A signal handler is not called by what it interrupts. */
static inline uint32_t fm_thread_node(const fm_traced_thread *thread)
{
    return thread->depth > thread->floor ? thread->frames[thread->depth - 1].node : 0;
}

/* ---- traced process ---- */

/*
 * A traced process: what it is, what is known of its code, its threads and its heap, how
 * it ended and whether everything of it was received.
 */

typedef struct fm_process {
    uint32_t index, serial;
    uint32_t parent; /* index or FM_NONE */
    /* The same process by exec: what it was before, which is its parent, and what it became. NULL: none was
     * seen. */
    struct fm_process *predecessor, *successor;
    char *program;    /* path; NULL: not reported */
    char *called;     /* the link to it by which it was started; NULL: none */
    char **arguments; /* its command line, NULL at the end; NULL: not reported */
    bool more_arguments;
    bool described; /* its PROCESS record came */
    bool announced; /* the caller knows of it */

    fm_code code;
    fm_blocks blocks;          /* Valgrind */
    fm_code_pages pages;       /* compiler */
    fm_thread_table threads;   /* those that are there */
    fm_traced_thread *running; /* Valgrind: the one that runs */
    fm_traced_thread *forked;  /* the parent's thread that made it, until its first thread begins */
    fm_object_map *objects;    /* NULL: not wanted */

    uint64_t references; /* delivered */
    uint64_t left_out, lost;
    unsigned channels; /* that are open */
    bool region_found; /* the region that is watched began at least once */

    fm_watched_process watched; /* its pid, and how it ended */
    bool end_reported;          /* END came, with this code */
    int end_code;
    int fatal_signal;      /* that it reported before it died; 0: none */
    bool valgrind;         /* runs under it: an end that was not reported is Valgrind's own */
    uint32_t died_calling; /* 1 + a system call that the runtime made for itself when it ended; 0: none */
    bool gave_up;          /* Valgrind said that it cannot go on */
    bool executes;         /* EXEC came, when so many references had been received */
    uint64_t executes_after;
    char *executed;       /* that program */
    bool execution_known; /* and it was to be traced, too */
    bool judged;          /* complete is final */
    bool complete;
    bool unknown_instruction;
    char *missing; /* why it is not complete */
} fm_process;

fm_process *fm_process_create(uint32_t serial, uint32_t pid, const char *function, bool objects,
                              fm_error *error);
void fm_process_destroy(fm_process *process); /* NULL is fine */
/* What a child of fork takes over. */
fm_status fm_process_inherit(fm_process *child, const fm_process *parent, fm_error *error);
/* The same process was first one program, then the other. */
void fm_process_becomes(fm_process *before, fm_process *after);
/* What only decoding needs is given back. */
void fm_process_finish(fm_process *process);

/* The thread with a number, made where there is none. FM_E_CORRUPT for an impossible number. */
fm_status fm_process_thread(fm_process *process, uint64_t number, fm_traced_thread **thread, fm_error *error);

/* It is over, or of nobody any more: what was known of it goes when both is true (FM_RECORD_THREAD_END;
 * channels of it; the one that runs under Valgrind). */
void fm_process_let_go(fm_process *process, fm_traced_thread *thread);

/* Not everything of it will have been delivered. The first reason given stays. */
void fm_process_miss(fm_process *process, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- decoder ---- */

/*
 * Words of a chunk to rows of a batch. One chunk is read at a time; reading stops when the batch
 * is full or another thread's references begin, and goes on from there.
 *
 * Everything in a chunk may be damaged, or change while it is read: a producer may die in the middle of a
 * word, and the program under it may write anywhere. Damage is FM_E_CORRUPT; the rest of the chunk is then
 * passed over, and the next one begins with a record again.
 */

/* Records about processes go to whoever knows all of them. words: copied, the text (if the kind has one)
 * behind them and ended; bytes: of the text with all that follows it. */
typedef fm_status (*fm_process_record_handler)(void *context, fm_process *process, unsigned kind,
                                               uint64_t argument, const uint64_t *words, const char *text,
                                               size_t bytes, fm_error *error);

typedef struct fm_decoder {
    fm_collect_filter filter;
    const fm_decode_kernels *kernels;
    fm_rows rows;
    bool drop; /* nothing is delivered any more: what comes is left out */
    fm_process_record_handler process_record;
    void *context;

    /* The chunk. */
    const uint64_t *words; /* NULL: none */
    size_t count, at;      /* words in it, next one */
    unsigned producer;
    fm_process *process;
    fm_traced_thread *thread;
    /* Where records begin (Valgrind) or words are that are no plain accesses (compiler), as far as scanned.
     */
    uint32_t marks[2 * FM_DECODE_WORDS + 64];
    size_t mark, mark_count;
    size_t scanned;
    bool zeros;
    fm_code_page *page;   /* compiler */
    uint64_t range_bytes; /* compiler: of accesses in the batch that a kernel left */

    /* Tags on paths that were asked for lately (compiler), of process `recent_of`. */
    struct {
        uint32_t site, node, tag;
    } recent[4096];
    const fm_process *recent_of;
    uint64_t record[FM_CHUNK_WORDS + 1]; /* one, copied out of the shared memory */
} fm_decoder;

fm_status fm_decoder_create(fm_decoder **decoder, const fm_collect_filter *filter, unsigned columns,
                            const char *isa, fm_error *error);
void fm_decoder_destroy(fm_decoder *decoder); /* NULL is fine */

/* Begins a chunk. thread: of a compiler's channel; for Valgrind's the process knows it. page: of code, the
 * last one reported in this channel. */
void fm_decoder_begin(fm_decoder *decoder, unsigned producer, fm_process *process, fm_traced_thread *thread,
                      uint64_t page, const uint64_t *words, size_t count);
/* Reads on. Afterwards the chunk is at its end (decoder->words is NULL), or the batch is to be delivered. */
fm_status fm_decoder_read(fm_decoder *decoder, fm_error *error);

/* ---- for the two decoders ---- */

fm_status fm_decode_valgrind(fm_decoder *decoder, fm_error *error);
fm_status fm_decode_compiler(fm_decoder *decoder, fm_error *error);
/* The record at decoder->at, which is neither BLOCK nor PAGE; moves behind it. *deliver: the batch has to be
 * delivered first, and the record was not done. */
fm_status fm_decode_record(fm_decoder *decoder, bool *deliver, fm_error *error);

/* Are the thread's references wanted now, as far as regions go? */
static inline bool fm_decoder_delivers(const fm_decoder *decoder)
{
    return !decoder->drop && (!decoder->filter.region || decoder->thread->region_open > 0);
}

#endif
