/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmu_choice.c - by which method a run is sampled: performance counters where there are some that tell
 * addresses, and where they may be used; else a clock, and a note says why. Larger blocks than a register
 * watches are sampled by a clock, too, unless counters were asked for: a burst sees all of a block.
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "sample/pmu_plan.h"
#include "sample/sampled_run_state.h"

#include <stdlib.h>
#include <string.h>

enum { REGISTER_BYTES = 8 };

/* A block is watched by as many of its bytes as a register can. */
static uint32_t watch_bytes(const fm_sampled_run_options *options)
{
    uint64_t least = REGISTER_BYTES;
    for (size_t i = 0; i < options->granularity_count; i++)
        if (options->granularities[i] < least) least = options->granularities[i];
    return (uint32_t)least;
}

static bool has_larger_blocks(const fm_sampled_run_options *options)
{
    for (size_t i = 0; i < options->granularity_count; i++)
        if (options->granularities[i] > REGISTER_BYTES) return true;
    return false;
}

/* For tests: a machine that is not this one. */
static const char *root_of_machine(void)
{
    const char *root = getenv("FATHOM_TEST_MACHINE");
    return root ? root : "";
}

static bool plan(const fm_sampled_run_options *options, fm_pmu_plan *made)
{
    fm_pmu_machine machine;
    const fm_pmu_request request = {.period = options->period,
                                    .rate = options->rate,
                                    .share = options->overhead,
                                    .watch_bytes = watch_bytes(options),
                                    .names = fm_pfm_load(options->parts)};
    fm_pmu_machine_look(&machine, root_of_machine());
    return fm_pmu_plan_make(made, &machine, &request) && fm_pmu_plan_try(made, &machine, &request);
}

fm_status fm_sampled_run_choose(fm_sampled_run *run, fm_error *error)
{
    const fm_sampled_run_options *options = &run->options;
    fm_pmu_plan made;
    if (options->method == FM_SAMPLED_RUN_SOFTWARE ||
        /* Which accesses are a function's is exact in bursts, and inferred by single samples. */
        (options->method == FM_SAMPLED_RUN_ANY && (options->no_watches || options->function)))
        return FM_OK;
    if (!plan(options, &made)) {
        if (options->method == FM_SAMPLED_RUN_PMU)
            return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                           "performance counters cannot be used: %s. Without them: the method software",
                           made.why);
        fm_sampled_run_note(run, "sampled without performance counters: %s", made.why);
        return FM_OK;
    }
    if (options->method == FM_SAMPLED_RUN_ANY && has_larger_blocks(options)) {
        fm_sampled_run_note(
            run, "sampled without performance counters, which watch single words and would miss other "
                 "uses of a block (the method pmu uses them, the granularity 8 is about words)");
        return FM_OK;
    }
    fm_sample_session *session = run->memory.session;
    session->method = FM_SAMPLE_METHOD_PMU;
    session->pmu = made.events;
    if (options->plain_reservoir) session->wants |= FM_SAMPLE_WANT_PLAIN;
    run->context.counters = true;
    memcpy(run->counters, made.name, sizeof run->counters);
    return FM_OK;
}
