/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hp_rda.c - the engines hp-rda and hp-rda-gpu: HP-RDA (hp_rda.h) on CPU threads and on a graphics card.
 *
 * This file does what is not parallel: it removes references that repeat the one before them, whose distance
 * is 0 (section III-A.1), gathers traces of N references, and carries blocks from one trace to the next
 * (hp_rda.h).
 *
 * Time O(n (ST / 64 + chain)) on the CPU for n references and thread-level traces of ST; space some 100 bytes
 * for each reference of a trace, and 24 to 48 for each block.
 */
#include "engine/hp_rda/hp_rda.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "engine/gpu/gpu.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * ==== carry ====
 *
 * A hash table by open addressing, at most half full.
 */

static void carry_clear(fm_hp_rda_carry *carry)
{
    fm_pages_free(carry->entries, carry->room * sizeof *carry->entries);
    carry->entries = NULL;
    carry->room = carry->count = 0;
}

static uint64_t carry_memory(const fm_hp_rda_carry *carry)
{
    return carry->room * sizeof *carry->entries;
}

static struct carried *carry_find(struct carried *entries, size_t room, uint64_t seed, uint64_t block)
{
    uint64_t hash = (block ^ seed) * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ hash >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    size_t place = (size_t)(hash >> 20) & (room - 1);
    while (entries[place].used && entries[place].block != block) place = (place + 1) & (room - 1);
    return &entries[place];
}

static fm_status carry_reserve(fm_hp_rda_carry *carry, size_t more, fm_error *error)
{
    size_t room = carry->room ? carry->room : 1024;
    while (room / 2 < carry->count + more) room *= 2;
    if (room == carry->room) return FM_OK;
    struct carried *grown = fm_pages_allocate(room * sizeof *grown);
    if (!grown) return fm_fail_memory(error, room * sizeof *grown, "the blocks of earlier traces");
    for (size_t i = 0; i < carry->room; i++)
        if (carry->entries[i].used)
            *carry_find(grown, room, carry->seed, carry->entries[i].block) = carry->entries[i];
    fm_pages_free(carry->entries, carry->room * sizeof *grown);
    carry->entries = grown;
    carry->room = room;
    return FM_OK;
}

/*
 * The next trace: distances[i] becomes the distance between the last reference to uses[i].block in an earlier
 * trace and the first one in this, or FM_COLD. On failure nothing has changed.
 */
static fm_status carry_next(fm_hp_rda_carry *carry, const fm_hp_rda_use *uses, uint32_t count, bool adjust,
                            uint64_t *distances, fm_error *error)
{
    fm_status status = carry_reserve(carry, count, error);
    if (status != FM_OK) return status;
    const uint64_t sum = carry->sum + count;
    for (uint32_t i = 0; i < count; i++) {
        struct carried *entry = carry_find(carry->entries, carry->room, carry->seed, uses[i].block);
        distances[i] = entry->used ? entry->after + carry->sum + uses[i].first : FM_COLD;
        if (!entry->used) carry->count++;
        *entry = (struct carried){.block = uses[i].block, .after = uses[i].latest - sum, .used = true};
    }
    carry->sum = sum;
    if (!adjust) return FM_OK;
    for (uint32_t i = 0; i < count; i++)
        if (distances[i] != FM_COLD) distances[i] = fm_hp_rda_adjust(distances[i], carry->count, sum);
    return FM_OK;
}

