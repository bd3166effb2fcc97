/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_simulate.c - fathom simulate: options for a job of the library (fathom/job.h).
 */
#include "results.h"
#include "sample/sample_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 100000 }; /* of the bootstrap, as the library has it */

typedef struct simulation {
    const cli_sample_simulation *how;
    const cli_estimate_options *estimating;
    const fm_estimator_info *estimator;
    fm_virtual_sampler_options options;
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

static int choose_options(simulation *self)
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

int cli_sample_simulate(const cli_sample_simulation *how, const cli_estimate_options *estimating,
                        const cli_results *results, bool progress)
{
    simulation self = {.how = how, .estimating = estimating};
    const fm_estimate_options estimate = {.estimator = estimating->estimator,
                                          .conversion = estimating->conversion,
                                          .bootstrap = (unsigned)estimating->bootstrap,
                                          .seed = how->seed};
    fm_reader_options reading;
    fm_error error;
    cli_job job;
    int code = choose_options(&self);
    if (code < 0) code = cli_reader_options(&how->reading, &reading);
    if (code >= 0) return code;
    const fm_job_options analysis = {.granularity = &self.options.granularity,
                                     .granularity_count = self.options.granularity > 0};
    code = cli_job_begin(&job, results, &analysis, progress);
    if (code >= 0) return code;
    const fm_status status = fm_job_simulate(job.job, how->trace, &reading, &self.options, &estimate, &error);
    code = cli_job_end(&job, status, &error);
    cli_job_destroy(&job);
    return code;
}
