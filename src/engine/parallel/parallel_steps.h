/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_steps.h - what the files of a phase's steps share: parallel_phase.c (the list of them, and what a
 * phase needs), parallel_table.c (where every block was), parallel_ranges.c (the distances).
 */
#ifndef FATHOM_ENGINE_PARALLEL_STEPS_H
#define FATHOM_ENGINE_PARALLEL_STEPS_H

#include "engine/parallel/parallel.h"

enum { FM_KEYS_A_LINE = 8 }; /* of a cache */

/* A walk through the phase's events of one partition, or range, in order: segment by segment. */
typedef struct fm_event_walk {
    size_t group;
    size_t piece, bundle; /* of the next segment */
} fm_event_walk;

typedef struct fm_event_segment {
    const fm_piece *piece;
    const fm_bundle *bundle;
    size_t first, count; /* places in the arrays of the piece */
} fm_event_segment;

/* False: there is none. */
bool fm_parallel_next_segment(const fm_parallel *self, const fm_parallel_phase *phase, fm_event_walk *at,
                              fm_event_segment *found);

/* Of one partition, or range. */
uint64_t fm_step_events_of_piece(const fm_piece *piece, size_t group);
uint64_t fm_step_events_of(const fm_parallel *self, const fm_parallel_phase *phase, size_t group);

/* All blocks that a partition holds are put into its set of blocks seen. */
fm_status fm_partition_remember_all(fm_partition *partition, fm_error *error);

/* As many tasks as are worth it for its events, `most` at most. */
size_t fm_step_tasks_for_events(const fm_parallel_phase *phase, size_t most);

/* Steps: how many tasks, and a task. Those without a number have one. */
size_t fm_step_table_tasks(const fm_parallel *self, const fm_parallel_phase *phase);
void fm_step_table(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);
void fm_step_count_cold(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);
void fm_step_cut(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);
size_t fm_step_split_tasks(const fm_parallel *self, const fm_parallel_phase *phase);
void fm_step_split(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);
size_t fm_step_range_tasks(const fm_parallel *self, const fm_parallel_phase *phase);
void fm_step_range(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);
size_t fm_step_settle_tasks(const fm_parallel *self, const fm_parallel_phase *phase);
void fm_step_settle(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);

#endif
