/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_walker.h - what the files share that go through a procedure and write the region. */
#ifndef FATHOM_STATIC_FORTRAN_WALKER_H
#define FATHOM_STATIC_FORTRAN_WALKER_H

#include "static/fortran/fortran_syntax.h"
#include "static/front/front_middle.h"
#include "static/region/region.h"

typedef struct ft_layout {
    ft_base base;
    uint64_t bytes;                    /* of one element */
    const ft_record *record;           /* of derived types */
    uint64_t alignment, part, divisor; /* of a derived type: the size of each part (0: several), and what
                                        * divides all of their sizes and alignments */
    uint64_t unit; /* a derived type with arrays in it is addressed in pieces of so many bytes; 0: another */
} ft_layout;

/* What a name stands for while a procedure is walked. */
typedef struct ft_object {
    const ft_symbol *symbol;
    ft_layout layout;
    bool is_array;
    bool busy;            /* being worked out: a constant that depends on itself */
    bool loop;            /* the variable of a loop at present */
    const fm_form *value; /* of a whole number or truth value (0, 1); NULL: not known */
    bool untouched;       /* it is what it was when the region began: a parameter, made when it is needed */
    const fm_form *initial;
    const char *why; /* … it is not known */
    /* Where it is. Element (s1, s2, …) is memory[base + (s - low) * stride]; a scalar that stands for an
     * element is memory[base]. */
    fm_front_array *memory; /* NULL: not in memory */
    const fm_form *base[FM_MOST_DIMENSIONS];
    uint64_t offset; /* bytes inside the element: a scalar that stands for a member */
    unsigned rank;
    const fm_form *lows[FT_MOST_RANK], *extents[FT_MOST_RANK];
    unsigned dimension[FT_MOST_RANK]; /* of the memory */
    int64_t stride[FT_MOST_RANK];
    bool unknown_shape; /* allocatable, and not allocated yet */
    /* Of a scalar of derived type: its components that are known by themselves, and why those that are not
     * known yet cannot be what they were when the region began. */
    struct ft_object *members, *sibling;
    const char *changed;
    struct ft_object *alias; /* a dummy argument that is this variable of the caller */
    fm_front_array *scalar;  /* of a scalar, where scalars are in memory */
    struct ft_object *next;
    const char *member; /* of a scalar of derived type: an array that is allocated by itself */
} ft_object;

/* A procedure at work. */
typedef struct ft_activation {
    ft_unit *unit;
    ft_object *buckets[FT_SYMBOL_BUCKETS];
    struct ft_activation *caller; /* or the next of those that are always there */
} ft_activation;

/* Where an element, or the first one of a section, is. */
typedef struct ft_section {
    unsigned dimension; /* of the memory */
    int64_t stride;
    const fm_form *extent; /* elements; NULL: unknown */
} ft_section;

typedef struct ft_reference {
    const ft_expression *expression;
    ft_object *object;
    ft_layout layout;       /* of what is touched */
    fm_front_array *memory; /* NULL: a scalar in a register */
    const fm_form *subscripts[FM_MOST_DIMENSIONS];
    uint64_t offset; /* of the member */
    unsigned rank;
    ft_section sections[FT_MOST_RANK]; /* innermost first */
} ft_reference;

/* The element of every array that a statement is worked out for; positions are from 0. */
typedef struct ft_positions {
    unsigned rank;
    const fm_form *at[FT_MOST_RANK];
} ft_positions;

typedef struct ft_shape {
    unsigned rank;
    const fm_form *extents[FT_MOST_RANK];
} ft_shape;

typedef struct ft_loop {
    const char *name;      /* in the region's text */
    const char *construct; /* the loop's name in the source */
    const struct ft_loop *outer;
    fm_front_list *outside; /* where it stands */
} ft_loop;

enum { FT_MOST_TERMS = 40, FT_MOST_ATOM = 2000 }; /* of a form; characters of an atom */

