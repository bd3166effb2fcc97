/* SPDX-License-Identifier: Apache-2.0 */
/* symbolic.h - what the files share that find formulas of a region's open parameters. */
#ifndef FATHOM_STATIC_SYMBOLIC_H
#define FATHOM_STATIC_SYMBOLIC_H

#include "static/counter/counter_touches.h"
#include "static/symbolic/formula.h"

#include <fathom/experimental/region_formulas.h>

/* ---- open parameters ---- */

/*
 * The references of a region some of whose parameters have no value: these are the outermost variables of
 * every reference, x[0] … x[count - 1], each with one position of its own.
 *
 * Row lengths that are no whole number of blocks make addresses products of a parameter and a variable. For
 * parameters with a known remainder of a division by the elements of a block they are not: of a parameter
 * with modulus 8 and remainder 4, x is the quotient, and 8 x + 4 the parameter.
 */

enum { FM_OPEN_MOST = 6 }; /* parameters without a value */

typedef struct fm_open_parameter {
    uint32_t parameter; /* index in the region */
    int64_t modulus, remainder;
    int64_t least; /* the smallest value: with this remainder */
} fm_open_parameter;

typedef struct fm_open_class {
    unsigned count;
    fm_open_parameter parameters[FM_OPEN_MOST];
} fm_open_class;

/* The largest value of a parameter that formulas hold for. */
#define FM_OPEN_LARGEST ((int64_t)1 << 30)

/* The open parameters of the region, modulus 1 or, where a row's length depends on it, the elements of a
 * block; remainder 0. FM_E_UNSUPPORTED: there are too many, or an array has no such formulas. */
fm_status fm_open_class_find(fm_open_class *class, const fm_region *region, uint64_t granularity,
                             fm_layout layout, fm_error *error);

typedef struct fm_open_references {
    const fm_region *region;
    const fm_open_class *class;
    fm_reference_list list; /* addresses mean nothing */
    fm_row *subscripts;     /* of reference i, dimension d: [i * FM_MOST_DIMENSIONS + d], by x */
    uint64_t granularity;
    fm_layout layout;
} fm_open_references;

fm_status fm_open_references_create(fm_open_references *open, const fm_region *region,
                                    const fm_open_class *class, uint64_t granularity, fm_layout layout,
                                    fm_error *error);
void fm_open_references_clear(fm_open_references *open);

/* The executions of all statements, as references to nothing: `access` is the number of the
 * statement; one more, with the number behind the last, is executed once where the region's assumptions hold.
 */
fm_status fm_open_executions_create(fm_reference_list *list, const fm_region *region,
                                    const fm_open_class *class, fm_error *error);

/* ---- blocks ---- */

/*
 * The blocks that the references of an open region touch (counter_touches.h). Coordinates of a block: the
 * open parameters, so that regions with different values never meet; then, for every dimension but the
 * innermost, the number of the row, or of as many rows as are whole blocks together; then the block.
 */

/* False: see work. The references must stay as long as the touches. */
bool fm_open_touches_create(fm_isl_work *work, fm_touches *touches, const fm_open_references *open);

/* ---- pieces ---- */

/*
 * The distances of all accesses of a region with open parameters, counted and proved: pieces of all points,
 * each with a polynomial for the distance.
 */

typedef struct fm_open_pieces {
    unsigned parameters;
    fm_pieces reuses; /* kept: the parameters' x, then the other variables of the access; value: distance */
    fm_pieces cold;   /* first touches; kept: the parameters' x. Their number is the sum of all pieces */
    fm_pieces points; /* all accesses to blocks, likewise */
} fm_open_pieces;

bool fm_open_pieces_create(fm_isl_work *work, fm_open_pieces *pieces, const fm_open_references *open);
void fm_open_pieces_clear(fm_open_pieces *pieces);

/* ---- hits ---- */

/*
 * How many accesses hit a cache of a given size, as a formula of the open parameters: those whose distance
 * is less than the number of its blocks.
 *
 * Where the distance is a sum of multiples of the access's variables, the points below the limit are counted
 * in closed form. Variables that are multiplied with each other or with parameters are gone through when the
 * formula is evaluated; products of parameters are known then.
 */

bool fm_hits_create(fm_isl_work *work, fm_formula *hits, const fm_open_pieces *pieces, uint64_t blocks);

/* ---- all formulas ---- */

/* The first formulas; then the hits of each cache. */
enum {
    FM_SYMBOLIC_DOMAIN, /* 1 where the region's assumptions hold, else 0 */
    FM_SYMBOLIC_LOADS,
    FM_SYMBOLIC_STORES,
    FM_SYMBOLIC_FLOPS,
    FM_SYMBOLIC_INTEGERS,
    FM_SYMBOLIC_REFERENCES,
    FM_SYMBOLIC_COLD,
    FM_SYMBOLIC_HITS,
    FM_SYMBOLIC_MOST = FM_SYMBOLIC_HITS + FM_SYMBOLIC_MOST_SIZES,
};

struct fm_symbolic {
    char *function, *file; /* NULL: not known */
    uint32_t first_line, last_line;
    char *given; /* parameters with values: "m = 20" */
    char *notes; /* one in each line */
    uint64_t granularity;
    fm_layout layout;
    unsigned parameter_count;
    struct {
        char *name;
        int64_t modulus, remainder, least; /* least: with this remainder */
    } parameters[FM_OPEN_MOST];
    size_t size_count;
    uint64_t sizes[FM_SYMBOLIC_MOST_SIZES]; /* bytes */
    fm_formula formulas[FM_SYMBOLIC_MOST];
    /* for people; of hits: the misses */
    char *names[FM_SYMBOLIC_MOST], *texts[FM_SYMBOLIC_MOST], *from[FM_SYMBOLIC_MOST];
    double seconds;
};

static inline size_t fm_symbolic_formula_count(const fm_symbolic *symbolic)
{
    return FM_SYMBOLIC_HITS + symbolic->size_count;
}

/* The x of the parameters for these values, which must be right for the formulas. */
void fm_symbolic_quotients(const fm_symbolic *symbolic, const int64_t *values, int64_t *x);
/* The number of a formula; of hits: the misses. */
fm_formula_status fm_symbolic_number(const fm_symbolic *symbolic, size_t index, const int64_t *x,
                                     int64_t *number);

/* Fills texts and from, as far as there are any; until the deadline (fm_now). */
void fm_symbolic_describe(fm_symbolic *symbolic, double deadline);

#endif
