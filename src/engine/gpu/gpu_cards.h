/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_cards.h - more cards for one trace: each counts batches of its own, all at the same time, and leaves
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
#ifndef FATHOM_ENGINE_GPU_CARDS_H
#define FATHOM_ENGINE_GPU_CARDS_H

#include "engine/gpu/gpu_state.h"

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

#endif
