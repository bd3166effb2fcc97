/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_simulate.c - fathom simulate: all references of a trace go past a virtual sampler, and what
 * that saw goes to an estimator. It joins reader, sampler, estimator, profile and views; it computes nothing
 * itself.
 */
#include "sample/sample_simulate.h"
#include "reading.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 100000 }; /* of the bootstrap, as the library has it */

typedef struct simulation {
    cli_reading heard;
    const cli_sample_simulation *how;
    const cli_estimate_options *estimating;
    const cli_attribution_options *attribution;
    const fm_estimator_info *estimator;
    fm_virtual_sampler_options options;
    fm_reader *reader;
    fm_block_stream *stream;
    fm_virtual_sampler *sampler;
    fm_site_index *sites; /* NULL: the trace has none, or they are not wanted */
    uint32_t tags[FM_BATCH_MAX];
    fm_samples *samples;
    fm_estimate *estimate;
    cli_attribution_caches caches;
    uint64_t edges[CLI_MOST_EDGES];
    uint64_t late_from; /* what misses the smallest of the caches is late */
    size_t edge_count;
    bool memory_addresses;
} simulation;

/* ---- options ---- */

static int choose_estimator(simulation *self)
{
    const char *name = self->estimating->estimator;
    const fm_estimator_info *info = fm_estimator_at(0);
    for (size_t i = 1; name && info && strcmp(name, info->name) != 0; i++) info = fm_estimator_at(i);
    if (!info) return cli_misuse("--estimator: there is none called '%s'", name);
    self->estimator = info;
    const char *reservoir = self->how->reservoir;
    self->options.plain_reservoir = info->plain_reservoir;
    if (!reservoir) return -1;
    if (strcmp(reservoir, "capped") != 0 && strcmp(reservoir, "plain") != 0)
        return cli_misuse("--reservoir: expected capped or plain, found '%s'", reservoir);
    self->options.plain_reservoir = strcmp(reservoir, "plain") == 0;
    return -1;
}

static int choose_bursts(simulation *self)
{
    const char *text = self->how->bursts;
    if (!text) return -1;
    char copy[64];
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy;
    const char *length = strsep(&rest, ":");
    uint64_t steps = 1;
    if (strlen(text) >= sizeof copy || !cli_parse_count(length, &self->options.burst_length) ||
        (rest && !cli_parse_count(rest, &steps)) || steps == 0 || steps > UINT32_MAX ||
        self->options.burst_length == 0)
        return cli_misuse("--bursts: expected LENGTH or LENGTH:STEPS such as 4K:4, found '%s'", text);
    if (!self->estimator->bursts)
        return cli_misuse("--bursts: the estimator %s is for samples of single references",
                          self->estimator->name);
    self->options.bursts = true;
    self->options.burst_steps = (unsigned)steps;
    return -1;
}

static int choose(simulation *self)
{
    int code = choose_estimator(self);
    if (code < 0) code = choose_bursts(self);
    if (code >= 0) return code;
    const cli_sample_simulation *how = self->how;
    const char *conversion = self->estimating->conversion;
    if (conversion && strcmp(conversion, "aet") != 0 && strcmp(conversion, "shen") != 0)
        return cli_misuse("--conversion: expected aet or shen, found '%s'", conversion);
    if (self->estimating->period == UINT64_MAX)
        return cli_misuse("--period: how many references there are from sample to sample must be said");
    if (self->estimating->period == 0) return cli_misuse("--period: expected at least 1 reference");
    if (how->registers < 1 || how->registers > FM_MOST_REGISTERS)
        return cli_misuse("--registers: expected 1 to %d, found %" PRIu64, FM_MOST_REGISTERS, how->registers);
    if (self->estimating->bootstrap < 1 || self->estimating->bootstrap > MOST_ROUNDS)
        return cli_misuse("--bootstrap: expected 1 to %d rounds, found %" PRIu64, MOST_ROUNDS,
                          self->estimating->bootstrap);
    self->options.period = self->estimating->period;
    self->options.registers = (unsigned)how->registers;
    self->options.seed = how->seed;
    self->options.even = how->even;
    self->options.again = 1;
    self->options.stratified = 1;
    const char *granularity = self->estimating->granularity;
    uint64_t *bytes = &self->options.granularity;
    if (granularity && (!cli_parse_bytes(granularity, bytes) || *bytes == 0 || *bytes & (*bytes - 1)))
        return cli_misuse("--granularity: expected a power of two, found '%s'", granularity);
    return -1;
}

/* ---- the trace ---- */

