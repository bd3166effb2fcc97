/* SPDX-License-Identifier: Apache-2.0 */
/* html_text.h - text from outside as text of a page: escaped, characters that are not seen as <U+202E>. */
#ifndef FATHOM_VIEW_HTML_TEXT_H
#define FATHOM_VIEW_HTML_TEXT_H

#include <stddef.h>
#include <stdio.h>

void fm_html_write_text(FILE *out, const char *text);
void fm_html_write_bytes(FILE *out, const char *text, size_t length);

#endif
