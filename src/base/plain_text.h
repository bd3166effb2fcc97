/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_text.h - text from outside: what it begins with, whether it is UTF-8, how it is shown, and names of
 * files.
 */
#ifndef FATHOM_BASE_PLAIN_TEXT_H
#define FATHOM_BASE_PLAIN_TEXT_H

#include <fathom/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* ======== UTF-8 ======== */

/*
 * One character of UTF-8 at a time, strictly. Names of files are bytes; JSON, HTML and
 * terminals want characters, and each room decides for itself what to do with what is none.
 */

/* Decodes the character at the start of `bytes` and returns its length, 1 to 4. Returns 0 when there
 * is no valid one: overlong forms, surrogates and values over U+10FFFF are not valid. */
size_t fm_utf8_decode(const unsigned char *bytes, size_t available, uint32_t *character);

/* Writes a character, which must be a valid one, as 1 to 4 bytes; returns how many. */
size_t fm_utf8_encode(uint32_t character, char *bytes);

/* ======== text that is shown ======== */

/*
 * Text from outside (names of files and functions, notes, source text, messages) as something
 * that can be shown: what would not be seen, would control a terminal, or would reorder the characters around
 * it is shown as what it is. Used by everything that shows text: terminal, page, messages.
 */

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

/* ======== what text may begin with ======== */

/*
 * What text may begin with before its first character. Programs on other systems put a
 * mark there: UTF-8's is no content, and is passed over; those of UTF-16 and UTF-32 say that every byte
 * behind them means something else than it does in UTF-8, and are refused.
 */

/* So many bytes are enough to know it; fewer where the input has no more. */
enum { FM_BYTE_ORDER_MARK_MAX = 4 };

/* *length: bytes to pass over at the beginning. FM_E_FORMAT: the text is not UTF-8. */
fm_status fm_byte_order_mark(const unsigned char *bytes, size_t count, const char *name, size_t *length,
                             fm_error *error);

/* ======== files of text ======== */

/*
 * A whole text file in memory, of which somebody else chose the name: only regular files are
 * read, none is waited for, never more than a fixed number of bytes, and nothing that is no text.
 */

enum { FM_LARGEST_TEXT = 32 << 20 }; /* bytes */

typedef struct fm_text_file {
    char why[160];            /* it could not be read, because …; "": it was */
    bool missing;             /* … there is no such file */
    bool resized;             /* … it does not have the size that was asked for */
    struct timespec modified; /* known for every regular file */
    char *bytes;              /* followed by a 0 byte */
    size_t size;
} fm_text_file;

/* size: the file is read only if it has that many bytes; UINT64_MAX: any number of them. FM_OK also where
 * there is nothing to read: then file->why says so. To be cleared in any case. */
fm_status fm_text_file_read(fm_text_file *file, const char *path, uint64_t size, fm_error *error);
void fm_text_file_clear(fm_text_file *file);

/* ======== what a path ends in ======== */

/* What a path ends in. */

/* "gawk" of "/usr/bin/gawk"; a path that ends in a slash is whole. */
static inline const char *fm_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

#endif
