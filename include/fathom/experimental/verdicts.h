/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdicts.h - what the first screen and a comparison rest on (view.h, diff.h), for whoever draws them anew.
 */
#ifndef FATHOM_EXPERIMENTAL_VERDICTS_H
#define FATHOM_EXPERIMENTAL_VERDICTS_H

#include <fathom/diff.h>
#include <fathom/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The cache whose misses fm_view_verdict lists code by: its number among these. */
FM_API size_t fm_verdict_level(const fm_profile *profile, const fm_cache *caches, size_t count);

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

#ifdef __cplusplus
}
#endif
#endif
