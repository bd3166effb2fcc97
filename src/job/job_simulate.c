/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_simulate.c - all references of a trace go past a virtual sampler, and what that saw goes to an
 * estimator: how far an estimate is from the truth. It joins reader, sampler, estimator and profile; it
 * computes nothing itself.
 */
#include "job/job_internal.h"
#include <fathom/experimental/checks.h>
#include <fathom/experimental/pipeline.h>
#include <fathom/experimental/simulate.h>

#include "base/error.h"
#include "base/memory.h"

#include <fathom/experimental/simulate.h>

#include <stdlib.h>
#include <string.h>

typedef struct simulation {
    fm_job *job;
    const char *path;
    fm_virtual_sampler_options options;
    fm_estimate_options estimating;
    fm_reader *reader;
    fm_block_stream *stream;
    fm_virtual_sampler *sampler;
    fm_site_index *sites; /* NULL: the trace has none, or they are not wanted */
    uint32_t tags[FM_BATCH_MAX];
    fm_samples *samples;
    fm_estimate *estimate;
} simulation;

static fm_status open_trace(simulation *self, const fm_reader_options *reading, fm_error *error)
{
    fm_job *job = self->job;
    fm_trace_info info;
    fm_status status = fm_reader_open(&self->reader, self->path, reading, error);
    if (status != FM_OK) return status;
    fm_reader_opened_notes(self->reader, job->count ? job->granularity[0] : 0, job->options.note,
                           job->options.context);
    fm_reader_info(self->reader, &info);
    fm_job_granularity_default(job, info.memory_addresses ? 64 : 1);
    self->options.granularity = job->granularity[0];
    status = fm_job_opened(job, info.memory_addresses, error);
    if (status != FM_OK) return status;
    fm_job_find_caches(job, info.memory_addresses);
    fm_job_cut_edges(job);
    status = fm_block_stream_create(&self->stream, self->options.granularity, error);
    if (status == FM_OK) status = fm_virtual_sampler_create(&self->sampler, &self->options, error);
    if (status == FM_OK && info.columns & FM_COLUMN_SITE && !job->options.no_sites)
        status = fm_site_index_create(&self->sites, error);
    return status;
}

static fm_status pass_blocks(void *context, const uint64_t *blocks, const uint32_t *tags, size_t count,
                             fm_error *error)
{
    return fm_virtual_sampler_feed(((simulation *)context)->sampler, blocks, tags, count, error);
}

static fm_status take_batch(simulation *self, fm_batch *batch, fm_error *error)
{
    fm_status status = FM_OK;
    if (self->sites) {
        status = fm_site_index_tags(self->sites, batch->site, batch->count, self->tags, error);
        batch->tag = self->tags;
    }
    return status ? status : fm_block_stream_feed(self->stream, batch, pass_blocks, self, error);
}

static fm_status read_trace(simulation *self, fm_error *error)
{
    fm_job *job = self->job;
    fm_status failure = FM_OK;
    fm_job_progress_begin(job, "references", false);
    for (bool more = true; more;) {
        fm_batch batch;
        fm_trace_info info;
        fm_status status = fm_reader_next(self->reader, &batch, error);
        more = status == FM_OK ? batch.count > 0 : fm_status_is_damage(status);
        if (status == FM_OK && more) {
            status = take_batch(self, &batch, error);
            more = status == FM_OK; /* an access of a size that no trace has ends it */
        }
        if (fm_status_is_damage(status))
            fm_job_hear_damage(job, error);
        else
            failure = status;
        if (!more) break;
        fm_reader_info(self->reader, &info);
        fm_job_progress_at(job, info.references,
                           info.bytes_total ? (double)info.bytes_read / (double)info.bytes_total : -1);
    }
    fm_job_progress_end(job);
    if (failure == FM_OK)
        fm_reader_ended_notes(self->reader, true, job->options.note, job->options.warn, job->options.context);
    return failure;
}

