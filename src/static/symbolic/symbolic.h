/* SPDX-License-Identifier: Apache-2.0 */
/* symbolic.h - all formulas of a region (fathom/static.h), as the files that find, write and read them share
 * them. */
#ifndef FATHOM_STATIC_SYMBOLIC_H
#define FATHOM_STATIC_SYMBOLIC_H

#include "static/symbolic/formula.h"
#include "static/symbolic/open_region.h"

#include <fathom/experimental/region_formulas.h>

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

/* The x of the parameters (open_region.h) for these values, which must be right for the formulas. */
void fm_symbolic_quotients(const fm_symbolic *symbolic, const int64_t *values, int64_t *x);
/* The number of a formula; of hits: the misses. */
fm_formula_status fm_symbolic_number(const fm_symbolic *symbolic, size_t index, const int64_t *x,
                                     int64_t *number);

/* symbolic->names; false: no memory. */
bool fm_symbolic_name(fm_symbolic *symbolic);

/* Fills texts and from, as far as there are any; until the deadline (fm_now). */
void fm_symbolic_describe(fm_symbolic *symbolic, double deadline);

#endif
