/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.c - see bytes.h. Section numbers are those of FIPS 180-4. Plain C, since sources are small. */
#include "base/bytes.h"

#include <string.h>

enum { BLOCK = 64, ROUNDS = 64 };

/* 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotated_right(uint32_t word, unsigned by)
{
    return word >> by | word << (32 - by);
}

/* 6.2.2: one block of 64 bytes. */
static void hash_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t schedule[ROUNDS];
    for (size_t t = 0; t < 16; t++)
        schedule[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
                      (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (size_t t = 16; t < ROUNDS; t++) {
        const uint32_t x = schedule[t - 15], y = schedule[t - 2];
        schedule[t] = (rotated_right(y, 17) ^ rotated_right(y, 19) ^ y >> 10) + schedule[t - 7] +
                      (rotated_right(x, 7) ^ rotated_right(x, 18) ^ x >> 3) + schedule[t - 16];
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (size_t t = 0; t < ROUNDS; t++) {
        const uint32_t first = h + (rotated_right(e, 6) ^ rotated_right(e, 11) ^ rotated_right(e, 25)) +
                               ((e & f) ^ (~e & g)) + constants[t] + schedule[t];
        const uint32_t second = (rotated_right(a, 2) ^ rotated_right(a, 13) ^ rotated_right(a, 22)) +
                                ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void fm_sha256_begin(fm_sha256 *sum)
{
    /* 5.3.3 */
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sum->state, initial, sizeof initial);
    sum->length = 0;
}

void fm_sha256_add(fm_sha256 *sum, const void *bytes, size_t count)
{
    const unsigned char *next = bytes;
    size_t held = (size_t)(sum->length % BLOCK);
    sum->length += count;
    if (held > 0) {
        size_t part = BLOCK - held < count ? BLOCK - held : count;
        memcpy(sum->block + held, next, part);
        next += part;
        count -= part;
        if (held + part < BLOCK) return;
        hash_block(sum->state, sum->block);
    }
    for (; count >= BLOCK; next += BLOCK, count -= BLOCK) hash_block(sum->state, next);
    if (count > 0) memcpy(sum->block, next, count);
}

void fm_sha256_end(fm_sha256 *sum, char text[FM_SHA256_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    /* 5.1.1: a one, zeros, and the length in bits at the end of a block. */
    const uint64_t bits = sum->length * 8;
    size_t held = (size_t)(sum->length % BLOCK);
    sum->block[held++] = 0x80;
    if (held > BLOCK - 8) {
        memset(sum->block + held, 0, BLOCK - held);
        hash_block(sum->state, sum->block);
        held = 0;
    }
    memset(sum->block + held, 0, BLOCK - 8 - held);
    for (size_t i = 0; i < 8; i++) sum->block[BLOCK - 1 - i] = (unsigned char)(bits >> (8 * i));
    hash_block(sum->state, sum->block);
    for (size_t i = 0; i < FM_SHA256_BYTES; i++) {
        const unsigned byte = sum->state[i / 4] >> (24 - 8 * (i % 4)) & 0xFFu;
        text[2 * i] = digits[byte >> 4];
        text[2 * i + 1] = digits[byte & 15];
    }
    text[2 * FM_SHA256_BYTES] = '\0';
}

void fm_sha256_text(const void *bytes, size_t count, char text[FM_SHA256_TEXT])
{
    fm_sha256 sum;
    fm_sha256_begin(&sum);
    if (count > 0) fm_sha256_add(&sum, bytes, count);
    fm_sha256_end(&sum, text);
}
