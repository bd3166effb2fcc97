/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h - what the files of the engine `gpu` share: gpu.c (the engine), gpu_batches.c (a card's batches, and
 * several cards), gpu_draw.c (threads that fetch for themselves), gpu_spill.c (what the card has no room
 * for). The other side of gpu_module.h is modules/cuda.
 */
#ifndef FATHOM_ENGINE_GPU_GPU_H
#define FATHOM_ENGINE_GPU_GPU_H

#include "base/crew.h"
#include "base/error.h"
#include "engine/engine.h"
#include "engine/gpu/gpu_module.h"

#include <pthread.h>

/*
 * ==== loader ====
 *
 * Finds and opens the module that counts on graphics cards, once somebody asks for it.
 */

/* FM_E_UNSUPPORTED, and what to do about it, where there is none. */
fm_status fm_gpu_load(const fm_gpu_module **module, fm_error *error);
/* The module, and a card that it can use: FM_E_UNSUPPORTED where either is absent. */
fm_status fm_gpu_find(const fm_gpu_module **module, unsigned *cards, fm_error *error);

/* What fm_gpu_load answers instead, where it is not NULL; only tests set it. */
extern const fm_gpu_module *FM_TUNABLE fm_gpu_stand_in;

/*
 * ==== pieces ====
 *
 * Host memory that cards can read, in pieces with numbers from 0 on: filled here, sent to any
 * card, and filled again when that one has read them. They outlive the cards, which are opened anew when they
 * have to be larger.
 *
 * A piece belongs to one thread at a time, whoever that is; other threads may have others. While threads fill
 * them for themselves (gpu_draw.c), most are theirs; the rest is for whoever counts, who has to send some
 * blocks between batches (gpu_spill.c).
 */

typedef struct fm_gpu_pieces {
    const fm_gpu_module *module; /* NULL: not open */
    size_t size;                 /* references of each */
    uint64_t *memory;
    pthread_rwlock_t cards;             /* held for writing by those who close one */
    fm_gpu_card *reader[FM_GPU_PIECES]; /* the card that may not have read it yet; NULL: none */
    unsigned lent; /* those below this number are for threads that fill them for themselves */
    unsigned next; /* of the others, which are taken in turn: an index among them */
} fm_gpu_pieces;

fm_status fm_gpu_pieces_open(fm_gpu_pieces *pieces, const fm_gpu_module *module, unsigned device, size_t size,
                             fm_error *error);
void fm_gpu_pieces_close(fm_gpu_pieces *pieces); /* safe on a zeroed one; no card is open any more */
uint64_t fm_gpu_pieces_memory(size_t size);

/* Those that are not lent: how many, and the number of one by its index, modulo how many there are. */
static inline unsigned fm_gpu_pieces_own(const fm_gpu_pieces *pieces)
{
    return FM_GPU_PIECES - pieces->lent;
}
static inline unsigned fm_gpu_pieces_number(const fm_gpu_pieces *pieces, size_t index)
{
    return pieces->lent + (unsigned)(index % fm_gpu_pieces_own(pieces));
}

/* Waits until it can be filled; *memory: where. */
fm_status fm_gpu_pieces_wait(fm_gpu_pieces *pieces, unsigned piece, uint64_t **memory, fm_error *error);
/* References [from, from + count) of it become [at, at + count) of a card's slot. */
fm_status fm_gpu_pieces_send(fm_gpu_pieces *pieces, unsigned piece, size_t from, size_t count,
                             fm_gpu_card *card, unsigned slot, size_t at, fm_error *error);
/* Before a card is closed: nobody waits for it from now on. All that was sent to it was counted, or is of no
 * use. */
void fm_gpu_pieces_forget(fm_gpu_pieces *pieces, const fm_gpu_card *card);

/*
 * ==== batches ====
 *
 * What the files of the gpu engine share.
 *
 *     gpu.c          the engine: takes references, keeps account, delivers
 *     gpu_draw.c   memory that references travel from
 *     gpu_batches.c  a card's batches: filled here, counted there, both at once
 *     gpu_draw.c     threads that fill pieces for themselves
 *     gpu_spill.c    blocks that were referenced too long ago for the card to remember
 *     gpu_batches.c    more cards, which count batches by themselves
 */

