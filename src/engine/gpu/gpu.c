/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.c - exact distances on a graphics card, a batch of up to 2^26 references at a time.
 *
 * The card gets each batch with the stack of all distinct blocks put before it (gpu_module.h), so that what
 * it counts is exact across batches. This file cuts the stream into batches and keeps account: how many
 * blocks there are, which first touches can be told from returns under a bound, and how much room the card
 * needs. References are read, copied and counted at the same time (gpu_batches.c); where the trace can be
 * divided, several threads read and copy (gpu_draw.c). The card's own algorithm is in modules/cuda.
 *
 * Time: the card's, O((n + M) log) for a batch of n references after M blocks; batches are at least as long
 * as a third of the stack where the card's memory allows. Space: 64 MiB of the host; blocks that do not fit
 * the card take 8 bytes each (gpu_spill.c).
 *
 * Where several cards share the counting, batches go to them in turn (gpu.h): this file's own card has
 * the stack, and merges what the others leave open, in order, before it counts the next batch of its own.
 *
 * Under a bound, the stack is kept whole up to fm_seen_limit blocks, which is what other engines remember
 * (engine_tables.h), and cut to the bound from there on.
 */
#include "engine/gpu/gpu.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/engine_tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* With shorter batches than that, a card does not pay. */
static size_t least_batch(void)
{
    const size_t least = (size_t)1 << 16, tests = fm_gpu_first_sizes.batch / 8;
    return tests < least ? tests : least;
}

typedef struct gpu_engine {
    const fm_gpu_module *module;
    unsigned device, devices; /* the card that has the stack; how many there are */
    unsigned most_helpers;
    uint64_t bound, max_memory, seen_limit;
    unsigned threads; /* that draw */
    bool times;
    fm_gpu_pieces pieces;
    fm_gpu_batches batches;
    bool open, wants_each; /* each: the mode the card is open in */
    size_t alone;          /* batches begun before others joined, or nobody did */
    fm_gpu_cards cards; /* beside the one that has the stack; only where single distances are not asked for */
    fm_gpu_spill spill;
    bool outgrown;    /* the card has no more memory to give: older blocks go to the host */
    uint64_t clock;   /* of the next reference that is taken */
    size_t stack;     /* blocks on the card, after what was collected */
    uint64_t deepest; /* no distance so far can have reached this */
    uint64_t distinct;
    bool cold_known;
    uint64_t memory_peak;
    double seconds[FM_GPU_STAGES];
} gpu_engine;

/* ---- memory ---- */

static uint64_t gpu_memory(const fm_engine *engine)
{
    const gpu_engine *self = (const gpu_engine *)engine;
    return sizeof *self + fm_gpu_spill_memory(&self->spill) + fm_gpu_cards_memory(&self->cards) +
           (self->pieces.module ? fm_gpu_pieces_memory(self->pieces.size) : 0) +
           (self->open ? fm_gpu_batches_memory(&self->batches.setup) : 0);
}

static uint64_t gpu_memory_peak(const fm_engine *engine)
{
    return ((const gpu_engine *)engine)->memory_peak;
}

static void note_memory(gpu_engine *self)
{
    const uint64_t now = gpu_memory((const fm_engine *)self);
    if (now > self->memory_peak) self->memory_peak = now;
}

static fm_status check_limit(const gpu_engine *self, const fm_gpu_setup *setup, fm_error *error)
{
    const uint64_t needed = sizeof *self + fm_gpu_pieces_memory(fm_gpu_first_sizes.piece) +
                            fm_gpu_batches_memory(setup) + fm_gpu_spill_memory(&self->spill);
    if (self->max_memory == 0 || needed <= self->max_memory) return FM_OK;
    return fm_fail(error, FM_E_LIMIT, NULL,
                   "the gpu engine needs %" PRIu64 " bytes of the host's memory, the limit is %" PRIu64,
                   needed, self->max_memory);
}

/* ---- the card: how it is opened, and opened again when it has to be larger ---- */

/* What the card should be opened for. */
static fm_gpu_setup gpu_plan(const gpu_engine *self, size_t stack, bool each, fm_bins bins)
{
    fm_gpu_setup setup = {
        .device = self->device,
        .batch = each ? fm_gpu_first_sizes.each_batch : fm_gpu_first_sizes.batch,
        .stack = stack,
        .bins = bins,
        .bound = self->bound,
        .count = !each,
        .count_times = !each && self->times,
        .each = each,
        .times = self->times,
    };
    if (!each && setup.batch < stack / 4) setup.batch = stack / 4;
    if (setup.stack / 2 < setup.batch) setup.stack = setup.batch * 2;
    return setup;
}