static fm_status make_estimate(simulation *self, fm_error *error)
{
    fm_job *job = self->job;
    fm_estimate_options *options = &self->estimating;
    options->edges = job->edges;
    options->edge_count = job->edge_count;
    options->late_from = job->late_from;
    fm_status status = fm_virtual_sampler_finish(self->sampler, &self->samples, error);
    if (status == FM_OK) status = fm_estimate_create(&self->estimate, self->samples, options, error);
    /* Options were looked at before: what is wrong now is the trace. */
    if (status == FM_E_ARGUMENT && error) error->status = FM_E_UNSUPPORTED;
    if (status != FM_OK) return status;
    fm_profile *profile = self->estimate->profile;
    profile->name = strdup(strcmp(self->path, "-") != 0 ? self->path : "standard input");
    return profile->name ? fm_job_mark(job, profile, error)
                         : fm_fail_memory(error, strlen(self->path), "a name");
}

static fm_status describe_sites(void *context, fm_attribution *attribution, const uint32_t **map,
                                size_t *map_count, fm_error *error)
{
    const simulation *self = context;
    const fm_trace_module *modules;
    size_t count;
    fm_reader_modules(self->reader, &modules, &count);
    const fm_status status =
        fm_site_index_describe(self->sites, modules, count, attribution, map, map_count, error);
    return status == FM_OK ? fm_estimate_tell_errors(self->estimate, attribution, *map, *map_count, error)
                           : status;
}

static fm_status attach_sites(simulation *self, fm_error *error)
{
    fm_job *job = self->job;
    const fm_estimate *estimate = self->estimate;
    if (!self->sites) return FM_OK;
    fm_status status = fm_job_attribute(job, estimate->profile, estimate->raw, estimate->raw_count,
                                        job->late_from, describe_sites, self, false, error);
    return status == FM_OK ? fm_job_record_sources(job, estimate->profile, error) : status;
}

static fm_status simulate_trace(simulation *self, const fm_reader_options *reading, fm_error *error)
{
    fm_job *job = self->job;
    fm_status status = open_trace(self, reading, error);
    if (status == FM_OK) status = read_trace(self, error);
    if (status == FM_OK) status = make_estimate(self, error);
    if (status == FM_OK) status = attach_sites(self, error);
    if (status != FM_OK) return status;
    job->profile[0] = self->estimate->profile;
    self->estimate->profile = NULL;
    return fm_profile_check((const fm_profile *const *)job->profile, 1, error);
}

fm_status fm_job_simulate_sized(size_t reading_size, size_t sampler_size, size_t estimate_size, fm_job *job,
                                const char *path, const fm_reader_options *reading,
                                const fm_virtual_sampler_options *sampler,
                                const fm_estimate_options *estimate, fm_error *error)
{
    fm_reader_options own;
    FM_REQUIRE(job, error);
    FM_REQUIRE(path, error);
    simulation *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "a simulation");
    self->job = job;
    self->path = path;
    fm_status status =
        fm_sized_read(&own, sizeof own, reading, reading ? reading_size : 0, "fm_reader_options", error);
    if (status == FM_OK)
        status = fm_sized_read(&self->options, sizeof self->options, sampler, sampler ? sampler_size : 0,
                               "fm_virtual_sampler_options", error);
    if (status == FM_OK)
        status = fm_sized_read(&self->estimating, sizeof self->estimating, estimate,
                               estimate ? estimate_size : 0, "fm_estimate_options", error);
    if (status == FM_OK) status = fm_job_begin(job, FM_JOB_TRACE, error);
    own.read_ahead = fm_job_threads(job) > 1;
    if (status == FM_OK) status = simulate_trace(self, &own, error);
    fm_estimate_destroy(self->estimate);
    fm_samples_destroy(self->samples);
    fm_virtual_sampler_destroy(self->sampler);
    fm_block_stream_destroy(self->stream);
    fm_site_index_destroy(self->sites);
    fm_reader_close(self->reader);
    free(self);
    return status;
}
