/* SPDX-License-Identifier: Apache-2.0 */
/* parallel_sizes.h - the sizes of `exact` with several threads that tests change
 * (engine/parallel/parallel.h), all at once: as they are, at random, and back. */
#ifndef FATHOM_TEST_PARALLEL_SIZES_H
#define FATHOM_TEST_PARALLEL_SIZES_H

#include "engine/parallel/parallel.h"
#include "oracle/trace_recipe.h"

typedef struct parallel_sizes {
    size_t piece, least;
    uint64_t drawn_least, drawn_most, drawn_events, long_share;
} parallel_sizes;

static inline parallel_sizes parallel_sizes_now(void)
{
    return (parallel_sizes){fm_parallel_chunk,      fm_parallel_least,        fm_parallel_drawn_least,
                            fm_parallel_drawn_most, fm_parallel_drawn_events, fm_parallel_long_share};
}

static inline void parallel_sizes_set(const parallel_sizes *sizes)
{
    fm_parallel_chunk = sizes->piece;
    fm_parallel_least = sizes->least;
    fm_parallel_drawn_least = sizes->drawn_least;
    fm_parallel_drawn_most = sizes->drawn_most;
    fm_parallel_drawn_events = sizes->drawn_events;
    fm_parallel_long_share = sizes->long_share;
}

/* For a trace of so many references: drawn pieces of a few references up, growing and shrinking; or never.
 * Copied ones as they are. */
static inline parallel_sizes parallel_sizes_at_random(recipe_random *random, size_t references)
{
    static const uint64_t drawn[] = {1, 2, 5, 64, 500, 3000, 1 << 16};
    const size_t is_long = 100000;
    parallel_sizes sizes = parallel_sizes_now();
    sizes.least = recipe_chance(random, 8) ? (size_t)recipe_below(random, references + 2) : 0;
    sizes.drawn_least = drawn[recipe_below(random, sizeof drawn / sizeof drawn[0])];
    if (references > is_long && sizes.drawn_least < 500) sizes.drawn_least = 500; /* or threads only wait */
    sizes.drawn_most = sizes.drawn_least << recipe_below(random, 6);
    sizes.drawn_events = 1 + recipe_below(random, 2 * sizes.drawn_most);
    sizes.long_share = recipe_chance(random, 3) ? recipe_below(random, references + 2) : 0;
    return sizes;
}

static inline void parallel_sizes_print(const parallel_sizes *sizes)
{
    fprintf(stderr,
            "pieces of %zu, threads from %zu on, drawn pieces of %" PRIu64 " to %" PRIu64 " with %" PRIu64
            " events, long shares from %" PRIu64 "\n",
            sizes->piece, sizes->least, sizes->drawn_least, sizes->drawn_most, sizes->drawn_events,
            sizes->long_share);
}

#endif
