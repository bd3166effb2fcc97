/* SPDX-License-Identifier: Apache-2.0 */
/* block_cutter.c - accesses to the blocks that they touch (block_cutter.h), for what is fed and for callers;
 * and the tag of every block. */
#include "analyzer/block_cutter.h"
#include "analyzer/analyzer_state.h"
#include "base/error.h"
#include "base/memory.h"

#include <fathom/analyzer.h>
#include <fathom/experimental/pipeline.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The tag of an access and what goes with it, for every block of it. */
static void put_tags(fm_block_cutter *cutter, size_t count)
{
    fm_tagged_cut *tagged = cutter->tagged;
    tagged->tag = cutter->batch->tag ? cutter->batch->tag[cutter->access] : 0;
    tagged->all_tags |= tagged->tag;
    for (size_t end = tagged->count + count; tagged->count < end; tagged->count++) {
        tagged->now[tagged->count] = tagged->leave[tagged->count] = tagged->tag;
        tagged->reference[tagged->count] = (uint32_t)cutter->access;
    }
    tagged->block = cutter->before;
    tagged->pair_count = 0;
}

/* More blocks of a long access. */
static size_t cut_long(fm_block_cutter *cutter, uint64_t *blocks, size_t room)
{
    const size_t count = cutter->block_left < room ? (size_t)cutter->block_left : room;
    for (size_t i = 0; i < count; i++) blocks[i] = cutter->block + i;
    cutter->block += count;
    cutter->block_left -= count;
    cutter->before = cutter->block - 1;
    cutter->access = cutter->next - 1;
    cutter->is_long = true;
    if (cutter->tagged) put_tags(cutter, count);
    return count;
}

static fm_status begin_long(fm_block_cutter *cutter, fm_error *error)
{
    const size_t index = cutter->next++;
    const uint64_t address = cutter->batch->address[index];
    cutter->block = address >> cutter->shift;
    cutter->block_left =
        fm_last_block(address, cutter->batch->size ? cutter->batch->size[index] : 0, cutter->shift) -
        cutter->block + 1;
    if (!cutter->budget) return FM_OK;
    return fm_access_budget_spend(cutter->budget, cutter->block_left, index, cutter->shift, error);
}

static bool next_is_long(const fm_block_cutter *cutter)
{
    if (cutter->next == cutter->end || !cutter->batch->size) return false;
    const uint64_t address = cutter->batch->address[cutter->next];
    return fm_last_block(address, cutter->batch->size[cutter->next], cutter->shift) !=
           address >> cutter->shift;
}

/* Up to `most` accesses that lie within one block each; with tags, or within two. Returns how many do. */
static size_t cut_within(fm_block_cutter *cutter, size_t most, uint64_t *blocks, size_t *count)
{
    static const uint32_t untagged[FM_TAGGED_CUT_MOST];
    const fm_batch *batch = cutter->batch;
    const size_t at = cutter->next;
    const uint64_t *address = batch->address + at;
    const uint32_t *size = batch->size ? batch->size + at : NULL;
    if (!cutter->distinct && !cutter->tagged)
        return *count = cutter->kernels->cut(address, size, most, cutter->shift, blocks);
    if (!cutter->tagged) {
        if (at == 0) cutter->before = ~(address[0] >> cutter->shift);
        return cutter->kernels->cut_distinct(address, size, most, cutter->shift, &cutter->before, blocks,
                                             count);
    }
    const size_t kept = cutter->tagged->count;
    const size_t taken = cutter->kernels->cut_tagged(address, size, batch->tag ? batch->tag + at : untagged,
                                                     most, cutter->shift, (uint32_t)at, cutter->tagged);
    *count = cutter->tagged->count - kept;
    return taken;
}

/* Accesses in a row within one block each, or more of a long one. */
static inline fm_status cutter_step(fm_block_cutter *cutter, uint64_t *blocks, size_t room, size_t *count,
                                    fm_error *error)
{
    fm_status status = FM_OK;
    /* Long ones often come together: kernels need not look for each. */
    if (cutter->block_left == 0 && cutter->is_long && next_is_long(cutter))
        status = begin_long(cutter, error);
    if (cutter->block_left > 0) {
        if (status == FM_OK) *count = cut_long(cutter, blocks, room);
        return status;
    }
    size_t most = cutter->end - cutter->next;
    if (most > room) most = room;
    if (cutter->tagged && most > FM_TAGGED_CUT_MOST) most = FM_TAGGED_CUT_MOST;
    cutter->access = cutter->next;
    cutter->is_long = false;
    const size_t taken = cut_within(cutter, most, blocks, count);
    cutter->next += taken;
    cutter->repeats += cutter->tagged ? cutter->tagged->pair_count : taken - *count;
    return taken < most ? begin_long(cutter, error) : FM_OK;
}

