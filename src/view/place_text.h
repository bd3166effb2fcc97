/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_text.h - places in code for the terminal: "function (file.c:12)", in as many columns as there are.
 * File name and line always stay; what is too long of the rest gives way.
 */
#ifndef FATHOM_VIEW_PLACE_TEXT_H
#define FATHOM_VIEW_PLACE_TEXT_H

#include <fathom/view.h>

typedef struct fm_place_style {
    const fm_attribution *of;
    bool unicode;
    bool base_names;   /* files without their folders */
    char folder[4096]; /* paths below it are written from it on; ends with a slash; "": none */
} fm_place_style;

/* The folder is the one that the program runs in. */
void fm_place_style_set(fm_place_style *style, const fm_attribution *of, bool unicode);

/* Headers of compilers and systems: code that a user did not write. */
bool fm_place_is_system(const char *file);
/* Modules of the system: its libraries, the loader. */
bool fm_module_is_system(const char *path);

/* Each returns the columns used. site may be FM_NONE. */
unsigned fm_place_write_frame(FILE *out, const fm_place_style *style, const fm_frame *frame,
                              unsigned columns);
/* The innermost frame of a site; symbol or address where no line is known. */
unsigned fm_place_write_site(FILE *out, const fm_place_style *style, uint32_t site, unsigned columns);
/* Columns that the site takes with nothing left out. */
unsigned fm_place_site_columns(const fm_place_style *style, uint32_t site);
unsigned fm_place_frame_columns(const fm_place_style *style, const fm_frame *frame);

#endif
