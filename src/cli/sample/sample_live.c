/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_live.c - fathom sample -- PROGRAM: options for a job of the library (fathom/job.h).
 */
#include "results.h"
#include "sample/sample_options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct live_run {
    const cli_live_options *how;
    const cli_estimate_options *estimating;
    const cli_results *results;
    cli_analysis analysis; /* granularities */
    fm_sampled_run_options options;
} live_run;

/* ---- options ---- */

static int check_overhead(live_run *self)
{
    const char *text = self->how->overhead;
    if (!text) return -1;
    char number[32];
    double value;
    const size_t length = strlen(text), digits = length && text[length - 1] == '%' ? length - 1 : length;
    snprintf(number, sizeof number, "%.*s", (int)digits, text);
    if (digits >= sizeof number || !cli_parse_real(number, &value) || !(value > 0 && value <= 100))
        return cli_misuse("--overhead: expected a percentage above 0 such as 2%%, found '%s'", text);
    self->options.overhead = value / 100;
    return -1;
}

static int check_numbers(live_run *self)
{
    const cli_live_options *how = self->how;
    const uint64_t period = self->estimating->period;
    if (how->rate != -1 && !(how->rate > 0 && how->rate <= 4000))
        return cli_misuse("--rate: expected more than 0 and at most 4000 samples a second");
    if (how->rate != -1 && period != UINT64_MAX)
        return cli_misuse("--rate and --period: samples are taken by time or by accesses, not by both");
    if (period == 0) return cli_misuse("--period: expected at least 1 access");
    if (how->duration != -1 && !(how->duration > 0))
        return cli_misuse("--limit-time: expected more than 0 seconds");
    if (self->estimating->bootstrap < 1 || self->estimating->bootstrap > UINT32_MAX)
        return cli_misuse("--bootstrap: expected 1 or more rounds");
    self->options.rate = how->rate > 0 ? how->rate : 0;
    self->options.period = period == UINT64_MAX ? 0 : period;
    self->options.limit_seconds = how->duration > 0 ? how->duration : 0;
    return check_overhead(self);
}

/* The estimator, and the method that has samples for it. */
static int check_method(live_run *self)
{
    const char *method = self->how->method, *name = self->estimating->estimator;
    fm_sampled_run_method *chosen = &self->options.method;
    if (method && strcmp(method, "software") != 0 && strcmp(method, "pmu") != 0)
        return cli_misuse("--sampler: expected pmu or software, found '%s'", method);
    *chosen = !method                      ? FM_SAMPLED_RUN_ANY
              : strcmp(method, "pmu") == 0 ? FM_SAMPLED_RUN_PMU
                                           : FM_SAMPLED_RUN_SOFTWARE;
    if (self->how->no_watches && *chosen == FM_SAMPLED_RUN_PMU)
        return cli_misuse("--no-watches: with --sampler pmu there is nothing but what is watched");
    if (self->how->mean_rate && *chosen == FM_SAMPLED_RUN_PMU)
        return cli_misuse("--mean-rate: with --sampler pmu samples are by accesses, and need no rate");
    if (self->how->mean_rate) *chosen = FM_SAMPLED_RUN_SOFTWARE;
    const fm_estimator_info *info = fm_estimator_at(0);
    for (size_t i = 1; name && info && strcmp(name, info->name) != 0; i++) info = fm_estimator_at(i);
    if (!info) return cli_misuse("--estimator: there is none called '%s'", name);
    self->options.plain_reservoir = info->plain_reservoir;
    if (info->bursts) return -1;
    if (*chosen == FM_SAMPLED_RUN_SOFTWARE || self->how->no_watches)
        return cli_misuse(
            "--estimator: %s is for samples of single accesses, that is for --sampler pmu; a clock "
            "samples bursts",
            name);
    *chosen = FM_SAMPLED_RUN_PMU;
    return -1;
}

/* The number of a process. */
static int parse_process(const char *text, uint32_t *pid)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno || value == 0 || value > INT32_MAX)
        return cli_misuse("--pid: expected the number of a process such as 4711, found '%s'", text);
    *pid = (uint32_t)value;
    return -1;
}

/* The program: a command, or a process that runs. */
static int check_program(live_run *self, char **command)
{
    const cli_live_options *how = self->how;
    self->options.command = command;
    if (!how->pid) return -1;
    const int code = parse_process(how->pid, &self->options.pid);
    if (code >= 0) return code;
    if (command) return cli_misuse("--pid: a process that runs is sampled, or a program is run, not both");
    if (how->follow_children)
        return cli_misuse("--follow-children: children of a process that runs already are not sampled");
    return -1;
}

static int check_options(live_run *self, char **command, uint64_t seed)
{
    const cli_live_options *how = self->how;
    const cli_analysis_options analysis = {.granularity = self->estimating->granularity,
                                           .max_memory = UINT64_MAX};
    int code = cli_analysis_check(&analysis, &self->analysis);
    if (code < 0) code = check_numbers(self);
    if (code < 0) code = check_method(self);
    if (code < 0) code = cli_attribution_check(self->results->attribution, how->json);
    if (code >= 0) return code;
    if (how->call_paths && self->results->attribution->no_sites)
        return cli_misuse("--call-paths and --no-sites contradict each other");
    if ((code = cli_results_check(self->results)) >= 0) return code;
    if ((code = check_program(self, command)) >= 0) return code;
    self->options.follow_children = how->follow_children;
    self->options.no_watches = how->no_watches;
    self->options.mean_rate = how->mean_rate;
    self->options.call_paths = how->call_paths;
    self->options.signals = true;
    self->options.seed = seed;
    self->options.region = how->region;
    self->options.function = how->function;
    return -1;
}

static int sample_program(const live_run *self, fm_job_end *end)
{
    const fm_job_options analysis = cli_job_options(&self->analysis);
    const fm_estimate_options estimate = {.estimator = self->estimating->estimator,
                                          .conversion = self->estimating->conversion,
                                          .bootstrap = (unsigned)self->estimating->bootstrap};
    cli_job job;
    fm_error error;
    int code = cli_job_begin(&job, self->results, &analysis, self->how->progress);
    if (code >= 0) return code;
    const fm_status status = fm_job_sample(job.job, &self->options, &estimate, &error);
    code = cli_job_end(&job, status, &error);
    *end = fm_job_program_end(job.job);
    cli_job_destroy(&job);
    return code;
}

int cli_sample_live(const cli_live_options *live, const cli_estimate_options *estimate,
                    const cli_attribution_options *attribution, uint64_t seed, char **command,
                    fm_job_end *end)
{
    static const char also[] = "also: --pairs (who used it last), --histogram, --by function,\n"
                               "      --report page.html, fathom mrc, fathom diff before.json after.json\n";
    const cli_results results = {.json = live->json,
                                 .report = live->report,
                                 .output = live->output,
                                 .no_source = live->no_source,
                                 .attribution = attribution,
                                 .text = CLI_TEXT_ERROR,
                                 .file_width = 100,
                                 .also = also};
    live_run self = {.how = live, .estimating = estimate, .results = &results};
    const int code = check_options(&self, command, seed);
    return code < 0 ? sample_program(&self, end) : code;
}
