/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_deliver.c - where the distances that `exact` finds go: into a tally, with tags also into the counters
 * of pairs and the list of late references; or one by one, in order.
 */
#include "engine/exact/exact_kernels.h"
#include "engine/exact/exact_state.h"

/* Under a bound: is a block that is not held a first touch? */
static uint64_t fresh_distance(fm_exact *self, uint64_t key, uint64_t now, uint64_t *time)
{
    uint64_t last_time = 0;
    fm_seen seen;
    if (self->dropping) {
        seen = fm_seen_set_insert(self->seen, key, fm_exact_seen_budget(self), &last_time);
        /* No memory to remember it: from now on first touches are not known. */
        if (seen == FM_SEEN_NO_MEMORY) seen = fm_seen_set_insert(self->seen, key, 0, &last_time);
    } else {
        seen = fm_seen_set_meet(self->seen);
    }
    if (time) *time = seen == FM_SEEN_NEW ? FM_COLD : seen == FM_SEEN_KNOWN ? now - last_time : FM_BEYOND;
    return seen == FM_SEEN_NEW ? FM_COLD : FM_BEYOND;
}

/* What fresh_distance will look at, for a whole lookups: without it each would wait for its own line. */
static void prefetch_fresh(const fm_exact *self, const uint64_t *keys)
{
    const fm_lookups *lookups = &self->lookups;
    if (!self->dropping) return;
    for (size_t i = 0; i < lookups->fresh_count; i++)
        fm_seen_set_prefetch(self->seen, keys[lookups->fresh_index[i]]);
}

/* ---- pairs ---- */

/* A reference of the run, by its number there. */
static inline fm_late late_of(const fm_outlet *out, size_t reference, uint64_t word)
{
    if (out->kept_index) reference = out->kept_index[reference];
    return (fm_late){.index = (uint32_t)(out->offset + reference),
                     .tag = (uint32_t)(word >> 32) & FM_TAG_MAX,
                     .range = (uint32_t)word & 0xFF};
}

/* The number in the run of a reference of the lookups. */
static size_t reference_of(const fm_outlet *out, uint32_t index)
{
    return out->first_index ? out->first_index[out->done + index] : out->done + index;
}

/* References that are listed on the stack at a time. */
enum { FM_DELIVERED = 1024 };
_Static_assert((int)FM_LOOKUPS <= (int)FM_DELIVERED, "late ones of lookups are listed at once");

/* Those at a distance from `from` on go on the list, for which there is room. */
static void note_all_late(const fm_exact_kernels *kernels, const fm_outlet *out, const uint32_t *distances,
                          uint64_t from, const uint32_t *indices, size_t count, const uint64_t *words)
{
    uint16_t which[FM_DELIVERED + 16];
    if (from > UINT32_MAX) return;
    const size_t found = kernels->list_late(distances, count, (uint32_t)from, which);
    fm_late *const late = out->pairs->late + out->pairs->late_count;
    for (size_t i = 0; i < found; i++)
        late[i] = late_of(out, reference_of(out, indices[which[i]]), words[which[i]]);
    out->pairs->late_count += found;
}

void fm_exact_put_ranges(const fm_exact_kernels *kernels, uint64_t bound, const fm_ranges *ranges,
                         const uint32_t *distances, size_t count, uint64_t *words)
{
    kernels->add_ranges(ranges, distances, count, words);
    if (bound)
        for (size_t i = 0; i < count; i++)
            if (distances[i] >= bound)
                words[i] = fm_pair_word(0, (uint32_t)(words[i] >> 32) & FM_TAG_MAX, FM_RANGE_BEYOND);
}

/* Words get their ranges and are counted. */
static void count_list(const fm_exact *self, const fm_outlet *out, const uint32_t *distances,
                       const uint32_t *indices, size_t count, uint64_t *words)
{
    fm_pairs *pairs = out->pairs;
    fm_exact_put_ranges(self->kernels, self->bound, &pairs->ranges, distances, count, words);
    if (pairs->late_wanted) {
        uint64_t from = pairs->late_from;
        if (self->bound && self->bound < from) from = self->bound;
        note_all_late(self->kernels, out, distances, from, indices, count, words);
    }
    self->kernels->count_pairs(&pairs->table, words, count);
}

/* ---- counts ---- */

/* Distances at or over the bound leave the list; returns how many stay. */
static size_t cut_at_bound(uint32_t *distances, size_t count, uint64_t bound, uint64_t *beyond)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        distances[kept] = distances[i];
        kept += distances[i] < bound;
    }
    *beyond += count - kept;
    return kept;
}

void fm_exact_tally(const fm_exact_kernels *kernels, uint64_t bound, fm_tally *tally, uint32_t *distances,
                    size_t count)
{
    if (bound) count = cut_at_bound(distances, count, bound, &tally->beyond);
    if (tally->bins != FM_BINS_LOGLINEAR) {
        fm_tally_add32(tally, distances, count);
        return;
    }
    kernels->loglinear(distances, count);
    fm_tally_add_indices(tally, distances, count);
}

