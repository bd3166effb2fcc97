/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_prepare.c - what is done to a batch before an engine sees it, for a thread that has the time: see
 * fm_prepared in fathom/analyzer.h. It reads of the analyzer only what never changes, and writes only what is
 * there for it: with attribution, the counters of the pairs that it leaves out.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/random_seed.h"
#include "engine/analyzer_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool fm_analyzer_can_prepare(const fm_analyzer *analyzer)
{
    if (!analyzer->ops->spared_repeats || analyzer->sink || analyzer->with_times) return false;
    if (!analyzer->attributing) return true;
    /* Under a limit all pairs are counted in one place; and where distances of 0 are late, none is left out.
     */
    const fm_pairs *pairs = &analyzer->attributing->pairs;
    return analyzer->ops->count_kept && !pairs->max_memory && !(pairs->late_wanted && pairs->late_from == 0);
}

static fm_status no_room(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the blocks of a batch");
}

static bool reserve_array(void *array, size_t *capacity, size_t needed, size_t element_size)
{
    return fm_array_reserve((void **)array, capacity, needed, element_size) == 0;
}

static fm_status reserve(const fm_analyzer *analyzer, fm_prepared *prepared, uint64_t more, fm_error *error)
{
    enum { VECTOR = 16 }; /* kernels write that far beyond the last block */
    bool done = more <= SIZE_MAX / 32 - prepared->count;
    const size_t needed = done ? prepared->count + (size_t)more + VECTOR : 0;
    done = done && reserve_array(&prepared->blocks, &prepared->capacity, needed, sizeof *prepared->blocks);
    if (analyzer->attributing)
        done = done &&
               reserve_array(&prepared->now, &prepared->tag_capacity[0], needed, sizeof *prepared->now) &&
               reserve_array(&prepared->leave, &prepared->tag_capacity[1], needed, sizeof *prepared->leave) &&
               reserve_array(&prepared->reference, &prepared->tag_capacity[2], needed,
                             sizeof *prepared->reference);
    return done ? FM_OK : no_room(error);
}

/* ---- without tags ---- */

/* An access that reaches beyond its block. */
static fm_status prepare_long(const fm_analyzer *analyzer, uint64_t block, uint64_t last, uint64_t left,
                              fm_prepared *prepared, fm_error *error)
{
    fm_status status = reserve(analyzer, prepared, last - block + 1 + left, error);
    if (status != FM_OK) return status;
    for (; block < last; block++) prepared->blocks[prepared->count++] = block;
    prepared->blocks[prepared->count++] = last;
    return FM_OK;
}

static fm_status prepare_plain(const fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                               fm_error *error)
{
    const unsigned shift = analyzer->shift;
    size_t next = 0;
    fm_status status = FM_OK;
    uint64_t before = ~(batch->address[0] >> shift);
    while (status == FM_OK && next < batch->count) {
        size_t kept;
        const size_t taken = analyzer->kernels->cut_distinct(
            batch->address + next, batch->size ? batch->size + next : NULL, batch->count - next, shift,
            &before, prepared->blocks + prepared->count, &kept);
        prepared->count += kept;
        prepared->repeats += taken - kept;
        next += taken;
        if (next == batch->count || !batch->size) break; /* without sizes nothing is long */
        const uint64_t address = batch->address[next];
        before = fm_last_block(address, batch->size[next], shift);
        next++;
        status = prepare_long(analyzer, address >> shift, before, batch->count - next, prepared, error);
    }
    return status;
}

/* ---- with tags ---- */

static uint32_t tag_of(const fm_batch *batch, size_t index)
{
    return batch->tag ? batch->tag[index] : 0;
}

/* The arrays of the cut are those of the batch that is being prepared, wherever they are now. */
static void lead_cut(fm_tagged_cut *cut, const fm_prepared *prepared)
{
    cut->blocks = prepared->blocks;
    cut->now = prepared->now;
    cut->leave = prepared->leave;
    cut->reference = prepared->reference;
}

