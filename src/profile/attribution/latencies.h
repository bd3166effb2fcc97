/* SPDX-License-Identifier: Apache-2.0 */
/* latencies.h - the table of what a processor told of sampled accesses, by site (fm_site_latency): adding up
 * and checking. */
#ifndef FATHOM_PROFILE_LATENCIES_H
#define FATHOM_PROFILE_LATENCIES_H

#include <fathom/attribution.h>

/* Adds a's to those of the sum. sites: the numbers of its sites in the sum. */
fm_status fm_site_latencies_merge(fm_attribution *sum, const fm_attribution *from, const uint32_t *sites,
                                  fm_error *error);
/* By site. */
void fm_site_latencies_sort(fm_attribution *attribution);
/* NULL, or what is wrong with row *row. */
const char *fm_site_latencies_wrong(const fm_attribution *attribution, size_t *row);

#endif