/* Sizes to begin with; only tests set them to anything else. */
typedef struct fm_gpu_sizes {
    size_t batch;      /* references of a batch */
    size_t each_batch; /* the same where every single distance comes back to the host */
    size_t stack;      /* blocks that the card remembers; grows where the card has memory for more */
    size_t piece;      /* references that travel together */
    size_t alone;      /* batches that one card counts before others join: starting these takes longer */
} fm_gpu_sizes;
extern FM_TUNABLE fm_gpu_sizes fm_gpu_first_sizes;

/* Single distances of a batch, on the host. */
typedef struct fm_gpu_each {
    size_t room;
    uint64_t *distances, *times, *new_blocks; /* times: NULL without */
} fm_gpu_each;

/*
 * A card and what is under way on it. One slot is filled by fm_gpu_batches_put; the other is being counted by
 * a thread of its own, or was counted and not collected yet, or is free.
 */
typedef struct fm_gpu_batches {
    const fm_gpu_module *module;
    fm_gpu_setup setup;
    fm_gpu_card *card;
    fm_gpu_pieces *pieces; /* of all cards */
    fm_rounds *copiers;    /* copies references into pieces */
    fm_gpu_each each;
    /* Being filled: */
    unsigned slot;
    size_t filled;   /* references, those in the piece among them */
    unsigned piece;  /* the one that was begun */
    size_t in_piece; /* references in it that were not sent yet */
    uint64_t *begun; /* its memory; NULL: none was begun */
    /* Being counted: */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool thread_started, ending, running; /* under the lock: running */
    bool uncollected;                     /* running, or done and not collected */
    fm_gpu_batch batch;
    fm_status status;
    fm_error error;
} fm_gpu_batches;

fm_status fm_gpu_batches_open(fm_gpu_batches *self, const fm_gpu_module *module, fm_gpu_pieces *pieces,
                              const fm_gpu_setup *setup, fm_error *error);
void fm_gpu_batches_close(fm_gpu_batches *self);
/* Into the slot being filled; there must be room. */
fm_status fm_gpu_batches_put(fm_gpu_batches *self, const uint64_t *blocks, size_t count, fm_error *error);
/* The same with references [from, from + count) of a piece that the caller has filled. It may be filled again
 * after fm_gpu_pieces_wait. */
fm_status fm_gpu_batches_put_piece(fm_gpu_batches *self, unsigned piece, size_t from, size_t count,
                                   fm_error *error);
/* No piece is begun afterwards. */
fm_status fm_gpu_batches_send(fm_gpu_batches *self, fm_error *error);
/* What was put is handed to the thread that counts; nothing may be uncollected. The other slot is free to be
 * filled. */
fm_status fm_gpu_batches_start(fm_gpu_batches *self, uint64_t first_time, size_t keep, fm_error *error);
/* Waits for what was started; self->batch and self->each have it then. */
fm_status fm_gpu_batches_collect(fm_gpu_batches *self, fm_error *error);
/* Counts a few blocks now, in the slot that was collected last; nothing may be uncollected. */
fm_status fm_gpu_batches_count_now(fm_gpu_batches *self, const uint64_t *blocks, fm_gpu_batch *batch,
                                   fm_error *error);
uint64_t fm_gpu_batches_memory(const fm_gpu_setup *setup);

/* Part of the stack that the card has no room for, oldest block first. */
typedef struct fm_gpu_chunk {
    size_t count;
    uint64_t *blocks, *times; /* times: NULL without */
} fm_gpu_chunk;

typedef struct fm_gpu_spill {
    fm_gpu_chunk *chunks; /* oldest first */
    size_t count, room;
    bool times;
} fm_gpu_spill;

void fm_gpu_spill_clear(fm_gpu_spill *spill);
uint64_t fm_gpu_spill_memory(const fm_gpu_spill *spill);
/* The oldest blocks of the card's stack become the newest chunk; `keep` stay. */
fm_status fm_gpu_spill_add(fm_gpu_spill *spill, fm_gpu_batches *batches, size_t stack, size_t keep,
                           fm_error *error);
