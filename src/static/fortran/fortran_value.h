/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_value.h - whole numbers that a region knows: sums of atoms with factors. An atom is a parameter, a
 * loop's variable, a product of both, or a quotient, remainder, minimum, maximum. Equal values have equal
 * terms, as far as sums go, so that a difference tells whether two are the same. Everything is in the
 * context's arena.
 */
#ifndef FATHOM_STATIC_FORTRAN_VALUE_H
#define FATHOM_STATIC_FORTRAN_VALUE_H

#include "static/fortran/fortran_context.h"

enum { FT_MOST_TERMS = 40, FT_MOST_ATOM = 2000 }; /* of a value; characters of an atom */

typedef struct ft_atom {
    const char *text;       /* as the region's text has it; interned */
    uint32_t number;        /* in the order of making */
    bool variable;          /* uses a loop's variable */
    bool parameter;         /* a parameter itself */
    bool used;              /* by the region's text */
    bool has_number, fixed; /* a named constant; its number was needed */
    int64_t constant;
    unsigned factors; /* of a product; 1: none */
    const struct ft_value *operands[2];
    struct ft_atom *parts[2]; /* of a product */
    struct ft_atom *next, *chain;
} ft_atom;

typedef struct ft_term {
    ft_atom *atom;
    int64_t factor; /* not 0 */
} ft_term;

typedef struct ft_value {
    int64_t constant;
    size_t count;
    ft_term terms[]; /* by number of the atom */
} ft_value;

enum { FT_ATOM_BUCKETS = 256 };

typedef struct ft_values {
    ft_context *context;
    ft_place place; /* where the source is that is worked out: for failures */
    ft_atom *first, *last;
    ft_atom *buckets[FT_ATOM_BUCKETS];
    uint32_t count;
} ft_values;

/* Each returns NULL after a failure was noted, or where an operand is NULL. */
const ft_value *fm_ft_number(ft_values *values, int64_t number);
const ft_value *fm_ft_symbol_value(ft_values *values, const char *name, bool variable);
const ft_value *fm_ft_plus(ft_values *values, const ft_value *left, const ft_value *right, int64_t factor);
const ft_value *fm_ft_add_number(ft_values *values, const ft_value *left, int64_t number);
const ft_value *fm_ft_times(ft_values *values, const ft_value *left, const ft_value *right);
/* '/' towards zero, '%' its remainder, 'f' quotient rounded down, 'm' its remainder. */
const ft_value *fm_ft_divide(ft_values *values, char how, const ft_value *left, const ft_value *right);
const ft_value *fm_ft_extreme(ft_values *values, bool most, const ft_value *left, const ft_value *right);

bool fm_ft_is_number(const ft_value *value, int64_t *number);
/* The same, with named constants taken for their numbers, which then are fixed. */
bool fm_ft_fold(const ft_value *value, int64_t *number);
/* Is left - right a number? */
bool fm_ft_difference(ft_values *values, const ft_value *left, const ft_value *right, int64_t *number);
bool fm_ft_varies(const ft_value *value); /* uses a loop's variable */
/* The factor of that atom; false: it is also inside another atom. */
bool fm_ft_factor(const ft_value *value, const ft_atom *atom, int64_t *factor);

/* As the region's text has it; parameters in it are used. */
const char *fm_ft_value_text(ft_values *values, const ft_value *value);

#endif
