/* SPDX-License-Identifier: Apache-2.0 */
/* static_text.h - what is told of a region: to people, and in its profile. */
#ifndef FATHOM_CLI_STATIC_TEXT_H
#define FATHOM_CLI_STATIC_TEXT_H

#include "cli.h"

/* How often what is done, statement by statement and in all. */
void cli_counts_show(FILE *out, const fm_region *region, const fm_region_counts *counts);

/* Where the region is, its parameters, what is assumed, its counts (NULL: not known). NULL: no memory. */
fm_kernel *cli_kernel_create(const fm_region *region, const fm_region_counts *counts);

#endif
