/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - profiles for people and for other programs: terminal, CSV, JSON, HTML.
 *
 * Everything writes to a FILE that the caller opened; the caller checks it (ferror, fclose) and may
 * pass an open_memstream. Text is UTF-8 when options.unicode is set, else plain ASCII.
 */
#ifndef FATHOM_VIEW_H
#define FATHOM_VIEW_H

#include <fathom/model.h>
#include <fathom/profile.h>
#include <fathom/status.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fm_view_options {
    unsigned width; /* columns of the terminal; 0: 80 */
    bool unicode;
    bool colour;
} fm_view_options;

/* The counts, then a bar for each power of two of distance, with its cumulative share. */
FM_API void fm_view_histogram(FILE *out, const fm_profile *profile, const fm_view_options *options);
/* Miss ratios at the given caches: fully associative, and the set-associative estimate where ways are known.
 */
FM_API void fm_view_caches(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                           const fm_view_options *options);
/* The miss-ratio curve as a plot, log-scaled sizes. */
FM_API fm_status fm_view_curve(FILE *out, const fm_profile *profile, const fm_view_options *options,
                               fm_error *error);
FM_API fm_status fm_view_curve_csv(FILE *out, const fm_profile *profile, fm_error *error);
FM_API fm_status fm_view_curve_json(FILE *out, const fm_profile *profile, const fm_cache *caches,
                                    size_t count, fm_error *error);
FM_API void fm_view_comparison(FILE *out, const fm_comparison *comparison, const char *name_a,
                               const char *name_b);
FM_API void fm_view_comparison_json(FILE *out, const fm_comparison *comparison, const char *name_a,
                                    const char *name_b);

/* One self-contained HTML page; title may be NULL. FM_E_UNSUPPORTED where the build had no npm to fetch the
 * plotting library. */
FM_API bool fm_report_available(void);
FM_API fm_status fm_report_write(FILE *out, const char *title, const fm_profile *const *profiles,
                                 size_t count, const fm_cache *caches, size_t cache_count, fm_error *error);

#ifdef __cplusplus
}
#endif
#endif
