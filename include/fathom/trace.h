/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - references in and out: readers and writers for every trace format.
 *
 * A reader turns a file, a pipe or standard input into batches of references. Compression (zstd,
 * gzip) is detected by content. A writer does the reverse. Neither knows what a reuse distance is.
 * Traces larger than memory stream through: a reader holds one batch (plus the decoder's window).
 */
#ifndef FATHOM_TRACE_H
#define FATHOM_TRACE_H

#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fm_kind {
    FM_KIND_LOAD = 0,
    FM_KIND_STORE = 1,
    FM_KIND_MODIFY = 2, /* one access that reads and writes (lackey's M): one reference */
    FM_KIND_FETCH = 3,  /* instruction fetch */
} fm_kind;

/* Which columns a trace has. The address (or key) is always there. */
enum {
    FM_COLUMN_SIZE = 1U << 0,   /* bytes touched from the address on; absent: exactly one block */
    FM_COLUMN_KIND = 1U << 1,   /* fm_kind; absent: unknown */
    FM_COLUMN_THREAD = 1U << 2, /* small number of the thread */
    FM_COLUMN_SITE = 1U << 3,   /* code address that made the access */
    FM_COLUMN_TAG = 1U << 4,    /* never stored: small number of the site, for attribution */
};

/* A batch of references in time order, one array per column; an absent column is NULL. */
typedef struct fm_batch {
    size_t count;
    const uint64_t *address;
    const uint32_t *size;
    const uint8_t *kind;
    const uint32_t *thread;
    const uint64_t *site;
    const uint32_t *tag; /* from 1, at most FM_TAG_MAX; 0: unknown */
} fm_batch;

#define FM_TAG_MAX ((UINT32_C(1) << 24) - 1)

/* No reader delivers larger batches. */
#define FM_BATCH_MAX 65536

typedef enum fm_fetches {
    FM_FETCHES_SKIP = 0, /* data references only (default) */
    FM_FETCHES_ONLY = 1, /* instruction fetches only */
    FM_FETCHES_ALL = 2,  /* both, in trace order */
} fm_fetches;

typedef enum fm_csv_header {
    FM_CSV_HEADER_LOOK = 0, /* by looking at the first rows (default) */
    FM_CSV_HEADER_YES = 1,  /* the first line names the columns */
    FM_CSV_HEADER_NO = 2,   /* there is no such line */
} fm_csv_header;

typedef struct fm_reader_options {
    const char *format; /* NULL: by content (native) or by the name's ending */
    fm_fetches fetches; /* for formats that record instruction fetches (lackey, din, native) */
    bool read_ahead;    /* decode in a thread of its own, ahead of the caller */
    unsigned threads; /* so many threads decode ahead of the caller, 64 at most, the caller's among them while
                         it waits: traces of lines (text, csv, lackey, din), and native ones in a regular file
                         with a name that are not compressed as a whole. They also decompress the zstd frames
                         of a regular file, of any format. What is read is the same. 0, 1, and other traces:
                         as read_ahead says */
    /* Only part number `part`, from 0, of `parts` parts of about the same number of references: see
     * fm_trace_divisible. 0 or 1 parts: the whole trace */
    uint32_t part, parts;
    /* CSV only */
    /* Column name, or number from 1; NULL: the one whose name is that of a key, or the only one. Where that
     * is not plain, opening fails with FM_E_ARGUMENT, or reading does where a column beside it changes that
     * says where a key is (the relation of a block, the disk of an offset). Several, up to 8, as
     * "rel,fork,block": the key is all of them, a 64-bit hash. With csv_size or csv_key_unit the last one is
     * a place within what the others say, which lie apart in the address space: see docs/TRACES.md for both.
     */
    const char *csv_key;
    /* Column of the request's size; NULL: none. Opening fails with FM_E_ARGUMENT where the key is an identity
     * (an id, a hash, a URL), and no address that a size can be added to, unless csv_key_unit is given. */
    const char *csv_size;
    char csv_delimiter; /* 0: comma, or what the first line shows (comma, semicolon, tab) */
    int csv_header;     /* fm_csv_header; -1, as in programs written before there were names, is 0 */
    /* Bytes per unit of the key column, of the size column. 0: 1, but with a size column opening fails with
     * FM_E_ARGUMENT where a name says that something else is counted (sectors, blocks). A key unit other than
     * 1 needs numeric keys. */
    uint64_t csv_key_unit, csv_size_unit;
} fm_reader_options;