/* The largest that is neither FM_COLD nor FM_BEYOND. */
static uint64_t largest_of(const uint64_t *distances, size_t count)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t one = distances[i] < FM_BEYOND ? distances[i] : 0;
        if (one > largest) largest = one;
    }
    return largest;
}

fm_status fm_exact_tally_each(const fm_exact_kernels *kernels, fm_tally *tally, const uint64_t *distances,
                              size_t count, fm_error *error)
{
    enum { LOOKUPS = 512, KERNEL_ROOM = 16 };
    uint32_t few[LOOKUPS + KERNEL_ROOM];
    const bool grows = tally->bins == FM_BINS_EXACT; /* the others have room for any */
    fm_status status = grows ? fm_tally_reserve(tally, largest_of(distances, count) + 1, error) : FM_OK;
    for (size_t i = 0; i < count && status == FM_OK; i += LOOKUPS) {
        const size_t lookups = count - i < LOOKUPS ? count - i : LOOKUPS;
        uint64_t cold = 0, beyond = 0;
        const size_t kept = kernels->keep_small(distances + i, lookups, few, &cold, &beyond);
        for (size_t j = i; kept + cold + beyond < lookups && j < i + lookups; j++)
            if (distances[j] > UINT32_MAX && distances[j] < FM_BEYOND)
                fm_tally_add_many(tally, distances[j], 1);
        fm_exact_tally(kernels, 0, tally, few, kept);
        tally->cold += cold;
        tally->beyond += beyond;
    }
    return status;
}

/* Blocks that are not held go on the list of first touches, as exact_kernels.h says. There is room. */
static void list_fresh(fm_exact *self, const uint64_t *keys, fm_tally *tally)
{
    fm_first_touches *firsts = self->firsts;
    const fm_lookups *lookups = &self->lookups;
    firsts->unheld += lookups->fresh_count;
    /* When nobody can know whether they are new, it is enough to count them. */
    if (self->seen && firsts->count >= self->held && fm_seen_set_given_up(self->seen)) {
        firsts->given_up = true;
        tally->beyond += lookups->fresh_count;
        return;
    }
    for (size_t i = 0; i < lookups->fresh_count; i++) {
        const uint64_t key = keys[lookups->fresh_index[i]];
        bool listed = true;
        if (self->seen) {
            /* Nothing is dropped before more blocks than the bound were touched. */
            const bool first = fresh_distance(self, key, 0, NULL) == FM_COLD;
            listed = first || firsts->count < self->held;
            if (!listed) firsts->given_up |= fm_seen_set_given_up(self->seen);
        }
        firsts->blocks[firsts->count] = key;
        if (self->tags) firsts->tags[firsts->count] = (uint32_t)(lookups->fresh_pair[i] >> 32) & FM_TAG_MAX;
        firsts->count += listed;
        tally->beyond += !listed;
    }
}

static void tally_list(const fm_exact *self, fm_tally *tally, uint32_t *distances, size_t count)
{
    fm_exact_tally(self->kernels, self->bound, tally, distances, count);
}

static void deliver_fresh(fm_exact *self, const uint64_t *keys, const fm_outlet *out)
{
    fm_lookups *lookups = &self->lookups;
    const bool unknown = self->seen && fm_seen_set_given_up(self->seen);
    if (!unknown) prefetch_fresh(self, keys);
    if (self->firsts) {
        list_fresh(self, keys, out->tally);
        if (self->dropping) fm_exact_note_seen(self);
        return;
    }
    const size_t count = lookups->fresh_count;
    uint64_t beyond = 0;
    if (unknown && !out->pairs) {
        out->tally->beyond += count;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bool forgotten =
            self->seen && fresh_distance(self, keys[lookups->fresh_index[i]], 0, NULL) == FM_BEYOND;
        beyond += forgotten;
        if (out->pairs) lookups->fresh_pair[i] |= forgotten ? FM_RANGE_BEYOND : FM_RANGE_COLD;
    }
    if (self->dropping) fm_exact_note_seen(self);
    out->tally->cold += count - beyond;
    out->tally->beyond += beyond;
    if (!out->pairs) return;
    if (out->pairs->late_wanted)
        for (size_t i = 0; i < count; i++)
            out->pairs->late[out->pairs->late_count++] =
                late_of(out, reference_of(out, lookups->fresh_index[i]), lookups->fresh_pair[i]);
    self->kernels->count_pairs(&out->pairs->table, lookups->fresh_pair, count);
}

void fm_exact_deliver_counts(fm_exact *self, const uint64_t *keys, const fm_outlet *out)
{
    fm_lookups *lookups = &self->lookups;
    if (lookups->fresh_count > 0) deliver_fresh(self, keys, out);
    if (out->pairs) {
        count_list(self, out, lookups->near_distance, lookups->near_index, lookups->near_count,
                   lookups->near_pair);
        count_list(self, out, lookups->far_distance, lookups->far_index, lookups->far_count,
                   lookups->far_pair);
    }
    tally_list(self, out->tally, lookups->near_distance, lookups->near_count);
    tally_list(self, out->tally, lookups->far_distance, lookups->far_count);
}

/* ---- what follows from a chunk alone ---- */

