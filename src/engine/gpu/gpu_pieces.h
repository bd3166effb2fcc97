/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_pieces.h - host memory that cards can read, in pieces with numbers from 0 on: filled here, sent to any
 * card, and filled again when that one has read them. They outlive the cards, which are opened anew when they
 * have to be larger.
 *
 * A piece belongs to one thread at a time, whoever that is; other threads may have others. While threads fill
 * them for themselves (gpu_draw.c), most are theirs; the rest is for whoever counts, who has to send some
 * blocks between batches (gpu_cards.h, gpu_spill.c).
 */
#ifndef FATHOM_ENGINE_GPU_PIECES_H
#define FATHOM_ENGINE_GPU_PIECES_H

#include "engine/gpu/gpu_module.h"

#include <pthread.h>

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

#endif
