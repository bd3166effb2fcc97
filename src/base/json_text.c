/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.c - see json.h. */
#include "base/json.h"

#include "base/plain_text.h"

#include <math.h>
#include <string.h>

static bool must_be_escaped(uint32_t character, fm_json_place place)
{
    if (character < 0x20 || character == 0x7F) return true;
    /* "</script>" and "<!--" end or change a script element wherever they stand. */
    return place == FM_JSON_IN_HTML && (character == '<' || character == '>' || character == '&');
}

static void write_number(FILE *out, uint32_t character)
{
    char text[FM_CHARACTER_NUMBER];
    fm_character_number(character, text);
    fprintf(out, "\\u003c%.*s\\u003e", (int)strlen(text) - 2,
            text + 1); /* as <U+202E>, of which < and > are escaped */
}

void fm_json_write_string(FILE *out, const char *text, fm_json_place place)
{
    if (!text) {
        fputs("null", out);
        return;
    }
    const unsigned char *bytes = (const unsigned char *)text;
    size_t left = strlen(text);
    putc('"', out);
    while (left) {
        uint32_t character;
        size_t length = fm_utf8_decode(bytes, left, &character);
        if (length == 0) {
            fputs("\xEF\xBF\xBD", out); /* U+FFFD, the replacement character */
            length = 1;
        } else if (character == '"' || character == '\\') {
            putc('\\', out);
            putc((int)character, out);
        } else if (character == '\n' || character == '\t') {
            fputs(character == '\n' ? "\\n" : "\\t", out); /* source text is full of them */
        } else if (place == FM_JSON_IN_HTML && !fm_character_is_seen(character)) {
            write_number(out, character);
        } else if (must_be_escaped(character, place)) {
            fprintf(out, "\\u%04x", (unsigned)character);
        } else {
            fwrite(bytes, 1, length, out);
        }
        bytes += length;
        left -= length;
    }
    putc('"', out);
}

void fm_json_write_real(FILE *out, double value)
{
    if (!isfinite(value)) {
        fputs("null", out);
        return;
    }
    /* The shortest of the forms that read back as the same value. */
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double again;
        if (sscanf(text, "%lf", &again) == 1 && again == value) break;
    }
    /* A caller's locale may have another decimal point than JSON's. */
    for (char *byte = text; *byte; byte++)
        if (!strchr("0123456789+-e", *byte)) *byte = '.';
    fputs(text, out);
}
