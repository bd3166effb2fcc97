/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - the one interface behind which every algorithm lives: block numbers in, distances out; and where
 * these go: into a tally, with attribution also into counters of pairs.
 *
 * An engine knows nothing of files, histograms, granularity or options on a command line. To add one,
 * write src/engine/<folder>/<name>.c with an fm_engine_ops and add a line to the table in engine_table.c.
 */
#ifndef FATHOM_ENGINE_ENGINE_H
#define FATHOM_ENGINE_ENGINE_H

#include "engine/engine_tables.h"
#include "trace/supply.h"

#include <fathom/engines.h>
#include <fathom/profile.h>
#include <fathom/status.h>

/*
 * ==== tally ====
 *
 * Counting distances into bins, as engines produce them. Becomes a profile's histogram.
 *
 * With one bin per distance the array grows with the largest distance: reserve first, then add.
 */

typedef struct fm_tally {
    fm_bins bins;
    uint64_t *counts;
    uint64_t capacity; /* bins in counts */
    uint64_t total;    /* counted in counts */
    uint64_t cold, beyond;
    uint64_t max_memory; /* bytes; 0: no limit */
} fm_tally;

fm_status fm_tally_create(fm_tally *tally, fm_bins bins, fm_error *error);
void fm_tally_clear(fm_tally *tally);
uint64_t fm_tally_memory(const fm_tally *tally);

/* Makes sure that distances below `end` can be added. Fails without changing anything. */
fm_status fm_tally_reserve(fm_tally *tally, uint64_t end, fm_error *error);
/* Distances that are all below the reserved end. */
void fm_tally_add32(fm_tally *tally, const uint32_t *distances, size_t count);
/* How many of eight indices are the same as the first. */
static inline uint32_t fm_tally_same(const uint32_t *indices)
{
    uint32_t same = 0;
    for (size_t i = 0; i < 8; i++) same += indices[i] == indices[0];
    return same;
}
/* Indices of bins that were found already. Loops over arrays give few different ones many times over, and
 * each increment would wait for the one before: the first eight of 64 tell. */
static inline void fm_tally_add_indices(fm_tally *tally, const uint32_t *indices, size_t count)
{
    enum { TOGETHER = 64, EIGHT = 8, MOST = 5 };
    size_t i = 0;
    while (i < count) {
        const size_t end = count - i < TOGETHER ? count : i + TOGETHER;
        const bool runs = end == i + TOGETHER && fm_tally_same(indices + i) >= MOST;
        for (; runs && i < end; i += EIGHT) {
            const uint32_t same = fm_tally_same(indices + i);
            tally->counts[indices[i]] += same;
            for (size_t j = 1; j < EIGHT && same < EIGHT; j++)
                if (indices[i + j] != indices[i]) tally->counts[indices[i + j]]++;
        }
        for (; i < end; i++) tally->counts[indices[i]]++;
    }
    tally->total += count;
}
/* Distances, FM_COLD and FM_BEYOND; reserves by itself. On failure nothing is counted. */
fm_status fm_tally_add(fm_tally *tally, const uint64_t *distances, size_t count, fm_error *error);
/* Behind the last bin that is not empty. With one bin per distance, most of the room is behind it. */
static inline uint64_t fm_tally_end(const fm_tally *tally)
{
    uint64_t end = tally->capacity;
    while (end > 0 && tally->counts[end - 1] == 0) end--;
    return end;
}
/* All counts of another tally with the same bins, which is then empty. On failure nothing has changed. */
fm_status fm_tally_move(fm_tally *tally, fm_tally *from, fm_error *error);
/* The same distance many times; it must be below the reserved end. */
static inline void fm_tally_add_many(fm_tally *tally, uint64_t distance, uint64_t count)
{
    tally->counts[fm_bins_index(tally->bins, distance)] += count;
    tally->total += count;
}

/* The non-empty bins. Under a bound (not 0), the last bin ends before it. */
fm_status fm_tally_histogram(const fm_tally *tally, uint64_t bound, fm_histogram *histogram, fm_error *error);

/*
 * ==== profile of a tally ====
 *
 * A profile of what was counted, by one engine or by many ranks.
 */

