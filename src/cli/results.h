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

#include "cli.h"

#include <fathom/job.h>

/* ---- options ---- */

typedef struct cli_attribution_options {
    bool no_sites, embed_source;
    const char *callgrind, *csv;
    const char *sizes;
    const char *by; /* NULL: lines */
    bool pairs, histogram;
    uint64_t top; /* to be set to CLI_TOP before options are parsed */
} cli_attribution_options;

/* To be put into a verb's table of options; --no-sites (and --sites, where there is one) is the verb's own.
 */
#define CLI_ATTRIBUTION_OPTIONS(a)                                                                           \
    {"callgrind", CLI_TO(&(a)->callgrind)}, {"csv", CLI_TO(&(a)->csv)}, {"size", CLI_TO(&(a)->sizes)},       \
        {"embed-source", CLI_TO(&(a)->embed_source)}, CLI_SCREEN_OPTIONS(a)

/* What is shown at the end. */
#define CLI_SCREEN_OPTIONS(a)                                                                                \
    {"by", CLI_TO(&(a)->by)}, {"pairs", CLI_TO(&(a)->pairs)}, {"histogram", CLI_TO(&(a)->histogram)},        \
    {                                                                                                        \
        "top", CLI_TO(&(a)->top)                                                                             \
    }

/* --by: line where nothing is given. */
int cli_parse_by(const char *text, fm_by *by);
/* --source: folders separated by colons, as in PATH; text is cut up. */
int cli_split_folders(char *text, const char **folders, size_t most, size_t *count);
/* Wrong combinations: files asked for with --no-sites, several results on standard output (json is the verb's
 * --json, or NULL), text for a profile that is not written. */
int cli_attribution_check(const cli_attribution_options *options, const char *json);
/* The list of --size as at most FM_JOB_CACHES caches. zero_is_fine: a size of 0 will be looked at again, when
 * blocks are known. */
int cli_parse_sizes(const char *list, fm_cache *caches, size_t *count, bool zero_is_fine);
/* What is to be shown; also: what else one can ask, or NULL. */
int cli_screen(const cli_attribution_options *asked, const char *also, fm_screen_options *screen);

/* The caches of stored profiles: of --size, in the order they are named; else those that the profiles were
 * asked about; else those of this machine (none, and a note, where they cannot be read). */
typedef struct cli_caches {
    fm_cache caches[FM_JOB_CACHES];
    size_t count;
} cli_caches;
int cli_stored_caches(const cli_attribution_options *options, const fm_profile *const *profiles, size_t count,
                      cli_caches *found);

/* ---- a job ---- */

/* Where the text goes that people read: verbs that run a program leave standard output to it. */
typedef enum cli_text_place { CLI_TEXT_OUT, CLI_TEXT_ERROR } cli_text_place;

typedef struct cli_results {
    const char *json, *report, *output, *distances; /* NULL: not asked for; the text goes where `text` says */
    bool no_source, no_text, no_profiles;           /* the job makes something else */
    uint64_t depth;                                 /* of phases */
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

/* ---- the exit status of a program ---- */

/* --pass-status of run, record and sample: the program's own exit status is fathom's. */

#define CLI_PROGRAM_EXITS "0 complete, 1 no result, 2 bad usage, 3 incomplete (PROGRAM's is printed)"

/*
 * The exit code instead of `code`, that of the verb, which has said why where it is not 0. A signal that
 * killed the program is handed on although its profile is incomplete by that; an exit status only where
 * nothing is missing.
 */
int cli_pass_status(int code, const fm_job_end *end);

/* ---- stored profiles ---- */

/* One profile out of a file that may hold several granularities. */

/* The option, and its older spelling, which means something else in verbs that analyse. */
#define CLI_SELECT_OPTION(target)                                                                            \
    {"select", CLI_TO(target)},                                                                              \
    {                                                                                                        \
        "granularity", CLI_OLD("select")                                                                     \
    }

/* The profile of this granularity, or NULL. 0 is any: the first one. */
const fm_profile *cli_profile_find(const fm_profile_list *list, uint64_t granularity);
/* The same, with a message that lists what there is: NULL after it. path is for the message. */
const fm_profile *cli_profile_choose(const fm_profile_list *list, uint64_t granularity, const char *path);
/* One of each at a granularity that both have: the one asked for, or the first of a that b has too. paths[1]
 * and paths[2] are for messages. False after one. */
bool cli_profile_choose_two(const fm_profile_list *a, const fm_profile_list *b, uint64_t granularity,
                            char **paths, const fm_profile **of_a, const fm_profile **of_b);
/* A note on standard error for a profile whose input was incomplete. Returns the exit code for it. */
int cli_profile_completeness(const fm_profile *profile, const char *path);

#endif
