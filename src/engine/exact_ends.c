/* SPDX-License-Identifier: Apache-2.0 */
/* exact_ends.c - see exact_ends.h. */
#include "engine/exact_ends.h"

#include "engine/exact_state.h"

void fm_exact_list_firsts(fm_engine *engine, fm_first_touches *firsts)
{
    ((fm_exact *)engine)->firsts = firsts;
}

uint64_t fm_exact_live(const fm_engine *engine)
{
    return ((const fm_exact *)engine)->table.used;
}

static uint64_t depth_of(const fm_exact *self, uint64_t position)
{
    const uint32_t rank = fm_recency_window_rank(&self->window, position & FM_POSITION_BITS);
    return (uint32_t)((uint32_t)self->table.used - rank); /* ranks are modulo 2^32 */
}

/* Buckets, then lines of the window, are asked for some blocks ahead of their use. */
void fm_exact_depths(const fm_engine *engine, const uint64_t *blocks, size_t count, uint64_t *depths)
{
    enum { TOGETHER = 64 };
    const fm_exact *self = (const fm_exact *)engine;
    for (size_t first = 0; first < count; first += TOGETHER) {
        const size_t end = count - first < TOGETHER ? count : first + TOGETHER;
        for (size_t i = first; i < end; i++) __builtin_prefetch(fm_block_home(&self->table, blocks[i]));
        for (size_t i = first; i < end; i++) {
            depths[i] = fm_block_table_find(&self->table, blocks[i]);
            __builtin_prefetch(fm_recency_window_line(&self->window, depths[i] & FM_POSITION_BITS));
        }
        for (size_t i = first; i < end; i++) depths[i] = depth_of(self, depths[i]);
    }
}

uint64_t fm_exact_stack(const fm_engine *engine, uint64_t most, uint64_t *blocks)
{
    const fm_exact *self = (const fm_exact *)engine;
    const fm_block_table *table = &self->table;
    for (uint64_t i = 0; i < table->bucket_count; i++)
        for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++) {
            const fm_bucket *bucket = &table->buckets[i];
            if (!bucket->position[slot]) break;
            const uint64_t depth = depth_of(self, bucket->position[slot]);
            if (depth < most) blocks[depth] = bucket->key[slot];
        }
    return table->used < most ? table->used : most;
}
