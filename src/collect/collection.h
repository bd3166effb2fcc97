/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collection.h - a collection and its end of the shared memory. collection.c is the loop, session.c takes
 * chunks, receive.c fills batches, process_records.c reads records about processes, launch.c starts the
 * program, collection_results.c says what was seen and how processes ended.
 */
#ifndef FATHOM_COLLECT_COLLECTION_H
#define FATHOM_COLLECT_COLLECTION_H

#include "base/table.h"
#include "collect/decode_kernels.h"
#include "collect/decoder.h"
#include "collect/protocol.h"
#include "process/watch.h"

#include <fathom/collect.h>

/* ---- session ---- */

/*
 * The receiver's end of the shared memory (collect/protocol.h): makes it, waits for chunks, takes
 * them in the order they were sealed, and gives rings back. It does not know what is in a chunk.
 *
 * Nothing that producers write is trusted: numbers are read once and checked before they are used.
 */

struct fm_process;
struct fm_traced_thread;

/* What the receiver knows of a channel. */
typedef struct fm_reception {
    bool active;
    bool closed;     /* by its producer: no more chunks will be sealed */
    bool dead;       /* its process is gone: likewise, and what was begun is all there will be */
    bool rest_taken; /* what was not sealed any more has been handed out */
    uint32_t index;
    unsigned producer;
    uint32_t pid, serial, thread_number;
    uint32_t taken;       /* chunks handed out and done with */
    uint32_t sealed;      /* as last seen */
    uint64_t born;        /* the sequence number that was next when it was claimed */
    uint64_t sequence;    /* of the next chunk, when sealed != taken */
    uint64_t passed;      /* 1 + the sequence number of the last chunk that was handed out; 0: none was */
    uint32_t calling;     /* 1 + the system call that its producer made for itself at the end; 0: none */
    uint32_t begun;       /* words of the chunk behind the sealed ones that were handed out already */
    uint32_t caught_up;   /* channels (of all there are) that were read before its own first words */
    const uint64_t *ring; /* mapped */
    uint64_t page;        /* of code: see fm_decoder_begin */
    struct fm_process *process;
    struct fm_traced_thread *thread;
} fm_reception;

typedef struct fm_receiver {
    int file;
    fm_session *session;
    fm_reception channels[FM_STREAM_CHANNELS];
    uint32_t active[FM_STREAM_CHANNELS]; /* indices */
    size_t active_count;
    uint32_t used;     /* channels that were ever open: those below */
    uint64_t expected; /* sequence number of the next chunk */
    bool gap;          /* that one is waited for */
    unsigned patience; /* for one that is missing, in naps */
    unsigned naps;     /* taken since anything came */

    unsigned since_scan;
    uint64_t beats; /* fm_session.beats, which is a copy */
} fm_receiver;

/* A chunk that was handed out. */
typedef struct fm_handed {
    fm_reception *channel;
    const uint64_t *words;
    size_t count;
    bool damaged; /* its numbers are impossible: count is 0 */
    bool ahead;   /* part of a chunk that its producer still writes to */
} fm_handed;

fm_status fm_receiver_create(fm_receiver **receiver, uint32_t wants, fm_error *error);
void fm_receiver_destroy(fm_receiver *receiver); /* NULL is fine */
/* "/proc/123/fd/4" */
void fm_receiver_path(const fm_receiver *receiver, char *path, size_t size);
void fm_receiver_order_detach(fm_receiver *receiver);
bool fm_receiver_detaching(const fm_receiver *receiver);

/* A channel that was opened since the last call, or NULL. The caller sets process and thread. *damaged: one
 * with an impossible description was dropped. */
fm_reception *fm_receiver_opened(fm_receiver *receiver, bool *damaged, fm_status *status, fm_error *error);

/* The next chunk in order. False: none now. A channel whose producer will write no more, and all of which was
 * handed out, is returned with words NULL: it is to be released. */
bool fm_receiver_next(fm_receiver *receiver, fm_handed *handed);
/* The chunk was read: its place may be written again. */
void fm_receiver_done(fm_receiver *receiver, const fm_handed *handed);
/* Nothing refers to the channel any more. */
void fm_receiver_release(fm_receiver *receiver, fm_reception *channel);

/* Waits for a moment, or until something happens, at most 0.1 s. Returns for how long, in seconds, about. */
double fm_receiver_wait(fm_receiver *receiver);

/* ---- the collection ---- */

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

/* ---- the end: collection_results.c ---- */

/* Says how a process ended and whether everything of it was received. */
void fm_judge_process(fm_collection *collection, fm_process *process);

/* ---- launch.c ---- */

/* Finds and checks the program, chooses the collector, and starts it. */
fm_status fm_launch(fm_collection *collection, fm_error *error);

#endif
