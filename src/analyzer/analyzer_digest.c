/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_digest.c - the part of the analysis that needs no more than some thousand references, done by a
 * thread that prepares (fm_prepared in prepared.h).
 */
#include "analyzer/analyzer_state.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random_seed.h"

#include <string.h>

bool fm_analyzer_can_digest(const fm_analyzer *analyzer)
{
    return analyzer->ops->tagged && !analyzer->bound && !analyzer->limited &&
           fm_analyzer_can_prepare(analyzer);
}

static fm_status digester_start(const fm_analyzer *analyzer, fm_preparer *self, fm_error *error)
{
    if (self->digester) return FM_OK;
    const fm_engine_options options = {
        .seed = fm_random_seed(), .isa = analyzer->kernels->isa, .tags = analyzer->attributing != NULL};
    fm_status status = FM_OK;
    if (!self->digested.counts) status = fm_tally_create(&self->digested, analyzer->distances.bins, error);
    if (status == FM_OK) status = analyzer->ops->create(&self->digester, &options, error);
    return status;
}

static fm_status add_part(fm_prepared *prepared, fm_prepared_part added, fm_error *error)
{
    if (fm_array_reserve((void **)&prepared->parts, &prepared->part_capacity, prepared->part_count + 1,
                         sizeof *prepared->parts) != 0)
        return fm_fail_memory(error, (prepared->part_count + 1) * sizeof *prepared->parts, "a batch's parts");
    prepared->parts[prepared->part_count++] = added;
    return FM_OK;
}

/* What was late among references that were counted waits for the others of the batch. */
static fm_status keep_late(fm_pairs *pairs, fm_prepared *prepared, fm_error *error)
{
    const size_t count = pairs->late_count;
    pairs->late_count = 0;
    if (fm_array_reserve((void **)&prepared->late, &prepared->late_capacity, prepared->late_count + count,
                         sizeof *prepared->late) != 0)
        return fm_fail_memory(error, count * sizeof *prepared->late, "late references");
    for (size_t i = 0; i < count; i++) {
        fm_late *late = &prepared->late[prepared->late_count++];
        *late = pairs->late[i];
        late->index = prepared->reference[late->index];
    }
    return FM_OK;
}

/* First references take the places of all: there are no more of them, and each stands at or behind its new
 * place. */
static void put_residue(fm_prepared *prepared, const fm_residue *residue, size_t from, size_t to, bool tagged)
{
    memcpy(prepared->blocks + to, residue->blocks, residue->count * sizeof *prepared->blocks);
    memcpy(prepared->place + to, residue->places, residue->count * sizeof *prepared->place);
    if (!tagged) return;
    memcpy(prepared->now + to, residue->now, residue->count * sizeof *prepared->now);
    for (size_t i = 0; i < residue->count; i++)
        prepared->reference[to + i] = prepared->reference[from + residue->number[i]];
}

static void move_undigested(fm_prepared *prepared, size_t from, size_t count, size_t to, bool tagged)
{
    if (from == to) return;
    memmove(prepared->blocks + to, prepared->blocks + from, count * sizeof *prepared->blocks);
    if (!tagged) return;
    memmove(prepared->now + to, prepared->now + from, count * sizeof *prepared->now);
    memmove(prepared->leave + to, prepared->leave + from, count * sizeof *prepared->leave);
    memmove(prepared->reference + to, prepared->reference + from, count * sizeof *prepared->reference);
}

/* Blocks [from, from + count), which go to `to`. */
static fm_status digest_part(const fm_analyzer *analyzer, fm_preparer *self, fm_prepared *prepared,
                             size_t from, size_t count, size_t *to, fm_error *error)
{
    const bool tagged = analyzer->attributing != NULL;
    fm_pairs *pairs = tagged ? &self->pairs : NULL;
    const fm_references part = {.count = count,
                                .blocks = prepared->blocks + from,
                                .now = tagged ? prepared->now + from : NULL,
                                .leave = tagged ? prepared->leave + from : NULL};
    const fm_engine_results results = {.distances = &self->digested, .pairs = pairs};
    fm_residue residue;
    fm_prepared_part found = {.count = count};
    fm_status status = analyzer->ops->tagged->digest(self->digester, &part, from, &results, &residue,
                                                     &found.digested, error);
    if (status == FM_OK && tagged) status = keep_late(pairs, prepared, error);
    if (status != FM_OK) return status;
    if (found.digested) {
        put_residue(prepared, &residue, from, *to, tagged);
        found.count = residue.count;
    } else {
        move_undigested(prepared, from, count, *to, tagged);
    }
    *to += found.count;
    return add_part(prepared, found, error);
}

fm_status fm_analyzer_digest(fm_analyzer *analyzer, fm_prepared *prepared, fm_error *error)
{
    if (!fm_analyzer_can_digest(analyzer))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "this analyzer cannot digest");
    if (prepared->digested_by || prepared->count == 0) return FM_OK;
    fm_preparer *preparer;
    fm_status status = fm_analyzer_preparer(analyzer, prepared->preparer, &preparer, error);
    if (status == FM_OK) status = digester_start(analyzer, preparer, error);
    if (status == FM_OK && analyzer->attributing) status = fm_preparer_start_pairs(analyzer, preparer, error);
    if (status == FM_OK && fm_array_reserve((void **)&prepared->place, &prepared->place_capacity,
                                            prepared->count, sizeof *prepared->place) != 0)
        status = fm_fail_memory(error, prepared->count * sizeof *prepared->place, "what is left of a batch");
    prepared->part_count = prepared->late_count = 0;
    const size_t count = prepared->count, parts = (count + FM_PART_MOST - 1) / FM_PART_MOST;
    size_t to = 0;
    for (size_t i = 0, from = 0; i < parts && status == FM_OK; i++) { /* of one size */
        const size_t end = count * (i + 1) / parts;                   /* none is over FM_PART_MOST */
        status = digest_part(analyzer, preparer, prepared, from, end - from, &to, error);
        from = end;
    }
    prepared->digested_by = analyzer;
    prepared->count = to;
    if (status == FM_OK && analyzer->attributing) status = fm_preparer_pour_pairs(analyzer, preparer, error);
    return status;
}
