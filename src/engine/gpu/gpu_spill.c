/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_spill.c - blocks that were referenced too long ago for the card to remember: the older part of the
 * stack, kept by the host in chunks that the card can take one at a time.
 *
 * What a batch brings new to the card, in order and each block once, is a sequence F. Put a chunk before it
 * instead of the card's stack, and count: a block of F that is found in the chunk was last referenced before
 * everything newer than the chunk (R blocks, which are all different from it), so its distance is R more than
 * the one counted; the blocks of F before it are counted there, those of the batch that are not in F are
 * among the R. What is not found is looked for in the next older chunk, and what is in none was never
 * referenced. Each batch costs as much as there are older blocks: it is slow, but it works up to the host's
 * memory.
 */
#include "engine/gpu/gpu.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t chunk_bytes(const fm_gpu_chunk *chunk)
{
    return chunk->count * sizeof(uint64_t);
}

static void free_chunk(fm_gpu_chunk *chunk)
{
    fm_pages_free(chunk->blocks, chunk_bytes(chunk));
    fm_pages_free(chunk->times, chunk_bytes(chunk));
    *chunk = (fm_gpu_chunk){0};
}

static fm_status make_chunk(fm_gpu_chunk *chunk, size_t count, bool times, fm_error *error)
{
    *chunk = (fm_gpu_chunk){.count = count};
    chunk->blocks = fm_pages_allocate(chunk_bytes(chunk));
    if (times) chunk->times = fm_pages_allocate(chunk_bytes(chunk));
    if (chunk->blocks && (chunk->times || !times)) return FM_OK;
    const size_t bytes = chunk_bytes(chunk);
    free_chunk(chunk);
    return fm_fail_memory(error, bytes, "blocks that the graphics card has no room for");
}

void fm_gpu_spill_clear(fm_gpu_spill *spill)
{
    for (size_t i = 0; i < spill->count; i++) free_chunk(&spill->chunks[i]);
    free(spill->chunks);
    *spill = (fm_gpu_spill){.times = spill->times};
}

static uint64_t spill_blocks(const fm_gpu_spill *spill)
{
    uint64_t blocks = 0;
    for (size_t i = 0; i < spill->count; i++) blocks += spill->chunks[i].count;
    return blocks;
}

uint64_t fm_gpu_spill_memory(const fm_gpu_spill *spill)
{
    return spill_blocks(spill) * (spill->times ? 2 : 1) * sizeof(uint64_t) +
           spill->room * sizeof *spill->chunks;
}

static void forget_chunk(fm_gpu_spill *spill, size_t index)
{
    free_chunk(&spill->chunks[index]);
    spill->count--;
    memmove(&spill->chunks[index], &spill->chunks[index + 1], (spill->count - index) * sizeof *spill->chunks);
}

void fm_gpu_spill_drop(fm_gpu_spill *spill, uint64_t keep)
{
    uint64_t newer = 0;
    for (size_t i = spill->count; i-- > 0;) {
        const size_t count = spill->chunks[i].count;
        if (newer >= keep) forget_chunk(spill, i);
        newer += count;
    }
}

/* Only the oldest `count` blocks stay. */
static fm_status cut_chunk(fm_gpu_chunk *chunk, size_t count, fm_error *error)
{
    const size_t bytes = chunk_bytes(chunk), left = count * sizeof(uint64_t);
    uint64_t *blocks = fm_pages_resize(chunk->blocks, bytes, left);
    if (!blocks) return fm_fail_memory(error, left, "blocks that the graphics card has no room for");
    chunk->blocks = blocks;
    uint64_t *times = chunk->times ? fm_pages_resize(chunk->times, bytes, left) : NULL;
    if (chunk->times && !times) {
        fm_pages_free(chunk->times, bytes);
        chunk->times = NULL;
        chunk->count = count;
        return fm_fail_memory(error, left, "blocks that the graphics card has no room for");
    }
    chunk->times = times;
    chunk->count = count;
    return FM_OK;
}

/* The card's stack, all of it, on the host. */
static fm_status spill_fetch(fm_gpu_batches *batches, size_t count, fm_gpu_chunk *chunk, fm_error *error)
{
    fm_status status = make_chunk(chunk, count, batches->setup.times, error);
    if (status != FM_OK) return status;
    status = batches->module->fetch_stack(batches->card, chunk->blocks, chunk->times, count, error);
    if (status != FM_OK) free_chunk(chunk);
    return status;
}

static fm_status spill_load(fm_gpu_batches *batches, const fm_gpu_chunk *chunk, size_t from, fm_error *error)
{
    return batches->module->load_stack(batches->card, 0, chunk->blocks + from,
                                       chunk->times ? chunk->times + from : NULL, chunk->count - from, error);
}

