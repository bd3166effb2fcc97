/* SPDX-License-Identifier: Apache-2.0 */
/* exact_ends.c - see exact_ends.h. */
#include "engine/exact/exact_ends.h"

#include "base/memory.h"
#include "engine/exact/exact_state.h"

void fm_exact_list_firsts(fm_engine *engine, fm_first_touches *firsts)
{
    ((fm_exact *)engine)->firsts = firsts;
}

void fm_first_touches_clear(fm_first_touches *firsts)
{
    if (firsts->blocks) fm_pages_free(firsts->blocks, firsts->capacity * sizeof *firsts->blocks);
    if (firsts->tags) fm_pages_free(firsts->tags, firsts->tag_capacity * sizeof *firsts->tags);
    *firsts = (fm_first_touches){0};
}

void fm_exact_number_from_here(fm_engine *engine)
{
    ((fm_exact *)engine)->clock = 0;
}

void fm_exact_last_numbers(const fm_engine *engine, const uint64_t *blocks, size_t count, uint32_t *numbers)
{
    enum { TOGETHER = 64 };
    const fm_block_table *table = &((const fm_exact *)engine)->table;
    const fm_exact_kernels *kernels = ((const fm_exact *)engine)->kernels;
    fm_bucket *homes[TOGETHER];
    for (size_t first = 0; first < count; first += TOGETHER) {
        const size_t some = count - first < TOGETHER ? count - first : TOGETHER;
        kernels->home(table, blocks + first, some, homes);
        for (size_t i = 0; i < some; i++) {
            __builtin_prefetch(homes[i]);
            fm_block_table_prefetch_times(table, homes[i]);
        }
        for (size_t i = 0; i < some; i++)
            numbers[first + i] = (uint32_t)fm_block_table_find_time(table, blocks[first + i]);
    }
}

void fm_exact_empty(fm_engine *engine)
{
    fm_exact *self = (fm_exact *)engine;
    fm_block_table_empty(&self->table);
    fm_recency_window_restart(&self->window, 0);
    self->started = self->window_full = self->dropping = false;
    if (self->seen) fm_seen_set_empty(self->seen);
    if (!self->firsts) return;
    self->firsts->count = 0;
    self->firsts->unheld = 0;
    self->firsts->given_up = false;
}

uint64_t fm_exact_live(const fm_engine *engine)
{
    return ((const fm_exact *)engine)->table.used;
}

bool fm_exact_drops(const fm_engine *engine)
{
    return ((const fm_exact *)engine)->held > 0;
}

static uint64_t depth_of(const fm_exact *self, uint64_t position)
{
    const uint32_t rank = fm_recency_window_rank(&self->window, position & FM_POSITION_BITS);
    return (uint32_t)((uint32_t)self->table.used - rank); /* ranks are modulo 2^32 */
}

void fm_exact_depths(const fm_engine *engine, const uint64_t *blocks, size_t count, uint64_t *depths)
{
    const fm_exact *self = (const fm_exact *)engine;
    self->kernels->depths(&self->table, &self->window, blocks, count, depths);
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
