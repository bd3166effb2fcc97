/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_maker.h - what the parts of the front end for C and C++ share.
 *
 * The front end works the region off once, statement by statement, with numbers that are formulas
 * (static/front/front_middle.h): what it cannot know of an integer is a parameter, a variable of a loop, or
 * data. Arrays are touched, loops are opened, and everything is written into the tree of the middle, which is
 * printed as text in the end.
 *
 * The files, each with clang_ in front of its name: module.c begins and ends, and chooses the function;
 * source.c files, places, texts, operators, macros; variables.c types, variables, and what they are worth at
 * the moment; places_of.c what an expression designates; expressions.c values and conditions; statements.c
 * statements, and those that fork; loops.c loops; calls.c functions of the source, of the mathematical
 * library, of C++.
 *
 * Whatever cannot be expressed is refused at once: refuse() does not return but jumps out to the
 * entry (clang_module.c). Memory is an arena's. No jump crosses a function of libclang: visitors only
 * collect.
 */
#ifndef FATHOM_CLANG_MAKER_H
#define FATHOM_CLANG_MAKER_H

#include "static/front/front.h"
#include "static/front/front_middle.h"

#include <clang-c/Index.h>
#include <setjmp.h>

enum {
    MOST_RANK = 8,
    MOST_DEGREE = 4, /* of a product */
    MOST_INLINE = 64,
    MOST_NODES = 200000,
    MOST_NESTED = 2000,
    MOST_CALLS = 20000,
    VARIABLE_HASHES = 4096
};

/* A source file: as it is, and as it is after its macros were expanded. */
typedef struct segment { /* text [begin, end) of the expanded text comes from `from` on in the original */
    size_t begin, end, from;
    bool macro; /* all of it is one use of a macro that begins at `from` */
} segment;

typedef struct source_file {
    fm_front_file shown; /* first: places have it */
    struct source_file *next;
    const char *original, *text;
    size_t original_size, size;
    size_t segment_count;
    segment *segments; /* NULL: text is the original */
    size_t line_count;
    size_t *lines; /* where they begin, in the original */
} source_file;

/* An array type: its extents, and what its elements are. Not an array: rank 0. */
typedef struct shape {
    unsigned rank;
    const fm_form *extents[MOST_RANK]; /* NULL: not known */
    CXType element;
} shape;

typedef struct variable variable;

/* What can be loaded from and stored to: a variable in a register, or a piece of an array. */
typedef struct location {
    variable *variable; /* NULL: memory */
    fm_front_array *array;
    const fm_form *subscripts[MOST_RANK];
    uint64_t offset; /* in the element: of a member */
    shape shape;     /* of what is there */
} location;

typedef enum value_kind {
    VALUE_UNSET,   /* none (merge_values) */
    VALUE_NOTHING, /* no value yet */
    VALUE_INTEGER, /* number */
    VALUE_DATA,    /* computed while the program runs; why: for integers that would be needed */
    VALUE_POINTER, /* at: what it points to; also what a container contains */
    VALUE_LOCATION /* at: a reference, or an object that is not a number */
} value_kind;

typedef struct value {
    value_kind kind;
    const fm_form *number;
    location at;
    const char *why;
    bool constant; /* DATA: a floating-point number that the source has */
} value;

struct variable {
    variable *next, *next_alike; /* of all; of those with the same hash of their declaration */
    CXCursor declaration;
    const struct frame *frame;   /* NULL: global */
    const variable *owner;       /* of a member */
    fm_front_array *owner_array; /* of a member of what a pointer points to */
    const char *name;
    CXType type;
    unsigned number; /* in the state */
    value initial;
    fm_front_array *memory; /* where it is when scalars are in memory */
};

/* A function at work. */
typedef struct frame {
    struct frame *parent;
    CXCursor function;
    location self; /* of a method */
    bool has_self, returns;
    value result;
    unsigned depth;
} frame;

typedef struct state {
    size_t count;
    const value **values; /* by the variables' numbers; NULL, or beyond: as at the beginning */
} state;

/* What a jump statement leads to, for the statements behind a guarded one. */
typedef enum leaving { LEAVES_NOT, LEAVES_CONTINUE, LEAVES_BREAK, LEAVES_RETURN } leaving;

typedef struct choice { /* what a condition that forks a statement is taken to be */
    struct choice *next;
    CXCursor cursor;
    const fm_guard *condition;
    bool holds;
} choice;

