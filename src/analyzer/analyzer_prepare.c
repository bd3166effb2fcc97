/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_prepare.c - what other threads do to a batch before its analyzer is fed (analyzer_state.h):
 * preparers, what they prepare, what they digest, and what is left of that for the analyzer.
 */
#include "analyzer/analyzer_state.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

/*
 * ==== preparers ====
 *
 * What each thread that prepares has for itself, and how what it counted comes back:
 * all of it when the threads are at rest, counters of pairs before, when there are many. Number 0 keeps its
 * own: where it is the only one, that is one copy, and pouring it out would cost time for nothing.
 */

/* Entries of a table of pairs (1 MiB, which stays in the second-level cache) from which on it is poured out.
 */
enum { MANY_PAIRS = 1 << 15 };

/* The preparer with that number, made if there is none. */
static fm_status preparer_of(fm_analyzer *analyzer, unsigned number, fm_preparer **preparer, fm_error *error)
{
    if (number >= FM_PREPARERS)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a preparer has the number %u, over %d", number,
                       FM_PREPARERS - 1);
    *preparer = analyzer->preparers[number];
    if (*preparer) return FM_OK;
    if (posix_memalign((void **)preparer, 64, sizeof **preparer) != 0 || !*preparer) /* of its ranges */
        return fm_fail_memory(error, sizeof **preparer, "a thread that prepares");
    memset(*preparer, 0, sizeof **preparer);
    (*preparer)->number = number;
    analyzer->preparers[number] = *preparer;
    return FM_OK;
}

void fm_preparer_destroy(fm_preparer *preparer, const fm_engine_ops *ops)
{
    if (!preparer) return;
    if (preparer->digester) ops->destroy(preparer->digester);
    fm_tally_clear(&preparer->digested);
    fm_pairs_clear(&preparer->pairs);
    free(preparer);
}

uint64_t fm_preparer_memory(const fm_preparer *preparer, const fm_engine_ops *ops)
{
    uint64_t bytes = sizeof *preparer + fm_tally_memory(&preparer->digested);
    if (preparer->pairs.table.buckets) bytes += fm_pairs_memory(&preparer->pairs);
    if (preparer->digester) bytes += ops->memory(preparer->digester);
    return bytes;
}

/* What has the same hash is put together in one sweep. */
static fm_status make_table(const fm_attributing *attributing, fm_pair_table *table, fm_error *error)
{
    fm_status status = fm_pair_table_create(table, 0, 0, error);
    if (status == FM_OK) memcpy(table->multiplier, attributing->multiplier, sizeof table->multiplier);
    return status;
}

/* With attribution: makes its counters ready; and pours them together with those of others where there are
 * many, so that there are not as many copies of all pairs as there are preparers. */
static fm_status preparer_start_pairs(fm_analyzer *analyzer, fm_preparer *preparer, fm_error *error)
{
    fm_pairs *own = &preparer->pairs;
    const fm_pairs *pairs = &analyzer->attributing->pairs;
    own->late_wanted = pairs->late_wanted;
    own->late_from = pairs->late_from;
    if (own->table.buckets) return FM_OK;
    own->ranges = pairs->ranges;
    return make_table(analyzer->attributing, &own->table, error);
}

static fm_status preparer_pour_pairs(fm_analyzer *analyzer, fm_preparer *preparer, fm_error *error)
{
    fm_attributing *attributing = analyzer->attributing;
    if (preparer->number == 0 || preparer->pairs.table.used < MANY_PAIRS) return FM_OK;
    fm_status status = FM_OK;
    pthread_mutex_lock(&attributing->poured_lock);
    if (!attributing->poured.buckets) status = make_table(attributing, &attributing->poured, error);
    if (status == FM_OK) status = fm_pair_table_drain(&attributing->poured, &preparer->pairs.table, error);
    pthread_mutex_unlock(&attributing->poured_lock);
    return status;
}

