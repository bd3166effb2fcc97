/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribution_output.h - which code re-uses data too late, as the verbs show it: options, cache sizes,
 * symbols, files for other tools, the table on the terminal. Shared by analyze, run and report.
 *
 * The order of things:
 *
 *     cli_parse, cli_attribution_check          the options make sense
 *     cli_attribution_find_caches               sizes that the user or this machine names
 *     cli_attribution_edges                     -> fm_analyzer_options.edges; feed batches with tags
 *     fm_analyzer_pairs, cli_attribution_attach pairs and sites, with symbols, become profile->attribution
 *     cli_attribution_record_sources            checksums of the source files
 *     cli_profiles_check                        nothing is shown that cannot be true
 *     cli_attribution_keep_caches               what it was asked about, in the profile
 *     fm_profile_write                          (the verb's own --json)
 *     cli_attribution_write                     --callgrind, --csv
 *     cli_attribution_show                      the first screen, for people
 *
 * All functions that return an int return -1 to go on, or an exit code after a message.
 */
#ifndef FATHOM_CLI_ATTRIBUTION_OUTPUT_H
#define FATHOM_CLI_ATTRIBUTION_OUTPUT_H

#include "cli.h"

/* The caches of which misses are shown; 32 make at most 128 edges. */
enum { CLI_MOST_CACHES = 32, CLI_MOST_EDGES = 128 };

typedef struct cli_attribution_options {
    bool no_sites, embed_source;
    const char *callgrind, *csv;
    const char *sizes;
    const char *by; /* NULL: lines */
    bool pairs, histogram;
    uint64_t top; /* to be set to CLI_TOP before options are parsed */
} cli_attribution_options;

/* To be put into a verb's table of options; --no-sites (and --sites, where there is one) is the verb's own.
 */
#define CLI_ATTRIBUTION_OPTIONS(a)                                                                           \
    {"callgrind", CLI_TO(&(a)->callgrind)}, {"csv", CLI_TO(&(a)->csv)}, {"size", CLI_TO(&(a)->sizes)},       \
        {"embed-source", CLI_TO(&(a)->embed_source)}, CLI_SCREEN_OPTIONS(a)

/* What is shown at the end. */
#define CLI_SCREEN_OPTIONS(a)                                                                                \
    {"by", CLI_TO(&(a)->by)}, {"pairs", CLI_TO(&(a)->pairs)}, {"histogram", CLI_TO(&(a)->histogram)},        \
    {                                                                                                        \
        "top", CLI_TO(&(a)->top)                                                                             \
    }

/* Tries whether results can be written there, before anything takes its time: paths may be NULL or "-". A
 * file that is there stays as it is; pipes and devices are not touched. */
int cli_try_outputs(const char *const *paths, size_t count);
/* --by: line where nothing is given. */
int cli_parse_by(const char *text, fm_by *by);
/* --source: folders separated by colons, as in PATH; text is cut up. */
int cli_split_folders(char *text, const char **folders, size_t most, size_t *count);

/* Wrong combinations: files asked for with --no-sites, several results on standard output (json is the verb's
 * --json, or NULL), text for a profile that is not written. */
int cli_attribution_check(const cli_attribution_options *options, const char *json);
/* Whether a file of these goes to standard output, which then has room for nothing else. */
bool cli_attribution_takes_stdout(const cli_attribution_options *options);

/* Sizes named by --size, in the order they are named; else the caches of this machine, smallest first (none
 * and a note where they cannot be read). */
typedef struct cli_attribution_caches {
    fm_cache caches[CLI_MOST_CACHES];
    size_t count;
} cli_attribution_caches;
/* The list of --size as at most CLI_MOST_CACHES caches. zero_is_fine: a size of 0 will be looked at again,
 * when blocks are known. */
int cli_parse_sizes(const char *list, fm_cache *caches, size_t *count, bool zero_is_fine);
int cli_attribution_find_caches(const cli_attribution_options *options, cli_attribution_caches *found);

/* For fm_analyzer_options: where ranges of distances are cut. Returns how many. */
size_t cli_attribution_edges(const cli_attribution_caches *found, uint64_t granularity,
                             uint64_t edges[CLI_MOST_EDGES]);

/* The range from which on references are late: what misses the smallest of the caches is. */
size_t cli_attribution_late_range(const cli_attribution_caches *found, uint64_t granularity,
                                  const uint64_t *edges, size_t edge_count);

/* Adds modules and sites to an attribution that has its edges, and says which site each tag is:
 * fm_collection_describe and fm_site_index_describe, with their own context. */
typedef fm_status (*cli_attribution_describe)(void *context, fm_attribution *attribution,
                                              const uint32_t **map, size_t *map_count, fm_error *error);

/*
 * Makes profile->attribution: edges, sites, pairs, symbols. edges and late_from (a distance in blocks; 0
 * where no objects are counted) are those that the analyzer was given. What is to be said about modules
 * without debug information goes to standard error, unless quiet_symbols is set (for the second profile of
 * the same run).
 */
int cli_attribution_attach(fm_profile *profile, const fm_raw_pair *pairs, size_t pair_count,
                           const uint64_t *edges, size_t edge_count, uint64_t late_from,
                           cli_attribution_describe describe, void *context, bool quiet_symbols);

/* What the source files of a profile are now, for whoever shows its lines later; with --embed-source their
 * text. Of its parts only where it has no attribution itself. */
int cli_attribution_record_sources(const cli_attribution_options *options, fm_profile *profile);

/* The HTML page of profiles; "-" is standard output. */
int cli_write_page(const char *path, const fm_report_options *page, const fm_profile *const *profiles,
                   size_t count, const cli_attribution_caches *found);

/* --callgrind and --csv, where asked for. The profile has an attribution. */
int cli_attribution_write(const cli_attribution_options *options, const fm_profile *profile,
                          const cli_attribution_caches *found);

/* Whether what was made can be true (fm_profile_check), before anything of it is shown. -1, or an exit code
 * after a message. */
int cli_profiles_check(fm_profile *const *profiles, size_t count);
/* Keeps them in each profile: whoever shows it later shows it at these. -1, or an exit code. */
int cli_attribution_keep_caches(const cli_attribution_caches *found, fm_profile *const *profiles,
                                size_t count);
/* Those that profiles were asked about; where none was, those of this machine. */
int cli_attribution_stored_caches(const cli_attribution_options *options, const fm_profile *const *profiles,
                                  size_t count, cli_attribution_caches *found);

/*
 * The first screen: what is wrong at every cache, and the lines (functions, objects) that do it. --histogram
 * and
 * --pairs add theirs below. Profiles that know neither code nor program (traces of keys) are shown as
 * histograms. The first of the profiles is the one with the code. also: what else one can ask, a line or two;
 * or NULL.
 */
int cli_attribution_show(FILE *out, const fm_view_options *view, const cli_attribution_options *options,
                         const fm_profile *const *profiles, size_t count, const cli_attribution_caches *found,
                         const char *also);

#endif
