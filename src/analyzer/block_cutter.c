/* SPDX-License-Identifier: Apache-2.0 */
/* block_cutter.c - see block_cutter.h. */
#include "analyzer/block_cutter.h"

#include <fathom/analyzer.h>

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
    /* With tags, there is a reference before the ones that are cut: the first counts as a long one. */
    if (cutter->tagged && cutter->next == 0) status = begin_long(cutter, error);
    do {
        size_t more = 0;
        if (status == FM_OK) status = cutter_step(cutter, blocks + *count, room - *count, &more, error);
        *count += more;
    } while (status == FM_OK && !cutter->by_step && !cutter->tagged && *count < room &&
             fm_block_cutter_left(cutter) > 0);
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