typedef struct ft_walker {
    fm_front front; /* first: see walker_of() */
    ft_context *context;
    ft_unit *units;
    ft_place place; /* where the source is that is worked out: for failures of forms */
    ft_activation *activation, *lasting;
    unsigned depth;       /* of calls */
    unsigned calls;       /* in all */
    unsigned epoch;       /* of looking for what a procedure assigns */
    unsigned blocks;      /* of the text, inside each other */
    unsigned loop_count;  /* inside each other */
    unsigned outer_loops; /* those of them that are not in the procedure at work */
    const fm_guard
        *escape; /* where this holds, the rest of the body is not executed (cycle, return); NULL: nowhere */
    const ft_statement *exit; /* that the bounds of the loop at hand take care of */
    bool exit_first;          /* … as the first statement of the loop */
    const ft_loop *loops;
    fm_front_file *files;            /* by their numbers, from 1 on */
    fm_region_operations operations; /* of the statement at hand */
    size_t text, most_text;          /* about how long the region's text is */
    uint64_t statements;
    ft_place statement; /* at hand */
    bool entering;      /* a procedure is being entered: names have the values that they have now */
    bool at_entry;      /* names have the values that they had when the procedure began: bounds of arrays */
} ft_walker;

/* ---- fortran_walker.c ---- */
fm_front_place fm_ft_front_place(const ft_walker *walker, const ft_place *place);
/* `for`; *variable is its value. The loop is to be closed by fm_ft_end_loop. */
bool fm_ft_begin_loop(ft_walker *walker, ft_loop *loop, const char *name, const char *construct,
                      const fm_form *first, const fm_form *last, int64_t step, const ft_place *place,
                      const fm_form **variable);
void fm_ft_end_loop(ft_walker *walker);
/* `if`: what comes is in it up to fm_ft_end_if, with the list that is at hand here. NULL after a failure. */
fm_front_node *fm_ft_begin_if(ft_walker *walker, const fm_guard *condition, const ft_place *place);
void fm_ft_end_if(ft_walker *walker, fm_front_list *outside);
bool fm_ft_access(ft_walker *walker, bool store, const ft_reference *reference,
                  const ft_positions *positions);
/* The statement at hand, with the accesses and operations so far; nothing where there are none, unless
 * always. */
bool fm_ft_flush(ft_walker *walker, const ft_place *place, bool always);
bool fm_ft_note(ft_walker *walker, const char *text);
const char *fm_ft_safe_name(ft_walker *walker, const char *name); /* no word of the text form */

/* ---- fortran_names.c ---- */
ft_unit *fm_ft_module(const ft_walker *walker, const char *name);
/* The name that a `use` gives access to under `name`; NULL: none. */
const char *fm_ft_used_name(const ft_use *use, const char *name);
ft_symbol *fm_ft_lookup(ft_walker *walker, ft_unit *unit, const char *name, bool implicit);
ft_unit *fm_ft_procedure(ft_walker *walker, ft_unit *from, const char *name);
ft_type fm_ft_type_of(const ft_symbol *symbol);
/* The symbol's object in the procedure at work, made where it is new. NULL after a failure. */
ft_object *fm_ft_object(ft_walker *walker, const ft_symbol *symbol, const ft_place *place);
ft_object *fm_ft_object_of_name(ft_walker *walker, const char *name, const ft_place *place);
/* What a whole number or truth value is worth now; NULL: not known. */
const fm_form *fm_ft_known(ft_walker *walker, ft_object *object);
void fm_ft_set_known(ft_object *object, const fm_form *value, const char *why);
ft_object *fm_ft_new_object(ft_walker *walker, ft_activation *activation, const ft_symbol *symbol);
/* A new array with a name that nothing has yet, for the rest as `like`. */
fm_front_array *fm_ft_new_memory(ft_walker *walker, const char *name, const fm_front_array *like,
                                 const ft_place *place);
/* The object of an allocatable array inside a scalar of derived type. */
ft_object *fm_ft_member_object(ft_walker *walker, ft_object *owner, const ft_symbol *member,
                               const ft_place *place);
bool fm_ft_set_shape(ft_walker *walker, ft_object *object, unsigned rank, const ft_dimension *dimensions,
                     const ft_place *place);

bool fm_ft_layout(ft_walker *walker, ft_unit *unit, const ft_type *type, const ft_place *place,
                  ft_layout *layout);
