/* SPDX-License-Identifier: Apache-2.0 */
/* start.h - starts a program. What becomes of it is for watch.h. */
#ifndef FATHOM_PROCESS_START_H
#define FATHOM_PROCESS_START_H

#include <fathom/status.h>
#include <sys/types.h>

/* A descriptor of ours and its number in the program. */
typedef struct fm_start_descriptor {
    int ours, theirs;
} fm_start_descriptor;

typedef struct fm_start {
    const char *path;             /* as execve wants it: fm_program_file.path */
    char *const *arguments;       /* from the 0th on, NULL at the end */
    const char *const *variables; /* of its environment, beside ours: "NAME=VALUE", or "NAME", which it shall
                                     not have; NULL at the end; NULL: none */
    const char *preload;          /* shared object that is linked before all others; NULL: none */
    const fm_start_descriptor *descriptors; /* that it gets, one after the other, beside those that are not
                                               closed by exec */
    size_t descriptor_count;
} fm_start;

/*
 * Its number goes to *child. FM_E_IO when it cannot be executed: nothing is left of it then. Signals that are
 * handled here have their default effect on it from its first moment on; what is ignored or blocked stays so.
 */
fm_status fm_program_start(const fm_start *start, pid_t *child, fm_error *error);

#endif