/* The usual values are the paper's choices (section V-E). On CPU threads all but the first. */
static const fm_engine_option on_card_options[] = {
    {"card", FM_OPTION_COUNT, .most = UINT32_MAX, .usual = "0",
     .meaning = "which graphics card, from 0 on; modulo how many there are"},
    {"trace-size", FM_OPTION_COUNT, .least = 1, .most = FM_HP_RDA_MOST, .usual = "64M",
     .meaning = "references analysed at a time"},
    {"thread-trace-size", FM_OPTION_COUNT, .least = 1, .most = FM_HP_RDA_MOST, .usual = "2048",
     .meaning = "of which one thread analyses so many"},
    {"hash-size", FM_OPTION_COUNT, .least = 1, .most = FM_HP_RDA_MOST,
     .meaning = "entries of the hash table (default: twice trace-size)"},
    {"pool-size", FM_OPTION_COUNT, .least = 1, .most = FM_HP_RDA_MOST,
     .meaning = "elements of each memory pool (default: trace-size)"},
    {"disable-adjusting", FM_OPTION_FLAG, .usual = "no",
     .meaning = "without the final adjustment of distances"},
    {0},
};
static const fm_engine_option *const shape_options = on_card_options + 1;
enum { TRACE, THREAD_TRACE, HASH, POOL, DISABLE_ADJUSTING };

typedef struct hp_rda_engine {
    const fm_gpu_module *module; /* NULL: on CPU threads */
    unsigned device;             /* of the module's */
    unsigned threads;
    fm_hp_rda_shape shape;
    uint64_t max_memory, memory_peak;
    /* Whoever does the work, once there is some. */
    fm_hp_rda_cpu *cpu;
    fm_gpu_hp_rda *card;
    /* The trace being gathered. */
    uint64_t *trace;
    size_t count, room;
    uint64_t last; /* the reference before; only where any was taken */
    bool begun;
    uint64_t repeats; /* not counted yet */
    fm_hp_rda_carry carry;
    double seconds[FM_HP_RDA_STAGES];
} hp_rda_engine;

/* ---- memory ---- */

static uint64_t hp_rda_held(const hp_rda_engine *self)
{
    return sizeof *self + self->room * sizeof *self->trace + carry_memory(&self->carry);
}

static fm_status check_limit(hp_rda_engine *self, uint64_t more, fm_error *error)
{
    const uint64_t needed = hp_rda_held(self) + more;
    if (self->max_memory && needed > self->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "hp-rda needs %" PRIu64 " bytes for a trace of %zu references, the limit is %" PRIu64,
                       needed, self->count, self->max_memory);
    if (needed > self->memory_peak) self->memory_peak = needed;
    return FM_OK;
}

static fm_status make_room(hp_rda_engine *self, fm_error *error)
{
    if (self->count < self->room) return FM_OK;
    size_t room = self->room ? self->room * 2 : 4096;
    if (room > self->shape.trace) room = self->shape.trace;
    fm_status status = check_limit(self, (room - self->room) * sizeof *self->trace, error);
    if (status != FM_OK) return status;
    uint64_t *grown = self->trace
                          ? fm_pages_resize(self->trace, self->room * sizeof *grown, room * sizeof *grown)
                          : fm_pages_allocate(room * sizeof *grown);
    if (!grown) return fm_fail_memory(error, room * sizeof *grown, "a trace of hp-rda");
    self->trace = grown;
    self->room = room;
    return FM_OK;
}

/* ---- one trace ---- */

static fm_status open_worker(hp_rda_engine *self, fm_bins bins, fm_error *error)
{
    self->shape.bins = bins;
    if (self->module && !self->card)
        return self->module->hp_rda_open(&self->card, self->device, &self->shape, error);
    if (!self->module && !self->cpu)
        return fm_hp_rda_cpu_open(&self->cpu, self->threads, &self->shape, error);
    return FM_OK;
}

/* Distances that cross from earlier traces, and first touches. */
static fm_status count_crossing(hp_rda_engine *self, const fm_hp_rda_trace *result, uint64_t *distances,
                                fm_tally *tally, fm_error *error)
{
    fm_status status =
        carry_next(&self->carry, result->uses, result->distinct, self->shape.adjust, distances, error);
    return status == FM_OK ? fm_tally_add(tally, distances, result->distinct, error) : status;
}

