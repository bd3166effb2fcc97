/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_state.h - what the files of the analyzer share: analyzer.c, analyzer_feed.c, analyzer_prepare.c,
 * analyze.c and pipeline.c.
 */
#ifndef FATHOM_ANALYZER_ANALYZER_STATE_H
#define FATHOM_ANALYZER_ANALYZER_STATE_H

#include "analyzer/block_cutter.h"
#include "engine/engine.h"
#include "engine/engine_tables.h"
#include "engine/exact/exact_kernels.h"

#include <fathom/analyzer.h>
#include <pthread.h>

/*
 * ==== prepared batches ====
 *
 * What other threads may do to a batch before its analyzer is fed.
 */

/*
 * What is done to a batch first needs no engine, and another thread may do it while the analyzer is busy:
 * accesses are cut into blocks, and references that repeat the block before them, at distance 0, are counted
 * and left out. Analyzers with the same granularity prepare alike. Those that need every single reference
 * (for single distances, time distances, estimates; with attribution also under max_memory, or where every
 * reference is late) cannot. One with attribution counts the pairs of what it leaves out: what it prepared is
 * for itself, and for others without attribution.
 *
 * Where the analyzer is the slower of the two threads, the other may also digest what it prepared: most
 * references are to blocks that were touched shortly before, and their distances follow from some thousand
 * references alone. They are counted, and what is left is for this analyzer only. Results do not depend on
 * it.
 *
 * Threads may prepare and digest while another one feeds: each under a number of its own. Batches are fed in
 * the order of the trace, whoever prepared them.
 */
enum { FM_PREPARERS = 1024 };
typedef struct fm_prepared {
    /* Number of the thread that prepares it, below FM_PREPARERS; set by the caller. With attribution, number
     * 0 needs some memory for every pair, the others have little each and one such memory together. */
    unsigned preparer;
    uint64_t *blocks;
    size_t count, capacity;
    uint64_t repeats;
    uint64_t accesses; /* of the batch */
    /* With attribution, for each block: the tags of the first and the last of its references in a row, and
     * the number in the batch of the first. */
    uint32_t *now, *leave, *reference;
    size_t tag_capacity[3];
    /* Digested: chunks one after the other; of each, its blocks in the order of their first references, with
     * their places in the order of their last ones. Late ones among those that were counted. */
    const fm_analyzer *digested_by; /* NULL: not digested */
    struct fm_prepared_chunk *chunks;
    size_t chunk_count, chunk_capacity;
    uint64_t *place;
    size_t place_capacity;
    fm_late *late;
    size_t late_count, late_capacity;
} fm_prepared; /* all 0 before its first use, but for the preparer; may be used again */
bool fm_analyzer_can_prepare(const fm_analyzer *analyzer);
/* FM_E_LIMIT: the accesses touch so many blocks that they would take much memory; nothing was done, and the
 * batch is to be fed as it is. */
fm_status fm_analyzer_prepare(fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                              fm_error *error);
/* Without a bound or max_memory, by the engine "exact". */
bool fm_analyzer_can_digest(const fm_analyzer *analyzer);
fm_status fm_analyzer_digest(fm_analyzer *analyzer, fm_prepared *prepared, fm_error *error);
fm_status fm_analyzer_feed_prepared(fm_analyzer *analyzer, const fm_prepared *prepared, fm_error *error);
void fm_prepared_free(fm_prepared *prepared);

/*
 * ==== tags of blocks ====
 *
 * The tag of every block's last use, for engines that keep none themselves. A block table with
 * tags for positions: 27 to 40 bytes a block. Blocks are never dropped, also under a bound.
 */

typedef struct fm_block_tags {
    fm_block_table table;
    uint64_t max_memory, memory_peak;
} fm_block_tags;

/* max_memory: bytes; 0: no limit. */
fm_status fm_block_tags_create(fm_block_tags *tags, uint64_t seed, uint64_t max_memory, fm_error *error);
void fm_block_tags_clear(fm_block_tags *tags); /* frees; safe on a zeroed struct */
uint64_t fm_block_tags_memory(const fm_block_tags *tags);

/* Room for so many new blocks. Fails without changing anything. */
fm_status fm_block_tags_reserve(fm_block_tags *tags, size_t more, fm_error *error);
/* Returns the tag of the last use, 0 for a new block; from now on it is `tag`. There is room. */
uint32_t fm_block_tags_exchange(fm_block_tags *tags, uint64_t block, uint32_t tag);

/* ==== analyzer ==== */

enum {
    /* blocks handed to the engine at a time where they have to be made first */
    FM_FEED_MOST = 2 * FM_CACHE_CHUNK,
    FM_FEED_ROOM = FM_FEED_MOST + FM_CUT_ROOM,
    FM_LATE_BATCH = 65536, /* references after which late ones are reported at the latest */
};

