/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collection.h - the parts of an fm_collection, for the files that are it: collection.c is the loop,
 * receive.c fills batches, process_records.c reads records about processes, judge.c says how they ended,
 * launch.c starts the program, describe.c says what was seen. process/watch.h looks after processes and
 * signals.
 */
#ifndef FATHOM_COLLECT_COLLECTION_H
#define FATHOM_COLLECT_COLLECTION_H

#include "base/table.h"
#include "collect/decoder.h"
#include "collect/session.h"
#include "process/watch.h"

#include <fathom/collect.h>

typedef struct fm_known_process {
    fm_key key; /* process_records.c */
    uint32_t index;
} fm_known_process;

struct fm_collection {
    fm_collect_options options; /* its strings are the collection's own */
    fm_receiver *receiver;
    fm_decoder *decoder;
    fm_collector collector;
    bool instrumented; /* the program itself is: else only what it loads or starts may be */
    char version[64];
    char *notes;

    fm_process **processes;
    size_t process_count, process_capacity;
    fm_table process_table; /* fm_known_process */
    size_t announced;       /* the caller knows of so many of them */

    fm_handed chunk;    /* that is being read, if decoder->words */
    bool deliver;       /* the batch is to be delivered as it is */
    fm_process *owner;  /* whose references are in the batch */
    uint64_t delivered; /* references, of all processes */
    double idle;        /* seconds since anything came */
    double looked;      /* at processes, last time */

    fm_watch watch; /* the program, and other processes that were reported */
    bool limit_reached, stopped;
    bool ended; /* END was delivered */
    fm_status failed;
    fm_error failure;
};

/* A line for people, once each. */
void fm_collection_note(fm_collection *collection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Which files are not seen, because they are not instrumented. */
void fm_collection_note_unseen(fm_collection *collection);

/* ---- process_records.c ---- */

/* The process with a serial number, made where there is none. */
fm_status fm_process_find_or_create(fm_collection *collection, uint32_t serial, uint32_t pid,
                                    fm_process **found, fm_error *error);
/* The n-th, from 0, of the processes with a pid that were seen: one that executed other programs is several.
 * NULL: there are not so many. */
fm_process *fm_process_with_pid(const fm_collection *collection, uint64_t pid, uint32_t n);
/* The decoder's fm_process_record_handler. */
fm_status fm_process_record(void *context, fm_process *process, unsigned kind, uint64_t argument,
                            const uint64_t *words, const char *text, size_t bytes, fm_error *error);

/* ---- receive.c ---- */

/* Channels that producers have opened. */
fm_status fm_receive_admit(fm_collection *collection, fm_error *error);
/* The next chunk, or the end of a channel. *came: there was one. */
fm_status fm_receive_next(fm_collection *collection, bool *came, fm_error *error);
/* The chunk that was taken begins: what is in the batch has been delivered, or is of the same thread. */
void fm_receive_begin_chunk(fm_collection *collection);
/* Reads on in the current chunk. */
fm_status fm_receive_read_on(fm_collection *collection, fm_error *error);
/* A limit is reached: tracing ends. */
void fm_receive_limit(fm_collection *collection);
void fm_receive_deliver(fm_collection *collection, fm_collected *collected);
/* Reports the next process up to `index` that the caller does not know. */
bool fm_receive_announce(fm_collection *collection, size_t index, fm_collected *collected);

/* ---- judge.c ---- */

/* Says how a process ended and whether everything of it was received. */
void fm_judge_process(fm_collection *collection, fm_process *process);

/* ---- launch.c ---- */

/* Finds and checks the program, chooses the collector, and starts it. */
fm_status fm_launch(fm_collection *collection, fm_error *error);

#endif
