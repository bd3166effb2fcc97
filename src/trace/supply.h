/* SPDX-License-Identifier: Apache-2.0 */
/* supply.h - a reader for several threads, code sites, and where references go. Internal. */
#ifndef FATHOM_TRACE_SUPPLY_H
#define FATHOM_TRACE_SUPPLY_H

#include "trace/stream.h"

#include <fathom/output.h>
#include <fathom/status.h>
#include <fathom/trace.h>

/* ======== supplies ======== */

/*
 * A reader for several threads of one program, without a plan of who reads what: each claims the
 * next range when it has the time. And what those need who read in this way, and find that they must begin
 * anew.
 */

typedef struct fm_trace_range {
    uint64_t at, reference; /* where it goes on: the supply's own */
    uint64_t left;          /* how much of it, likewise; 0: nothing */
} fm_trace_range;

typedef struct fm_supply {
    void *context;
    unsigned workers; /* that may fetch at the same time */
    /* One thread at a time: claims the next range, in time order, of about so many references. False: what
     * comes next, if anything, cannot be had in this way. */
    bool (*claim)(void *context, uint64_t wanted, fm_trace_range *range);
    /* By several threads, each with its number below `workers` and a range of its own: the next batch of
     * it, addresses, sizes and kinds, and where they were asked for, sites; its arrays stay until this
     * worker's next call. Threads are not delivered: those who fetch for themselves count, and tell none
     * apart. count 0: the end of the range. With sites, range->reference - batch->count + i is then a
     * number for reference i of the batch: these ascend along the trace. */
    fm_status (*fetch)(void *context, unsigned worker, fm_trace_range *range, fm_batch *batch,
                       fm_error *error);
    /* References that nobody has claimed, about; 0: none, or nobody knows. */
    uint64_t (*left)(const void *context);
} fm_supply;

/*
 * Before the first fm_reader_next: the rest of the trace, for several threads; with its code sites, if it has
 * any and they are asked for. FM_E_UNSUPPORTED, and nothing has happened: it can be read in order only. That
 * takes a native trace, or one of lines or records, in a regular file with a name that is not compressed as a
 * whole. After the last fetch, fm_reader_next delivers what was not claimed, tells of damage there, and finds
 * the end; before that, nothing but the supply may be used. When a fetch fails, the reader must be restarted:
 * it then tells what is wrong, and delivers what is not.
 */
fm_status fm_reader_share(fm_reader *reader, unsigned workers, bool sites, fm_supply *supply,
                          fm_error *error);

/* Whether it could be read once more from its beginning: as for fm_reader_share, but compressed ones too. */
bool fm_reader_can_restart(const fm_reader *reader);
/* From the beginning, as if it had just been opened. After a failure it can only be closed. */
fm_status fm_reader_restart(fm_reader *reader, fm_error *error);
/* As in messages: the path, or "standard input". */
const char *fm_reader_name(const fm_reader *reader);

/* ======== code sites ======== */

/* What other files of this room need of a site index (fathom/trace.h). */

/* Sites that have tags: these are 1 ... count. */
size_t fm_site_index_count(const fm_site_index *index);
/* Those with tags over `count` are forgotten; there is memory for as many others. */
void fm_site_index_truncate(fm_site_index *index, size_t count);

/* ---- site share ---- */

/*
 * One index of code sites (fathom/trace.h) for several threads that each read their own part
 * of a trace. While they do, sites have tags in the order in which threads come upon them. In the end all are
 * numbered anew, in the order of the trace, and those who used the tags are told which is which now.
 *
 * Each thread keeps the tags that it knows for itself, so that threads meet only where one is new to one of
 * them.
 */

typedef struct fm_site_share fm_site_share;

/* The index is not to be used until the end. */
fm_status fm_site_share_create(fm_site_share **made, fm_site_index *index, unsigned workers, fm_error *error);
/*
 * By several threads, each with its number below `workers`: tags[i] for sites[i]. first: of the first
 * reference, a number that grows along the trace, and for each thread from call to call. FM_E_LIMIT: there
 * are more sites than tags: which go without one can be told in order only.
 */
fm_status fm_site_share_tags(fm_site_share *share, unsigned worker, const uint64_t *sites, size_t count,
                             uint64_t first, uint32_t *tags, fm_error *error);
/* The index, as if it had been read in order. *map: by the tags that were given out, those that they are now;
 * NULL where they are the same; to be freed. The share is of no use any more. */
fm_status fm_site_share_settle(fm_site_share *share, uint32_t **map, size_t *map_count, fm_error *error);
/* Not settled: the index is as it was before. NULL is fine. */
void fm_site_share_destroy(fm_site_share *share);

/* ======== string keys ======== */

/*
 * Keys that are strings become 64-bit numbers (XXH3), and strings that fall on the same
 * number are found and counted, so that nobody has to trust that this does not happen.
 */

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

/* ======== sinks ======== */

/*
 * Where a writer's bytes go: buffered, compressed where the name says so, into a file that
 * appears only when it is complete (fathom/output.h).
 */

typedef struct fm_sink fm_sink;

/* level: of zstd or gzip; 0 the default. */
fm_status fm_sink_open(fm_sink **sink, const char *path, fm_compression compression, int level,
                       fm_error *error);
fm_status fm_sink_write(fm_sink *sink, const void *from, size_t bytes, fm_error *error);
/*
 * Room for up to bytes (at most FM_SINK_ROOM) that the caller fills in place, then gives its number to
 * fm_sink_advance: for formats that print numbers. NULL after a failure to write.
 */
#define FM_SINK_ROOM (64U << 10)
char *fm_sink_room(fm_sink *sink, size_t bytes, fm_error *error);
void fm_sink_advance(fm_sink *sink, size_t bytes);
/* Uncompressed bytes taken so far. */
uint64_t fm_sink_offset(const fm_sink *sink);
/* Everything out, checked, and the file under its name. */
fm_status fm_sink_commit(fm_sink *sink, fm_error *error);
void fm_sink_close(fm_sink *sink); /* without a commit, nothing is left behind; NULL is fine */

#endif