/* References to blocks that the chunk touched before, by their numbers in it; distances are used up. */
static void deliver_again(fm_exact *self, const fm_outlet *out, uint32_t *distances,
                          const uint16_t *references, size_t count)
{
    if (out->pairs) {
        const fm_cache_chunk *chunk = &self->chunk;
        fm_kept_tags *kept = &self->tags->kept;
        uint64_t *const words = kept->pair + kept->pair_count; /* there is room for one of every reference */
        uint32_t indices[FM_DELIVERED];
        for (size_t first = 0; first < count; first += FM_DELIVERED) {
            const size_t some = count - first < FM_DELIVERED ? count - first : FM_DELIVERED;
            for (size_t i = 0; i < some; i++) {
                const size_t reference = references[first + i];
                indices[i] = (uint32_t)reference;
                words[i] = fm_pair_word(out->leave[chunk->before[reference] - 1], out->now[reference], 0);
            }
            count_list(self, out, distances + first, indices, some, words);
        }
    }
    tally_list(self, out->tally, distances, count);
}

_Static_assert((int)FM_CLOSE <= (int)FM_SMALL_RANGES, "the ranges of close references are known");

/* Close references are many and their distances small: counted by distance, without a look at each. */
static void deliver_close(fm_exact *self, size_t count, const fm_outlet *out)
{
    fm_cache_chunk *chunk = &self->chunk;
    for (uint64_t distance = 0; distance < FM_CLOSE; distance++)
        fm_tally_add_many(out->tally, distance, chunk->close_count[distance]);
    if (!out->pairs) return;
    self->kernels->chunk_pairs(count, out->now, out->leave, out->pairs->ranges.small, chunk,
                               &self->tags->kept);
}

/* Where they may be beyond the bound, or late, each is looked at. */
static void deliver_close_one_by_one(fm_exact *self, size_t count, const fm_outlet *out)
{
    const fm_cache_chunk *chunk = &self->chunk;
    uint32_t distances[FM_DELIVERED + FM_CACHE_CHUNK_ROOM - FM_CACHE_CHUNK_MOST];
    uint16_t references[FM_DELIVERED];
    size_t close = 0;
    for (size_t i = 0; i < count; i++) {
        if (fm_chunk_lag(chunk)[i] > FM_CLOSE) continue;
        distances[close] = chunk->distance[i];
        references[close++] = (uint16_t)i;
        if (close < FM_DELIVERED) continue;
        deliver_again(self, out, distances, references, close);
        close = 0;
    }
    deliver_again(self, out, distances, references, close);
}

void fm_exact_deliver_chunk(fm_exact *self, size_t count, const fm_outlet *out)
{
    fm_cache_chunk *chunk = &self->chunk;
    if ((self->bound && self->bound < FM_CLOSE) ||
        (out->pairs && out->pairs->late_wanted && out->pairs->late_from < FM_CLOSE))
        deliver_close_one_by_one(self, count, out);
    else
        deliver_close(self, count, out);
    deliver_again(self, out, chunk->apart_distance, chunk->apart, chunk->apart_count);
}

/* ---- in order ---- */

static void order_list(const fm_outlet *out, uint64_t bound, const uint32_t *distances,
                       const uint32_t *indices, size_t count, const uint64_t *words)
{
    for (size_t i = 0; i < count; i++) {
        const bool beyond = distances[i] >= bound;
        out->distances[indices[i]] = beyond ? FM_BEYOND : distances[i];
        if (out->uses) out->uses[indices[i]] = beyond ? 0 : (uint32_t)(words[i] >> 8) & FM_TAG_MAX;
    }
}

/* There is room for them. */
static void list_fresh_in_order(fm_exact *self, const uint64_t *keys)
{
    fm_first_touches *firsts = self->firsts;
    const fm_lookups *lookups = &self->lookups;
    firsts->unheld += lookups->fresh_count;
    for (size_t i = 0; i < lookups->fresh_count; i++) {
        const uint32_t index = lookups->fresh_index[i];
        firsts->blocks[firsts->count] = keys[index];
        firsts->tags[firsts->count++] = (uint32_t)self->clock + index;
    }
}

void fm_exact_deliver_ordered(fm_exact *self, const uint64_t *keys, const fm_outlet *out)
{
    const fm_lookups *lookups = &self->lookups;
    const uint64_t bound = self->bound ? self->bound : FM_BEYOND;
    order_list(out, bound, lookups->near_distance, lookups->near_index, lookups->near_count,
               lookups->near_pair);
    order_list(out, bound, lookups->far_distance, lookups->far_index, lookups->far_count, lookups->far_pair);
    prefetch_fresh(self, keys);
    if (self->firsts) list_fresh_in_order(self, keys);
    for (size_t i = 0; i < lookups->fresh_count; i++) {
        size_t index = lookups->fresh_index[i];
        uint64_t *time = out->times ? &out->times[index] : NULL;
        out->distances[index] =
            self->seen ? fresh_distance(self, keys[index], self->clock + index, time) : FM_COLD;
        if (out->uses) out->uses[index] = 0;
    }
    if (self->dropping && lookups->fresh_count > 0) fm_exact_note_seen(self);
}
