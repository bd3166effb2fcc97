/* SPDX-License-Identifier: Apache-2.0 */
/* rounding.h - whole numbers divided by positive ones, rounded down and up; the greatest common divisor. */
#ifndef FATHOM_STATIC_ROUNDING_H
#define FATHOM_STATIC_ROUNDING_H

#include <stdint.h>

/* That both have in common; 0 for two zeros. */
static inline int64_t fm_greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

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
