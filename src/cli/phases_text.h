/* SPDX-License-Identifier: Apache-2.0 */
/* phases_text.h - the phases of a level on the terminal, and where that level is among the others. */
#ifndef FATHOM_CLI_PHASES_TEXT_H
#define FATHOM_CLI_PHASES_TEXT_H

#include "cli.h"

/* The level that is shown. */
typedef struct cli_phase_view {
    const fm_phases *phases;
    size_t level, levels;
    size_t count;
    const fm_trace_phase *each;
    fm_profile *const *profiles; /* one for each */
} cli_phase_view;

/* top: how many of the phases. */
void cli_show_phases(const fm_profile *whole, const cli_phase_view *shown, uint64_t top);

#endif
