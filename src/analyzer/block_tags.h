/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_tags.h - the tag of every block's last use, for engines that keep none themselves. A block table with
 * tags for positions: 27 to 40 bytes a block. Blocks are never dropped, also under a bound.
 */
#ifndef FATHOM_BLOCK_TAGS_H
#define FATHOM_BLOCK_TAGS_H

#include "engine/engine_tables.h"

typedef struct fm_block_tags {
    fm_block_table table;
    uint64_t max_memory, memory_peak;
} fm_block_tags;

/* max_memory: bytes; 0: no limit. */
fm_status fm_block_tags_create(fm_block_tags *tags, uint64_t seed, uint64_t max_memory, fm_error *error);
void fm_block_tags_clear(fm_block_tags *tags); /* frees; safe on a zeroed struct */
uint64_t fm_block_tags_memory(const fm_block_tags *tags);

/* Room for so many new blocks. Fails without changing anything. */
fm_status fm_block_tags_reserve(fm_block_tags *tags, size_t more, fm_error *error);
/* Returns the tag of the last use, 0 for a new block; from now on it is `tag`. There is room. */
uint32_t fm_block_tags_exchange(fm_block_tags *tags, uint64_t block, uint32_t tag);

#endif
