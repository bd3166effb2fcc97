/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_report.c - fathom report: one self-contained HTML page from one or more profiles.
 *
 * Every profile of every file goes onto the page, in the order given.
 */
#include "cli.h"
#include "profile_choice.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CACHES = 16 };

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

static int out_of_memory(void)
{
    cli_complain("out of memory");
    return CLI_FAILED;
}

/* -1, or an exit code after a message. *completeness becomes CLI_INCOMPLETE where a profile is. */
static int gather(gathered *all, char **paths, size_t count, int *completeness)
{
    all->files = calloc(count, sizeof *all->files);
    if (!all->files) return out_of_memory();
    for (size_t i = 0; i < count; i++) {
        fm_error error;
        if (fm_profile_read(paths[i], &all->files[i], &error)) return cli_fail(&error);
        all->file_count++;
        all->count += all->files[i].count;
    }
    all->profiles = calloc(all->count, sizeof *all->profiles);
    if (!all->profiles) return out_of_memory();
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

static int write_page(const gathered *all, const char *path, const char *title, bool no_machine)
{
    fm_cache caches[MOST_CACHES];
    size_t cache_count = 0;
    fm_error error;
    if (!no_machine && fm_machine_caches(caches, MOST_CACHES, &cache_count, &error))
        cli_note("no cache sizes on the page: %s", error.reason);
    fm_output *output;
    if (fm_output_open(&output, path, &error)) return cli_fail(&error);
    if (fm_report_write(fm_output_stream(output), title, all->profiles, all->count, caches, cache_count,
                        &error)) {
        fm_output_abandon(output);
        return cli_fail(&error);
    }
    return fm_output_commit(output, &error) ? cli_fail(&error) : -1;
}

int cli_verb_report(int argc, char **argv)
{
    const char *path = NULL, *title = NULL;
    bool no_machine = false;
    const cli_option table[] = {
        {"output", 'o', CLI_STRING, &path, "FILE", "where the page goes; - is standard output"},
        {"title", 0, CLI_STRING, &title, "TEXT", "the page's title"},
        {"no-machine", 0, CLI_FLAG, &no_machine, NULL, "do not mark this machine's cache sizes"},
        {"quiet", 'q', CLI_FLAG, &cli_quiet, NULL, "no notes on standard error"},
        {NULL, 0, CLI_FLAG, NULL, NULL, NULL},
    };
    const cli_command command = {
        .usage = "fathom report [options] PROFILE... -o FILE.html",
        .about = "Writes one HTML page that needs nothing else, no network and no other file: the\n"
                 "miss-ratio curves of the profiles with this machine's cache sizes marked, their\n"
                 "histograms, and a table of numbers.",
        .options = table,
        .notes = "Example:\n"
                 "  fathom report before.json after.json -o report.html --title 'Loop tiling'\n",
        .least = 1,
        .most = 64,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if (!path) return cli_misuse("where should the page go? Give -o FILE.html");
    int completeness = CLI_COMPLETE;
    gathered all = {0};
    code = gather(&all, argv + 1, count, &completeness);
    if (code < 0) code = write_page(&all, path, title, no_machine);
    gathered_clear(&all);
    return cli_finish(code < 0 ? completeness : code);
}