/* Only the newest `keep` blocks are of interest any more. */
void fm_gpu_spill_drop(fm_gpu_spill *spill, uint64_t keep);
/*
 * Looks up the references of the batch collected last that are new to the card (FM_COLD in each.distances):
 * those that are found get their distances, and leave their chunks. stack_before: blocks on the card before
 * the batch. *found: how many.
 */
fm_status fm_gpu_spill_search(fm_gpu_spill *spill, fm_gpu_batches *batches, size_t stack_before,
                              uint64_t *found, fm_error *error);

/*
 * ==== cards ====
 *
 * More cards for one trace: each counts batches of its own, all at the same time, and leaves
 * open what it cannot know.
 *
 * One card, the carrier, has the stack of everything before (gpu.c). Another one counts its batch after an
 * empty stack. What it counts is right: the distance of a reference whose block was in the batch before does
 * not depend on anything earlier. Left are the first touches of the batch, in order: F, each block once. They
 * are merged by the carrier, when all batches before have been:
 *
 *     between the last touch of a block before the batch and its first touch in it lie the blocks that are
 *     newer in the stack, and those of F before it, and no others: so F is itself a short batch after the
 *     stack, with the distances that were left open.
 *
 * Afterwards the same blocks, in the order of their last touches in the batch instead of their first ones,
 * are the newest of the stack: the other card's own stack, which replaces them.
 *
 * The other cards do nothing for each other, so any number of them gives the same counts. For a batch of n
 * references to d blocks after a stack of M, they cost the carrier a batch of d references instead of n, and
 * 16 d bytes each way.
 */

/* A card beside the carrier. */
typedef struct fm_gpu_helper {
    fm_gpu_batches batches; /* its each.new_blocks is F */
    uint64_t *order;        /* the blocks of the batch collected last, in the order of their last touches */
} fm_gpu_helper;

typedef struct fm_gpu_cards {
    fm_gpu_helper *helpers;
    size_t count;
    size_t turn; /* whose batch is being filled: 0 the carrier's, i that of helpers[i - 1] */
} fm_gpu_cards;

/* Helpers on the cards after the carrier's, `most` at most; cards that cannot be had, because somebody else
 * uses their memory or for any other reason, are left out. carrier: what that one was opened for. */
void fm_gpu_cards_open(fm_gpu_cards *cards, const fm_gpu_module *module, fm_gpu_pieces *pieces,
                       const fm_gpu_setup *carrier, unsigned devices, unsigned most);
void fm_gpu_cards_close(fm_gpu_cards *cards);
uint64_t fm_gpu_cards_memory(const fm_gpu_cards *cards);
/* References that are being counted by helpers, or were and are not merged yet. */
uint64_t fm_gpu_cards_pending(const fm_gpu_cards *cards);
/* What was put into a helper's slot is counted by it. */
fm_status fm_gpu_helper_start(fm_gpu_helper *helper, fm_error *error);
/* Waits for that. Then batches.batch, each.new_blocks and order have what it found, and its stack is empty.
 */
fm_status fm_gpu_helper_collect(fm_gpu_helper *helper, fm_error *error);

/*
 * ==== threads that fetch ====
 *
 * Threads that fetch references for themselves (engine.h), and fill pieces with them: what
 * one thread can cut and copy is a fraction of what a card counts.
 */

typedef struct fm_gpu_drawing {
    const fm_block_supply *supply;
    fm_gpu_pieces *pieces; /* none is begun */
    unsigned threads;      /* the caller's among them */
    /* In the order of the trace, by one thread at a time, not always the same: the first `count` references
     * of a piece are to be sent. */
    fm_status (*place)(void *context, unsigned piece, size_t count, fm_error *error);
    void *context;
} fm_gpu_drawing;

/* All that the supply has. *repeats: how many references it left out. */
fm_status fm_gpu_draw(const fm_gpu_drawing *drawing, uint64_t *repeats, fm_error *error);

#endif
