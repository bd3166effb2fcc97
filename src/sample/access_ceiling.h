/* SPDX-License-Identifier: Apache-2.0 */
/* access_ceiling.h - how many accesses to memory a core can make. Internal to src/sample. */
#ifndef FATHOM_SAMPLE_ACCESS_CEILING_H
#define FATHOM_SAMPLE_ACCESS_CEILING_H

/*
 * Accesses in a nanosecond that no program makes for long on this machine: four a cycle, at the fastest clock
 * that it tells (6 GHz where it tells none). Processors of 2024 start three loads and two stores a cycle at
 * most, and finish fewer: stores wait for the first cache, and other instructions are between.
 */
double fm_access_ceiling(void);

#endif