static int open_trace(simulation *self)
{
    fm_error error;
    fm_trace_info info;
    fm_reader_options reading = {0};
    int code = cli_reader_options(&self->how->reading, &reading);
    if (code >= 0) return code;
    reading.read_ahead = fm_analyzer_processors() > 1;
    if (fm_reader_open(&self->reader, self->how->trace, &reading, &error)) return cli_fail(&error);
    cli_trace_key_notes(self->reader, self->options.granularity);
    fm_reader_info(self->reader, &info);
    self->memory_addresses = info.memory_addresses;
    if (self->options.granularity == 0) self->options.granularity = info.memory_addresses ? 64 : 1;
    code = cli_check_sizes(self->attribution->sizes, self->options.granularity,
                           self->options.granularity == 1 && !info.memory_addresses ? "keys" : NULL);
    if (code < 0 && (info.memory_addresses || self->attribution->sizes))
        code = cli_attribution_find_caches(self->attribution, &self->caches);
    if (code >= 0) return code;
    self->edge_count = cli_attribution_edges(&self->caches, self->options.granularity, self->edges);
    self->late_from = self->edges[cli_attribution_late_range(&self->caches, self->options.granularity,
                                                             self->edges, self->edge_count)];
    if (fm_block_stream_create(&self->stream, self->options.granularity, &error) ||
        fm_virtual_sampler_create(&self->sampler, &self->options, &error))
        return cli_fail(&error);
    const bool sites = info.columns & FM_COLUMN_SITE && !self->attribution->no_sites;
    if (sites && fm_site_index_create(&self->sites, &error)) return cli_fail(&error);
    return -1;
}

static fm_status pass_on(void *context, const uint64_t *blocks, const uint32_t *tags, size_t count,
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
    return status ? status : fm_block_stream_feed(self->stream, batch, pass_on, self, error);
}

static int read_trace(simulation *self, bool progress)
{
    fm_error error;
    int code = -1;
    cli_progress_start(&self->heard.progress, "references", progress);
    for (;;) {
        fm_batch batch;
        fm_trace_info info;
        fm_status status = fm_reader_next(self->reader, &batch, &error);
        bool more = status == FM_OK ? batch.count > 0 : fm_status_is_damage(status);
        if (status == FM_OK && more) {
            status = take_batch(self, &batch, &error);
            more = status == FM_OK; /* an access of a size that no trace has ends it */
        }
        if (fm_status_is_damage(status))
            cli_reading_damage(&self->heard, &error);
        else if (status)
            code = cli_fail(&error);
        if (!more || code >= 0) break;
        fm_reader_info(self->reader, &info);
        cli_progress_update_read(&self->heard.progress, &info);
    }
    cli_progress_end(&self->heard.progress);
    if (code < 0) cli_trace_notes(self->reader);
    if (code < 0) cli_trace_note_new_keys(self->reader);
    return code;
}

/* ---- results ---- */

static int make_estimate(simulation *self)
{
    fm_error error;
    const fm_estimate_options options = {.estimator = self->estimator->name,
                                         .conversion = self->estimating->conversion,
                                         .bootstrap = (unsigned)self->estimating->bootstrap,
                                         .seed = self->how->seed,
                                         .edges = self->edges,
                                         .edge_count = self->edge_count,
                                         .late_from = self->late_from};
    /* Options were looked at before: what is wrong now is the trace. */
    if (fm_virtual_sampler_finish(self->sampler, &self->samples, &error) ||
        fm_estimate_create(&self->estimate, self->samples, &options, &error)) {
        cli_fail(&error);
        return CLI_FAILED;
    }
    fm_profile *profile = self->estimate->profile;
    profile->name = strdup(strcmp(self->how->trace, "-") != 0 ? self->how->trace : "standard input");
    return profile->name ? cli_reading_mark(&self->heard, profile) : cli_out_of_memory();
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

static int attach_sites(simulation *self)
{
    if (!self->sites) return -1;
    const fm_estimate *estimate = self->estimate;
    const int code =
        cli_attribution_attach(estimate->profile, estimate->raw, estimate->raw_count, self->edges,
                               self->edge_count, self->late_from, describe_sites, self, false);
    return code < 0 ? cli_attribution_record_sources(self->attribution, estimate->profile) : code;
}

static int show(const simulation *self)
{
    const fm_view_options view = cli_view_options();
    const fm_profile *profile = self->estimate->profile;
    return cli_attribution_show(stdout, &view, self->attribution, &profile, 1, &self->caches, NULL);
}

static int deliver(const simulation *self, const char *json)
{
    fm_error error;
    const fm_profile *profile = self->estimate->profile;
    int code = -1;
    if (json && fm_profile_write(json, &profile, 1, &error)) return cli_fail(&error);
    if (profile->attribution) code = cli_attribution_write(self->attribution, profile, &self->caches);
    const bool taken = cli_is_stdout(json) || cli_attribution_takes_stdout(self->attribution);
    if (code < 0 && !taken) code = show(self);
    return code >= 0 ? code : self->heard.damages ? CLI_INCOMPLETE : CLI_COMPLETE;
}

int cli_sample_simulate(const cli_sample_simulation *how, const cli_estimate_options *estimating,
                        const cli_attribution_options *attribution, const char *json, bool progress)
{
    simulation *self = calloc(1, sizeof *self);
    if (!self) return cli_out_of_memory();
    self->how = how;
    self->estimating = estimating;
    self->attribution = attribution;
    int code = choose(self);
    if (code < 0) code = open_trace(self);
    if (code < 0) code = read_trace(self, progress);
    if (code < 0) code = make_estimate(self);
    if (code < 0) code = attach_sites(self);
    if (code < 0) code = deliver(self, json);
    fm_estimate_destroy(self->estimate);
    fm_samples_destroy(self->samples);
    fm_virtual_sampler_destroy(self->sampler);
    fm_block_stream_destroy(self->stream);
    fm_site_index_destroy(self->sites);
    fm_reader_close(self->reader);
    free(self);
    return code;
}
