/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_system.h - whole numbers under linear conditions, in our own form: variables are columns, in this
 * order: those that are kept, quotients of them (each with its definition), those that are counted.
 *
 * isl's sets with their nested quotients become one of these; isl finds out what is empty or superfluous.
 */
#ifndef FATHOM_STATIC_COUNTER_SYSTEM_H
#define FATHOM_STATIC_COUNTER_SYSTEM_H

#include "static/counter/counter.h"
#include "static/polyhedra/polynomial.h"

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

/* Conditions of the columns that are not dropped, an equality as two: isl leaves out the others, without
 * regard to whole numbers, which is enough for bounds. *lines is filled anew. */
bool fm_system_shadow(fm_isl_work *work, const fm_system *system, const bool *dropped,
                      fm_counter_lines *lines);

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

/* The line with lines[i] in place of its column i. False: numbers beyond 64 bits. */
bool fm_line_composed(fm_isl_work *work, const fm_line *lines, const fm_line *line, unsigned columns,
                      fm_line *result);
/* The first `count` columns of a line, which are columns[0 …] of the result. */
fm_line fm_line_moved(const fm_line *line, unsigned count, const unsigned *columns);
/* By how much quotients grow in so many steps of a variable; *steps: as few as make all grow by whole
 * numbers. False: more than `most`. dependent (NULL: all): the columns that are asked for. */
bool fm_system_growth(const fm_system *system, unsigned variable, int64_t most, const bool *dependent,
                      int64_t *growth, int64_t *steps);
/* The value of a line at a point; false: numbers beyond 64 bits. */
bool fm_line_value(const fm_line *line, const int64_t *values, unsigned columns, int64_t *value);
/* The values of the quotients behind those of the kept variables; false: numbers beyond 64 bits. */
bool fm_system_extend_point(const fm_system *system, int64_t *values);
/* Are all conditions fulfilled at a point of kept variables and quotients (no counted ones)? */
bool fm_system_holds(const fm_system *system, const int64_t *values);

/* ---- without isl ---- */

/*
 * What can be told of a system (counter_system.h) without isl: that it has no points, one of its points, or
 * that its conditions hide no equality. Most systems are simple enough; isl, which knows all of them, takes
 * ten times as long.
 */

typedef enum fm_quick {
    FM_QUICK_UNKNOWN,
    FM_QUICK_EMPTY,
    FM_QUICK_POINT, /* there is at least this point */
    FM_QUICK_FULL,  /* and no equality holds at all points but those that follow from the system's own ones */
} fm_quick;

/* The system and one more condition (may be NULL). full: is FM_QUICK_FULL asked for? point: values of all
 * columns (may be NULL). Never wrong. Time: columns^2 times the numbers in all lines, at most. */
fm_quick fm_system_quick(const fm_system *system, const fm_line *condition, bool full, int64_t *point);

/* ---- counting ---- */

/*
 * How many points a set of whole numbers has, as polynomials of some of its variables.
 *
 * The result is a list of pieces, each a polynomial of the kept variables and of quotients of them, which
 * counts where the piece's conditions hold. At a point, the number is the sum over all pieces that hold
 * there: pieces of one basic set never overlap, those of different ones may.
 */

typedef struct fm_counter_piece {
    fm_system domain; /* counted: 0 */
    fm_poly value;
} fm_counter_piece;

typedef struct fm_pieces {
    fm_counter_piece *pieces;
    size_t count, capacity;
} fm_pieces;

void fm_pieces_clear(fm_pieces *pieces);
/* Takes domain and value, whatever happens. */
bool fm_pieces_add(fm_isl_work *work, fm_pieces *pieces, fm_system *domain, fm_poly *value);

/* Counts the points of the counted variables; takes the system. False: see work. */
bool fm_count_system(fm_isl_work *work, fm_system *system, fm_pieces *pieces);
/* The same for isl's set: its first `kept` dimensions are kept. Frees the set. */
bool fm_count_set(fm_isl_work *work, isl_set *set, unsigned kept, fm_pieces *pieces);
/* How many points the set has; it may not have 2^63 or more. Frees the set. */
bool fm_count_points(fm_isl_work *work, isl_set *set, uint64_t *count);

/* ---- pieces that overlap ---- */

/*
 * Cuts the domain (counted: 0) so that each part is within or without every piece. The first quotients of the
 * pieces are those of the domain. The parts are appended to *overlaid, also those where the sum is 0.
 */
bool fm_overlay(fm_isl_work *work, const fm_system *domain, const fm_pieces *pieces, fm_pieces *overlaid);

/* ---- pieces that overlap, together ---- */

/*
 * All pieces overlaid together, where they have few quotients.
 *
 * A domain is cut by a condition only where it holds in a part of it, and everything that is known of a
 * domain is known of its parts: which conditions hold, which pieces have no points in it. That something has
 * points is mostly told by a point that was found before; isl is asked for the rest, and answers with
 * another point.
 */

/* ---- fewer variables ---- */

/*
 * A system by other variables, as one of its equalities says. One to one:
 *
 * 1. of variables alone, one of them with factor 1: it is replaced by the others;
 * 2. its last quotient has factor 1: it is replaced by what is before it. What it was a quotient of is then
 * within two bounds;
 * 3. one quotient with another factor, and a variable with factor 1: x = 8 q + 3. q is a variable instead
 * of x, and x within two bounds.
 *
 * Quotients are then made again from the new variables, by which most of them become sums.
 */

enum { FM_RENEWED_COLUMNS = FM_COLUMNS / 2 - 1 }; /* a system has no more before and afterwards */

/* What becomes of the columns of a system: lines by the columns of a new one. */
typedef struct fm_renewal {
    fm_line lines[FM_COLUMNS];
    unsigned kept;     /* variables of the new system; lines[] of the old variables are filled in */
    unsigned replaced; /* column of a quotient that goes … */
    const fm_line *by; /* … because it is this sum of old columns before it … */
    unsigned variable; /* … or, without such a sum, because it is this new variable; no quotient goes: the
                          variable that does */
    fm_line sum;       /* what by points to */
} fm_renewal;

/* Fills in what the equality says; false: nothing that could be used. */
bool fm_renewal_find(fm_renewal *this, const fm_system *system, const fm_line *equality);
/* Where a variable is by * its quotient + the remainder, that quotient instead of it. */
void fm_renewal_remainder(fm_renewal *this, const fm_system *system, unsigned variable, int64_t by,
                          int64_t remainder);
/* Makes a new domain of the piece's, and fills in all lines. False: see work. */
bool fm_renew(fm_isl_work *work, fm_renewal *this, fm_counter_piece *piece);
/* The same for another value of the old columns, after that. */
void fm_renew_value(const fm_renewal *this, const fm_system *old_system, const fm_system *system,
                    fm_poly *value);

/* ---- pieces with fewer quotients ---- */

/*
 * The same points and values by fewer variables.
 *
 * A piece says much of its variables by equalities: that one is a multiple of 8, that a quotient is another
 * one and 1. Products of its polynomial that cancel each other then are still there. Here they go: variables
 * and quotients are replaced as the equalities say, and quotients whose sum does not depend on the remainder
 * are left out. Which values there are and how often stays the same; the variables are other ones.
 */

/* Changes the piece; *empty: it has no points. False: see work. */
bool fm_piece_reduce(fm_isl_work *work, fm_counter_piece *piece, bool *empty);

#endif
