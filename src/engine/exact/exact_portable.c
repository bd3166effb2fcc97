/* SPDX-License-Identifier: Apache-2.0 */
/* exact_portable.c - the kernels of `exact` for portable (compiler flags: cmake/library.cmake). */
#define KERNEL_ISA "portable"
#define KERNEL_TABLE fm_exact_portable
#include "engine/exact/exact_kernels_body.h"