fm_status fm_gpu_spill_add(fm_gpu_spill *spill, fm_gpu_batches *batches, size_t stack, size_t keep,
                           fm_error *error)
{
    if (stack <= keep) return FM_OK;
    if (fm_array_reserve((void **)&spill->chunks, &spill->room, spill->count + 1, sizeof *spill->chunks) != 0)
        return fm_fail_memory(error, (spill->count + 1) * sizeof *spill->chunks, "the list of older blocks");
    fm_gpu_chunk chunk;
    fm_status status = spill_fetch(batches, stack, &chunk, error);
    if (status != FM_OK) return status;
    status = spill_load(batches, &chunk, stack - keep, error);
    if (status == FM_OK) status = cut_chunk(&chunk, stack - keep, error);
    if (status == FM_OK)
        spill->chunks[spill->count++] = chunk;
    else
        free_chunk(&chunk);
    return status;
}

/* References that are still looked for. */
typedef struct wanted {
    size_t count;
    uint64_t *blocks;
    size_t *indices; /* in the batch */
    uint64_t *distances, *times;
} wanted;

static void free_wanted(wanted *search)
{
    free(search->indices);
    free(search->distances);
    free(search->times);
}

static fm_status begin_search(const fm_gpu_batches *batches, wanted *search, fm_error *error)
{
    const fm_gpu_batch *batch = &batches->batch;
    *search = (wanted){.count = batch->cold, .blocks = batches->each.new_blocks};
    search->indices = fm_calloc(batch->cold, sizeof *search->indices);
    search->distances = fm_calloc(batch->cold, sizeof *search->distances);
    if (batches->setup.times) search->times = fm_calloc(batch->cold, sizeof *search->times);
    if (!search->indices || !search->distances || (batches->setup.times && !search->times))
        return fm_fail_memory(error, batch->cold * sizeof(uint64_t), "blocks that are looked for");
    size_t next = 0;
    for (size_t i = 0; i < batch->count && next < batch->cold; i++)
        if (batch->distances[i] == FM_COLD) search->indices[next++] = i;
    return FM_OK;
}

/* What was found gets its distance; the others move up. */
static void store_found(const fm_gpu_batches *batches, wanted *search, uint64_t newer)
{
    const fm_gpu_batch *batch = &batches->batch;
    const uint64_t bound = batches->setup.bound;
    size_t left = 0;
    for (size_t i = 0; i < search->count; i++) {
        const size_t index = search->indices[i];
        if (search->distances[i] == FM_COLD) {
            search->blocks[left] = search->blocks[i];
            search->indices[left++] = index;
            continue;
        }
        const uint64_t distance =
            search->distances[i] == FM_BEYOND ? FM_BEYOND : search->distances[i] + newer;
        batch->distances[index] = bound && distance >= bound ? FM_BEYOND : distance;
        /* It was counted as if reference i followed the batch's first i. */
        if (search->times) batch->times[index] = search->times[i] + (index - i);
    }
    search->count = left;
}

/* Looks in one chunk, which loses what is found in it. */
static fm_status search_chunk(fm_gpu_batches *batches, fm_gpu_chunk *chunk, wanted *search, uint64_t newer,
                              fm_error *error)
{
    const size_t before = chunk->count;
    fm_gpu_batch batch = {.count = search->count,
                          .first_time = batches->batch.first_time,
                          .keep = SIZE_MAX,
                          .distances = search->distances,
                          .times = search->times};
    fm_status status = spill_load(batches, chunk, 0, error);
    if (status == FM_OK) status = fm_gpu_batches_count_now(batches, search->blocks, &batch, error);
    if (status != FM_OK) return status;
    const size_t left = before - (search->count - batch.cold);
    store_found(batches, search, newer);
    if (left == before) return FM_OK;
    /* The new stack begins with what is left of the chunk. */
    fm_gpu_chunk smaller = {0};
    if (left > 0) status = spill_fetch(batches, left, &smaller, error);
    if (status != FM_OK) return status;
    free_chunk(chunk);
    *chunk = smaller;
    return FM_OK;
}

fm_status fm_gpu_spill_search(fm_gpu_spill *spill, fm_gpu_batches *batches, size_t stack_before,
                              uint64_t *found, fm_error *error)
{
    *found = 0;
    if (spill->count == 0 || batches->batch.cold == 0) return FM_OK;
    wanted search;
    fm_gpu_chunk stack = {0};
    fm_status status = begin_search(batches, &search, error);
    if (status == FM_OK) status = spill_fetch(batches, batches->batch.stack, &stack, error);
    uint64_t newer = stack_before;
    for (size_t i = spill->count; i-- > 0 && search.count > 0 && status == FM_OK;) {
        const size_t count = spill->chunks[i].count;
        status = search_chunk(batches, &spill->chunks[i], &search, newer, error);
        newer += count;
        if (status == FM_OK && spill->chunks[i].count == 0) forget_chunk(spill, i);
    }
    *found = batches->batch.cold - search.count;
    if (status == FM_OK) status = spill_load(batches, &stack, 0, error);
    free_chunk(&stack);
    free_wanted(&search);
    return status;
}
