/* SPDX-License-Identifier: Apache-2.0 */
/* attach_check.h - whether a process that runs may be attached to, and if not, why and what to do. */
#ifndef FATHOM_PROCESS_ATTACH_CHECK_H
#define FATHOM_PROCESS_ATTACH_CHECK_H

#include <fathom/status.h>
#include <sys/types.h>

/* FM_E_IO where there is no such process, or it must not be attached to; FM_E_UNSUPPORTED where that makes no
 * sense: a kernel thread, a 32-bit program, another C library. Nothing is done to it. library: what is to be
 * loaded into it. */
fm_status fm_attach_check(pid_t pid, const char *library, fm_error *error);
/* FM_E_IO, with the reason why ptrace, or its memory, was refused (errno). */
fm_status fm_attach_refused(pid_t pid, int why, fm_error *error);

#endif
