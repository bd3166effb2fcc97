/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - one character of UTF-8 at a time, strictly. Names of files are bytes; JSON, HTML and
 * terminals want characters, and each room decides for itself what to do with what is none.
 */
#ifndef FATHOM_BASE_UTF8_H
#define FATHOM_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decodes the character at the start of `bytes` and returns its length, 1 to 4. Returns 0 when there
 * is no valid one: overlong forms, surrogates and values over U+10FFFF are not valid. */
size_t fm_utf8_decode(const unsigned char *bytes, size_t available, uint32_t *character);

/* Writes a character, which must be a valid one, as 1 to 4 bytes; returns how many. */
size_t fm_utf8_encode(uint32_t character, char *bytes);

#endif
