/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_middle.h - what all front ends share: a source as it is worked off. A front end says what its
 * language means; numbers, and what the user assumes, are the same for all of them. The README of this folder
 * says how to write one.
 *
 * The middle is compiled into the library and, again, into modules/clang, as src/base is.
 */
#ifndef FATHOM_STATIC_FRONT_MIDDLE_H
#define FATHOM_STATIC_FRONT_MIDDLE_H

#include "base/table.h"
#include "static/region/region.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct fm_front fm_front;

/* ---- front_form.c: whole numbers as formulas ---- */

/*
 * A form is a sum of products of atoms, with factors. An atom is a parameter, the variable of a loop, the
 * unknown value that a variable has at the beginning of an iteration, or a quotient, remainder, minimum or
 * maximum of forms. Equal forms are written equally, so that differences cancel. They never change, and live
 * in the arena.
 */
typedef struct fm_form fm_form;

typedef enum fm_atom_kind {
    FM_ATOM_PARAMETER,
    FM_ATOM_LOOP,  /* the variable of a loop */
    FM_ATOM_ENTRY, /* of a variable, when an iteration begins: replaced as soon as the loop is understood */
    FM_ATOM_QUOTIENT,
    FM_ATOM_REMAINDER,
    FM_ATOM_FLOOR,
    FM_ATOM_MODULO,
    FM_ATOM_MIN,
    FM_ATOM_MAX,
} fm_atom_kind;

typedef struct fm_form_product fm_form_product;

typedef struct fm_atom {
    struct fm_atom *next, *next_alike; /* of all, in the order of making; of those with the same hash */
    fm_atom_kind kind;
    unsigned number;             /* in the order of making */
    const char *name;            /* of composed ones: how they are written, where that is kept (as_made) */
    const char *why;             /* FM_ATOM_ENTRY that stays: why */
    const char *printed;         /* FM_ATOM_LOOP: its name in the text, while it is printed */
    const fm_form_product *self; /* the product of it alone */
    bool used;                   /* FM_ATOM_PARAMETER: printed somewhere */
    bool bound;                  /* … : a variable of the source has it */
    bool has_number, fixed;      /* … : it is a named constant; its number was needed */
    int64_t constant;
    const fm_form *left, *right;
} fm_atom;

/* Products that are equal are one. */
struct fm_form_product {
    struct fm_form_product *next_alike;
    unsigned number;  /* in the order of making, among the atoms; of one atom: its own */
    const char *text; /* as_made: as it was written when it was made */
    bool varies;
    unsigned degree;
    const fm_atom *atoms[]; /* by their numbers, ascending */
};

typedef struct fm_term {
    int64_t factor; /* not 0 */
    const fm_form_product *product;
} fm_term;

struct fm_form {
    int64_t constant;
    size_t count;
    fm_term terms[];
};

/* What can go wrong with forms: front->fault says it in the front end's words, and may not come back. */
typedef enum fm_form_fault {
    FM_FORM_TOO_LARGE, /* beyond 64 bits */
    FM_FORM_TOO_LONG,  /* too many terms, or factors */
    FM_FORM_DEGREE,    /* a replacement multiplies too many atoms */
} fm_form_fault;

/* All of these give NULL where an operand is NULL, and after a fault that came back. */
const fm_form *fm_form_number(fm_front *f, int64_t number);
const fm_form *fm_form_atom(fm_front *f, const fm_atom *a);
const fm_form *fm_form_add(fm_front *f, const fm_form *left, const fm_form *right);
const fm_form *fm_form_subtract(fm_front *f, const fm_form *left, const fm_form *right);
/* left + factor * right */
const fm_form *fm_form_plus(fm_front *f, const fm_form *left, const fm_form *right, int64_t factor);
const fm_form *fm_form_add_number(fm_front *f, const fm_form *left, int64_t number);
const fm_form *fm_form_scale(fm_front *f, const fm_form *from, int64_t factor);
/* NULL, too: of too high a degree. */
const fm_form *fm_form_multiply(fm_front *f, const fm_form *left, const fm_form *right);
/* kind: QUOTIENT, REMAINDER, FLOOR, MODULO; NULL, too: the right side is no positive number and varies. */
const fm_form *fm_form_divide(fm_front *f, fm_atom_kind kind, const fm_form *left, const fm_form *right);
const fm_form *fm_form_extremum(fm_front *f, fm_atom_kind kind, const fm_form *left,
                                const fm_form *right); /* MIN, MAX */
/* The atom that is this operation, without any simplification. */
const fm_form *fm_form_composed(fm_front *f, fm_atom_kind kind, const fm_form *left, const fm_form *right);
int64_t fm_form_divided(fm_atom_kind kind, int64_t left, int64_t right); /* right > 0 */