typedef struct fm_trace_info {
    const char *format;         /* "u64", "text", … */
    const char *compression;    /* "none", "zstd", "gzip" */
    bool memory_addresses;      /* addresses of memory (default granularity 64), not keys (default 1) */
    unsigned columns;           /* FM_COLUMN_… */
    uint64_t bytes_total;       /* of the file, or the part of it, as stored; 0 where unknown (pipes) */
    uint64_t bytes_read;        /* of these, so far */
    uint64_t references_total;  /* where known beforehand (native, with index; parts); else 0 */
    uint64_t references;        /* delivered so far */
    uint64_t fetches_skipped;   /* instruction fetches passed over because of options.fetches */
    uint64_t string_keys;       /* distinct non-numeric keys that were hashed to 64 bits */
    uint64_t string_collisions; /* distinct strings found to share their 64-bit key with another */
    /* CSV only. The strings stay until the reader is closed, and are fit to be shown. */
    uint64_t key_column;    /* from 1; 0: not a table, or nothing in it */
    bool key_found;         /* found by its name: the options do not name it */
    bool key_unit_unknown;  /* by its name, it counts something else than bytes, and no unit was given */
    const char *key_name;   /* in the header; "": there is none */
    const char *key_values; /* the first few */
    uint64_t key_columns;   /* how many the key has */
    bool key_identity;      /* by its name or values an identity, or several columns: it has no neighbours */
    /* CSV, and text: the columns of the first rows, with a few values ("": there is one only); of text those
     * that blanks, or another usual delimiter, would part its second line into */
    const char *columns_seen;
    char columns_delimiter;   /* text: that delimiter; 0: none */
    bool columns_from_second; /* text: the first line has another number of them */
} fm_trace_info;

typedef struct fm_reader fm_reader;

/* path "-" is standard input. Fails with FM_E_FORMAT when neither the content nor the name shows the format.
 */
FM_SIZED(fm_status, fm_reader_open, fm_reader_options,
         (fm_reader **reader, const char *path, const fm_reader_options *options, fm_error *error),
         (reader, path, options, error));

/*
 * The next batch. FM_OK with count 0 is the end. The arrays stay valid until the next call.
 *
 * Damage (FM_E_TRUNCATED, FM_E_CORRUPT) is returned once for each place, with batch->count 0, after
 * everything sound before it was delivered. The caller may go on calling: where the format allows
 * (native blocks), what follows the damage is delivered; otherwise the end is reported.
 * Other failures are final.
 */
FM_API fm_status fm_reader_next(fm_reader *reader, fm_batch *batch, fm_error *error);

FM_SIZED(void, fm_reader_info, fm_trace_info, (const fm_reader *reader, fm_trace_info *info), (reader, info));
FM_API void fm_reader_close(fm_reader *reader);

/*
 * Traces in parts, for threads and processes that each read their own: one after the other, the parts are the
 * whole trace, and each reference is in exactly one. A reader of a part reads the bytes of its part (and the
 * beginning of the file, and the index). Damage is reported by the part that it is in; damage behind the last
 * reference, by the last part. Native traces are divided between their blocks of up to 65536 references, so
 * that some parts of a short trace are empty.
 *
 * That needs a regular file that is not compressed as a whole: native with a sound index, or u64, oracle.
 * fm_reader_open fails with FM_E_UNSUPPORTED for parts of anything else, and the error says why.
 */
typedef struct fm_trace_extent {
    uint64_t references; /* what the index says, or what follows from the file's size; fetches are counted */
    uint64_t bytes;      /* of the file */
} fm_trace_extent;
/*
 * FM_OK: it can be read in parts. Those who do can compare extents first: another one is another file, or one
 * that is being written. FM_E_UNSUPPORTED: it cannot, the error says why, and nothing was taken from a pipe.
 * Fails otherwise as fm_reader_open does. options.part and parts do not matter.
 */
FM_SIZED_BY(fm_status, fm_trace_divisible, (size_t, size_t),
            (sizeof(fm_reader_options), sizeof(fm_trace_extent)),
            (const char *path, const fm_reader_options *options, fm_trace_extent *extent, fm_error *error),
            (path, options, extent, error));

