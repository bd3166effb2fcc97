/* SPDX-License-Identifier: Apache-2.0 */
/*
 * self_sampler.h - a program samples itself: the profile of what happens between two calls, at nearly its own
 * speed.
 *
 *     fm_error error;
 *     fm_running_sampler *sampler;
 *     fm_profile *profile;
 *     const fm_running_sampler_options options = {.overhead = 0.05};
 *     if (fm_sampler_start(&sampler, &options, &error)) return;
 *     solve();
 *     if (fm_sampler_stop(sampler, &profile, &error)) return;
 *     printf("%llu references\n", (unsigned long long)profile->references);
 *     fm_profile_destroy(profile);
 *
 * It is what `fathom sample --pid` does, from inside (docs/SAMPLE.md): a helper process, the program fathom,
 * attaches to the caller while fm_sampler_start waits, samples all threads of the process, those that begin
 * later among them, and estimates the profile when it is told to stop. So nothing but the samples themselves
 * is done in the process, and none of its threads, descriptors or signals are taken. The helper is no child
 * of the process: nobody hears of its end by SIGCHLD or wait.
 *
 * (The samplers of predict.h are another matter: they choose data of a trace.)
 *
 * There may be one sampler at a time in a process, and as many as one likes one after the other. Start and
 * stop may be called by different threads. Needs what `fathom sample --pid` needs: a program that is linked
 * dynamically with the GNU C library, and that may be traced by its own helper (also where
 * kernel.yama.ptrace_scope is 1). Where perf events are refused a timer takes their place, and nothing is
 * known beyond the bursts; the profile's run->notes says so.
 */
#ifndef FATHOM_SELF_SAMPLER_H
#define FATHOM_SELF_SAMPLER_H

#include <fathom/profile.h>
#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fm_running_sampler_options {
    const char *program; /* path of fathom; NULL: as it is built or installed with this library, or in PATH */
    /* As of fm_sampled_run_options (sampled_run.h). */
    double rate;
    uint64_t period;
    double overhead;
    uint64_t granularity; /* 0: 64 */
    const char *region;
    bool no_watches;
    bool no_sites;  /* do not tell code sites apart: the end takes less time */
    bool unused[6]; /* false: so that there is no padding at the end */
} fm_running_sampler_options;

typedef struct fm_running_sampler fm_running_sampler;

/* Sampling has begun when it returns. options NULL: as `fathom sample` does. FM_E_IO or FM_E_UNSUPPORTED,
 * with the reason, where the process cannot be sampled; nothing is different then. */
FM_SIZED(fm_status, fm_sampler_start, fm_running_sampler_options,
         (fm_running_sampler **sampler, const fm_running_sampler_options *options, fm_error *error),
         (sampler, options, error));
/*
 * Ends sampling, waits for the estimate and frees the sampler, also on failure. FM_E_IO, with the reason,
 * where there is no profile: above all when the time was too short for a sample. profile NULL: it is not
 * wanted.
 */
FM_API fm_status fm_sampler_stop(fm_running_sampler *sampler, fm_profile **profile, fm_error *error);

#ifdef __cplusplus
}
#endif
#endif