/* From block `at` of the buffer on, up to the next range: blocks of consecutive references. */
typedef struct fm_buffer_range {
    uint32_t at;
    uint32_t reference; /* of the batch: of block `at` */
} fm_buffer_range;

/* What only attribution needs. */
typedef struct fm_attributing {
    fm_pairs pairs;
    fm_block_tags last; /* for engines that keep no tags; else empty */
    fm_late_sink late_sink;
    void *late_context;
    uint32_t tags[FM_FEED_ROOM]; /* of the blocks in the analyzer's buffer */
    uint32_t uses[FM_FEED_MOST];
    uint32_t multiplier[3]; /* of the tables of pairs: never written again, for preparers to read */
    /* What preparers had too many counters of; no table until there is something. */
    pthread_mutex_t poured_lock;
    fm_pair_table poured;
    /* Which references the blocks in the buffer belong to; only where late ones are wanted. */
    size_t range_count;
    fm_buffer_range buffer_ranges[FM_FEED_ROOM];
} fm_attributing;

/* A chunk of what was prepared and given to be digested. */
typedef struct fm_prepared_chunk {
    size_t count; /* blocks */
    bool digested;
} fm_prepared_chunk;

/* What a thread that prepares has for itself. */
typedef struct fm_preparer {
    unsigned number;
    /* What it counts; nothing until it does. */
    fm_pairs pairs;
    fm_tally digested;
    fm_engine *digester; /* NULL until it digests */
    fm_tagged_cut cut;
} fm_preparer;

struct fm_analyzer {
    const fm_engine_ops *ops;
    fm_engine *engine;
    const fm_exact_kernels *kernels; /* for cutting and for counting pairs, whatever the engine */
    fm_tally distances;
    fm_tally times;
    uint64_t granularity, bound;
    unsigned shift;
    unsigned threads;
    bool with_times;
    bool limited; /* by max_memory */
    bool fed;     /* something */
    fm_analyzer_options
        options;          /* that it was made with: for another one like it; edges are in attributing */
    char *engine_options; /* which those point to; NULL: none */
    fm_access_budget budget;
    fm_distance_sink sink;
    void *sink_context;
    bool sink_refused;                    /* so that the engine knows blocks that count nowhere */
    uint64_t told;                        /* references that the sink heard of in this analysis */
    uint64_t told_ever;                   /* the same before it was begun anew: they are not told again */
    fm_attributing *attributing;          /* NULL: no attribution */
    fm_preparer *preparers[FM_PREPARERS]; /* by number; NULL until they are needed */
    /* Blocks that were fed and not counted yet: of the first `promised` it was said that they are, and the
     * engine can take them. Small feeds are gathered here: an engine likes long runs. */
    size_t pending, promised;
    uint64_t blocks[FM_FEED_ROOM];
    uint64_t run_distances[FM_FEED_MOST]; /* where order or times are asked for */
    uint64_t run_times[FM_FEED_MOST];
};

/* Where an engine's results go. */
fm_engine_results fm_analyzer_results(fm_analyzer *self);
/* Gives all that is pending to the engine. */
fm_status fm_analyzer_drain(fm_analyzer *analyzer, fm_error *error);
/* And counts all that the engine has taken. */
fm_status fm_analyzer_flush(fm_analyzer *analyzer, fm_error *error);
void fm_preparer_destroy(fm_preparer *preparer, const fm_engine_ops *ops); /* NULL is fine */
uint64_t fm_preparer_memory(const fm_preparer *preparer, const fm_engine_ops *ops);
/* What preparers have counted joins the rest; they must be at rest. */
fm_status fm_analyzer_join(fm_analyzer *analyzer, fm_error *error);
/* As it was when it was created, with its sink. Not where somebody hears of late references. */
fm_status fm_analyzer_restart(fm_analyzer *analyzer, fm_error *error);
/*
 * All that a supply has, fetched by the analyzer's threads themselves: faster than feeding, which is one
 * thread's work. For analyzers that can prepare and have several threads (the engine "exact"). The supply has
 * at least as many workers. On failure, what was counted is of no use. FM_E_LIMIT: accesses touch so many
 * blocks each that they must be fed, or there are too many blocks for anybody. listener: hears of progress;
 * NULL: nobody does.
 */
bool fm_analyzer_can_draw(const fm_analyzer *analyzer);
fm_status fm_analyzer_draw(fm_analyzer *analyzer, const fm_supply *supply, const fm_analyze_options *listener,
                           fm_error *error);
/* Late references on the list go to whoever wants them. */
fm_status fm_analyzer_report_late(fm_analyzer *analyzer, fm_error *error);

/* A batch as the analyzer knows it: where it counts elements, accesses have no size. */
static inline fm_batch fm_analyzer_known(const fm_analyzer *analyzer, const fm_batch *batch)
{
    fm_batch known = *batch;
    if (analyzer->options.elements) known.size = NULL;
    return known;
}

#endif
