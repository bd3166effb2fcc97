/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - see results.h. */
#include "results.h"
#include "closing_text.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

int cli_results_check(const cli_results *results)
{
    int code = cli_attribution_check(results->attribution, results->json);
    if (code >= 0) return code;
    if (cli_is_stdout(results->json) + cli_is_stdout(results->distances) + cli_is_stdout(results->report) +
            cli_is_stdout(results->output) + cli_attribution_takes_stdout(results->attribution) >
        1)
        return cli_misuse("only one result can go to standard output");
    if (results->no_source && !results->report)
        return cli_misuse("--no-source is about the page that --report writes");
    if (results->report && !fm_report_available())
        return cli_misuse("--report: this build has no report page (it was built with FATHOM_REPORT=OFF)");
    return -1;
}

int cli_results_try(const cli_results *results)
{
    const char *const files[] = {results->json, results->report, results->output,
                                 results->attribution->callgrind, results->attribution->csv};
    return cli_try_outputs(files, sizeof files / sizeof *files);
}

fm_job_options cli_job_options(const cli_analysis *analysis)
{
    const fm_analyzer_options *analyzer = &analysis->analyzer;
    return (fm_job_options){.granularity = analysis->granularity,
                            .granularity_count = analysis->count,
                            .engine = analyzer->engine,
                            .engine_options = analyzer->engine_options,
                            .isa = analyzer->isa,
                            .bound = analyzer->bound,
                            .bins = analyzer->bins,
                            .time_distances = analyzer->time_distances,
                            .elements = analyzer->elements,
                            .max_memory = analysis->max_memory};
}

/* ---- who listens ---- */

void cli_hear_note(void *context, const char *line)
{
    char text[2048];
    (void)context;
    cli_note("%s", cli_option_words(line, text, sizeof text));
}

void cli_hear_warning(void *context, const char *line)
{
    (void)context;
    cli_complain("%s", line);
}

static void hear_progress(void *context, const fm_job_progress *at)
{
    cli_job *self = context;
    if (at->stage == FM_JOB_GOES_ON)
        cli_progress_update(&self->progress, at->done, at->fraction);
    else if (at->stage == FM_JOB_ENDS)
        cli_progress_end(&self->progress);
    else if (at->beside)
        cli_progress_start_beside(&self->progress, at->noun, self->progress_asked);
    else
        cli_progress_start(&self->progress, at->noun, self->progress_asked);
}

static void hear_failure(void *context, const fm_error *error)
{
    cli_job *self = context;
    self->code = cli_worse(self->code, cli_fail(error));
}

/* Sizes of caches are in the unit of what is analysed. */
static fm_status hear_opened(void *context, const fm_job_input *input, fm_error *error)
{
    cli_job *self = context;
    const bool keys = input->least_granularity == 1 && !input->memory_addresses;
    self->code = cli_check_sizes(self->results->attribution->sizes, input->least_granularity,
                                 input->elements ? "elements"
                                 : keys          ? "keys"
                                                 : NULL);
    fm_cache caches[FM_JOB_CACHES];
    size_t count;
    if (self->code < 0 && self->results->attribution->sizes)
        self->code = cli_parse_sizes(self->results->attribution->sizes, caches, &count, false);
    if (self->code < 0) return FM_OK;
    *error = (fm_error){.status = FM_E_ARGUMENT};
    return FM_E_ARGUMENT;
}

/* ---- the job ---- */

int cli_job_begin(cli_job *self, const cli_results *results, const fm_job_options *options, bool progress)
{
    fm_job_options own = *options;
    fm_error error;
    *self = (cli_job){.results = results, .progress_asked = progress, .code = -1};
    if (results->attribution->sizes) {
        const int code = cli_parse_sizes(results->attribution->sizes, self->caches, &own.cache_count, true);
        if (code >= 0) return code;
        own.caches = self->caches;
    }
    own.distances = results->distances;
    own.no_sites = results->attribution->no_sites;
    own.embed_source = results->attribution->embed_source;
    own.context = self;
    own.note = cli_quiet ? NULL : cli_hear_note;
    own.warn = cli_hear_warning;
    own.failed = hear_failure;
    own.progress = hear_progress;
    own.opened = hear_opened;
    return fm_job_create(&self->job, &own, &error) ? cli_fail(&error) : -1;
}

static int show_text(cli_job *self)
{
    const cli_results *results = self->results;
    const cli_attribution_options *asked = results->attribution;
    cli_closing_text text;
    fm_error error;
    fm_screen_options screen = {.top = asked->top, .pairs = asked->pairs, .histogram = asked->histogram};
    const bool out = results->text == CLI_TEXT_OUT && !results->output;
    int code = cli_parse_by(asked->by, &screen.by);
    if (code < 0) code = cli_closing_text_open(&text, out ? "-" : results->output, results->file_width);
    if (code >= 0) return code;
    if (out) text.view = cli_view_options();
    if (!cli_quiet && !asked->by) screen.also = results->also;
    code = fm_job_show(self->job, text.stream, &screen, &text.view, &error) ? cli_fail(&error) : -1;
    return cli_closing_text_close(&text, code);
}

int cli_job_end(cli_job *self, fm_status status, const fm_error *error)
{
    const cli_results *results = self->results;
    const fm_profile *const *profiles;
    const fm_job_files files = {.json = results->json,
                                .csv = results->attribution->csv,
                                .callgrind = results->attribution->callgrind,
                                .page = results->report,
                                .no_source = results->no_source};
    fm_error failure;
    if (status != FM_OK) return self->code >= 0 ? self->code : cli_fail(error);
    if (fm_job_profiles(self->job, &profiles) == 0) return CLI_COMPLETE; /* not the first rank */
    fm_job_write(self->job, &files, &failure);
    const bool taken = cli_is_stdout(results->json) || cli_is_stdout(results->distances) ||
                       cli_is_stdout(results->report) || cli_attribution_takes_stdout(results->attribution);
    /* A result that cannot be written does not take the text with it: a run may have taken long. */
    if (results->output || !taken) self->code = cli_worse(self->code, show_text(self));
    if (self->code >= 0) return self->code;
    return fm_job_is_complete(self->job) ? CLI_COMPLETE : CLI_INCOMPLETE;
}

void cli_job_destroy(cli_job *self)
{
    fm_job_destroy(self->job);
}
