/* SPDX-License-Identifier: Apache-2.0 */
/* small_stack.c - exact distances below a small bound (exact_kernels.h). The loops are in exact_small_body.h.
 */
#include "engine/exact/exact_kernels.h"

#include "base/memory.h"
#include "engine/exact/exact_state.h"

fm_small_stack *fm_small_stack_create(uint64_t bound, uint64_t seed, const fm_exact_kernels *kernels)
{
    fm_small_stack *stack = fm_pages_allocate(sizeof *stack);
    if (!stack) return NULL;
    stack->kernels = kernels;
    stack->bound = bound;
    uint64_t mixed = seed * UINT64_C(0xD1342543DE82EF95);
    for (int i = 0; i < 6; i++) {
        mixed = (mixed ^ mixed >> 31) * UINT64_C(0x9E3779B97F4A7C15);
        *(i < 3 ? &stack->chunk.multiplier[i] : &stack->multiplier[i - 3]) = (uint32_t)(mixed >> 32) | 1;
    }
    stack->next = stack->live = 1;
    kernels->small_restart(stack);
    return stack;
}

void fm_small_stack_destroy(fm_small_stack *stack)
{
    fm_pages_free(stack, sizeof *stack);
}

/* What follows from the chunk alone. */
static void tally_chunk(fm_small_stack *stack, fm_tally *tally)
{
    fm_cache_chunk *chunk = &stack->chunk;
    for (uint64_t distance = 0; distance < FM_CLOSE; distance++)
        if (distance < stack->bound)
            fm_tally_add_many(tally, distance, chunk->close_count[distance]);
        else
            tally->beyond += chunk->close_count[distance];
    fm_exact_tally(stack->kernels, stack->bound, tally, chunk->apart_distance, chunk->apart_count);
}

/* Touches of blocks, each of which gets the position that chunk.position says. */
static void stack_touch(fm_small_stack *stack, const uint64_t *blocks, size_t count, fm_tally *tally)
{
    const fm_exact_kernels *kernels = stack->kernels;
    FM_ASSERT(stack->next + count <= FM_REGION_BITS);
    kernels->small_find(blocks, count, stack);
    kernels->small_ranks(stack);
    FM_ASSERT(stack->held_count <= count);
    stack->next += (uint32_t)count;
    stack->live += (uint32_t)(count - stack->held_count);
    FM_ASSERT(stack->live <= stack->next);
    fm_exact_tally(kernels, stack->bound, tally, stack->held_distance, stack->held_count);
}

static void make_room(fm_small_stack *stack, size_t count)
{
    if (stack->next + count > FM_REGION_BITS) stack->kernels->small_restart(stack);
}

/* False where the blocks crowd a few slots of the chunk's table: then nothing was done. */
static bool count_chunk(fm_small_stack *stack, const uint64_t *keys, size_t count, fm_tally *tally)
{
    const fm_exact_kernels *kernels = stack->kernels;
    fm_cache_chunk *chunk = &stack->chunk;
    if (!fm_chunk_distances(kernels, keys, count, chunk)) return false;
    tally_chunk(stack, tally);
    make_room(stack, chunk->first_count);
    kernels->chunk_first(keys, count, fm_small_position(stack->next), NULL, NULL, chunk);
    stack_touch(stack, chunk->key, chunk->first_count, tally);
    return true;
}

/* Every reference is looked up, some at a time: what is noted of them stays in the first-level cache. */
static void count_singly(fm_small_stack *stack, const uint64_t *keys, size_t count, fm_tally *tally)
{
    for (size_t done = 0; done < count; done += FM_SMALL_LOOKUPS) {
        const size_t now = count - done < FM_SMALL_LOOKUPS ? count - done : FM_SMALL_LOOKUPS;
        make_room(stack, now);
        stack->kernels->small_places(now, stack);
        stack_touch(stack, keys + done, now, tally);
    }
}

/* Lookups are cheap here: a chunk pays where it leaves less than a quarter of them. Elsewhere one in sixteen
 * is tried. whole: there were FM_CACHE_CHUNK references before repeats were removed. */
static void count_left(fm_small_stack *stack, const uint64_t *keys, size_t count, bool whole, fm_tally *tally)
{
    const bool try_chunk = count >= FM_CACHE_CHUNK_LEAST && stack->single == 0;
    stack->single -= stack->single > 0;
    const bool done = try_chunk && count_chunk(stack, keys, count, tally);
    if (try_chunk && (!done || (whole && stack->chunk.first_count > count / 4)))
        stack->single = FM_CHUNKS_SKIPPED;
    if (!done) count_singly(stack, keys, count, tally);
    stack->linked = done;
    stack->left_count = count;
}

void fm_small_stack_count(fm_small_stack *stack, const uint64_t *blocks, size_t count, fm_tally *tally)
{
    const bool whole = count == FM_CACHE_CHUNK;
    stack->fresh_count = 0;
    stack->linked = false;
    if (count == 0) return;
    if (stack->straight > 0) {
        stack->straight--;
        count_left(stack, blocks, count, whole, tally);
    } else {
        uint64_t before = stack->started ? stack->last : ~blocks[0];
        const size_t left = stack->kernels->drop_repeats(blocks, count, &before, stack->unrepeated);
        if (fm_repeats_are_few(count, left)) stack->straight = FM_CHUNKS_SKIPPED;
        fm_tally_add_many(tally, 0, count - left);
        count_left(stack, stack->unrepeated, left, whole, tally);
    }
    stack->last = blocks[count - 1];
    stack->started = true;
}
