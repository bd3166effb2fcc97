/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_clang.h - C and C++ sources become regions: what the module that reads them (modules/clang) has to
 * offer, and how it is loaded. The module needs libclang, so that the program itself does not.
 */
#ifndef FATHOM_STATIC_FRONT_CLANG_H
#define FATHOM_STATIC_FRONT_CLANG_H

#include "static/front/front.h"

enum { FM_CLANG_INTERFACE = 1 };

typedef struct fm_clang_request {
    const char *path;
    const char *language;           /* "c" or "c++"; NULL: by the name's ending */
    const char *function;           /* NULL: between the pragmas, or the only one with loops */
    const char *const *flags;       /* for the compiler, -D too; NULL at the end, or none at all */
    bool scalars;                   /* scalar variables are in memory */
    const char *const *assumptions; /* NULL at the end, or none at all */
} fm_clang_request;

/*
 * What can be assumed (LINE: where the statement begins in the source):
 *
 *     if at LINE holds | fails | both      a condition that depends on data; both: each branch is executed
 *     loop at LINE runs EXPRESSION times   a loop whose end depends on data; EXPRESSION: a number or a
 *                                          parameter, new ones are made
 *     while runs EXPRESSION times          the same for the only loop of that kind
 *     NAME is matrix[ROWS][COLUMNS]        a pointer to rows (double **) whose rows follow each other
 *     NAME is identity                     an array of whole numbers: NAME[i] is i
 *     NAME is permutation of 0..LAST       the same, with a note that the order is not known
 */
typedef struct fm_clang_module {
    unsigned interface; /* FM_CLANG_INTERFACE of the time it was built */
    /* The region as text (docs/STATIC-IR.md): *text is to be freed, *size does not count the NUL behind it.
     */
    fm_status (*region)(const fm_clang_request *request, char **text, size_t *size, fm_error *error);
} fm_clang_module;

#define FM_CLANG_SYMBOL "fm_clang"
#define FM_CLANG_FILE "fathom-clang.so"

/* fm_front_clang() (static/front/front.h): FM_E_UNSUPPORTED: the module is not here, or the source has
 * something that is no region (with its line). FM_E_FORMAT: the source does not compile. FM_E_ARGUMENT: there
 * is no such function, or there are several. */

#endif
