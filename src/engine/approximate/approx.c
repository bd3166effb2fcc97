/* SPDX-License-Identifier: Apache-2.0 */
/*
 * approx.c - the engine `approx`: every distance too small by a guaranteed share, or by a guaranteed number
 * of blocks, at most (merged_stack.h says how, and which paper's sections it follows).
 *
 * A hash table (engine_tables.h) holds when a block was used last, the merged stack how many blocks that is
 * ago. References pass through in chunks, so that the table's buckets are fetched together.
 *
 * Time: a lookup and O(log log M) with a relative error, O(log(C + M/B)) with an absolute one. Space: 27 to
 * 40 bytes a block for the table; the stack's share is O(log M), or O(C + M/B).
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/approximate/merged_stack.h"
#include "engine/engine.h"
#include "engine/engine_tables.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CHUNK = 256 };

struct fm_engine {
    fm_block_table table; /* the time of a block's last reference, plus 1 */
    fm_merged_stack stack;
    uint64_t max_memory, memory_peak;
    fm_bucket *homes[CHUNK];
};

static uint64_t approx_memory(const fm_engine *self)
{
    return sizeof *self + fm_block_table_memory(&self->table) + fm_merged_stack_memory(&self->stack);
}

static uint64_t approx_memory_peak(const fm_engine *self)
{
    return self->memory_peak;
}

static fm_status check_limit(fm_engine *self, uint64_t bytes, fm_error *error)
{
    if (self->max_memory && bytes > self->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the memory limit of %" PRIu64 " bytes cannot be kept: %" PRIu64
                       " blocks are live and %" PRIu64 " bytes are needed to go on",
                       self->max_memory, self->table.used, bytes);
    if (bytes > self->memory_peak) self->memory_peak = bytes;
    return FM_OK;
}

/* Room for a chunk: afterwards nothing can fail. */
static fm_status make_room(fm_engine *self, fm_error *error)
{
    fm_status status = FM_OK;
    const uint64_t now = approx_memory(self);
    if (!fm_block_table_has_room(&self->table, CHUNK)) {
        const uint64_t table = fm_block_table_memory(&self->table);
        status = check_limit(self, now - table + fm_block_table_memory_grown(&self->table, CHUNK), error);
        if (status == FM_OK) status = fm_block_table_grow(&self->table, CHUNK, error);
    }
    if (status == FM_OK && !fm_merged_stack_has_room(&self->stack, CHUNK)) {
        const uint64_t beside = approx_memory(self) - fm_merged_stack_memory(&self->stack);
        status = check_limit(self, beside + fm_merged_stack_memory_growing(&self->stack, CHUNK), error);
        if (status == FM_OK) status = fm_merged_stack_reserve(&self->stack, CHUNK, error);
    }
    return status;
}

static void feed_chunk(fm_engine *self, const uint64_t *blocks, size_t count, uint64_t *distances,
                       uint64_t *times)
{
    fm_merged_stack *stack = &self->stack;
    for (size_t i = 0; i < count; i++) {
        self->homes[i] = fm_block_home(&self->table, blocks[i]);
        __builtin_prefetch(self->homes[i], 1, 3);
    }
    /* First, what was there before the reference: its distance depends on that. */
    for (size_t i = 0; i < count; i++)
        distances[i] = fm_block_table_exchange(&self->table, self->homes[i], blocks[i], stack->clock + i + 1);
    for (size_t i = 0; i < count; i++) {
        const uint64_t last = distances[i]; /* plus 1; 0: none */
        if (times) times[i] = last ? stack->clock + 1 - last : FM_COLD;
        if (last) {
            distances[i] = fm_merged_stack_reuse(stack, last - 1);
        } else {
            distances[i] = FM_COLD;
            fm_merged_stack_first(stack);
        }
    }
}

