/* SPDX-License-Identifier: Apache-2.0 */
/* static_run.h - what fathom static is asked for, and what it has found so far; shared by the files that do
 * it. */
#ifndef FATHOM_CLI_STATIC_RUN_H
#define FATHOM_CLI_STATIC_RUN_H

#include "cli.h"
#include "results.h"

enum { CLI_MOST_PARAMETERS = 64, CLI_MOST_FLAGS = 256, CLI_MOST_ASSUMPTIONS = 64, CLI_MOST_SET_CACHES = 16 };

typedef struct cli_static_options {
    const char *function, *language, *layout, *bins, *method, *json, *report, *output, *ir, *machine, *caches,
        *emit_machine, *c;
    cli_joined parameters, assumptions, change, open;
    uint64_t granularity, threads, samples;
    double limit;
    bool no_source, scalars, counts, verify, progress, suggest, symbolic;
    cli_attribution_options attribution;
} cli_static_options;

typedef struct cli_static_run {
    const cli_static_options *options;
    const char *path;
    fm_job_value parameters[CLI_MOST_PARAMETERS];
    size_t parameter_count;
    char *texts[2]; /* that names and assumptions point into */
    const char *assumptions[CLI_MOST_ASSUMPTIONS + 1];
    const char *flags[CLI_MOST_FLAGS + 1];
    size_t flag_count;
    fm_layout layout;
    fm_bins bins;
    fm_set_misses sets[CLI_MOST_SET_CACHES]; /* as asked for by --cache */
    size_t set_count;
    fm_machine *machine; /* NULL: none is described */
    cli_job job;
    fm_region *region; /* the job's */
} cli_static_run;

/* Each returns -1 to go on, or an exit code after a message. */

/* --param, --assume, --cache, --machine-file. */
int cli_static_split(cli_static_run *run);
int cli_static_check_caches(cli_static_run *run);
int cli_static_read_machine(cli_static_run *run);
/* --emit-machine */
int cli_static_write_machine(const cli_static_run *run);
/* --counts, for people. */
void cli_counts_show(FILE *out, const fm_region *region, const fm_region_counts *counts);

/* --symbolic and --emit-c: formulas of the region, with its parameters open. *found is false where there are
 * none, and a note has said why: the parameters have their values then. */
int cli_static_symbolic(cli_static_run *run, bool *found);
/* The same for a file of formulas: their values. */
int cli_static_evaluate(cli_static_run *run);

/* The open parameters, "n, m"; "" where there are none. Returns text. */
const char *cli_static_open_parameters(const fm_region *region, char *text, size_t size);

#endif
