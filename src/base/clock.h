/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - seconds of a clock that only goes on: for durations and deadlines. */
#ifndef FATHOM_BASE_CLOCK_H
#define FATHOM_BASE_CLOCK_H

#include <time.h>

static inline double fm_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif
