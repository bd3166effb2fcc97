/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_digest.c - a part by itself (exact_part.c) in another thread than the rest of it: an engine beside
 * the one that counts digests the part, that one counts what is left, when its turn comes. Between them, a
 * block's place is the position that it would get in an empty window; with tags, as it stands in the table.
 */
#include "base/error.h"
#include "engine/exact/exact_state.h"

#include <string.h>

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
    if (!fm_exact_try_part(self, count)) return FM_OK;
    fm_status status = fm_tally_reserve(results->distances, FM_PART_MOST, error);
    if (status == FM_OK && pairs) status = fm_pairs_reserve(pairs, count, error);
    if (status != FM_OK) return status;
    if (pairs) self->tags->kept.pair_count = 0;
    self->window.position = 0;
    *done = fm_exact_part_by_itself(self, given->blocks, count, &out);
    fm_exact_judge_part(self, *done, count, count > FM_PART / 2);
    if (!*done) return FM_OK;
    if (pairs) self->kernels->count_pairs(&pairs->table, self->tags->kept.pair, self->tags->kept.pair_count);
    const fm_part *part = &self->part;
    *residue = (fm_residue){.count = part->first_count,
                            .blocks = part->key,
                            .places = part->position,
                            .now = part->now,
                            .number = part->first};
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
        self->part.position[i] =
            (places[i] & ~FM_POSITION_BITS) | (line + at / FM_LINE_BITS) << FM_LINE_SHIFT | at % FM_LINE_BITS;
    }
}

fm_status fm_exact_count_residue(fm_engine *engine, const fm_residue *residue,
                                 const fm_engine_results *results, fm_error *error)
{
    fm_exact *self = (fm_exact *)engine;
    fm_tally *const tally = results->distances;
    fm_pairs *const pairs = results->pairs;
    fm_status status = fm_tally_reserve(tally, self->table.used + FM_PART_MOST + FM_TWO_CHUNKS, error);
    if (status == FM_OK && pairs) status = fm_pairs_reserve(pairs, residue->count, error);
    if (status == FM_OK && !fm_exact_part_fits(self)) {
        status = fm_exact_restart(self, error); /* then the window has room for more than a part */
        if (status == FM_OK) status = fm_exact_make_room(self, FM_PART_MOST + FM_TWO_CHUNKS, error);
    }
    if (status != FM_OK) return status;
    fm_part *part = &self->part;
    part->first_count = residue->count;
    memcpy(part->key, residue->blocks, residue->count * sizeof *part->key);
    if (pairs) memcpy(part->now, residue->now, residue->count * sizeof *part->now);
    place_firsts(self, residue->places, residue->count);
    fm_exact_run_firsts(self, (fm_outlet){.tally = tally, .pairs = pairs});
    self->started = false; /* which block was the latest is not known here */
    return FM_OK;
}
