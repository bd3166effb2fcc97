/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_windows.c - windows of the run, and how different their time distances are.
 *
 * Programs have phases, and what holds in one does not in another: neither how many blocks so many references
 * touch, nor how long those will last that were cut off. So time distances are estimated in each window of
 * the run by itself, as far as its observations tell more than noise. In each window, the references that are
 * used again at time distance t, of those that were not before, are taken to be
 *
 *     (all + a * own) / (1 + a * there)
 *
 * `all` being this share in the whole run, `own` what of the window's observations was used again at t and
 * `there` what was there until then, both by weight (N. Hjort: Nonparametric Bayes estimators based on beta
 * processes in models for life history data, Ann. Stat. 1990; 1/a is the weight of the belief that windows
 * are alike). Windows are the leaves of a tree: `all` is what the node above has, made in the same way, up to
 * the whole run. a is found for each level and each power of two of t, from how different the nodes below one
 * are, beyond what noise makes; 0: they are alike. So a run is cut as finely as its samples allow and no
 * finer.
 */
#include "model/sample_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

enum {
    FEWEST = 8, /* observations of a window */
    NEAR = 2,   /* powers of two that are taken together on each side */
    MOST_UNEVEN = 4
};
#define MOST_APART 1e30

double fm_sample_window_reaches(const fm_sample_window *window, double time)
{
    const double left = window->end - time - window->from, wide = window->to - window->from;
    if (left <= 0) return 0;
    return left >= wide ? 1 : left / wide;
}

/* ---- windows ---- */

/* Where each thread ends: numbers of references may be estimates, and observations reach further. */
static double *find_ends(const fm_samples *samples)
{
    double *ends = fm_calloc(samples->thread_count + 1, sizeof *ends);
    for (size_t i = 0; i < samples->thread_count && ends; i++) ends[i] = (double)samples->references[i];
    for (size_t i = 0; i < samples->burst_count && ends; i++) {
        const fm_sample_burst *burst = &samples->bursts[i];
        ends[burst->thread] = fmax(ends[burst->thread], (double)(burst->at + burst->length));
    }
    for (size_t i = 0; i < samples->watch_count && ends; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        const double length = watch->end == FM_WATCH_NOT_ARMED ? 0 : (double)watch->length;
        ends[watch->thread] = fmax(ends[watch->thread], (double)watch->at + length + 1);
    }
    return ends;
}

static void set_window(fm_sample_window *window, const fm_sample_place *places, uint32_t blocks,
                       const double *ends)
{
    const uint32_t first = places[0].thread, last = places[blocks - 1].last_thread;
    *window = (fm_sample_window){.loose = first != last, .from = (double)places[0].at};
    for (uint32_t thread = first; thread <= last; thread++) window->end += ends[thread] / (last - first + 1);
    if (window->loose) window->from = 0;
    window->to = window->end;
}

static uint32_t first_block(const fm_sample_items *items, uint32_t window, uint32_t windows)
{
    return (uint32_t)(((uint64_t)window * items->blocks + windows - 1) / windows);
}

/* Whether the run can be cut into so many: each has two blocks, some observations, and is about as long as
 * these say that it is. Observations that are not spread over the run do not tell where what happens. */
static bool can_cut(const fm_sample_items *items, const fm_sample_place *places, const double *ends,
                    uint32_t windows)
{
    for (uint32_t k = 0; k < windows; k++) {
        const uint32_t from = first_block(items, k, windows), to = first_block(items, k + 1, windows);
        size_t count = 0;
        double known = 0;
        if (to - from < 2) return false;
        for (uint32_t block = from; block < to; block++) {
            count += places[block].count;
            known += items->known[block];
        }
        if (count < FEWEST) return false;
        const bool more = k + 1 < windows && places[to].thread == places[from].thread;
        if (places[to - 1].last_thread != places[from].thread) continue;
        const double end = more ? (double)places[to].at : ends[places[from].thread];
        const double length = end - (double)places[from].at;
        if (length < known / MOST_UNEVEN || length > known * MOST_UNEVEN) return false;
    }
    return true;
}

fm_status fm_sample_windows(fm_sample_items *items, const fm_samples *samples, const fm_sample_place *places,
                            fm_error *error)
{
    double *ends = find_ends(samples);
    if (!ends) return fm_fail_memory(error, samples->thread_count * sizeof *ends, "the estimate");
    while (items->levels < FM_SAMPLE_LEVELS && can_cut(items, places, ends, 2 * items->window_count)) {
        items->levels++;
        items->window_count *= 2;
    }
    for (uint32_t k = 0; k < items->window_count && items->blocks > 0; k++) {
        const uint32_t from = first_block(items, k, items->window_count);
        const uint32_t to = first_block(items, k + 1, items->window_count);
        set_window(&items->windows[k], &places[from], to - from, ends);
    }
    free(ends);
    for (uint32_t k = items->window_count, last = k; k-- > 0;) {
        fm_sample_window *window = &items->windows[k], *next = window + 1;
        const uint32_t from = first_block(items, k, items->window_count);
        const uint32_t to = first_block(items, k + 1, items->window_count);
        const bool more = k + 1 < items->window_count && !window->loose && !next->loose &&
                          places[from].thread == places[to].thread;
        if (!more) last = k;
        window->last = last;
        if (more) window->to = next->from;
    }
    for (uint32_t k = 0; k < items->window_count; k++)
        if (k == 0 || items->windows[k - 1].last < k) items->windows[k].from = 0; /* a thread's first */
    return FM_OK;
}

