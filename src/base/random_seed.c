/* SPDX-License-Identifier: Apache-2.0 */
/* random_seed.c - see random_seed.h. The clock's low bits where the kernel has none to give. */
#define _GNU_SOURCE
#include "base/random_seed.h"

#include <sys/random.h>
#include <sys/types.h>
#include <time.h>

uint64_t fm_random_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_nsec * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(uintptr_t)&seed;
    }
    return seed ? seed : 1;
}
