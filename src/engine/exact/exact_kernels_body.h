/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_kernels_body.h - the kernels of one instruction set. exact_avx512.c, exact_avx2.c and
 * exact_portable.c define KERNEL_ISA and KERNEL_TABLE and include this file, which includes the loops:
 *
 *     exact_lookup_body.h   repeats removed, blocks found in the table, lists of near, far and fresh
 *     exact_window_body.h   distances, by counting and clearing bits of the window
 *     exact_part_body.h     what follows from a part of the trace alone
 *     exact_small_body.h    the stack of a small bound
 *     exact_sample_body.h   which references are in a sample of `shards`
 *     exact_pairs_body.h    ranges of distances, counters of pairs, cutting accesses into blocks
 *
 * Only AVX-512 needs code of its own: it keeps the counters that every reference changes in registers.
 * The others subtract rows of a table of steps, plain loops that the compiler turns into vectors.
 */
#include "engine/exact/exact_kernels.h"

#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
/*
 * A mask as a number, in a general register from here on. gcc 12 may otherwise keep it as one byte in
 * memory and then count the bits of four (seen in builds with sanitizers, where registers are short).
 */
ALWAYS_INLINE unsigned mask_bits(unsigned mask)
{
    __asm__("" : "+r"(mask));
    return mask;
}
#endif

/* In this order: each uses what comes before. */
#include "engine/exact/exact_lookup_body.h"

#include "engine/exact/exact_window_body.h"

#include "engine/exact/exact_part_body.h"

#include "engine/exact/exact_small_body.h"

#include "engine/exact/exact_sample_body.h"

#include "engine/exact/exact_pairs_body.h"

static bool kernel_usable(void)
{
#if defined(__AVX512F__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("bmi2");
#elif defined(__AVX2__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("bmi2");
#else
    return true;
#endif
}

const fm_exact_kernels KERNEL_TABLE = {
    .isa = KERNEL_ISA,
    .usable = kernel_usable,
    .drop_repeats = kernel_drop_repeats,
    .drop_repeats_tagged = kernel_drop_repeats_tagged,
    .home = kernel_home,
    .exchange = kernel_exchange,
    .depths = kernel_depths,
    .sample_common = kernel_sample_common,
    .sample_choose = kernel_sample_choose,
    .sample_changes = kernel_sample_changes,
    .small_places = kernel_small_places,
    .small_find = kernel_small_find,
    .small_ranks = kernel_small_ranks,
    .small_restart = kernel_small_restart,
    .partition = kernel_partition,
    .split_ranges = kernel_split_ranges,
    .lookup = kernel_lookup,
    .lookup_tagged = kernel_lookup_tagged,
    .near = kernel_near,
    .far = kernel_far,
    .loglinear = kernel_loglinear,
    .add_ranges = kernel_add_ranges,
    .count_pairs = kernel_count_pairs,
    .cut = kernel_cut,
    .cut_distinct = kernel_cut_distinct,
    .cut_tagged = kernel_cut_tagged,
    .copy_tags = kernel_copy_tags,
    .part_link = kernel_part_link,
    .part_sort = kernel_part_sort,
    .part_close = kernel_part_close,
    .part_apart = kernel_part_apart,
    .part_pairs = kernel_part_pairs,
    .part_first = kernel_part_first,
    .lookup_first = kernel_lookup_first,
    .lookup_first_tagged = kernel_lookup_first_tagged,
};
