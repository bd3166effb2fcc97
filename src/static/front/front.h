/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front.h - front ends: each makes a region's text (docs/STATIC-IR.md) out of a source file. The text is
 * malloc'ed; fm_region_parse checks it. What they share while they work is in front_middle.h.
 */
#ifndef FATHOM_STATIC_FRONT_H
#define FATHOM_STATIC_FRONT_H

#include <fathom/static.h>

/*
 * C, C++. FM_E_UNSUPPORTED: the module is not here, or the source has something that is no region (with its
 * line). FM_E_FORMAT: the source does not compile. FM_E_ARGUMENT: there is no such function, or there are
 * several.
 */
fm_status fm_front_clang(const char *path, const fm_region_options *options, char **text, size_t *size,
                         fm_error *error);
fm_status fm_front_fortran(const char *path, const fm_region_options *options, char **text, size_t *size,
                           fm_error *error);

/* ---- what modules/clang has to offer: it needs libclang, so that the program itself does not ---- */

enum { FM_CLANG_INTERFACE = 1 };

typedef struct fm_clang_request {
    const char *path;
    const char *language;           /* "c" or "c++"; NULL: by the name's ending */
    const char *function;           /* NULL: between the pragmas, or the only one with loops */
    const char *const *flags;       /* for the compiler, -D too; NULL at the end, or none at all */
    bool scalars;                   /* scalar variables are in memory */
    const char *const *assumptions; /* NULL at the end, or none at all */
} fm_clang_request;

typedef struct fm_clang_module {
    unsigned interface; /* FM_CLANG_INTERFACE of the time it was built */
    /* The region as text (docs/STATIC-IR.md): *text is to be freed, *size does not count the NUL behind it.
     */
    fm_status (*region)(const fm_clang_request *request, char **text, size_t *size, fm_error *error);
} fm_clang_module;

#define FM_CLANG_SYMBOL "fm_clang"
#define FM_CLANG_FILE "fathom-clang.so"

/*
 * ---- front_child.c: a front end in a process of its own ----
 *
 * A source that makes the compiler's library crash (it runs out of its stack on a sum of many thousands of
 * terms) is an error, and no end of the program; and so is one that it would read for ever: a pipe or a
 * device that is included, macros that grow and grow.
 */
typedef struct fm_front_limits {
    double seconds; /* on the clock */
    uint64_t bytes; /* of memory, on top of that of this process */
} fm_front_limits;

/* The limits that hold where none are asked for: as fathom/static.h says. */
fm_front_limits fm_front_limits_choose(double seconds, uint64_t bytes);
/* As module->region; FM_E_LIMIT: over one of the limits. The child is gone when this comes back. */
fm_status fm_front_in_child(const fm_clang_module *module, const fm_clang_request *request,
                            const fm_front_limits *limits, char **text, size_t *size, fm_error *error);

#endif
