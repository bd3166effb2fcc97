/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aet.c - the engine `aet`: counts reuse times (time distances), from which the distances follow by a model
 * (fm_profile_from_times, src/profile/histogram.c). A hash lookup a reference is all it takes.
 *
 * Reuse times count all references, also where only a sample of the blocks is in the table (rate): nothing
 * has to be scaled but the counts.
 *
 * Time: a lookup for references to sampled blocks. Space: 27 to 40 bytes a sampled block.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "engine/engine_tables.h"
#include "engine/sampled/sampled.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CHUNK = 256 };

struct fm_engine {
    fm_block_table table; /* the time of a sampled block's last reference, plus 1 */
    fm_tally times;       /* of sampled references */
    uint64_t threshold;   /* of the upper 32 bits of hashes: as in sampled.h */
    uint64_t clock;       /* all references */
    uint64_t max_memory, memory_peak;
    uint64_t keys[CHUNK], when[CHUNK]; /* the sampled references of a chunk */
    fm_bucket *homes[CHUNK];
};

static uint64_t aet_memory(const fm_engine *self)
{
    return sizeof *self + fm_block_table_memory(&self->table) + fm_tally_memory(&self->times);
}

static uint64_t aet_memory_peak(const fm_engine *self)
{
    return self->memory_peak;
}

static fm_status check_limit(fm_engine *self, uint64_t bytes, fm_error *error)
{
    if (self->max_memory && bytes > self->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the memory limit of %" PRIu64 " bytes cannot be kept: %" PRIu64
                       " blocks are in the table and %" PRIu64 " bytes are needed to go on",
                       self->max_memory, self->table.used, bytes);
    if (bytes > self->memory_peak) self->memory_peak = bytes;
    return FM_OK;
}

static fm_status make_room(fm_engine *self, fm_error *error)
{
    if (fm_block_table_has_room(&self->table, CHUNK)) return FM_OK;
    const uint64_t beside = aet_memory(self) - fm_block_table_memory(&self->table);
    fm_status status = check_limit(self, beside + fm_block_table_memory_grown(&self->table, CHUNK), error);
    return status == FM_OK ? fm_block_table_grow(&self->table, CHUNK, error) : status;
}

/* Those of the chunk that are in the sample go to keys and when; returns how many. */
static size_t aet_choose(fm_engine *self, const uint64_t *blocks, size_t count)
{
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        self->keys[chosen] = blocks[i];
        self->when[chosen] = self->clock + i + 1;
        chosen += fm_block_sample_common(blocks[i]) >> 32 < self->threshold;
    }
    return chosen;
}

static fm_status aet_count(fm_engine *self, const fm_references *references, const fm_engine_results *results,
                           size_t *done, fm_error *error)
{
    (void)results; /* the histogram of distances is known at the end only */
    for (*done = 0; *done < references->count;) {
        const size_t left = references->count - *done, part = left < CHUNK ? left : CHUNK;
        fm_status status = make_room(self, error);
        if (status != FM_OK) return status;
        const size_t chosen = aet_choose(self, references->blocks + *done, part);
        for (size_t i = 0; i < chosen; i++) {
            self->homes[i] = fm_block_home(&self->table, self->keys[i]);
            __builtin_prefetch(self->homes[i], 1, 3);
        }
        for (size_t i = 0; i < chosen; i++) {
            const uint64_t last =
                fm_block_table_exchange(&self->table, self->homes[i], self->keys[i], self->when[i]);
            if (last)
                fm_tally_add_many(&self->times, self->when[i] - last, 1);
            else
                self->times.cold++;
        }
        self->clock += part;
        *done += part;
    }
    return FM_OK;
}

static void aet_destroy(fm_engine *self)
{
    if (!self) return;
    fm_block_table_clear(&self->table);
    fm_tally_clear(&self->times);
    free(self);
}

enum { RATE };
static const fm_engine_option aet_options[] = {
    [RATE] = {"rate", FM_OPTION_SHARE, .usual = "1", .meaning = "share of the blocks that is looked at"},
    {0},
};

static fm_status aet_create(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    const double rate = fm_own_real(options->own, aet_options, RATE);
    *engine = NULL;
    fm_engine *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the engine");
    self->max_memory = options->max_memory;
    self->threshold = rate >= 1 ? UINT64_C(1) << 32 : (uint64_t)(rate * 0x1p32);
    if (self->threshold == 0) self->threshold = 1;
    fm_status status = fm_block_table_create(&self->table, options->seed, false, error);
    if (status == FM_OK) status = fm_tally_create(&self->times, FM_BINS_LOGLINEAR, error);
    if (status == FM_OK) status = check_limit(self, aet_memory(self), error);
    if (status != FM_OK) {
        aet_destroy(self);
        return status;
    }
    *engine = self;
    return FM_OK;
}

static fm_status aet_describe(const fm_engine *self, fm_profile *profile, fm_error *error)
{
    fm_histogram times;
    fm_status status = fm_tally_histogram(&self->times, 0, &times, error);
    if (status != FM_OK) return status;
    status = fm_profile_from_times(profile, &times, self->times.cold, self->clock, error);
    free(times.bins);
    if (status != FM_OK) return status;
    const double rate = (double)self->threshold * 0x1p-32;
    char sample[80] = "";
    if (rate < 1) snprintf(sample, sizeof sample, ", those of %.3g %% of the blocks", rate * 100);
    status = fm_accuracy_create(
        &profile->accuracy, error,
        "distances follow from reuse times%s by a model (average eviction time): no error is promised",
        sample);
    if (status != FM_OK) return status;
    if (rate < 1) profile->accuracy->rate = rate;
    if (rate < 1) profile->accuracy->samples = self->table.used;
    return FM_OK;
}

static uint64_t aet_distinct(const fm_engine *self)
{
    return self->table.used;
}

static bool aet_cold_known(const fm_engine *self)
{
    (void)self;
    return true;
}

const fm_engine_ops fm_engine_aet = {
    .info = {.name = "aet",
             .summary = "average eviction time: distances by a model from reuse times",
             .unbounded = true,
             .histogram_only = true},
    .own = aet_options,
    .create = aet_create,
    .destroy = aet_destroy,
    .count = aet_count,
    .distinct = aet_distinct,
    .cold_known = aet_cold_known,
    .describe = aet_describe,
    .memory = aet_memory,
    .memory_peak = aet_memory_peak,
};
