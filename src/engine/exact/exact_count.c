/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_count.c - counting without order, the usual way through `exact`: part by part. Repeats are removed;
 * what is left is worked off as a part (exact_part.c), or where few blocks are touched twice, chunk by
 * chunk.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/exact/exact_ends.h"
#include "engine/exact/exact_state.h"

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
static size_t remove_repeats(fm_exact *self, const uint64_t *blocks, const uint32_t *tags, size_t part,
                             uint64_t before, fm_outlet *out)
{
    size_t left;
    if (tags) {
        fm_kept_tags *kept = &self->tags->kept;
        kept->index_wanted = out->pairs->late_wanted;
        left = self->kernels->drop_repeats_tagged(blocks, tags, part, self->unrepeated, kept);
        out->now = kept->now;
        out->leave = kept->leave;
        out->kept_index = kept->index;
    } else {
        left = self->kernels->drop_repeats(blocks, part, &before, self->unrepeated);
    }
    fm_exact_judge_repeats(self, part, left);
    return left;
}

static bool count_as_part(fm_exact *self, const uint64_t *left, size_t left_count, bool whole, fm_outlet out)
{
    if (!fm_exact_try_part(self, left_count) || !fm_exact_part_fits(self)) return false;
    bool done = fm_exact_run_part(self, left, left_count, out);
    fm_exact_judge_part(self, done, left_count, whole);
    return done;
}

/*
 * With tags, a part's first reference is never taken for a repeat: its block would have to get the new tag.
 * And where distances of 0 are late, nothing is removed.
 */
static fm_status count_part(fm_exact *self, const uint64_t *blocks, const uint32_t *tags, size_t part,
                            fm_outlet out, size_t *done, fm_error *error)
{
    const uint64_t before = self->started && !tags ? self->last : ~blocks[0];
    const uint64_t *left = blocks;
    size_t left_count = part, taken;
    *done = 0;
    fm_status status = fm_tally_reserve(out.tally, self->table.used + FM_PART_MOST + FM_TWO_CHUNKS, error);
    if (status == FM_OK && self->firsts)
        status = fm_exact_reserve_firsts(self, part + 1, tags != NULL, error);
    if (status == FM_OK && tags) status = fm_pairs_reserve(out.pairs, part, error);
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
        left_count = remove_repeats(self, blocks, tags, part, before, &out);
    }
    taken = left_count;
    const bool as_part = count_as_part(self, left, left_count, part > FM_PART / 2, out);
    if (!as_part)
        status = fm_exact_run(self, left, left_count, out, &taken, error);
    else if (fm_exact_too_many(self))
        status = fm_exact_restart(self, error);
    *done = taken == left_count ? part : left == blocks ? taken : stand_after(blocks, part, before, taken);
    const size_t repeats = *done - taken;
    fm_tally_add_many(out.tally, 0, repeats);
    self->clock += repeats;
    if (tags) { /* the words of repeats stand first, in order; then those of close references */
        const fm_kept_tags *kept = &self->tags->kept;
        self->kernels->count_pairs(&out.pairs->table, kept->pair, as_part ? kept->pair_count : repeats);
    }
    if (*done > 0) {
        self->last = blocks[*done - 1];
        self->started = true;
    }
    return status;
}

/* How many of them make the next part. */
static size_t part_size(size_t left)
{
    if (left <= FM_PART_MOST) return left;
    if (left < 2 * FM_PART_MOST) return left / 2;
    return FM_PART;
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
        status =
            count_part((fm_exact *)engine, references->blocks + *done,
                       references->now ? references->now + *done : NULL, part_size(left), out, &taken, error);
        *done += taken;
    }
    return status;
}
