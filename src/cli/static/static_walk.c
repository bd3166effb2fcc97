/* SPDX-License-Identifier: Apache-2.0 */
/* static_walk.c - see static_walk.h. It joins the walk and a pipeline; it computes nothing itself. */
#include "static/static_walk.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct walked {
    fm_pipeline *pipeline; /* NULL: fed as it comes */
    fm_analyzer *analyzer;
    cli_progress progress;
    uint64_t done, total;
    double deadline;
} walked;

static fm_status visit(void *context, const uint64_t *addresses, const uint32_t *sizes, const uint32_t *tags,
                       size_t count, fm_error *error)
{
    walked *self = context;
    const fm_batch batch = {.count = count, .address = addresses, .size = sizes, .tag = tags};
    fm_status status = self->pipeline
                           ? fm_pipeline_feed(self->pipeline, &batch, &self->analyzer, 1, NULL, error)
                           : fm_analyzer_feed(self->analyzer, &batch, error);
    self->done += count;
    cli_progress_update(&self->progress, self->done,
                        self->total ? (double)self->done / (double)self->total : -1);
    if (status == FM_OK && cli_now() > self->deadline) {
        *error = (fm_error){.status = FM_E_LIMIT, .reason = "the time allowed is over"};
        return FM_E_LIMIT;
    }
    return status;
}

fm_status cli_walk(const fm_region *region, const cli_walk_options *options, fm_profile **profile,
                   fm_raw_pair **pairs, size_t *pair_count, fm_error *error)
{
    walked self = {.deadline = cli_now() + options->limit_seconds};
    if (options->counts)
        self.total = strtoull(options->counts->loads, NULL, 10) + strtoull(options->counts->stores, NULL, 10);
    const fm_analyzer_options what = {.granularity = options->granularity,
                                      .bins = options->bins,
                                      .edges = options->edges,
                                      .edge_count = options->edge_count};
    const fm_pipeline_options threads = {
        .threads = options->threads - 1 < FM_PIPELINE_THREADS ? options->threads - 1 : FM_PIPELINE_THREADS};
    *profile = NULL;
    *pairs = NULL;
    cli_progress_start(&self.progress, "accesses", options->progress);
    fm_status status = fm_analyzer_create(&self.analyzer, &what, error);
    if (status == FM_OK && options->threads > 1) status = fm_pipeline_create(&self.pipeline, &threads, error);
    if (status == FM_OK)
        status = fm_region_walk(region, options->granularity, options->layout, visit, &self, error);
    if (status == FM_OK && self.pipeline) status = fm_pipeline_drain(self.pipeline, error);
    fm_pipeline_destroy(self.pipeline);
    cli_progress_end(&self.progress);
    if (status == FM_OK) status = fm_analyzer_pairs(self.analyzer, pairs, pair_count, error);
    if (status == FM_OK) status = fm_analyzer_profile(self.analyzer, profile, error);
    fm_analyzer_destroy(self.analyzer);
    if (status != FM_OK) {
        free(*pairs);
        *pairs = NULL;
    }
    return status;
}
