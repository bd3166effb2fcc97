/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formula_along.h - the sum of a piece's polynomial along one variable, all others being fixed, without going
 * through its values one by one.
 */
#ifndef FATHOM_STATIC_FORMULA_ALONG_H
#define FATHOM_STATIC_FORMULA_ALONG_H

#include "static/symbolic/formula.h"

/* What is fixed along the variable: which columns vary with it, and the conditions that do, equalities first.
 */
typedef struct fm_formula_along {
    const fm_formula_piece *piece;
    unsigned variable; /* its column */
    const bool *varies;
    const uint64_t *masks; /* of each derived column that is a quotient: the columns that its line has */
    uint64_t varying;      /* the columns that vary, as bits */
    const int64_t *const *conditions;
    const uint64_t *condition_masks; /* the columns that each has */
    size_t condition_count, equality_count;
} fm_formula_along;

/*
 * Adds the values at all points from first to last where the conditions hold. at: the columns, of which those
 * that vary are changed. false: it is not done here, and nothing was added: too few values to be worth it,
 * conditions of a degree above 2, or numbers beyond 128 bits on the way.
 */
bool fm_formula_sum_along(const fm_formula_along *along, int64_t *at, int64_t first, int64_t last,
                          __int128 *sum);

/* The sum of a line over those of its columns that are not 0. */
static inline bool fm_formula_masked_line_at(const fm_formula_piece *piece, const int64_t *line,
                                             uint64_t mask, const int64_t *at, int64_t *value)
{
    __int128 sum = line[piece->columns];
    for (; mask; mask &= mask - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(mask);
        sum += (__int128)line[i] * at[i];
    }
    *value = (int64_t)sum;
    return *value == sum;
}

/* Values of columns, lines and the polynomial at a point; false: beyond their bits. */
bool fm_formula_line_at(const fm_formula_piece *piece, const int64_t *line, const int64_t *at,
                        int64_t *value);
bool fm_formula_derive(const fm_formula_piece *piece, const fm_derived *one, uint64_t mask, int64_t *at);
bool fm_formula_poly_at(const fm_formula_piece *piece, const int64_t *at, __int128 *value);

#endif
