/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_system.h - whole numbers under linear conditions, in our own form: variables are columns, in this
 * order: those that are kept, quotients of them (each with its definition), those that are counted.
 *
 * isl's sets with their nested quotients become one of these; isl finds out what is empty or superfluous.
 */
#ifndef FATHOM_STATIC_COUNTER_SYSTEM_H
#define FATHOM_STATIC_COUNTER_SYSTEM_H

#include "static/counter/counter_poly.h"
#include "static/counter/isl_work.h"
#include "static/polyhedra/rounding.h"

#include <isl/aff_type.h>
#include <isl/set.h>

/* The quotient `of` / `by`, rounded down; `of` has kept variables and quotients before it only. */
typedef struct fm_floor {
    fm_line of;
    int64_t by;
} fm_floor;

typedef struct fm_counter_lines {
    fm_line *lines;
    size_t count, capacity;
} fm_counter_lines;

/* All zero: no variables, no conditions. */
typedef struct fm_system {
    unsigned kept, extra, counted;
    fm_counter_lines equalities,
        inequalities; /* line == 0, line >= 0; those of the floors are not among them */
    fm_floor *floors; /* `extra` of them: columns kept … */
    size_t floor_capacity;
} fm_system;

static inline unsigned fm_system_columns(const fm_system *system)
{
    return system->kept + system->extra + system->counted;
}

void fm_system_clear(fm_system *system);
bool fm_system_copy(fm_isl_work *work, fm_system *copy, const fm_system *system);
/* A new line of zeros; NULL: no memory. */
fm_line *fm_lines_add(fm_isl_work *work, fm_counter_lines *lines);
void fm_lines_remove(fm_counter_lines *lines, size_t index);
/* A column more, of zeros, before `column`; a column less. kept, extra and counted are the caller's. */
bool fm_system_insert_column(fm_isl_work *work, fm_system *system, unsigned column);
void fm_system_remove_column(fm_system *system, unsigned column);
void fm_line_remove_column(fm_line *line, unsigned column);
/* target -= factor * line. False: numbers beyond 64 bits. */
bool fm_line_subtract(fm_isl_work *work, fm_line *target, int64_t factor, const fm_line *line);

/*
 * *quotient becomes `of` / `by` rounded down, where `of` has kept variables and quotients only; if need be by
 * a new quotient, for which all columns behind the quotients move by one: then *inserted is true, and so they
 * have in poly (may be NULL).
 */
bool fm_system_quotient(fm_isl_work *work, fm_system *system, fm_poly *poly, const fm_line *of, int64_t by,
                        fm_line *quotient, bool *inserted);

/* The column of the quotient with just this definition, which is a new one or was there. */
bool fm_system_floor(fm_isl_work *work, fm_system *system, fm_poly *poly, const fm_line *of, int64_t by,
                     unsigned *column, bool *inserted);

typedef enum fm_emptiness { FM_EMPTY, FM_NOT_EMPTY, FM_EMPTINESS_FAILED } fm_emptiness;
/* Finds equalities, drops what is superfluous, and quotients that neither the system nor poly (may be NULL)
 * uses. */
fm_emptiness fm_system_simplify(fm_isl_work *work, fm_system *system, fm_poly *poly);
/* Only the last of these; all but the last of these. */
void fm_system_drop_floors(fm_system *system, fm_poly *poly);
fm_emptiness fm_system_tidy(fm_isl_work *work, fm_system *system);
/* Is a quotient in a condition, or in another quotient? One that is not can go: a column less. */
bool fm_system_uses_floor(const fm_system *system, unsigned index);
void fm_system_drop_floor(fm_system *system, unsigned index);
/* Is there a point at all, and with one more condition (NULL: none)? Quick, and changes nothing. */
fm_emptiness fm_system_emptiness(fm_isl_work *work, const fm_system *system, const fm_line *condition);

/* The system and one more condition (may be NULL) as a set whose dimensions are all columns. */
isl_basic_set *fm_system_to_isl(fm_isl_work *work, const fm_system *system, const fm_line *condition);
/* The same without a further condition, as a map whose inputs are the first columns. */
isl_basic_map *fm_system_to_isl_map(fm_isl_work *work, const fm_system *system, unsigned inputs);
/* The basic set with its explicit quotients (isl_basic_set_compute_divs); the first `kept` dimensions are
 * kept, the others counted. Frees the set. */
bool fm_system_from_isl(fm_isl_work *work, fm_system *system, isl_basic_set *set, unsigned kept);
/* The value of isl's expression of the kept variables as a line, with quotients that the system gets where it
 * does not have them. The system has no counted variables. Frees the expression. */
bool fm_system_value_of(fm_isl_work *work, fm_system *system, isl_aff *aff, fm_line *value);

/* The value of a line at a point; false: numbers beyond 64 bits. */
bool fm_line_value(const fm_line *line, const int64_t *values, unsigned columns, int64_t *value);
/* The values of the quotients behind those of the kept variables; false: numbers beyond 64 bits. */
bool fm_system_extend_point(const fm_system *system, int64_t *values);
/* Are all conditions fulfilled at a point of kept variables and quotients (no counted ones)? */
bool fm_system_holds(const fm_system *system, const int64_t *values);

#endif
