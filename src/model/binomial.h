/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binomial.h - sums of the binomial distribution, accurate and quick for any number of trials.
 *
 * X is the number of successes in n trials of probability p, 0 < p < 1.
 */
#ifndef FATHOM_MODEL_BINOMIAL_H
#define FATHOM_MODEL_BINOMIAL_H

/* P(X = k) for whole n >= k >= 0. */
double fm_binomial_probability(double n, double k, double p);
/* P(X < limit), limit a whole number from 1 on. */
double fm_binomial_below(double n, double limit, double p);
/* E[min(X, limit)]. */
double fm_binomial_capped_mean(double n, double limit, double p);

#endif
