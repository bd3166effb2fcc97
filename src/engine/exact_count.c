/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_count.c - counting without order, the usual way through `exact`: part by part, repeats are removed,
 * and where it pays the rest goes through the front.
 */
#include "engine/exact_state.h"

enum {
    FRONT_LEAST = 128, /* references of a part that goes through the front, which is empty at its beginning */
    FRONTLESS = 31,    /* parts that go past the front when it caught too little */
    STRAIGHT = 15,     /* parts that go through without a look for repeats when there were few */
};

/* Stands where a run stopped short: after the last repeat of the `taken`th reference that is no repeat. */
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
 * A repeat of the latest block has distance 0 and moves nothing: it need not reach the table. Looking for
 * repeats pays from one in sixteen on; where there were fewer, the next parts go through as they are.
 * Returns how many references are left, in self->collapsed.
 */
static size_t remove_repeats(fm_exact *self, const uint64_t *blocks, const uint32_t *tags, size_t part,
                             uint64_t before, fm_outlet *out)
{
    size_t left;
    if (tags) {
        fm_kept_tags *kept = &self->tags->kept;
        kept->index_wanted = out->pairs->late_wanted;
        left = self->kernels->collapse_tagged(blocks, tags, part, self->collapsed, kept);
        out->now = kept->now;
        out->leave = kept->leave;
        out->kept_index = kept->index;
    } else {
        left = self->kernels->collapse(blocks, part, &before, self->collapsed);
    }
    if (part - left < part / 16) self->straight = STRAIGHT;
    return left;
}

/* The front pays where it catches half of what is left; else a look now and then will do. */
static bool through_front(fm_exact *self, const uint64_t *left, size_t left_count, fm_outlet out)
{
    if (left_count < FRONT_LEAST) return false;
    if (self->frontless > 0) {
        self->frontless--;
        return false;
    }
    if (!fm_exact_front_fits(self)) return false;
    fm_exact_run_front(self, left, left_count, out);
    if (self->front.missed > left_count / 2) self->frontless = FRONTLESS;
    return true;
}

/*
 * With tags, a part's first reference is never taken for a repeat: its block would have to be told of the new
 * tag. And where references that near are wanted on the list of late ones, nothing is removed.
 */
static fm_status count_part(fm_exact *self, const uint64_t *blocks, const uint32_t *tags, size_t part,
                            fm_outlet out, size_t *done, fm_error *error)
{
    const bool all_wanted = tags && out.pairs->late_wanted && out.pairs->late_from < FM_FRONT;
    const uint64_t before = self->started && !tags ? self->last : ~blocks[0];
    *done = 0;
    fm_status status = fm_tally_reserve(out.tally, self->table.used + FM_PART + FM_TWO_CHUNKS, error);
    if (status == FM_OK && tags) status = fm_pairs_reserve(out.pairs, part, error);
    if (status != FM_OK) return status;
    out.now = out.leave = tags;
    if (all_wanted || self->straight > 0) {
        self->straight -= self->straight > 0;
        status = fm_exact_run(self, blocks, part, out, done, error);
    } else {
        size_t left = remove_repeats(self, blocks, tags, part, before, &out), taken = left;
        bool caught = through_front(self, self->collapsed, left, out);
        if (!caught)
            status = fm_exact_run(self, self->collapsed, left, out, &taken, error);
        else if (fm_exact_too_many(self))
            status = fm_exact_restart(self, error);
        *done = taken < left ? stand_after(blocks, part, before, taken) : part;
        const size_t repeats = *done - taken;
        fm_tally_add_many(out.tally, 0, repeats);
        self->clock += repeats;
        if (tags) { /* the words of repeats stand first, in order; then those of what the front caught */
            const fm_kept_tags *kept = &self->tags->kept;
            self->kernels->count_pairs(&out.pairs->table, kept->pair, caught ? kept->pair_count : repeats);
        }
    }
    if (*done > 0) {
        self->last = blocks[*done - 1];
        self->started = true;
    }
    return status;
}

fm_status fm_exact_count(fm_exact *self, const uint64_t *blocks, const uint32_t *tags, size_t count,
                         fm_outlet out, size_t *done, fm_error *error)
{
    fm_status status = FM_OK;
    *done = 0;
    while (count > *done && status == FM_OK) {
        const size_t left = count - *done;
        size_t taken;
        out.offset = *done;
        status = count_part(self, blocks + *done, tags ? tags + *done : NULL, left < FM_PART ? left : FM_PART,
                            out, &taken, error);
        *done += taken;
    }
    return status;
}
