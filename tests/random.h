/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - random numbers that are the same in every run: splitmix64, from a state of the caller's or from
 * one that a test program has by itself. */
#ifndef FATHOM_TESTS_RANDOM_H
#define FATHOM_TESTS_RANDOM_H

#include <stdint.h>

static inline uint64_t random_from(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static __attribute__((unused)) uint64_t random_state = 88172645463325252u;

static inline uint64_t random_next(void)
{
    return random_from(&random_state);
}

/* 0 … limit−1; limit is not 0. */
static inline uint64_t random_below(uint64_t limit)
{
    return random_next() % limit;
}

#endif
