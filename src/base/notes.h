/* SPDX-License-Identifier: Apache-2.0 */
/* notes.h - what a reader of a result should know: lines, each once. */
#ifndef FATHOM_BASE_NOTES_H
#define FATHOM_BASE_NOTES_H

#include <stdarg.h>

/* Adds a line to *notes (NULL: none yet; to be freed), unless it is among them. A note is not worth failing
 * for: where memory is short, or there are 64 KiB of notes already, it is left out. */
void fm_notes_add(char **notes, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

#endif
