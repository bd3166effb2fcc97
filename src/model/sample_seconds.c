/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_seconds.c - weights of reuses of samples that were watched in their turn (the seconds).
 *
 * Each use but the first of a block is the reuse of exactly one other. So what follows uses that were drawn
 * alike is drawn alike as well, among all uses but the first ones of their blocks: a second observation from
 * the same sample, at the price of a trap. Its weight is that of the sample, times what Kaplan and Meier's
 * estimate gives the sample in addition for having been seen until its reuse, when others were cut off.
 *
 * First uses of blocks are missing among the seconds: as large a share m as is never used again, since each
 * block has one first and one last use. Shares of all references that are estimated from the seconds alone
 * are off by up to m. So they count the less the more this is, beside the noise of n samples, and the less
 * the more unequal their own weights are: by
 *
 *     min(1, n2 / n1) / (1 + 2 n m^2)
 *
 * n1 and n2 being what the weights of samples and seconds are worth, (sum of weights)^2 / sum of squares.
 * With equal weights, the seconds then count for a share q = 1 / (2 (1 + n m^2)) of both together, and make
 * them wrong by at most q m <= 1 / (4 sqrt(n)): half a standard error of a share of one half. It vanishes
 * with more samples.
 */
#include "model/sample_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* A sample that was armed, or what a weight of one that is used again at this time distance is worth. */
typedef struct first {
    uint64_t time;
    fm_sample_watch_end end;
    double weight;
} first;

static bool is_first(const fm_sample_watch *watch)
{
    return watch->since == 0 && watch->burst == 0;
}

static int by_time(const void *a, const void *b)
{
    const first *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    const int cut_x = x->end == FM_WATCH_REPLACED, cut_y = y->end == FM_WATCH_REPLACED;
    return cut_x - cut_y; /* who is used again was still there */
}

/* Kaplan and Meier's estimate, in place: weights become what a weight of 1 is worth there. Returns the share
 * that is never used again. */
static double find_worth(first *all, size_t count, double sum)
{
    double there = sum, left = sum, worth = 1, never = 0;
    for (size_t i = 0; i < count; i++) {
        const double weight = all[i].weight;
        all[i].weight = worth;
        if (all[i].end != FM_WATCH_REPLACED) {
            const double share = fmin(left, worth * weight);
            if (all[i].end == FM_WATCH_NEVER) never += share;
            left -= share;
        }
        there -= weight;
        if (all[i].end == FM_WATCH_REPLACED) worth = there > 1e-12 * sum ? left / there : 0;
    }
    return (never + left) / sum;
}

/* What a sample that was used again at this time distance is worth. */
static double worth_at(const first *all, size_t count, uint64_t time)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (all[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count ? all[low].weight : 0;
}

/* Numbers that weights are worth. */
typedef struct sums {
    double weight, squares;
} sums;

static void add(sums *to, double weight)
{
    to->weight += weight;
    to->squares += weight * weight;
}

static double effective(const sums *of)
{
    return of->squares > 0 ? of->weight * of->weight / of->squares : 0;
}

fm_status fm_sample_weigh_seconds(const fm_samples *samples, double *weights, fm_error *error)
{
    first *all = fm_calloc(samples->watch_count + 1, sizeof *all);
    if (!all) return fm_fail_memory(error, samples->watch_count * sizeof *all, "the estimate");
    sums firsts = {0}, seconds = {0};
    size_t count = 0, taken = 0;
    for (size_t i = 0; i < samples->watch_count; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        taken += is_first(watch);
        if (!is_first(watch) || watch->end == FM_WATCH_NOT_ARMED) continue;
        all[count++] = (first){watch->length, watch->end, weights[i]};
        add(&firsts, weights[i]);
    }
    if (count > 0) qsort(all, count, sizeof *all, by_time);
    const double never = firsts.weight > 0 ? find_worth(all, count, firsts.weight) : 1;
    for (size_t i = 0; i < samples->watch_count; i++) {
        if (samples->watches[i].since == 0) continue;
        weights[i] *= worth_at(all, count, samples->watches[i].since);
        add(&seconds, weights[i]);
    }
    free(all);
    if (!(seconds.weight > 0)) return FM_OK;
    /* What is missing shows in the sum as well. */
    const double missing = fmax(never, 1 - seconds.weight / firsts.weight);
    const double factor =
        fmin(1, effective(&seconds) / effective(&firsts)) / (1 + 2 * (double)taken * missing * missing);
    for (size_t i = 0; i < samples->watch_count; i++)
        if (samples->watches[i].since > 0) weights[i] *= factor;
    return FM_OK;
}
