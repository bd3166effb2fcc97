/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static.h - profiles out of source code, without running it.
 *
 * A *region* is a piece of a program: loops, guards, statements and the arrays that they touch. It is read
 * from C, C++ or Fortran, or from its text form (docs/STATIC-IR.md). Its bounds and subscripts are affine:
 * sums of variables and parameters with whole factors, and their quotients by numbers. What is not is
 * refused, with its place.
 *
 *     fm_error error;
 *     fm_region *region;
 *     fm_profile *profile;
 *     fm_static_options options = {.granularity = 64};
 *     fm_status status = fm_region_open(&region, "kernel.c", NULL, &error);
 *     if (status == FM_OK) status = fm_region_set_parameter(region, "n", 1000, &error);
 *     if (status == FM_OK) status = fm_region_profile(region, &options, &profile, &error);
 *     fm_region_destroy(region);
 */
#ifndef FATHOM_STATIC_H
#define FATHOM_STATIC_H

#include <fathom/profile.h>
#include <fathom/status.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fm_region fm_region;

/* Where a region is in a source file. */
typedef struct fm_region_options {
    const char *language; /* NULL: by the name's ending; "c", "c++", "fortran", "fir" */
    const char *function; /* the region is this function's body; NULL: between the pragmas, or the only one */
    const char *const *flags;       /* for the compiler that reads the source; NULL at the end */
    bool scalars;                   /* scalar variables are in memory: their loads and stores count */
    const char *const *assumptions; /* what the program cannot know (docs/STATIC.md); NULL at the end */
    /* Limits of the process that reads C or C++ with libclang: FM_E_LIMIT where it needs more. */
    double most_seconds;  /* on the clock; 0: 60 */
    uint64_t most_memory; /* bytes; 0: 4 GiB, or three quarters of what is free where that is less */
} fm_region_options;

FM_SIZED(fm_status, fm_region_open, fm_region_options,
         (fm_region **region, const char *path, const fm_region_options *options, fm_error *error),
         (region, path, options, error));
FM_API void fm_region_destroy(fm_region *region); /* NULL is fine */
/* Its text form. */
FM_API fm_status fm_region_write(const fm_region *region, FILE *stream, fm_error *error);

/* Parameters, in the order in which the region declares them. */
FM_API size_t fm_region_parameter_count(const fm_region *region);
FM_API const char *fm_region_parameter_name(const fm_region *region, size_t index);
/* False: it is open. */
FM_API bool fm_region_parameter_value(const fm_region *region, size_t index, int64_t *value);
FM_API fm_status fm_region_set_parameter(fm_region *region, const char *name, int64_t value, fm_error *error);

FM_API const char *fm_region_name(const fm_region *region); /* the function's; NULL: none */
/* The source file and the lines of the region; false where they are not known. */
FM_API bool fm_region_lines(const fm_region *region, const char **file, uint32_t *first, uint32_t *last);
/* What is assumed, one sentence each; NULL behind the last. */
FM_API const char *fm_region_note(const fm_region *region, size_t index);

/*
 * How often the region does something. Texts are numbers where all parameters have values; else formulas of
 * the open ones, right where `condition` holds ("n >= 1 and m >= 0"; NULL: always).
 */
typedef struct fm_region_statement {
    const char *file; /* NULL: not known. The region's */
    uint32_t line;
    char *executions;
    uint64_t loads, stores, flops, integer_operations; /* of one execution */
} fm_region_statement;
typedef struct fm_region_counts {
    char *loads, *stores, *flops, *integer_operations;
    char *condition;
    size_t statement_count;
    fm_region_statement *statements; /* in the order of the text */
} fm_region_counts;
/* limit_seconds: for counting, where loops must be worked off; 0: none. FM_E_UNSUPPORTED: no formula was
 * found, with the place in the source. */
FM_API fm_status fm_region_count(const fm_region *region, double limit_seconds, fm_region_counts **counts,
                                 fm_error *error);
FM_API void fm_region_counts_destroy(fm_region_counts *counts); /* NULL is fine */

/* How arrays lie in memory. */
typedef enum fm_layout {
    FM_LAYOUT_CONTIGUOUS = 0, /* rows follow each other: as it really is */
    FM_LAYOUT_ALIGNED = 1,    /* every innermost row begins a new block: as other models have it */
} fm_layout;

/* Every access of the region, in order: addresses, bytes, and tags (the number of the access in the region's
 * text, from 1). At most 65536 at a time. */
typedef fm_status (*fm_region_visit)(void *context, const uint64_t *addresses, const uint32_t *sizes,
                                     const uint32_t *tags, size_t count, fm_error *error);
/*
 * Works the region off, statement by statement, as a program would: the judge of everything that is found
 * out without it. All parameters have values. granularity: of the blocks that arrays begin with.
 */
FM_API fm_status fm_region_walk(const fm_region *region, uint64_t granularity, fm_layout layout,
                                fm_region_visit visit, void *context, fm_error *error);
/*
 * Which lines re-use data too late, and of which array, where pairs of accesses were counted
 * (fm_analyzer_pairs, the tags being those of the walk). The arrays are the attribution's objects. edges,
 * late_from: as for fm_attribution_set_edges.
 */
FM_API fm_status fm_region_attribute(const fm_region *region, const fm_raw_pair *pairs, size_t pair_count,
                                     const uint64_t *edges, size_t edge_count, uint64_t late_from,
                                     fm_attribution **attribution, fm_error *error);