/* What a tally does not know itself. */
typedef struct fm_tally_origin {
    const char *engine;
    bool exact;
    uint64_t granularity, bound;
    uint64_t distinct;
    bool cold_known;
} fm_tally_origin;

fm_status fm_tally_profile(const fm_tally *tally, const fm_tally_origin *origin, fm_profile **profile,
                           fm_error *error);

/*
 * ==== pairs ====
 *
 * What attribution gathers: counters of pairs of tags by range of distance (engine_tables.h), and the list of
 * late references where somebody wants it. Engines that keep tags fill it; it does not know how they keep
 * them.
 */

typedef struct fm_pairs {
    fm_ranges ranges;
    fm_pair_table table;
    /* References at this distance and over, first touches and what a bound forgot are put on the list too. */
    bool late_wanted;
    uint64_t late_from; /* a distance; FM_BEYOND: none of the ordinary ones */
    size_t late_count, late_capacity;
    fm_late *late;       /* index: of the reference in what the engine was given */
    uint64_t max_memory; /* bytes, for counters and list; 0: no limit */
} fm_pairs;

/* max_memory: bytes that all of it may ever hold; 0: no limit. */
fm_status fm_pairs_create(fm_pairs *pairs, const uint64_t *edges, size_t count, uint64_t seed,
                          uint64_t max_memory, fm_error *error);
void fm_pairs_clear(fm_pairs *pairs); /* frees; safe on a zeroed struct */
uint64_t fm_pairs_memory(const fm_pairs *pairs);
uint64_t fm_pairs_memory_peak(const fm_pairs *pairs);

/* Room for `more` references, whatever they are. Fails without changing anything. */
fm_status fm_pairs_reserve(fm_pairs *pairs, size_t more, fm_error *error);
static inline bool fm_pairs_has_room(const fm_pairs *pairs, size_t more)
{
    return fm_pair_table_has_room(&pairs->table, more) &&
           (!pairs->late_wanted || more < pairs->late_capacity - pairs->late_count);
}

/* References of range `from` on are wanted on the list. */
void fm_pairs_want_late(fm_pairs *pairs, uint32_t from);

static inline bool fm_pairs_is_late(const fm_pairs *pairs, uint64_t distance)
{
    return distance >= pairs->late_from; /* FM_COLD and FM_BEYOND are always */
}

/* There is room for it. */
static inline void fm_pairs_note_late(fm_pairs *pairs, size_t index, uint32_t tag, uint32_t range)
{
    pairs->late[pairs->late_count++] = (fm_late){.index = (uint32_t)index, .tag = tag, .range = range};
}

/*
 * ==== options ====
 *
 * Options of a single engine: a table beside the engine says which there are, a text gives
 * some of them, and this turns the text into values. The values are in the order of the table, so that the
 * engine asks for them by an enum of its own.
 */

enum { FM_MOST_OWN_OPTIONS = 8 };

typedef struct fm_option_value {
    bool given;
    uint64_t count; /* of a flag: 0 or 1 */
    double real;
} fm_option_value;

/* "64", "0x40", "4K", "1M": false when text is not wholly that, or overflows. */
bool fm_parse_count(const char *text, uint64_t *value);

/* table: NULL for an engine that has none; values[FM_MOST_OWN_OPTIONS] are all set. */
fm_status fm_own_options_parse(const char *engine, const fm_engine_option *table, const char *text,
                               fm_option_value *values, fm_error *error);

/* The value that was given, or the usual one; 0 where there is none. Flags are counts. */
uint64_t fm_own_count(const fm_option_value *values, const fm_engine_option *table, size_t index);
double fm_own_real(const fm_option_value *values, const fm_engine_option *table, size_t index);

/*
 * ==== supply ====
 *
 * References that several threads fetch for themselves, each a range of its own, instead
 * of one thread that feeds them all: what a single thread can copy is the limit of sixteen others.
 */

/* A run of references in time order: the block of each, and with attribution its tag. */
typedef struct fm_references {
    size_t count;
    const uint64_t *blocks;
    const uint32_t *now; /* tags; NULL: without */
    /* NULL; or references that repeat the block before have been left out, and their pairs counted: each that
     * is left was used under the tag `now`, and its block left under this. */
    const uint32_t *leave;
} fm_references;

