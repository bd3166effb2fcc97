/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_supply.h - references that several threads fetch for themselves, each a stretch of its own, instead
 * of one thread that feeds them all: what a single thread can copy is the limit of sixteen others.
 */
#ifndef FATHOM_ENGINE_BLOCK_SUPPLY_H
#define FATHOM_ENGINE_BLOCK_SUPPLY_H

#include "trace/supply.h"

typedef struct fm_block_supply {
    void *context;
    /* One thread at a time, in time order: claims the next stretch, of about so many references. False: there
     * is nothing left. */
    bool (*claim)(void *context, uint64_t wanted, fm_stretch *stretch);
    /* By several threads, each with its number and a stretch of its own: the next blocks of it, which stay
     * until this worker's next call. *count 0: its end. repeats: references that were left out because they
     * repeat the block before. */
    fm_status (*fetch)(void *context, unsigned worker, fm_stretch *stretch, const uint64_t **blocks,
                       size_t *count, uint64_t *repeats, fm_error *error);
    /* References that nobody has claimed, about. One thread at a time, and not during a claim. */
    uint64_t (*left)(const void *context);
} fm_block_supply;

#endif
