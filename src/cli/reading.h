/* SPDX-License-Identifier: Apache-2.0 */
/* reading.h - what is heard while a trace is read (fm_analyze): damage and progress. The first member of the
 * context, so that these functions can be given as they are. */
#ifndef FATHOM_CLI_READING_H
#define FATHOM_CLI_READING_H

#include "cli.h"

typedef struct cli_reading {
    cli_progress progress;
    bool silent;            /* what is wrong with the trace was said before */
    uint64_t damages, lost; /* places; references known to be missing */
    fm_error first_damage;
} cli_reading;

void cli_reading_damage(void *reading, const fm_error *error);
void cli_reading_progress(void *reading, uint64_t references, double fraction);
/* What was made of a damaged trace is marked as incomplete, with what is missing. -1, or an exit code. */
int cli_reading_mark(const cli_reading *reading, fm_profile *profile);

#endif
