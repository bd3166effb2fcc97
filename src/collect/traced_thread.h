/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced_thread.h - what a traced thread is doing: where its stack lies, which calls it is in, whether it is
 * inside the function and the region that are watched.
 *
 * Calls are reported by two kinds of producers. Valgrind reports the stack pointer at the beginning of every
 * block: a call is a block that ends with one and a next block whose stack pointer is where the return
 * address was pushed; a frame is over when the stack pointer is above it, however that came (return, longjmp,
 * exception). The compiler's runtime reports entering and leaving, and where the stack pointer is after
 * functions were left otherwise; what it could not see lies below the stack pointer of the next function
 * entered.
 */
#ifndef FATHOM_COLLECT_TRACED_THREAD_H
#define FATHOM_COLLECT_TRACED_THREAD_H

#include "collect/code.h"

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

void fm_thread_free(fm_traced_thread *thread);
/* The calls that the thread of a parent was in when it forked. False: no memory. */
bool fm_thread_inherit(fm_traced_thread *child, const fm_traced_thread *parent);

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

#endif
