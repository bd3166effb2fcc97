/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_stack.h - which calls led to a place of a sampled program, from the registers and a copy of the top
 * of its stack that came with a sample: by the rules of .eh_frame, and by frame pointers where there are
 * none.
 */
#ifndef FATHOM_SAMPLE_SAMPLED_STACK_H
#define FATHOM_SAMPLE_SAMPLED_STACK_H

#include "sample/sampled_code.h"

/* A call that has not returned. */
typedef struct fm_sampled_frame {
    uint64_t back; /* address that it returns to */
    uint64_t slot; /* where on the stack that stands */
} fm_sampled_frame;

enum { FM_SAMPLED_FRAMES = 256 };

/* registers: as sample_protocol.h has them. Innermost first; *count: as far as the copy goes. */
fm_status fm_sampled_stack_unwind(fm_sample_code_of *process, fm_sampled_code *code,
                                  const uint64_t *registers, const unsigned char *stack, size_t bytes,
                                  fm_sampled_frame *frames, size_t *count, fm_error *error);

#endif
