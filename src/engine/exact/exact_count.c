/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_count.c - counting without order, the usual way through `exact`: chunk by chunk. Repeats are removed;
 * what is left is worked off as a chunk, or where few blocks are touched twice, by lookups alone.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/exact/exact_kernels.h"
#include "engine/exact/exact_state.h"

#include <string.h>

/*
 * ==== run ====
 *
 * A run of references through `exact`, by lookups alone: lookups, then distances, while the
 * buckets of the next lookups are being fetched.
 */

/* Times stand beside the table, a slot's at the slot's number. */
static void prefetch_times(const fm_block_table *table, fm_bucket *const *homes, size_t count)
{
    for (size_t i = 0; i < count; i++) fm_block_table_prefetch_times(table, homes[i]);
}

static void lookups_lookup(fm_exact *self, const uint64_t *keys, fm_bucket *const *homes,
                           const fm_outlet *out)
{
    if (out->times)
        self->kernels->lookup_timed(&self->table, &self->window, keys, out->now, out->leave, homes,
                                    self->clock, out->times, &self->lookups);
    else if (out->now)
        self->kernels->lookup_tagged(&self->table, &self->window, keys, out->now, out->leave, homes,
                                     &self->lookups);
    else
        self->kernels->lookup(&self->table, &self->window, keys, homes, &self->lookups);
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
    fm_lookups *lookups = &self->lookups;
    *done = 0;
    if (count == 0) return FM_OK;
    fm_status status = self->window_full ? fm_exact_restart(self, error) : FM_OK;
    if (status == FM_OK) status = fm_exact_make_room(self, FM_TWO_LOOKUPS, error);
    if (status != FM_OK) return status;

    fm_bucket **homes = self->homes[0], **soon = self->homes[1];
    lookups->count = fm_exact_lookups_size(count, fm_recency_window_run(window));
    kernels->home(table, keys, lookups->count, homes);
    while (status == FM_OK && lookups->count > 0) {
        FM_ASSERT(fm_block_table_has_room(table, lookups->count));
        lookups_lookup(self, keys, homes, &out);
        FM_ASSERT(lookups->near_count + lookups->far_count + lookups->fresh_count == lookups->count);

        /* The next lookups' buckets, to be fetched while this one's distances are found. */
        const size_t taken = lookups->count;
        size_t line_left = fm_recency_window_run(window) - taken;
        size_t next = fm_exact_lookups_size(count - taken, line_left ? line_left : FM_LINE_BITS);
        status = fm_exact_make_room(self, FM_TWO_LOOKUPS, error);
        if (status == FM_OK && !out.ordered)
            status = fm_tally_reserve(out.tally, table->used + FM_TWO_LOOKUPS, error);
        if (status == FM_OK) kernels->home(table, keys + taken, next, soon);
        if (status == FM_OK && out.times) prefetch_times(table, soon, next);
        for (size_t i = status == FM_OK ? next : 0; i < taken; i++) soon[i] = table->buckets;
        const size_t near = lookups->near_count, far = lookups->far_count;
        kernels->near(window, lookups, soon);
        kernels->far(window, lookups, soon + near);
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
        lookups->count = next;
        fm_bucket **swap = homes;
        homes = soon;
        soon = swap;
    }
    return status;
}

/*
 * ==== chunk ====
 *
 * A chunk of the trace worked off by itself (fm_cache_chunk in exact_kernels.h): the distances of most
 * references follow from the chunk alone; every block's first reference in it goes to the table and the
 * window, and its position becomes that of its last one.
 */

/* Whether a chunk can go through without a stop: the table and the window have room for all of it. */
static bool chunk_fits(fm_exact *self)
{
    if (self->window_full || fm_recency_window_left(&self->window) < FM_CACHE_CHUNK_MOST + FM_LOOKUPS)
        return false;
    return fm_exact_make_room(self, FM_CACHE_CHUNK_MOST + FM_TWO_LOOKUPS, NULL) == FM_OK;
}