/* All blocks of an access are kept: the first of a batch, or one that reaches beyond its block. */
static fm_status keep_whole(fm_analyzer *analyzer, const fm_batch *batch, size_t index, fm_prepared *prepared,
                            fm_error *error)
{
    fm_tagged_cut *cut = &analyzer->attributing->cut;
    const uint64_t address = batch->address[index];
    const uint64_t last = fm_last_block(address, batch->size ? batch->size[index] : 0, analyzer->shift);
    uint64_t block = address >> analyzer->shift;
    prepared->count = cut->count;
    fm_status status = reserve(analyzer, prepared, last - block + 1 + (batch->count - index), error);
    if (status != FM_OK) return status;
    lead_cut(cut, prepared);
    cut->all_tags |= cut->tag = tag_of(batch, index);
    for (;; block++) {
        cut->blocks[cut->count] = block;
        cut->now[cut->count] = cut->leave[cut->count] = cut->tag;
        cut->reference[cut->count++] = (uint32_t)index;
        if (block == last) break;
    }
    cut->block = last;
    return FM_OK;
}

/* The counters of this thread are made when they are needed. */
static fm_status start_pairs(fm_attributing *attributing, fm_error *error)
{
    fm_pairs *own = &attributing->prepared;
    const fm_pairs *pairs = &attributing->pairs;
    own->late_wanted = pairs->late_wanted;
    own->late_from = pairs->late_from;
    if (own->table.buckets) return FM_OK;
    own->ranges = pairs->ranges;
    fm_status status = fm_pair_table_create(&own->table, 0, 0, error);
    if (status != FM_OK) return status;
    /* They will be put together: what has the same hash is moved in one sweep. */
    for (size_t i = 0; i < 3; i++) own->table.multiplier[i] = pairs->table.multiplier[i];
    return FM_OK;
}

static fm_status wrong_tag(const fm_batch *batch, fm_error *error)
{
    size_t i = 0;
    while (batch->tag[i] <= FM_TAG_MAX) i++;
    return fm_fail(error, FM_E_ARGUMENT, NULL, "tag %" PRIu32 " of reference %zu is over %" PRIu32,
                   batch->tag[i], i, FM_TAG_MAX);
}

static fm_status prepare_tagged(fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                                fm_error *error)
{
    static const uint32_t untagged[FM_TAGGED_CUT_MOST];
    fm_attributing *attributing = analyzer->attributing;
    fm_tagged_cut *cut = &attributing->cut;
    fm_pair_table *counters = &attributing->prepared.table;
    cut->count = 0;
    cut->all_tags = 0;
    fm_status status = start_pairs(attributing, error);
    if (status == FM_OK) status = keep_whole(analyzer, batch, 0, prepared, error);
    for (size_t next = 1; status == FM_OK && next < batch->count;) {
        const size_t left = batch->count - next,
                     piece = left < FM_TAGGED_CUT_MOST ? left : FM_TAGGED_CUT_MOST;
        const size_t taken = analyzer->kernels->cut_tagged(
            batch->address + next, batch->size ? batch->size + next : NULL,
            batch->tag ? batch->tag + next : untagged, piece, analyzer->shift, (uint32_t)next, cut);
        next += taken;
        if (cut->all_tags > FM_TAG_MAX) break;
        status = fm_pair_table_reserve(counters, cut->pair_count, error);
        if (status != FM_OK) break;
        analyzer->kernels->count_pairs(counters, cut->pair, cut->pair_count);
        prepared->repeats += cut->pair_count;
        if (taken < piece) status = keep_whole(analyzer, batch, next++, prepared, error);
    }
    if (status == FM_OK && cut->all_tags > FM_TAG_MAX) status = wrong_tag(batch, error);
    prepared->count = cut->count;
    return status;
}

/* Do the batch's accesses touch so many blocks that these are better not held all at once? */
static bool too_long(const fm_batch *batch, unsigned shift)
{
    enum { FEW = 4096, MOST_BLOCKS = 1 << 18 };
    if (!batch->size) return false;
    uint32_t all = 0;
    for (size_t i = 0; i < batch->count; i++) all |= batch->size[i];
    if (all < FEW) return false; /* which is nearly always so */
    uint64_t sum = 0;
    for (size_t i = 0; i < batch->count; i++) sum += batch->size[i];
    return sum >> shift > MOST_BLOCKS;
}

fm_status fm_analyzer_prepare(fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                              fm_error *error)
{
    prepared->count = 0;
    prepared->repeats = 0;
    prepared->digested_by = NULL;
    if (batch->count == 0) return FM_OK;
    if (too_long(batch, analyzer->shift))
        return fm_fail(error, FM_E_LIMIT, NULL, "accesses to very many blocks are not prepared");
    fm_status status = reserve(analyzer, prepared, batch->count, error);
    if (status != FM_OK) return status;
    return analyzer->attributing ? prepare_tagged(analyzer, batch, prepared, error)
                                 : prepare_plain(analyzer, batch, prepared, error);
}