/* Whether the card has room for it, now that it has so many bytes free. CUDA itself takes some. */
static bool gpu_fits(const gpu_engine *self, const fm_gpu_setup *setup, uint64_t free_bytes)
{
    return setup->stack + setup->batch <= FM_GPU_MOST &&
           self->module->memory_needed(setup) <= free_bytes - free_bytes / 16;
}

static fm_status open_card(gpu_engine *self, size_t stack, bool each, const fm_engine_results *results,
                           fm_error *error)
{
    fm_gpu_setup setup = gpu_plan(self, stack, each, results->distances->bins);
    fm_gpu_description card;
    fm_status status = check_limit(self, &setup, error);
    if (status == FM_OK) status = self->module->describe(setup.device, &card, error);
    if (status != FM_OK) return status;
    while (!gpu_fits(self, &setup, card.memory_free)) {
        if (setup.batch / 2 <= least_batch())
            return fm_fail(error, FM_E_NOMEM, NULL,
                           "the graphics card (%s) has %" PRIu64 " bytes of free memory; at least %" PRIu64
                           " are needed",
                           card.name, card.memory_free, self->module->memory_needed(&setup));
        setup.stack /= 2;
        setup.batch /= 2;
    }
    if (!self->pieces.module)
        status =
            fm_gpu_pieces_open(&self->pieces, self->module, setup.device, fm_gpu_first_sizes.piece, error);
    if (status == FM_OK)
        status = fm_gpu_batches_open(&self->batches, self->module, &self->pieces, &setup, error);
    self->open = status == FM_OK;
    self->wants_each = each;
    note_memory(self);
    return status;
}

/* Whether the card could be opened for a stack twice as large. */
static bool can_grow(const gpu_engine *self)
{
    const fm_gpu_setup *now = &self->batches.setup;
    const fm_gpu_setup then = gpu_plan(self, now->stack * 2, self->wants_each, now->bins);
    fm_gpu_description card;
    return self->module->describe(now->device, &card, NULL) == FM_OK &&
           gpu_fits(self, &then, card.memory_free + self->module->memory_needed(now));
}

/* The histograms on a card are added to the tallies. */
static fm_status fetch_counts(const gpu_engine *self, const fm_gpu_batches *batches,
                              const fm_engine_results *results, fm_error *error)
{
    if (!batches->card || !batches->setup.count) return FM_OK;
    fm_tally *distances = results->distances, *times = results->times;
    fm_status status = fm_tally_reserve(distances, self->deepest, error);
    if (status != FM_OK) return status;
    fm_gpu_counts counts = {
        .bins = distances->capacity, .distances = distances->counts, .times = times ? times->counts : NULL};
    status = self->module->fetch_counts(batches->card, &counts, error);
    if (status != FM_OK) return status;
    distances->total += counts.total;
    distances->beyond += counts.beyond;
    if (times) times->total += counts.times_total;
    return FM_OK;
}

/* The card is opened again for a larger stack, or another mode, and gets back what it knew. Nothing may be
 * under way. */
static fm_status gpu_reopen(gpu_engine *self, size_t stack, bool each, const fm_engine_results *results,
                            fm_error *error)
{
    uint64_t *blocks = NULL, *times = NULL;
    const size_t bytes = self->stack * sizeof *blocks;
    fm_status status = fetch_counts(self, &self->batches, results, error);
    if (status != FM_OK) return status;
    if (self->stack > 0) {
        blocks = fm_pages_allocate(bytes);
        if (self->times) times = fm_pages_allocate(bytes);
        if (!blocks || (self->times && !times))
            status = fm_fail_memory(error, bytes, "the stack");
        else
            status = self->module->fetch_stack(self->batches.card, blocks, times, self->stack, error);
    }
    if (status == FM_OK) {
        fm_gpu_batches_close(&self->batches);
        self->open = false;
        status = open_card(self, stack, each, results, error);
    }
    if (status == FM_OK && self->stack > 0)
        status = self->module->load_stack(self->batches.card, 0, blocks, times, self->stack, error);
    fm_pages_free(blocks, bytes);
    fm_pages_free(times, bytes);
    return status;
}

