/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha256.h - SHA-256 (FIPS 180-4), for files whose content someone else may have chosen: two that differ do
 * not have the same sum, whoever made them. (xxHash, which guards traces against accidents, does not promise
 * that.)
 */
#ifndef FATHOM_BASE_SHA256_H
#define FATHOM_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

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
