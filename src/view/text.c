/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - see text.h. Numbers with their units; names in columns of a terminal, which control characters and
 * broken UTF-8 do not get to; then short names of C++ functions, cells of CSV and text of pages.
 */
#include "view/text.h"
#include "base/error.h"
#include "base/plain_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

fm_text fm_text_count(uint64_t value)
{
    fm_text made;
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) made.text[at++] = ',';
        made.text[at++] = digits[i];
    }
    made.text[at] = '\0';
    return made;
}

/* Three significant digits, no trailing zeros; whole multiples stay whole. */
static void write_scaled(char *text, size_t size, long double value, const char *const *units, size_t count,
                         const char *space)
{
    size_t unit = 0;
    /* 1023.6 would be written as 1024: that is 1 of the next unit. */
    while (value >= 1023.5L && unit + 1 < count) {
        value /= 1024;
        unit++;
    }
    int decimals = value >= 100 || value == floorl(value) ? 0 : value >= 10 ? 1 : 2;
    snprintf(text, size, "%.*Lf%s%s", decimals, value, unit || units[0][0] ? space : "", units[unit]);
}

fm_text fm_text_bytes(uint64_t blocks, uint64_t unit)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB"};
    fm_text made = {""};
    write_scaled(made.text, sizeof made.text, (long double)blocks * (long double)unit, units, 8, " ");
    return made;
}

fm_text fm_text_cache_size(const fm_profile *profile, uint64_t size)
{
    return profile->elements ? fm_text_scaled(size) : fm_text_bytes(size, 1);
}

fm_text fm_text_scaled(uint64_t value)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    fm_text made = {""};
    write_scaled(made.text, sizeof made.text, (long double)value, units, 7, "");
    return made;
}

fm_text fm_text_cache_name(const fm_cache *cache)
{
    fm_text made = {""};
    memcpy(made.text, cache->name, sizeof cache->name);
    return made;
}

fm_text fm_text_exact_bytes(uint64_t blocks, uint64_t unit)
{
    fm_text made;
    wide value = (wide)blocks * unit;
    size_t at = sizeof made.text - 1;
    made.text[at] = '\0';
    do {
        made.text[--at] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value);
    memmove(made.text, made.text + at, sizeof made.text - at);
    return made;
}

fm_text fm_text_percent(double share)
{
    fm_text made;
    double percent = share * 100;
    if (percent > 0 && percent < 0.005)
        snprintf(made.text, sizeof made.text, "%.1g %%", percent);
    else if (percent < 100 && percent > 99.995)
        snprintf(made.text, sizeof made.text, ">99.99 %%");
    else
        snprintf(made.text, sizeof made.text, "%.2f %%", percent);
    return made;
}

fm_text fm_text_short(double value)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
    fm_text made;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(made.text, sizeof made.text, "%.*f%s", decimals, value, units[unit]);
    return made;
}

fm_text fm_text_short_percent(double share)
{
    fm_text made;
    double percent = share * 100;
    if (percent > 0 && percent < 0.005)
        snprintf(made.text, sizeof made.text, "%.0e %%", percent);
    else if (percent < 100 && percent >= 99.95)
        snprintf(made.text, sizeof made.text, ">99.9 %%");
    else
        snprintf(made.text, sizeof made.text, "%.*f %%",
                 percent == 0 || percent >= 100 ? 0
                 : percent >= 1                 ? 1
                                                : 2,
                 percent);
    return made;
}

fm_text fm_text_whole_percent(double share)
{
    fm_text made;
    double percent = share * 100;
    if (percent > 0 && percent < 1)
        snprintf(made.text, sizeof made.text, "<1 %%");
    else if (percent < 100 && percent > 99)
        snprintf(made.text, sizeof made.text, ">99 %%");
    else
        snprintf(made.text, sizeof made.text, "%.0f %%", percent);
    return made;
}

bool fm_text_counts_keys(const fm_profile *profile)
{
    return profile->elements || (profile->granularity == 1 && !profile->run && !profile->attribution);
}

const char *fm_text_cold(const fm_profile *profile)
{
    return profile->sampling ? "never used again" : "first touches";
}

