/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - the receiver's end of the shared memory (collect/protocol.h): makes it, waits for chunks, takes
 * them in the order they were sealed, and gives rings back. It does not know what is in a chunk.
 *
 * Nothing that producers write is trusted: numbers are read once and checked before they are used.
 */
#ifndef FATHOM_COLLECT_SESSION_H
#define FATHOM_COLLECT_SESSION_H

#include "collect/protocol.h"
#include "collect/rows.h"

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

#endif
