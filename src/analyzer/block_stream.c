/* SPDX-License-Identifier: Apache-2.0 */
/* block_stream.c - the blocks that accesses touch, with their tags, for whoever wants to see them. */
#include "analyzer/block_cutter.h"
#include "base/error.h"
#include "base/memory.h"

#include <fathom/experimental/pipeline.h>
#include <stdlib.h>

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
