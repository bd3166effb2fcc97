/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_groups.h - where misses are, summed as a reader asks for it: by source line, by function, by data
 * object. At several cache sizes at once.
 *
 * A line is the innermost one that the reader wrote (not one of the system's headers): what was inlined or
 * instantiated several times is one line. Code without lines is told by its function; the loader's, the C
 * library's and other code of the system by its module, since nobody changes it.
 */
#ifndef FATHOM_VIEW_CODE_GROUPS_H
#define FATHOM_VIEW_CODE_GROUPS_H

#include <fathom/view.h>

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

#endif
