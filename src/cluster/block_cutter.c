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
static fm_status cut_long(fm_block_cutter *cutter, const fm_batch *batch, size_t index, fm_error *error)
{
    const uint64_t address = batch->address[index], first = address >> cutter->shift;
    const uint64_t last = fm_last_block(address, batch->size ? batch->size[index] : 0, cutter->shift);
    fm_status status = fm_access_budget_take(&cutter->budget, last - first + 1, index, cutter->shift, error);
    for (uint64_t block = first; status == FM_OK; block++) {
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
            status = cut_long(cutter, batch, next++, error);
        } else if (cutter->pending == FM_CUT_MOST) {
            status = fm_block_cutter_finish(cutter, error);
        }
    }
    cutter->budget.accesses += batch->count;
    return status;
}
