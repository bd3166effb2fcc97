/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced_process.h - a traced process: what it is, what is known of its code, its threads and its heap, how
 * it ended and whether everything of it was received.
 */
#ifndef FATHOM_COLLECT_TRACED_PROCESS_H
#define FATHOM_COLLECT_TRACED_PROCESS_H

#include "collect/blocks.h"
#include "collect/pages.h"
#include "collect/thread_table.h"
#include "collect/traced_thread.h"
#include "process/watch.h"
#include "program/object_map.h"

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

#endif
