/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count_exact.h - the distances of all accesses of a region, counted and proved, without going through them.
 *
 * isl_touches.h   references and the blocks that they touch
 * isl_previous.h  the access that used the block before
 * isl_between.h   the blocks that are touched in between, counted by counter.h
 * counter_classes.h, counter_values.h   the sum of these counts, and how often it has which value
 */
#ifndef FATHOM_STATIC_COUNT_EXACT_H
#define FATHOM_STATIC_COUNT_EXACT_H

#include "static/counter/counted.h"
#include "static/counter/counter_cells.h"
#include "static/counter/isl_work.h"
#include "static/polyhedra/reference.h"

/*
 * Everything at once. seconds: how long it may take; 0 is no limit. grouping: which distances are counted
 * together, as the least one of them; NULL: none. FM_E_LIMIT: given up, with the reason. FM_E_CORRUPT: the
 * result contradicts itself, which no input can be the cause of. What is in *result is then cleared.
 */
fm_status fm_count_exactly(const fm_reference_list *list, const fm_grouping *grouping, double seconds,
                           fm_static_counted *result, fm_error *error);

/* The same in steps. First the pieces: polynomials for the distances. */
typedef struct fm_distance_pieces fm_distance_pieces;
fm_status fm_distance_pieces_create(fm_distance_pieces **formulas, const fm_reference_list *list,
                                    const fm_isl_limits *limits, fm_error *error);
void fm_distance_pieces_destroy(fm_distance_pieces *formulas); /* NULL is fine */
/* Then how often there is which distance. */
fm_status fm_distance_pieces_count(fm_distance_pieces *formulas, const fm_grouping *grouping,
                                   fm_static_counted *result, fm_error *error);
size_t fm_distance_pieces_number(const fm_distance_pieces *formulas);
/*
 * The distance of one access, by the pieces: for a point of a reference, its block number `block` (0: the
 * first one, and the only one of most accesses). *use: the access that used it before, or FM_FIRST_TOUCH.
 * FM_E_ARGUMENT: the reference has no such point, or it does not touch so many blocks. FM_E_CORRUPT: several
 * pieces hold there.
 */
fm_status fm_distance_pieces_at(const fm_distance_pieces *formulas, size_t reference, const int64_t *x,
                                uint32_t *use, uint64_t *distance, fm_error *error);

#endif
