/* SPDX-License-Identifier: Apache-2.0 */
/* attribution_parts.h - what the files of attributions share. Internal. */
#ifndef FATHOM_PROFILE_ATTRIBUTION_PARTS_H
#define FATHOM_PROFILE_ATTRIBUTION_PARTS_H

#include "base/json.h"
#include "base/plain_text.h"

#include <fathom/attribution.h>
#include <fathom/profile.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ======== checks ======== */

/*
 * Whether an attribution keeps its invariants. Internal; called before one is written
 * and after one is read, so that nobody else need check.
 */

/*
 * Every number of a site, module, path, object is one of what there is, or FM_NONE where that is allowed; a
 * path's parent stands before it; ranges are those between the edges, ascending, with counts from 1 on;
 * counts are the sums that attribution.h says they are, and those of all pairs are the profile's; sources are
 * as sources.h says. False: why says what is wrong and where, as in `"pairs"[7]: …`.
 */
bool fm_attribution_sound(const fm_profile *profile, char *why, size_t size);

/* ======== growing ======== */

/* For those who fill attributions. Internal. */

/* The ranges of distances have numbers below this; those from 254 on mean something else (analyzer.h). */
enum { FM_MOST_EDGES = 250 };

/*
 * An array of count + more elements that begins with those of `array` (may be NULL), the rest zero; in the
 * attribution's memory, where the old one stays until the attribution goes: not for growth by one. NULL: no
 * memory.
 *
 *     fm_site *sites = fm_attribution_grow(attribution, attribution->sites, attribution->site_count, 5,
 * sizeof *sites);
 */
void *fm_attribution_grow(fm_attribution *attribution, const void *array, size_t count, size_t more,
                          size_t size);

