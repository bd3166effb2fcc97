/* SPDX-License-Identifier: Apache-2.0 */
/* text_isa.c - which kernels for lines of text this machine can run, best first. */
#include "trace/lines/text_kernels.h"

static const fm_text_kernels *const kernels[] = {
#if defined(__x86_64__)
    &fm_text_avx512,
    &fm_text_avx2,
#endif
    NULL,
};

const fm_text_kernels *fm_text_kernels_at(size_t index)
{
    for (const fm_text_kernels *const *some = kernels; *some; some++)
        if ((*some)->usable() && index-- == 0) return *some;
    return NULL;
}
