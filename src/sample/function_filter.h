/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_filter.h - which accesses of a sampled program were made in a function, or in one that it called:
 * by the place of the instruction and the calls that led there (--function).
 */
#ifndef FATHOM_SAMPLE_FUNCTION_FILTER_H
#define FATHOM_SAMPLE_FUNCTION_FILTER_H

#include "sample/sampled_code.h"

typedef struct fm_function_filter {
    size_t file_count;    /* so many of the program's files were looked at */
    unsigned char *paths; /* of each path that was asked for: 0 not known, 1 outside, 2 inside */
    size_t path_capacity;
    unsigned char *sites; /* likewise */
    size_t site_capacity;
} fm_function_filter;

/* Looks for the function in files that came since the last time, which may take long: before it is needed. */
fm_status fm_function_filter_prepare(fm_function_filter *filter, fm_program *program, fm_error *error);
/* path 0: none. */
fm_status fm_function_filter_inside(fm_function_filter *filter, fm_program *program, uint32_t site,
                                    uint32_t path, bool *inside, fm_error *error);
/* Does any file of the program have the function? FM_E_ARGUMENT: none. */
fm_status fm_function_filter_check(fm_function_filter *filter, fm_program *program, fm_error *error);
void fm_function_filter_free(fm_function_filter *filter);

#endif
