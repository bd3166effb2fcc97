/* SPDX-License-Identifier: Apache-2.0 */
/* static_run.h - what fathom static is asked for, and what it has found so far; shared by the files that do
 * it. */
#ifndef FATHOM_CLI_STATIC_RUN_H
#define FATHOM_CLI_STATIC_RUN_H

#include "attribution_output.h"
#include "cli.h"

enum { CLI_MOST_PARAMETERS = 64, CLI_MOST_FLAGS = 256, CLI_MOST_ASSUMPTIONS = 64, CLI_MOST_SET_CACHES = 16 };

typedef struct cli_static_options {
    const char *function, *language, *layout, *bins, *method, *json, *report, *ir, *machine, *caches,
        *emit_machine, *c;
    cli_joined parameters, assumptions, change, open;
    uint64_t granularity, threads, samples;
    double limit;
    bool scalars, counts, verify, progress, suggest, symbolic;
    cli_attribution_options attribution;
} cli_static_options;

/* "n=1000": where the name ends, and the value. */
typedef struct cli_given {
    char *name;
    int64_t value;
    bool used;
} cli_given;

typedef struct cli_static_run {
    const cli_static_options *options;
    const char *path;
    cli_given parameters[CLI_MOST_PARAMETERS];
    size_t parameter_count;
    char *texts[2]; /* that the above point into */
    const char *assumptions[CLI_MOST_ASSUMPTIONS + 1];
    const char *flags[CLI_MOST_FLAGS + CLI_MOST_PARAMETERS + 1];
    size_t flag_count;
    char defines[CLI_MOST_PARAMETERS][96];
    fm_layout layout;
    fm_bins bins;
    unsigned threads;
    fm_region *region;
    cli_attribution_caches caches;
    uint64_t edges[CLI_MOST_EDGES];
    size_t edge_count;
    fm_region_counts *counts;                      /* NULL: not known */
    fm_set_misses set_misses[CLI_MOST_SET_CACHES]; /* as asked for by --cache */
    size_t set_count;
    fm_machine *machine; /* NULL: none is described */
    fm_profile *profile;
    fm_region *original; /* where region is a changed one (--what-if, --suggest) */
    fm_profile *before;  /* of the original */
    char change[1024];   /* what was changed */
    double began;
} cli_static_run;

/* Each returns -1 to go on, or an exit code after a message. */

/* --param and --assume. */
int cli_static_split(cli_static_run *run);
/* run->region, with its parameters. */
int cli_static_read(cli_static_run *run);
/* The same source once more, with scalar variables in memory. */
int cli_static_read_scalars(cli_static_run *run, fm_region **region);
bool cli_static_is_text_form(const cli_static_run *run);
/* --what-if and --suggest: run->original, and the changed run->region, which computes the same. run->caches
 * are known. */
int cli_static_change(cli_static_run *run);
/* The misses before and after, for people. */
void cli_static_show_change(FILE *out, const cli_static_run *run);

/* run->profile, with its kernel and its attribution, by the method that is asked for or the surest in time.
 */
int cli_static_analyze(cli_static_run *run);
/* run->profile against a walk over all accesses, analysed as a program's references are. */
int cli_static_verify(cli_static_run *run);

/* --machine: run->machine, whose caches are those to judge by. */
int cli_static_read_machine(cli_static_run *run);
/* --emit-machine */
int cli_static_write_machine(const cli_static_run *run);
/* profile->bounds, where there is a machine. pairs: of accesses, with run->edges. */
int cli_static_bound(const cli_static_run *run, fm_profile *profile, const fm_raw_pair *pairs, size_t count);

/* --cache: run->profile->set_misses. */
int cli_static_set_misses(cli_static_run *run);
/* Checks --cache. */
int cli_static_check_caches(cli_static_run *run);
void cli_static_show_set_misses(FILE *out, const fm_profile *profile);

/* --symbolic and --emit-c: formulas of the region, with its parameters open. *found is false where there are
 * none, and a note has said why: the parameters have their values then. run->caches are known. */
int cli_static_symbolic(cli_static_run *run, bool *found);
/* The same for a file of formulas: their values. */
int cli_static_evaluate(cli_static_run *run);
/* Is this parameter to stay open? */
bool cli_static_stays_open(const cli_static_run *run, const char *name);

/* The open parameters, "n, m"; "" where there are none. Returns text. */
const char *cli_static_open_parameters(const fm_region *region, char *text, size_t size);

#endif