/* ---- what a batch brought ---- */

/* New blocks: first touches as far as they can be known. Returns how many are. */
static uint64_t count_new(gpu_engine *self, uint64_t count)
{
    const uint64_t room = !self->bound       ? UINT64_MAX
                          : self->cold_known ? self->seen_limit - self->distinct
                                             : 0;
    const uint64_t known = count < room ? count : room;
    if (count > room) self->cold_known = false;
    self->distinct += known;
    return known;
}

/* Single distances: what can no longer be known to be a first touch is beyond the bound. */
static void hide_unknown(fm_gpu_batch *batch, uint64_t known)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->distances[i] != FM_COLD) continue;
        if (known > 0) {
            known--;
            continue;
        }
        batch->distances[i] = FM_BEYOND;
        if (batch->times) batch->times[i] = FM_BEYOND;
    }
}

static fm_status deliver_each(const fm_gpu_batch *batch, const fm_engine_results *results, fm_error *error)
{
    fm_status status = FM_OK;
    if (results->sink)
        status = results->sink(results->sink_context, NULL, batch->distances, batch->count, error);
    if (status == FM_OK) status = fm_tally_add(results->distances, batch->distances, batch->count, error);
    if (status == FM_OK && results->times)
        status = fm_tally_add(results->times, batch->times, batch->count, error);
    return status;
}

/* A batch was counted by a card that had so many blocks before. */
static void note_batch(gpu_engine *self, const fm_gpu_batch *batch, size_t stack_before)
{
    for (int stage = 0; stage < FM_GPU_STAGES; stage++) self->seconds[stage] += batch->seconds[stage];
    if (stack_before + batch->cold > self->deepest) self->deepest = stack_before + batch->cold;
}

/* What was counted after the stack, self->batches.batch, is added to the account. */
static fm_status gpu_account(gpu_engine *self, const fm_engine_results *results, fm_error *error)
{
    const size_t stack_before = self->stack;
    uint64_t found = 0;
    fm_status status = FM_OK;
    fm_gpu_batch *batch = &self->batches.batch;
    self->stack = batch->stack;
    note_batch(self, batch, stack_before);
    if (self->wants_each)
        status = fm_gpu_spill_search(&self->spill, &self->batches, stack_before, &found, error);
    if (status != FM_OK) return status;
    const uint64_t cold = batch->cold - found, known = count_new(self, cold);
    if (!self->cold_known)
        fm_gpu_spill_drop(&self->spill, self->bound > self->stack ? self->bound - self->stack : 0);
    if (self->wants_each) {
        if (known < cold) hide_unknown(batch, known);
        return deliver_each(batch, results, error);
    }
    results->distances->cold += known;
    results->distances->beyond += cold - known;
    return FM_OK;
}

static fm_status gpu_collect(gpu_engine *self, const fm_engine_results *results, fm_error *error)
{
    if (!self->open || !self->batches.uncollected) return FM_OK;
    fm_status status = fm_gpu_batches_collect(&self->batches, error);
    return status == FM_OK ? gpu_account(self, results, error) : status;
}

/* ---- batches ---- */

/* Blocks that the stack should keep. */
static size_t stack_kept(const gpu_engine *self)
{
    return self->cold_known || self->bound > SIZE_MAX ? SIZE_MAX : (size_t)self->bound;
}

/* Whose slot is being filled. */
static fm_gpu_batches *gpu_filling(gpu_engine *self)
{
    return self->cards.turn == 0 ? &self->batches : &self->cards.helpers[self->cards.turn - 1].batches;
}

/* Single distances come back where somebody asks for them, where time distances have one bin each, and where
 * the older blocks are not on the card. */
static bool needs_each(const gpu_engine *self, const fm_engine_results *results)
{
    return results->sink || (self->times && results->distances->bins == FM_BINS_EXACT) || self->outgrown;
}

/* The stack and so many blocks more must fit the card: at most half of what the stack has room for. Nothing
 * may be under way on it, and its slot must be empty. */