/* The sum of two counts, or the largest number there is. */
static inline uint64_t fm_sum_at_most(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ======== JSON ======== */

/*
 * The field "attribution" of a profile's JSON (docs/PROFILE.md). Internal.
 */

/* Profiles may be parts of parts to this depth: processes, their threads, and some room. Each level needs
 * some of the program's stack, and a file may come from anywhere. */
enum { FM_DEEPEST_PART = 8 };

/* The value of the field, braces included; no newline at the end. Output errors stay in the FILE. */
fm_status fm_attribution_write(FILE *out, const fm_attribution *attribution, const char *indent,
                               fm_error *error);
/* where: what stands before the field's name in messages ("profiles[0]."). The indices are not yet checked:
 * fm_attribution_sound does that, once the profile is whole. */
fm_status fm_attribution_read(fm_json_scan *scan, const char *where, fm_attribution **attribution);

/* ======== rows of its tables ======== */

/*
 * The rows of an attribution's tables in JSON, one at a time. Internal to the reader
 * (attribution_read.c).
 *
 * The tables may come in any order (other programs sort fields), so what refers to a table is kept as a
 * number until all are there: a text as its number + 1 in the place of the pointer, a range as its number in
 * bin.lo.
 */

typedef enum fm_attribution_table {
    FM_TABLE_LATE_FROM, /* a number */
    FM_TABLE_EDGES,
    FM_TABLE_STRINGS,
    FM_TABLE_MODULES,
    FM_TABLE_SITES,
    FM_TABLE_PATHS,
    FM_TABLE_PAIRS,
    FM_TABLE_OBJECTS,
    FM_TABLE_OBJECT_USES,
    FM_TABLE_SOURCES,
    FM_TABLE_LATENCIES,
    FM_TABLE_PAIR_ERRORS,
    FM_TABLES,
} fm_attribution_table;

typedef struct fm_table_reader {
    fm_json_scan *scan;
    const char *where; /* in messages, before the names of tables */
    fm_attribution *made;
    unsigned seen; /* bits of the tables so far */
    const char **strings;
    size_t string_count;
    size_t capacity[FM_TABLES]; /* of the arrays in the arena */
    size_t line_sum_room;
    fm_frame *frames; /* of the site that is being read; from malloc */
    size_t frame_capacity;
    char what[128]; /* the row that is being read, for messages */
} fm_table_reader;

/* There is a table of source files, and be it an empty one. */
fm_status fm_table_begin_sources(fm_table_reader *from);
/* Reads the next row of a table and appends it. */
fm_status fm_table_read_row(fm_table_reader *from, fm_attribution_table which);

/* ======== sums ======== */

/* The attribution of two runs together. Internal; part of fm_profile_merge. */

/* Whether they can be added: ranges cut at the same edges, objects counted from the same distance on. */
bool fm_attribution_alike(const fm_attribution *a, const fm_attribution *b);

/*
 * Their sum, a new one; b may be NULL: a copy of a. Modules are joined by path and build id, sites by module,
 * address and call path, objects by what they are; their counts add up. Where both know a site, the names are
 * those of the one that has any.
 */
fm_status fm_attribution_sum(fm_attribution **sum, const fm_attribution *a, const fm_attribution *b,
                             fm_error *error);

/* ======== latencies ======== */

/*
 * The table of what a processor told of sampled accesses, by site (fm_site_latency): adding up
 * and checking.
 */

/* Adds a's to those of the sum. sites: the numbers of its sites in the sum. */
fm_status fm_site_latencies_merge(fm_attribution *sum, const fm_attribution *from, const uint32_t *sites,
                                  fm_error *error);
/* By site. */
void fm_site_latencies_sort(fm_attribution *attribution);
/* NULL, or what is wrong with row *row. */
const char *fm_site_latencies_wrong(const fm_attribution *attribution, size_t *row);

/* ======== sums of lines ======== */

/*
 * A short checksum of every line of a source file, so that lines of two states of the file can
 * be matched where the older text is there no more. Internal.
 *
 * Six hexadecimal digits for each line: FNV-1a (32 bits, the upper eight folded into the lower 24) of its
 * bytes without blanks at both ends. Lines that are equal have equal sums; others nearly never.
 */

enum { FM_LINE_SUM = 6, FM_MOST_LINE_SUMS = 50000 };

/* The sum of one line, blanks and the line's end at its ends not counted. */
uint32_t fm_line_sum(const char *line, size_t length);

/* Adds those of a text, in the attribution's memory; nothing for a file of more than FM_MOST_LINE_SUMS lines.
 * The table is sorted by its maker. False: no memory. */
bool fm_line_sums_record(fm_attribution *attribution, size_t *room, const char *path, const char *bytes,
                         size_t size);
/* Adds a row; texts belong to the attribution. */
bool fm_line_sums_add(fm_attribution *attribution, size_t *room, const char *path, const char *sums);
void fm_line_sums_sort(fm_attribution *attribution);
/* What is known of a file: six digits a line; NULL: nothing. */
const char *fm_line_sums_of(const fm_attribution *attribution, const char *path);
/* Digits only, in sixes. */
bool fm_line_sums_sound(const char *sums);

/* ======== modules ======== */

/* How a module is called, and its functions that have no name of their own: "gawk+0x6dd58". */

/* Whether a function's name says already in which module it is. path: may be NULL. */
static inline bool fm_function_names_module(const char *function, const char *path)
{
    if (!path) return false;
    const char *name = fm_base_name(path);
    const size_t length = strlen(name);
    return strncmp(function, name, length) == 0 && strncmp(function + length, "+0x", 3) == 0;
}

/* ======== errors of pairs ======== */

/*
 * The table of how sure pairs of code are where they are estimated (fm_pair_error): adding
 * up, looking up and checking.
 */

/* Adds those of another profile to the sum's: errors of different runs are independent of each other. sites:
 * the numbers of its sites in the sum. */
fm_status fm_pair_errors_merge(fm_attribution *sum, const fm_attribution *from, const uint32_t *sites,
                               fm_error *error);
/* By reuse, then by use. */
void fm_pair_errors_sort(fm_attribution *attribution);
/* NULL, or what is wrong with row *row. */
const char *fm_pair_errors_wrong(const fm_attribution *attribution, size_t *row);
/* Of a pair; NULL: exact, or not known. */
const fm_pair_error *fm_pair_error_of(const fm_attribution *attribution, const fm_pair *pair);
/* References of a pair that its error is about: late ones, and first touches. */
double fm_pair_late(const fm_attribution *attribution, const fm_pair *pair);

/* How sure a sum of pairs is. Pairs of one run may be wrong together: the sum of their errors is never less
 * than the error of their sum, and what they rest on may be the same. */
typedef struct fm_error_sum {
    double late, error;
    uint64_t samples; /* at least */
} fm_error_sum;
void fm_error_sum_add(fm_error_sum *sum, const fm_attribution *attribution, const fm_pair *pair);

/* ======== places ======== */

/* Sites that are places in the source alone (fm_attribution_add_places). Internal. */

/* Neither module nor address: the frames are all that is known of it, and what distinguishes it from others.
 */
static inline bool fm_site_is_place(const fm_site *site)
{
    return site->module == FM_NONE && site->address == 0 && site->frame_count > 0;
}

/* ======== sources ======== */

/* The source files of an attribution (fm_source): order, invariants, merging. Internal. */

/* 64 digits, 0-9 a-f. */
bool fm_source_is_sum(const char *text);

/* By path. */
void fm_sources_sort(fm_source *sources, size_t count);

/* Ascending paths, each once; sums that are some; text only with a sum and, where none of its bytes was
 * replaced (by U+FFFD, in JSON), the one that has it. False: why says what is wrong and where, as in
 * `"sources", 'a.c': …`. */
bool fm_sources_sound(const fm_attribution *attribution, char *why, size_t size);

/*
 * The sources of a sum, made in the sum's memory, of those that a and b name (b may be NULL). A file that was
 * not the same in both, or of which one of the two that name it does not know what it was, keeps its path
 * only.
 */
fm_status fm_sources_add_up(fm_attribution *sum, const fm_attribution *a, const fm_attribution *b,
                            fm_error *error);

#endif
