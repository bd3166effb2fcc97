/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - two profiles of one program, before and after a change: what got better, what got worse.
 *
 * Misses at each cache, references, and the same by line, function and data object. Lines are matched through
 * the edit, as diff(1) does, by the checksums of lines that profiles have; functions and objects by their
 * names.
 *
 * fm_diff_create, then fm_diff_condition for each condition, then the views.
 */
#ifndef FATHOM_DIFF_H
#define FATHOM_DIFF_H

#include <fathom/profile.h>
#include <fathom/status.h>
#include <fathom/view.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fm_diff fm_diff;

typedef struct fm_diff_options {
    const fm_cache *caches; /* at which misses are compared; at least one, at most 32. Copied */
    size_t cache_count;
    const char *name_before,
        *name_after;                   /* for people: the files that were read. NULL: the profiles' names */
    const char *const *source_folders; /* as in fm_report_options; for the page */
    size_t source_folder_count;
    const char *allowed; /* "end,incomplete": reasons that do not keep the two from being compared, of those
                            that fm_diff_incomparable tells. NULL: all of them do */
} fm_diff_options;

/* The profiles live on. FM_E_ARGUMENT where their granularities differ, there is no cache, or a reason that
 * is allowed is none of these. */
FM_SIZED(fm_status, fm_diff_create, fm_diff_options,
         (fm_diff **diff, const fm_profile *before, const fm_profile *after, const fm_diff_options *options,
          fm_error *error),
         (diff, before, after, options, error));
FM_API void fm_diff_destroy(fm_diff *diff); /* NULL is fine */

/*
 * Whether a condition holds, for those that are to fail when something gets worse. Conditions are kept, and
 * shown by the views below.
 *
 *     METRIC[@CACHE] [in FUNCTION] OP VALUE
 *
 * METRIC: misses, late (misses that are no first touches), ratio (misses of references; both at a cache, by
 * its name or size), references. OP: >, >=, <, <=. VALUE: +5% or -5% is a change against before, +1000 a
 * change in numbers, 1000 (of ratio: 2%) what it is after. FUNCTION *: any of them. A change that is within
 * the bands of sampled profiles is none. FM_E_ARGUMENT: the condition cannot be understood, or names what is
 * not there.
 */
FM_API fm_status fm_diff_condition(fm_diff *diff, const char *text, bool *holds, fm_error *error);

/* The verdict, the caches, and the `most` largest changes by lines, functions or objects. */
FM_SIZED(void, fm_view_diff, fm_view_options,
         (FILE *out, const fm_diff *diff, fm_by by, size_t most, const fm_view_options *options),
         (out, diff, by, most, options));
/* The same as Markdown, for a comment on a change; and all of it as JSON (docs/PROFILE.md). */
FM_API void fm_view_diff_markdown(FILE *out, const fm_diff *diff, fm_by by, size_t most);
FM_API void fm_view_diff_json(FILE *out, const fm_diff *diff);
/* A page: the report of both, and before it the same, with the two sources side by side. FM_E_UNSUPPORTED in
 * a build with FATHOM_REPORT=OFF. */
FM_API fm_status fm_view_diff_page(FILE *out, const fm_diff *diff, const char *title, fm_error *error);

#ifdef __cplusplus
}
#endif
#endif
