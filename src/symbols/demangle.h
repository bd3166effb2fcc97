/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h - names of compilers and linkers, made readable, and compared with what a person types.
 *
 * C++ names go through __cxa_demangle of the C++ run-time library, which is looked for when the first such
 * name comes; without it they stay as they are. gfortran's names of modules' procedures and variables
 * (__solver_MOD_step) become solver::step, Rust's (both manglings) what they are in the source, without
 * checksums.
 */
#ifndef FATHOM_SYMBOLS_DEMANGLE_H
#define FATHOM_SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fm_demangler {
    bool sought;
    void *library;
    char *(*function)(const char *name, char *buffer, size_t *size, int *status);
    char *buffer; /* owned; the last answer */
    size_t size;
    int status;
} fm_demangler;

/* All zeroes is a demangler. */
void fm_demangler_clear(fm_demangler *demangler);

/* The readable form, in the demangler's memory until the next call; NULL: the name is not mangled, or memory
 * is short.
 */
const char *fm_demangle(fm_demangler *demangler, const char *name);

/* Length of a linker's name without what compilers and linkers append: .cold, .part.0, .constprop.1,
 * @VERSION. */
size_t fm_name_stem(const char *name);

/*
 * Whether `wanted`, typed by a person, means the function with this readable name: the whole, or without
 * arguments and return type, template arguments, leading scopes. 1, 0, or -1: memory is short.
 */
int fm_name_fits(const char *wanted, const char *readable);

#endif
