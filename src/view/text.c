/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - see text.h. */
#include "view/text.h"

#include "profile/utf8.h"

#include <inttypes.h>
#include <math.h>
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
static void scaled(char *text, size_t size, long double value, const char *const *units, size_t count,
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
    scaled(made.text, sizeof made.text, (long double)blocks * (long double)unit, units, 8, " ");
    return made;
}

fm_text fm_text_scaled(uint64_t value)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    fm_text made = {""};
    scaled(made.text, sizeof made.text, (long double)value, units, 7, "");
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

static bool reorders_or_controls(uint32_t character)
{
    return character < 0x20 || (character >= 0x7F && character < 0xA0) || character == 0x061C ||
           (character >= 0x200B && character <= 0x200F) || (character >= 0x2028 && character <= 0x202E) ||
           (character >= 0x2060 && character <= 0x2069) || character == 0xFEFF ||
           (character >= 0xE0000 && character <= 0xE0FFF);
}

void fm_text_write_name(FILE *out, const char *name, bool unicode)
{
    if (!name) {
        fputs("(unnamed)", out);
        return;
    }
    const unsigned char *bytes = (const unsigned char *)name;
    for (size_t left = strlen(name); left;) {
        uint32_t character = 0;
        size_t length = fm_utf8_decode(bytes, left, &character);
        bool plain = length && !reorders_or_controls(character) && (unicode || character < 0x80);
        if (length == 0) length = 1;
        for (size_t i = 0; i < length; i++)
            if (plain)
                putc(bytes[i], out);
            else
                fprintf(out, "\\x%02x", bytes[i]);
        bytes += length;
        left -= length;
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
