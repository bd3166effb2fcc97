/* SPDX-License-Identifier: Apache-2.0 */
/* tunables.c - the sizes of `parallel` that tests change (base/error.h); what each is stands in parallel.h.
 */
#include "engine/parallel/parallel.h"

FM_TUNABLE size_t fm_parallel_chunk = 1 << 15;
FM_TUNABLE size_t fm_parallel_least = 1 << 18;
FM_TUNABLE uint64_t fm_parallel_drawn_least = 1 << 15;
FM_TUNABLE uint64_t fm_parallel_drawn_most = 1 << 20;
FM_TUNABLE uint64_t fm_parallel_drawn_events = 0;
FM_TUNABLE uint64_t fm_parallel_long_share = 1 << 24;
