/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_timeline.h - A(t): the references of a thread as a function of its processor time.
 *
 * In the windows around each burst accesses were counted and timed: the rate there. How many references an
 * access is (blocks that it touches) is known of each burst, and differs from loop to loop as much as rates
 * do: 8 bytes here, a vector there. Between two bursts the rate is the mean of theirs. In bursts and windows
 * the accesses are known, and the thread's clock stands still. Time that the kernel takes for the thread has
 * no accesses, and no ticks: as much of the clock's time as is not told by ticks is not the program's.
 *
 * There are two rates: code may be slower while a debug register watches. Processors copy by single words
 * then (rep movs), which takes twice as long. Behind a burst a register is armed, and between bursts mostly
 * not, or always: as long as it takes until a word is used again. When it was is known.
 */
#ifndef FATHOM_SAMPLE_SAMPLED_TIMELINE_H
#define FATHOM_SAMPLE_SAMPLED_TIMELINE_H

#include "sample/sampled_thread.h"

/* References in a nanosecond. */
typedef struct fm_access_rate {
    double plain, watched; /* no register is armed; one is */
} fm_access_rate;

typedef struct fm_watched_time {
    uint64_t begin, end; /* nanoseconds of work */
    uint64_t before;     /* that something was watched, until `begin` */
} fm_watched_time;

typedef struct fm_timeline {
    const fm_sampled_thread *thread;
    double *ratios;         /* references of an access, at each burst */
    fm_access_rate *rates;  /* at each burst */
    fm_access_rate *gaps;   /* before each burst, and behind the last */
    double *before;         /* references until its beginning */
    fm_watched_time *watch; /* in order, apart from each other */
    size_t watch_count;
    double end;   /* references until the end */
    double tick;  /* nanoseconds of one of the time-stamp counter's */
    bool limited; /* a rate was measured that no core can have, and was taken as the most that one can */
} fm_timeline;

/* `fallback`: accesses in a nanosecond, where nothing is known; `most`: more cannot be (access_ceiling.h); 0:
 * not known. `mean`: one rate takes the place of all. */
fm_status fm_timeline_make(fm_timeline *line, const fm_sampled_thread *thread, double fallback, double most,
                           bool mean, size_t granularity, fm_error *error);
void fm_timeline_free(fm_timeline *line);

/* Nanoseconds that the windows of a burst took longer than the program's code alone would have. */
double fm_seen_burst_slowed(const fm_seen_burst *burst);

/* References until a moment outside of bursts. */
double fm_timeline_until(const fm_timeline *line, uint64_t work);
/* The rate around a burst, watched or not as it was there. */
double fm_timeline_rate(const fm_timeline *line, size_t burst);

#endif
