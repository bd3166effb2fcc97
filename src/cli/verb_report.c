/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_report.c - fathom report: one self-contained HTML page from one or more profiles; and, where a profile
 * knows which code it comes from, files for other tools.
 *
 * Every profile of every file goes onto the page, in the order given.
 */
#include "results.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FOLDERS = 32 };

typedef struct report_options {
    const char *path, *title, *source;
    bool no_source, no_machine;
    cli_attribution_options attribution;
} report_options;

typedef struct gathered {
    fm_profile_list *files;
    size_t file_count;
    const fm_profile **profiles;
    size_t count;
} gathered;

static void gathered_clear(gathered *all)
{
    for (size_t i = 0; i < all->file_count; i++) fm_profile_list_clear(&all->files[i]);
    free(all->files);
    free(all->profiles);
}

/* -1, or an exit code after a message. *completeness becomes CLI_INCOMPLETE where a profile is. */
static int gather_profiles(gathered *all, char **paths, size_t count, int *completeness)
{
    all->files = calloc(count, sizeof *all->files);
    if (!all->files) return cli_out_of_memory();
    for (size_t i = 0; i < count; i++) {
        fm_error error;
        if (fm_profile_read(paths[i], &all->files[i], &error)) return cli_fail(&error);
        all->file_count++;
        all->count += all->files[i].count;
    }
    all->profiles = calloc(all->count, sizeof *all->profiles);
    if (!all->profiles) return cli_out_of_memory();
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < all->files[i].count; j++) {
            fm_profile *profile = all->files[i].profiles[j];
            if (!profile->name) profile->name = strdup(paths[i]);
            if (cli_profile_completeness(profile, paths[i])) *completeness = CLI_INCOMPLETE;
            all->profiles[at++] = profile;
        }
    return -1;
}

static int write_page(const gathered *all, const report_options *options, const fm_report_options *page,
                      const cli_caches *found)
{
    cli_notes notes;
    cli_notes_open(&notes);
    fm_report_options with_notes = *page;
    with_notes.notes = notes.stream;
    fm_error error;
    const fm_status status = fm_report_write_file(options->path, &with_notes, all->profiles, all->count,
                                                  found->caches, found->count, &error);
    const int code = status ? cli_fail(&error) : -1;
    cli_notes_close(&notes, code < 0);
    return code;
}

/* The page, where one is wanted. -1, or an exit code after a message. */
static int make_page(const gathered *all, const report_options *options, const cli_caches *found)
{
    if (!options->path) return -1;
    const char *folders[MOST_FOLDERS];
    fm_report_options page = {
        .title = options->title, .no_source = options->no_source, .source_folders = folders};
    char *text = options->source ? strdup(options->source) : NULL;
    if (options->source && !text) return cli_out_of_memory();
    int code = cli_split_folders(text, folders, MOST_FOLDERS, &page.source_folder_count);
    if (code < 0) code = write_page(all, options, &page, found);
    free(text);
    return code;
}

static int write_file(const char *path, fm_result_kind kind, const fm_profile *profile,
                      const cli_caches *found)
{
    fm_error error;
    if (!path) return -1;
    return fm_profile_result_write(path, kind, profile, found->caches, found->count, &error)
               ? cli_fail(&error)
               : -1;
}

/* --callgrind and --csv: of the first profile that knows its code. */
static int write_files(const gathered *all, const report_options *options, const char *path,
                       const cli_caches *found)
{
    if (!options->attribution.callgrind && !options->attribution.csv) return -1;
    for (size_t i = 0; i < all->count; i++)
        if (all->profiles[i]->attribution) {
            const int code =
                write_file(options->attribution.callgrind, FM_RESULT_CALLGRIND, all->profiles[i], found);
            return code < 0
                       ? write_file(options->attribution.csv, FM_RESULT_PAIRS_CSV, all->profiles[i], found)
                       : code;
        }
    cli_complain("%s does not say which code its references come from, so there is nothing for --%s: `fathom "
                 "run` makes profiles that do",
                 path, options->attribution.callgrind ? "callgrind" : "csv");
    return CLI_FAILED;
}

