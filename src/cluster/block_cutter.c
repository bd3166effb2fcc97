/* SPDX-License-Identifier: Apache-2.0 */
/* block_cutter.c - see block_cutter.h. */
#include "cluster/block_cutter.h"

fm_status fm_block_cutter_finish(fm_block_cutter *cutter, fm_error *error)
{
    const size_t count = cutter->pending;
    cutter->pending = 0;
    if (count == 0) return FM_OK;
    return cutter->ops->feed(cutter->team, cutter->piece, cutter->blocks, count, error);
}

/* An access that reaches beyond its block: a reference to each block touched, in ascending order. */
static fm_status cut_long(fm_block_cutter *cutter, uint64_t address, uint32_t size, fm_error *error)
{
    const uint64_t last = fm_last_block(address, size, cutter->shift);
    fm_status status = FM_OK;
    for (uint64_t block = address >> cutter->shift; status == FM_OK; block++) {
        cutter->blocks[cutter->pending++] = block;
        if (cutter->pending == FM_CUT_MOST) status = fm_block_cutter_finish(cutter, error);
        if (block == last) break;
    }
    return status;
}

fm_status fm_block_cutter_take(fm_block_cutter *cutter, const fm_batch *batch, fm_error *error)
{
    fm_status status = FM_OK;
    size_t next = 0;
    while (next < batch->count && status == FM_OK) {
        const size_t room = FM_CUT_MOST - cutter->pending, left = batch->count - next;
        const size_t most = left < room ? left : room;
        const size_t cut =
            cutter->kernels->cut(batch->address + next, batch->size ? batch->size + next : NULL, most,
                                 cutter->shift, cutter->blocks + cutter->pending);
        cutter->pending += cut;
        next += cut;
        if (cut < most) {
            status = cut_long(cutter, batch->address[next], batch->size ? batch->size[next] : 0, error);
            next++;
        } else if (cutter->pending == FM_CUT_MOST) {
            status = fm_block_cutter_finish(cutter, error);
        }
    }
    return status;
}
