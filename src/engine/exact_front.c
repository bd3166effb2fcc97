/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_front.c - a part of the trace through the front of `exact`: what the 16 most recent blocks catch is
 * counted by its place there; the rest takes the ordinary way, each block's position being the one at which
 * it leaves the front. At the end of the part the front is emptied: nothing else has to know of it.
 */
#include "engine/exact_state.h"

bool fm_exact_front_fits(fm_exact *self)
{
    if (!self->kernels->front || self->window_full || (self->bound && self->bound <= FM_FRONT)) return false;
    if (fm_recency_window_left(&self->window) < FM_PART + FM_CHUNK) return false;
    return fm_exact_make_room(self, FM_PART + FM_TWO_CHUNKS, NULL) == FM_OK;
}

/* The blocks in the front leave it, least recent first. */
static void front_empty(fm_exact *self)
{
    const fm_front *front = &self->front;
    for (size_t i = front->inside_count; i-- > 0;) {
        uint64_t tag = self->tags ? self->tags->front.inside[i] & ~FM_POSITION_BITS : 0;
        *self->front_slots[front->inside[i]] = self->window.position | tag;
        self->window.open_live++;
        fm_recency_window_advance(&self->window, 1);
    }
}

/* What the front catches is counted at once. */
static void catch_in_front(fm_exact *self, const uint64_t *keys, size_t count, fm_outlet *out)
{
    fm_front *front = &self->front;
    if (out->pairs) {
        uint8_t place_range[FM_FRONT];
        for (uint64_t distance = 0; distance < FM_FRONT; distance++)
            place_range[distance] = (uint8_t)fm_range_of(&out->pairs->ranges, distance);
        self->kernels->front_tagged(keys, count, place_range, &self->tags->kept, front, &self->tags->front);
        out->missed_index = self->tags->front.index;
    } else {
        self->kernels->front(keys, count, front);
    }
    for (uint64_t distance = 0; distance < FM_FRONT; distance++)
        fm_tally_add_many(out->tally, distance, front->hits[distance]);
}

void fm_exact_run_front(fm_exact *self, const uint64_t *keys, size_t count, fm_outlet out)
{
    const fm_exact_kernels *kernels = self->kernels;
    fm_recency_window *window = &self->window;
    fm_chunk *chunk = &self->chunk;
    fm_front *front = &self->front;
    catch_in_front(self, keys, count, &out);

    fm_bucket **homes = self->front_homes;
    kernels->home(&self->table, front->key, front->missed, homes);
    for (size_t i = 0; i < FM_CHUNK; i++) homes[front->missed + i] = self->table.buckets;
    for (size_t i = 0; i < FM_CHUNK && i < front->missed; i++) __builtin_prefetch(homes[i], 1, 3);
    for (size_t first = 0; first < front->missed; first += chunk->count) {
        /* The first ones find room in the front: nobody leaves, no position is taken. */
        const bool full = first >= FM_FRONT;
        chunk->count = full ? fm_exact_chunk_size(front->missed - first, fm_recency_window_run(window))
                            : fm_exact_chunk_size(front->missed - first, FM_FRONT - first);
        if (out.pairs)
            kernels->lookup_missed_tagged(&self->table, window, front, &self->tags->front, first,
                                          homes + first, self->front_slots, chunk);
        else
            kernels->lookup_missed(&self->table, window, front, first, homes + first, self->front_slots,
                                   chunk);
        const size_t near = chunk->near_count;
        fm_bucket *const *soon = homes + first + chunk->count;
        kernels->near(window, chunk, soon);
        kernels->far(window, chunk, soon + near);
        window->open_live += (uint32_t)((full ? chunk->count : 0) - near);
        out.done = first;
        fm_exact_deliver_counts(self, front->key + first, &out);
        if (full) fm_recency_window_advance(window, chunk->count);
    }
    front_empty(self);
    self->clock += count;
}
