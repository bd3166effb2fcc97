/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_calibrate.c - weights of watches that fit what is known of all samples.
 *
 * A watch that was armed with probability p stands for 1/p samples, in the mean. How often each piece of code
 * was met is known better than that: from all samples, those that were not armed too; of bursts, from all
 * uses that their ends cut off. So the weights of the watches of each code are scaled to what is known of it
 * (J.-C. Deville, C.-E. Särndal: Calibration estimators in survey sampling, J. Am. Stat. Assoc. 1992). Code
 * with few watches is taken together.
 */
#include "model/sample_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum { FEWEST = 3 }; /* watches of code that is scaled by itself */

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

static void add(stratum *to, const stratum *from)
{
    to->count += from->count;
    to->known += from->known;
    to->sum += from->sum;
}

static size_t join(stratum *all, size_t count)
{
    qsort(all, count, sizeof *all, by_code);
    size_t kept = 0;
    for (size_t i = 1; i < count; i++)
        if (by_code(&all[kept], &all[i]) == 0)
            add(&all[kept], &all[i]);
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

static size_t collect(const fm_samples *samples, const fm_estimate_options *options, const double *weights,
                      stratum *all)
{
    const bool told = all_are_told(samples);
    size_t count = 0;
    for (size_t i = 0; i < samples->watch_count; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        const bool armed = watch->end != FM_WATCH_NOT_ARMED;
        if ((watch->burst == 0 && !told) || watch->since > 0) continue;
        all[count++] = (stratum){.code = code_of(options, watch->use),
                                 .of_bursts = watch->burst > 0,
                                 .count = armed,
                                 .known = watch->burst > 0 ? 0 : watch->weight,
                                 .sum = armed ? weights[i] : 0};
    }
    count = join(all, count);
    for (size_t i = 0; i < samples->burst_count; i++) {
        const fm_sample_burst *burst = &samples->bursts[i];
        const fm_burst_reuse *cut = samples->reuses + burst->first + burst->found_count;
        for (size_t k = 0; k < burst->cut_count && !burst->ended; k++)
            all[count++] = (stratum){.code = code_of(options, cut[k].use),
                                     .of_bursts = true,
                                     .known = burst->weight / (double)burst->uses * (double)cut[k].count};
    }
    return join(all, count);
}

fm_status fm_sample_calibrate(const fm_samples *samples, const fm_estimate_options *options, double *weights,
                              fm_error *error)
{
    const size_t most = samples->watch_count + samples->reuse_count + 1;
    stratum *all = fm_calloc(most, sizeof *all), rest[2] = {{0}};
    if (!all) return fm_fail_memory(error, most * sizeof *all, "the estimate");
    const size_t count = collect(samples, options, weights, all);
    for (size_t i = 0; i < count; i++)
        if (all[i].count < FEWEST) add(&rest[all[i].of_bursts], &all[i]);
    for (size_t i = 0; i < samples->watch_count && count > 0; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        if (watch->since > 0) continue;
        const stratum key = {.code = code_of(options, watch->use), .of_bursts = watch->burst > 0};
        const stratum *of = bsearch(&key, all, count, sizeof *all, by_code);
        if (of && of->count < FEWEST) of = &rest[of->of_bursts];
        if (of && of->known > 0 && of->sum > 0) weights[i] *= of->known / of->sum;
    }
    free(all);
    return FM_OK;
}
