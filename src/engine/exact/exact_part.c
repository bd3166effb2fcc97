/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_part.c - a part of the trace worked off by itself (fm_part in exact_kernels.h): the distances of most
 * references follow from the part alone; every block's first reference in it goes to the table and the
 * window, and its position becomes that of its last one.
 */
#include "engine/exact/exact_state.h"

bool fm_exact_part_fits(fm_exact *self)
{
    if (self->window_full || fm_recency_window_left(&self->window) < FM_PART_MOST + FM_CHUNK) return false;
    return fm_exact_make_room(self, FM_PART_MOST + FM_TWO_CHUNKS, NULL) == FM_OK;
}

bool fm_exact_part_by_itself(fm_exact *self, const uint64_t *keys, size_t count, const fm_outlet *out)
{
    const fm_exact_kernels *kernels = self->kernels;
    fm_part *part = &self->part;
    if (!fm_part_distances(kernels, keys, count, part)) return false;
    fm_exact_deliver_part(self, count, out);
    kernels->part_first(keys, count, self->window.position, out->now, out->leave, part);
    return true;
}

void fm_exact_run_firsts(fm_exact *self, fm_outlet out)
{
    const fm_exact_kernels *kernels = self->kernels;
    fm_recency_window *window = &self->window;
    fm_chunk *chunk = &self->chunk;
    const fm_part *part = &self->part;
    const size_t firsts = part->first_count;
    fm_bucket **homes = self->part_homes;
    kernels->home(&self->table, part->key, firsts, homes);
    /* At worst, old contents behind them are prefetched in vain. */
    for (size_t i = 0; i < FM_CHUNK && i < firsts; i++) __builtin_prefetch(homes[i], 1, 3);
    for (size_t first = 0; first < firsts; first += chunk->count) {
        chunk->count = firsts - first < FM_CHUNK ? firsts - first : FM_CHUNK;
        if (out.pairs)
            kernels->lookup_first_tagged(&self->table, window, part, first, homes + first, chunk);
        else
            kernels->lookup_first(&self->table, window, part, first, homes + first, chunk);
        const size_t near = chunk->near_count;
        fm_bucket *const *soon = homes + first + chunk->count;
        kernels->near(window, chunk, soon);
        kernels->far(window, chunk, soon + near);
        window->open_live -= (uint32_t)near;
        out.done = first;
        fm_exact_deliver_counts(self, part->key + first, &out);
    }
    /* The positions that were given out. */
    for (size_t left = firsts; left > 0;) {
        size_t run = fm_recency_window_run(window);
        if (run > left) run = left;
        window->open_live += (uint32_t)run;
        fm_recency_window_advance(window, run);
        left -= run;
    }
}

bool fm_exact_run_part(fm_exact *self, const uint64_t *keys, size_t count, fm_outlet out)
{
    if (!fm_exact_part_by_itself(self, keys, count, &out)) return false;
    out.first_index = self->part.first;
    fm_exact_run_firsts(self, out);
    self->clock += count;
    return true;
}