fm_status fm_analyzer_join(fm_analyzer *analyzer, fm_error *error)
{
    fm_attributing *attributing = analyzer->attributing;
    fm_status status = FM_OK;
    if (attributing) status = fm_pair_table_merge(&attributing->pairs.table, &attributing->poured, error);
    for (size_t i = 0; i < FM_PREPARERS && status == FM_OK; i++) {
        fm_preparer *preparer = analyzer->preparers[i];
        if (!preparer) continue;
        if (attributing)
            status = fm_pair_table_merge(&attributing->pairs.table, &preparer->pairs.table, error);
        if (status == FM_OK && preparer->digester)
            status = fm_tally_move(&analyzer->distances, &preparer->digested, error);
    }
    return status;
}

/*
 * ==== preparing ====
 *
 * What is done to a batch before an engine sees it, for a thread that has the time: see
 * fm_prepared in analyzer_state.h. It reads of the analyzer only what never changes, and writes only what is
 * there for it: with attribution, the counters of the pairs that it leaves out (analyzer_prepare.c).
 */

bool fm_analyzer_can_prepare(const fm_analyzer *analyzer)
{
    if (!analyzer->ops->spared_repeats || analyzer->sink || analyzer->with_times) return false;
    if (!analyzer->attributing) return true;
    /* Under a limit all pairs are counted in one place; and where distances of 0 are late, none is left out.
     */
    const fm_pairs *pairs = &analyzer->attributing->pairs;
    return analyzer->ops->tagged && !pairs->max_memory && !(pairs->late_wanted && pairs->late_from == 0);
}

static bool reserve_array(void *array, size_t *capacity, size_t needed, size_t element_size)
{
    return fm_array_reserve((void **)array, capacity, needed, element_size) == 0;
}

static fm_status prepared_reserve(const fm_analyzer *analyzer, fm_prepared *prepared, uint64_t more,
                                  fm_error *error)
{
    bool done = more <= SIZE_MAX / 32 - prepared->count;
    const size_t needed = done ? prepared->count + (size_t)more + FM_CUT_ROOM : 0;
    done = done && reserve_array(&prepared->blocks, &prepared->capacity, needed, sizeof *prepared->blocks);
    if (analyzer->attributing)
        done = done &&
               reserve_array(&prepared->now, &prepared->tag_capacity[0], needed, sizeof *prepared->now) &&
               reserve_array(&prepared->leave, &prepared->tag_capacity[1], needed, sizeof *prepared->leave) &&
               reserve_array(&prepared->reference, &prepared->tag_capacity[2], needed,
                             sizeof *prepared->reference);
    return done ? FM_OK : fm_fail_memory(error, more * sizeof *prepared->blocks, "the blocks of a batch");
}

/* With attribution: the pairs of what was left out are counted. */
static fm_status count_pairs(const fm_analyzer *analyzer, fm_preparer *preparer, const fm_batch *batch,
                             fm_error *error)
{
    const fm_tagged_cut *cut = &preparer->cut;
    if (cut->all_tags > FM_TAG_MAX) return fm_check_tags(batch, 0, batch->count, error);
    fm_status status = fm_pair_table_reserve(&preparer->pairs.table, cut->pair_count, error);
    if (status == FM_OK) analyzer->kernels->count_pairs(&preparer->pairs.table, cut->pair, cut->pair_count);
    return status;
}

