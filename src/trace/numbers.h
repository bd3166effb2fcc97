/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers.h - numbers out of and into text, fast. Parsers take text that is known to be followed by a
 * byte that ends it (a '\n' at the latest), return the first byte behind the digits, and NULL where
 * there is no digit or the number does not fit 64 bits.
 */
#ifndef FATHOM_TRACE_NUMBERS_H
#define FATHOM_TRACE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline const char *fm_parse_decimal(const char *at, uint64_t *value)
{
    const char *first = at;
    uint64_t number = 0;
    /* 19 digits always fit. */
    while ((unsigned char)(*at - '0') < 10 && at - first < 19) number = number * 10 + (uint64_t)(*at++ - '0');
    while ((unsigned char)(*at - '0') < 10) {
        if (__builtin_mul_overflow(number, 10U, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
            return NULL;
        at++;
    }
    if (at == first) return NULL;
    *value = number;
    return at;
}

/* 0…15, or 16 and more for what is no hexadecimal digit. */
static inline unsigned fm_hex_digit(char c)
{
    unsigned decimal = (unsigned char)c - (unsigned)'0';
    if (decimal < 10) return decimal;
    unsigned letter = ((unsigned char)c | 32U) - (unsigned)'a';
    return letter < 6 ? letter + 10 : 16;
}

/* Without a 0x in front. */
static inline const char *fm_parse_hex(const char *at, uint64_t *value)
{
    const char *first = at;
    uint64_t number = 0;
    unsigned digit;
    while ((digit = fm_hex_digit(*at)) < 16) {
        if (number >> 60) return NULL;
        number = number << 4 | digit;
        at++;
    }
    if (at == first) return NULL;
    *value = number;
    return at;
}

/* Both return the end of what they wrote: at most 20 and 16 bytes. */
static inline char *fm_print_decimal(char *to, uint64_t value)
{
    char digits[20];
    size_t count = 0;
    do digits[sizeof digits - ++count] = (char)('0' + value % 10);
    while (value /= 10);
    memcpy(to, digits + sizeof digits - count, count);
    return to + count;
}

static inline char *fm_print_hex(char *to, uint64_t value, unsigned least_digits)
{
    unsigned digits = value ? (67 - (unsigned)__builtin_clzll(value)) / 4 : 1;
    if (digits < least_digits) digits = least_digits;
    for (unsigned i = digits; i-- > 0; value >>= 4) to[i] = "0123456789abcdef"[value & 15];
    return to + digits;
}

#endif
