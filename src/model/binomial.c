/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binomial.c - sums of the binomial distribution, accurate and quick for any number of trials.
 *
 * A single probability follows the saddle-point form (C. Loader, "Fast and accurate computation of
 * binomial probabilities", 2000): factorials enter only through the small error of Stirling's
 * formula, so that nothing large cancels. log-gamma would lose all digits at n = 2^40.
 *
 * Sums start at the term next to `limit` and walk away from the mean, by the ratio of neighbouring
 * terms, until the rest no longer counts. They therefore take O(sqrt(limit)) steps, not O(limit).
 */
#include "model/model_internal.h"

#include <math.h>

static const double half_log_two_pi = 0.918938533204672741780329736406;

/* log(n!) − log(sqrt(2πn) (n/e)^n), for whole n >= 1. */
static double stirling_error(double n)
{
    if (n < 16) return lgamma(n + 1) - (n + 0.5) * log(n) + n - half_log_two_pi;
    double square = n * n;
    return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1.0 / 1680 / square) / square) / square) / n;
}

/* k log(k/mean) + mean − k: how far k is from the mean, without cancellation where they are close. */
static double binomial_deviance(double k, double mean)
{
    double difference = k - mean;
    if (fabs(difference) >= 0.1 * (k + mean)) return k * log(k / mean) - difference;
    double v = difference / (k + mean), square = v * v;
    double sum = difference * v, term = 2 * k * v;
    for (int j = 1; j < 100; j++) {
        term *= square;
        double next = sum + term / (2 * j + 1);
        if (next == sum) break;
        sum = next;
    }
    return sum;
}

double fm_binomial_probability(double n, double k, double p)
{
    if (k < 0 || k > n) return 0;
    if (k == 0) return exp(n * log1p(-p));
    if (k == n) return exp(n * log(p));
    double rest = n - k;
    double exponent = stirling_error(n) - stirling_error(k) - stirling_error(rest) -
                      binomial_deviance(k, n * p) - binomial_deviance(rest, n * (1 - p));
    return exp(exponent - half_log_two_pi) * sqrt(n / (k * rest));
}

/* A term and its walk: P(X = k), then one up or one down. */
typedef struct walk {
    double n, k, odds, term;
} walk;

static walk walk_from(double n, double k, double p)
{
    return (walk){n, k, p / (1 - p), fm_binomial_probability(n, k, p)};
}

static void walk_up(walk *at)
{
    at->term *= (at->n - at->k) / (at->k + 1) * at->odds;
    at->k += 1;
}

static void walk_down(walk *at)
{
    at->term *= at->k / (at->n - at->k + 1) / at->odds;
    at->k -= 1;
}

/* Terms fall geometrically away from the mean: stop when one no longer changes the sum. */
static const double negligible = 1e-18;

double fm_binomial_below(double n, double limit, double p)
{
    if (limit > n) return 1;
    double sum = 0;
    if (limit > n * p) { /* the smaller part is above */
        for (walk at = walk_from(n, limit, p); at.k <= n; walk_up(&at)) {
            sum += at.term;
            if (at.term <= sum * negligible) break;
        }
        return sum < 1 ? 1 - sum : 0;
    }
    for (walk at = walk_from(n, limit - 1, p); at.k >= 0; walk_down(&at)) {
        sum += at.term;
        if (at.term <= sum * negligible) break;
    }
    return sum < 1 ? sum : 1;
}

double fm_binomial_capped_mean(double n, double limit, double p)
{
    if (limit >= n) return n * p;
    double sum = 0;
    if (limit > n * p) { /* E[X] − E[(X − limit)⁺] */
        for (walk at = walk_from(n, limit + 1, p); at.k <= n; walk_up(&at)) {
            double part = (at.k - limit) * at.term;
            sum += part;
            if (part <= sum * negligible) break;
        }
        return n * p - sum;
    }
    for (walk at = walk_from(n, limit - 1, p); at.k >= 0; walk_down(&at)) { /* limit − E[(limit − X)⁺] */
        double part = (limit - at.k) * at.term;
        sum += part;
        if (part <= sum * negligible) break;
    }
    return limit - sum;
}
