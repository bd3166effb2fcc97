/* SPDX-License-Identifier: Apache-2.0 */
/* team_exact.c - fm_team_exact: see team_exact.h. */
#include "cluster/team_exact.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

static void team_destroy(fm_team *team)
{
    if (!team) return;
    for (unsigned i = 0; team->pieces && i < team->options.pieces; i++) {
        fm_team_piece *piece = &team->pieces[i];
        if (piece->engine) fm_engine_exact.destroy(piece->engine);
        fm_tally_clear(&piece->tally);
        fm_first_touches_clear(&piece->firsts);
    }
    free(team->pieces);
    fm_tally_clear(&team->tally);
    fm_block_table_clear(&team->blocks);
    fm_seen_set_destroy(team->seen);
    free(team);
}

static fm_status team_create(fm_team **team, fm_transport *transport, const fm_team_options *options,
                             fm_error *error)
{
    *team = NULL;
    fm_team *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the team");
    self->transport = transport;
    self->options = *options;
    fm_status status = fm_tally_create(&self->tally, options->bins, error);
    if (status == FM_OK) status = fm_block_table_create(&self->blocks, options->seed, false, error);
    if (status == FM_OK) {
        self->pieces = fm_calloc(options->pieces, sizeof *self->pieces);
        if (!self->pieces) status = fm_fail_memory(error, options->pieces * sizeof *self->pieces, "pieces");
    }
    if (status == FM_OK && options->bound) {
        self->seen = fm_seen_set_create(fm_seen_limit, ~options->seed, false);
        if (!self->seen) status = fm_fail_memory(error, 0, "the set of blocks seen");
    }
    for (unsigned i = 0; i < options->pieces && status == FM_OK; i++)
        status = fm_tally_create(&self->pieces[i].tally, options->bins, error);
    if (status != FM_OK) {
        team_destroy(self);
        return status;
    }
    *team = self;
    return FM_OK;
}

static uint32_t team_place(const fm_team *team)
{
    return team->transport->rank;
}

static fm_status team_feed(fm_team *team, unsigned number, const uint64_t *blocks, size_t count,
                           fm_error *error)
{
    fm_team_piece *piece = &team->pieces[number];
    if (!piece->engine) {
        const fm_engine_options options = {
            .bound = team->options.bound, .seed = team->options.seed + number + 1, .isa = team->options.isa};
        fm_status status = fm_engine_exact.create(&piece->engine, &options, error);
        if (status != FM_OK) return status;
        fm_exact_list_firsts(piece->engine, &piece->firsts);
    }
    return fm_exact_count_blocks(piece->engine, blocks, count, &piece->tally, error);
}

static uint64_t team_held(const fm_team *team)
{
    return team->held;
}

static fm_status team_finish(fm_team *team, fm_tally *tally, fm_team_result *result, fm_error *error)
{
    uint64_t numbers[2] = {team->seen ? fm_seen_set_count(team->seen) : team->blocks.used,
                           team->given_up || (team->seen && fm_seen_set_given_up(team->seen))};
    fm_status status = fm_transport_sum(team->transport, numbers, 2, error);
    for (unsigned i = 0; i < team->options.pieces && status == FM_OK; i++)
        status = fm_tally_move(&team->tally, &team->pieces[i].tally, error);
    if (status == FM_OK) status = fm_team_sum_tallies(team->transport, &team->tally, error);
    if (status != FM_OK) return status;
    *result = (fm_team_result){.distinct = numbers[0], .cold_known = numbers[1] == 0};
    if (team->seen && (numbers[0] > fm_seen_limit || numbers[1] > 0)) { /* as engine_tables.h says */
        result->distinct = fm_seen_limit;
        result->cold_known = false;
    }
    if (team->transport->rank != 0) return FM_OK;
    if (!result->cold_known) {
        const uint64_t unknown = team->tally.cold - fm_seen_limit;
        team->tally.cold -= unknown;
        team->tally.beyond += unknown;
    }
    return fm_tally_move(tally, &team->tally, error);
}

static uint64_t team_memory(const fm_team *team)
{
    uint64_t bytes = sizeof *team + fm_block_table_memory(&team->blocks) + fm_tally_memory(&team->tally) +
                     (team->seen ? fm_seen_set_memory(team->seen) : 0);
    for (unsigned i = 0; i < team->options.pieces; i++) {
        const fm_team_piece *piece = &team->pieces[i];
        bytes += sizeof *piece + fm_tally_memory(&piece->tally) +
                 piece->firsts.capacity * sizeof *piece->firsts.blocks +
                 (piece->engine ? fm_engine_exact.memory(piece->engine) : 0);
    }
    return bytes;
}

const fm_team_ops fm_team_exact = {
    .name = "exact",
    .create = team_create,
    .destroy = team_destroy,
    .place = team_place,
    .feed = team_feed,
    .merge_phase = fm_team_merge_phase,
    .held = team_held,
    .finish = team_finish,
    .memory = team_memory,
};
