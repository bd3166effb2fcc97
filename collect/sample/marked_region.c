/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * marked_region.c - regions that a program marks itself (fathom/markers.h): with `fathom sample --region
 * NAME` only what happens in them is sampled.
 *
 * The markers call these functions where they are there. Outside of the region ticks and samples do nothing,
 * and the thread's clock, by which accesses are reckoned, or the count of its accesses, stands still. A burst
 * ends with the region: at a system call that bursts do not make.
 */
#include "collect/sample/sampler.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Of the calling thread. */
typedef struct region_state {
    uint32_t epoch;  /* as of fm_self: what was before is forgotten */
    uint32_t depth;  /* of all regions */
    uint64_t wanted; /* bits: which of the first 64 of these are wanted */
    uint64_t left;   /* processor time when it was last left; 0: never inside */
    uint64_t away;   /* processor time outside, before that */
} region_state;
static __thread region_state region __attribute__((tls_model("initial-exec")));

enum { DEEPEST = 64 };

EXPORT void fathom_region_begin(const char *name);
EXPORT void fathom_region_end(void);

static bool is_asked_for(void)
{
    return fm_self.session && fm_self.process && (fm_self.session->wants & FM_SAMPLE_WANT_REGION);
}

/* The thread's counters, if it has some. */
static void tell_counters(bool enters)
{
    fm_sampler_thread *thread = fm_self.counting ? fm_sampler_me() : NULL;
    if (thread) fm_sampler_pmu_region(thread, enters);
}

/* Sampling in this process may have begun anew since. */
static void look_at_epoch(void)
{
    if (region.epoch != fm_self.epoch) region = (region_state){.epoch = fm_self.epoch};
}

static bool is_inside(void)
{
    return region.epoch == fm_self.epoch && region.wanted != 0;
}

bool fm_sampler_outside(void)
{
    return (fm_self.session->wants & FM_SAMPLE_WANT_REGION) && !is_inside();
}

uint64_t fm_sampler_worked(const fm_sampler_thread *thread, uint64_t now)
{
    if (!(fm_self.session->wants & FM_SAMPLE_WANT_REGION)) return now - thread->own;
    if (region.epoch != fm_self.epoch) return 0;
    const uint64_t until = is_inside() ? now : region.left, spent = region.away + thread->own;
    return until > spent ? until - spent : 0;
}

void fathom_region_begin(const char *name)
{
    fm_sampler_step_in();
    if (is_asked_for()) {
        look_at_epoch();
        const bool was = is_inside();
        if (region.depth < DEEPEST && strncmp(name, fm_self.session->region, FM_SAMPLE_REGION_BYTES) == 0) {
            if (!was) region.away += fm_sampler_cpu() - region.left;
            region.wanted |= UINT64_C(1) << region.depth;
            tell_counters(true);
            __atomic_store_n(&fm_self.process->region_met, 1, __ATOMIC_RELAXED);
        }
        region.depth++;
    }
    fm_sampler_step_out();
}

void fathom_region_end(void)
{
    fm_sampler_step_in();
    if (is_asked_for()) {
        look_at_epoch();
        const bool was = is_inside();
        if (was) fm_syscall(__NR_getpgid, 0, 0, 0, 0, 0, 0); /* bursts end here */
        if (region.depth > 0) region.depth--;
        if (region.depth < DEEPEST) region.wanted &= ~(UINT64_C(1) << region.depth);
        if (was && !is_inside()) {
            region.left = fm_sampler_cpu();
            tell_counters(false);
        }
    }
    fm_sampler_step_out();
}
