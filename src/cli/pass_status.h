/* SPDX-License-Identifier: Apache-2.0 */
/* pass_status.h - --pass-status of run, record and sample: the program's own exit status is fathom's. */
#ifndef FATHOM_CLI_PASS_STATUS_H
#define FATHOM_CLI_PASS_STATUS_H

#include "cli.h"

#include <fathom/job.h>

#define CLI_PROGRAM_EXITS "0 complete, 1 no result, 2 bad usage, 3 incomplete (PROGRAM's is printed)"

typedef fm_job_end cli_program_end;

/*
 * The exit code instead of `code`, that of the verb, which has said why where it is not 0. A signal that
 * killed the program is handed on although its profile is incomplete by that; an exit status only where
 * nothing is missing.
 */
int cli_pass_status(int code, const cli_program_end *end);

#endif
