/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_choice.h - what --max-memory does where no engine was named: the analysis is exact as long as that
 * fits, and there is an approximate one for the case that it does not.
 *
 * How many distinct blocks a trace has is known at its end only. So a small sampling analyzer (shards) works
 * beside the exact one from the start; when the exact one meets its limit, it is let go, and the samples,
 * which have seen everything, go on alone. Nothing is read twice: it works on pipes too.
 */
#ifndef FATHOM_CLI_MEMORY_CHOICE_H
#define FATHOM_CLI_MEMORY_CHOICE_H

#include "analysis_options.h"

typedef struct cli_memory_choice {
    fm_analyzer *exact;   /* NULL: it did not fit */
    fm_analyzer *sampled; /* NULL: there is no second one */
    uint64_t samples;     /* blocks in each sample */
} cli_memory_choice;

/* Both analyzers, which share options->max_memory. Where the trace says that it has so few references (0: it
 * does not say) that exact fits in any case, or where the limit is too small for samples, only the exact one.
 */
fm_status cli_memory_choice_create(cli_memory_choice *choice, const fm_analyzer_options *options,
                                   uint64_t references, fm_error *error);
void cli_memory_choice_destroy(cli_memory_choice *choice);

/* An analyzer has met its limit: if it is the exact one, and there is another, it is let go. */
bool cli_memory_choice_give_up(cli_memory_choice *choice, const fm_analyzer *analyzer);
/* The profile of the one that lasted. */
fm_status cli_memory_choice_profile(const cli_memory_choice *choice, fm_profile **profile, fm_error *error);
/* Tells on standard error which one that is, and what error to expect. */
void cli_memory_choice_note(const cli_memory_choice *choice, const fm_profile *profile);

#endif
