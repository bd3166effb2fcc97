/* SPDX-License-Identifier: Apache-2.0 */
/* exact_isa.c - which kernels this machine can run, best first. */
#include "engine/exact/exact_kernels.h"

#include <fathom/engines.h>
#include <string.h>

static const fm_exact_kernels *const kernels[] = {
#if defined(__x86_64__)
    &fm_exact_avx512,
    &fm_exact_avx2,
#endif
    &fm_exact_portable,
};

enum { KERNELS = sizeof kernels / sizeof kernels[0] };

const char *fm_isa_at(size_t index)
{
    for (size_t i = 0; i < KERNELS; i++)
        if (kernels[i]->usable() && index-- == 0) return kernels[i]->isa;
    return NULL;
}

const fm_exact_kernels *fm_exact_kernels_find(const char *isa)
{
    for (size_t i = 0; i < KERNELS; i++)
        if (kernels[i]->usable() && (!isa || strcmp(kernels[i]->isa, isa) == 0)) return kernels[i];
    return NULL;
}
