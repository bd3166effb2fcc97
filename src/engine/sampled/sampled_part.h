/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_part.h - a part of the trace (exact_kernels.h) on its way into the samples of `shards`: which of
 * its references are in a sample, in order.
 *
 * Every reference is hashed; but where the exact part has linked all references to a block (small_stack.h),
 * it is enough to hash each block once, and to follow the links of those that are in the sample. Repeats,
 * which the exact part has removed, are touched with the reference that they repeat.
 */
#ifndef FATHOM_ENGINE_SAMPLED_PART_H
#define FATHOM_ENGINE_SAMPLED_PART_H

#include "engine/exact/small_stack.h"
#include "engine/sampled/block_sample.h"

typedef struct fm_sampled_part {
    const fm_exact_kernels *kernels;
    const uint64_t *blocks; /* the references, repeats and all */
    size_t count;
    const fm_part *part;  /* NULL: no links */
    const uint64_t *left; /* with links: the references that are no repeats … */
    const uint16_t *at;   /* … and where they stood, with `count` behind the last; NULL: none was removed */
    uint16_t index[1 + FM_PART + 16];
    uint64_t common[FM_PART]; /* hashes of the references; with links, of first touches */
    /* First touches or references that are in the current sample and in the next one. */
    uint16_t chosen[2][FM_PART + 16];
    size_t chosen_count[2];
} fm_sampled_part;

/* blocks: count references, 1 … FM_PART; small: NULL, or what has just counted them. Both stay as they are
 * as long as the part is in use. */
void fm_sampled_part_start(fm_sampled_part *sampled, const fm_exact_kernels *kernels, const uint64_t *blocks,
                           size_t count, const fm_small_stack *small);

/* All references that are in each of the samples. There is room for as many new blocks. */
void fm_sampled_part_touch(fm_sampled_part *sampled, fm_block_sample *samples, unsigned count);

#endif
