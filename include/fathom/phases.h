/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.h - the phases of a trace, and the phases inside them.
 *
 * A finder sees the distances of the whole trace: where they change, and where the data in use changes,
 * phases begin. A second pass finds the places exactly. Phases that follow each other again and again are
 * rounds: a round is a phase of the level above, and rounds may repeat in rounds. Level 1 is the uppermost.
 *
 * A sampler (predict.h) that saw the whole trace gives data samples with their time samples (Ding & Zhong,
 * PLDI 2003, section 2.3). The data sample with the most peaks cuts the trace where it begins anew with data
 * that it had long left: the stretches between its peaks are phases. That finds the sweeps of a trace that is
 * the same throughout, and the phases of a threshold that is given.
 *
 * Another pass over the distances counts a profile for each phase; phases of a level with like profiles are
 * of one kind.
 */
#ifndef FATHOM_PHASES_H
#define FATHOM_PHASES_H

#include <fathom/predict.h>
#include <fathom/profile.h>
#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Two passes over all references in order. Time is linear in the trace, space is bounded. */
typedef struct fm_phase_finder fm_phase_finder;
FM_API fm_status fm_phase_finder_create(fm_phase_finder **finder, fm_error *error);
FM_API void fm_phase_finder_destroy(fm_phase_finder *finder); /* NULL is fine */
/* First pass: distances, FM_COLD for first touches. */
FM_API fm_status fm_phase_finder_survey(fm_phase_finder *finder, const uint64_t *distances, size_t count,
                                        fm_error *error);
/* Second pass, of the same references: their blocks, too. */
FM_API fm_status fm_phase_finder_locate(fm_phase_finder *finder, const uint64_t *blocks,
                                        const uint64_t *distances, size_t count, fm_error *error);

/*
 * Phases on all levels. at_peaks: level 1 is cut at the peaks of the sampler, whatever the finder found. Else
 * the peaks cut only what changes nowhere, or has no rounds, and only where the other data samples come back
 * in step: in a random trace they do not.
 */
FM_API fm_status fm_phases_create_nested(fm_phases **phases, fm_phase_finder *finder,
                                         const fm_sampler *sampler, uint64_t threshold, bool at_peaks,
                                         uint64_t references, fm_error *error);

/* Level 1 alone, at the peaks. FM_E_LIMIT where there are more than FM_MOST_PHASES.
 * Either: fm_phases_destroy (profile.h) ends them. */
FM_API fm_status fm_phases_create(fm_phases **phases, const fm_sampler *sampler, uint64_t threshold,
                                  uint64_t references, fm_error *error);

/* Profiles of the phases, counted in a second pass. A distance reaches back before its phase. */
typedef struct fm_phase_counter fm_phase_counter;
FM_API fm_status fm_phase_counter_create(fm_phase_counter **counter, fm_phases *phases, uint64_t granularity,
                                         fm_error *error);
FM_API void fm_phase_counter_destroy(fm_phase_counter *counter);
/* Distances of all references in order, FM_COLD for first touches. */
FM_API fm_status fm_phase_counter_feed(fm_phase_counter *counter, const uint64_t *distances, size_t count,
                                       fm_error *error);
/*
 * At the end: fills in the phases' counts and kinds, on all levels. Phases of a level are alike when the
 * power-of-two bars of their profiles overlap by `alike` (1 − E/2), and their lengths by half. profiles: one
 * for each phase of level 1; the caller destroys them and frees the array.
 */
FM_API fm_status fm_phase_counter_finish(fm_phase_counter *counter, double alike, fm_profile ***profiles,
                                         fm_error *error);
/* After that: those of an inner level, 2 and on, in the same way. NULL where there is no such level. */
FM_API fm_profile **fm_phase_counter_take(fm_phase_counter *counter, unsigned level);

#ifdef __cplusplus
}
#endif
#endif
