/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_file.h - the file of a program before it is started: where it is, whether it can be traced, and by
 * which collector. It starts nothing.
 */
#ifndef FATHOM_COLLECT_PROGRAM_FILE_H
#define FATHOM_COLLECT_PROGRAM_FILE_H

#include <fathom/status.h>
#include <limits.h>

typedef struct fm_program_file {
    char path[PATH_MAX];      /* as execve wants it */
    bool script;              /* its interpreter is what runs */
    bool instrumented;        /* built by fathom cc */
    uint32_t runtime_version; /* then: of collect/stream.h */
} fm_program_file;

/* Looks for name in PATH, unless it has a slash. FM_E_IO when there is none that may be executed. */
fm_status fm_program_find(const char *name, fm_program_file *program, fm_error *error);
/* Looks into it. FM_E_UNSUPPORTED when it cannot be traced, with the reason and what to do. */
fm_status fm_program_check(fm_program_file *program, fm_error *error);

#endif
