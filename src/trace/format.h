/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - what a format is: columns, numbers and parts. Internal. */
#ifndef FATHOM_TRACE_FORMAT_H
#define FATHOM_TRACE_FORMAT_H

#include "base/error.h"
#include "trace/stream.h"
#include "trace/supply.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ======== parts ======== */

/*
 * What formats that can be read in parts share: where the parts begin, before a format rounds to
 * what it can divide at, and how they say that a file cannot be divided.
 */

/* Part number `part` of `parts` is the references [begin(part), begin(part + 1)) of total: all parts have the
 * same number of them, or one more. It is total * part / parts, rounded down, without overflow. */
static inline uint64_t fm_part_begin(uint64_t total, uint32_t part, uint32_t parts)
{
    return total / parts * part + total % parts * part / parts;
}

static inline fm_status fm_part_refuse(const char *name, const char *reason, fm_error *error)
{
    return fm_fail(error, FM_E_UNSUPPORTED, name, "cannot be read in parts: %s", reason);
}

/* ======== numbers ======== */

/*
 * Numbers out of and into text, fast. Parsers take text that is known to be followed by a
 * byte that ends it (a '\n' at the latest), return the first byte behind the digits, and NULL where
 * there is no digit or the number does not fit 64 bits.
 */

static inline const char *fm_parse_decimal(const char *at, uint64_t *value)
{
    const char *first = at;
    uint64_t number = 0;
    /* 19 digits always fit. */
    while ((unsigned char)(*at - '0') < 10 && at - first < 19) number = number * 10 + (uint64_t)(*at++ - '0');
    while ((unsigned char)(*at - '0') < 10) {
        if (__builtin_mul_overflow(number, 10U, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
            return NULL;
        at++;
    }
    if (at == first) return NULL;
    *value = number;
    return at;
}

/* 0…15, or 16 and more for what is no hexadecimal digit. */
static inline unsigned fm_hex_digit(char c)
{
    unsigned decimal = (unsigned char)c - (unsigned)'0';
    if (decimal < 10) return decimal;
    unsigned letter = ((unsigned char)c | 32U) - (unsigned)'a';
    return letter < 6 ? letter + 10 : 16;
}

/* Without a 0x in front. */
static inline const char *fm_parse_hex(const char *at, uint64_t *value)
{
    const char *first = at;
    uint64_t number = 0;
    unsigned digit;
    while ((digit = fm_hex_digit(*at)) < 16) {
        if (number >> 60) return NULL;
        number = number << 4 | digit;
        at++;
    }
    if (at == first) return NULL;
    *value = number;
    return at;
}

/* Both return the end of what they wrote: at most 20 and 16 bytes. */
static inline char *fm_print_decimal(char *to, uint64_t value)
{
    char digits[20];
    size_t count = 0;
    do digits[sizeof digits - ++count] = (char)('0' + value % 10);
    while (value /= 10);
    memcpy(to, digits + sizeof digits - count, count);
    return to + count;
}

static inline char *fm_print_hex(char *to, uint64_t value, unsigned least_digits)
{
    unsigned digits = value ? (67 - (unsigned)__builtin_clzll(value)) / 4 : 1;
    if (digits < least_digits) digits = least_digits;
    for (unsigned i = digits; i-- > 0; value >>= 4) to[i] = "0123456789abcdef"[value & 15];
    return to + digits;
}

/* ======== formats ======== */

/* What a native trace begins with: 0x89 shows a binary file, the line ends show transfers that "translated"
 * them. */
#define FM_NATIVE_MAGIC                                                                                      \
    "\x89"                                                                                                   \
    "FATHOM\n"
#define FM_NATIVE_MAGIC_SIZE 8

/*
 * The one interface behind which every trace format lives.
 *
 * A format turns a stream of bytes into columns (import), and, where it can be written, batches into
 * bytes (export). It knows nothing of files, compression, threads or other formats. To add one, write
 * src/trace/import_<name>.c with an fm_format and add a line to format_table.c; docs/TRACES.md shows how.
 */

/* Room for FM_BATCH_MAX references: what an import fills. Columns the trace lacks are NULL. */
typedef struct fm_columns {
    size_t count;
    uint64_t *address;
    uint32_t *size;
    uint8_t *kind;
    uint32_t *thread;
    uint64_t *site;
} fm_columns;

/* One open trace as its format sees it. */
typedef struct fm_import {
    fm_stream *stream;
    const char *name;   /* of the file, for messages */
    fm_trace_info info; /* the format sets columns, memory_addresses and the counts it knows of */
    void *state;        /* the format's own */
    bool threaded;      /* set in open: several threads decode ahead of read, so that no other one need to */
    bool reads_itself;  /* threads of the format read the stream, and read sets info.bytes_read */
    /* Which files lay where, for formats that store it: set by the time the end is reported. */
    const fm_trace_module *modules;
    size_t module_count;
} fm_import;

typedef struct fm_export {
    fm_sink *sink;
    unsigned columns;
    bool memory_addresses;
    int level;
    unsigned threads;
    void *state;
} fm_export;

/* In read, write and finish, error is never NULL. */
typedef struct fm_format {
    fm_format_info info;
    bool binary;  /* content may begin with any bytes, even those of a compressed file */
    bool resumes; /* read may be called again after damage and goes on behind it */

    /* Looks at the beginning and sets import->info. options are valid during this call only. May be NULL. */
    fm_status (*open)(fm_import *import, const fm_reader_options *options, fm_error *error);
    /*
     * After open: goes to part number `part` of `parts` (from 1 on), reads that only, and sets bytes_total
     * and references_total of it. The file is a regular one and not compressed. FM_E_UNSUPPORTED: this file
     * cannot be divided. NULL: none of this format can.
     */
    fm_status (*divide)(fm_import *import, uint32_t part, uint32_t parts, fm_error *error);
    /*
     * After open, before read: what fm_reader_share promises. shared reports, before the next read, what was
     * fetched. NULL, both: not for this format; and FM_E_UNSUPPORTED: not for this file.
     */
    fm_status (*share)(fm_import *import, unsigned workers, fm_fetches fetches, bool sites, fm_supply *supply,
                       fm_error *error);
    void (*shared)(const fm_import *import, uint64_t *skipped, uint64_t *fetched);
    /*
     * Fills columns and sets columns->count; FM_OK with count 0 is the end. A failure may come with
     * count > 0: those references are sound and are delivered before the failure is returned.
     */
    fm_status (*read)(fm_import *import, fm_columns *columns, fm_error *error);
    void (*close)(fm_import *import); /* frees import->state; may be NULL */

    /* Writing: NULL where the format is read only. start, finish and abandon may be NULL. */
    fm_status (*start)(fm_export *export, fm_error *error);
    fm_status (*write)(fm_export *export, const fm_batch *batch, fm_error *error);
    /* Before finish, at any time; NULL where the format has no place for modules. */
    fm_status (*set_modules)(fm_export *export, const fm_trace_module *modules, size_t count,
                             fm_error *error);
    fm_status (*finish)(fm_export *export, fm_error *error);
    void (*abandon)(fm_export *export); /* frees export->state, after finish too */
} fm_format;

extern const fm_format fm_format_u64;
extern const fm_format fm_format_text;
extern const fm_format fm_format_csv;
extern const fm_format fm_format_lackey;
extern const fm_format fm_format_din;
extern const fm_format fm_format_oracle;
extern const fm_format fm_format_fathom;

/* By the name in --format; NULL where there is none. */
const fm_format *fm_format_find(const char *name);
/* By a file's name, compression endings removed first; NULL where the ending is not known. */
const fm_format *fm_format_of_path(const char *path);
/* "u64, text, csv, …" for messages. Returns buffer. */
char *fm_format_names(char *buffer, size_t size, bool writable_only);

/* ======== columns ======== */

/* Memory for one batch of references. */

/* Room for FM_BATCH_MAX references in the address column and those in the mask. */
fm_status fm_columns_allocate(fm_columns *columns, unsigned mask, fm_error *error);
void fm_columns_free(fm_columns *columns);
void fm_columns_batch(const fm_columns *columns, fm_batch *batch);
/* Takes out the instruction fetches, or all else; returns how many fetches were passed over. */
uint64_t fm_columns_filter(fm_columns *columns, fm_fetches fetches);

/* ======== reading ahead ======== */

/*
 * A thread that decodes a few batches ahead of its consumer, over a ring of batches.
 * It knows nothing of formats: a function fills one slot at a time.
 */

/* One batch on its way, with what was true after it was made. */
typedef struct fm_slot {
    fm_columns columns;
    fm_status status; /* comes after the references in columns */
    fm_error error;
    fm_trace_info info;
    bool last; /* nothing comes after this slot */
} fm_slot;

typedef struct fm_read_ahead fm_read_ahead;
/* Fills slot->columns, status, error, info, last. Called on the thread. */
typedef void (*fm_slot_filler)(void *context, fm_slot *slot);

fm_status fm_read_ahead_start(fm_read_ahead **ahead, unsigned columns, fm_slot_filler filler, void *context,
                              fm_error *error);
/* The next slot; waits for it. Valid until the next call. After a slot that is `last`, do not call again. */
const fm_slot *fm_read_ahead_next(fm_read_ahead *ahead);
/* Stops the thread, wherever it is, and waits for it. NULL is fine. */
void fm_read_ahead_stop(fm_read_ahead *ahead);

#endif
