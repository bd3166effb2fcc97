/* SPDX-License-Identifier: Apache-2.0 */
/* csv_cell.c - see csv_cell.h. */
#include "view/csv_cell.h"

#include "base/utf8.h"
#include "base/visible.h"

#include <stdbool.h>
#include <string.h>

/* Quotes are doubled, which is right in quoted cells; others have none. */
void fm_csv_write_part(FILE *out, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t plain = 0; /* most names are nothing else */
        while (plain < left && text[plain] >= ' ' && text[plain] < 127 && text[plain] != '"') plain++;
        fwrite(text, 1, plain, out);
        text += plain;
        left -= plain;
        if (left == 0) break;
        uint32_t character;
        const fm_visible next = fm_visible_next(text, left, true);
        if (*text == '\n')
            putc('\n', out);
        else if (*text == '"')
            fputs("\"\"", out);
        else if (next.plain)
            fwrite(text, 1, next.length, out);
        else if (fm_utf8_decode((const unsigned char *)text, left, &character) == 0)
            fputs("\xEF\xBF\xBD", out); /* U+FFFD, the replacement character */
        else
            fputs(next.shown, out);
        text += next.length;
        left -= next.length;
    }
}

/* As a spreadsheet sees it: these, and their wide forms, which some take for the same. */
static bool begins_like_formula(const char *text)
{
    static const char *const signs[] = {"=", "+", "-", "@", "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(text, signs[i], strlen(signs[i])) == 0) return true;
    return false;
}

void fm_csv_write_first(FILE *out, const char *text)
{
    if (begins_like_formula(text)) putc('\'', out);
    fm_csv_write_part(out, text);
}

void fm_csv_begin_cell(FILE *out)
{
    putc('"', out);
}

void fm_csv_end_cell(FILE *out)
{
    putc('"', out);
}

void fm_csv_write_cell(FILE *out, const char *text)
{
    if (!text) return;
    const size_t length = strlen(text);
    const bool quoted = strpbrk(text, ",\"\n") || (length > 0 && (text[0] == ' ' || text[length - 1] == ' '));
    if (quoted) fm_csv_begin_cell(out);
    fm_csv_write_first(out, text);
    if (quoted) fm_csv_end_cell(out);
}
