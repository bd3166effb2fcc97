/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_loader.h - finds and opens the module that counts on graphics cards, once somebody asks for it. */
#ifndef FATHOM_ENGINE_GPU_LOADER_H
#define FATHOM_ENGINE_GPU_LOADER_H

#include "base/tunable.h"
#include "engine/gpu/gpu_module.h"

/* FM_E_UNSUPPORTED, and what to do about it, where there is none. */
fm_status fm_gpu_load(const fm_gpu_module **module, fm_error *error);
/* The module, and a card that it can use: FM_E_UNSUPPORTED where either is absent. */
fm_status fm_gpu_find(const fm_gpu_module **module, unsigned *cards, fm_error *error);

/* What fm_gpu_load answers instead, where it is not NULL; only tests set it. */
extern const fm_gpu_module *FM_TUNABLE fm_gpu_stand_in;

#endif
