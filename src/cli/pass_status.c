/* SPDX-License-Identifier: Apache-2.0 */
/* pass_status.c - see pass_status.h. */
#include "pass_status.h"

#include <stdint.h>

enum { SIGNAL_STATUS = 128 }; /* as shells have it */

void cli_collect_last_program(const fm_collection *collection, fm_collected_process *last)
{
    const size_t count = fm_collection_processes(collection);
    size_t steps = count; /* whatever they tell of each other, it ends */
    fm_collection_process(collection, 0, last);
    for (size_t at = 0, i = 0; i < count && steps > 0; i++) {
        fm_collected_process next;
        fm_collection_process(collection, i, &next);
        if (!next.by_exec || next.parent != at) continue;
        *last = next;
        at = i;
        steps--;
        i = SIZE_MAX; /* they need not stand in their order: once more from the first */
    }
}

void cli_program_end_find(const fm_collection *collection, cli_program_end *end)
{
    fm_collected_process last;
    *end = (cli_program_end){0};
    if (!collection || fm_collection_processes(collection) == 0) return;
    cli_collect_last_program(collection, &last);
    *end = (cli_program_end){.known = last.ended, .exit_code = last.exit_code, .signal = last.signal};
}

int cli_pass_status(int code, const cli_program_end *end)
{
    if (code != CLI_COMPLETE && code != CLI_INCOMPLETE) return code;
    if (!end->known) {
        if (code == CLI_COMPLETE) cli_complain("--pass-status: the program's exit status is not known");
        return CLI_INCOMPLETE;
    }
    if (end->signal) return SIGNAL_STATUS + end->signal;
    return code == CLI_COMPLETE ? end->exit_code : code;
}