static fm_status gpu_enlarge(gpu_engine *self, size_t more, const fm_engine_results *results, fm_error *error)
{
    const fm_gpu_setup *setup = &self->batches.setup;
    fm_status status = FM_OK;
    if (self->stack + more <= setup->stack) return FM_OK;
    if (!self->outgrown && can_grow(self))
        return gpu_reopen(self, setup->stack * 2, self->wants_each, results, error);
    if (!self->outgrown) {
        self->outgrown = true;
        if (!self->wants_each) status = gpu_reopen(self, setup->stack, true, results, error);
        if (status != FM_OK || self->stack + more <= setup->stack) return status;
    }
    status = fm_gpu_spill_add(&self->spill, &self->batches, self->stack, setup->stack / 4, error);
    if (status != FM_OK) return status;
    self->stack = setup->stack / 4;
    note_memory(self);
    return check_limit(self, setup, error);
}

/* What a helper left open, and which blocks are the newest now; see gpu.h. Batches before it were
 * accounted for, and nothing is under way on our own card; its slot is empty, or make_room has seen to it
 * that there is room. */
static fm_status merge_helper(gpu_engine *self, fm_gpu_helper *helper, const fm_engine_results *results,
                              fm_error *error)
{
    if (!helper->batches.uncollected) return FM_OK;
    fm_status status = fm_gpu_helper_collect(helper, error);
    if (status != FM_OK) return status;
    const size_t open = helper->batches.batch.cold;
    note_batch(self, &helper->batches.batch, 0);
    status = gpu_enlarge(self, open, results, error);
    for (size_t done = 0; done < open && status == FM_OK;) {
        const size_t left = open - done, most = self->batches.setup.batch;
        fm_gpu_batch batch = {.count = left < most ? left : most,
                              .keep = stack_kept(self),
                              .distances = self->batches.each.distances,
                              .new_blocks = self->batches.each.new_blocks};
        status =
            fm_gpu_batches_count_now(&self->batches, helper->batches.each.new_blocks + done, &batch, error);
        if (status != FM_OK) break;
        self->batches.batch = batch;
        done += batch.count;
        status = gpu_account(self, results, error);
    }
    if (status != FM_OK) return status;
    const size_t newest = open < self->stack ? open : self->stack;
    return self->module->load_stack(self->batches.card, self->stack - newest, helper->order + (open - newest),
                                    NULL, newest, error);
}

/* All that is under way, in order. */
static fm_status collect_all(gpu_engine *self, const fm_engine_results *results, fm_error *error)
{
    fm_status status = gpu_collect(self, results, error);
    for (size_t i = 0; i < self->cards.count && status == FM_OK; i++)
        status = merge_helper(self, &self->cards.helpers[i], results, error);
    return status;
}

/* What was filled is counted, and the next card's turn begins. */
static fm_status gpu_start(gpu_engine *self, const fm_engine_results *results, fm_error *error)
{
    const size_t turn = self->cards.turn, filled = self->batches.filled;
    self->cards.turn = (turn + 1) % (self->cards.count + 1);
    if (turn > 0) return fm_gpu_helper_start(&self->cards.helpers[turn - 1], error);
    fm_status status = collect_all(self, results, error);
    if (status != FM_OK) return status;
    return fm_gpu_batches_start(&self->batches, self->clock - filled, stack_kept(self), error);
}

/* Nothing is filled or under way afterwards. */
static fm_status gpu_finish(gpu_engine *self, const fm_engine_results *results, fm_error *error)
{
    fm_status status = gpu_filling(self)->filled > 0 ? gpu_start(self, results, error) : FM_OK;
    if (status == FM_OK) status = collect_all(self, results, error);
    self->cards.turn = 0;
    return status;
}

/* Before our own slot is begun: the stack, what is under way and what the slot may bring must fit the card.
 */
static fm_status make_room(gpu_engine *self, const fm_engine_results *results, fm_error *error)
{
    const fm_gpu_setup *setup = &self->batches.setup;
    const uint64_t under_way =
        (self->batches.uncollected ? self->batches.batch.count : 0) + fm_gpu_cards_pending(&self->cards);
    if (self->stack + under_way + setup->batch <= setup->stack) return FM_OK;
    fm_status status = collect_all(self, results, error);
    return status == FM_OK ? gpu_enlarge(self, setup->batch, results, error) : status;
}

static fm_status fetch_all_counts(gpu_engine *self, const fm_engine_results *results, fm_error *error)
{
    fm_status status = fetch_counts(self, &self->batches, results, error);
    for (size_t i = 0; i < self->cards.count && status == FM_OK; i++)
        status = fetch_counts(self, &self->cards.helpers[i].batches, results, error);
    return status;
}

/* From now on single distances are delivered, by one card. There is no way back: nobody would notice. Nothing
 * may be filled or under way. */
