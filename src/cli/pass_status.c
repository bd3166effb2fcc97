/* SPDX-License-Identifier: Apache-2.0 */
/* pass_status.c - see pass_status.h. */
#include "pass_status.h"

#include <stdint.h>

enum { SIGNAL_STATUS = 128 }; /* as shells have it */

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
