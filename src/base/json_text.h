/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text.h - writing JSON as a stream, without a tree in memory: a histogram may have millions of
 * bins. Output errors stay in the FILE for whoever opened it to check.
 */
#ifndef FATHOM_BASE_JSON_TEXT_H
#define FATHOM_BASE_JSON_TEXT_H

#include <fathom/status.h>

#include <stdio.h>

typedef enum fm_json_place {
    FM_JSON_PLAIN,   /* a JSON file */
    FM_JSON_IN_HTML, /* inside a <script> element: nothing in it may look like markup */
} fm_json_place;

/* A quoted string, or null for NULL. Bytes that are not UTF-8 become U+FFFD. In a page, which is for people
 * to read, characters that are not seen or reorder others are written as <U+202E> (visible.h), but for
 * newlines and tabs. */
void fm_json_write_string(FILE *out, const char *text, fm_json_place place);
/* A number that JSON can hold: not finite ones become null. Reads back as the same double. */
void fm_json_write_real(FILE *out, double value);

#endif
