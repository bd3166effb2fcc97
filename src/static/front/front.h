/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front.h - front ends: each makes a region's text (docs/STATIC-IR.md) out of a source file. The text is
 * malloc'ed; fm_region_parse checks it.
 */
#ifndef FATHOM_STATIC_FRONT_H
#define FATHOM_STATIC_FRONT_H

#include <fathom/static.h>

fm_status fm_front_clang(const char *path, const fm_region_options *options, char **text, size_t *size,
                         fm_error *error); /* C, C++: modules/clang */
fm_status fm_front_fortran(const char *path, const fm_region_options *options, char **text, size_t *size,
                           fm_error *error);

#endif