fm_status fm_block_cutter_next(fm_block_cutter *cutter, uint64_t *blocks, size_t room, size_t *count,
                               fm_error *error)
{
    fm_status status = FM_OK;
    *count = 0;
    FM_ASSERT(room > 0 && cutter->next <= cutter->end && cutter->end <= cutter->batch->count);
    /* With tags, there is a reference before the ones that are cut: the first counts as a long one. */
    if (cutter->tagged && cutter->next == 0) status = begin_long(cutter, error);
    do {
        size_t more = 0;
        if (status == FM_OK) status = cutter_step(cutter, blocks + *count, room - *count, &more, error);
        *count += more;
    } while (status == FM_OK && !cutter->by_step && !cutter->tagged && *count < room &&
             fm_block_cutter_left(cutter) > 0);
    FM_ASSERT(cutter->next <= cutter->end && (cutter->tagged || *count <= room));
    return status;
}

fm_status fm_check_tags(const fm_batch *batch, size_t from, size_t count, fm_error *error)
{
    size_t i = from;
    while (i < from + count && batch->tag[i] <= FM_TAG_MAX) i++;
    if (i == from + count) return FM_OK;
    return fm_fail(error, FM_E_ARGUMENT, NULL, "tag %" PRIu32 " of reference %zu is over %" PRIu32,
                   batch->tag[i], i, FM_TAG_MAX);
}

uint64_t fm_batch_references(const fm_batch *batch, uint64_t granularity)
{
    const unsigned shift = (unsigned)__builtin_ctzll(granularity);
    uint64_t count = batch->count;
    for (size_t i = 0; batch->size && i < batch->count; i++)
        count += fm_last_block(batch->address[i], batch->size[i], shift) - (batch->address[i] >> shift);
    return count;
}

/* ==== tags of blocks ==== */

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

/*
 * ==== block stream ====
 *
 * The blocks that accesses touch, with their tags, for whoever wants to see them.
 */

enum { ROOM = 4096 };

struct fm_block_stream {
    const fm_exact_kernels *kernels;
    unsigned shift;
    fm_access_budget budget;
    uint64_t blocks[ROOM + FM_CUT_ROOM];
    uint32_t tags[ROOM];
};

fm_status fm_block_stream_create(fm_block_stream **stream, uint64_t granularity, fm_error *error)
{
    *stream = NULL;
    if (granularity == 0) granularity = 1;
    if (granularity & (granularity - 1))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the granularity must be a power of two, not %" PRIu64,
                       granularity);
    fm_block_stream *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "the blocks of accesses");
    made->kernels = fm_exact_kernels_find(NULL);
    made->shift = (unsigned)__builtin_ctzll(granularity);
    *stream = made;
    return FM_OK;
}

void fm_block_stream_destroy(fm_block_stream *stream)
{
    free(stream);
}

/* The tags of blocks that were just cut; NULL: there are none. */
static const uint32_t *tags_of(fm_block_stream *stream, const fm_block_cutter *cutter, size_t count)
{
    const uint32_t *tags = cutter->batch->tag;
    if (!tags) return NULL;
    if (!cutter->is_long) return tags + cutter->access;
    for (size_t i = 0; i < count; i++) stream->tags[i] = tags[cutter->access];
    return stream->tags;
}

fm_status fm_block_stream_feed(fm_block_stream *stream, const fm_batch *batch, fm_block_taker take,
                               void *context, fm_error *error)
{
    FM_REQUIRE(stream, error);
    fm_block_cutter cutter = {.kernels = stream->kernels,
                              .batch = batch,
                              .shift = stream->shift,
                              .end = batch->count,
                              .budget = &stream->budget,
                              .by_step = true};
    fm_status status = batch->tag ? fm_check_tags(batch, 0, batch->count, error) : FM_OK;
    while (status == FM_OK && fm_block_cutter_left(&cutter) > 0) {
        size_t count;
        const fm_status cut = fm_block_cutter_next(&cutter, stream->blocks, ROOM, &count, error);
        fm_error ignored;
        if (count > 0)
            status = take(context, stream->blocks, tags_of(stream, &cutter, count), count,
                          cut == FM_OK ? error : &ignored);
        if (cut != FM_OK) status = cut;
    }
    stream->budget.accesses += batch->count;
    return status;
}
