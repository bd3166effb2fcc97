/* SPDX-License-Identifier: Apache-2.0 */
/*
 * miss_table.h - where misses are, summed as a reader asks for it: by source line, by function, by data
 * object. At several cache sizes at once. The one table that the terminal, diffs, pages and callgrind's files
 * draw; and what stands on it: pairs of places (late_pairs.c), and the verdict, in numbers and in words
 * (verdict.c).
 *
 * A line is the innermost one that the reader wrote (not one of the system's headers): what was inlined or
 * instantiated several times is one line. Code without lines is told by its function; the loader's, the C
 * library's and other code of the system by its module, since nobody changes it.
 *
 * A place is finer: a line told apart by its function and the functions it was inlined into: std::vector's
 * operator[] in two lines of a program is two places. Call paths are not told apart, nor what a reader is not
 * shown: what lies inside or between the system's headers. A site without a line number is a place of its
 * own. Code of the system's modules is told by its function. A position is a line within the function that
 * the linker knows, for callgrind.
 */
#ifndef FATHOM_VIEW_MISS_TABLE_H
#define FATHOM_VIEW_MISS_TABLE_H

#include <fathom/attribution.h>
#include <fathom/model.h>
#include <fathom/profile.h>
#include <fathom/view.h>

#include "profile/attribution_parts.h"
#include "view/text.h"

/* ---- one cache under one profile, computed once for all views ---- */

typedef struct fm_cache_fit {
    uint64_t blocks; /* of the profile, that the cache holds */
    uint64_t sets;
    fm_misses misses;
    double ratio;    /* fully associative */
    double late;     /* misses that are no first touches */
    bool estimated;  /* estimate is there */
    bool other_line; /* no estimate because the cache's line is not the profile's block */
    double estimate; /* set-associative miss ratio */
    bool has_band;   /* the profile says between which limits the fully associative ratio lies */
    double least, most;
} fm_cache_fit;

fm_cache_fit fm_cache_fit_make(const fm_profile *profile, const fm_cache *cache);

/* ---- what a reader knows of code ---- */

/* The frame that a reader knows: the innermost one that is not in the system's headers. 0 where all are. */
size_t fm_place_own_frame(const fm_site *site);
/* Headers of compilers and systems: code that a user did not write. */
bool fm_place_is_system(const char *file);
/* Modules of the system: its libraries, the loader. */
bool fm_module_is_system(const char *path);
/* The function of code in one of the system's modules (*module), which is all that is told of it; NULL: it is
 * not there, or its function is not known. */
const char *fm_system_function(const fm_attribution *of, const fm_site *site, const char **module);

/* ---- the table ---- */

/* What rows are: those of fm_by, and two finer ones. */
enum { FM_BY_PLACE = FM_BY_OBJECT + 1, FM_BY_POSITION };

typedef enum fm_miss_row_kind {
    FM_ROW_LINE,     /* file, line; and a function that it is in */
    FM_ROW_FUNCTION, /* function; its module where no line is known */
    FM_ROW_MODULE,   /* module */
    FM_ROW_OBJECT,   /* name */
    FM_ROW_UNKNOWN,  /* code that nothing is known of */
    FM_ROW_PLACE,    /* what its site says */
} fm_miss_row_kind;

typedef struct fm_miss_row {
    fm_miss_row_kind kind;
    uint32_t line;    /* 0: not known */
    const char *file; /* texts are the table's; NULL: not known */
    const char *function;
    const char *module;  /* path */
    const char *name;    /* of an object */
    uint32_t number;     /* among all, in the order of their first sites */
    uint32_t site;       /* the first of its sites; FM_NONE: an object */
    uint64_t references; /* 0 for objects, which are counted where references are late */
    uint64_t cold;       /* first touches */
    double *misses;      /* at each level, first touches included */
    /* Late uses in all, as far as something is known about them. Where they are estimated: their standard
     * error (of lines and functions at most that), and what they rest on (of these at least). */
    double uses, error;
    uint64_t samples;
} fm_miss_row;

