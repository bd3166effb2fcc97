/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parda.h - the engine `parda` in two parts: ranks that count together (parda_ranks.c), and the engine that
 * uses them (parda.c).
 */
#ifndef FATHOM_CLUSTER_PARDA_H
#define FATHOM_CLUSTER_PARDA_H

#include "base/tunable.h"
#include "engine/engine.h"

/* The least references of a rank in a phase, but for the last one. Only tests set it to anything else. */
extern FM_TUNABLE size_t fm_parda_share;

/* As many PARDA ranks as there are threads, and the references that wait for them. */
typedef struct fm_parda_ranks fm_parda_ranks;

fm_status fm_parda_ranks_create(fm_parda_ranks **result, const fm_engine_options *options, fm_bins bins,
                                fm_error *error);
void fm_parda_ranks_destroy(fm_parda_ranks *ranks); /* NULL is fine */
uint64_t fm_parda_ranks_memory(const fm_parda_ranks *ranks);
/* The most held so far, at most: of sets that grew or were given up, what they held at their largest. */
uint64_t fm_parda_ranks_memory_peak(const fm_parda_ranks *ranks);

/* Takes references; analyses those that wait when they are enough for a phase. After a failure only
 * destroying makes sense. */
fm_status fm_parda_ranks_feed(fm_parda_ranks *ranks, const uint64_t *blocks, size_t count, fm_error *error);
/* Analyses all that wait, and moves what was counted into the tally. */
fm_status fm_parda_ranks_catch_up(fm_parda_ranks *ranks, fm_tally *tally, fm_error *error);

/* As of the last catching up. */
uint64_t fm_parda_ranks_distinct(const fm_parda_ranks *ranks);
bool fm_parda_ranks_forgot(const fm_parda_ranks *ranks); /* see fm_engine_ops.cold_known */

/* After catching up: an engine that has seen nothing yet is fed with what makes it continue where the ranks
 * stand; it only forgets what they forgot. They can no longer be used. */
fm_status fm_parda_ranks_hand_over(fm_parda_ranks *ranks, const fm_engine_ops *ops, fm_engine *to,
                                   fm_error *error);

#endif
