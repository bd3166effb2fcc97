/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_state.h - what the files of the engine `exact` share, and `parallel` with them: exact.c (the engine,
 * and what is done when the window is full), exact_count.c (references by lookups alone, and in chunks),
 * exact_deliver.c (where distances go). What other rooms may use is in exact_kernels.h.
 */
#ifndef FATHOM_ENGINE_EXACT_STATE_H
#define FATHOM_ENGINE_EXACT_STATE_H

#include "engine/engine.h"
#include "engine/engine_tables.h"
#include "engine/exact/exact_kernels.h"

enum { FM_TWO_LOOKUPS = 2 * FM_LOOKUPS }; /* room in the table for the current lookups and the next */

/* What only attribution needs. */
typedef struct fm_exact_tags {
    fm_kept_tags kept;
} fm_exact_tags;

typedef struct fm_exact {
    fm_block_table table;
    fm_recency_window window;
    const fm_exact_kernels *kernels;
    fm_seen_set *seen; /* only where blocks are dropped */
    bool dropping;     /* some were: until then, what is not held is new, and the set is empty */
    uint64_t bound;    /* distances from here on are beyond; 0: none */
    uint64_t held;     /* blocks deeper in the stack may be dropped; 0: all are kept */
    uint64_t max_memory, memory_peak;
    uint64_t seen_peak; /* the part of `seen` in memory_peak */
    uint64_t clock;
    uint64_t last;       /* the latest block, for removing repeats */
    bool started;        /* there is a latest block */
    unsigned by_lookups; /* chunks that still go by lookups alone */
    unsigned straight;   /* chunks that still go through without a look for repeats */
    bool window_full;    /* a restart failed and must be tried again */
    bool with_times;
    struct fm_first_touches *firsts; /* NULL: nobody wants a list of them */
    fm_exact_tags *tags;             /* NULL: no attribution, and no tags in the table */
    fm_lookups lookups;
    fm_bucket *homes[2][FM_LOOKUPS];
    uint64_t unrepeated[FM_CACHE_CHUNK_ROOM];
    fm_cache_chunk chunk;
    fm_bucket *chunk_homes[FM_CACHE_CHUNK_MOST + FM_LOOKUPS];
} fm_exact;

/* Where the distances of a run go, and with tags where the tags come from. */
typedef struct fm_outlet {
    bool ordered;                /* into distances, one for each reference; if not, into tally */
    uint64_t *distances, *times; /* ordered runs only; times may be NULL all the same */
    uint32_t *uses;              /* ordered runs with tags only: those of the last uses; 0: none */
    fm_tally *tally;             /* counted runs only */
    /* With tags: */
    const uint32_t *now, *leave; /* of each reference of the run */
    fm_pairs *pairs;             /* counted runs only */
    size_t done;                 /* references of the run before the current lookups */
    /* Which reference a late one is: its number in the run, through these where they are not NULL, after */
    const uint16_t *first_index, *kept_index;
    size_t offset; /* references that the caller gave before this run */
} fm_outlet;

uint64_t fm_exact_memory(const fm_exact *self);
/* Room in the table for `more` blocks. */
fm_status fm_exact_make_room(fm_exact *self, uint64_t more, fm_error *error);

/* Under a bound: it is time to drop what lies beyond it. */
bool fm_exact_too_many(const fm_exact *self);
/* What the set of blocks seen may take; and what it has taken, for the peak. */
uint64_t fm_exact_seen_budget(const fm_exact *self);
void fm_exact_note_seen(fm_exact *self);
/* Moves the live bits to the window's beginning and renumbers the blocks. */
fm_status fm_exact_restart(fm_exact *self, fm_error *error);

/* A run of references. *done counts those taken, also on failure. */
fm_status fm_exact_run(fm_exact *self, const uint64_t *keys, size_t count, fm_outlet out, size_t *done,
                       fm_error *error);
/* The engine's count (exact_count.c). */
fm_status fm_exact_count(fm_engine *engine, const fm_references *references, const fm_engine_results *results,
                         size_t *done, fm_error *error);