/* The first screen, where nothing is to be written. */
static int show_profiles(const gathered *all, const report_options *options, const cli_caches *found)
{
    const fm_view_options view = cli_view_options();
    fm_screen_options screen;
    fm_error error;
    int code = cli_screen(&options->attribution, NULL, &screen);
    for (size_t i = 0; i < all->file_count && code < 0; i++) {
        const fm_profile_list *file = &all->files[i];
        const fm_profile *profile = file->profiles[0];
        /* Keys of a storage trace do not live in this machine's caches. */
        const bool keys =
            profile->elements || (profile->granularity == 1 && !profile->run && !profile->attribution);
        const bool none = keys && !options->attribution.sizes && profile->cache_count == 0;
        if (i > 0) putchar('\n');
        if (fm_profiles_show(stdout, (const fm_profile *const *)file->profiles, file->count, found->caches,
                             none ? 0 : found->count, &screen, &view, &error))
            code = cli_fail(&error);
    }
    return code;
}

static int check_options(const report_options *options, size_t count)
{
    const char *const results[] = {options->path, options->attribution.callgrind, options->attribution.csv};
    size_t to_standard_output = 0;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        to_standard_output += results[i] && strcmp(results[i], "-") == 0;
    if (to_standard_output > 1) return cli_misuse("only one result can go to standard output");
    if (count > 1 && (options->attribution.callgrind || options->attribution.csv))
        return cli_misuse("--%s takes one profile, not %zu",
                          options->attribution.callgrind ? "callgrind" : "csv", count);
    if (options->source && options->no_source)
        return cli_misuse("--source and --no-source contradict each other");
    const char *page_only = options->title ? "title" : options->source ? "source" : NULL;
    if (!options->path && (page_only || options->no_source))
        return cli_misuse("--%s is about the page that -o writes", page_only ? page_only : "no-source");
    return cli_attribution_check(&options->attribution, NULL);
}

static int report_profiles(char **paths, size_t count, const report_options *options)
{
    cli_caches *found = calloc(1, sizeof *found);
    if (!found) return cli_out_of_memory();
    int code = -1, completeness = CLI_COMPLETE;
    gathered all = {0};
    code = gather_profiles(&all, paths, count, &completeness);
    if (code < 0) code = cli_check_profile_sizes(options->attribution.sizes, all.profiles, all.count);
    if (code < 0 && (options->attribution.sizes || !options->no_machine))
        code = cli_stored_caches(&options->attribution, all.profiles, all.count, found);
    if (code < 0) code = write_files(&all, options, paths[0], found);
    if (code < 0) code = make_page(&all, options, found);
    if (code < 0 && !options->path && !options->attribution.callgrind && !options->attribution.csv)
        code = show_profiles(&all, options, found);
    gathered_clear(&all);
    free(found);
    return code < 0 ? completeness : code;
}

int cli_verb_report(int argc, char **argv)
{
    report_options options = {.attribution.top = CLI_TOP};
    const cli_option table[] = {
        {"output", CLI_TO(&options.path), .help = "write the HTML report to FILE; - is stdout", .usual = ""},
        {"title", CLI_TO(&options.title)},
        {"size", CLI_TO(&options.attribution.sizes), .usual = "the profile's"},
        {"no-machine", CLI_TO(&options.no_machine), .help = "mark no cache sizes but those of --size"},
        {"source", CLI_TO(&options.source)},
        {"no-source", CLI_TO(&options.no_source), .group = CLI_REPORT},
        {"callgrind", CLI_TO(&options.attribution.callgrind)},
        {"csv", CLI_TO(&options.attribution.csv)},
        CLI_SCREEN_OPTIONS(&options.attribution),
        {"quiet", CLI_TO(&cli_quiet), .help = "no notes"},
        {0},
    };
    const cli_command command = {
        .usage = "fathom report [options] PROFILE... [-o FILE.html]",
        .about = "Shows the misses at every cache and the lines that cause them, as fathom run\n"
                 "does at its end. With -o it writes one HTML page that needs nothing else:\n"
                 "miss-ratio curves with cache sizes marked, histograms, a table of numbers, and\n"
                 "where the profile knows its code (fathom run) the lines, their source, and the\n"
                 "data. The page holds the text of the source as it was when the profile was made:\n"
                 "from the profile (--embed-source) or from files with the same checksum.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete input",
        .notes = "Examples:\n"
                 "  fathom report before.json after.json -o report.html --title 'Loop tiling'\n"
                 "  fathom report run.json --callgrind callgrind.out.run --size 32K,1M,32M\n",
        .least = 1,
        .reads = CLI_READS_PROFILES,
        .most = 64,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    code = check_options(&options, count);
    if (code < 0) code = report_profiles(argv + 1, count, &options);
    return cli_finish(code);
}
