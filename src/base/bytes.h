/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - numbers from bytes and back, and checksums of bytes. */
#ifndef FATHOM_BASE_BYTES_H
#define FATHOM_BASE_BYTES_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Little-endian numbers in byte buffers, on any machine and at any alignment. Compilers turn
 * each of these into one instruction where the machine is little-endian itself.
 */

static inline uint16_t fm_load16(const void *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return le16toh(value);
}

static inline uint32_t fm_load32(const void *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return le32toh(value);
}

static inline uint64_t fm_load64(const void *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return le64toh(value);
}

static inline void fm_store16(void *to, uint16_t value)
{
    value = htole16(value);
    memcpy(to, &value, sizeof value);
}

static inline void fm_store32(void *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof value);
}

static inline void fm_store64(void *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof value);
}

/* ======== SHA-256 ======== */

/*
 * SHA-256 (FIPS 180-4), for files whose content someone else may have chosen: two that differ do
 * not have the same sum, whoever made them. (xxHash, which guards traces against accidents, does not promise
 * that.)
 */

enum { FM_SHA256_BYTES = 32, FM_SHA256_TEXT = 2 * FM_SHA256_BYTES + 1 };

typedef struct fm_sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
} fm_sha256;

void fm_sha256_begin(fm_sha256 *sum);
void fm_sha256_add(fm_sha256 *sum, const void *bytes, size_t count);
/* The sum in hexadecimal, as sha256sum prints it. */
void fm_sha256_end(fm_sha256 *sum, char text[FM_SHA256_TEXT]);

/* All at once. */
void fm_sha256_text(const void *bytes, size_t count, char text[FM_SHA256_TEXT]);

#endif
