/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_below.h - the exact part of the engine `shards`: distances below a bound, how many references are
 * further away, and first touches as long as there are few.
 *
 * Under a small bound by a small_stack.h, under others by the engine `exact`.
 */
#ifndef FATHOM_ENGINE_EXACT_BELOW_H
#define FATHOM_ENGINE_EXACT_BELOW_H

#include "engine/engine.h"
#include "engine/exact/small_stack.h"
#include "engine/seen_set.h"

typedef struct fm_exact_below {
    uint64_t bound;        /* 0: nothing is exact, and the rest is empty */
    fm_small_stack *small; /* up to FM_SMALL_BOUND; with `seen`, the blocks that were ever touched */
    fm_seen_set *seen;
    uint64_t max_memory, memory_peak;
    fm_engine *engine; /* otherwise: of fm_engine_exact */
} fm_exact_below;

/* seed: of hash tables; max_memory: 0, no limit. On failure it is empty. */
fm_status fm_exact_below_create(fm_exact_below *below, uint64_t bound, const fm_exact_kernels *kernels,
                                uint64_t seed, uint64_t max_memory, fm_error *error);
void fm_exact_below_clear(fm_exact_below *below); /* safe on an empty one */

/* At most FM_PART references; as fm_engine_ops.count. */
fm_status fm_exact_below_count(fm_exact_below *below, const uint64_t *blocks, size_t count, fm_tally *tally,
                               size_t *done, fm_error *error);

/* Of the references counted last, *count blocks among which all are that were touched for the first time;
 * blocks: those references themselves. */
const uint64_t *fm_exact_below_fresh(const fm_exact_below *below, const uint64_t *blocks, size_t *count);

/* As in fm_engine_ops. */
bool fm_exact_below_cold_known(const fm_exact_below *below);
uint64_t fm_exact_below_memory(const fm_exact_below *below);
uint64_t fm_exact_below_memory_peak(const fm_exact_below *below);

#endif
