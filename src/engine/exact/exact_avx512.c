/* SPDX-License-Identifier: Apache-2.0 */
/* exact_avx512.c - the kernels of `exact` for avx512 (compiler flags: cmake/library.cmake). */
#define KERNEL_ISA "avx512"
#define KERNEL_TABLE fm_exact_avx512
#include "engine/exact/exact_kernels_body.h"
