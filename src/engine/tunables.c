/* SPDX-License-Identifier: Apache-2.0 */
/* tunables.c - the engines' sizes that tests change (base/tunable.h); what each is stands in its header. */
#include "engine/gpu/gpu_loader.h"
#include "engine/gpu/gpu_state.h"
#include "engine/parallel/parallel.h"
#include "engine/seen_set.h"

FM_TUNABLE uint64_t fm_seen_limit = FM_SEEN_LIMIT;

FM_TUNABLE size_t fm_parallel_piece = 1 << 15;
FM_TUNABLE size_t fm_parallel_least = 1 << 18;
FM_TUNABLE uint64_t fm_parallel_drawn_least = 1 << 15;
FM_TUNABLE uint64_t fm_parallel_drawn_most = 1 << 20;
FM_TUNABLE uint64_t fm_parallel_drawn_events = 0;
FM_TUNABLE uint64_t fm_parallel_long_share = 1 << 24;

/* Room for four batches of new blocks: what is under way and what is being filled might be nothing else, and
 * must fit beside the stack before the next slot is begun. With room for two, each batch waited for the one
 * before as soon as there was a stack. */
FM_TUNABLE fm_gpu_sizes fm_gpu_first_sizes = {.batch = (size_t)1 << 26,
                                              .each_batch = (size_t)1 << 24,
                                              .stack = (size_t)1 << 28,
                                              .piece = (size_t)1 << 18,
                                              .alone = 32};
const fm_gpu_module *FM_TUNABLE fm_gpu_stand_in = NULL;
