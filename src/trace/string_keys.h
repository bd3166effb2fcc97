/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string_keys.h - keys that are strings become 64-bit numbers (XXH3), and strings that fall on the same
 * number are found and counted, so that nobody has to trust that this does not happen.
 */
#ifndef FATHOM_TRACE_STRING_KEYS_H
#define FATHOM_TRACE_STRING_KEYS_H

#include <fathom/status.h>

typedef struct fm_string_keys {
    uint64_t *slots; /* NULL until the first string */
    unsigned bits;   /* 2^bits slots */
    uint64_t used;
    uint64_t seed;
    uint64_t collisions;
} fm_string_keys;

/* The key of a string; the table grows as needed. Zero-initialised keys are ready for use. */
fm_status fm_string_keys_add(fm_string_keys *keys, const char *text, size_t length, uint64_t *key,
                             fm_error *error);
void fm_string_keys_free(fm_string_keys *keys);

/* The table alone, for tests: a key with any check value. */
fm_status fm_string_keys_note(fm_string_keys *keys, uint64_t key, uint64_t check, fm_error *error);

#endif
