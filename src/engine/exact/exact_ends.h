/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_ends.h - for callers that put a trace together from pieces, each analysed by an engine of its own:
 * which blocks a piece touched first, in order, and in which order it touched them last.
 */
#ifndef FATHOM_ENGINE_EXACT_ENDS_H
#define FATHOM_ENGINE_EXACT_ENDS_H

#include "engine/engine.h"

/* All zeroes is an empty list. */
typedef struct fm_first_touches {
    uint64_t *blocks; /* each once, in the order of first touches */
    /* Under which they were touched, where the engine keeps tags; then nothing is dropped. Of references that
     * are fed, in order: their numbers, from where fm_exact_number_from_here was called. */
    uint32_t *tags;
    size_t count, capacity, tag_capacity;
    uint64_t
        unheld; /* references to blocks that the engine did not hold: those, and returns of dropped ones */
    /*
     * Under a bound, when so many first touches are on the list, the next ones are beyond the bound whatever
     * came before the piece; they are listed as long as they can be told from returns (seen_set.h). Then:
     */
    bool given_up;
} fm_first_touches;

/*
 * From now on first touches are not counted but put on the list; those that are fed get the distance and the
 * time FM_COLD. Before any reference; engine: of fm_engine_exact.
 */
void fm_exact_list_firsts(fm_engine *engine, fm_first_touches *firsts);
void fm_first_touches_clear(fm_first_touches *firsts); /* empty, and without memory */

/* Counts blocks, without tags. */
static inline fm_status fm_exact_count_blocks(fm_engine *engine, const uint64_t *blocks, size_t count,
                                              fm_tally *tally, fm_error *error)
{
    const fm_references references = {.count = count, .blocks = blocks};
    const fm_engine_results results = {.distances = tally};
    size_t done;
    return fm_engine_exact.count(engine, &references, &results, &done, error);
}

/* The next reference that is fed has number 0. Fewer than 2^32 are fed between two calls. */
void fm_exact_number_from_here(fm_engine *engine);

/* The numbers of the last references to blocks that an engine holds, which knows times. */
void fm_exact_last_numbers(const fm_engine *engine, const uint64_t *blocks, size_t count, uint32_t *numbers);

/* The engine is empty again, and keeps its memory. So is its list of first touches. */
void fm_exact_empty(fm_engine *engine);

/* Blocks that the engine holds. */
uint64_t fm_exact_live(const fm_engine *engine);
/* Whether it drops blocks; and how many it holds at most, about. */
bool fm_exact_drops(const fm_engine *engine);
uint64_t fm_exact_most_held(const fm_engine *engine);

/* Of blocks that the engine holds: how many others were touched later, the last time; and if it keeps tags,
 * from bit FM_TAG_SHIFT on, under which that was. */
void fm_exact_depths(const fm_engine *engine, const uint64_t *blocks, size_t count, uint64_t *depths);

/* The blocks that were touched last, at most `most`, the latest one first. Returns how many. */
uint64_t fm_exact_stack(const fm_engine *engine, uint64_t most, uint64_t *blocks);

#endif
