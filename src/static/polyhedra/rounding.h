/* SPDX-License-Identifier: Apache-2.0 */
/* rounding.h - whole numbers divided by positive ones, rounded down and up. */
#ifndef FATHOM_STATIC_ROUNDING_H
#define FATHOM_STATIC_ROUNDING_H

#include <stdint.h>

static inline int64_t fm_floor_divide(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0);
}

static inline int64_t fm_ceil_divide(int64_t number, int64_t divisor)
{
    return number / divisor + (number % divisor > 0);
}

static inline __int128 fm_floor_divide_wide(__int128 number, __int128 divisor)
{
    return number / divisor - (number % divisor < 0);
}

#endif
