/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.h - what every verb that makes profiles shares: a job of the library that is listened to, and where
 * its results go.
 *
 *     cli_parse, cli_results_check    the options make sense
 *     cli_job_begin                   a job, whose notes and progress are shown
 *     fm_job_trace, fm_job_run, …     the verb's source
 *     cli_job_end                     what failed is said; else results are written and shown
 */
#ifndef FATHOM_CLI_RESULTS_H
#define FATHOM_CLI_RESULTS_H

#include "analysis_options.h"
#include "attribution_output.h"
#include "cli.h"

#include <fathom/job.h>

/* Where the text goes that people read: verbs that run a program leave standard output to it. */
typedef enum cli_text_place { CLI_TEXT_OUT, CLI_TEXT_ERROR } cli_text_place;

typedef struct cli_results {
    const char *json, *report, *output, *distances; /* NULL: not asked for; the text goes where `text` says */
    bool no_source;
    const cli_attribution_options *attribution;
    cli_text_place text;
    unsigned file_width; /* of text in a file */
    const char *also;    /* what else one can ask */
} cli_results;

/* Wrong combinations: two results on standard output, words about a page that is not written. -1, or an exit
 * code after a message. */
int cli_results_check(const cli_results *results);
/* Tries whether files can be written, before anything takes its time. */
int cli_results_try(const cli_results *results);

/* A job, and what was heard of it. */
typedef struct cli_job {
    fm_job *job;
    const cli_results *results;
    fm_cache caches[FM_JOB_CACHES];
    cli_progress progress;
    bool progress_asked; /* also where standard error is no terminal */
    int code;            /* of what was said already; -1: nothing was */
} cli_job;

/* What the options of an analysis mean for a job. */
fm_job_options cli_job_options(const cli_analysis *analysis);
/* options: all but who listens and what `results` says. -1, or an exit code after a message. */
int cli_job_begin(cli_job *self, const cli_results *results, const fm_job_options *options, bool progress);
/* After the source's call: says what failed; else results are written and shown. The exit code. */
int cli_job_end(cli_job *self, fm_status status, const fm_error *error);
void cli_job_destroy(cli_job *self);

/* Listeners (fathom/job.h) for what is not a job; context is not looked at. */
void cli_hear_note(void *context, const char *line);
void cli_hear_warning(void *context, const char *line);

#endif
