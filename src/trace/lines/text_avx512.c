/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_avx512.c - the kernels of text_kernels.h for avx512 with VBMI2, which writes the places of a mask's
 * bits at once (compiler flags: cmake/library.cmake).
 */
#define KERNEL_ISA "avx512"
#define KERNEL_TABLE fm_text_avx512
#define KERNEL_USABLE                                                                                        \
    (__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw") &&                          \
     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi"))
#include "trace/lines/text_kernels_body.h"
