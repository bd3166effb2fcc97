/* SPDX-License-Identifier: Apache-2.0 */
/* pair_errors.h - the table of how sure pairs of code are where they are estimated (fm_pair_error): adding
 * up, looking up and checking. */
#ifndef FATHOM_PROFILE_PAIR_ERRORS_H
#define FATHOM_PROFILE_PAIR_ERRORS_H

#include <fathom/attribution.h>

/* Adds those of another profile to the sum's: errors of different runs are independent of each other. sites:
 * the numbers of its sites in the sum. */
fm_status fm_pair_errors_merge(fm_attribution *sum, const fm_attribution *from, const uint32_t *sites,
                               fm_error *error);
/* By reuse, then by use. */
void fm_pair_errors_sort(fm_attribution *attribution);
/* NULL, or what is wrong with row *row. */
const char *fm_pair_errors_wrong(const fm_attribution *attribution, size_t *row);
/* Of a pair; NULL: exact, or not known. */
const fm_pair_error *fm_pair_error_of(const fm_attribution *attribution, const fm_pair *pair);
/* References of a pair that its error is about: late ones, and first touches. */
double fm_pair_late(const fm_attribution *attribution, const fm_pair *pair);

/* How sure a sum of pairs is. Pairs of one run may be wrong together: the sum of their errors is never less
 * than the error of their sum, and what they rest on may be the same. */
typedef struct fm_error_sum {
    double late, error;
    uint64_t samples; /* at least */
} fm_error_sum;
void fm_error_sum_add(fm_error_sum *sum, const fm_attribution *attribution, const fm_pair *pair);

#endif
