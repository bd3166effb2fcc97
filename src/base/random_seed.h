/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_seed.h - a seed for hash tables that nobody outside can guess: nobody crafts keys that collide. And
 * a small generator, splitmix64: equal states give equal numbers everywhere.
 */
#ifndef FATHOM_BASE_RANDOM_SEED_H
#define FATHOM_BASE_RANDOM_SEED_H

#include <stdint.h>

uint64_t fm_random_seed(void); /* never 0 */

/* Every bit of the result depends on every bit of the value. */
static inline uint64_t fm_random_mixed(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

static inline uint64_t fm_random_next(uint64_t *state)
{
    return fm_random_mixed(*state += UINT64_C(0x9E3779B97F4A7C15));
}

#endif
