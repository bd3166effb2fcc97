/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_supply.h - references that several threads fetch for themselves, each a stretch of its own, instead
 * of one thread that feeds them all: what a single thread can copy is the limit of sixteen others.
 */
#ifndef FATHOM_ENGINE_BLOCK_SUPPLY_H
#define FATHOM_ENGINE_BLOCK_SUPPLY_H

#include "trace/supply.h"

/* A run of references in time order: the block of each, and with attribution its tag. */
typedef struct fm_references {
    size_t count;
    const uint64_t *blocks;
    const uint32_t *now; /* tags; NULL: without */
    /* NULL; or references that repeat the block before have been left out, and their pairs counted: each that
     * is left was used under the tag `now`, and its block left under this. */
    const uint32_t *leave;
} fm_references;

typedef struct fm_block_supply {
    void *context;
    /* One thread at a time, in time order: claims the next stretch, of about so many references. False: there
     * is nothing left. */
    bool (*claim)(void *context, uint64_t wanted, fm_stretch *stretch);
    /* By several threads, each with its number and a stretch of its own: the next references of it, which
     * stay until this worker's next call, with tags if all have them. Count 0: its end. repeats: how many
     * were left out because they repeat the block before. */
    fm_status (*fetch)(void *context, unsigned worker, fm_stretch *stretch, fm_references *references,
                       uint64_t *repeats, fm_error *error);
    /* References that nobody has claimed, about. One thread at a time, and not during a claim. */
    uint64_t (*left)(const void *context);
} fm_block_supply;

#endif