/* Where first touches are listed: room for `more`, with their tags or numbers. */
fm_status fm_exact_reserve_firsts(fm_exact *self, size_t more, bool tags, fm_error *error);

/* The distances of lookups, which the kernels have found. */
void fm_exact_deliver_counts(fm_exact *self, const uint64_t *keys, const fm_outlet *out);
void fm_exact_deliver_ordered(fm_exact *self, const uint64_t *keys, const fm_outlet *out);

/* Counts distances below and beyond a bound (0: none). Distances are used up. May write up to the next
 * multiple of 16. */
void fm_exact_tally(const fm_exact_kernels *kernels, uint64_t bound, fm_tally *tally, uint32_t *distances,
                    size_t count);

/* Distances, or times, that are known one by one, into a tally: by the kernels that count in no order, but
 * for those of 2^32 and over. On failure nothing is counted. */
fm_status fm_exact_tally_each(const fm_exact_kernels *kernels, fm_tally *tally, const uint64_t *distances,
                              size_t count, fm_error *error);

/* With tags: words get the ranges of their distances, and under a bound (0: none) that of those beyond. May
 * write up to the next multiple of 16. */
void fm_exact_put_ranges(const fm_exact_kernels *kernels, uint64_t bound, const fm_ranges *ranges,
                         const uint32_t *distances, size_t count, uint64_t *words);

/* What follows from a chunk alone: close and apart references. */
void fm_exact_deliver_chunk(fm_exact *self, size_t count, const fm_outlet *out);

/* Counts what follows from a chunk alone and finds its first references, with the positions that their blocks
 * get; touches neither table nor window. False where its blocks crowd a few slots: then nothing was done. */
bool fm_exact_chunk_by_itself(fm_exact *self, const uint64_t *keys, size_t count, const fm_outlet *out);

/* Engine's digest and count_residue (exact_count.c). */
fm_status fm_exact_digest(fm_engine *engine, const fm_references *given, size_t number,
                          const fm_engine_results *results, fm_residue *residue, bool *done, fm_error *error);
fm_status fm_exact_count_residue(fm_engine *engine, const fm_residue *residue,
                                 const fm_engine_results *results, fm_error *error);

/* Of all blocks of a table, as the engine's rename. */
void fm_exact_rename_tags(fm_block_table *table, const uint32_t *names);

/*
 * Chunks are tried where they pay: where less than half of the references were the first to their block
 * there. Elsewhere one in sixteen is. The same for looking for repeats, which pays from one in sixteen on. A
 * short chunk, of which nothing of that is ever true, says nothing of those to come.
 */
enum {
    FM_CACHE_CHUNK_LEAST = 64, /* references that are worth the beginning and the end of a chunk */
    FM_CHUNKS_SKIPPED = 15,
};

static inline bool fm_exact_try_chunk(fm_exact *self, size_t count)
{
    if (count < FM_CACHE_CHUNK_LEAST) return false;
    if (self->by_lookups == 0) return true;
    self->by_lookups--;
    return false;
}

/* done: it could be worked off by itself; whole: it was over half of FM_CACHE_CHUNK references before repeats
 * were removed. */
static inline void fm_exact_judge_chunk(fm_exact *self, bool done, size_t count, bool whole)
{
    if (!done || (whole && self->chunk.first_count > count / 2)) self->by_lookups = FM_CHUNKS_SKIPPED;
}

static inline bool fm_repeats_are_few(size_t chunk, size_t left)
{
    return chunk >= FM_CACHE_CHUNK && chunk - left < chunk / 16;
}

static inline void fm_exact_judge_repeats(fm_exact *self, size_t chunk, size_t left)
{
    if (fm_repeats_are_few(chunk, left)) self->straight = FM_CHUNKS_SKIPPED;
}

/* The part of a run that the next lookups may take: it stays within a line. */
static inline size_t fm_exact_lookups_size(size_t left, size_t line_left)
{
    size_t size = left < FM_LOOKUPS ? left : FM_LOOKUPS;
    return size < line_left ? size : line_left;
}

#endif
