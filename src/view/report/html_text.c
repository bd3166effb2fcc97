/* SPDX-License-Identifier: Apache-2.0 */
/* html_text.c - see html_text.h. */
#include "view/report/html_text.h"

#include "base/utf8.h"
#include "base/visible.h"

#include <string.h>

void fm_html_write_bytes(FILE *out, const char *text, size_t length_of_text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t left = length_of_text; left;) {
        uint32_t character;
        char number[FM_CHARACTER_NUMBER] = "";
        size_t length = fm_utf8_decode(bytes, left, &character);
        if (length == 0)
            fputs("\xEF\xBF\xBD", out);
        else if (!fm_character_is_seen(character)) {
            fm_character_number(character, number);
            fm_html_write_text(out, number);
        } else if (character == '<')
            fputs("&lt;", out);
        else if (character == '>')
            fputs("&gt;", out);
        else if (character == '&')
            fputs("&amp;", out);
        else
            fwrite(bytes, 1, length, out);
        if (length == 0) length = 1;
        bytes += length;
        left -= length;
    }
}

void fm_html_write_text(FILE *out, const char *text)
{
    fm_html_write_bytes(out, text, strlen(text));
}
