/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_run.c - a run of references through `exact`, chunk by chunk: lookups, then distances, while the
 * buckets of the next chunk are being fetched.
 */
#include "engine/exact/exact_state.h"

/* Times stand beside the table, a slot's at the slot's number. */
static void prefetch_times(const fm_block_table *table, fm_bucket *const *homes, size_t count)
{
    for (size_t i = 0; i < count; i++) fm_block_table_prefetch_times(table, homes[i]);
}

static void chunk_lookup(fm_exact *self, const uint64_t *keys, fm_bucket *const *homes, const fm_outlet *out)
{
    if (out->times)
        self->kernels->lookup_timed(&self->table, &self->window, keys, out->now, out->leave, homes,
                                    self->clock, out->times, &self->chunk);
    else if (out->now)
        self->kernels->lookup_tagged(&self->table, &self->window, keys, out->now, out->leave, homes,
                                     &self->chunk);
    else
        self->kernels->lookup(&self->table, &self->window, keys, homes, &self->chunk);
}

static void outlet_advance(fm_outlet *out, size_t taken)
{
    out->done += taken;
    if (out->now) {
        out->now += taken;
        out->leave += taken;
    }
    if (!out->ordered) return;
    out->distances += taken;
    if (out->times) out->times += taken;
    if (out->uses) out->uses += taken;
}

fm_status fm_exact_run(fm_exact *self, const uint64_t *keys, size_t count, fm_outlet out, size_t *done,
                       fm_error *error)
{
    const fm_exact_kernels *kernels = self->kernels;
    fm_block_table *table = &self->table;
    fm_recency_window *window = &self->window;
    fm_chunk *chunk = &self->chunk;
    *done = 0;
    if (count == 0) return FM_OK;
    fm_status status = self->window_full ? fm_exact_restart(self, error) : FM_OK;
    if (status == FM_OK) status = fm_exact_make_room(self, FM_TWO_CHUNKS, error);
    if (status != FM_OK) return status;

    fm_bucket **homes = self->homes[0], **soon = self->homes[1];
    chunk->count = fm_exact_chunk_size(count, fm_recency_window_run(window));
    kernels->home(table, keys, chunk->count, homes);
    while (status == FM_OK && chunk->count > 0) {
        chunk_lookup(self, keys, homes, &out);

        /* The next chunk's buckets, to be fetched while this one's distances are found. */
        const size_t taken = chunk->count;
        size_t line_left = fm_recency_window_run(window) - taken;
        size_t next = fm_exact_chunk_size(count - taken, line_left ? line_left : FM_LINE_BITS);
        status = fm_exact_make_room(self, FM_TWO_CHUNKS, error);
        if (status == FM_OK && !out.ordered)
            status = fm_tally_reserve(out.tally, table->used + FM_TWO_CHUNKS, error);
        if (status == FM_OK) kernels->home(table, keys + taken, next, soon);
        if (status == FM_OK && out.times) prefetch_times(table, soon, next);
        for (size_t i = status == FM_OK ? next : 0; i < taken; i++) soon[i] = table->buckets;
        const size_t near = chunk->near_count, far = chunk->far_count;
        kernels->near(window, chunk, soon);
        kernels->far(window, chunk, soon + near);
        for (size_t i = near + far; i < taken; i++) __builtin_prefetch(soon[i], 1, 3);

        window->open_live += (uint32_t)(taken - near);
        if (out.ordered)
            fm_exact_deliver_ordered(self, keys, &out);
        else
            fm_exact_deliver_counts(self, keys, &out);
        outlet_advance(&out, taken);
        keys += taken;
        count -= taken;
        *done += taken;
        self->clock += taken;
        bool room = fm_recency_window_advance(window, taken);
        if (fm_exact_too_many(self)) room = false;
        if (!room) {
            fm_status restarted = fm_exact_restart(self, status == FM_OK ? error : NULL);
            if (status == FM_OK) status = restarted;
        }
        chunk->count = next;
        fm_bucket **swap = homes;
        homes = soon;
        soon = swap;
    }
    return status;
}
