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

/* The table grows as needed. Zero-initialised keys are ready for use. */
void fm_string_keys_free(fm_string_keys *keys);

/* The table alone: a key with its check value. */
fm_status fm_string_keys_note(fm_string_keys *keys, uint64_t key, uint64_t check, fm_error *error);

/* Strings that became keys, still to be noted: of one batch at most. Threads that read apart each have one.
 */
typedef struct fm_string_list {
    struct fm_seen_string {
        uint64_t key, check;
    } * seen; /* NULL until the first one; room for FM_BATCH_MAX */
    size_t count;
} fm_string_list;

/* The key of a string. A zero-initialised list is ready for use. */
fm_status fm_string_list_add(fm_string_list *list, const char *text, size_t length, uint64_t *key,
                             fm_error *error);
/* Notes all of them, and empties the list. */
fm_status fm_string_keys_note_all(fm_string_keys *keys, fm_string_list *list, fm_error *error);
void fm_string_list_free(fm_string_list *list);

#endif
