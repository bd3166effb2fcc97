/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_formulas.h - what a region of source code does (static.h), for all values of its parameters at once.
 */
#ifndef FATHOM_EXPERIMENTAL_REGION_FORMULAS_H
#define FATHOM_EXPERIMENTAL_REGION_FORMULAS_H

#include <fathom/static.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Formulas for open parameters: how often what is done, first touches, and the misses of caches, for all
 * values of the parameters at once, proved. What a formula is right for, it says: a parameter that row
 * lengths depend on has one remainder of a division by the elements of a block, since rows lie differently in
 * blocks with another.
 */
typedef struct fm_symbolic fm_symbolic;
enum { FM_SYMBOLIC_MOST_SIZES = 16 };
typedef struct fm_symbolic_options {
    uint64_t granularity; /* power of two; 0: 64 */
    fm_layout layout;
    const uint64_t *sizes; /* of caches, in bytes; at most FM_SYMBOLIC_MOST_SIZES */
    size_t size_count;
    const int64_t *remainders; /* of each of the region's parameters, in their order; NULL: 0 for all */
    double limit_seconds;      /* 0: 60 */
} fm_symbolic_options;
/* FM_E_LIMIT: not found in time; FM_E_UNSUPPORTED: there are none, with the reason. */
FM_SIZED(fm_status, fm_region_symbolic, fm_symbolic_options,
         (const fm_region *region, const fm_symbolic_options *options, fm_symbolic **symbolic,
          fm_error *error),
         (region, options, symbolic, error));
FM_API void fm_symbolic_destroy(fm_symbolic *symbolic); /* NULL is fine */

/* An open parameter, and the values that the formulas are right for: least, least + modulus, … most. */
typedef struct fm_symbolic_parameter {
    const char *name;
    int64_t least, most, modulus;
} fm_symbolic_parameter;
FM_API size_t fm_symbolic_parameter_count(const fm_symbolic *symbolic);
FM_API fm_symbolic_parameter fm_symbolic_parameter_at(const fm_symbolic *symbolic, size_t index);

/* The numbers for given values, one for each open parameter, in their order. */
typedef struct fm_symbolic_values {
    uint64_t loads, stores, flops, integer_operations;
    uint64_t references, cold; /* to blocks; first touches: distinct blocks */
    size_t size_count;
    uint64_t sizes[FM_SYMBOLIC_MOST_SIZES], misses[FM_SYMBOLIC_MOST_SIZES]; /* first touches included */
} fm_symbolic_values;
/* FM_E_ARGUMENT: a value is not among those that the formulas are right for; FM_E_LIMIT: a number is too
 * large, or it would take too long. */
FM_SIZED(fm_status, fm_symbolic_evaluate, fm_symbolic_values,
         (const fm_symbolic *symbolic, const int64_t *values, fm_symbolic_values *result, fm_error *error),
         (symbolic, values, result, error));

/*
 * One of the formulas for people: its name ("loads", "misses of 32768 bytes"), and a polynomial that is right
 * for large parameters: from `from` on, as far as it was compared with the exact number. NULL for both: there
 * is no single one. False: there is no formula of this index.
 */
typedef struct fm_symbolic_text {
    const char *name, *text, *from;
    size_t pieces;
} fm_symbolic_text;
FM_API bool fm_symbolic_text_at(const fm_symbolic *symbolic, size_t index, fm_symbolic_text *text);
FM_API double fm_symbolic_seconds(const fm_symbolic *symbolic); /* that finding them took */

/* As JSON (docs/PROFILE.md), and back. */
FM_API fm_status fm_symbolic_write(const fm_symbolic *symbolic, const char *path, fm_error *error);
FM_API fm_status fm_symbolic_read(fm_symbolic **symbolic, const char *path, fm_error *error);
/* As a C function of this name, which needs no library. */
FM_API fm_status fm_symbolic_write_c(const fm_symbolic *symbolic, const char *path, const char *name,
                                     fm_error *error);

#ifdef __cplusplus
}
#endif
#endif