typedef struct fm_miss_table {
    const fm_attribution *of;
    unsigned by;
    size_t level_count;
    uint64_t *blocks; /* of each level's cache */
    size_t count;
    fm_miss_row *rows; /* by their numbers */
    uint32_t *of_site; /* number of the row of each site; NULL for objects */
    double *sums;      /* the rows' misses */
    struct fm_arena *texts;
} fm_miss_table;

/* Whether the attribution of a profile is sound, and there where it is needed. name: of the profile, or NULL.
 */
fm_status fm_miss_table_check(const fm_profile *profile, bool needed, const char *name, fm_error *error);

/* The attribution is sound, and lives on. */
fm_status fm_miss_table_make(fm_miss_table *table, const fm_attribution *of, unsigned by,
                             const uint64_t *blocks, size_t level_count, fm_error *error);
/* Of a profile, at caches: where one is larger than a bound that hides something, at the bound. */
fm_status fm_miss_table_fit(fm_miss_table *table, const fm_profile *profile, fm_by by,
                            const fm_cache_fit *fits, size_t level_count, fm_error *error);
/* Numbers of rows, those with the most misses at a level first. order has room for all. */
fm_status fm_miss_table_order(const fm_miss_table *table, size_t level, uint32_t *order, fm_error *error);
void fm_miss_table_clear(fm_miss_table *table);

/* "blur.c:25", "memcpy in prog", "libc.so.6", "heap block from main (x.c:3)": files without their folders. */
char *fm_miss_row_text(const fm_miss_row *row, char *buffer, size_t size);

/*
 * ---- pairs ----
 * Which pairs of places re-use data too late for a cache, the largest first: what the terminal's list shows,
 * without any text. A first touch is no re-use: it is counted apart.
 */

typedef struct fm_late_pair {
    uint32_t use, reuse; /* places; use FM_NONE: not known */
    double late;         /* re-uses that miss; more than 0 */
    uint64_t reuses;     /* all of them */
    fm_error_sum sure;   /* samples 0: exact, or not known */
    uint32_t number;     /* before sorting */
} fm_late_pair;

/* One pair of sites of a pair of places. */
typedef struct fm_late_member {
    uint32_t rank, pair;
} fm_late_member;

/* What is missed on at a place. */
typedef struct fm_late_object {
    uint32_t place, object;
    double late;
} fm_late_object;

typedef struct fm_late_pairs {
    const fm_attribution *of;
    uint64_t blocks; /* of the cache */
    fm_miss_table places;
    double late;         /* of all pairs */
    uint64_t cold;       /* first touches */
    uint32_t cold_place; /* where most of them are; FM_NONE: there are none */
    uint64_t cold_most;  /* how many there */
    size_t count;        /* pairs of places that are late at all */
    fm_late_pair *pairs;
    size_t top; /* of these, the largest `top` have members and objects */
    size_t member_count, object_count;
    fm_late_member *members; /* by rank */
    fm_late_object *objects; /* by place, then the largest first */
} fm_late_pairs;

/* most: how many will be looked at closely. The attribution is sound. */
fm_status fm_late_pairs_make(fm_late_pairs *late, const fm_attribution *of, uint64_t blocks, size_t most,
                             fm_error *error);
void fm_late_pairs_clear(fm_late_pairs *late);

/* The range of distances that holds the median of a top pair's late re-uses. False: it is beyond the bound.
 */
bool fm_late_pairs_median(const fm_late_pairs *late, size_t rank, uint64_t *lo, uint64_t *hi);

/* The two call paths on which most of a top pair's late re-uses are. share: of the pair's. FM_NONE: not
 * known. */
typedef struct fm_late_paths {
    uint32_t use, reuse;
    double share;
} fm_late_paths;
fm_status fm_late_pairs_paths(const fm_late_pairs *late, size_t rank, fm_late_paths *paths, fm_error *error);

/* The objects missed on at a place, the largest first. Returns how many; 0 where nothing is known. all: the
 * sum. */
