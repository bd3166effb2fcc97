/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_profiles.h - from a running program's references to its profiles: an analyzer for each process and
 * granularity, one for each thread where asked for; at the end a tree of profiles.
 */
#ifndef FATHOM_CLI_RUN_PROFILES_H
#define FATHOM_CLI_RUN_PROFILES_H

#include "analysis_options.h"
#include "attribution_output.h"
#include "collect_options.h"

typedef struct cli_run_profiles cli_run_profiles;

typedef struct cli_run_setup {
    const cli_analysis *analysis; /* with at least one granularity */
    const cli_attribution_caches *caches;
    bool sites;        /* attribution, of the first granularity */
    bool reproducible; /* nothing in the profiles that differs from run to run: numbers for pids, no times */
    bool threads_private; /* a profile for each thread, too */
    unsigned threads;     /* that analyse, 1 to FM_PIPELINE_THREADS; 0: the one that receives does */
    fm_output *distances; /* where those of the first process go; NULL: nowhere */
} cli_run_setup;

/* Both return -1, or an exit code after a message. */
int cli_run_profiles_create(cli_run_profiles **profiles, const cli_run_setup *setup,
                            fm_collection *collection);
int cli_run_profiles_feed(cli_run_profiles *profiles, const fm_collected *collected);

/*
 * One profile for each granularity. Where there were several processes it is their sum, and each process is
 * one of its parts; the threads of a process are parts of the process's. The caller destroys them.
 */
int cli_run_profiles_take(cli_run_profiles *profiles, const fm_collect_options *options, fm_profile **result);
void cli_run_profiles_destroy(cli_run_profiles *profiles); /* NULL is fine */

#endif