typedef struct open_loop {
    struct open_loop *parent;
    const struct frame *frame;
    const fm_guard *ends; /* a guarded break; NULL: none */
    unsigned guards;      /* that are open since the iteration began */
} open_loop;

/* What this front end has by itself: front->own. */
struct fm_own {
    const fm_clang_request *request;
    fm_error *error;
    fm_status status;
    jmp_buf out;
    CXIndex index;
    CXTranslationUnit unit;
    bool plus_plus;
    source_file *files;
    variable *variables, *alike[VARIABLE_HASHES];
    unsigned variable_count;
    state *now;
    frame *frame;
    open_loop *loop;
    choice *choices;
    jmp_buf *fork_out;   /* to the statement that can be worked off once for each case; NULL: none can */
    unsigned fork_atoms; /* how many atoms there were when it began */
    CXCursor fork;       /* the condition that is wanted to be decided, */
    const fm_guard *fork_condition;
    unsigned call_count;
    unsigned expression_depth; /* that is being evaluated */
    unsigned quiet;            /* > 0: integers only compute subscripts and bounds */
    CXCursor region_function;
    unsigned first_line, last_line; /* of the region */
    size_t scop_begin, scop_end;    /* offsets in the expanded text; both 0: the whole body */
    source_file *region_file;
};