typedef struct fm_block_supply {
    void *context;
    /* One thread at a time, in time order: claims the next range, of about so many references. False: there
     * is nothing left. */
    bool (*claim)(void *context, uint64_t wanted, fm_trace_range *range);
    /* By several threads, each with its number and a range of its own: the next references of it, which
     * stay until this worker's next call, with tags if all have them. Count 0: its end. repeats: how many
     * were left out because they repeat the block before. */
    fm_status (*fetch)(void *context, unsigned worker, fm_trace_range *range, fm_references *references,
                       uint64_t *repeats, fm_error *error);
    /* References that nobody has claimed, about. One thread at a time, and not during a claim. */
    uint64_t (*left)(const void *context);
} fm_block_supply;

/* ==== engine ==== */

typedef struct fm_engine_options {
    uint64_t bound;      /* 0: none. Otherwise a distance >= bound may be (and is) reported as FM_BEYOND */
    bool time_distances; /* feed is given an array for them */
    uint64_t max_memory; /* 0: no limit; otherwise feed fails with FM_E_LIMIT before exceeding it */
    uint64_t seed;       /* of hash tables; never 0 here */
    uint64_t first_time; /* value of the clock at the first reference; it counts modulo 2^64 */
    const char *isa;     /* NULL: best */
    unsigned threads;    /* for engines that can use several; 0: 1 */
    bool tags;           /* all references will have tags */
    fm_option_value own[FM_MOST_OWN_OPTIONS]; /* in the order of the engine's own table */
    uint64_t seen_limit; /* blocks remembered under a bound (engine_tables.h); 0: fm_seen_limit */
    bool keep_all;       /* `exact` under a bound: blocks beyond it are not dropped all the same */
} fm_engine_options;

/* The first references to their blocks in a chunk of the trace that was worked off by itself, in order. */
typedef struct fm_residue {
    size_t count;
    const uint64_t *blocks;
    const uint64_t *places; /* in the order of last references; the engine's own numbers, with tags if any */
    const uint32_t *now;    /* with tags */
    const uint16_t *number; /* of the reference in the chunk; not for count_residue */
} fm_residue;

/* Where what an engine finds goes. */
typedef struct fm_engine_results {
    /* What is counted. */
    fm_tally *distances;
    fm_tally *times; /* NULL: not asked for */
    fm_pairs *pairs; /* with tags; else NULL. Late references go on its list, by their index in the run */
    /* Every reference of the run, in order, with `feed`: room for as many. */
    uint64_t *each_distance;
    uint64_t *each_time; /* NULL: not asked for */
    uint32_t *each_use;  /* with tags: the one under which the block was used last; 0: FM_COLD, FM_BEYOND */
    /* The same, of engines that gather large batches, with `count`. NULL: nobody asks for it. */
    fm_distance_sink sink;
    void *sink_context;
    bool distances_only; /* the sink does not look at blocks */
} fm_engine_results;

typedef struct fm_engine fm_engine;

/* What only engines can do that keep the tags of blocks (`exact`); for others the analyzer keeps them. */
typedef struct fm_engine_tagged {
    /*
     * What a chunk of the trace, at most FM_CACHE_CHUNK_MOST references without repeats, tells by itself is
     * counted; an engine beside the one that counts does that, made for it. *done: it was so, and what is
     * left is in residue, to be read before the next call, and to be counted by count_residue in its turn;
     * else nothing was done. number: of the first reference, for late ones.
     */
    fm_status (*digest)(fm_engine *engine, const fm_references *chunk, size_t number,
                        const fm_engine_results *results, fm_residue *residue, bool *done, fm_error *error);
    fm_status (*count_residue)(fm_engine *engine, const fm_residue *residue, const fm_engine_results *results,
                               fm_error *error);
    /* The tag t that blocks were left under is names[t] from now on; there are names for all tags that came
     * so far. All that was taken is counted. */
    fm_status (*rename)(fm_engine *engine, const uint32_t *names, size_t count, fm_error *error);
} fm_engine_tagged;