/*
 * What each loop that is in no other does (fm_machine_bound asks for it), and statements outside of loops, in
 * the order of the text. pairs: as above; edge_count: of the edges that they were counted with. FM_E_LIMIT:
 * counting takes longer than limit_seconds (0: no limit), or numbers go beyond 2^64.
 */
FM_API fm_status fm_region_nests(const fm_region *region, double limit_seconds, const fm_raw_pair *pairs,
                                 size_t pair_count, size_t edge_count, fm_nest **nests, size_t *count,
                                 fm_error *error);
FM_API void fm_nests_destroy(fm_nest *nests, size_t count); /* NULL is fine */

/*
 * Works all accesses of the region off (fm_region_walk) and analyses them as a program's references are: the
 * profile and the pairs of accesses (to be freed), by the granularity, layout, bins and edges of the options
 * that it is in. FM_E_LIMIT: it takes longer than limit_seconds. The library leaves it to its caller, since
 * this part of it knows no analyzers.
 */
typedef fm_status (*fm_region_walker)(void *context, double limit_seconds, fm_profile **profile,
                                      fm_raw_pair **pairs, size_t *pair_count, fm_error *error);

typedef struct fm_static_options {
    uint64_t granularity; /* power of two; 0: 64 */
    fm_layout layout;
    fm_bins bins;
    const uint64_t *edges; /* of the attribution, as for fm_attribution_set_edges; NULL: no attribution */
    size_t edge_count;
    uint64_t late_from;
    double limit_seconds; /* for an exact result; what is not found in time is sampled. 0: 60 */
    uint64_t samples;     /* accesses that are drawn where it is sampled; 0: 10,000 */
    uint64_t seed;
    const char *method; /* NULL: the surest that is done in time; or one of fm_static_method_at */
    /* Where not NULL: the pairs of accesses, as fm_analyzer_pairs has them; to be freed. Needs edges. */
    fm_raw_pair **pairs;
    size_t *pair_count;
    /* Above 1: distances are those within a set of a cache with so many sets (block number modulo sets), for
     * the addresses that fm_region_walk hands out. */
    uint64_t sets;
    /* Where not NULL, "walk" is a method, too: few accesses are worked off, since nothing is surer, and so
     * are more of them where there is no exact answer and the time allowed is enough. */
    fm_region_walker walk;
    void *walk_context;
    const fm_region_counts *counts; /* of the region: how many accesses are few; NULL: not known */
} fm_static_options;

/*
 * The profile of the region, by the surest method that is done in time. But for a walk, the time it takes
 * hardly depends on how often its loops run. All parameters have values. profile->kernel says how sure it is:
 * "exact" (counted, or walked over), "reconstructed, checked", or "sampled", with a band.
 */
FM_SIZED(fm_status, fm_region_profile, fm_static_options,
         (const fm_region *region, const fm_static_options *options, fm_profile **profile, fm_error *error),
         (region, options, profile, error));
/*
 * Misses of caches with sets (block number modulo sets) that replace in each set the block unused longest.
 * Exact for the addresses that the arrays have in fm_region_walk; others may have other conflicts. Of each
 * cache, name, sets, ways and line (0: the granularity) are given. Few accesses go through the caches one by
 * one; of more, the distances within a set are reconstructed or sampled. options: granularity, layout,
 * limit_seconds, samples, seed and method, which may also be "walk".
 */
FM_SIZED(fm_status, fm_region_set_misses, fm_static_options,
         (const fm_region *region, const fm_static_options *options, fm_set_misses *caches, size_t count,
          fm_error *error),
         (region, options, caches, count, error));
/* Where an array begins, and its name; by its number in the region's text. FM_E_ARGUMENT: there are fewer. */
FM_API fm_status fm_region_array_at(const fm_region *region, uint64_t granularity, fm_layout layout,
                                    size_t index, const char **name, uint64_t *address, fm_error *error);
/* The names of the methods and what each does; NULL behind the last. */
FM_API const char *fm_static_method_at(size_t index, const char **about);

/*
 * A copy of the region with changed loops: "interchange:i,j", "tile:i,j=32,8", "fuse:i", "distribute:i",
 * "pad:A=+8", several separated by ';' (docs/STATIC.md). Loops are named by their variables, "i@12" by their
 * line too, "i#2" is the second one over i. FM_E_ARGUMENT: there is no such loop, or several;
 * FM_E_UNSUPPORTED: it cannot be done, with the place and the reason. Whether the result still computes the
 * same is another question:
 */
FM_API fm_status fm_region_transform(const fm_region *region, const char *change, fm_region **changed,
                                     fm_error *error);
/*
 * Is the order of all accesses kept that depend on each other? Exact, for the values that the parameters
 * have. FM_E_UNSUPPORTED: no, and the reason names two of them; or it is not known within limit_seconds (0:
 * no limit). region: what `changed` was made from.
 */
FM_API fm_status fm_region_change_check(const fm_region *region, const fm_region *changed,
                                        double limit_seconds, fm_error *error);
/*
 * Changes that are worth a try: interchanges, distributions, fusions, tiles of 16, 32 and 64. One text behind
 * the other, each ended by a null character, an empty one at the end; to be freed. Not all of them can be
 * done or are legal.
 */
FM_API fm_status fm_region_suggest(const fm_region *region, char **changes, fm_error *error);

#ifdef __cplusplus
}
#endif
#endif