typedef struct fm_writer_options {
    const char *format;    /* NULL: by the name's ending (.zst and .gz compress) */
    unsigned columns;      /* columns to store, FM_COLUMN_…; those the format cannot hold are refused */
    bool memory_addresses; /* see fm_trace_info; stored in the native header */
    int level;             /* zstd level; 0: the default; -1: native columns are coded but not compressed */
    unsigned threads;      /* native: so many threads compress blocks, 64 at most; 0, 1: append does it. The
                              file is the same. Failures are returned by the next append, or by finish */
} fm_writer_options;

typedef struct fm_writer fm_writer;

FM_SIZED(fm_status, fm_writer_open, fm_writer_options,
         (fm_writer **writer, const char *path, const fm_writer_options *options, fm_error *error),
         (writer, path, options, error));
/* A column that was promised in options.columns must be present in every batch. */
FM_API fm_status fm_writer_append(fm_writer *writer, const fm_batch *batch, fm_error *error);
/* Flushes, checks and closes. Only when this returned FM_OK is the file complete and under its name. */
FM_API fm_status fm_writer_finish(fm_writer *writer, fm_error *error);
/* Frees the writer. Without a successful finish, a regular file is not left behind. NULL is fine. */
FM_API void fm_writer_close(fm_writer *writer);

/*
 * What the code addresses in the site column belong to: which files lay where when the trace was recorded.
 * Stored in native traces.
 */
typedef struct fm_trace_module {
    const char *path;
    const char *build_id; /* hexadecimal; NULL: unknown */
    uint64_t from, to;    /* addresses in memory; `to` is behind the last byte */
    uint64_t bias;        /* address in memory - address in the file */
} fm_trace_module;
/* Any time before finish; the last call counts. Copied. FM_E_UNSUPPORTED where the format cannot hold them.
 */
FM_API fm_status fm_writer_set_modules(fm_writer *writer, const fm_trace_module *modules, size_t count,
                                       fm_error *error);
/* Known once the reader has come to the end of the trace (they stand behind the blocks); else count 0. */
FM_API void fm_reader_modules(const fm_reader *reader, const fm_trace_module **modules, size_t *count);

/*
 * Sites to tags and back, for attribution of stored traces: numbers code addresses in order of appearance.
 */
typedef struct fm_site_index fm_site_index;
FM_API fm_status fm_site_index_create(fm_site_index **index, fm_error *error);
FM_API void fm_site_index_destroy(fm_site_index *index);
/* tags[i] for sites[i]; what comes after FM_TAG_MAX sites gets 0. */
FM_API fm_status fm_site_index_tags(fm_site_index *index, const uint64_t *sites, size_t count, uint32_t *tags,
                                    fm_error *error);
struct fm_attribution;
/* Adds the modules and a site for every tag; as fm_collection_describe. */
FM_API fm_status fm_site_index_describe(const fm_site_index *index, const fm_trace_module *modules,
                                        size_t module_count, struct fm_attribution *attribution,
                                        const uint32_t **map, size_t *map_count, fm_error *error);

/* The table of formats, for help texts and error messages; index from 0, NULL past the end. */
typedef struct fm_format_info {
    const char *name;      /* as in --format */
    const char *endings;   /* space-separated name endings, as ".txt .text" */
    const char *summary;   /* one line */
    bool memory_addresses; /* default meaning of its keys */
    bool can_write;
    unsigned columns; /* columns it can hold */
} fm_format_info;
FM_API const fm_format_info *fm_format_at(size_t index);
/* The format that a name's ending stands for (compression endings removed first), or NULL. */
FM_API const fm_format_info *fm_format_of_name(const char *path);

/*
 * Checks a stored native trace block by block. Calls visit for every block and for every damage
 * found; goes on to the end of the file.
 */
typedef struct fm_block_report {
    uint64_t index;        /* of the block, from 0 */
    uint64_t offset;       /* in the file */
    uint64_t stored_bytes; /* with its header */
    uint64_t references;
    fm_status status; /* FM_OK, or what is wrong */
    const char *reason;
} fm_block_report;
typedef struct fm_check_result {
    uint64_t blocks, bad_blocks, references, lost;
    uint64_t stored_bytes;
    bool index_present, index_sound;
    bool modules_present, modules_sound; /* the module table */
    uint64_t modules;                    /* in it */
    unsigned columns;
    bool memory_addresses;
} fm_check_result;
FM_SIZED(fm_status, fm_trace_check, fm_check_result,
         (const char *path, void (*visit)(void *context, const fm_block_report *report), void *context,
          fm_check_result *result, fm_error *error),
         (path, visit, context, result, error));

#ifdef __cplusplus
}
#endif
#endif