typedef struct fm_engine_ops {
    fm_engine_info info;
    /* The same by several threads, for counting without times, and without tags or limits of memory; NULL:
     * there is none, or the engine itself uses options->threads. */
    const struct fm_engine_ops *by_threads;
    const fm_engine_option *own;    /* the options that it has alone, up to one without a name; NULL: none */
    const fm_engine_tagged *tagged; /* NULL: it keeps no tags, and takes no notice of them */
    /* It gathers large batches: it has no feed, and its count delivers single distances and times too, of any
     * references taken so far, when it suits. After a failure it is of no use. */
    bool batched;
    fm_status (*create)(fm_engine **engine, const fm_engine_options *options, fm_error *error);
    void (*destroy)(fm_engine *engine);
    /*
     * Takes references in time order and writes the distance of each (FM_COLD, FM_BEYOND or the number of
     * distinct other blocks since), and its time distance where that is asked for (FM_COLD for a first touch;
     * references since the last one to the block, itself included).
     * On failure *done tells how many were taken; the engine then stands exactly after those and may
     * be fed on, should the caller find more memory. NULL where info.histogram_only is set: then `count`
     * takes references, and `describe` tells the histogram.
     */
    fm_status (*feed)(fm_engine *engine, const fm_references *references, const fm_engine_results *results,
                      size_t *done, fm_error *error);
    /*
     * The same without order: distances, and with tags pairs, are counted. NULL where an engine has no faster
     * way than feed. May be mixed with feed at will.
     */
    fm_status (*count)(fm_engine *engine, const fm_references *references, const fm_engine_results *results,
                       size_t *done, fm_error *error);
    /* count need not see references that repeat the block before: nothing but their number matters. */
    bool spared_repeats;
    /* For engines whose count only takes references and counts them when it suits: all that was taken is
     * counted after this. NULL where that is always so. */
    fm_status (*catch_up)(fm_engine *engine, const fm_engine_results *results, fm_error *error);
    /*
     * Takes all that a supply has: threads fetch it for themselves. Counts as count does. NULL where an
     * engine has one thread. On failure the engine is of no use any more.
     * draws_in_order: with a sink, single distances go there, in order, from this thread; and with times,
     * those are counted. What it leaves unclaimed then is to be fed.
     */
    fm_status (*draw)(fm_engine *engine, const fm_block_supply *supply, const fm_engine_results *results,
                      fm_error *error);
    bool draws_in_order;
    /* Whether so many references can be counted now without anything that may fail. NULL: never. */
    bool (*can_take)(const fm_engine *engine, size_t count, const fm_tally *distances);
    /* Distinct blocks seen, as far as the engine can know under its bound. */
    uint64_t (*distinct)(const fm_engine *engine);
    /* False when, under a bound, first touches can no longer be told from returns (reported FM_BEYOND). */
    bool (*cold_known)(const fm_engine *engine);
    /* Adds to a profile, which has what the tally counted, what is not exact about it, and what the time went
     * into; where info.histogram_only is set, all that was estimated. NULL: there is nothing of that. */
    fm_status (*describe)(const fm_engine *engine, fm_profile *profile, fm_error *error);
    uint64_t (*memory)(const fm_engine *engine);
    uint64_t (*memory_peak)(const fm_engine *engine);
} fm_engine_ops;

extern const fm_engine_ops fm_engine_list;
extern const fm_engine_ops fm_engine_tree;
extern const fm_engine_ops fm_engine_exact;
extern const fm_engine_ops fm_engine_parda;
extern const fm_engine_ops fm_engine_approx;
extern const fm_engine_ops fm_engine_shards;
extern const fm_engine_ops fm_engine_aet;
extern const fm_engine_ops fm_engine_gpu;
extern const fm_engine_ops fm_engine_hp_rda;
extern const fm_engine_ops fm_engine_hp_rda_gpu;

/* by_threads of `exact`. Not in the table. */
extern const fm_engine_ops fm_engine_parallel;

/* NULL where there is no engine of that name. */
const fm_engine_ops *fm_engine_find(const char *name);

#endif