uint64_t fm_text_samples_of_footprint(const fm_profile *profile)
{
    return profile->sampling ? profile->sampling->never : UINT64_MAX;
}

uint64_t fm_text_samples_of_misses(const fm_profile *profile)
{
    uint64_t samples = fm_text_samples_of_footprint(profile);
    const fm_attribution *of = profile->attribution;
    if (samples == UINT64_MAX) return samples;
    for (size_t i = 0; of && i < of->pair_error_count; i++) samples += of->pair_errors[i].samples;
    return samples;
}

fm_text fm_text_sure(double estimate, double error, uint64_t samples, const fm_view_options *options)
{
    fm_text made = {""};
    if (samples == 0 || !(estimate > 0)) return made;
    const fm_text share = fm_text_whole_percent(fmin(error / estimate, 9.99));
    snprintf(made.text, sizeof made.text, "%s %.6s, from %" PRIu64 " sample%s", options->unicode ? "±" : "+-",
             share.text, samples, samples == 1 ? "" : "s");
    return made;
}

/* The next character of a name, or one byte that is none. */
typedef struct glyph {
    size_t length;    /* bytes of the name */
    unsigned columns; /* on the terminal */
    fm_visible how;
} glyph;

/* Two columns for East Asian characters and pictures, none for accents that stand on the character before. */
static unsigned character_columns(uint32_t character)
{
    static const uint32_t two[][2] = {
        {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xA960, 0xA97C}, {0xAC00, 0xD7A3},
        {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
        {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
    if ((character >= 0x0300 && character <= 0x036F) || (character >= 0xFE00 && character <= 0xFE0F))
        return 0;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (character >= two[i][0] && character <= two[i][1]) return 2;
    return 1;
}

static glyph glyph_at(const char *name, size_t left, bool unicode)
{
    glyph found = {.how = fm_visible_next(name, left, unicode)};
    found.length = found.how.length;
    found.columns =
        found.how.plain ? character_columns(found.how.character) : (unsigned)strlen(found.how.shown);
    return found;
}

void fm_text_write_name(FILE *out, const char *name, bool unicode)
{
    if (!name) {
        fputs("(unnamed)", out);
        return;
    }
    for (size_t left = strlen(name); left;) {
        glyph next = glyph_at(name, left, unicode);
        fputs(next.how.shown, out);
        name += next.length;
        left -= next.length;
    }
}

fm_view_options fm_text_options(const fm_view_options *given, size_t given_size)
{
    fm_view_options known;
    (void)fm_sized_read(&known, sizeof known, given, given_size, "fm_view_options", NULL);
    return known;
}

void fm_view_text_sized(size_t options_size, FILE *out, const char *text, const fm_view_options *options)
{
    fm_text_write_name(out, text, fm_text_options(options, options_size).unicode);
}

char *fm_visible_text(const char *text, bool lines, char *buffer, size_t size)
{
    size_t at = 0;
    if (size == 0) return buffer;
    for (size_t left = strlen(text); left;) {
        fm_visible next = fm_visible_next(text, left, true);
        if (lines && (*text == '\n' || *text == '\t')) snprintf(next.shown, sizeof next.shown, "%c", *text);
        size_t length = strlen(next.shown);
        if (at + length >= size) break;
        memcpy(buffer + at, next.shown, length);
        at += length;
        text += next.length;
        left -= next.length;
    }
    buffer[at] = '\0';
    return buffer;
}

/* Names may be as long as someone likes: enough to know that it is far too long. */
enum { MOST_COLUMNS = 1 << 20 };

unsigned fm_text_columns(const char *name, bool unicode)
{
    unsigned columns = 0;
    for (size_t left = strlen(name); left && columns < MOST_COLUMNS;) {
        glyph next = glyph_at(name, left, unicode);
        columns += next.columns;
        name += next.length;
        left -= next.length;
    }
    return columns;
}

/* Bytes at the beginning of the name that fit. */
static size_t bytes_at_beginning(const char *name, size_t length, unsigned columns, bool unicode)
{
    size_t at = 0;
    unsigned used = 0;
    while (at < length) {
        glyph next = glyph_at(name + at, length - at, unicode);
        if (used + next.columns > columns) break;
        used += next.columns;
        at += next.length;
    }
    return at;
}

/* Where the end of the name that fits begins. Goes back character by character: a byte that continues one is
 * never its beginning. */
static size_t begin_of_end(const char *name, size_t length, unsigned columns, bool unicode)
{
    size_t at = length;
    unsigned used = 0;
    while (at > 0) {
        size_t before = at - 1;
        while (before > 0 && at - before < 4 && ((unsigned char)name[before] & 0xC0) == 0x80) before--;
        if (glyph_at(name + before, at - before, unicode).length != at - before) before = at - 1;
        glyph next = glyph_at(name + before, at - before, unicode);
        if (used + next.columns > columns) break;
        used += next.columns;
        at = before;
    }
    return at;
}

static void write_bytes(FILE *out, const char *name, size_t bytes, bool unicode)
{
    while (bytes) {
        glyph next = glyph_at(name, bytes, unicode);
        fputs(next.how.shown, out);
        name += next.length;
        bytes -= next.length;
    }
}

static unsigned columns_of_bytes(const char *name, size_t bytes, bool unicode)
{
    unsigned columns = 0;
    while (bytes) {
        glyph next = glyph_at(name, bytes, unicode);
        columns += next.columns;
        name += next.length;
        bytes -= next.length;
    }
    return columns;
}

unsigned fm_text_write_short(FILE *out, const char *name, unsigned columns, fm_cut cut, bool unicode)
{
    size_t length = strlen(name);
    unsigned all = fm_text_columns(name, unicode);
    if (all <= columns) {
        fm_text_write_name(out, name, unicode);
        return all;
    }
    const char *gap = unicode ? "…" : "...";
    unsigned gap_columns = unicode ? 1 : 3;
    if (columns <= gap_columns) {
        fprintf(out, "%.*s", unicode ? (columns ? (int)strlen(gap) : 0) : (int)columns, gap);
        return unicode ? (columns != 0) : columns;
    }
    unsigned room = columns - gap_columns;
    unsigned first = cut == FM_CUT_END ? room : cut == FM_CUT_MIDDLE ? room / 3 : 0;
    size_t head = bytes_at_beginning(name, length, first, unicode);
    size_t tail = begin_of_end(name, length, room - first, unicode);
    unsigned used = columns_of_bytes(name, head, unicode) + gap_columns +
                    columns_of_bytes(name + tail, length - tail, unicode);
    write_bytes(out, name, head, unicode);
    fputs(gap, out);
    write_bytes(out, name + tail, length - tail, unicode);
    return used;
}

void fm_text_write_right(FILE *out, const char *name, unsigned columns, bool unicode)
{
    const unsigned needed = fm_text_columns(name, unicode);
    fprintf(out, "%*s", needed < columns ? (int)(columns - needed) : 0, "");
    fm_text_write_short(out, name, columns, FM_CUT_END, unicode);
}

void fm_text_write_wrapped(FILE *out, const char *text, size_t length, unsigned indent,
                           const fm_view_options *options)
{
    enum { LONGEST_WORD = 400 };
    unsigned width = options->width ? options->width : 80, used = indent;
    for (size_t at = 0; at < length;) {
        char word[LONGEST_WORD + 1];
        size_t bytes = 0;
        while (at < length && text[at] == ' ') at++;
        while (at < length && text[at] != ' ' && bytes < LONGEST_WORD) word[bytes++] = text[at++];
        word[bytes] = '\0';
        if (bytes == 0) break;
        unsigned columns = fm_text_columns(word, options->unicode);
        if (used > indent && used + 1 + columns > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            used = indent;
        }
        if (used > indent) {
            putc(' ', out);
            used++;
        }
        fm_text_write_name(out, word, options->unicode);
        used += columns;
    }
}

void fm_text_ink(FILE *out, const fm_view_options *options, fm_ink ink)
{
    static const char *const codes[] = {"\033[0m", "\033[2m", "\033[1m", "\033[36m", "\033[1;31m"};
    if (options->colour) fputs(codes[ink], out);
}

unsigned fm_text_bar(FILE *out, double value, double most, unsigned columns, bool unicode)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    if (!(value > 0) || !(most > 0) || columns == 0) return 0;
    double part = value / most * columns;
    if (part > columns) part = columns;
    unsigned whole = (unsigned)part;
    unsigned rest = unicode ? (unsigned)((part - whole) * 8) : 0;
    for (unsigned i = 0; i < whole; i++) fputs(unicode ? "█" : "#", out);
    if (whole == 0 && rest == 0) {
        fputs(unicode ? eighths[1] : ".", out);
        return 1;
    }
    fputs(eighths[rest], out);
    return whole + (rest != 0);
}

static int heaviest_first(const void *a, const void *b)
{
    const fm_ranked *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static int least_first(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void fm_ranked_sort(fm_ranked *ranks, size_t count)
{
    if (count) qsort(ranks, count, sizeof *ranks, heaviest_first);
}

void fm_numbers_sort(uint32_t *numbers, size_t count)
{
    if (count) qsort(numbers, count, sizeof *numbers, least_first);
}

/*
 * ======== function name ========
 * By counting brackets, not by a grammar of C++.
 */

/* Whether the bracket at `at` belongs to the name of an operator: operator<, operator(), operator->, … */
static bool in_operator(const char *name, size_t at)
{
    static const char word[] = "operator";
    static const char *const longest_first[] = {
        "<=>", "->*", "<<=", ">>=", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">"};
    for (size_t back = 0; back < 3 && at >= back + sizeof word - 1; back++) {
        const char *sign = name + at - back;
        if (memcmp(sign - (sizeof word - 1), word, sizeof word - 1) != 0) continue;
        for (size_t i = 0; i < sizeof longest_first / sizeof *longest_first; i++)
            if (strncmp(sign, longest_first[i], strlen(longest_first[i])) == 0)
                return back < strlen(longest_first[i]);
    }
    return false;
}

/* The bracket that closes the one at `at`; 0: none does. Operators' names are no brackets. */
static size_t closing_bracket(const char *name, size_t length, size_t at)
{
    size_t depth = 0;
    for (; at < length; at++) {
        if (!strchr("<>()[]{}", name[at]) || in_operator(name, at)) continue;
        if (name[at] == '>' && at > 0 && name[at - 1] == '-') continue;
        if (strchr("<([{", name[at]))
            depth++;
        else if (--depth == 0)
            return at;
    }
    return 0;
}

/* Where the parameters begin: the last round bracket outside of others with nothing but qualifiers behind it.
 */
static size_t parameters_begin(const char *name, size_t length)
{
    size_t found = length;
    for (size_t at = 0; at < length; at++) {
        if (!strchr("<([{", name[at]) || in_operator(name, at)) continue;
        size_t end = closing_bracket(name, length, at);
        if (end == 0) return length;
        size_t rest = end + 1;
        while (rest < length && (strchr(" &", name[rest]) || (name[rest] >= 'a' && name[rest] <= 'z')))
            rest++;
        if (name[at] == '(' && at > 0 && (rest == length || name[rest] == '[')) found = at;
        at = end;
    }
    return found;
}

/* Where the name begins, behind the type that a template's function returns: only those have one. */
static size_t behind_type(const char *name, size_t end)
{
    size_t begin = 0;
    for (size_t at = 0; at < end; at++) {
        if (strncmp(name + at, "operator", 8) == 0) return begin;
        if (strchr("<([{", name[at])) {
            size_t close = closing_bracket(name, end, at);
            if (close == 0) return 0;
            at = close;
        } else if (name[at] == ' ') {
            begin = at + 1;
        }
    }
    return begin;
}

char *fm_function_name_shorten(const char *name, char *to, size_t size)
{
    if (size == 0) return to;
    size_t length = strnlen(name, size - 1), made = 0;
    size_t end = parameters_begin(name, length);
    for (size_t at = end < length ? behind_type(name, end) : 0; at < end;) {
        size_t close = name[at] == '<' && !in_operator(name, at) ? closing_bracket(name, end, at) : 0;
        if (close > at + 1) {
            to[made++] = '<';
            at = close;
        }
        to[made++] = name[at++];
    }
    to[made] = '\0';
    return to;
}

/* ======== csv cell ======== */

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

/* ======== html text ======== */

void fm_html_write_text(FILE *out, const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t left = strlen(text); left;) {
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
