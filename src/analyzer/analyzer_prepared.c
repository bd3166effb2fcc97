/* SPDX-License-Identifier: Apache-2.0 */
/* analyzer_prepared.c - feeding what other threads have prepared and digested (prepared.h). */
#include "analyzer/analyzer_state.h"
#include "base/error.h"

#include <string.h>

/* The late ones of blocks from number `from` on become references of the batch. */
static void name_late(fm_analyzer *self, const fm_prepared *prepared, size_t reported, size_t from)
{
    fm_pairs *pairs = &self->attributing->pairs;
    for (size_t i = reported; i < pairs->late_count; i++)
        pairs->late[i].index = prepared->reference[from + pairs->late[i].index];
}

/* Blocks [from, from + count), of which nothing was done. */
static fm_status feed_undigested(fm_analyzer *self, const fm_prepared *prepared, size_t from, size_t count,
                                 fm_error *error)
{
    if (!self->attributing) return fm_analyzer_feed_blocks(self, prepared->blocks + from, count, error);
    fm_pairs *pairs = &self->attributing->pairs;
    const size_t reported = pairs->late_count;
    const fm_references left = {.count = count,
                                .blocks = prepared->blocks + from,
                                .now = prepared->now + from,
                                .leave = prepared->leave + from};
    const fm_engine_results results = fm_analyzer_results(self);
    size_t done;
    fm_status status = self->pending > 0 ? fm_analyzer_flush(self, error) : FM_OK; /* in order */
    if (status == FM_OK) status = self->ops->count(self->engine, &left, &results, &done, error);
    name_late(self, prepared, reported, from);
    return status;
}

/* Blocks [from, from + count), the first references of a part. */
static fm_status feed_digested(fm_analyzer *self, const fm_prepared *prepared, size_t from, size_t count,
                               fm_error *error)
{
    fm_pairs *pairs = self->attributing ? &self->attributing->pairs : NULL;
    const size_t reported = pairs ? pairs->late_count : 0;
    const fm_residue residue = {.count = count,
                                .blocks = prepared->blocks + from,
                                .places = prepared->place + from,
                                .now = pairs ? prepared->now + from : NULL};
    const fm_engine_results results = fm_analyzer_results(self);
    fm_status status = self->pending > 0 ? fm_analyzer_flush(self, error) : FM_OK; /* in order */
    if (status == FM_OK) status = self->ops->tagged->count_residue(self->engine, &residue, &results, error);
    if (pairs) name_late(self, prepared, reported, from);
    return status;
}

static fm_status feed_parts(fm_analyzer *self, const fm_prepared *prepared, fm_error *error)
{
    fm_status status = FM_OK;
    size_t from = 0;
    for (size_t i = 0; i < prepared->part_count && status == FM_OK; i++) {
        const fm_prepared_part *at = &prepared->parts[i];
        status = at->digested ? feed_digested(self, prepared, from, at->count, error)
                              : feed_undigested(self, prepared, from, at->count, error);
        from += at->count;
    }
    return status;
}

/* With attribution, pieces in which late references do not become too many. */
static fm_status feed_pieces(fm_analyzer *self, const fm_prepared *prepared, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t from = 0; status == FM_OK && from < prepared->count; from += FM_LATE_BATCH) {
        const size_t left = prepared->count - from;
        if (from > 0) status = fm_analyzer_report_late(self, error);
        if (status == FM_OK)
            status =
                feed_undigested(self, prepared, from, left < FM_LATE_BATCH ? left : FM_LATE_BATCH, error);
    }
    return status;
}

/* The late ones that digesting found, too. */
static fm_status report_late(fm_analyzer *self, const fm_prepared *prepared, fm_error *error)
{
    fm_pairs *pairs = &self->attributing->pairs;
    fm_status status = FM_OK;
    if (prepared->digested_by && prepared->late_count > 0) {
        status = fm_pairs_reserve(pairs, prepared->late_count, error);
        if (status != FM_OK) return status;
        memcpy(pairs->late + pairs->late_count, prepared->late, prepared->late_count * sizeof *pairs->late);
        pairs->late_count += prepared->late_count;
    }
    return fm_analyzer_report_late(self, error);
}

static fm_status check_prepared(const fm_analyzer *self, const fm_prepared *prepared, fm_error *error)
{
    if (!fm_analyzer_can_prepare(self))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "this analyzer needs every single reference");
    if (prepared->digested_by && prepared->digested_by != self)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "another analyzer digested this");
    if (self->attributing && prepared->count > 0 && !prepared->reference)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "this analyzer needs tags with what was prepared");
    return FM_OK;
}

fm_status fm_analyzer_feed_prepared(fm_analyzer *analyzer, const fm_prepared *prepared, fm_error *error)
{
    fm_status status = check_prepared(analyzer, prepared, error);
    if (status == FM_OK) status = fm_tally_reserve(&analyzer->distances, 1, error);
    if (status != FM_OK) return status;
    analyzer->fed = true;
    analyzer->budget.accesses += prepared->accesses;
    if (prepared->digested_by)
        status = feed_parts(analyzer, prepared, error);
    else if (analyzer->attributing)
        status = feed_pieces(analyzer, prepared, error);
    else
        status = fm_analyzer_feed_blocks(analyzer, prepared->blocks, prepared->count, error);
    if (analyzer->attributing) {
        fm_status reported = report_late(analyzer, prepared, status == FM_OK ? error : NULL);
        if (status == FM_OK) status = reported;
    }
    if (status == FM_OK) fm_tally_add_many(&analyzer->distances, 0, prepared->repeats);
    return status;
}
