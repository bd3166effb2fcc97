/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.h - the phases of a trace: where it begins anew with data that it had long left (Ding & Zhong, PLDI
 * 2003, section 2.3).
 *
 * A sampler (predict.h) that saw the whole trace gives data samples with their time samples. The one with the
 * most peaks cuts the trace: phases are the stretches between its consecutive peaks. A second pass over the
 * distances counts a profile for each; phases with like profiles are of one kind.
 */
#ifndef FATHOM_PHASES_H
#define FATHOM_PHASES_H

#include <fathom/predict.h>
#include <fathom/profile.h>
#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FM_MOST_PHASES = 4096 };

/* FM_E_LIMIT where there are more than FM_MOST_PHASES. */
FM_API fm_status fm_phases_create(fm_phases **phases, const fm_sampler *sampler, uint64_t threshold,
                                  uint64_t references, fm_error *error);
FM_API void fm_phases_destroy(fm_phases *phases); /* NULL is fine */

/* Profiles of the phases, counted in a second pass. A distance reaches back before its phase. */
typedef struct fm_phase_counter fm_phase_counter;
FM_API fm_status fm_phase_counter_create(fm_phase_counter **counter, fm_phases *phases, uint64_t granularity,
                                         fm_error *error);
FM_API void fm_phase_counter_destroy(fm_phase_counter *counter);
/* Distances of all references in order, FM_COLD for first touches. */
FM_API fm_status fm_phase_counter_feed(fm_phase_counter *counter, const uint64_t *distances, size_t count,
                                       fm_error *error);
/*
 * At the end: fills in the phases' counts and kinds. Phases are alike when the power-of-two bars of their
 * profiles overlap by `alike` (1 − E/2), and their lengths by half. profiles: one for each phase, or NULL for
 * those that are not wanted; the caller destroys them and frees the array.
 */
FM_API fm_status fm_phase_counter_finish(fm_phase_counter *counter, double alike, fm_profile ***profiles,
                                         fm_error *error);

#ifdef __cplusplus
}
#endif
#endif
