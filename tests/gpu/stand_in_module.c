/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in_module.c - a fathom-cuda.so that needs no graphics card: what the loader opens in tests
 * (FATHOM_PARTS names its directory). FATHOM_STAND_IN says what it is like: "no-device", or how many bytes of
 * memory it has.
 */
#include "oracle/gpu_stand_in.h"

__attribute__((constructor)) static void choose_nature(void)
{
    const char *nature = getenv("FATHOM_STAND_IN");
    if (!nature) return;
    if (strcmp(nature, "no-device") == 0)
        stand_in.devices = FM_E_UNSUPPORTED;
    else
        stand_in.memory = strtoull(nature, NULL, 10);
}

/* The symbol that the loader looks for. */
extern const fm_gpu_module fathom_gpu_module;
__attribute__((visibility("default"))) const fm_gpu_module fathom_gpu_module = GPU_STAND_IN_TABLE;