static fm_status prepared_cut(const fm_analyzer *analyzer, const fm_batch *batch, fm_preparer *preparer,
                              fm_prepared *prepared, fm_error *error)
{
    fm_tagged_cut *tagged = preparer ? &preparer->cut : NULL;
    fm_block_cutter cutter = {.kernels = analyzer->kernels,
                              .batch = batch,
                              .shift = analyzer->shift,
                              .end = batch->count,
                              .distinct = !analyzer->sink && !analyzer->with_times,
                              .tagged = tagged};
    fm_status status = FM_OK;
    if (tagged) tagged->count = tagged->all_tags = 0;
    while (status == FM_OK && fm_block_cutter_left(&cutter) > 0) {
        const uint64_t left = fm_block_cutter_left(&cutter);
        size_t count;
        /* With tags, an access of those cut at a time may be to two blocks. */
        status = prepared_reserve(analyzer, prepared, left + (tagged ? FM_TAGGED_CUT_MOST : 0), error);
        if (status != FM_OK) break;
        if (tagged) { /* wherever the arrays are now */
            tagged->blocks = prepared->blocks;
            tagged->now = prepared->now;
            tagged->leave = prepared->leave;
            tagged->reference = prepared->reference;
        }
        status =
            fm_block_cutter_next(&cutter, prepared->blocks + prepared->count, (size_t)left, &count, error);
        prepared->count += count;
        if (status == FM_OK && tagged) status = count_pairs(analyzer, preparer, batch, error);
    }
    prepared->repeats = cutter.repeats;
    return status;
}

static fm_status cut_tagged(fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                            fm_error *error)
{
    fm_preparer *preparer;
    fm_status status = preparer_of(analyzer, prepared->preparer, &preparer, error);
    if (status == FM_OK) status = preparer_start_pairs(analyzer, preparer, error);
    if (status == FM_OK) status = prepared_cut(analyzer, batch, preparer, prepared, error);
    return status == FM_OK ? preparer_pour_pairs(analyzer, preparer, error) : status;
}

/* May the batch's accesses touch so many blocks that these are better not held all at once? */
static bool too_long(const fm_analyzer *analyzer, const fm_batch *batch)
{
    enum { MOST_BLOCKS = 1 << 18, FREE_BLOCKS = 1 << 14 };
    const unsigned shift = analyzer->shift;
    if (!batch->size) return false;
    uint64_t most = FREE_BLOCKS + batch->count * fm_blocks_for_each(shift); /* within the budget */
    if (most > MOST_BLOCKS) most = MOST_BLOCKS;
    const uint32_t all = analyzer->kernels->all_bits(batch->size, batch->count);
    if (batch->count * ((uint64_t)(all >> shift) + FM_LONG_ENDS) <= most) return false; /* nearly always so */
    uint64_t sum = FM_LONG_ENDS * (uint64_t)batch->count;
    for (size_t i = 0; i < batch->count; i++) sum += batch->size[i] >> shift;
    return sum > most;
}

fm_status fm_analyzer_prepare(fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                              fm_error *error)
{
    prepared->count = 0;
    prepared->repeats = 0;
    prepared->accesses = batch->count;
    prepared->digested_by = NULL;
    const fm_batch known = fm_analyzer_known(analyzer, batch);
    if (known.count == 0) return FM_OK;
    if (too_long(analyzer, &known))
        return fm_fail(error, FM_E_LIMIT, NULL, "accesses to very many blocks are not prepared");
    return analyzer->attributing ? cut_tagged(analyzer, &known, prepared, error)
                                 : prepared_cut(analyzer, &known, NULL, prepared, error);
}

void fm_prepared_free(fm_prepared *prepared)
{
    free(prepared->blocks);
    free(prepared->now);
    free(prepared->leave);
    free(prepared->reference);
    free(prepared->chunks);
    free(prepared->place);
    free(prepared->late);
    *prepared = (fm_prepared){0};
}

/*
 * ==== digesting ====
 *
 * The part of the analysis that needs no more than some thousand references, done by a
 * thread that prepares (fm_prepared in analyzer_state.h).
 */

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

