/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_form.h - whole numbers as formulas: sums of products of atoms. An atom is a parameter, the variable
 * of a loop, the unknown value that a variable has at the beginning of an iteration, or a quotient,
 * remainder, minimum or maximum of formulas. Equal formulas are written equally, so that differences cancel.
 * They never change.
 */
#ifndef FATHOM_CLANG_FORM_H
#define FATHOM_CLANG_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct front front;
typedef struct form form;

typedef enum atom_kind {
    ATOM_PARAMETER,
    ATOM_LOOP,  /* the variable of a loop */
    ATOM_ENTRY, /* of a variable, when an iteration begins: replaced as soon as the loop is understood */
    ATOM_QUOTIENT,
    ATOM_REMAINDER,
    ATOM_FLOOR,
    ATOM_MODULO,
    ATOM_MIN,
    ATOM_MAX,
} atom_kind;

typedef struct atom {
    struct atom *next, *next_alike; /* of all; of composed ones with the same hash */
    atom_kind kind;
    unsigned number;
    const char *name;
    const char *why;     /* ATOM_ENTRY that stays: why */
    const char *printed; /* ATOM_LOOP: its name in the text, while it is printed */
    bool used;           /* ATOM_PARAMETER: printed somewhere */
    bool bound;          /* … : a variable of the source has it */
    const form *left, *right;
} atom;

enum { MOST_DEGREE = 4 };

typedef struct term {
    int64_t factor; /* not 0 */
    unsigned degree;
    const atom *atoms[MOST_DEGREE]; /* by their numbers, ascending */
} term;

struct form {
    int64_t constant;
    size_t count;
    term terms[];
};

const form *form_number(front *f, int64_t number);
const form *form_atom(front *f, const atom *a);
const form *form_add(front *f, const form *left, const form *right);
const form *form_subtract(front *f, const form *left, const form *right);
const form *form_scale(front *f, const form *form, int64_t factor);
/* NULL: of too high a degree. */
const form *form_multiply(front *f, const form *left, const form *right);
/* kind: ATOM_QUOTIENT, REMAINDER, FLOOR, MODULO; NULL: the right side is no positive number and varies. */
const form *form_divide(front *f, atom_kind kind, const form *left, const form *right);
const form *form_extreme(front *f, atom_kind kind, const form *left, const form *right); /* MIN, MAX */

bool form_is_number(const form *form, int64_t *number);
bool form_equal(const form *left, const form *right);
bool form_mentions(const form *form, const atom *a);
/* Does it have the variable of a loop, or an unknown value? */
bool form_varies(const form *form);
/* form = factor * a + rest; false: a is in a quotient or a minimum, or multiplied by itself. */
bool form_split(front *f, const form *form, const atom *a, const struct form **factor,
                const struct form **rest);
/* Every factor divided by `divisor` without a remainder? NULL: not. */
const form *form_exact_quotient(front *f, const form *form, int64_t divisor);
/* … by a product of parameters (one term without constant); NULL: not. */
const form *form_exact_term(front *f, const form *form, const struct form *divisor);

typedef struct replacement {
    const atom *atom;
    const form *form; /* NULL: leave it */
} replacement;
const form *form_replace(front *f, const form *form, const replacement *replacements, size_t count);

atom *atom_new(front *f, atom_kind kind, const char *name);

#endif
