/* SPDX-License-Identifier: Apache-2.0 */
/* pass_status.h - --pass-status of run, record and sample: the program's own exit status is fathom's. */
#ifndef FATHOM_CLI_PASS_STATUS_H
#define FATHOM_CLI_PASS_STATUS_H

#include "cli.h"

#include <fathom/job.h>

#define CLI_PASS_STATUS_OPTION(target)                                                                       \
    {                                                                                                        \
        "pass-status", 0, CLI_FLAG, target, NULL,                                                            \
            "exit with the program's own status, 128 + N when signal N\n"                                    \
            "killed it; 1, 2 or 3 when fathom itself has none or not all"                                    \
    }
#define CLI_PASS_STATUS_NOTES                                                                                \
    "The program's own exit status is shown; fathom's is 0 when everything was seen, 3 when the\n"           \
    "program was killed or something is missing, 1 when there is no result (--pass-status: the\n"            \
    "program's)."

typedef fm_job_end cli_program_end;

/*
 * The exit code instead of `code`, that of the verb, which has said why where it is not 0. A signal that
 * killed the program is handed on although its profile is incomplete by that; an exit status only where
 * nothing is missing.
 */
int cli_pass_status(int code, const cli_program_end *end);

#endif
