/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_draw.h - threads that fetch references for themselves (block_supply.h), and fill pieces with them: what
 * one thread can cut and copy is a fraction of what a card counts.
 */
#ifndef FATHOM_ENGINE_GPU_DRAW_H
#define FATHOM_ENGINE_GPU_DRAW_H

#include "engine/block_supply.h"
#include "engine/gpu/gpu_pieces.h"

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
