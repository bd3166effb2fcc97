/* SPDX-License-Identifier: Apache-2.0 */
/* analyzer_state.h - what the files of the analyzer share: analyzer.c, analyzer_feed.c,
 * analyzer_prepare.c and analyzer_draw.c. */
#ifndef FATHOM_ENGINE_ANALYZER_STATE_H
#define FATHOM_ENGINE_ANALYZER_STATE_H

#include "engine/block_tags.h"
#include "engine/engine.h"
#include "engine/exact_kernels.h"
#include "engine/tally.h"

enum {
    FM_RUN = 2 * FM_PART, /* blocks handed to the engine at a time where they have to be made first */
    FM_RUN_ROOM = FM_RUN + 16,
    FM_LATE_BATCH = 65536, /* references after which late ones are told at the latest */
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
    uint32_t tags[FM_RUN_ROOM]; /* of the blocks in the analyzer's buffer */
    uint32_t uses[FM_RUN];
    fm_pairs prepared; /* what the thread that prepares counts; no table until it does */
    fm_tagged_cut cut;
    /* Which references the blocks in the buffer belong to; only where late ones are wanted. */
    size_t stretch_count;
    fm_buffer_stretch stretches[FM_RUN_ROOM];
} fm_attributing;

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
    fm_distance_sink sink;
    void *sink_context;
    fm_attributing *attributing; /* NULL: no attribution */
    /* Of the thread that prepares: what digests, and what it counts. NULL until it does. */
    fm_engine *digester;
    fm_tally digested;
    /* Blocks that were fed and not counted yet: of the first `promised` it was said that they are, and the
     * engine can take them. Small feeds are gathered here: an engine likes long runs. */
    size_t pending, promised;
    uint64_t blocks[FM_RUN_ROOM];
    uint64_t run_distances[FM_RUN]; /* where order or times are asked for */
    uint64_t run_times[FM_RUN];
};

/* Gives all that is pending to the engine. */
fm_status fm_analyzer_drain(fm_analyzer *analyzer, fm_error *error);
/* And counts all that the engine has taken. */
fm_status fm_analyzer_flush(fm_analyzer *analyzer, fm_error *error);
/* What the thread that prepared has counted joins the rest; it must be at rest. */
fm_status fm_analyzer_join(fm_analyzer *analyzer, fm_error *error);
/* Late references on the list go to whoever wants them. */
fm_status fm_analyzer_tell_late(fm_analyzer *analyzer, fm_error *error);

#endif
