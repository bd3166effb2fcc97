/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran.h - a region out of Fortran source (77 to 2008, fixed and free form), as text (docs/STATIC-IR.md).
 *
 * source.c joins lines to statements, lexer.c cuts them into words, units.c, declarations.c, statements.c and
 * expressions.c make trees of them; region_choice.c finds the procedure or the marked part, and walker.c goes
 * through it once and writes the region: value.c works out bounds and subscripts, access.c what a statement
 * touches and computes, sections.c array assignments, inline.c calls.
 *
 * It reads one file (and what that includes), compiles nothing, and knows no modules but those of that file.
 * What it does not understand is refused, but only where the region needs it.
 */
#ifndef FATHOM_STATIC_FORTRAN_H
#define FATHOM_STATIC_FORTRAN_H

#include <fathom/static.h>

/* *text is the region's text, to be given back by free(). */
fm_status fm_front_fortran(const char *path, const fm_region_options *options, char **text, size_t *size,
                           fm_error *error);

#endif
