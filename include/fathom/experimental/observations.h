/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observations.h - reuse distances from samples of a run: what was observed, and the estimators.
 *
 * A sampler looks at some references of a program and finds out how many references later their blocks are
 * used again (the *time distance*, from 1 on). It does so in two ways:
 *
 *   - A *burst* is a stretch of references that was seen whole. The *uses* are the first ones of it (say, its
 *     first half). The time distance of a use is known where its block comes again before the burst ends, and
 *     is cut off there where it does not.
 *   - A *watch* is one use whose block is looked out for, by a debug register. It ends when the block is used
 *     again, when another watch takes the register (it is cut off), or with the thread: never used again.
 *     Samples that found no register are told too (not armed): they say how often code is met.
 *     When its block is used again, that reuse is a use itself: it may be watched in its turn (`since`), as
 *     long as no sample needs the register.
 *
 * Observations are put into an fm_samples, for one block size. From these follow the histogram of time
 * distances, that of distances, a band of confidence, and which code uses again what other code used.
 *
 *     fm_error error;
 *     fm_samples *samples;
 *     fm_estimate *estimate;
 *     uint32_t thread;
 *     fm_samples_options made = {.granularity = 64, .method = "software"};
 *     fm_burst_reuse found[] = {{.use = 1, .reuse = 2, .time = 1, .count = 1500}};
 *     fm_burst_reuse cut[] = {{.use = 2, .time = 2500, .count = 500}};
 *     fm_burst burst = {.at = 1000, .length = 4000, .uses = 2000, .weight = 1e6,
 *                       .found = found, .found_count = 1, .cut = cut, .cut_count = 1};
 *     fm_sample_watch watch = {.at = 1700, .from = 2500, .length = 70000, .end = FM_WATCH_USED, .burst = 1,
 *                       .weight = 1e6 * 500 / 2000, .armed = 1, .kept = 1, .use = 2, .reuse = 1};
 *     fm_estimate_options how = {.bootstrap = 200};
 *     fm_status status = fm_samples_create(&samples, &made, &error);
 *     if (status == FM_OK) status = fm_samples_add_thread(samples, 1000000, &thread, &error);
 *     burst.thread = watch.thread = thread;
 *     if (status == FM_OK) status = fm_samples_add_burst(samples, &burst, &error);
 *     if (status == FM_OK) status = fm_samples_add_watch(samples, &watch, &error);
 *     if (status == FM_OK) status = fm_estimate_create(&estimate, samples, &how, &error);
 *     const fm_profile *profile = status == FM_OK ? estimate->profile : NULL;
 *     if (status == FM_OK) status = fm_profile_write("-", &profile, 1, &error);
 *
 * All positions, lengths and time distances count references to blocks of the samples' size, each thread's by
 * itself. Whoever counts accesses multiplies by the references that an access is in the mean.
 *
 * Weights are in references: an observation says how many references of the run it stands for. So threads,
 * processes and stretches that were sampled at different rates go together by adding.
 */
#ifndef FATHOM_EXPERIMENTAL_OBSERVATIONS_H
#define FATHOM_EXPERIMENTAL_OBSERVATIONS_H

#include <fathom/sample.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- observations ---- */

typedef struct fm_samples_options {
    uint64_t granularity; /* bytes of a block, power of two; 0: 1 */
    /* What took the samples, for people and for the profile: "software", "pmu", "simulated". Copied; NULL:
     * "unknown". */
    const char *method;
} fm_samples_options;
typedef struct fm_samples fm_samples;
FM_SIZED(fm_status, fm_samples_create, fm_samples_options,
         (fm_samples **samples, const fm_samples_options *options, fm_error *error),
         (samples, options, error));
FM_API void fm_samples_destroy(fm_samples *samples); /* NULL is fine */

/* A thread, with all references that it made: counted, or estimated. *thread: its number, from 0 on. The
 * number of references may be set again when more is known. */
FM_API fm_status fm_samples_add_thread(fm_samples *samples, uint64_t references, uint32_t *thread,
                                       fm_error *error);
FM_API fm_status fm_samples_set_references(fm_samples *samples, uint32_t thread, uint64_t references,
                                           fm_error *error);

/* So many uses of a burst of this kind. Tags of code are the caller's numbers, from 1 on; 0: not known. */
typedef struct fm_burst_reuse {
    uint32_t use;   /* tag of the code that used it */
    uint32_t reuse; /* tag of the code that used it again; 0 where the burst's end cut it off */
    uint64_t time;  /* time distance; or, where cut off: all that is known is that it is larger */
    uint64_t count;
} fm_burst_reuse;

typedef struct fm_burst {
    uint32_t thread;
    uint32_t ended;  /* not 0: the thread ended with it, so what it cut off was never used again */
    uint64_t at;     /* references of the thread before it */
    uint64_t length; /* references in it */
    uint64_t uses;   /* of these, the first so many are observed: == counts of found and cut */
    double weight;   /* references of the run that it stands for, above 0: the time to the next burst
                        (as planned), times the local rate of references */
    /* In any order; the same kind may come several times. Copied; time distances from 1024 on are kept to
     * 1.6 % (the bins FM_BINS_LOGLINEAR). */
    size_t found_count, cut_count;
    const fm_burst_reuse *found, *cut;
} fm_burst;
/* Its number, from 1 on, is that of the call: fm_samples_bursts after it. */
FM_SIZED(fm_status, fm_samples_add_burst, fm_burst,
         (fm_samples *samples, const fm_burst *burst, fm_error *error), (samples, burst, error));

