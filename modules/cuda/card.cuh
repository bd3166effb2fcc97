/* SPDX-License-Identifier: Apache-2.0 */
/* card.cuh - the module's one symbol, and the functions that other files put into its table. */
#ifndef FATHOM_CUDA_CARD_CUH
#define FATHOM_CUDA_CARD_CUH

extern "C" {
#include "engine/gpu/gpu_module.h"

extern const fm_gpu_module fathom_gpu_module __attribute__((visibility("default")));
}

fm_status fathom_hp_rda_open(fm_gpu_hp_rda **state, unsigned device, const struct fm_hp_rda_shape *shape,
                             fm_error *error);
void fathom_hp_rda_close(fm_gpu_hp_rda *state);
fm_status fathom_hp_rda_analyze(fm_gpu_hp_rda *state, const uint64_t *blocks, size_t count,
                                struct fm_hp_rda_trace *result, fm_error *error);

#endif
