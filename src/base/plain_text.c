/* SPDX-License-Identifier: Apache-2.0 */
/* plain_text.c - see plain_text.h. */
#define _GNU_SOURCE
#include "base/plain_text.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ======== UTF-8 ======== */

/* The ranges are those of RFC 3629, section 4. */

size_t fm_utf8_decode(const unsigned char *bytes, size_t available, uint32_t *character)
{
    if (available == 0) return 0;
    unsigned first = bytes[0];
    if (first < 0x80) {
        *character = first;
        return 1;
    }
    size_t length;
    uint32_t value, least;
    if (first >= 0xC2 && first <= 0xDF) {
        length = 2, value = first & 0x1Fu, least = 0x80;
    } else if ((first & 0xF0u) == 0xE0) {
        length = 3, value = first & 0x0Fu, least = 0x800;
    } else if (first >= 0xF0 && first <= 0xF4) {
        length = 4, value = first & 0x07u, least = 0x10000;
    } else {
        return 0;
    }
    if (length > available) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xC0u) != 0x80) return 0;
        value = value << 6 | (bytes[i] & 0x3Fu);
    }
    if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return 0;
    *character = value;
    return length;
}

size_t fm_utf8_encode(uint32_t character, char *bytes)
{
    if (character < 0x80) {
        bytes[0] = (char)character;
        return 1;
    }
    size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--, character >>= 6) bytes[i] = (char)(0x80 | (character & 0x3F));
    bytes[0] = (char)(heads[length] | character);
    return length;
}

/* ======== text that is shown ======== */

bool fm_character_is_seen(uint32_t character)
{
    /* Unicode's categories Cc and Cf, its separators of lines and paragraphs, and letters that are blank. */
    static const uint32_t unseen[][2] = {
        {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD}, /* soft hyphen */
        {0x034F, 0x034F},   {0x061C, 0x061C},                     /* Arabic letter mark */
        {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F}, /* fillers, Mongolian selectors */
        {0x200B, 0x200F},                                         /* zero width; marks of direction */
        {0x2028, 0x202E},                                         /* separators; embeddings, overrides */
        {0x2060, 0x206F},                                         /* joiner, invisible signs; isolates */
        {0x3164, 0x3164},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0}, /* filler, byte order mark, filler */
        {0xFFF0, 0xFFFB},                                         /* annotations */
        {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},                   /* musical controls; tags, selectors */
    };
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
        if (character >= unseen[i][0] && character <= unseen[i][1]) return false;
    return true;
}

void fm_character_number(uint32_t character, char text[FM_CHARACTER_NUMBER])
{
    snprintf(text, FM_CHARACTER_NUMBER, "<U+%04X>", (unsigned)(character & 0x1FFFFF));
}

fm_visible fm_visible_next(const char *text, size_t left, bool unicode)
{
    fm_visible next = {0};
    next.length = fm_utf8_decode((const unsigned char *)text, left, &next.character);
    const bool seen = next.length && fm_character_is_seen(next.character);
    next.plain = seen && (unicode || next.character < 0x80);
    if (next.plain) {
        memcpy(next.shown, text, next.length);
    } else if (next.length && !seen && next.character >= 0x80) {
        fm_character_number(next.character, next.shown);
    } else {
        if (next.length == 0) next.length = 1;
        for (size_t i = 0; i < next.length; i++)
            snprintf(next.shown + 4 * i, 5, "\\x%02x", (unsigned char)text[i]);
    }
    return next;
}

/* ======== what text may begin with ======== */

typedef struct mark {
    const char *encoding; /* as iconv calls it; NULL: UTF-8 */
    const char *bytes;
    size_t length;
    const char *shown;
} mark;

/* UTF-32's little-endian mark begins with that of UTF-16: the longer one first. */
static const mark marks[] = {
    {NULL, "\xef\xbb\xbf", 3, NULL},
    {"UTF-32", "\xff\xfe\0\0", 4, "ff fe 00 00"},
    {"UTF-32", "\0\0\xfe\xff", 4, "00 00 fe ff"},
    {"UTF-16", "\xff\xfe", 2, "ff fe"},
    {"UTF-16", "\xfe\xff", 2, "fe ff"},
};

fm_status fm_byte_order_mark(const unsigned char *bytes, size_t count, const char *name, size_t *length,
                             fm_error *error)
{
    *length = 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const mark *one = &marks[i];
        if (count < one->length || memcmp(bytes, one->bytes, one->length) != 0) continue;
        if (one->encoding)
            return fm_fail_at(error, FM_E_FORMAT, name, FM_PLACE_BYTE, 0,
                              "expected UTF-8 or ASCII, found the byte order mark of %s (%s); "
                              "'iconv -f %s -t UTF-8' converts it",
                              one->encoding, one->shown, one->encoding);
        *length = one->length;
        break;
    }
    return FM_OK;
}

/* ======== files of text ======== */

static fm_status text_refuse(fm_text_file *file, const char *why)
{
    snprintf(file->why, sizeof file->why, "%s", why);
    return FM_OK;
}

static fm_status read_bytes(fm_text_file *file, int descriptor, size_t room, fm_error *error)
{
    file->bytes = fm_calloc(room + 1, 1);
    if (!file->bytes) return fm_fail_memory(error, room + 1, "the text of a source file");
    while (file->size < room) {
        ssize_t got = read(descriptor, file->bytes + file->size, room - file->size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return text_refuse(file, strerror(errno));
        if (got == 0) break; /* it has become shorter: its checksum will show it */
        file->size += (size_t)got;
    }
    return memchr(file->bytes, 0, file->size) ? text_refuse(file, "it is no text") : FM_OK;
}

static fm_status read_open(fm_text_file *file, int descriptor, uint64_t size, fm_error *error)
{
    struct stat about;
    if (fstat(descriptor, &about)) return text_refuse(file, strerror(errno));
    if (!S_ISREG(about.st_mode)) return text_refuse(file, "it is no regular file");
    file->modified = about.st_mtim;
    if (size != UINT64_MAX && (uint64_t)about.st_size != size) {
        file->resized = true;
        return text_refuse(file, "it has another size");
    }
    if (about.st_size > FM_LARGEST_TEXT) {
        snprintf(file->why, sizeof file->why, "it is too large: %jd bytes, %d are read at most",
                 (intmax_t)about.st_size, FM_LARGEST_TEXT);
        return FM_OK;
    }
    return read_bytes(file, descriptor, (size_t)about.st_size, error);
}

fm_status fm_text_file_read(fm_text_file *file, const char *path, uint64_t size, fm_error *error)
{
    *file = (fm_text_file){0};
    /* Never waits for a pipe, never becomes a terminal's. */
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) {
        file->missing = errno == ENOENT || errno == ENOTDIR;
        return text_refuse(file, strerror(errno));
    }
    fm_status status = read_open(file, descriptor, size, error);
    close(descriptor);
    return status;
}

void fm_text_file_clear(fm_text_file *file)
{
    free(file->bytes);
    *file = (fm_text_file){0};
}