/* ---- module.c ---- */
_Noreturn void refuse(fm_front *f, CXCursor where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void give_up(fm_front *f, fm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- source.c ---- */
typedef struct cursors {
    size_t count;
    CXCursor *at;
} cursors;
cursors children(fm_front *f, CXCursor cursor);
CXCursor only_child(fm_front *f, CXCursor cursor); /* null cursor where there are none or several */
CXCursor bare(fm_front *f, CXCursor cursor); /* without parentheses and what the compiler adds by itself */
bool extent(fm_front *f, CXCursor cursor, source_file **file, size_t *begin, size_t *end);
fm_front_place place_of(fm_front *f, CXCursor cursor);
fm_front_place place_of_name(fm_front *f, CXCursor declaration);
unsigned line_of(fm_front *f, CXCursor cursor);
const char *source_text(fm_front *f, CXCursor cursor); /* blanks made one; at most some 200 bytes */
const char *spelling(fm_front *f, CXCursor cursor);
const char *type_name(fm_front *f, CXType type);
void original_place(const source_file *file, size_t offset, unsigned *line, unsigned *column);
bool own_source(CXCursor cursor); /* not of the system's headers */
/* The operator between two operands, in front of one, behind one; "" where the text does not show it. */
const char *operator_between(fm_front *f, CXCursor left, CXCursor right);
const char *operator_before(fm_front *f, CXCursor whole, CXCursor operand);
const char *operator_behind(fm_front *f, CXCursor whole, CXCursor operand);
size_t skip_blank(const char *text, size_t at, size_t end); /* and comments */
bool constant_of(CXCursor cursor, int64_t *number);
bool same(CXCursor left, CXCursor right);

/* Files get their expanded texts; returns how many changed. */
size_t expand_macros(fm_front *f, CXTranslationUnit unit);

CXCursor body_of(fm_front *f, CXCursor function); /* null cursor: none here */

/* ---- variables.c: types ---- */
typedef enum type_class {
    TYPE_INTEGER,
    TYPE_FLOAT,
    TYPE_POINTER,
    TYPE_ARRAY,
    TYPE_RECORD,
    TYPE_REFERENCE,
    TYPE_VOID,
    TYPE_OTHER
} type_class;
type_class classify(CXType type);
bool is_complex(CXType type); /* a floating-point number of two parts */
CXType pointee(CXType type);  /* of a pointer or a reference */
uint64_t bytes_of(fm_front *f, CXCursor where, CXType type);
bool is_unsigned(CXType type);
/* The shape of a type. Extents that the type does not tell are taken from [] in the declaration, if any. */
shape shape_of(fm_front *f, CXCursor where, CXType type, CXCursor declaration);
/* The shape of what is behind a pointer. */
shape shape_behind(fm_front *f, CXCursor where, CXType pointer, CXCursor declaration);
const fm_form *elements_of(fm_front *f, const shape *of); /* product of the extents; NULL: not known */
/* "vector", "array", … of the namespace std; NULL: none of them. */
const char *standard_template(fm_front *f, CXType type);
fm_front_array *array_new(fm_front *f, CXCursor where, const char *name, const shape *of, bool pointer);
/* Where the first element is. */
cursors fields_of(fm_front *f, CXType record);
location array_begin(fm_front *f, fm_front_array *a, const shape *of);

/* ---- variables.c: variables ---- */
variable *variable_of(fm_front *f, CXCursor where, CXCursor declaration);
variable *member_variable(fm_front *f, CXCursor where, const variable *owner, fm_front_array *owner_array,
                          CXCursor field);
value value_in(const state *of, const variable *v);
bool untouched(const state *left, const state *right, const variable *v); /* has surely the same value */
value variable_value(fm_front *f, const variable *v);
void variable_set(fm_front *f, variable *v, value to);
value integer(const fm_form *number);
value data(const char *why);
const fm_form *parameter(fm_front *f, const char *name);
state *state_copy(fm_front *f, const state *from);
bool value_equal(fm_front *f, const value *left, const value *right);
/* Which variables that exist may be changed by a statement? In the order of their numbers. */
typedef struct variable_set_of {
    size_t count, room;
    variable **at;
} variable_set_of;
void variable_set_add(fm_front *f, variable_set_of *set, variable *v);
void changed_by(fm_front *f, CXCursor statement, variable_set_of *set);
bool mentions(fm_front *f, CXCursor statement, const variable *v);
value outside_value(fm_front *f, CXCursor where, variable *v);

/* ---- places_of.c ---- */
location locate(fm_front *f, CXCursor expression);
value load(fm_front *f, CXCursor where, const location *at);
void store(fm_front *f, CXCursor where, const location *at, value to);
location step(fm_front *f, CXCursor where, const location *from, const fm_form *distance);
location member(fm_front *f, CXCursor where, const location *of, CXCursor field);
location behind(fm_front *f, CXCursor where, const value *pointer); /* what it points to */
location register_of(variable *v);
/* Subscripts that reach over the end of their rows: whole rows go into the subscript before. */
void carry(fm_front *f, const fm_front_array *of, const fm_form **subscripts);

/* ---- expressions.c ---- */
value evaluate(fm_front *f, CXCursor expression);
const fm_form *number_of(fm_front *f, CXCursor expression, const char *what); /* refuses data */
value pointer_to(const location *at);
void count_operation(fm_front *f, CXType type, char operation); /* + * / s(pecial) */
/* NULL: it depends on data (its loads have happened). */
const fm_guard *condition_from(fm_front *f, CXCursor expression, const char **why);

/* ---- statements.c ---- */
leaving work_off(fm_front *f, CXCursor statement);                 /* alone */
leaving work_off_body(fm_front *f, CXCursor statement, bool tail); /* a compound statement, or another */
void declare(fm_front *f, CXCursor declaration);
/* A reference refers to what `first` designates. */
void declare_reference(fm_front *f, variable *v, CXCursor first);
fm_front_node *front_node(fm_front *f, fm_front_node_kind kind, CXCursor where);
void statement_begin(fm_front *f, CXCursor where);
void statement_end(fm_front *f);
void access_add(fm_front *f, CXCursor where, const location *at, bool store);
fm_region_operations *operations_of(fm_front *f);

_Noreturn void fork_at(fm_front *f, CXCursor where, CXCursor cursor, const fm_guard *c);
/* VALUE_UNSET: they cannot be one. */
value merge_values(fm_front *f, CXCursor where, const fm_guard *c, const value *yes, const value *no);

/* ---- loops.c ---- */
void work_off_for(fm_front *f, CXCursor statement);
void work_off_while(fm_front *f, CXCursor statement);
void work_off_do(fm_front *f, CXCursor statement);
void work_off_range_for(fm_front *f, CXCursor statement);

/* ---- calls.c ---- */
value call(fm_front *f, CXCursor expression, location *reference); /* reference: where it returns one */
void construct(fm_front *f, CXCursor where, const location *object, CXCursor expression);
value allocation(fm_front *f, CXCursor where, CXCursor expression, CXType pointer, const char *name);
bool is_allocation(fm_front *f, CXCursor expression);
void declare_container(fm_front *f, CXCursor declaration, variable *v, const char *kind, CXCursor first);
void range_of(fm_front *f, CXCursor range, location *first, const fm_form **count);

#endif