bool fm_exact_chunk_by_itself(fm_exact *self, const uint64_t *keys, size_t count, const fm_outlet *out)
{
    const fm_exact_kernels *kernels = self->kernels;
    fm_cache_chunk *chunk = &self->chunk;
    if (!fm_chunk_distances(kernels, keys, count, chunk)) return false;
    fm_exact_deliver_chunk(self, count, out);
    kernels->chunk_first(keys, count, self->window.position, out->now, out->leave, chunk);
    return true;
}

/* Counts the first references that stand in self->chunk, in a window and a table with room for them. */
static void run_firsts(fm_exact *self, fm_outlet out)
{
    const fm_exact_kernels *kernels = self->kernels;
    fm_recency_window *window = &self->window;
    fm_lookups *lookups = &self->lookups;
    const fm_cache_chunk *chunk = &self->chunk;
    const size_t firsts = chunk->first_count;
    fm_bucket **homes = self->chunk_homes;
    FM_ASSERT(firsts <= FM_CACHE_CHUNK_MOST && fm_block_table_has_room(&self->table, firsts));
    FM_ASSERT(fm_recency_window_left(window) >= firsts);
    kernels->home(&self->table, chunk->key, firsts, homes);
    /* At worst, old contents behind them are prefetched in vain. */
    for (size_t i = 0; i < FM_LOOKUPS && i < firsts; i++) __builtin_prefetch(homes[i], 1, 3);
    for (size_t first = 0; first < firsts; first += lookups->count) {
        lookups->count = firsts - first < FM_LOOKUPS ? firsts - first : FM_LOOKUPS;
        if (out.pairs)
            kernels->lookup_first_tagged(&self->table, window, chunk, first, homes + first, lookups);
        else
            kernels->lookup_first(&self->table, window, chunk, first, homes + first, lookups);
        FM_ASSERT(lookups->near_count + lookups->far_count + lookups->fresh_count == lookups->count);
        const size_t near = lookups->near_count;
        fm_bucket *const *soon = homes + first + lookups->count;
        kernels->near(window, lookups, soon);
        kernels->far(window, lookups, soon + near);
        window->open_live -= (uint32_t)near;
        out.done = first;
        fm_exact_deliver_counts(self, chunk->key + first, &out);
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

/* Counts a chunk that fits. False where its blocks crowd a few slots: then nothing was done. */
static bool run_chunk(fm_exact *self, const uint64_t *keys, size_t count, fm_outlet out)
{
    if (!fm_exact_chunk_by_itself(self, keys, count, &out)) return false;
    out.first_index = self->chunk.first;
    run_firsts(self, out);
    self->clock += count;
    return true;
}

/* ==== count ==== */

/* In pages: there may be many, and while they are few they take few. */
static bool reserve_pages(void **array, size_t *capacity, size_t needed, size_t size)
{
    const size_t held = *capacity, wanted = needed < 2 * held ? 2 * held : needed;
    if (needed <= held) return true;
    void *grown =
        held ? fm_pages_resize(*array, held * size, wanted * size) : fm_pages_allocate(wanted * size);
    if (!grown) return false;
    *array = grown;
    *capacity = wanted;
    return true;
}

fm_status fm_exact_reserve_firsts(fm_exact *self, size_t more, bool tags, fm_error *error)
{
    fm_first_touches *firsts = self->firsts;
    const size_t needed = firsts->count + more;
    if (reserve_pages((void **)&firsts->blocks, &firsts->capacity, needed, sizeof *firsts->blocks) &&
        (!tags || reserve_pages((void **)&firsts->tags, &firsts->tag_capacity, needed, sizeof *firsts->tags)))
        return FM_OK;
    return fm_fail_memory(error, needed * sizeof *firsts->blocks, "first touches");
}

/* The place where a run stopped early: after the last repeat of the `taken`th reference that is no repeat. */
static size_t stand_after(const uint64_t *blocks, size_t count, uint64_t before, size_t taken)
{
    size_t position = 0, seen = 0;
    for (; position < count; position++) {
        bool kept = blocks[position] != before;
        if (kept && seen == taken) break;
        seen += kept;
        before = blocks[position];
    }
    return position;
}

/*
 * A repeat of the latest block has distance 0 and moves nothing: it need not reach the table.
 * Returns how many references are left, in self->unrepeated.
 */
static size_t remove_repeats(fm_exact *self, const uint64_t *blocks, const uint32_t *tags, size_t chunk,
                             uint64_t before, fm_outlet *out)
{
    size_t left;
    if (tags) {
        fm_kept_tags *kept = &self->tags->kept;
        kept->index_wanted = out->pairs->late_wanted;
        left = self->kernels->drop_repeats_tagged(blocks, tags, chunk, self->unrepeated, kept);
        out->now = kept->now;
        out->leave = kept->leave;
        out->kept_index = kept->index;
    } else {
        left = self->kernels->drop_repeats(blocks, chunk, &before, self->unrepeated);
    }
    fm_exact_judge_repeats(self, chunk, left);
    return left;
}

static bool count_as_chunk(fm_exact *self, const uint64_t *left, size_t left_count, bool whole, fm_outlet out)
{
    if (!fm_exact_try_chunk(self, left_count) || !chunk_fits(self)) return false;
    bool done = run_chunk(self, left, left_count, out);
    fm_exact_judge_chunk(self, done, left_count, whole);
    return done;
}

/*
 * With tags, a chunk's first reference is never taken for a repeat: its block would have to get the new tag.
 * And where distances of 0 are late, nothing is removed.
 */
static fm_status count_chunk(fm_exact *self, const uint64_t *blocks, const uint32_t *tags, size_t chunk,
                             fm_outlet out, size_t *done, fm_error *error)
{
    const uint64_t before = self->started && !tags ? self->last : ~blocks[0];
    const uint64_t *left = blocks;
    size_t left_count = chunk, taken;
    *done = 0;
    fm_status status =
        fm_tally_reserve(out.tally, self->table.used + FM_CACHE_CHUNK_MOST + FM_TWO_LOOKUPS, error);
    if (status == FM_OK && self->firsts)
        status = fm_exact_reserve_firsts(self, chunk + 1, tags != NULL, error);
    if (status == FM_OK && tags) status = fm_pairs_reserve(out.pairs, chunk, error);
    if (status != FM_OK) return status;
    if (out.leave || self->straight > 0 || (tags && out.pairs->late_wanted && out.pairs->late_from == 0)) {
        if (!out.leave) {
            self->straight -= self->straight > 0;
            out.leave = tags;
        }
        out.now = tags;
        if (tags) self->tags->kept.pair_count = 0;
    } else {
        left = self->unrepeated;
        left_count = remove_repeats(self, blocks, tags, chunk, before, &out);
    }
    taken = left_count;
    const bool as_chunk = count_as_chunk(self, left, left_count, chunk > FM_CACHE_CHUNK / 2, out);
    if (!as_chunk)
        status = fm_exact_run(self, left, left_count, out, &taken, error);
    else if (fm_exact_too_many(self))
        status = fm_exact_restart(self, error);
    *done = taken == left_count ? chunk : left == blocks ? taken : stand_after(blocks, chunk, before, taken);
    const size_t repeats = *done - taken;
    fm_tally_add_many(out.tally, 0, repeats);
    self->clock += repeats;
    if (tags) { /* the words of repeats stand first, in order; then those of close references */
        const fm_kept_tags *kept = &self->tags->kept;
        self->kernels->count_pairs(&out.pairs->table, kept->pair, as_chunk ? kept->pair_count : repeats);
    }
    if (*done > 0) {
        self->last = blocks[*done - 1];
        self->started = true;
    }
    return status;
}

/* How many of them make the next chunk. */
static size_t chunk_size(size_t left)
{
    if (left <= FM_CACHE_CHUNK_MOST) return left;
    if (left < 2 * FM_CACHE_CHUNK_MOST) return left / 2;
    return FM_CACHE_CHUNK;
}

fm_status fm_exact_count(fm_engine *engine, const fm_references *references, const fm_engine_results *results,
                         size_t *done, fm_error *error)
{
    fm_status status = FM_OK;
    for (*done = 0; references->count > *done && status == FM_OK;) {
        const size_t left = references->count - *done;
        const fm_outlet out = {.tally = results->distances,
                               .pairs = results->pairs,
                               .leave = references->leave ? references->leave + *done : NULL,
                               .offset = *done};
        size_t taken;
        status = count_chunk((fm_exact *)engine, references->blocks + *done,
                             references->now ? references->now + *done : NULL, chunk_size(left), out, &taken,
                             error);
        *done += taken;
    }
    return status;
}

/*
 * ==== digest ====
 *
 * A chunk by itself in another thread than the rest of it: an engine beside
 * the one that counts digests the chunk, that one counts what is left, when its turn comes. Between them, a
 * block's place is the position that it would get in an empty window; with tags, as it stands in the table.
 */

fm_status fm_exact_digest(fm_engine *engine, const fm_references *given, size_t number,
                          const fm_engine_results *results, fm_residue *residue, bool *done, fm_error *error)
{
    fm_exact *self = (fm_exact *)engine;
    fm_pairs *const pairs = results->pairs;
    const size_t count = given->count;
    const fm_outlet out = {.tally = results->distances,
                           .pairs = pairs,
                           .now = given->now,
                           .leave = given->leave,
                           .offset = number};
    *done = false;
    if (!fm_exact_try_chunk(self, count)) return FM_OK;
    fm_status status = fm_tally_reserve(results->distances, FM_CACHE_CHUNK_MOST, error);
    if (status == FM_OK && pairs) status = fm_pairs_reserve(pairs, count, error);
    if (status != FM_OK) return status;
    if (pairs) self->tags->kept.pair_count = 0;
    self->window.position = 0;
    *done = fm_exact_chunk_by_itself(self, given->blocks, count, &out);
    fm_exact_judge_chunk(self, *done, count, count > FM_CACHE_CHUNK / 2);
    if (!*done) return FM_OK;
    if (pairs) self->kernels->count_pairs(&pairs->table, self->tags->kept.pair, self->tags->kept.pair_count);
    const fm_cache_chunk *chunk = &self->chunk;
    *residue = (fm_residue){.count = chunk->first_count,
                            .blocks = chunk->key,
                            .places = chunk->position,
                            .now = chunk->now,
                            .number = chunk->first};
    return FM_OK;
}

/* From places in an empty window to the next ones in this. */
static void place_firsts(fm_exact *self, const uint64_t *places, size_t count)
{
    const uint64_t next = self->window.position, line = next >> FM_LINE_SHIFT;
    const uint64_t within = (UINT64_C(1) << FM_LINE_SHIFT) - 1;
    const uint32_t offset = (uint32_t)(next & within);
    for (size_t i = 0; i < count; i++) {
        const uint64_t place = places[i] & FM_POSITION_BITS;
        const uint32_t at =
            offset + (uint32_t)(place >> FM_LINE_SHIFT) * FM_LINE_BITS + (uint32_t)(place & within);
        self->chunk.position[i] =
            (places[i] & ~FM_POSITION_BITS) | (line + at / FM_LINE_BITS) << FM_LINE_SHIFT | at % FM_LINE_BITS;
    }
}

fm_status fm_exact_count_residue(fm_engine *engine, const fm_residue *residue,
                                 const fm_engine_results *results, fm_error *error)
{
    fm_exact *self = (fm_exact *)engine;
    fm_tally *const tally = results->distances;
    fm_pairs *const pairs = results->pairs;
    fm_status status =
        fm_tally_reserve(tally, self->table.used + FM_CACHE_CHUNK_MOST + FM_TWO_LOOKUPS, error);
    if (status == FM_OK && pairs) status = fm_pairs_reserve(pairs, residue->count, error);
    if (status == FM_OK && !chunk_fits(self)) {
        status = fm_exact_restart(self, error); /* then the window has room for more than a chunk */
        if (status == FM_OK) status = fm_exact_make_room(self, FM_CACHE_CHUNK_MOST + FM_TWO_LOOKUPS, error);
    }
    if (status != FM_OK) return status;
    fm_cache_chunk *chunk = &self->chunk;
    chunk->first_count = residue->count;
    memcpy(chunk->key, residue->blocks, residue->count * sizeof *chunk->key);
    if (pairs) memcpy(chunk->now, residue->now, residue->count * sizeof *chunk->now);
    place_firsts(self, residue->places, residue->count);
    run_firsts(self, (fm_outlet){.tally = tally, .pairs = pairs});
    self->started = false; /* which block was the latest is not known here */
    return FM_OK;
}
