/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline.h - threads between something that hands out batches of references and the analyzers that they are
 * for: what is received, read or decoded on one core is analysed on others.
 *
 *     fm_error error;
 *     fm_pipeline *pipeline;
 *     fm_analyzer *analyzer;
 *     fm_analyzer_options what = {.granularity = 64};
 *     fm_pipeline_options options = {.threads = 4};
 *     fm_status status = fm_analyzer_create(&analyzer, &what, &error);
 *     if (status == FM_OK) status = fm_pipeline_create(&pipeline, &options, &error);
 *     while (status == FM_OK && more_blocks(blocks, &count)) {
 *         fm_batch batch = {.count = count, .address = blocks};
 *         status = fm_pipeline_feed(pipeline, &batch, &analyzer, 1, NULL, &error);
 *     }
 *     if (status == FM_OK) status = fm_pipeline_drain(pipeline, &error);
 *     fm_pipeline_destroy(pipeline);
 *
 * Batches are copied, so that the caller may go on at once. They are fed in order: results are those of
 * fm_analyzer_feed, whatever the number of threads. One thread at a time uses a pipeline, and nobody else
 * uses the analyzers until it was drained.
 */
#ifndef FATHOM_EXPERIMENTAL_PIPELINE_H
#define FATHOM_EXPERIMENTAL_PIPELINE_H

#include <fathom/analyzer.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FM_PIPELINE_THREADS 16   /* at most */
#define FM_PIPELINE_ANALYZERS 17 /* that a batch may go to, at most */

/* Late references (attribution.h) of a batch, told in the thread that uses the pipeline. label: what came
 * with the batch; address: those of the batch. */
typedef fm_status (*fm_pipeline_late)(void *context, const void *label, const uint64_t *address,
                                      const fm_late *late, size_t count, fm_error *error);

typedef struct fm_pipeline_options {
    size_t threads;        /* that analyse, 0: 1; beside the caller's */
    fm_pipeline_late late; /* NULL: nobody wants to know of late references */
    void *context;         /* of it */
    size_t label_size;     /* bytes of a label, at most 64 */
    size_t in_caller;      /* 1: no threads at all; the caller's analyses, before fm_pipeline_feed returns */
} fm_pipeline_options;

typedef struct fm_pipeline fm_pipeline;

FM_SIZED(fm_status, fm_pipeline_create, fm_pipeline_options,
         (fm_pipeline **pipeline, const fm_pipeline_options *options, fm_error *error),
         (pipeline, options, error));
/* Late references of this analyzer, from this range on, are told. To be called before it is fed. */
FM_API fm_status fm_pipeline_report_late(fm_pipeline *pipeline, fm_analyzer *analyzer, uint32_t from,
                                         fm_error *error);
/* A batch for these analyzers. label: copied; may be NULL. A failure of the analysis is returned by a later
 * call, or at once. */
FM_API fm_status fm_pipeline_feed(fm_pipeline *pipeline, const fm_batch *batch, fm_analyzer *const *analyzers,
                                  size_t count, const void *label, fm_error *error);
/* Waits until everything was fed. */
FM_API fm_status fm_pipeline_drain(fm_pipeline *pipeline, fm_error *error);
/* Ends the threads; what is queued is dropped. NULL is fine. */
FM_API void fm_pipeline_destroy(fm_pipeline *pipeline);

/*
 * References without an analyzer: the blocks that accesses touch, in order, with the tags of the accesses
 * (NULL where a batch has none). For whoever looks at references himself, as a virtual sampler does
 * (observations.h).
 */
typedef struct fm_block_stream fm_block_stream;
typedef fm_status (*fm_block_taker)(void *context, const uint64_t *blocks, const uint32_t *tags, size_t count,
                                    fm_error *error);
FM_API fm_status fm_block_stream_create(fm_block_stream **stream, uint64_t granularity, fm_error *error);
FM_API void fm_block_stream_destroy(fm_block_stream *stream); /* NULL is fine */
/* Calls `take` one or several times. FM_E_CORRUPT: an access is of a size that no trace has; what was before
 * it was taken. */
FM_API fm_status fm_block_stream_feed(fm_block_stream *stream, const fm_batch *batch, fm_block_taker take,
                                      void *context, fm_error *error);

#ifdef __cplusplus
}
#endif
#endif