static fm_status approx_feed(fm_engine *self, const fm_references *references,
                             const fm_engine_results *results, size_t *done, fm_error *error)
{
    *done = 0;
    while (*done < references->count) {
        const size_t left = references->count - *done, part = left < CHUNK ? left : CHUNK;
        fm_status status = make_room(self, error);
        if (status != FM_OK) return status;
        feed_chunk(self, references->blocks + *done, part, results->each_distance + *done,
                   results->each_time ? results->each_time + *done : NULL);
        *done += part;
    }
    return FM_OK;
}

static void approx_destroy(fm_engine *self)
{
    if (!self) return;
    fm_block_table_clear(&self->table);
    fm_merged_stack_clear(&self->stack);
    free(self);
}

enum { ERROR, ABSOLUTE_ERROR, CUTOFF };
static const fm_engine_option approx_options[] = {
    [ERROR] = {"error", FM_OPTION_OPEN_SHARE, .usual = "0.01",
               .meaning = "every distance d is reported as d (1 - error) to d"},
    [ABSOLUTE_ERROR] = {"abs-error", FM_OPTION_COUNT, .least = 1, .most = UINT64_MAX, .excludes = "error",
                        .meaning = "instead: every distance d is reported as d - abs-error to d"},
    [CUTOFF] = {"cutoff", FM_OPTION_COUNT, .most = UINT64_MAX, .usual = "0", .needs = "abs-error",
                .meaning = "distances below so many blocks are exact"},
    {0},
};

/* The rule asked for; a relative error by default. */
static fm_merge_rule choose_rule(const fm_option_value *own)
{
    if (own[ABSOLUTE_ERROR].given)
        return (fm_merge_rule){.absolute_error = own[ABSOLUTE_ERROR].count,
                               .cutoff = fm_own_count(own, approx_options, CUTOFF)};
    return (fm_merge_rule){.relative_error = fm_own_real(own, approx_options, ERROR)};
}

static fm_status approx_create(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    const fm_merge_rule rule = choose_rule(options->own);
    *engine = NULL;
    fm_engine *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the engine");
    self->max_memory = options->max_memory;
    fm_merged_stack_start(&self->stack, &rule);
    fm_status status = fm_block_table_create(&self->table, options->seed, false, error);
    if (status == FM_OK) status = check_limit(self, approx_memory(self), error);
    if (status == FM_OK) status = make_room(self, error);
    if (status != FM_OK) {
        approx_destroy(self);
        return status;
    }
    *engine = self;
    return FM_OK;
}

static fm_status approx_describe(const fm_engine *self, fm_profile *profile, fm_error *error)
{
    const fm_merge_rule *rule = &self->stack.rule;
    fm_status status;
    if (rule->relative_error > 0)
        status = fm_accuracy_create(&profile->accuracy, error,
                                    "every distance is at most the actual one, and less by at most %g %%",
                                    rule->relative_error * 100);
    else if (rule->cutoff > 0)
        status = fm_accuracy_create(&profile->accuracy, error,
                                    "every distance is at most the actual one, and less by at most %" PRIu64
                                    " blocks; below %" PRIu64 " blocks it is exact",
                                    rule->absolute_error, rule->cutoff);
    else
        status = fm_accuracy_create(&profile->accuracy, error,
                                    "every distance is at most the actual one, and less by at most %" PRIu64
                                    " blocks",
                                    rule->absolute_error);
    if (status != FM_OK) return status;
    profile->accuracy->relative_error = rule->relative_error;
    profile->accuracy->absolute_error = rule->absolute_error;
    profile->accuracy->exact_below = rule->cutoff;
    return FM_OK;
}

static uint64_t approx_distinct(const fm_engine *self)
{
    return self->table.used;
}

static bool approx_cold_known(const fm_engine *self)
{
    (void)self;
    return true;
}

const fm_engine_ops fm_engine_approx = {
    .info = {.name = "approx",
             .summary = "Ding & Zhong's merged stack: every distance within a guaranteed error",
             .unbounded = true},
    .own = approx_options,
    .create = approx_create,
    .destroy = approx_destroy,
    .feed = approx_feed,
    .distinct = approx_distinct,
    .cold_known = approx_cold_known,
    .describe = approx_describe,
    .memory = approx_memory,
    .memory_peak = approx_memory_peak,
};
