/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_calls.c - see sampled_calls.h. */
#include "sample/sampled_calls.h"

static void push(fm_sampled_calls *calls, fm_sampled_code *code, uint64_t slot, uint64_t back, uint32_t site)
{
    if (calls->count == FM_SAMPLED_CALLS) return;
    const uint32_t path = fm_sampled_code_path(code, fm_sampled_calls_path(calls), site);
    calls->calls[calls->count].slot = slot;
    calls->calls[calls->count].back = back;
    calls->calls[calls->count++].path = path;
}

fm_status fm_sampled_calls_begin(fm_sampled_calls *calls, fm_sample_code_of *process, fm_sampled_code *code,
                                 const fm_sampled_frame *frames, size_t count, fm_error *error)
{
    fm_status status = FM_OK;
    size_t kept = 0;
    if (count > 0)
        for (size_t i = 0; i < calls->count; i++)
            if (calls->calls[i].slot == frames[count - 1].slot &&
                calls->calls[i].back == frames[count - 1].back)
                kept = i;
    calls->count = kept;
    for (size_t i = count; i-- > 0 && status == FM_OK;) {
        uint32_t site;
        status = fm_sampled_code_site(process, code, frames[i].back - 1, &site, error);
        push(calls, code, frames[i].slot, frames[i].back, site);
    }
    return status;
}

/* Stacks grow downwards: what lies at or below the slot is over. */
static void leave(fm_sampled_calls *calls, uint64_t slot)
{
    while (calls->count > 0 && calls->calls[calls->count - 1].slot <= slot) calls->count--;
}

void fm_sampled_calls_call(fm_sampled_calls *calls, fm_sampled_code *code, uint64_t slot, uint32_t site)
{
    leave(calls, slot);
    push(calls, code, slot, 0, site);
}

void fm_sampled_calls_return(fm_sampled_calls *calls, uint64_t slot)
{
    leave(calls, slot);
}