/* ---- digesting ---- */

/* A part of what was prepared. */
typedef struct fm_prepared_part {
    size_t count; /* blocks */
    bool digested;
} part;

bool fm_analyzer_can_digest(const fm_analyzer *analyzer)
{
    return analyzer->ops->digest && !analyzer->bound && !analyzer->limited &&
           fm_analyzer_can_prepare(analyzer);
}

static fm_status start_digesting(fm_analyzer *self, fm_error *error)
{
    if (self->digester) return FM_OK;
    const fm_engine_options options = {
        .seed = fm_random_seed(), .isa = self->kernels->isa, .tags = self->attributing != NULL};
    fm_status status = FM_OK;
    if (!self->digested.counts) status = fm_tally_create(&self->digested, self->distances.bins, error);
    if (status == FM_OK) status = self->ops->create(&self->digester, &options, error);
    return status;
}

static fm_status add_part(fm_prepared *prepared, part added, fm_error *error)
{
    if (!reserve_array(&prepared->parts, &prepared->part_capacity, prepared->part_count + 1,
                       sizeof *prepared->parts))
        return no_room(error);
    prepared->parts[prepared->part_count++] = added;
    return FM_OK;
}

/* What was late among references that were counted waits for the others of the batch. */
static fm_status keep_late(fm_pairs *pairs, fm_prepared *prepared, fm_error *error)
{
    const size_t count = pairs->late_count;
    pairs->late_count = 0;
    if (!reserve_array(&prepared->late, &prepared->late_capacity, prepared->late_count + count,
                       sizeof *prepared->late))
        return no_room(error);
    for (size_t i = 0; i < count; i++) {
        fm_late *late = &prepared->late[prepared->late_count++];
        *late = pairs->late[i];
        late->index = prepared->reference[late->index];
    }
    return FM_OK;
}

/* First references take the places of all: there are no more of them, and each stands at or behind its new
 * place. */
