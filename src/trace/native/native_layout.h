/* SPDX-License-Identifier: Apache-2.0 */
/* native_layout.h - the native format (docs/FORMAT.md): its parts in bytes. Internal. */
#ifndef FATHOM_TRACE_NATIVE_NATIVE_LAYOUT_H
#define FATHOM_TRACE_NATIVE_NATIVE_LAYOUT_H

#include "trace/format.h"

#include "trace/native/native_layout.h"

#include <fathom/trace.h>

/* ======== headers ======== */

/*
 * The native trace format (.fathom) byte by byte: constants, and the headers in and out
 * of bytes. docs/FORMAT.md is its specification; the two must agree.
 *
 *     file header | block | block | … | [module table] | index | footer
 *
 * Headers are checked here completely: what these functions accept obeys every limit that the rest of
 * the reader relies on when it allocates.
 */

#define FM_NATIVE_VERSION 1

enum {
    FM_NATIVE_HEADER_SIZE = 64,
    FM_NATIVE_BLOCK_MAX = 65536, /* references in one block */
    FM_NATIVE_COLUMNS_MAX = 5,
    FM_NATIVE_BLOCK_FIXED = 32, /* of a block header, before its columns */
    FM_NATIVE_COLUMN_SIZE = 12, /* of one column's entry */
    FM_NATIVE_BLOCK_HEADER_MAX = FM_NATIVE_BLOCK_FIXED + FM_NATIVE_COLUMNS_MAX * FM_NATIVE_COLUMN_SIZE + 8,
    FM_NATIVE_INDEX_FIXED = 24, /* of the index, before its entries */
    FM_NATIVE_INDEX_ENTRY = 16,
    FM_NATIVE_FOOTER_SIZE = 32,
    FM_NATIVE_MODULES_FIXED = 40,            /* header of the module table */
    FM_NATIVE_MODULES_PAYLOAD_MAX = 4 << 20, /* bytes of all modules together */
    FM_NATIVE_HASH_BYTES = 576,              /* of XXH3's state, for messages: xxhash.h does not give it */
};
#define FM_NATIVE_BLOCK_MAGIC "FmBk"
#define FM_NATIVE_MODULES_MAGIC "FmMo"
#define FM_NATIVE_INDEX_MAGIC "FmIx"
#define FM_NATIVE_END_MAGIC "\nMOHTAF\x98"

#define FM_NATIVE_FLAG_MEMORY 1U /* addresses are memory addresses */

/* Columns as they are numbered in blocks; ascending there. */
typedef enum fm_native_column {
    FM_NATIVE_ADDRESS = 0,
    FM_NATIVE_SIZE = 1,
    FM_NATIVE_KIND = 2,
    FM_NATIVE_THREAD = 3,
    FM_NATIVE_SITE = 4,
} fm_native_column;

typedef enum fm_native_encoding {
    FM_NATIVE_DIRECT = 0,   /* the values */
    FM_NATIVE_LOOKBACK = 1, /* how far to look back, and the difference to the value there */
    FM_NATIVE_TABLE = 2,    /* a table of values, and an index into it for each reference */
    FM_NATIVE_AS_SITE = 3,  /* a table, and the indices are those of the site column (which is a TABLE) */
    FM_NATIVE_BY_SITE = 4,  /* the difference to the last value that had the same index as the site has */
} fm_native_encoding;

typedef enum fm_native_codec { FM_NATIVE_STORED = 0, FM_NATIVE_ZSTD = 1 } fm_native_codec;

typedef struct fm_native_header {
    unsigned columns; /* FM_COLUMN_… */
    bool memory_addresses;
} fm_native_header;

typedef struct fm_native_part {
    uint8_t column, encoding, codec, planes;
    uint32_t exceptions; /* 0 for TABLE and AS_SITE */
    uint32_t entries;    /* of its table: TABLE, AS_SITE, BY_SITE; else 0 */
    uint32_t stored_bytes;
    uint32_t raw_bytes; /* follows from the others */
} fm_native_part;

typedef struct fm_native_block {
    uint32_t references;
    uint32_t payload_bytes;
    uint64_t first_reference; /* number of the block's first reference, from 0 */
    uint64_t payload_checksum;
    size_t part_count;
    fm_native_part parts[FM_NATIVE_COLUMNS_MAX];
    size_t header_bytes;
} fm_native_block;

/* The header of the module table (native_modules.h has its content). */
typedef struct fm_native_modules_header {
    uint32_t modules, payload_bytes;
    uint64_t references; /* in all blocks before it */
    uint64_t payload_checksum;
} fm_native_modules_header;

typedef struct fm_native_footer {
    uint64_t index_offset, references;
} fm_native_footer;

/* How many columns a file with these FM_COLUMN_… has, the address included; and a block header's size. */
size_t fm_native_column_count(unsigned columns);
size_t fm_native_block_header_size(unsigned columns);
/* Decoded size of a column of so many references. */
uint32_t fm_native_raw_bytes(uint32_t references, const fm_native_part *part);
/* Bytes of one value in its column: 8, 4, 1, 4, 8. */
unsigned fm_native_width(unsigned column);

void fm_native_header_store(uint8_t to[FM_NATIVE_HEADER_SIZE], const fm_native_header *header);
/* bytes: as much of the header as there is. */
fm_status fm_native_header_load(const uint8_t *bytes, size_t count, const char *name,
                                fm_native_header *header, fm_error *error);

/* Returns the header's size. */
size_t fm_native_block_store(uint8_t *to, const fm_native_block *block);
/* bytes holds fm_native_block_header_size(columns) bytes. False when it is no sound block header of a file
 * with these columns. */
bool fm_native_block_load(const uint8_t *bytes, unsigned columns, fm_native_block *block);

void fm_native_modules_header_store(uint8_t to[FM_NATIVE_MODULES_FIXED],
                                    const fm_native_modules_header *header);
/* False when it is no sound header of a module table. */
bool fm_native_modules_header_load(const uint8_t bytes[FM_NATIVE_MODULES_FIXED],
                                   fm_native_modules_header *header);

void fm_native_footer_store(uint8_t to[FM_NATIVE_FOOTER_SIZE], const fm_native_footer *footer);
bool fm_native_footer_load(const uint8_t bytes[FM_NATIVE_FOOTER_SIZE], fm_native_footer *footer);

/* ======== modules ======== */

/*
 * The content of a native trace's module table: which files lay where. Works in memory
 * only; its header is in native_layout.h, docs/FORMAT.md specifies both.
 */

/* The payload for these modules; the caller frees *bytes. Refuses what no reader would take back. */
fm_status fm_native_modules_store(const fm_trace_module *modules, size_t count, uint8_t **bytes, size_t *size,
                                  fm_error *error);

/* The modules in a payload; the caller frees *modules, which holds the strings too. False: memory is short
 * (*reason NULL), or it is no such payload (*reason, a fixed string). */
bool fm_native_modules_load(const uint8_t *bytes, size_t size, uint32_t count, fm_trace_module **modules,
                            const char **reason);

#endif