/* The member, its offset and layout; NULL after a failure. */
const ft_symbol *fm_ft_member(ft_walker *walker, const ft_record *record, const char *name,
                              const ft_place *place, uint64_t *offset, ft_layout *layout);
/* Elements of a member that is an array with constant bounds. */
bool fm_ft_member_shape(ft_walker *walker, const ft_record *record, const ft_symbol *member, int64_t *lows,
                        int64_t *extents);

/* ---- fortran_integers.c: bounds and subscripts ---- */
const fm_form *fm_ft_integer(ft_walker *walker, const ft_expression *expression);
bool fm_ft_constant(ft_walker *walker, const ft_expression *expression, const char *what, int64_t *number);
bool fm_ft_quiet_integer(ft_walker *walker, const ft_expression *expression, const fm_form **value);
/* NULL after a failure: it depends on data, for example. */
const fm_guard *fm_ft_condition(ft_walker *walker, const ft_expression *expression);
/* Joined as written, by AND or OR, unless that is too long. */
const fm_guard *fm_ft_joined(ft_walker *walker, fm_guard_kind kind, const fm_guard *left,
                             const fm_guard *right, const ft_place *place, const char *too_long);

void fm_ft_begin_forms(ft_walker *walker);
/* As fm_form_multiply and so on; what is not affine is a failure. kind: QUOTIENT, REMAINDER, FLOOR, MODULO.
 */
const fm_form *fm_ft_times(ft_walker *walker, const fm_form *left, const fm_form *right);
const fm_form *fm_ft_divide(ft_walker *walker, fm_atom_kind kind, const fm_form *left, const fm_form *right);
/* The factor of that atom; false: it is also inside another atom, or multiplied by one. */
bool fm_ft_factor(ft_walker *walker, const fm_form *form, const fm_atom *atom, int64_t *factor);
bool fm_ft_assumed_if(ft_walker *walker, uint32_t line, fm_outcome *outcome);
/* How often the loop runs. */
bool fm_ft_assumed_loop(ft_walker *walker, uint32_t line, const fm_form **times);

/* ---- fortran_access.c: what a statement touches and computes ---- */
/* Loads of the expression, in order; its type to *base. */
bool fm_ft_data(ft_walker *walker, const ft_expression *expression, const ft_positions *positions,
                ft_base *base);
bool fm_ft_touch(ft_walker *walker, bool store, ft_reference *reference, const ft_positions *positions);
bool fm_ft_is_elemental(const char *name);

/* ---- fortran_sections.c ---- */
bool fm_ft_resolve(ft_walker *walker, const ft_expression *expression, ft_reference *reference);
/* Is it a variable (not a call)? */
bool fm_ft_is_variable(ft_walker *walker, const ft_expression *expression);
bool fm_ft_array_assignment(ft_walker *walker, const ft_statement *statement, const ft_reference *left);
bool fm_ft_reduction(ft_walker *walker, const ft_expression *call, ft_base *base);

/* ---- fortran_inline.c ---- */
bool fm_ft_call(ft_walker *walker, const ft_expression *call, ft_unit *unit, ft_base *result);

/* ---- fortran_loops.c ---- */
/* The whole numbers and truth values that the statements assign. */
typedef struct ft_assigned {
    struct ft_saved {
        ft_object *object;
        const fm_form *value;
        const char *why;
        bool untouched;
    } * list; /* malloc */
    size_t count, room;
} ft_assigned;
bool fm_ft_assigned(ft_walker *walker, const ft_statement *statements, ft_assigned *assigned);
/* They are what they were when the list was made. */
void fm_ft_restore(const ft_assigned *assigned);
/* They are not known from here on, because of what is at the place. */
bool fm_ft_forget(ft_walker *walker, const ft_assigned *assigned, const ft_place *because);

bool fm_ft_do_loop(ft_walker *walker, const ft_statement *s);
bool fm_ft_concurrent(ft_walker *walker, const ft_statement *s);
bool fm_ft_endless_loop(ft_walker *walker, const ft_statement *s);

/* ---- fortran_walker.c ---- */
bool fm_ft_statement(ft_walker *walker, const ft_statement *s);
bool fm_ft_walk(ft_walker *walker, const ft_statement *first, const ft_statement *end);

#endif
