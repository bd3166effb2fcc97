/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - the one interface behind which every algorithm lives: block numbers in, distances out.
 *
 * An engine knows nothing of files, histograms, granularity or options on a command line. To add one,
 * write src/engine/<folder>/<name>.c with an fm_engine_ops and add a line to the table in engine_table.c.
 */
#ifndef FATHOM_ENGINE_H
#define FATHOM_ENGINE_H

#include "engine/block_supply.h"
#include "engine/engine_option.h"
#include "engine/pairs.h"
#include "engine/tally.h"

#include <fathom/engines.h>
#include <fathom/status.h>

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
    uint64_t seen_limit; /* blocks remembered under a bound (seen_set.h); 0: fm_seen_limit */
    bool keep_all;       /* `exact` under a bound: blocks beyond it are not dropped all the same */
} fm_engine_options;

/* The first references to their blocks in a part of the trace that was worked off by itself, in order. */
typedef struct fm_residue {
    size_t count;
    const uint64_t *blocks;
    const uint64_t *places; /* in the order of last references; the engine's own numbers, with tags if any */
    const uint32_t *now;    /* with tags */
    const uint16_t *number; /* of the reference in the part; not for count_residue */
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
     * What a part of the trace, at most FM_PART_MOST references without repeats, tells by itself is counted;
     * an engine beside the one that counts does that, made for it. *done: it was so, and what is left is in
     * residue, to be read before the next call, and to be counted by count_residue in its turn; else nothing
     * was done. number: of the first reference, for late ones.
     */
    fm_status (*digest)(fm_engine *engine, const fm_references *part, size_t number,
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
