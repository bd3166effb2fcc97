/* SPDX-License-Identifier: Apache-2.0 */
/* exact_avx2.c - the kernels of `exact` for avx2 (compiler flags: cmake/library.cmake). */
#define KERNEL_ISA "avx2"
#define KERNEL_TABLE fm_exact_avx2
#include "engine/exact/exact_kernels_body.h"