typedef enum fm_sample_watch_end {
    FM_WATCH_USED = 0,     /* its block was used again */
    FM_WATCH_REPLACED = 1, /* cut off: the register was needed, or the watch was given up */
    FM_WATCH_NEVER = 2,    /* under watch until the thread ended: never used again */
    FM_WATCH_NOT_ARMED = 3 /* found no register: nothing is known but that there was this use */
} fm_sample_watch_end;

typedef struct fm_sample_watch {
    uint32_t thread;
    fm_sample_watch_end end;
    uint64_t at;   /* references of the thread before the use */
    uint64_t from; /* so many references after its use the watch began, its block not used again until then: 0
                      at once; for a use of a burst, from there to the burst's end */
    uint64_t length; /* references from the use to the watch's end: for FM_WATCH_USED the time distance. At
                        least `from`. Without meaning where not armed */
    double weight;   /* references of the run that it stands for if all like it were armed, above 0. For a
                        use picked of those c of a burst's n uses that the end cut off: the burst's weight
                        times c / n */
    double armed;    /* probability with which it was armed (0 < armed <= 1; not armed: that it would be) */
    double kept;     /* probability that no other watch took its register, for those that ended by use or
                        were never used again (0 < kept <= 1); 0: not known */
    uint64_t burst;  /* number of the burst whose use it is, from 1 on; 0: none */
    uint32_t use, reuse; /* tags of code; 0: not known, none */
    uint32_t context; /* of the use, for proportional attribution: uses with the same number are expected to
                         be alike. 0: as `use` */
    uint32_t zero;    /* 0 */
    uint32_t latency; /* cycles that the use took; 0: not known */
    fm_memory_level level; /* where its data came from */
    uint64_t since; /* not 0: it is no sample, but the reuse of one, so many references after it. weight and
                       armed are those of the sample; from and burst are 0 */
} fm_sample_watch;
/* In any order. */
FM_SIZED(fm_status, fm_samples_add_watch, fm_sample_watch,
         (fm_samples *samples, const fm_sample_watch *watch, fm_error *error), (samples, watch, error));

/* How many there are: bursts, and watches, armed or not. */
FM_API uint64_t fm_samples_bursts(const fm_samples *samples);
FM_API uint64_t fm_samples_watches(const fm_samples *samples);

/* into += from: threads of `from` become further threads, tags are the same in both. The block sizes must
 * agree. On failure `into` is as it was. */
FM_API fm_status fm_samples_merge(fm_samples *into, const fm_samples *from, fm_error *error);

/* ---- estimates (sample.h) ---- */

/* The estimators, for help texts; index from 0, the default first, NULL past the end. */
typedef struct fm_estimator_info {
    const char *name;     /* "capped", "rdx", … */
    const char *summary;  /* one line */
    bool bursts;          /* knows what to do with bursts */
    bool plain_reservoir; /* made for the reservoir without caps (fm_virtual_sampler_options) */
} fm_estimator_info;
FM_API const fm_estimator_info *fm_estimator_at(size_t index);

FM_SIZED(fm_status, fm_estimate_create, fm_estimate_options,
         (fm_estimate **estimate, const fm_samples *samples, const fm_estimate_options *options,
          fm_error *error),
         (estimate, samples, options, error));
/* Tells an attribution how sure its late pairs are; map[tag] is the index of a tag's site, as for
 * fm_attribution_add_pairs. */
FM_API fm_status fm_estimate_tell_errors(const fm_estimate *estimate, fm_attribution *attribution,
                                         const uint32_t *map, size_t map_count, fm_error *error);

/* ---- a sampler that does not run ---- */

/*
 * A virtual sampler is fed all references of a trace and takes samples of them as a real one would: a counter
 * that overflows each `period` references, debug registers, bursts. What it found goes to the same
 * estimators.
 */
typedef struct fm_virtual_sampler_options {
    uint64_t granularity; /* for the samples it makes; 0: 1 */
    uint64_t period;      /* references from sample to sample in the mean; 0: 65536 */
    unsigned registers;   /* 1 to FM_MOST_REGISTERS; 0: 4 */
    bool plain_reservoir; /* the paper's reservoir; false: the capped one */
    bool even;   /* each period is the same; false: between a half and three halves of it, at random */
    bool bursts; /* a sample is a burst, and one use that its end cut off is watched */
    unsigned burst_steps;  /* bursts: lengths are burst_length times 4 to the k, k below this; each step with
                              probability 1/4; 0: 1 */
    uint64_t burst_length; /* the shortest; 0: 4096 */
    uint64_t seed;
    uint32_t again;      /* not 0: the reuse of a sample is watched in its turn while no sample needs the
                            register; not with bursts, nor in the paper's reservoir */
    uint32_t stratified; /* not 0, and not even: one sample in each period, at a place that is drawn anew;
                            not with bursts */
} fm_virtual_sampler_options;
enum { FM_MOST_REGISTERS = 16 };
typedef struct fm_virtual_sampler fm_virtual_sampler;
FM_SIZED(fm_status, fm_virtual_sampler_create, fm_virtual_sampler_options,
         (fm_virtual_sampler **sampler, const fm_virtual_sampler_options *options, fm_error *error),
         (sampler, options, error));
FM_API void fm_virtual_sampler_destroy(fm_virtual_sampler *sampler); /* NULL is fine */
/* Blocks of references in order, and tags of the code that made them (NULL: not known). */
FM_API fm_status fm_virtual_sampler_feed(fm_virtual_sampler *sampler, const uint64_t *blocks,
                                         const uint32_t *tags, size_t count, fm_error *error);
/* The trace has ended. *samples: what was observed, the caller's. Nothing can be fed after it. */
FM_API fm_status fm_virtual_sampler_finish(fm_virtual_sampler *sampler, fm_samples **samples,
                                           fm_error *error);

#ifdef __cplusplus
}
#endif
#endif
