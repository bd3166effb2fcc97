/* SPDX-License-Identifier: Apache-2.0 */
/* analyzer_state.h - what the files of the analyzer share: analyzer.c, analyzer_feed.c, analyzer_prepare.c,
 * analyzer_digest.c, analyzer_prepared.c and analyzer_draw.c. */
#ifndef FATHOM_ANALYZER_STATE_H
#define FATHOM_ANALYZER_STATE_H

#include "analyzer/block_cutter.h"
#include "analyzer/block_tags.h"
#include "analyzer/prepared.h"
#include "engine/engine.h"
#include "engine/exact/exact_kernels.h"

#include <pthread.h>

enum {
    FM_FEED_MOST = 2 * FM_PART, /* blocks handed to the engine at a time where they have to be made first */
    FM_FEED_ROOM = FM_FEED_MOST + FM_CUT_ROOM,
    FM_LATE_BATCH = 65536, /* references after which late ones are reported at the latest */
};

/* From block `at` of the buffer on, up to the next stretch: blocks of consecutive references. */
typedef struct fm_buffer_stretch {
    uint32_t at;
    uint32_t reference; /* of the batch: of block `at` */
} fm_buffer_stretch;

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
    size_t stretch_count;
    fm_buffer_stretch stretches[FM_FEED_ROOM];
} fm_attributing;

/* A part of what was prepared and given to be digested. */
typedef struct fm_prepared_part {
    size_t count; /* blocks */
    bool digested;
} fm_prepared_part;

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
/* Single distances to the sink, but those that it has heard. context: the analyzer. */
fm_status fm_analyzer_tell(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                           fm_error *error);
/* Gives all that is pending to the engine. */
fm_status fm_analyzer_drain(fm_analyzer *analyzer, fm_error *error);
/* And counts all that the engine has taken. */
fm_status fm_analyzer_flush(fm_analyzer *analyzer, fm_error *error);
/* The preparer with that number, made if there is none. */
fm_status fm_analyzer_preparer(fm_analyzer *analyzer, unsigned number, fm_preparer **preparer,
                               fm_error *error);
void fm_preparer_destroy(fm_preparer *preparer, const fm_engine_ops *ops); /* NULL is fine */
uint64_t fm_preparer_memory(const fm_preparer *preparer, const fm_engine_ops *ops);
/* With attribution: makes its counters ready; and pours them together with those of others where there are
 * many, so that there are not as many copies of all pairs as there are preparers. */
fm_status fm_preparer_start_pairs(fm_analyzer *analyzer, fm_preparer *preparer, fm_error *error);
fm_status fm_preparer_pour_pairs(fm_analyzer *analyzer, fm_preparer *preparer, fm_error *error);
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
