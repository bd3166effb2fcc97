/* SPDX-License-Identifier: Apache-2.0 */
/* block_tags.c - see block_tags.h. */
#include "analyzer/block_tags.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

fm_status fm_block_tags_create(fm_block_tags *tags, uint64_t seed, uint64_t max_memory, fm_error *error)
{
    memset(tags, 0, sizeof *tags);
    tags->max_memory = max_memory;
    fm_status status = fm_block_table_create(&tags->table, seed, false, error);
    if (status == FM_OK) tags->memory_peak = fm_block_table_memory(&tags->table);
    return status;
}

void fm_block_tags_clear(fm_block_tags *tags)
{
    fm_block_table_clear(&tags->table);
}

uint64_t fm_block_tags_memory(const fm_block_tags *tags)
{
    return tags->table.buckets ? fm_block_table_memory(&tags->table) : 0;
}

fm_status fm_block_tags_reserve(fm_block_tags *tags, size_t more, fm_error *error)
{
    if (fm_block_table_has_room(&tags->table, more)) return FM_OK;
    uint64_t bytes = fm_block_table_memory_grown(&tags->table, more);
    if (tags->max_memory && bytes > tags->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the share of the memory limit for tags of blocks, %" PRIu64
                       " bytes, cannot be kept: there are %" PRIu64 " blocks and %" PRIu64
                       " bytes are needed to go on",
                       tags->max_memory, tags->table.used, bytes);
    fm_status status = fm_block_table_grow(&tags->table, more, error);
    if (status == FM_OK && bytes > tags->memory_peak) tags->memory_peak = bytes;
    return status;
}

uint32_t fm_block_tags_exchange(fm_block_tags *tags, uint64_t block, uint32_t tag)
{
    /* 0 would be a free slot. */
    uint64_t old =
        fm_block_table_exchange(&tags->table, fm_block_home(&tags->table, block), block, (uint64_t)tag + 1);
    return old ? (uint32_t)(old - 1) : 0;
}
