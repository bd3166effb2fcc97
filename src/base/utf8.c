/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c - see utf8.h. The ranges are those of RFC 3629, section 4. */
#include "base/utf8.h"

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