static fm_status leave_helpers(gpu_engine *self, const fm_engine_results *results, fm_error *error)
{
    if (self->cards.count == 0) return FM_OK;
    fm_status status = fetch_all_counts(self, results, error);
    fm_gpu_cards_close(&self->cards);
    return status;
}

/* Before our own slot is begun: once so many batches have come that more probably will, other cards join. */
static void call_helpers(gpu_engine *self)
{
    if (self->alone++ != fm_gpu_first_sizes.alone || self->most_helpers == 0) return;
    if (self->wants_each || self->times || self->max_memory) return;
    fm_gpu_cards_open(&self->cards, self->module, &self->pieces, &self->batches.setup, self->devices,
                      self->most_helpers);
    note_memory(self);
}

/* Our own slot is begun. */
static fm_status gpu_begin(gpu_engine *self, const fm_engine_results *results, fm_error *error)
{
    fm_status status = make_room(self, results, error);
    if (status == FM_OK && self->wants_each) status = leave_helpers(self, results, error);
    if (status == FM_OK) call_helpers(self);
    return status;
}

/* Where single distances are asked for from now on. */
static fm_status tell_each(gpu_engine *self, const fm_engine_results *results, fm_error *error)
{
    fm_status status = gpu_finish(self, results, error);
    if (status == FM_OK) status = leave_helpers(self, results, error);
    if (status == FM_OK && !self->wants_each)
        status = gpu_reopen(self, self->batches.setup.stack, true, results, error);
    return status;
}

/* Whatever is asked for from now on, the card is open for it. */
static fm_status prepare_card(gpu_engine *self, const fm_engine_results *results, fm_error *error)
{
    if (!self->open)
        return open_card(self, fm_gpu_first_sizes.stack, needs_each(self, results), results, error);
    return !self->wants_each && needs_each(self, results) ? tell_each(self, results, error) : FM_OK;
}

/* References into slots; how, the caller's function says: those from number `from` on. */
typedef fm_status (*put_function)(fm_gpu_batches *batches, const void *what, size_t from, size_t count,
                                  fm_error *error);

static fm_status gpu_take(gpu_engine *self, put_function put, const void *what, size_t count, size_t *done,
                          const fm_engine_results *results, fm_error *error)
{
    fm_status status = FM_OK;
    for (*done = 0; *done < count && status == FM_OK;) {
        if (self->cards.turn == 0 && self->batches.filled == 0) status = gpu_begin(self, results, error);
        if (status != FM_OK) break;
        fm_gpu_batches *batches = gpu_filling(self);
        const size_t room = batches->setup.batch - batches->filled;
        const size_t left = count - *done, some = left < room ? left : room;
        status = put(batches, what, *done, some, error);
        self->clock += some;
        *done += some;
        if (status == FM_OK && some == room) status = gpu_start(self, results, error);
    }
    return status;
}

static fm_status put_blocks(fm_gpu_batches *batches, const void *what, size_t from, size_t count,
                            fm_error *error)
{
    return fm_gpu_batches_put(batches, (const uint64_t *)what + from, count, error);
}

static fm_status gpu_count(fm_engine *engine, const fm_references *references,
                           const fm_engine_results *results, size_t *done, fm_error *error)
{
    gpu_engine *self = (gpu_engine *)engine;
    *done = 0;
    fm_status status = prepare_card(self, results, error);
    if (status != FM_OK) return status;
    return gpu_take(self, put_blocks, references->blocks, references->count, done, results, error);
}

/* ---- what threads fetch for themselves ---- */

typedef struct placing {
    gpu_engine *self;
    const fm_engine_results *results;
} placing;

static fm_status put_piece(fm_gpu_batches *batches, const void *what, size_t from, size_t count,
                           fm_error *error)
{
    return fm_gpu_batches_put_piece(batches, *(const unsigned *)what, from, count, error);
}

static fm_status gpu_place(void *context, unsigned piece, size_t count, fm_error *error)
{
    const placing *place = context;
    size_t done;
    return gpu_take(place->self, put_piece, &piece, count, &done, place->results, error);
}