bool fm_form_is_number(const fm_form *form, int64_t *number);
/* The same, with named constants taken for their numbers, which then are fixed. */
bool fm_form_fold(const fm_form *form, int64_t *number);
/* Is left - right a number? */
bool fm_form_difference(fm_front *f, const fm_form *left, const fm_form *right, int64_t *number);
bool fm_form_equal(const fm_form *left, const fm_form *right);
bool fm_form_mentions(const fm_form *form, const fm_atom *a);
/* Does it have the variable of a loop, or an unknown value? */
bool fm_form_varies(const fm_form *form);
bool fm_atom_varies(const fm_atom *a);
/* form = factor * a + rest; false: a is in a quotient or a minimum, or multiplied by itself. */
bool fm_form_split(fm_front *f, const fm_form *form, const fm_atom *a, const fm_form **factor,
                   const fm_form **rest);
/* Every factor divided by `divisor` without a remainder? NULL: not. */
const fm_form *fm_form_exact_quotient(fm_front *f, const fm_form *from, int64_t divisor);
/* … by a product of parameters (one term without constant); NULL: not. */
const fm_form *fm_form_exact_term(fm_front *f, const fm_form *from, const fm_form *divisor);
const fm_form *fm_form_of_term(fm_front *f, const fm_term *term);
/* The one atom that it is. */
const fm_atom *fm_form_only_atom(const fm_form *form);

typedef struct fm_replacement {
    const fm_atom *atom;
    const fm_form *form; /* NULL: leave it */
} fm_replacement;
const fm_form *fm_form_replace(fm_front *f, const fm_form *from, const fm_replacement *replacements,
                               size_t count);

fm_atom *fm_atom_new(fm_front *f, fm_atom_kind kind, const char *name); /* NULL: no memory */
/* The parameter (loops: or the variable of a loop) with that name; NULL: none. */
fm_atom *fm_atom_named(const fm_front *f, const char *name, bool loops);

/* As the region's text has it (docs/STATIC-IR.md); written: parameters in it are used from now on. */
const char *fm_form_text(fm_front *f, const fm_form *from);
const char *fm_form_written(fm_front *f, const fm_form *from);
void fm_form_use(const fm_form *form); /* parameters in it are used */

/* ---- front_assume.c: what the user states about the program ---- */

/*
 *     if at LINE holds | fails | both      a condition that depends on data; both: each branch is executed
 *     loop at LINE runs AMOUNT times       a loop whose end depends on data; AMOUNT: a number or a name
 *     while runs AMOUNT times              the same for the only loop of that kind
 *     NAME is matrix[AMOUNT][AMOUNT]       a pointer to rows (double **) whose rows follow each other
 *     NAME is identity                     an array of whole numbers: NAME[i] is i
 *     NAME is permutation of 0..LAST       the same, with a note that the order is not known; or of 1..LAST
 *
 * LINE: where the statement begins in the source. A name is a parameter, or what the language has under it.
 */
typedef enum fm_assumption_kind {
    FM_ASSUME_IF,
    FM_ASSUME_LOOP,
    FM_ASSUME_MATRIX,
    FM_ASSUME_IDENTITY
} fm_assumption_kind;
typedef enum fm_outcome { FM_OUTCOME_HOLDS, FM_OUTCOME_FAILS, FM_OUTCOME_BOTH } fm_outcome;

typedef struct fm_amount {
    const char *name; /* NULL: a number */
    int64_t number;
    const fm_form *form; /* what the front end made of it */
} fm_amount;

typedef struct fm_assumption {
    struct fm_assumption *next;
    fm_assumption_kind kind;
    const char *text;
    unsigned line; /* 0: wherever it is */
    fm_outcome outcome;
    const char *name; /* of an array */
    fm_amount amounts[2];
    bool permutation, used;
    unsigned used_at; /* line */
} fm_assumption;

/* Understands the texts (NULL at the end, or none at all), into front->assumptions. False after a failure
 * that came back, as everywhere here. */
bool fm_assumptions_read(fm_front *f, const char *const *texts);
/* The one about this line or name, used from now on; NULL: none, or a failure. */
fm_assumption *fm_assumptions_find(fm_front *f, fm_assumption_kind kind, unsigned line, const char *name);
bool fm_assumptions_check(fm_front *f); /* all were about something */

/* ---- front_tree.c: the region while it is made: loops, guards, statements and accesses, with forms in them
 * ---- */

typedef struct fm_front_file {
    struct fm_front_file *next; /* of those with a number, in its order */
    const char *path;
    unsigned number; /* in the region; 0: not shown yet */
} fm_front_file;

