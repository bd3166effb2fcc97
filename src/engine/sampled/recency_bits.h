/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recency_bits.h - the order of last touches of some blocks, one of which can be taken out at a time while
 * those after it are counted. A bit for every touch, set where it is the latest to its block, and a Fenwick
 * tree over the words of bits. For the samples of `shards`; the recency window of `exact` is faster for many
 * blocks at once, and larger.
 *
 * Positions that were not given out yet are set: a touch only ever clears the bit it leaves. When all are
 * given out, the owner renumbers its blocks: fm_recency_bits_start_ranks, fm_recency_bits_rank for each
 * block, fm_recency_bits_restart.
 *
 * Time O(log positions) for a touch. Space: 1.5 bits a position.
 */
#ifndef FATHOM_ENGINE_RECENCY_BITS_H
#define FATHOM_ENGINE_RECENCY_BITS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fm_recency_bits {
    uint64_t *words;
    uint32_t
        *sums; /* [1 … words]: the tree; [0] is for ranks. In the same memory as the words, behind them */
    uint32_t next; /* the position given out next */
    uint32_t size; /* positions, a multiple of 64 */
    /* Not beside `next`: both grow by one, and gcc would load them together right after this one was stored.
     */
    uint32_t live; /* bits set below `next` */
} fm_recency_bits;

/* Bytes for so many positions, a multiple of 64. */
uint64_t fm_recency_bits_memory(uint64_t size);
/* All zeroes has no positions. Forgets them all: restart before anything else. False where memory is short:
 * then nothing has changed. */
bool fm_recency_bits_grow(fm_recency_bits *bits, uint32_t size);
void fm_recency_bits_clear(fm_recency_bits *bits);

/* From here to the restart, ranks can be asked for and nothing else. */
void fm_recency_bits_start_ranks(fm_recency_bits *bits);
/* How many live positions are below this one: its new place. */
uint32_t fm_recency_bits_rank(const fm_recency_bits *bits, uint32_t position);
/* Positions [0 … live) are those of live blocks. */
void fm_recency_bits_restart(fm_recency_bits *bits, uint32_t live);

/* A new position, after all others. There is one. */
static inline uint32_t fm_recency_bits_give(fm_recency_bits *bits)
{
    bits->live++;
    return bits->next++;
}

/* Takes a live position back; returns how many live ones are above it. */
uint32_t fm_recency_bits_remove(fm_recency_bits *bits, uint32_t position);

#endif
