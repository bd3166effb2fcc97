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
FM_API fm_status fm_diff_create_sized(fm_diff **diff, const fm_profile *before, const fm_profile *after,
                                      const fm_diff_options *options, size_t options_size, fm_error *error);
static inline fm_status fm_diff_create(fm_diff **diff, const fm_profile *before, const fm_profile *after,
                                       const fm_diff_options *options, fm_error *error)
{
    return fm_diff_create_sized(diff, before, after, options, sizeof *options, error);
}
FM_API void fm_diff_destroy(fm_diff *diff); /* NULL is fine */

/*
 * Why the two cannot be compared, one after the other; false: there is no reason of that number. Where there
 * is one, the views say so instead of better or worse, and every condition holds. kind and text may be NULL.
 *
 *     end         the program ended in another way: exit status, signal
 *     incomplete  one is a profile of a part of its input
 *     empty       one has no references
 *     watched     other references were asked for: a function, a region, loads, a limit
 *     collector   other ways of collecting, which see other code: valgrind, compiler, sampling, source code
 *     engine      one is exact or has a band, and the other is an approximation that promises nothing
 */
FM_API bool fm_diff_incomparable(const fm_diff *diff, size_t number, const char **kind, char *text,
                                 size_t size);

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
FM_API void fm_view_diff_sized(FILE *out, const fm_diff *diff, fm_by by, size_t most,
                               const fm_view_options *options, size_t options_size);
static inline void fm_view_diff(FILE *out, const fm_diff *diff, fm_by by, size_t most,
                                const fm_view_options *options)
{
    fm_view_diff_sized(out, diff, by, most, options, sizeof *options);
}
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
