/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_names.h - what the name of a column in a table of requests means, by the words that people use:
 * whether it is what a cache is asked for, and whether its numbers are bytes. Names are cut into words at
 * anything that is no letter or digit and where small letters turn into capitals; case and a unit behind the
 * name do not count: "Offset (bytes)", "byte_offset" and "ByteOffset" are an offset in bytes.
 */
#ifndef FATHOM_TRACE_COLUMN_NAMES_H
#define FATHOM_TRACE_COLUMN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum fm_key_likeness {
    FM_KEY_NO = 0,
    FM_KEY_PERHAPS, /* an id, a path, …: the key where nothing else looks like one */
    FM_KEY_YES,     /* an offset, an address, a block, a key, an object, a URL */
} fm_key_likeness;

fm_key_likeness fm_column_is_key(const char *name, size_t length);

/* Whether its values only tell things apart, as an id, a hash, a name or a URL does: they have no neighbours,
 * and no size can be added to them. Not so of offsets, addresses and numbers of blocks. */
bool fm_column_is_identity(const char *name, size_t length);
/* Whether its values are places: offsets, addresses, numbers of blocks. */
bool fm_column_is_place(const char *name, size_t length);
/* Whether it says where a key is: the relation of a block, the disk or the file of an offset, the bucket of
 * an object. place: of places, not of identities. */
bool fm_column_is_container(const char *name, size_t length, bool place);

/* Whether the numbers of a key, or of a size, count sectors, blocks, pages or kilobytes, not bytes. */
bool fm_column_key_counts_units(const char *name, size_t length);
bool fm_column_size_counts_units(const char *name, size_t length);

#endif