static fm_status add_chunk(fm_prepared *prepared, fm_prepared_chunk added, fm_error *error)
{
    if (fm_array_reserve((void **)&prepared->chunks, &prepared->chunk_capacity, prepared->chunk_count + 1,
                         sizeof *prepared->chunks) != 0)
        return fm_fail_memory(error, (prepared->chunk_count + 1) * sizeof *prepared->chunks,
                              "a batch's parts");
    prepared->chunks[prepared->chunk_count++] = added;
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
static fm_status digest_chunk(const fm_analyzer *analyzer, fm_preparer *self, fm_prepared *prepared,
                              size_t from, size_t count, size_t *to, fm_error *error)
{
    const bool tagged = analyzer->attributing != NULL;
    fm_pairs *pairs = tagged ? &self->pairs : NULL;
    const fm_references chunk = {.count = count,
                                 .blocks = prepared->blocks + from,
                                 .now = tagged ? prepared->now + from : NULL,
                                 .leave = tagged ? prepared->leave + from : NULL};
    const fm_engine_results results = {.distances = &self->digested, .pairs = pairs};
    fm_residue residue;
    fm_prepared_chunk found = {.count = count};
    fm_status status = analyzer->ops->tagged->digest(self->digester, &chunk, from, &results, &residue,
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
    return add_chunk(prepared, found, error);
}

fm_status fm_analyzer_digest(fm_analyzer *analyzer, fm_prepared *prepared, fm_error *error)
{
    if (!fm_analyzer_can_digest(analyzer))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "this analyzer cannot digest");
    if (prepared->digested_by || prepared->count == 0) return FM_OK;
    fm_preparer *preparer;
    fm_status status = preparer_of(analyzer, prepared->preparer, &preparer, error);
    if (status == FM_OK) status = digester_start(analyzer, preparer, error);
    if (status == FM_OK && analyzer->attributing) status = preparer_start_pairs(analyzer, preparer, error);
    if (status == FM_OK && fm_array_reserve((void **)&prepared->place, &prepared->place_capacity,
                                            prepared->count, sizeof *prepared->place) != 0)
        status = fm_fail_memory(error, prepared->count * sizeof *prepared->place, "what is left of a batch");
    prepared->chunk_count = prepared->late_count = 0;
    const size_t count = prepared->count, chunks = (count + FM_CACHE_CHUNK_MOST - 1) / FM_CACHE_CHUNK_MOST;
    size_t to = 0;
    for (size_t i = 0, from = 0; i < chunks && status == FM_OK; i++) { /* of one size */
        const size_t end = count * (i + 1) / chunks;                   /* none is over FM_CACHE_CHUNK_MOST */
        status = digest_chunk(analyzer, preparer, prepared, from, end - from, &to, error);
        from = end;
    }
    prepared->digested_by = analyzer;
    prepared->count = to;
    if (status == FM_OK && analyzer->attributing) status = preparer_pour_pairs(analyzer, preparer, error);
    return status;
}

/*
 * ==== what is left ====
 *
 * Feeding what other threads have prepared and digested (analyzer_state.h).
 */

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

/* Blocks [from, from + count), the first references of a chunk. */
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

static fm_status feed_chunks(fm_analyzer *self, const fm_prepared *prepared, fm_error *error)
{
    fm_status status = FM_OK;
    size_t from = 0;
    for (size_t i = 0; i < prepared->chunk_count && status == FM_OK; i++) {
        const fm_prepared_chunk *at = &prepared->chunks[i];
        status = at->digested ? feed_digested(self, prepared, from, at->count, error)
                              : feed_undigested(self, prepared, from, at->count, error);
        from += at->count;
    }
    return status;
}

/* With attribution, in batches in which late references do not become too many. */
static fm_status feed_batches(fm_analyzer *self, const fm_prepared *prepared, fm_error *error)
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
        status = feed_chunks(analyzer, prepared, error);
    else if (analyzer->attributing)
        status = feed_batches(analyzer, prepared, error);
    else
        status = fm_analyzer_feed_blocks(analyzer, prepared->blocks, prepared->count, error);
    if (analyzer->attributing) {
        fm_status reported = report_late(analyzer, prepared, status == FM_OK ? error : NULL);
        if (status == FM_OK) status = reported;
    }
    if (status == FM_OK) fm_tally_add_many(&analyzer->distances, 0, prepared->repeats);
    return status;
}
