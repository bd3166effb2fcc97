/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_renew.h - a system by other variables, as one of its equalities says. One to one:
 *
 * 1. of variables alone, one of them with factor 1: it is replaced by the others;
 * 2. its last quotient has factor 1: it is replaced by what is before it. What it was a quotient of is then
 *    within two bounds;
 * 3. one quotient with another factor, and a variable with factor 1: x = 8 q + 3. q is a variable instead
 *    of x, and x within two bounds.
 *
 * Quotients are then made again from the new variables, by which most of them become sums.
 */
#ifndef FATHOM_STATIC_COUNTER_RENEW_H
#define FATHOM_STATIC_COUNTER_RENEW_H

#include "static/counter/counter.h"

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
/* A line of old columns by the new ones. */
bool fm_renewal_translate(fm_isl_work *work, const fm_renewal *this, const fm_line *line, unsigned columns,
                          fm_line *result);

#endif
