/* SPDX-License-Identifier: Apache-2.0 */
/* visible.c - see visible.h. */
#include "base/visible.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

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
