/* SPDX-License-Identifier: Apache-2.0 */
/* notes.c - see notes.h. */
#define _GNU_SOURCE
#include "base/notes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is the line among these, each of which ends with a newline? */
static bool has_line(const char *lines, const char *line)
{
    const size_t length = strlen(line);
    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1)
        if ((size_t)(end - lines) == length && memcmp(lines, line, length) == 0) return true;
    return false;
}

void fm_notes_add(char **notes, const char *format, va_list arguments)
{
    enum { MOST = 64 << 10 };
    char *line = NULL, *all = NULL;
    const int length = vasprintf(&line, format, arguments);
    if (length < 0) return;
    /* A note is one line, whatever a program put into it: so that it is found again. */
    for (char *at = line; (at = strchr(at, '\n')); at++) *at = ' ';
    const char *before = *notes ? *notes : "";
    if (!has_line(before, line) && strlen(before) + (size_t)length < MOST &&
        asprintf(&all, "%s%s\n", before, line) >= 0) {
        free(*notes);
        *notes = all;
    }
    free(line);
}
