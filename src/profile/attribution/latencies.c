/* SPDX-License-Identifier: Apache-2.0 */
/* latencies.c - see latencies.h. */
#include "profile/attribution/latencies.h"

#include "base/error.h"
#include "profile/attribution/attribution_grow.h"

#include <stdlib.h>

static int by_site(const void *a, const void *b)
{
    const fm_site_latency *x = a, *y = b;
    return x->site < y->site ? -1 : x->site > y->site;
}

void fm_site_latencies_sort(fm_attribution *attribution)
{
    if (attribution->latency_count > 1)
        qsort(attribution->latencies, attribution->latency_count, sizeof *attribution->latencies, by_site);
}

static void add_up(fm_site_latency *into, const fm_site_latency *from)
{
    into->samples = fm_sum_at_most(into->samples, from->samples);
    into->timed = fm_sum_at_most(into->timed, from->timed);
    into->cycles = fm_sum_at_most(into->cycles, from->cycles);
    for (size_t i = 0; i < FM_MEMORY_LEVELS; i++)
        into->levels[i] = fm_sum_at_most(into->levels[i], from->levels[i]);
}

fm_status fm_site_latencies_merge(fm_attribution *sum, const fm_attribution *from, const uint32_t *sites,
                                  fm_error *error)
{
    if (from->latency_count == 0) return FM_OK;
    fm_site_latency *all =
        fm_attribution_grow(sum, sum->latencies, sum->latency_count, from->latency_count, sizeof *all);
    if (!all) return fm_fail_memory(error, from->latency_count * sizeof *all, "the latencies");
    for (size_t i = 0; i < from->latency_count; i++) {
        all[sum->latency_count + i] = from->latencies[i];
        all[sum->latency_count + i].site = sites[from->latencies[i].site];
    }
    sum->latencies = all;
    sum->latency_count += from->latency_count;
    fm_site_latencies_sort(sum);
    size_t kept = 0;
    for (size_t i = 1; i < sum->latency_count; i++)
        if (all[i].site == all[kept].site)
            add_up(&all[kept], &all[i]);
        else
            all[++kept] = all[i];
    sum->latency_count = kept + 1;
    return FM_OK;
}

const char *fm_site_latencies_wrong(const fm_attribution *attribution, size_t *row)
{
    for (size_t i = 0; i < attribution->latency_count; i++) {
        const fm_site_latency *each = &attribution->latencies[i];
        uint64_t sum = 0;
        bool fits = true;
        *row = i;
        if (each->site >= attribution->site_count) return "expected one of the sites, found another";
        if (i > 0 && each->site == attribution->latencies[i - 1].site) return "the site is there twice";
        for (size_t k = 0; k < FM_MEMORY_LEVELS; k++)
            fits &= !__builtin_add_overflow(sum, each->levels[k], &sum);
        if (!fits || sum != each->samples) return "the levels do not add up to the samples";
        if (each->timed > each->samples || (each->timed == 0 && each->cycles > 0))
            return "more are timed than there are";
    }
    return NULL;
}
