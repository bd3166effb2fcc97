/* SPDX-License-Identifier: Apache-2.0 */
/* engine_calls.h - blocks into an engine: its feed, with arrays for what it finds, and its count. */
#ifndef FATHOM_TESTS_ENGINE_CALLS_H
#define FATHOM_TESTS_ENGINE_CALLS_H

#include "engine/engine.h"

static inline fm_status feed_blocks(const fm_engine_ops *ops, fm_engine *engine, const uint64_t *blocks,
                                    size_t count, uint64_t *distances, uint64_t *times, size_t *done,
                                    fm_error *error)
{
    return ops->feed(engine, &(fm_references){.count = count, .blocks = blocks},
                     &(fm_engine_results){.each_distance = distances, .each_time = times}, done, error);
}

static inline fm_status count_blocks(const fm_engine_ops *ops, fm_engine *engine, const uint64_t *blocks,
                                     size_t count, fm_tally *tally, size_t *done, fm_error *error)
{
    return ops->count(engine, &(fm_references){.count = count, .blocks = blocks},
                      &(fm_engine_results){.distances = tally}, done, error);
}

static inline fm_status catch_up(const fm_engine_ops *ops, fm_engine *engine, fm_tally *tally,
                                 fm_error *error)
{
    return ops->catch_up(engine, &(fm_engine_results){.distances = tally}, error);
}

#endif