static fm_status gpu_draw(fm_engine *engine, const fm_block_supply *supply, const fm_engine_results *results,
                          fm_error *error)
{
    gpu_engine *self = (gpu_engine *)engine;
    placing context = {.self = self, .results = results};
    uint64_t repeats = 0;
    fm_status status = prepare_card(self, results, error);
    if (status == FM_OK) status = fm_gpu_batches_send(gpu_filling(self), error);
    const fm_gpu_drawing drawing = {.supply = supply,
                                    .pieces = &self->pieces,
                                    .threads = self->threads,
                                    .place = gpu_place,
                                    .context = &context};
    if (status == FM_OK) status = fm_gpu_draw(&drawing, &repeats, error);
    if (status == FM_OK) status = fm_tally_reserve(results->distances, 1, error);
    if (status == FM_OK) fm_tally_add_many(results->distances, 0, repeats);
    return status;
}

static fm_status gpu_catch_up(fm_engine *engine, const fm_engine_results *results, fm_error *error)
{
    gpu_engine *self = (gpu_engine *)engine;
    if (!self->open) return FM_OK;
    fm_status status = gpu_finish(self, results, error);
    return status == FM_OK ? fetch_all_counts(self, results, error) : status;
}

/* ---- the engine ---- */

static void gpu_destroy(fm_engine *engine)
{
    gpu_engine *self = (gpu_engine *)engine;
    if (!self) return;
    if (self->open) fm_gpu_batches_close(&self->batches);
    fm_gpu_cards_close(&self->cards);
    fm_gpu_pieces_close(&self->pieces);
    fm_gpu_spill_clear(&self->spill);
    free(self);
}

enum { CARD, CARDS };
static const fm_engine_option gpu_options[] = {
    [CARD] = {"card", FM_OPTION_COUNT, .most = UINT32_MAX, .usual = "0",
              .meaning = "which graphics card, from 0 on; modulo how many there are"},
    /* For time distances, for distances in order and under max_memory one counts. */
    [CARDS] = {"cards", FM_OPTION_COUNT, .most = UINT32_MAX, .usual = "1",
               .meaning = "how many share the counting (0: all, as analyze does for one granularity)"},
    {0},
};

static fm_status gpu_create(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    *engine = NULL;
    const fm_gpu_module *module;
    unsigned cards;
    fm_status status = fm_gpu_find(&module, &cards, error);
    if (status != FM_OK) return status;
    gpu_engine *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the gpu engine");
    self->module = module;
    self->device = (unsigned)fm_own_count(options->own, gpu_options, CARD) % cards;
    self->devices = cards;
    self->most_helpers = (unsigned)fm_own_count(options->own, gpu_options, CARDS) - 1; /* of 0: all */
    self->bound = options->bound;
    self->max_memory = options->max_memory;
    self->threads = options->threads ? options->threads : 1;
    self->seen_limit = fm_seen_limit;
    self->times = self->spill.times = options->time_distances;
    self->clock = options->first_time;
    self->cold_known = true;
    note_memory(self);
    *engine = (fm_engine *)self;
    return FM_OK;
}

static uint64_t gpu_distinct(const fm_engine *engine)
{
    return ((const gpu_engine *)engine)->distinct;
}

static fm_status gpu_describe(const fm_engine *engine, fm_profile *profile, fm_error *error)
{
    (void)error;
    static const char *const names[FM_GPU_STAGES] = {"upload", "keys",   "sort",  "link",
                                                     "split",  "finish", "stack", "deliver"};
    const gpu_engine *self = (const gpu_engine *)engine;
    profile->stage_count = FM_GPU_STAGES;
    for (size_t stage = 0; stage < FM_GPU_STAGES; stage++)
        profile->stages[stage] = (fm_stage){.name = names[stage], .seconds = self->seconds[stage]};
    return FM_OK;
}

static bool gpu_cold_known(const fm_engine *engine)
{
    return ((const gpu_engine *)engine)->cold_known;
}

const fm_engine_ops fm_engine_gpu = {
    .info = {.name = "gpu",
             .summary = "exact, on an NVIDIA graphics card: for traces of many millions of references",
             .exact = true,
             .on_card = true,
             .no_sites = true},
    .own = gpu_options,
    .create = gpu_create,
    .destroy = gpu_destroy,
    .batched = true,
    .count = gpu_count,
    .spared_repeats = true,
    .catch_up = gpu_catch_up,
    .draw = gpu_draw,
    .describe = gpu_describe,
    .distinct = gpu_distinct,
    .cold_known = gpu_cold_known,
    .memory = gpu_memory,
    .memory_peak = gpu_memory_peak,
};