size_t fm_late_pairs_objects(const fm_late_pairs *late, uint32_t place, const fm_late_object **objects,
                             double *all);

/*
 * ---- the verdict ----
 * What is wrong at every cache, and whose misses these are: in numbers, and in the words that terminal and
 * page use.
 */

enum { FM_VERDICT_LEVELS = 32, FM_VERDICT_PLACES = 3 };

typedef struct fm_verdict {
    const fm_profile *profile;
    const fm_cache *caches;
    size_t count; /* of caches */
    fm_cache_fit fits[FM_VERDICT_LEVELS];
    size_t judged; /* the list is about this one */
    bool few;      /* too few samples to say whose the misses are */
    fm_by by;
    /* Where the profile knows its code, else NULL: rows by the misses at the judged level. */
    uint32_t *order;
    fm_miss_table table;
    size_t listed; /* the first of them, that make nearly all */
    size_t told;   /* of these, so many make most of it: */
    double told_misses;
} fm_verdict;

/* most: rows of the list. */
fm_status fm_verdict_make(fm_verdict *verdict, const fm_profile *profile, const fm_cache *caches,
                          size_t count, fm_by by, size_t most, fm_error *error);
void fm_verdict_clear(fm_verdict *verdict);

/* Whether a thousandth of the references and more come too late for a cache. */
bool fm_verdict_matters(const fm_profile *profile, const fm_cache *cache);

/* Misses at the judged level; a row of the list. */
double fm_verdict_total(const fm_verdict *verdict);
const fm_miss_row *fm_verdict_row(const fm_verdict *verdict, size_t rank);

/* The places with most misses at a level, enough of them for most of the misses: how many. Where nothing is
 * late there, the first one alone. */
fm_status fm_verdict_places(const fm_verdict *verdict, size_t level,
                            const fm_miss_row *places[FM_VERDICT_PLACES], size_t *count, fm_error *error);

/* The numbers of a level. */
typedef struct fm_level_text {
    fm_text size, misses, ratio, late, first;
    fm_text band; /* "(1.2 % to 3.4 %)" */
} fm_level_text;
fm_level_text fm_verdict_level_text(const fm_verdict *verdict, size_t level);

/* Sentences; false where there is none.
 *     covers    "blur exited with 0: 54.9 M references to 48 MiB, every one seen, exact"
 *     too_few   "too few samples for a verdict: 9 of misses (10 are the least)"
 *     heading   "L1d: two lines make 86 % of the misses"
 *     detail    of a row: "in blur_columns, on heap block from main (blur.c:33)"
 *     distance  "used again after 2,048 to 4,096 other blocks (128 KiB to 256 KiB): a cache of …"
 *     answer    all of it in one or two sentences, for a page */
enum { FM_SENTENCE = 3000 };
void fm_verdict_covers(const fm_profile *profile, char text[FM_SENTENCE]);
bool fm_verdict_too_few(const fm_verdict *verdict, char text[FM_SENTENCE]);
bool fm_verdict_heading(const fm_verdict *verdict, char text[FM_SENTENCE]);
void fm_verdict_detail(const fm_verdict *verdict, const fm_miss_row *row, char text[FM_SENTENCE]);
bool fm_verdict_distance(const fm_verdict *verdict, char text[FM_SENTENCE]);
bool fm_verdict_answer(const fm_verdict *verdict, char text[FM_SENTENCE]);

/* Of a cache of keys: hit ratios at shares of the keys, and the sizes for hit ratios. */
enum { FM_KEY_ROWS = 5 };
typedef struct fm_key_row {
    double wanted;   /* this hit ratio was asked for; 0: this share of the keys */
    double share;    /* of the keys */
    uint64_t blocks; /* 0: no size does it */
    double hits;     /* below 0: not known */
} fm_key_row;
void fm_verdict_of_keys(const fm_profile *profile, fm_key_row rows[FM_KEY_ROWS], char answer[FM_SENTENCE]);

#endif
