/* SPDX-License-Identifier: Apache-2.0 */
/* code.h - what is known of a process's code (program/program.h), as producers report it. */
#ifndef FATHOM_COLLECT_CODE_H
#define FATHOM_COLLECT_CODE_H

#include "program/program.h"

#include <fathom/trace.h>

typedef struct fm_code {
    fm_program program;
    fm_code_maps maps;
    uint32_t *contexts; /* node in the program's heap by the producer's number */
    size_t context_count, context_capacity;
} fm_code;

/* words: those of FM_RECORD_MODULE; path: behind them. *index: the file. */
fm_status fm_code_load(fm_code *code, const uint64_t words[8], const char *path, uint32_t *index,
                       fm_error *error);
/* For a child of fork: files, contexts and trees. */
fm_status fm_code_inherit(fm_code *child, const fm_code *parent, fm_error *error);
void fm_code_free(fm_code *code);

/* return addresses, innermost first. */
fm_status fm_code_context(fm_code *code, uint64_t number, const uint64_t *returns, size_t count,
                          fm_error *error);

#endif
