/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visible.h - text from outside (names of files and functions, notes, source text, messages) as something
 * that can be shown: what would not be seen, would control a terminal, or would reorder the characters around
 * it is shown as what it is. Used by everything that shows text: terminal, page, messages.
 */
#ifndef FATHOM_BASE_VISIBLE_H
#define FATHOM_BASE_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: a control character, one that sets the direction of text (U+202E and its like), or one that has no
 * shape (zero width, tags, fillers). */
bool fm_character_is_seen(uint32_t character);

/* U+202E as "<U+202E>". */
enum { FM_CHARACTER_NUMBER = 12 };
void fm_character_number(uint32_t character, char text[FM_CHARACTER_NUMBER]);

/*
 * The next character of a text, or one byte that is none, and how it is shown: as it is (plain); by its
 * number, where it is not seen; byte by byte as \xNN, where it is a control character of ASCII, no UTF-8, or
 * beyond ASCII without unicode. At most four characters for each byte.
 */
typedef struct fm_visible {
    size_t length;      /* bytes of the text, 1 to 4 */
    uint32_t character; /* where it is plain */
    bool plain;
    char shown[17];
} fm_visible;
fm_visible fm_visible_next(const char *text, size_t left, bool unicode);

#endif