static void put_firsts(fm_prepared *prepared, const fm_firsts *firsts, size_t from, size_t to, bool tagged)
{
    memcpy(prepared->blocks + to, firsts->blocks, firsts->count * sizeof *prepared->blocks);
    memcpy(prepared->place + to, firsts->places, firsts->count * sizeof *prepared->place);
    if (!tagged) return;
    memcpy(prepared->now + to, firsts->now, firsts->count * sizeof *prepared->now);
    for (size_t i = 0; i < firsts->count; i++)
        prepared->reference[to + i] = prepared->reference[from + firsts->number[i]];
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
static fm_status digest_part(fm_analyzer *self, fm_prepared *prepared, size_t from, size_t count, size_t *to,
                             fm_error *error)
{
    const bool tagged = self->attributing != NULL;
    fm_pairs *pairs = tagged ? &self->attributing->prepared : NULL;
    fm_firsts firsts;
    part found = {.count = count};
    fm_status status =
        self->ops->digest(self->digester, prepared->blocks + from, tagged ? prepared->now + from : NULL,
                          tagged ? prepared->leave + from : NULL, count, from, &self->digested, pairs,
                          &firsts, &found.digested, error);
    if (status == FM_OK && tagged) status = keep_late(pairs, prepared, error);
    if (status != FM_OK) return status;
    if (found.digested) {
        put_firsts(prepared, &firsts, from, *to, tagged);
        found.count = firsts.count;
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
    fm_status status = start_digesting(analyzer, error);
    if (status == FM_OK && analyzer->attributing) status = start_pairs(analyzer->attributing, error);
    if (status == FM_OK &&
        !reserve_array(&prepared->place, &prepared->place_capacity, prepared->count, sizeof *prepared->place))
        status = no_room(error);
    prepared->part_count = prepared->late_count = 0;
    const size_t count = prepared->count, parts = (count + FM_PART - 1) / FM_PART;
    size_t to = 0;
    for (size_t i = 0, from = 0; i < parts && status == FM_OK; i++) { /* of one size */
        const size_t end = count / parts * (i + 1) + (i + 1 == parts ? count % parts : 0);
        status = digest_part(analyzer, prepared, from, end - from, &to, error);
        from = end;
    }
    prepared->digested_by = analyzer;
    prepared->count = to;
    return status;
}

fm_status fm_analyzer_join(fm_analyzer *analyzer, fm_error *error)
{
    fm_attributing *attributing = analyzer->attributing;
    fm_status status = FM_OK;
    if (attributing)
        status = fm_pair_table_take(&attributing->pairs.table, &attributing->prepared.table, error);
    if (status == FM_OK && analyzer->digester)
        status = fm_tally_move(&analyzer->distances, &analyzer->digested, error);
    return status;
}

/* ---- feeding ---- */

/* The late ones of blocks from number `from` on become references of the batch. */
static void name_late(fm_analyzer *self, const fm_prepared *prepared, size_t told, size_t from)
{
    fm_pairs *pairs = &self->attributing->pairs;
    for (size_t i = told; i < pairs->late_count; i++)
        pairs->late[i].index = prepared->reference[from + pairs->late[i].index];
}

/* Blocks [from, from + count), of which nothing was done. */
static fm_status feed_undigested(fm_analyzer *self, const fm_prepared *prepared, size_t from, size_t count,
                                 fm_error *error)
{
    if (!self->attributing) return fm_analyzer_feed_blocks(self, prepared->blocks + from, count, error);
    fm_pairs *pairs = &self->attributing->pairs;
    const size_t told = pairs->late_count;
    size_t done;
    fm_status status =
        self->ops->count_kept(self->engine, prepared->blocks + from, prepared->now + from,
                              prepared->leave + from, count, &self->distances, pairs, &done, error);
    name_late(self, prepared, told, from);
    return status;
}

/* Blocks [from, from + count), the first references of a part. */
static fm_status feed_digested(fm_analyzer *self, const fm_prepared *prepared, size_t from, size_t count,
                               fm_error *error)
{
    fm_pairs *pairs = self->attributing ? &self->attributing->pairs : NULL;
    const size_t told = pairs ? pairs->late_count : 0;
    const fm_firsts firsts = {.count = count,
                              .blocks = prepared->blocks + from,
                              .places = prepared->place + from,
                              .now = pairs ? prepared->now + from : NULL};
    fm_status status = self->pending > 0 ? fm_analyzer_flush(self, error) : FM_OK; /* in order */
    if (status == FM_OK)
        status = self->ops->count_firsts(self->engine, &firsts, &self->distances, pairs, error);
    if (pairs) name_late(self, prepared, told, from);
    return status;
}

static fm_status feed_parts(fm_analyzer *self, const fm_prepared *prepared, fm_error *error)
{
    fm_status status = FM_OK;
    size_t from = 0;
    for (size_t i = 0; i < prepared->part_count && status == FM_OK; i++) {
        const part *at = &prepared->parts[i];
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
    if (self->pending > 0) status = fm_analyzer_flush(self, error); /* in order */
    for (size_t from = 0; status == FM_OK && from < prepared->count; from += FM_LATE_BATCH) {
        const size_t left = prepared->count - from;
        if (from > 0) status = fm_analyzer_tell_late(self, error);
        if (status == FM_OK)
            status =
                feed_undigested(self, prepared, from, left < FM_LATE_BATCH ? left : FM_LATE_BATCH, error);
    }
    return status;
}

/* The late ones that digesting found, too. */
static fm_status tell_late(fm_analyzer *self, const fm_prepared *prepared, fm_error *error)
{
    fm_pairs *pairs = &self->attributing->pairs;
    fm_status status = FM_OK;
    if (prepared->digested_by && prepared->late_count > 0) {
        status = fm_pairs_reserve(pairs, prepared->late_count, error);
        if (status != FM_OK) return status;
        memcpy(pairs->late + pairs->late_count, prepared->late, prepared->late_count * sizeof *pairs->late);
        pairs->late_count += prepared->late_count;
    }
    return fm_analyzer_tell_late(self, error);
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
    if (prepared->digested_by)
        status = feed_parts(analyzer, prepared, error);
    else if (analyzer->attributing)
        status = feed_pieces(analyzer, prepared, error);
    else
        status = fm_analyzer_feed_blocks(analyzer, prepared->blocks, prepared->count, error);
    if (analyzer->attributing) {
        fm_status told = tell_late(analyzer, prepared, status == FM_OK ? error : NULL);
        if (status == FM_OK) status = told;
    }
    if (status == FM_OK) fm_tally_add_many(&analyzer->distances, 0, prepared->repeats);
    return status;
}

void fm_prepared_free(fm_prepared *prepared)
{
    free(prepared->blocks);
    free(prepared->now);
    free(prepared->leave);
    free(prepared->reference);
    free(prepared->parts);
    free(prepared->place);
    free(prepared->late);
    *prepared = (fm_prepared){0};
}
