/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_clock.h - a clock in another process: a perf event that sends SIGTRAP to the thread whose processor
 * time it counts, and that new threads of the process inherit. The descriptor is ours, so that the clock ends
 * with us, and the program's descriptors are its own.
 */
#ifndef FATHOM_SAMPLE_SAMPLE_CLOCK_H
#define FATHOM_SAMPLE_SAMPLE_CLOCK_H

#include <stdint.h>

/* The descriptor, or -errno. data: what the signal carries. */
int fm_sample_clock_open(uint32_t thread, uint64_t nanoseconds, uint64_t data);

#endif
