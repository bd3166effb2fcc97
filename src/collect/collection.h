/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collection.h - the parts of an fm_collection, for the files that are it: collection.c is the loop,
 * receive.c the way of a batch, told.c hears of processes, watch.c looks after them and after signals,
 * judge.c says how they ended, launch.c starts the program, describe.c says what was seen.
 */
#ifndef FATHOM_COLLECT_COLLECTION_H
#define FATHOM_COLLECT_COLLECTION_H

#include "collect/decoder.h"
#include "collect/session.h"

#include <fathom/collect.h>
#include <sys/types.h>

struct fm_collection {
    fm_collect_options options; /* its strings are the collection's own */
    fm_receiver *receiver;
    fm_decoder *decoder;
    fm_collector collector;
    char version[64];
    char *notes;
    double started; /* seconds on the monotonic clock */

    fm_process **processes;
    size_t process_count, process_capacity;
    size_t announced; /* the caller knows of so many of them */

    fm_handed chunk;    /* that is being read, if decoder->words */
    bool deliver;       /* the batch is to be delivered as it is */
    fm_process *owner;  /* whose references are in the batch */
    uint64_t delivered; /* references, of all processes */
    double idle;        /* seconds since anything came */
    double looked;      /* at processes, last time */

    /* The program. */
    pid_t child;
    bool child_gone;
    int child_status;
    double child_ended;
    bool limit_reached, interrupted, stopped;
    double kill_at; /* 0: not planned */
    int interrupts;
    bool subreaper; /* nothing to undo about orphans */
    bool watching;  /* signal handlers are set */
    bool ended;     /* END was delivered */
    fm_status failed;
    fm_error failure;
};

double fm_now(void);
/* A line for people, once each. */
void fm_collection_note(fm_collection *collection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Which files are not seen, because they are not instrumented. */
void fm_collection_note_unseen(fm_collection *collection);

/* ---- told.c ---- */

/* The process with a serial number, made where there is none. */
fm_status fm_told_process(fm_collection *collection, uint32_t serial, uint32_t pid, fm_process **found,
                          fm_error *error);
/* The decoder's fm_process_told. */
fm_status fm_told_record(void *context, fm_process *process, unsigned kind, uint64_t argument,
                         const uint64_t *words, const char *text, size_t bytes, fm_error *error);

/* ---- receive.c ---- */

/* Channels that producers have opened. */
fm_status fm_receive_admit(fm_collection *collection, fm_error *error);
/* Takes what comes next, if anything does. *came: something did. */
fm_status fm_receive_take(fm_collection *collection, bool *came, fm_error *error);
/* The chunk that was taken begins: what is in the batch has been delivered, or is of the same thread. */
void fm_receive_begin_chunk(fm_collection *collection);
/* Reads on in the chunk at hand. */
fm_status fm_receive_read_on(fm_collection *collection, fm_error *error);
void fm_receive_deliver(fm_collection *collection, fm_collected *collected);
/* Tells of the next process up to `index` that the caller does not know. */
bool fm_receive_announce(fm_collection *collection, size_t index, fm_collected *collected);

/* ---- watch.c ---- */

/* Signal handlers, and the care of orphans. FM_E_ARGUMENT: another collection is open. */
fm_status fm_watch_begin(fm_collection *collection, fm_error *error);
void fm_watch_end(fm_collection *collection);
/* Signals that came, limits of time, killing that is due. */
void fm_watch_orders(fm_collection *collection);
/* Starts to watch a process, or the program that another has become. */
void fm_watch_process(fm_collection *collection, fm_process *process);
/* Which processes are gone? Their channels are marked. */
void fm_watch_processes(fm_collection *collection);
/* Has a child changed its state since the last call? */
bool fm_watch_children_changed(void);
/* Is nothing left to come? */
bool fm_watch_all_gone(fm_collection *collection);
/* Asks the program to end; what does not is killed 2 s later. */
void fm_watch_terminate(fm_collection *collection, int number);
void fm_watch_kill(fm_collection *collection);

/* ---- judge.c ---- */

/* Says how a process ended and whether everything of it was received. */
void fm_judge_process(fm_collection *collection, fm_process *process);

/* ---- launch.c ---- */

/* Finds and checks the program, chooses the collector, and starts it. */
fm_status fm_launch(fm_collection *collection, fm_error *error);

#endif