/* ---- how different they are ---- */

/* Blocks with even and with odd numbers are the two halves of each node: what differs between them, block by
 * block, is noise. */
enum { HALVES = 2 };

typedef struct half {
    double there;   /* weight that is there at this time distance */
    double used;    /* of it used again, and */
    double exposed; /* expected to be if the run were alike, at time distances of this power of two */
} half;

/* Of one level, for one power of two: how far nodes below one differ, and noise for a weight of 1; both for
 * a share of 1 that is used again. */
typedef struct difference {
    double between, within;
} difference;

/* Two nodes below one. The product of the differences of their even and of their odd halves tells how
 * different the nodes are, since the noise of these is independent; that of the two halves of a node tells
 * the noise. */
static difference compare(const half (*nodes)[HALVES], uint32_t level, double hazard)
{
    double products = 0, weights = 0, noise = 0, count = 0;
    for (uint32_t node = 1u << level; node < 2u << level; node += 2) {
        double there[2][HALVES], rate[2][HALVES], both = 1;
        for (uint32_t side = 0; side < 2; side++) {
            for (uint32_t k = 0; k < HALVES; k++) {
                const half *of = &nodes[node + side][k];
                there[side][k] = of->exposed / hazard;
                rate[side][k] = of->exposed > 0 ? of->used / there[side][k] : 0;
            }
            const double sum = there[side][0] + there[side][1], product = there[side][0] * there[side][1];
            const double off = rate[side][0] - rate[side][1];
            if (!(product > 0)) continue;
            noise += product / sum * off * off;
            count++;
        }
        for (uint32_t k = 0; k < HALVES; k++) {
            const double sum = there[0][k] + there[1][k];
            both *= sum > 0 ? there[0][k] * there[1][k] / sum : 0;
        }
        products += sqrt(both) * (rate[0][0] - rate[1][0]) * (rate[0][1] - rate[1][1]) / 2;
        weights += sqrt(both);
    }
    if (!(weights > 0 && count > 0)) return (difference){0};
    return (difference){products / weights / hazard, noise / count / hazard};
}

static void put(const fm_sample_items *items, half (*nodes)[HALVES], uint32_t block, double there,
                double used)
{
    for (uint32_t node = items->window_count + fm_sample_window_of(items, block); node > 0; node /= 2) {
        half *of = &nodes[node][block % HALVES];
        of->there = fmax(0, of->there + there);
        of->used += used;
    }
}

static void find_differences(const fm_sample_items *items, difference (*found)[FM_SAMPLE_OCTAVES])
{
    half nodes[FM_SAMPLE_NODES][HALVES] = {{{0}}};
    double hazard = 0;
    for (uint32_t block = 0; block < items->blocks; block++)
        put(items, nodes, block, items->initial[block], 0);
    for (size_t i = 0, to; i < items->count; i = to) {
        const fm_sample_item *first = &items->items[i];
        const uint32_t octave = fm_sample_octave(first->time);
        const double there = nodes[1][0].there + nodes[1][1].there;
        double used = 0;
        for (to = i; to < items->count && items->items[to].time == first->time; to++)
            if (items->items[to].kind == FM_ITEM_REUSED) {
                used += items->items[to].weight;
                put(items, nodes, items->items[to].block, 0, items->items[to].weight);
            }
        for (uint32_t node = 1; node < 2 * items->window_count && used > 0 && there > 0; node++)
            for (uint32_t k = 0; k < HALVES; k++)
                nodes[node][k].exposed += nodes[node][k].there * used / there;
        if (there > 0) hazard += used / there;
        for (size_t k = i; k < to; k++) {
            const fm_sample_item *item = &items->items[k];
            put(items, nodes, item->block, item->kind == FM_ITEM_ENTERS ? item->weight : -item->weight, 0);
        }
        if (to < items->count && fm_sample_octave(items->items[to].time) == octave) continue;
        for (uint32_t level = 1; level < items->levels && hazard > 0; level++)
            found[level][octave] = compare(nodes, level, hazard);
        for (uint32_t node = 1; node < 2 * items->window_count; node++)
            for (uint32_t k = 0; k < HALVES; k++) nodes[node][k].used = nodes[node][k].exposed = 0;
        hazard = 0;
    }
}

/* What differs at some time distances does so at those next to them: of few observations one power of two
 * alone tells little. */
void fm_sample_windows_compare(fm_sample_items *items)
{
    difference found[FM_SAMPLE_LEVELS][FM_SAMPLE_OCTAVES] = {{{0}}};
    find_differences(items, found);
    for (uint32_t level = 1; level < items->levels; level++)
        for (int octave = 0; octave < FM_SAMPLE_OCTAVES; octave++) {
            difference sum = {0};
            for (int i = octave - NEAR; i <= octave + NEAR; i++)
                if (i >= 0 && i < FM_SAMPLE_OCTAVES) {
                    sum.between += found[level][i].between;
                    sum.within += found[level][i].within;
                }
            const double apart = sum.within > 0 ? sum.between / sum.within : INFINITY;
            items->apart[level][octave] = sum.between > 0 ? fmin(apart, MOST_APART) : 0;
        }
}