static fm_status work_off(hp_rda_engine *self, const fm_engine_results *results, fm_hp_rda_use *uses,
                          uint64_t *distances, fm_error *error)
{
    fm_tally *tally = results->distances;
    fm_status status = open_worker(self, tally->bins, error);
    if (status == FM_OK) status = fm_tally_reserve(tally, (uint64_t)self->count + 1, error);
    if (status != FM_OK) return status;
    fm_hp_rda_trace result = {.counts = tally->counts, .uses = uses};
    if (self->module)
        status = self->module->hp_rda_analyze(self->card, self->trace, self->count, &result, error);
    else
        status = fm_hp_rda_cpu_analyze(self->cpu, self->trace, self->count, &result, error);
    if (status != FM_OK) return status;
    tally->total += result.total;
    for (int stage = 0; stage < FM_HP_RDA_STAGES; stage++) self->seconds[stage] += result.seconds[stage];
    return count_crossing(self, &result, distances, tally, error);
}

static fm_status hp_rda_run(hp_rda_engine *self, const fm_engine_results *results, fm_error *error)
{
    if (self->count == 0) return FM_OK;
    const size_t uses_bytes = self->count * sizeof(fm_hp_rda_use),
                 distance_bytes = self->count * sizeof(uint64_t);
    const uint64_t worker = self->module ? 0 : fm_hp_rda_cpu_memory(&self->shape, self->count);
    fm_status status = check_limit(self, worker + uses_bytes + distance_bytes, error);
    if (status != FM_OK) return status;
    fm_hp_rda_use *uses = fm_pages_allocate(uses_bytes);
    uint64_t *distances = fm_pages_allocate(distance_bytes);
    if (uses && distances)
        status = work_off(self, results, uses, distances, error);
    else
        status = fm_fail_memory(error, uses_bytes + distance_bytes, "hp-rda's results");
    fm_pages_free(uses, uses_bytes);
    fm_pages_free(distances, distance_bytes);
    self->count = 0;
    if (status == FM_OK) status = check_limit(self, 0, error);
    return status;
}

/* ---- the engine ---- */

