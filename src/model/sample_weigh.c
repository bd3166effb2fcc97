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
 * Without survival (Horvitz-Thompson, the paper's estimator): shares are the weights of what was seen to its
 * end, over their sum.
 */
#include "model/sample_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

fm_status fm_sample_masses_create(fm_sample_masses *masses, size_t watch_count, fm_error *error)
{
    *masses = (fm_sample_masses){.bin_count = fm_sample_bin_count()};
    masses->bins = fm_calloc(masses->bin_count, sizeof *masses->bins);
    masses->per_weight_of_bin = fm_calloc(masses->bin_count, sizeof *masses->per_weight_of_bin);
    masses->per_weight_of_watch = fm_calloc(watch_count + 1, sizeof *masses->per_weight_of_watch);
    if (masses->bins && masses->per_weight_of_bin && masses->per_weight_of_watch) return FM_OK;
    fm_sample_masses_clear(masses);
    return fm_fail_memory(error, (2 * fm_sample_bin_count() + watch_count) * sizeof(double), "the estimate");
}

void fm_sample_masses_clear(fm_sample_masses *masses)
{
    free(masses->bins);
    free(masses->per_weight_of_bin);
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

static bool weigh_survival(const fm_sample_items *items, const uint32_t *times, fm_sample_masses *masses)
{
    double there = 0;   /* Y */
    double left = 1;    /* S */
    double leaving = 0; /* what of the weight that is there will leave: sums of doubles end in crumbs */
    for (uint32_t block = 0; block < items->blocks; block++)
        there += items->initial[block] * (times ? times[block] : 1);
    if (there <= 0) return false;
    for (size_t i = 0; i < items->count; i++) {
        const uint32_t drawn = times ? times[items->items[i].block] : 1;
        if (items->items[i].kind != FM_ITEM_ENTERS) leaving += items->items[i].weight * drawn;
    }
    const double crumb = (there + leaving) * 1e-12;
    double per_weight = left / there;
    for (size_t i = 0; i < items->count; i++) {
        const fm_sample_item *item = &items->items[i];
        const uint32_t drawn = times ? times[item->block] : 1;
        if (drawn == 0) continue;
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

static bool weigh_sums(const fm_sample_items *items, const uint32_t *times, fm_sample_masses *masses)
{
    double sum = 0;
    for (size_t i = 0; i < items->count; i++)
        sum += items->items[i].weight * (times ? times[items->items[i].block] : 1);
    if (sum <= 0) return false;
    for (size_t i = 0; i < items->count; i++) {
        const fm_sample_item *item = &items->items[i];
        const uint32_t drawn = times ? times[item->block] : 1;
        if (drawn > 0) give(masses, item, 1 / sum, item->weight * drawn / sum);
    }
    return true;
}

bool fm_sample_weigh(const fm_sample_items *items, const uint32_t *times, fm_sample_masses *masses)
{
    memset(masses->bins, 0, masses->bin_count * sizeof *masses->bins);
    masses->never = masses->unseen = 0;
    return items->survival ? weigh_survival(items, times, masses) : weigh_sums(items, times, masses);
}
