/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_state.h - what the files of the gpu engine share.
 *
 *     gpu.c          the engine: takes references, keeps account, delivers
 *     gpu_pieces.c   memory that references travel from
 *     gpu_batches.c  a card's batches: filled here, counted there, both at once
 *     gpu_draw.c     threads that fill pieces for themselves
 *     gpu_spill.c    blocks that were referenced too long ago for the card to remember
 *     gpu_cards.c    more cards, which count batches by themselves
 */
#ifndef FATHOM_ENGINE_GPU_STATE_H
#define FATHOM_ENGINE_GPU_STATE_H

#include "base/rounds.h"
#include "base/tunable.h"
#include "engine/engine.h"
#include "engine/gpu/gpu_pieces.h"

#include <pthread.h>

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
uint64_t fm_gpu_spill_blocks(const fm_gpu_spill *spill);
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

#endif