static fm_status hp_rda_count(fm_engine *engine, const fm_references *references,
                              const fm_engine_results *results, size_t *done, fm_error *error)
{
    hp_rda_engine *self = (hp_rda_engine *)engine;
    const uint64_t *const blocks = references->blocks;
    *done = references->count;
    for (size_t i = 0; i < references->count; i++) {
        if (self->begun && blocks[i] == self->last) {
            self->repeats++;
            continue;
        }
        fm_status status = make_room(self, error);
        if (status != FM_OK) return status;
        self->trace[self->count++] = self->last = blocks[i];
        self->begun = true;
        if (self->count == self->shape.trace) status = hp_rda_run(self, results, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

static fm_status hp_rda_catch_up(fm_engine *engine, const fm_engine_results *results, fm_error *error)
{
    hp_rda_engine *self = (hp_rda_engine *)engine;
    fm_tally_add_many(results->distances, 0, self->repeats);
    self->repeats = 0;
    return hp_rda_run(self, results, error);
}

static void hp_rda_destroy(fm_engine *engine)
{
    hp_rda_engine *self = (hp_rda_engine *)engine;
    if (!self) return;
    fm_hp_rda_cpu_close(self->cpu);
    if (self->card) self->module->hp_rda_close(self->card);
    fm_pages_free(self->trace, self->room * sizeof *self->trace);
    carry_clear(&self->carry);
    free(self);
}

static void choose_shape(fm_hp_rda_shape *shape, const fm_option_value *own)
{
    shape->adjust = !own[DISABLE_ADJUSTING].count;
    shape->trace = (uint32_t)fm_own_count(own, shape_options, TRACE);
    shape->thread_trace = (uint32_t)fm_own_count(own, shape_options, THREAD_TRACE);
    /* Whole thread blocks: the usual pools have an element for each reference. */
    if (shape->thread_trace > shape->trace) shape->thread_trace = shape->trace;
    const uint64_t block_trace = (uint64_t)shape->thread_trace * FM_HP_RDA_THREADS;
    const uint64_t whole = (shape->trace + block_trace - 1) / block_trace * block_trace;
    const uint64_t pool = block_trace > shape->trace ? shape->trace
                          : whole < FM_HP_RDA_MOST   ? whole
                                                     : FM_HP_RDA_MOST;
    const uint64_t hash = pool < FM_HP_RDA_MOST / 2 ? 2 * pool : pool;
    shape->pool = (uint32_t)(own[POOL].given ? own[POOL].count : pool);
    shape->hash = (uint32_t)(own[HASH].given ? own[HASH].count : hash);
}

static fm_status hp_rda_make(fm_engine **engine, const fm_engine_options *options, const fm_option_value *own,
                             const fm_gpu_module *module, unsigned device, fm_error *error)
{
    *engine = NULL;
    hp_rda_engine *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "hp-rda");
    choose_shape(&self->shape, own);
    self->module = module;
    self->device = device;
    self->threads = options->threads ? options->threads : 1;
    self->max_memory = options->max_memory;
    self->memory_peak = sizeof *self;
    self->carry.seed = options->seed;
    *engine = (fm_engine *)self;
    return FM_OK;
}

static fm_status create_on_cpu(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    return hp_rda_make(engine, options, options->own, NULL, 0, error);
}

static fm_status create_on_card(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    const fm_gpu_module *module;
    unsigned cards;
    *engine = NULL;
    fm_status status = fm_gpu_find(&module, &cards, error);
    if (status != FM_OK) return status;
    const unsigned card = (unsigned)fm_own_count(options->own, on_card_options, 0);
    return hp_rda_make(engine, options, options->own + 1, module, card % cards, error);
}

static uint64_t hp_rda_distinct(const fm_engine *engine)
{
    return ((const hp_rda_engine *)engine)->carry.count;
}

static bool hp_rda_cold_known(const fm_engine *engine)
{
    (void)engine;
    return true;
}

static fm_status hp_rda_describe(const fm_engine *engine, fm_profile *profile, fm_error *error)
{
    (void)error;
    static const char *const names[FM_HP_RDA_STAGES] = {"thread-level analysis", "merging threads",
                                                        "merging blocks", "adjusting"};
    const hp_rda_engine *self = (const hp_rda_engine *)engine;
    profile->stage_count = FM_HP_RDA_STAGES;
    for (size_t stage = 0; stage < FM_HP_RDA_STAGES; stage++)
        profile->stages[stage] = (fm_stage){.name = names[stage], .seconds = self->seconds[stage]};
    return FM_OK;
}

static uint64_t hp_rda_memory(const fm_engine *engine)
{
    return hp_rda_held((const hp_rda_engine *)engine);
}

static uint64_t hp_rda_memory_peak(const fm_engine *engine)
{
    return ((const hp_rda_engine *)engine)->memory_peak;
}

const fm_engine_ops fm_engine_hp_rda = {
    .info = {.name = "hp-rda",
             .summary = "approximate: HP-RDA, cut among many threads and merged",
             .unbounded = true,
             .histogram_only = true,
             .no_sites = true},
    .own = on_card_options + 1,
    .create = create_on_cpu,
    .destroy = hp_rda_destroy,
    .batched = true,
    .count = hp_rda_count,
    .catch_up = hp_rda_catch_up,
    .describe = hp_rda_describe,
    .distinct = hp_rda_distinct,
    .cold_known = hp_rda_cold_known,
    .memory = hp_rda_memory,
    .memory_peak = hp_rda_memory_peak,
};

const fm_engine_ops fm_engine_hp_rda_gpu = {
    .info = {.name = "hp-rda-gpu",
             .summary = "approximate: HP-RDA on an NVIDIA graphics card",
             .unbounded = true,
             .histogram_only = true,
             .on_card = true,
             .no_sites = true},
    .own = on_card_options,
    .create = create_on_card,
    .destroy = hp_rda_destroy,
    .batched = true,
    .count = hp_rda_count,
    .catch_up = hp_rda_catch_up,
    .describe = hp_rda_describe,
    .distinct = hp_rda_distinct,
    .cold_known = hp_rda_cold_known,
    .memory = hp_rda_memory,
    .memory_peak = hp_rda_memory_peak,
};
