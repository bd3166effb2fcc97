/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engines.h - the algorithms behind an analyzer: what they are, what they may be asked for, what they tell.
 */
#ifndef FATHOM_ENGINES_H
#define FATHOM_ENGINES_H

#include <fathom/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fm_engine_info {
    const char *name;
    const char *summary;
    bool exact;
    bool unbounded;      /* takes no bound */
    bool histogram_only; /* estimates the histogram as a whole: tells no single distances, times or pairs */
    bool on_card;        /* needs a graphics card, and the module for it */
    bool no_sites;       /* tells no pairs of code sites */
} fm_engine_info;
FM_API const fm_engine_info *fm_engine_at(size_t index); /* NULL past the end */

/*
 * Options that only one engine, or a few, have: each engine describes its own. They are given as one text,
 * NAME=VALUE separated by commas, without blanks; the last mention of a name counts. A flag's name alone
 * means yes.
 */
typedef enum fm_option_type {
    FM_OPTION_COUNT,      /* a whole number from least to most; suffixes K, M, G, T = 2^10, 2^20, … */
    FM_OPTION_SHARE,      /* a number over 0 and up to 1 */
    FM_OPTION_OPEN_SHARE, /* a number between 0 and 1, both excluded */
    FM_OPTION_FLAG,       /* yes or no */
} fm_option_type;
typedef struct fm_engine_option {
    const char *name;
    fm_option_type type;
    uint64_t least, most; /* of a count */
    const char *usual;    /* its value where it is not given; NULL: the meaning says */
    const char *excludes; /* an option that cannot be given beside it; or NULL */
    const char *needs;    /* one that must be given beside it; or NULL */
    const char *meaning;  /* one line */
} fm_engine_option;
/* NULL past the last option of the engine, and where there is no such engine. engine NULL: "exact". */
FM_API const fm_engine_option *fm_engine_option_at(const char *engine, size_t index);
/* Which values it takes, in words: "a whole number from 1 to 32". Returns text. */
FM_API const char *fm_engine_option_range(const fm_engine_option *option, char *text, size_t size);
/* What fm_analyzer_create will say of them: FM_E_ARGUMENT names the engine, the option and what it takes. */
FM_API fm_status fm_engine_options_check(const char *engine, const char *options, fm_error *error);

/*
 * "gpu" where there is a graphics card that can be used and so many references are enough for it to be worth
 * its start; otherwise "exact". 0: nobody knows how many.
 */
FM_API const char *fm_engine_choose(uint64_t references);
/* Names of the instruction sets this machine can run, best first; NULL past the end. */
FM_API const char *fm_isa_at(size_t index);

/* Every reference in trace order is also given to this function, in runs: its block (blocks is NULL with an
 * engine that works on a graphics card) and its distance. It returns FM_OK to go on. It is called before the
 * run is counted: when it fails, the run is not counted. */
typedef fm_status (*fm_distance_sink)(void *context, const uint64_t *blocks, const uint64_t *distances,
                                      size_t count, fm_error *error);

#ifdef __cplusplus
}
#endif
#endif
