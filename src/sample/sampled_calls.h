/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_calls.h - the calls that led to where a thread is, while its burst is read: those of the stack at
 * the burst's beginning, and then each call and return of the log. A call is known by the place on the stack
 * where its return address lies, so that what leaves several functions at once (longjmp, exceptions) is
 * noticed with the next call or return.
 */
#ifndef FATHOM_SAMPLE_SAMPLED_CALLS_H
#define FATHOM_SAMPLE_SAMPLED_CALLS_H

#include "sample/sampled_stack.h"

enum { FM_SAMPLED_CALLS = 1024 };

typedef struct fm_sampled_calls {
    size_t count;
    struct {
        uint64_t slot, back;
        uint32_t path;
    } calls[FM_SAMPLED_CALLS]; /* outermost first */
} fm_sampled_calls;

/*
 * The burst begins, with these frames (innermost first). Where they end before the outermost function, as
 * only so much of the stack was copied, what was known before of the calls outside of them is kept, if it
 * fits.
 */
fm_status fm_sampled_calls_begin(fm_sampled_calls *calls, fm_sample_code_of *process, fm_sampled_code *code,
                                 const fm_sampled_frame *frames, size_t count, fm_error *error);
/* A call stores its return address at a slot; site: of the call. */
void fm_sampled_calls_call(fm_sampled_calls *calls, fm_sampled_code *code, uint64_t slot, uint32_t site);
void fm_sampled_calls_return(fm_sampled_calls *calls, uint64_t slot);

static inline uint32_t fm_sampled_calls_path(const fm_sampled_calls *calls)
{
    return calls->count ? calls->calls[calls->count - 1].path : 0;
}

#endif
