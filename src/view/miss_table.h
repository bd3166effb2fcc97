/* SPDX-License-Identifier: Apache-2.0 */
/*
 * miss_table.h - where misses are, summed as a reader asks for it: by source line, by function, by data
 * object. At several cache sizes at once.
 *
 * A line is the innermost one that the reader wrote (not one of the system's headers): what was inlined or
 * instantiated several times is one line. Code without lines is told by its function; the loader's, the C
 * library's and other code of the system by its module, since nobody changes it.
 */
#ifndef FATHOM_VIEW_MISS_TABLE_H
#define FATHOM_VIEW_MISS_TABLE_H

#include <fathom/attribution.h>
#include <fathom/model.h>
#include <fathom/profile.h>
#include <fathom/view.h>

#include "profile/attribution/pair_errors.h"

/*
 * ======== cache fit ========
 * One cache under one profile, computed once for the terminal, JSON and the report.
 */

typedef struct fm_cache_fit {
    uint64_t blocks; /* of the profile, that the cache holds */
    uint64_t sets;
    fm_misses misses;
    double ratio;    /* fully associative */
    bool estimated;  /* estimate is there */
    bool other_line; /* no estimate because the cache's line is not the profile's block */
    double estimate; /* set-associative miss ratio */
    bool has_band;   /* the profile says between which limits the fully associative ratio lies */
    double least, most;
} fm_cache_fit;

fm_cache_fit fm_cache_fit_make(const fm_profile *profile, const fm_cache *cache);

/*
 * ======== code lines ========
 * Sites joined into lines of code. A line is told apart by function, file and line number, and
 * by the functions it was inlined into: std::vector's operator[] in two lines of a program is two lines. Call
 * paths are not told apart, nor what a reader is not shown: what lies inside or between the system's headers.
 * A site without a line number is a line of its own. Code of the system's modules is told by its function.
 */

typedef struct fm_code_lines {
    size_t count;
    uint32_t *of_site; /* the line of each site */
    uint32_t *site;    /* one site of each line */
} fm_code_lines;

fm_status fm_code_lines_make(fm_code_lines *lines, const fm_attribution *of, fm_error *error);
void fm_code_lines_clear(fm_code_lines *lines);

/* The function of code in one of the system's modules (*module), which is all that is told of it; NULL: it is
 * not there, or its function is not known. */
const char *fm_code_system_function(const fm_attribution *of, const fm_site *site, const char **module);

/* FM_NONE stays FM_NONE. */
static inline uint32_t fm_code_line(const fm_code_lines *lines, uint32_t site)
{
    return site == FM_NONE ? FM_NONE : lines->of_site[site];
}

/* ======== code groups ======== */

typedef enum fm_group_kind {
    FM_GROUP_LINE,     /* file, line; and a function that it is in */
    FM_GROUP_FUNCTION, /* function; its module where no line is known */
    FM_GROUP_MODULE,   /* module */
    FM_GROUP_OBJECT,   /* name */
    FM_GROUP_UNKNOWN,  /* code that nothing is known of */
} fm_group_kind;

typedef struct fm_code_group {
    fm_group_kind kind;
    uint32_t line;    /* 0: not known */
    const char *file; /* texts are the attribution's; NULL: not known */
    const char *function;
    const char *module;  /* path */
    const char *name;    /* of an object */
    uint32_t number;     /* among all, in the order of their first sites */
    uint64_t references; /* 0 for objects, which are counted where references are late */
    uint64_t cold;       /* first touches */
    double *misses;      /* at each level, first touches included */
    /* Late uses in all, as far as something is known about them. Where they are estimated: their standard
     * error (of lines and functions at most that), and what they rest on (of these at least). */
    double uses, error;
    uint64_t samples;
} fm_code_group;

typedef struct fm_code_groups {
    const fm_attribution *of;
    fm_by by;
    size_t level_count;
    uint64_t *blocks; /* of each level's cache */
    size_t count;
    fm_code_group *groups; /* by their numbers */
    uint32_t *of_site;     /* number of the group of each site; NULL for objects */
    double *sums;          /* the groups' misses */
    struct fm_arena *texts;
} fm_code_groups;

/* The attribution is sound, and lives on. */
fm_status fm_code_groups_make(fm_code_groups *groups, const fm_attribution *of, fm_by by,
                              const uint64_t *blocks, size_t level_count, fm_error *error);
/* Their numbers, those with the most misses at a level first. order has room for all. */
fm_status fm_code_groups_order(const fm_code_groups *groups, size_t level, uint32_t *order, fm_error *error);
void fm_code_groups_clear(fm_code_groups *groups);

/* "blur.c:25", "memcpy in prog", "libc.so.6", "heap block from main (x.c:3)": files without their folders. */
char *fm_code_group_text(const fm_code_group *group, char *buffer, size_t size);

/*
 * ======== late pairs ========
 * Which pairs of lines re-use data too late for a cache, the largest first: what the
 * terminal's list shows, without any text. A first touch is no re-use: it is counted apart.
 */

typedef struct fm_late_pair {
    uint32_t use, reuse; /* lines; use FM_NONE: not known */
    double late;         /* re-uses that miss; more than 0 */
    uint64_t reuses;     /* all of them */
    fm_error_sum sure;   /* samples 0: exact, or not known */
    uint32_t number;     /* before sorting */
} fm_late_pair;

/* One pair of sites of a pair of lines. */
typedef struct fm_late_member {
    uint32_t rank, pair;
} fm_late_member;

/* What is missed on at a line. */
typedef struct fm_late_object {
    uint32_t line, object;
    double late;
} fm_late_object;

typedef struct fm_late_pairs {
    const fm_attribution *of;
    uint64_t blocks; /* of the cache */
    fm_code_lines lines;
    double late;        /* of all pairs */
    uint64_t cold;      /* first touches */
    uint32_t cold_line; /* where most of them are; FM_NONE: there are none */
    uint64_t cold_most; /* how many there */
    size_t count;       /* pairs of lines that are late at all */
    fm_late_pair *pairs;
    size_t top; /* of these, the largest `top` have members and objects */
    size_t member_count, object_count;
    fm_late_member *members; /* by rank */
    fm_late_object *objects; /* by line, then the largest first */
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

/* The objects missed on at a line, the largest first. Returns how many; 0 where nothing is known. all: the
 * sum. */
size_t fm_late_pairs_objects(const fm_late_pairs *late, uint32_t line, const fm_late_object **objects,
                             double *all);

/*
 * ======== verdict sentence ========
 * What a profile covers, in a sentence or two: the head of the first screen.
 */

/* "blur exited with 0: 54.9 M references to 48 MiB, every one seen, exact", and a line for each thing that
 * limits it: what is missing, what is estimated, notes. */
void fm_verdict_sentence(FILE *out, const fm_profile *profile, const fm_view_options *options);

/*
 * ======== places ========
 */

/* The frame that a reader knows: the innermost one that is not in the system's headers. 0 where all are. */
size_t fm_place_own_frame(const fm_site *site);
/* Headers of compilers and systems: code that a user did not write. */
bool fm_place_is_system(const char *file);
/* Modules of the system: its libraries, the loader. */
bool fm_module_is_system(const char *path);

#endif
