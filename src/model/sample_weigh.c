/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_weigh.c - which share of the references has which time distance.
 *
 * Kaplan-Meier (E. Kaplan, P. Meier: Nonparametric estimation from incomplete observations, J. Am. Stat.
 * Assoc. 1958), with weights and with observations that enter late: of what was still there and in view when
 * time distance t came, Y(t) by weight, w was used again then; so of the share S that is left, S w / Y goes.
 * An observation that is cut off leaves Y and says nothing more. S / Y, what a weight of 1 is worth, does not
 * change when something is used again, only when something is cut off or enters.
 *
 * The end of the thread is an end like a reuse, of another kind (O. Aalen, S. Johansen: An empirical
 * transition matrix for non-homogeneous Markov chains based on censored observations, Scand. J. Stat. 1978):
 * what it ends, so many references after the use, was never used again. To let these last for ever would be
 * wrong: uses near the end could not be cut off any more, and would stand for those of earlier times that
 * were.
 *
 * In windows (sample_windows.c) each has its own S; what is left of it when the thread ends was never used
 * again, and a watch that lasted until then counts as cut off.
 *
 * Without survival (Horvitz-Thompson, the paper's estimator): shares are the weights of what was seen to its
 * end, over their sum.
 */
#include "model/sample_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

fm_status fm_sample_masses_create(fm_sample_masses *masses, const fm_sample_items *items, size_t watch_count,
                                  bool for_pairs, fm_error *error)
{
    const size_t bins = fm_sample_bin_count();
    const size_t last = items->count > 0 ? items->items[items->count - 1].bin : 0;
    *masses = (fm_sample_masses){.bin_count = bins,
                                 .used = last + 2 < bins ? last + 2 : bins,
                                 .window_count = items->window_count > 1 ? items->window_count : 1};
    const size_t all = bins * masses->window_count;
    masses->bins = fm_calloc(bins, sizeof *masses->bins);
    masses->shares = fm_calloc(all, sizeof *masses->shares);
    masses->falls = fm_calloc(all, sizeof *masses->falls);
    masses->distances = fm_calloc(all, sizeof *masses->distances);
    masses->touched = fm_calloc(all, sizeof *masses->touched);
    bool there = masses->bins && masses->shares && masses->falls && masses->distances && masses->touched;
    if (there && for_pairs) {
        masses->per_weight_of_bin = fm_calloc(bins, sizeof *masses->per_weight_of_bin);
        masses->per_weight_of_watch = fm_calloc(watch_count + 1, sizeof *masses->per_weight_of_watch);
        masses->per_weight_across = fm_calloc(all * FM_SAMPLE_LEVELS, sizeof *masses->per_weight_across);
        there = masses->per_weight_of_bin && masses->per_weight_of_watch && masses->per_weight_across;
    }
    if (there) return FM_OK;
    fm_sample_masses_clear(masses);
    return fm_fail_memory(error, (6 * all + watch_count) * sizeof(double), "the estimate");
}

void fm_sample_masses_clear(fm_sample_masses *masses)
{
    free(masses->bins);
    free(masses->shares);
    free(masses->falls);
    free(masses->distances);
    free(masses->touched);
    free(masses->per_weight_of_bin);
    free(masses->per_weight_across);
    free(masses->per_weight_of_watch);
    *masses = (fm_sample_masses){0};
}

/* A share of the references was used again, or never. */
static void give(fm_sample_masses *masses, const fm_sample_item *item, double per_weight, double share)
{
    if (item->kind == FM_ITEM_NEVER)
        masses->never += share;
    else
        masses->bins[item->bin] += share;
    if (!masses->per_weight_of_watch) return;
    if (item->watch == FM_ITEM_OF_BURSTS)
        masses->per_weight_of_bin[item->bin] = per_weight;
    else
        masses->per_weight_of_watch[item->watch] = per_weight;
}

static bool weigh_survival(const fm_sample_items *items, const double *times, fm_sample_masses *masses)
{
    double there = 0;   /* Y */
    double left = 1;    /* S */
    double leaving = 0; /* what of the weight that is there will leave: sums of doubles end in crumbs */
    for (uint32_t block = 0; block < items->blocks; block++)
        there += items->initial[block] * (times ? times[block] : 1);
    if (there <= 0) return false;
    for (size_t i = 0; i < items->count; i++) {
        const double drawn = times ? times[items->items[i].block] : 1;
        if (items->items[i].kind != FM_ITEM_ENTERS) leaving += items->items[i].weight * drawn;
    }
    const double crumb = (there + leaving) * 1e-12;
    double per_weight = left / there;
    for (size_t i = 0; i < items->count; i++) {
        const fm_sample_item *item = &items->items[i];
        const double drawn = times ? times[item->block] : 1;
        if (!(drawn > 0)) continue;
        const double weight = item->weight * drawn;
        if (item->kind == FM_ITEM_ENTERS || item->kind == FM_ITEM_CUT) {
            there += item->kind == FM_ITEM_ENTERS ? weight : -weight;
            per_weight = there > crumb ? left / there : 0;
            continue;
        }
        double share = per_weight * weight;
        if (share > left) share = left;
        give(masses, item, per_weight, share);
        left -= share;
        there -= weight;
    }
    if (left < 1e-12) left = 0; /* crumbs */
    masses->unseen = left;
    masses->never += left;
    return true;
}

static bool weigh_sums(const fm_sample_items *items, const double *times, fm_sample_masses *masses)
{
    double sum = 0;
    for (size_t i = 0; i < items->count; i++)
        sum += items->items[i].weight * (times ? times[items->items[i].block] : 1);
    if (sum <= 0) return false;
    for (size_t i = 0; i < items->count; i++) {
        const fm_sample_item *item = &items->items[i];
        const double drawn = times ? times[item->block] : 1;
        if (drawn > 0) give(masses, item, 1 / sum, item->weight * drawn / sum);
    }
    return true;
}

/* ---- in windows ---- */

/* On the way through the time distances: of each node, of which the last ones are the windows. */
typedef struct views {
    double there[FM_SAMPLE_NODES], used[FM_SAMPLE_NODES], hazards[FM_SAMPLE_NODES];
    double left[FM_SAMPLE_MOST_WINDOWS];    /* S of each window */
    double weights[FM_SAMPLE_MOST_WINDOWS]; /* its share of the references of the run */
} views;

static void put(const fm_sample_items *items, double *nodes, uint32_t block, double weight)
{
    for (uint32_t node = items->window_count + fm_sample_window_of(items, block); node > 0; node /= 2)
        nodes[node] += weight;
}

static bool start_views(const fm_sample_items *items, const double *times, views *of)
{
    double all = 0;
    *of = (views){.there = {0}};
    for (uint32_t k = 0; k < items->window_count; k++) of->left[k] = 1;
    for (uint32_t block = 0; block < items->blocks; block++) {
        const double drawn = times ? times[block] : 1;
        put(items, of->there, block, items->initial[block] * drawn);
        of->weights[fm_sample_window_of(items, block)] += items->known[block] * drawn;
        all += items->known[block] * drawn;
    }
    for (uint32_t k = 0; k < items->window_count && all > 0; k++) of->weights[k] /= all;
    return all > 0 && of->there[1] > 0;
}

/* The share of what is there that is used again, in each node; the node i has 2i and 2i+1 below it. */
static void find_hazards(const fm_sample_items *items, uint32_t octave, views *of)
{
    of->hazards[1] = fmin(1, of->used[1] / of->there[1]);
    of->used[1] = 0;
    for (uint32_t node = 2; node < 2 * items->window_count; node++) {
        const double apart = items->apart[fm_sample_octave(node)][octave];
        const double hazard =
            (of->hazards[node / 2] + apart * of->used[node]) / (1 + apart * of->there[node]);
        of->hazards[node] = fmin(1, hazard);
        of->used[node] = 0;
    }
}

/* What a weight of 1 that is used again here is worth in window k. */
static void share_out(const fm_sample_items *items, const views *of, uint32_t octave, uint32_t k, double left,
                      double *across)
{
    for (uint32_t level = items->levels; level-- > 0;) {
        const uint32_t node = (items->window_count + k) >> (items->levels - 1 - level);
        const double apart = items->apart[level][octave];
        const double belief = level > 0 ? 1 / (1 + apart * of->there[node]) : 1;
        across[level] = left * (level > 0 ? apart * belief : 1 / of->there[1]);
        left *= belief;
    }
    for (uint32_t level = 1; level < items->levels; level++) across[level] += across[level - 1];
}

/* What was counted in `used` is used again at this time distance. */
static void fall(const fm_sample_items *items, const fm_sample_item *at, views *of, fm_sample_masses *masses)
{
    const uint32_t octave = fm_sample_octave(at->time);
    find_hazards(items, octave, of);
    for (uint32_t k = 0; k < items->window_count; k++) {
        const size_t place = k * masses->bin_count + at->bin;
        const double fallen = of->left[k] * of->hazards[items->window_count + k];
        const double reached =
            of->weights[k] * fm_sample_window_reaches(&items->windows[k], (double)at->time);
        masses->falls[place] += fallen;
        masses->shares[place] += fallen * reached;
        masses->bins[at->bin] += fallen * reached;
        if (masses->per_weight_across)
            share_out(items, of, octave, k, of->left[k] * reached,
                      masses->per_weight_across + place * FM_SAMPLE_LEVELS);
        of->left[k] -= fallen;
    }
}

static bool weigh_windows(const fm_sample_items *items, const double *times, fm_sample_masses *masses)
{
    views of;
    if (!start_views(items, times, &of)) return false;
    const double crumb = of.there[1] * 1e-12;
    for (size_t i = 0, to; i < items->count; i = to) {
        const fm_sample_item *first = &items->items[i];
        for (to = i; to < items->count && items->items[to].time == first->time; to++) {
            const fm_sample_item *item = &items->items[to];
            if (item->kind != FM_ITEM_REUSED) break;
            put(items, of.used, item->block, item->weight * (times ? times[item->block] : 1));
        }
        if (of.used[1] > 0 && of.there[1] > crumb) fall(items, first, &of, masses);
        for (to = i; to < items->count && items->items[to].time == first->time; to++) {
            const fm_sample_item *item = &items->items[to];
            const double weight = item->weight * (times ? times[item->block] : 1);
            put(items, of.there, item->block, item->kind == FM_ITEM_ENTERS ? weight : -weight);
        }
        for (uint32_t node = 1; node < 2 * items->window_count; node++)
            if (of.there[node] < crumb) of.there[node] = 0;
    }
    double sum = 0;
    for (size_t bin = 0; bin < masses->used; bin++) sum += masses->bins[bin];
    masses->never = 1 - sum;
    if (masses->never < 1e-12) masses->never = 0;
    return true;
}

static void clear(fm_sample_masses *masses)
{
    memset(masses->bins, 0, masses->bin_count * sizeof *masses->bins);
    for (size_t k = 0; k < masses->window_count; k++) {
        memset(masses->shares + k * masses->bin_count, 0, masses->used * sizeof *masses->shares);
        memset(masses->falls + k * masses->bin_count, 0, masses->used * sizeof *masses->falls);
    }
    masses->never = masses->unseen = 0;
}

/* Which observations stand for what was never used again, and how much of it none does, is told by the run as
 * a whole; how much it is, by the windows. */
static void share_never(const fm_sample_items *items, double never, double unseen, fm_sample_masses *masses)
{
    const double factor = never > 0 ? masses->never / never : 0;
    masses->unseen = never > 0 ? unseen * factor : masses->never;
    for (size_t i = 0; i < items->count; i++) {
        const fm_sample_item *item = &items->items[i];
        if (item->watch != FM_ITEM_OF_BURSTS && item->kind == FM_ITEM_NEVER)
            masses->per_weight_of_watch[item->watch] *= factor;
    }
    for (size_t bin = 0; bin < masses->bin_count; bin++) masses->per_weight_of_bin[bin] *= factor;
}

bool fm_sample_weigh(const fm_sample_items *items, const double *times, fm_sample_masses *masses)
{
    clear(masses);
    if (masses->window_count == 1) {
        if (!(items->survival ? weigh_survival : weigh_sums)(items, times, masses)) return false;
        memcpy(masses->shares, masses->bins, masses->bin_count * sizeof *masses->bins);
        memcpy(masses->falls, masses->bins, masses->bin_count * sizeof *masses->bins);
        return true;
    }
    if (!masses->per_weight_of_watch) return weigh_windows(items, times, masses);
    if (!weigh_survival(items, times, masses)) return false;
    const double never = masses->never, unseen = masses->unseen;
    clear(masses);
    if (!weigh_windows(items, times, masses)) return false;
    share_never(items, never, unseen, masses);
    return true;
}
