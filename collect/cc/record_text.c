/* SPDX-License-Identifier: BSD-2-Clause */
/* record_text.c - strings into words of a record, and hashes; what string.h would do, without it. */
#include "runtime.h"

size_t fm_text_length(const char *text)
{
    size_t length = 0;
    while (text[length]) length++;
    return length;
}

size_t fm_text_words(uint64_t *words, size_t most, const char *text)
{
    size_t length = fm_text_length(text);
    if (length > most * 8 - 1) length = most * 8 - 1;
    size_t count = length / 8 + 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = 0;
        for (size_t byte = 0; byte < 8 && i * 8 + byte < length; byte++)
            word |= (uint64_t)(unsigned char)text[i * 8 + byte] << (8 * byte);
        words[i] = word;
    }
    return count;
}

uint64_t fm_hash(uint64_t seed, uint64_t value)
{
    uint64_t x = (seed ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 29;
}
