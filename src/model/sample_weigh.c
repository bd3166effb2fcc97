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
 * In windows each has its own S; what is left of it when the thread ends was never used
 * again, and a watch that lasted until then counts as cut off.
 *
 * Without survival (Horvitz-Thompson, the paper's estimator): shares are the weights of what was seen to its
 * end, over their sum.
 */
#include "base/error.h"
#include "base/memory.h"
#include "model/sample_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * ======== sample windows ========
 * Windows of the run, and how different their time distances are.
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

enum {
    FEWEST = 8, /* observations of a window */
    NEAR = 2,   /* powers of two that are taken together on each side */
    MOST_UNEVEN = 4
};
#define MOST_APART 1e30

/* The share of a window's uses that lie so long before their thread's end. */
static double sample_window_reaches(const fm_sample_window *window, double time)
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
static difference halves_compare(const half (*nodes)[HALVES], uint32_t level, double hazard)
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

static void halves_put(const fm_sample_items *items, half (*nodes)[HALVES], uint32_t block, double there,
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
        halves_put(items, nodes, block, items->initial[block], 0);
    for (size_t i = 0, to; i < items->count; i = to) {
        const fm_sample_item *first = &items->items[i];
        const uint32_t octave = fm_sample_octave(first->time);
        const double there = nodes[1][0].there + nodes[1][1].there;
        double used = 0;
        for (to = i; to < items->count && items->items[to].time == first->time; to++)
            if (items->items[to].kind == FM_ITEM_REUSED) {
                used += items->items[to].weight;
                halves_put(items, nodes, items->items[to].block, 0, items->items[to].weight);
            }
        for (uint32_t node = 1; node < 2 * items->window_count && used > 0 && there > 0; node++)
            for (uint32_t k = 0; k < HALVES; k++)
                nodes[node][k].exposed += nodes[node][k].there * used / there;
        if (there > 0) hazard += used / there;
        for (size_t k = i; k < to; k++) {
            const fm_sample_item *item = &items->items[k];
            halves_put(items, nodes, item->block, item->kind == FM_ITEM_ENTERS ? item->weight : -item->weight,
                       0);
        }
        if (to < items->count && fm_sample_octave(items->items[to].time) == octave) continue;
        for (uint32_t level = 1; level < items->levels && hazard > 0; level++)
            found[level][octave] = halves_compare(nodes, level, hazard);
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

/*
 * ======== sample calibrate ========
 * Weights of watches that fit what is known of all samples.
 *
 * A watch that was armed with probability p stands for 1/p samples, in the mean. How often each piece of code
 * was met is known better than that: from all samples, those that were not armed too; of bursts, from all
 * uses that their ends cut off. So the weights of the watches of each code are scaled to what is known of it
 * (J.-C. Deville, C.-E. Särndal: Calibration estimators in survey sampling, J. Am. Stat. Assoc. 1992). Code
 * with few watches is taken together.
 */

enum { FEWEST_OF_CODE = 3 }; /* watches of code that is scaled by itself */

typedef struct stratum {
    uint32_t code;
    bool of_bursts;
    size_t count;      /* watches */
    double known, sum; /* weight that is known; that of the watches */
} stratum;

static int by_code(const void *a, const void *b)
{
    const stratum *x = a, *y = b;
    if (x->of_bursts != y->of_bursts) return x->of_bursts - y->of_bursts;
    return (x->code > y->code) - (x->code < y->code);
}

static void stratum_add(stratum *to, const stratum *from)
{
    to->count += from->count;
    to->known += from->known;
    to->sum += from->sum;
}

static size_t strata_join(stratum *all, size_t count)
{
    qsort(all, count, sizeof *all, by_code);
    size_t kept = 0;
    for (size_t i = 1; i < count; i++)
        if (by_code(&all[kept], &all[i]) == 0)
            stratum_add(&all[kept], &all[i]);
        else
            all[++kept] = all[i];
    return count ? kept + 1 : 0;
}

/* Whether samples that were not armed were told: without them nothing is known beyond the watches. */
static bool all_are_told(const fm_samples *samples)
{
    bool not_armed = false, by_chance = false;
    for (size_t i = 0; i < samples->watch_count; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        if (watch->burst > 0 || watch->since > 0) continue;
        not_armed |= watch->end == FM_WATCH_NOT_ARMED;
        by_chance |= watch->armed < 1;
    }
    return not_armed || !by_chance;
}

static uint32_t code_of(const fm_estimate_options *options, uint32_t tag)
{
    return options->codes && tag < options->tag_count ? options->codes[tag] : tag;
}

static size_t strata_collect(const fm_samples *samples, const fm_estimate_options *options,
                             const double *weights, stratum *all)
{
    const bool told = all_are_told(samples);
    size_t count = 0;
    for (size_t i = 0; i < samples->watch_count; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        const bool armed = watch->end != FM_WATCH_NOT_ARMED;
        if ((watch->burst == 0 && !told) || watch->since > 0) continue;
        all[count] = (stratum){.code = code_of(options, watch->use),
                               .of_bursts = watch->burst > 0,
                               .count = armed,
                               .known = watch->burst > 0 ? 0 : watch->weight,
                               .sum = armed ? weights[i] : 0};
        count++;
    }
    count = strata_join(all, count);
    for (size_t i = 0; i < samples->burst_count; i++) {
        const fm_sample_burst *burst = &samples->bursts[i];
        const fm_burst_reuse *cut = samples->reuses + burst->first + burst->found_count;
        for (size_t k = 0; k < burst->cut_count && !burst->ended; k++)
            all[count++] = (stratum){.code = code_of(options, cut[k].use),
                                     .of_bursts = true,
                                     .known = burst->weight / (double)burst->uses * (double)cut[k].count};
    }
    return strata_join(all, count);
}

fm_status fm_sample_calibrate(const fm_samples *samples, const fm_estimate_options *options, double *weights,
                              fm_error *error)
{
    const size_t most = samples->watch_count + samples->reuse_count + 1;
    stratum *all = fm_calloc(most, sizeof *all), rest[2] = {{0}};
    if (!all) return fm_fail_memory(error, most * sizeof *all, "the estimate");
    const size_t count = strata_collect(samples, options, weights, all);
    for (size_t i = 0; i < count; i++)
        if (all[i].count < FEWEST_OF_CODE) stratum_add(&rest[all[i].of_bursts], &all[i]);
    for (size_t i = 0; i < samples->watch_count && count > 0; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        if (watch->since > 0) continue;
        const stratum key = {.code = code_of(options, watch->use), .of_bursts = watch->burst > 0};
        const stratum *of = bsearch(&key, all, count, sizeof *all, by_code);
        if (of && of->count < FEWEST_OF_CODE) of = &rest[of->of_bursts];
        if (of && of->known > 0 && of->sum > 0) weights[i] *= of->known / of->sum;
    }
    free(all);
    return FM_OK;
}

/*
 * ======== sample seconds ========
 * Weights of reuses of samples that were watched in their turn (the seconds).
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

/* A sample that was armed, or what a weight of one that is used again at this time distance is worth. */
typedef struct armed_sample {
    uint64_t time;
    fm_sample_watch_end end;
    double weight;
} armed_sample;

static bool is_first(const fm_sample_watch *watch)
{
    return watch->since == 0 && watch->burst == 0;
}

static int by_time(const void *a, const void *b)
{
    const armed_sample *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    const int cut_x = x->end == FM_WATCH_REPLACED, cut_y = y->end == FM_WATCH_REPLACED;
    return cut_x - cut_y; /* who is used again was still there */
}

/* Kaplan and Meier's estimate, in place: weights become what a weight of 1 is worth there. Returns the share
 * that is never used again. */
static double find_worth(armed_sample *all, size_t count, double sum)
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
static double worth_at(const armed_sample *all, size_t count, uint64_t time)
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

static void sums_add(sums *to, double weight)
{
    to->weight += weight;
    to->squares += weight * weight;
}

static double effective_count(const sums *of)
{
    return of->squares > 0 ? of->weight * of->weight / of->squares : 0;
}

fm_status fm_sample_weigh_seconds(const fm_samples *samples, double *weights, fm_error *error)
{
    armed_sample *all = fm_calloc(samples->watch_count + 1, sizeof *all);
    if (!all) return fm_fail_memory(error, samples->watch_count * sizeof *all, "the estimate");
    sums firsts = {0}, seconds = {0};
    size_t count = 0, taken = 0;
    for (size_t i = 0; i < samples->watch_count; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        taken += is_first(watch);
        if (!is_first(watch) || watch->end == FM_WATCH_NOT_ARMED) continue;
        all[count++] = (armed_sample){watch->length, watch->end, weights[i]};
        sums_add(&firsts, weights[i]);
    }
    if (count > 0) qsort(all, count, sizeof *all, by_time);
    const double never = firsts.weight > 0 ? find_worth(all, count, firsts.weight) : 1;
    for (size_t i = 0; i < samples->watch_count; i++) {
        if (samples->watches[i].since == 0) continue;
        weights[i] *= worth_at(all, count, samples->watches[i].since);
        sums_add(&seconds, weights[i]);
    }
    free(all);
    if (!(seconds.weight > 0)) return FM_OK;
    /* What is missing shows in the sum as well. */
    const double missing = fmax(never, 1 - seconds.weight / firsts.weight);
    const double factor = fmin(1, effective_count(&seconds) / effective_count(&firsts)) /
                          (1 + 2 * (double)taken * missing * missing);
    for (size_t i = 0; i < samples->watch_count; i++)
        if (samples->watches[i].since > 0) weights[i] *= factor;
    return FM_OK;
}

/* ======== sample weigh ======== */

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
static void masses_give(fm_sample_masses *masses, const fm_sample_item *item, double per_weight, double share)
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
        masses_give(masses, item, per_weight, share);
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
        if (drawn > 0) masses_give(masses, item, 1 / sum, item->weight * drawn / sum);
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

static void nodes_put(const fm_sample_items *items, double *nodes, uint32_t block, double weight)
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
        nodes_put(items, of->there, block, items->initial[block] * drawn);
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
static void nodes_fall(const fm_sample_items *items, const fm_sample_item *at, views *of,
                       fm_sample_masses *masses)
{
    const uint32_t octave = fm_sample_octave(at->time);
    find_hazards(items, octave, of);
    for (uint32_t k = 0; k < items->window_count; k++) {
        const size_t place = k * masses->bin_count + at->bin;
        const double fallen = of->left[k] * of->hazards[items->window_count + k];
        const double reached = of->weights[k] * sample_window_reaches(&items->windows[k], (double)at->time);
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
            nodes_put(items, of.used, item->block, item->weight * (times ? times[item->block] : 1));
        }
        if (of.used[1] > 0 && of.there[1] > crumb) nodes_fall(items, first, &of, masses);
        for (to = i; to < items->count && items->items[to].time == first->time; to++) {
            const fm_sample_item *item = &items->items[to];
            const double weight = item->weight * (times ? times[item->block] : 1);
            nodes_put(items, of.there, item->block, item->kind == FM_ITEM_ENTERS ? weight : -weight);
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

static void masses_clear(fm_sample_masses *masses)
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
    masses_clear(masses);
    if (masses->window_count == 1) {
        if (!(items->survival ? weigh_survival : weigh_sums)(items, times, masses)) return false;
        memcpy(masses->shares, masses->bins, masses->bin_count * sizeof *masses->bins);
        memcpy(masses->falls, masses->bins, masses->bin_count * sizeof *masses->bins);
        return true;
    }
    if (!masses->per_weight_of_watch) return weigh_windows(items, times, masses);
    if (!weigh_survival(items, times, masses)) return false;
    const double never = masses->never, unseen = masses->unseen;
    masses_clear(masses);
    if (!weigh_windows(items, times, masses)) return false;
    share_never(items, never, unseen, masses);
    return true;
}
