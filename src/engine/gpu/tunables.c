/* SPDX-License-Identifier: Apache-2.0 */
/* tunables.c - what tests change of the engine `gpu` (base/error.h); what each is stands in gpu.h. */
#include "engine/gpu/gpu.h"

/* Room for four batches of new blocks: what is under way and what is being filled might be nothing else, and
 * must fit beside the stack before the next slot is begun. With room for two, each batch waited for the one
 * before as soon as there was a stack. */
FM_TUNABLE fm_gpu_sizes fm_gpu_first_sizes = {.batch = (size_t)1 << 26,
                                              .each_batch = (size_t)1 << 24,
                                              .stack = (size_t)1 << 28,
                                              .piece = (size_t)1 << 18,
                                              .alone = 32};
const fm_gpu_module *FM_TUNABLE fm_gpu_stand_in = NULL;
