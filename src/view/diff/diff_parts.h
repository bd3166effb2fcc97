/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_parts.h - what two profiles differ in, for the views of it (fathom/diff.h). Internal.
 *
 * diff.c fills it in, says whether the two may be compared, and all of it in sentences; diff_match.c finds
 * what belongs together; diff_condition.c judges; diff_views.c (terminal, Markdown, JSON) and diff_page.c
 * show it.
 */
#ifndef FATHOM_VIEW_DIFF_DIFF_PARTS_H
#define FATHOM_VIEW_DIFF_DIFF_PARTS_H

#include <fathom/experimental/verdicts.h>
#include <fathom/status.h>

#include "view/miss_table.h"

#include <stddef.h>
#include <stdint.h>

/*
 * ======== line match ========
 * Which line of a file is which line of its later state, as diff(1) finds it: by Myers' greedy
 * algorithm (E. W. Myers, "An O(ND) difference algorithm and its variations", 1986) on checksums of lines.
 * Time and space: lines × differences, at most MOST_DIFFERENCES of them.
 */

typedef struct fm_line_match {
    size_t before_count, after_count; /* lines */
    uint32_t *to_after;               /* by line from 0: the line it became; UINT32_MAX: none */
    uint32_t *to_before;
    bool given_up; /* the two differ too much: only their beginnings and ends are matched */
} fm_line_match;

/*
 * Lines are matched where they are equal; and where as many lines in a row were taken out as put in, those
 * are matched in their order: they are lines that were changed.
 */
fm_status fm_line_match_make(fm_line_match *match, const uint32_t *before, size_t before_count,
                             const uint32_t *after, size_t after_count, fm_error *error);
void fm_line_match_clear(fm_line_match *match);

/* ======== diff parts ======== */

enum { FM_DIFF_LEVELS = 32, FM_DIFF_TABLES = 3 };

typedef enum fm_change { FM_CHANGE_NONE, FM_CHANGE_BETTER, FM_CHANGE_WORSE } fm_change;

/* A file of before and what it is after. */
typedef struct fm_file_match {
    const char *before, *after; /* paths; either may be NULL: it is on one side only */
    bool by_number;             /* nobody knows their lines: they are taken to be the same */
    bool named;                 /* rows are about it */
    bool same;                  /* they are the same file, by their checksums */
    fm_line_match lines;        /* where neither */
} fm_file_match;

/* A line, function or object on both sides. */
typedef struct fm_diff_row {
    const fm_miss_row *before, *after; /* NULL: not there */
    double change;                     /* of the misses at the judged level */
    fm_change what;                    /* whether that counts for something */
} fm_diff_row;

typedef struct fm_diff_table {
    fm_miss_table sides[2];
    size_t count;
    fm_diff_row *rows; /* the largest change first */
} fm_diff_table;

typedef struct fm_diff_condition_result {
    char *text;
    char met_by[300]; /* what was compared: "misses@L2 +7.3 %"; with the function where any would do */
    bool holds;
} fm_diff_condition_result;

/* Why the two cannot be compared. */
typedef enum fm_diff_reason_kind {
    FM_DIFF_END,        /* the program ended in another way */
    FM_DIFF_INCOMPLETE, /* a profile is of a part of its input */
    FM_DIFF_EMPTY,      /* a profile has no references */
    FM_DIFF_WATCHED,    /* other references were asked for */
    FM_DIFF_COLLECTOR,  /* collected in another way */
    FM_DIFF_ENGINE,     /* exact, and an approximation that promises nothing */
    FM_DIFF_REASONS,    /* how many kinds there are */
} fm_diff_reason_kind;
typedef struct fm_diff_reason {
    fm_diff_reason_kind kind;
    char text[600];
} fm_diff_reason;

struct fm_diff {
    const fm_profile *profile[2]; /* before, after */
    char *names[2];
    size_t level_count;
    fm_cache caches[FM_DIFF_LEVELS];
    fm_cache_fit fits[2][FM_DIFF_LEVELS];
    fm_change change[FM_DIFF_LEVELS];     /* of the misses there */
    bool within[FM_DIFF_LEVELS];          /* the difference is within the bands of the two */
    size_t judged;                        /* the level that rows are about */
    bool coded;                           /* both know their code: there are tables */
    fm_diff_table tables[FM_DIFF_TABLES]; /* by fm_by */
    size_t file_count;
    fm_file_match *files;
    const char **source_folders; /* the caller's */
    size_t source_folder_count;
    bool allowed[FM_DIFF_REASONS]; /* kinds of reasons that are none here */
    size_t reason_count;
    fm_diff_reason reasons[FM_DIFF_REASONS]; /* at most one of each kind */
    size_t condition_count;
    fm_diff_condition_result *conditions;
};

/* Misses of one side of a row; 0 where it is not there. */
static inline double fm_diff_misses(const fm_miss_row *group, size_t level)
{
    return group ? group->misses[level] : 0;
}

/* Whether numbers of before and after differ by enough to be told: 0.5 % of the larger. */
bool fm_diff_counts(double before, double after);

const char *fm_diff_reason_name(fm_diff_reason_kind kind);
/* There is no reason, but for those that are allowed. */
bool fm_diff_is_comparable(const fm_diff *diff);

/* Which file is which, and their lines. */
fm_status fm_diff_match_files(fm_diff *diff, fm_error *error);
/* Rows of a table, from groups that are made. */
fm_status fm_diff_match_rows(fm_diff *diff, fm_by by, fm_error *error);

/* "better: 5.76 M fewer misses in L1d (9.16 M -> 3.40 M, -63 %); L2, L3 unchanged" */
void fm_diff_sentence(const fm_diff *diff, char *text, size_t size);
/* What became of the references, and of the misses per reference: with what that means. */
void fm_diff_references(const fm_diff *diff, char *text, size_t size);
/* better, worse, mixed, same, not comparable */
const char *fm_diff_verdict(const fm_diff *diff);
/* What limits it, one after the other; false: there is none of that number. */
bool fm_diff_note(const fm_diff *diff, size_t number, char *text, size_t size);
/* "+63 %", "-0.4 %", "new", "gone" */
void fm_diff_percent(double before, double after, char *text, size_t size);

#endif