typedef struct fm_front_place {
    fm_front_file *file; /* NULL: nowhere */
    unsigned line, column;
} fm_front_place;

typedef enum fm_guard_kind {
    FM_GUARD_TRUE,
    FM_GUARD_FALSE,
    FM_GUARD_NOT_NEGATIVE, /* form >= 0 */
    FM_GUARD_ZERO,
    FM_GUARD_NOT_ZERO,
    FM_GUARD_AND,
    FM_GUARD_OR,
    FM_GUARD_NOT, /* of left: only as written */
} fm_guard_kind;

/* A condition. */
typedef struct fm_guard {
    fm_guard_kind kind;
    const fm_form *form;
    const struct fm_guard *left, *right;
    /* As written: a comparison keeps its sign and both sides, and nothing is simplified. */
    const char *sign;
    const fm_form *sides[2];
    size_t size; /* characters, as written */
} fm_guard;

const fm_guard *fm_guard_constant(fm_front *f, bool holds);
const fm_guard *fm_guard_of(fm_front *f, fm_guard_kind kind, const fm_form *form); /* numbers are decided */
const fm_guard *fm_guard_join(fm_front *f, fm_guard_kind kind, const fm_guard *left, const fm_guard *right);
const fm_guard *fm_guard_not(fm_front *f, const fm_guard *of);
/* difference: of the left side and the right one. sign: "<", "==", … */
const fm_guard *fm_guard_compare(fm_front *f, const char *sign, const fm_form *difference);
/* As written; NULL where an operand is NULL; right is NULL for NOT. */
const fm_guard *fm_guard_compared(fm_front *f, const char *sign, const fm_form *left, const fm_form *right);
const fm_guard *fm_guard_joined(fm_front *f, fm_guard_kind kind, const fm_guard *left, const fm_guard *right);
const fm_guard *fm_guard_replace(fm_front *f, const fm_guard *of, const fm_replacement *replacements,
                                 size_t count);
bool fm_guard_mentions(const fm_guard *of, const fm_atom *a);
bool fm_guard_varies(const fm_guard *of);
bool fm_guard_equal(const fm_guard *left, const fm_guard *right);
const char *fm_guard_text(fm_front *f, const fm_guard *of);

typedef struct fm_front_array {
    struct fm_front_array *next;
    const char *name;
    unsigned rank; /* 0: one element */
    const fm_form
        *extents[FM_MOST_DIMENSIONS]; /* NULL: not known; only the outermost one in memory may be so */
    int64_t lows[FM_MOST_DIMENSIONS];
    uint64_t bytes; /* of an element */
    bool columns;   /* the first dimension is the innermost one in memory */
    bool units;     /* the last dimension is a struct's, in pieces of `bytes` */
    bool pointer;   /* what a pointer parameter points to: may overlap others unless it is restricted */
    bool restricted;
    bool used;
    const fm_atom *last_extent;    /* the last extent is this parameter: only where something else uses it */
    const fm_assumption *identity; /* its values are those of its subscripts; NULL: not known */
    const void *origin;            /* what it is in the source: the front end's */
    fm_front_place place;
} fm_front_array;

typedef struct fm_front_touch {
    struct fm_front_touch *next;
    bool store;
    fm_front_array *array;
    const fm_form **subscripts;
    uint64_t offset, bytes; /* of the element */
    fm_front_place place;
    const char *text; /* NULL: none */
} fm_front_touch;

typedef struct fm_front_node fm_front_node;
typedef struct fm_front_list {
    fm_front_node *first, **end;
} fm_front_list;

typedef enum fm_front_node_kind { FM_FRONT_LOOP, FM_FRONT_IF, FM_FRONT_STATEMENT } fm_front_node_kind;

struct fm_front_node {
    fm_front_node_kind kind;
    fm_front_node *next;
    fm_front_place place;
    fm_atom *variable; /* LOOP */
    const fm_form *first, *last;
    int64_t step;
    const fm_guard *condition; /* IF */
    fm_front_list body, otherwise;
    fm_region_operations operations; /* STATEMENT */
    fm_front_touch *accesses, **accesses_end;
    bool kept; /* even without accesses and operations */
};

void fm_front_list_begin(fm_front_list *list);
void fm_front_list_cut(fm_front_list *list, fm_front_node **end);    /* what was added behind `end` is gone */
void fm_front_list_join(fm_front_list *list, fm_front_list *behind); /* behind is empty afterwards */
fm_front_node *fm_front_node_new(fm_front *f, fm_front_node_kind kind, const fm_front_place *where);
void fm_front_append(fm_front_list *list, fm_front_node *made);
fm_front_touch *fm_front_touch_new(fm_front *f, fm_front_node *statement, bool store, fm_front_array *array,
                                   const fm_form *const *subscripts);
