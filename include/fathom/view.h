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
    bool notes_shown; /* the reader has the run's notes already: they are left out */
    uint8_t unused;   /* 0: so that there is no padding at the end */
} fm_view_options;

/*
 * Text from outside (a name, a note) so that a terminal can show it: control characters and what is no UTF-8
 * as \x1b, characters that reorder others or are not seen as <U+202E>. Everything that views write is so
 * already. NULL is "(unnamed)".
 */
FM_SIZED(void, fm_view_text, fm_view_options, (FILE *out, const char *text, const fm_view_options *options),
         (out, text, options));
/* The same into a buffer, which it returns, cut where it is full (four times as many bytes as the text has,
 * and one, are enough). lines: newlines and tabs stay. */
FM_API char *fm_visible_text(const char *text, bool lines, char *buffer, size_t size);

/* The counts, then a bar for each power of two of distance, with its cumulative share. */
FM_SIZED(void, fm_view_histogram, fm_view_options,
         (FILE *out, const fm_profile *profile, const fm_view_options *options), (out, profile, options));
/* Miss ratios at the given caches: fully associative, and the set-associative estimate where ways are known.
 */
FM_SIZED(void, fm_view_caches, fm_view_options,
         (FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
          const fm_view_options *options),
         (out, profile, caches, count, options));
/* The least times on a machine, nest by nest (profile->bounds); nothing where there are none. */
FM_SIZED(void, fm_view_bounds, fm_view_options,
         (FILE *out, const fm_profile *profile, const fm_view_options *options), (out, profile, options));

/* What was seen of a sampled run (profile->sampling), and what it cost: above the verdict. */
typedef struct fm_sampled_facts {
    double seconds;    /* of the run */
    double share;      /* of the processor time that sampling took */
    const char *clock; /* "software clock", … */
    uint64_t threads;
    double received; /* processor time that fathom itself took meanwhile, as a share of the program's */
} fm_sampled_facts;
FM_SIZED_BY(void, fm_view_sampled, (size_t, size_t), (sizeof(fm_sampled_facts), sizeof(fm_view_options)),
            (FILE *out, const fm_profile *profile, const fm_sampled_facts *facts,
             const fm_view_options *options),
            (out, profile, facts, options));
/* How long sampled accesses took, and where their data came from, for the lines that took the most time.
 * Nothing where the processor did not tell (fm_attribution.latencies). */
FM_SIZED(void, fm_view_latencies, fm_view_options,
         (FILE *out, const fm_attribution *attribution, size_t most, const fm_view_options *options),
         (out, attribution, most, options));
/* The miss-ratio curve as a plot, log-scaled sizes. */
FM_SIZED(fm_status, fm_view_curve, fm_view_options,
         (FILE *out, const fm_profile *profile, const fm_view_options *options, fm_error *error),
         (out, profile, options, error));
/* Several curves in one plot, A, B, C … (at most 8), then their miss ratios at the caches. names: one each.
 * The profiles are all of keys, or none is. */
FM_SIZED(fm_status, fm_view_curves, fm_view_options,
         (FILE *out, const fm_profile *const *profiles, const char *const *names, size_t count,
          const fm_cache *caches, size_t cache_count, const fm_view_options *options, fm_error *error),
         (out, profiles, names, count, caches, cache_count, options, error));
FM_API fm_status fm_view_curve_csv(FILE *out, const fm_profile *profile, fm_error *error);
FM_API fm_status fm_view_curve_json(FILE *out, const fm_profile *profile, const fm_cache *caches,
                                    size_t count, fm_error *error);
FM_SIZED(void, fm_view_comparison, fm_comparison,
         (FILE *out, const fm_comparison *comparison, const char *name_a, const char *name_b),
         (out, comparison, name_a, name_b));
FM_SIZED(void, fm_view_comparison_json, fm_comparison,
         (FILE *out, const fm_comparison *comparison, const char *name_a, const char *name_b),
         (out, comparison, name_a, name_b));

/* The parts of a run, its processes and threads as a tree: counts, and miss ratios at the caches (as many as
 * the width has room for). Nothing where there are no parts. */
FM_SIZED(void, fm_view_parts, fm_view_options,
         (FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
          const fm_view_options *options),
         (out, profile, caches, count, options));

/* What misses are summed up by. */
typedef enum fm_by { FM_BY_LINE = 0, FM_BY_FUNCTION = 1, FM_BY_OBJECT = 2 } fm_by;

/*
 * The first screen: what was looked at in one sentence, misses at every cache, and the code (or the data)
 * that they are at, as far as the profile knows it: at most `most` lines, functions or objects, with their
 * misses at each cache. The list is by the misses at the first cache at which 0.1 % of the references are
 * late, else at the first of all; fm_verdict_level says which that is.
 */
FM_SIZED(fm_status, fm_view_verdict, fm_view_options,
         (FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count, fm_by by, size_t most,
          const fm_view_options *options, fm_error *error),
         (out, profile, caches, count, by, most, options, error));

/* The lines of code that re-use data too late: pairs joined by source line (by site where no line is known),
 * by their misses at a cache of `bytes` (name: what it is called), the `most` largest, with the objects they
 * miss on. Ends early where 99 % of the late re-uses are shown and what is left is below 0.1 % of the misses
 * each. */
FM_SIZED(fm_status, fm_view_pairs, fm_view_options,
         (FILE *out, const fm_profile *profile, const fm_cache *cache, size_t most,
          const fm_view_options *options, fm_error *error),
         (out, profile, cache, most, options, error));
/* Every pair: sites, counts, misses at each of the caches. One line each, with a header line (RFC 4180). */
FM_API fm_status fm_view_pairs_csv(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                                   fm_error *error);
/* For callgrind_annotate and KCachegrind: events Refs, MissL1, MissL2, MissLL (at the first, second and last
 * of the caches) for every source line that re-uses data. */
FM_API fm_status fm_view_callgrind(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                                   fm_error *error);

/* One self-contained HTML page; title may be NULL. FM_E_UNSUPPORTED in a build with FATHOM_REPORT=OFF. */
FM_API bool fm_report_available(void);
FM_API fm_status fm_report_write(FILE *out, const char *title, const fm_profile *const *profiles,
                                 size_t count, const fm_cache *caches, size_t cache_count, fm_error *error);
/*
 * The same, with a choice. Where a profile has an attribution, the page shows the source lines it points to:
 * the text that is in the profile, or that of files which have the checksum in it (fm_source). Files that
 * have changed, and files of which a profile knows no checksum, are not shown.
 */
typedef struct fm_report_options {
    const char *title;                 /* NULL: a general one */
    bool no_source;                    /* read no source files */
    const char *const *source_folders; /* where they are looked for first, by the end of their paths */
    size_t source_folder_count;
    FILE *notes; /* NULL, or gets a line that says of how many files there is no text, and why */
} fm_report_options;
FM_SIZED(fm_status, fm_report_write_page, fm_report_options,
         (FILE *out, const fm_report_options *options, const fm_profile *const *profiles, size_t count,
          const fm_cache *caches, size_t cache_count, fm_error *error),
         (out, options, profiles, count, caches, cache_count, error));

#ifdef __cplusplus
}
#endif
#endif
