/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_pmu.h - a processor's counters and debug registers, played in software for a program that tells every
 * access. The program brings fathom_sample_perf_event_open, which the sampling runtime then calls instead of
 * the kernel: it gets memory files with the pages and rings that a perf event has. Counts, samples and traps
 * are those of the accesses told here, and signals come as the kernel would send them.
 */
#ifndef FAKE_PMU_H
#define FAKE_PMU_H

#include <stdbool.h>
#include <stdint.h>

/* An access by the program. latency, source: what a sample of it tells. With FAKE_PMU_REGISTERS=real the
 * memory is really accessed, and the processor's own debug registers wait for it. */
void fake_access(volatile void *address, unsigned bytes, bool store, uint64_t latency, uint64_t source);
/* Operations without an access (AMD counts them too), and accesses by the kernel for the program. */
void fake_operation(void);
void fake_kernel_access(const volatile void *address);
/* Writes records that say so many samples were lost, and that the kernel takes fewer. */
void fake_lost(uint64_t count);
void fake_throttled(void);
/* No more samples are taken, of a program that was started by fathom. */
bool fake_is_over(void);
/* Accesses of this thread, as a counter saw them. */
uint64_t fake_accesses(void);

#endif
