/* SPDX-License-Identifier: Apache-2.0 */
/* text_avx2.c - the kernels of text_kernels.h for avx2 (compiler flags: cmake/library.cmake). */
#define KERNEL_ISA "avx2"
#define KERNEL_TABLE fm_text_avx2
#define KERNEL_USABLE (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"))
#include "trace/lines/text_kernels_body.h"