bool fm_front_statement_counts(const fm_front_node *statement); /* does it touch or compute anything? */
/* A product or a quotient of floating-point numbers; complex ones (left, right) by their parts, as
 * docs/STATIC.md says. */
void fm_front_count_product(fm_region_operations *operations, bool divide, bool left, bool right);
/* The name, or with a number behind it, that no array and no parameter (loops: and no loop) has. */
const char *fm_front_free_name(fm_front *f, const char *wanted, bool loops);
fm_front_array *fm_front_array_add(fm_front *f, const fm_front_array *like); /* a copy */
fm_front_array *fm_front_array_named(const fm_front *f, const char *name);   /* NULL: none */

void fm_front_replace(fm_front *f, fm_front_list *list, const fm_replacement *replacements, size_t count);
/* Every form must be affine, nothing unknown left: else refused, with its place. */
bool fm_front_check(fm_front *f, const fm_front_list *list);

/* Once each, unless nothing is written (nowhere). */
void fm_front_note(fm_front *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fm_front_assume(fm_front *f, const fm_guard *condition); /* parameters fulfil it */

/* ---- front_trips.c ---- */

/*
 * Up to where (down to where, where step is negative) `of` goes, that begins with first and changes by step
 * as long as goes_on holds: last, NULL where nothing ends it. guard: a condition that holds from the first
 * iteration on or never. exact: an inequality (!=) that might have been passed before the loop begins is not
 * taken as an end. False: not understood, *why says what.
 */
typedef struct fm_trips {
    const fm_form *last;
    const fm_guard *guard;
} fm_trips;
bool fm_front_trips(fm_front *f, const fm_guard *goes_on, const fm_atom *of, const fm_form *first,
                    int64_t step, bool exact, fm_trips *result, const char **why);

/* ---- front_print.c ---- */
typedef struct fm_front_function {
    const char *name;
    fm_front_file *file;
    unsigned first_line, last_line;
} fm_front_function;
/* The region as text (docs/STATIC-IR.md). */
bool fm_front_print(fm_front *f, const fm_front_list *list, const fm_front_function *function, FILE *out);

/* ---- the source that is worked off ---- */

enum { FM_FRONT_HASHES = 1024 };

struct fm_front {
    struct fm_own *own; /* the front end's, where fm_front is not part of a struct of its own */
    fm_arena *arena;
    /* What the front end does when something fails; each may come back, or jump out of all that is under way.
     */
    void (*fail)(fm_front *f, fm_status status, const fm_front_place *where,
                 const char *reason); /* where: or NULL */
    void (*fault)(fm_front *f, fm_form_fault fault);
    void (*no_memory)(fm_front *f, size_t bytes);
    /* How the language is written. */
    bool any_case; /* names are in lower case here, however they are written */
    /* Terms and factors stay in the order in which they were made; otherwise products of more atoms come
     * first, and what is added before what is taken away. */
    bool as_made;
    unsigned most_degree;         /* of a product */
    unsigned most_nested;         /* loops and guards inside each other */
    size_t most_nodes;            /* loops, guards and statements in all */
    size_t most_terms, most_atom; /* of a form; characters of a composed atom (as_made); 0: any number */

    fm_atom *atoms, *last_atom, *composed[FM_FRONT_HASHES], *named[FM_FRONT_HASHES];
    fm_form_product *products[FM_FRONT_HASHES];
    unsigned atom_count;
    fm_assumption *assumptions;

    fm_front_list *list;      /* where statements go */
    fm_front_node *statement; /* that is being worked off; NULL: none */
    unsigned nowhere;         /* > 0: nothing is written, only variables change */
    size_t node_count;
    fm_front_array *arrays, *last_array;
    fm_front_file *files, *last_file;
    unsigned file_count;
    struct fm_front_lines {
        struct fm_front_lines *next;
        const char *text;
        const fm_guard *condition;
    } * notes, *conditions; /* conditions: that parameters fulfil */
};

/* count * size bytes, zeroed, in the arena. */
void *fm_front_allocate(fm_front *f, size_t count, size_t size);
const char *fm_front_text(fm_front *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *fm_front_text_list(fm_front *f, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
const char *fm_front_piece(fm_front *f, const char *begin, size_t size);
void fm_front_fail(fm_front *f, fm_status status, const fm_front_place *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
unsigned fm_front_file_number(fm_front *f, fm_front_file *file);

#endif
