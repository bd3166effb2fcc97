/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_mrc.c - fathom mrc: the miss-ratio curve of a profile, and miss ratios at named caches.
 *
 * Named sizes, what-if caches and this machine's caches end up in one table. It joins the profile, the
 * model and the views; it computes nothing itself.
 */
#include "attribution_output.h"
#include "cli.h"
#include "profile_choice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CACHES = 256, MOST_MACHINE = 16 };

typedef struct cache_table {
    fm_cache caches[MOST_CACHES];
    size_t count;
} cache_table;

typedef struct mrc_options {
    const char *csv, *json, *sizes, *blocks, *caches;
    bool machine, no_machine;
    uint64_t granularity;
} mrc_options;

/* Calls `add` for each part of a comma-separated list. -1, or an exit code after a message. */
static int each_part(const char *list, const char *option, cache_table *table, uint64_t granularity,
                     int (*add)(cache_table *, const char *, uint64_t))
{
    if (!list) return -1;
    char *copy = strdup(list);
    if (!copy) return cli_out_of_memory();
    int code = -1;
    char *rest = copy;
    while (code < 0 && rest) {
        char *part = strsep(&rest, ",");
        if (table->count == MOST_CACHES)
            code = cli_misuse("--%s: at most %d caches in one table", option, MOST_CACHES);
        else
            code = add(table, part, granularity);
    }
    free(copy);
    return code;
}

static int add_size(cache_table *table, const char *part, uint64_t granularity)
{
    (void)granularity;
    fm_cache *cache = &table->caches[table->count];
    *cache = (fm_cache){0};
    if (!cli_parse_count(part, &cache->bytes))
        return cli_misuse("--size: expected sizes in bytes such as 32K,1M, found '%s'", part);
    snprintf(cache->name, sizeof cache->name, "%s", part);
    table->count++;
    return -1;
}

static int add_blocks(cache_table *table, const char *part, uint64_t granularity)
{
    fm_cache *cache = &table->caches[table->count];
    *cache = (fm_cache){0};
    uint64_t blocks;
    if (!cli_parse_count(part, &blocks))
        return cli_misuse("--blocks: expected sizes in blocks such as 512,1K, found '%s'", part);
    if (__builtin_mul_overflow(blocks, granularity, &cache->bytes))
        return cli_misuse("--blocks: %s blocks of %" PRIu64 " bytes exceed 2^64 bytes", part, granularity);
    snprintf(cache->name, sizeof cache->name, "%.20s blocks", part);
    table->count++;
    return -1;
}

static int add_what_if(cache_table *table, const char *part, uint64_t granularity)
{
    int code = cli_parse_cache(part, granularity, &table->caches[table->count]);
    if (code < 0) table->count++;
    return code;
}

/* -1, or an exit code after a message. Not finding the machine's caches only matters when asked for. */
static int add_machine(cache_table *table, const mrc_options *options, uint64_t granularity)
{
    bool named = options->sizes || options->blocks || options->caches;
    if (options->no_machine || (named && !options->machine)) return -1;
    if (granularity == 1 && !options->machine) {
        cli_note(
            "the profile counts keys, not bytes: this machine's caches are left out (--machine shows them)");
        return -1;
    }
    fm_cache found[MOST_MACHINE];
    size_t count = 0;
    fm_error error;
    fm_status status = fm_machine_caches(found, MOST_MACHINE, &count, &error);
    if (status && options->machine) return cli_fail(&error);
    if (status)
        cli_note("%s", error.reason);
    else if (count == 0)
        cli_note("hwloc finds no caches on this machine");
    for (size_t i = 0; i < count && table->count < MOST_CACHES; i++) table->caches[table->count++] = found[i];
    return -1;
}

static int fill(cache_table *table, const mrc_options *options, uint64_t granularity)
{
    int code = add_machine(table, options, granularity);
    if (code < 0) code = each_part(options->sizes, "size", table, granularity, add_size);
    if (code < 0) code = each_part(options->blocks, "blocks", table, granularity, add_blocks);
    if (code < 0) code = each_part(options->caches, "cache", table, granularity, add_what_if);
    return code;
}

/* Writes CSV or JSON to its file. -1, or an exit code after a message. */
static int write_file(const char *path, bool json, const fm_profile *profile, const cache_table *table)
{
    if (!path) return -1;
    fm_output *output;
    fm_error error;
    if (fm_output_open(&output, path, &error)) return cli_fail(&error);
    FILE *out = fm_output_stream(output);
    fm_status status = json ? fm_view_curve_json(out, profile, table->caches, table->count, &error)
                            : fm_view_curve_csv(out, profile, &error);
    if (status) {
        fm_output_abandon(output);
        return cli_fail(&error);
    }
    return fm_output_commit(output, &error) ? cli_fail(&error) : -1;
}

static int show(const fm_profile *profile, const cache_table *table)
{
    fm_view_options view = cli_view_options();
    fm_error error;
    fm_status status = fm_view_curve(stdout, profile, &view, &error);
    if (status) return cli_fail(&error);
    if (table->count) {
        putchar('\n');
        fm_view_caches(stdout, profile, table->caches, table->count, &view);
    }
    return -1;
}

static int answer(const fm_profile *profile, const char *path, const mrc_options *options)
{
    cache_table *table = calloc(1, sizeof *table);
    if (!table) return cli_out_of_memory();
    bool to_standard_output = (options->csv && strcmp(options->csv, "-") == 0) ||
                              (options->json && strcmp(options->json, "-") == 0);
    int code = fill(table, options, profile->granularity);
    if (code < 0) cli_attribution_note_keys(options->sizes, profile);
    if (code < 0 && !to_standard_output) code = show(profile, table);
    if (code < 0) code = write_file(options->csv, false, profile, table);
    if (code < 0) code = write_file(options->json, true, profile, table);
    free(table);
    return code < 0 ? cli_profile_completeness(profile, path) : code;
}

int cli_verb_mrc(int argc, char **argv)
{
    mrc_options options = {0};
    const cli_option table[] = {
        {"csv", 0, CLI_STRING, &options.csv, "FILE", "write the curve as CSV; - is standard output"},
        {"json", 'j', CLI_STRING, &options.json, "FILE",
         "write the curve and the caches as JSON; - is standard output"},
        {"size", 0, CLI_STRING, &options.sizes, "LIST",
         "miss ratios at these sizes in bytes: 32K,1M,512M\n(in keys, where the granularity is 1)"},
        {"blocks", 0, CLI_STRING, &options.blocks, "LIST", "miss ratios at these sizes in blocks: 1000,64K"},
        {"cache", 0, CLI_STRING, &options.caches, "LIST",
         "estimate for set-associative caches: SIZE:WAYS[:LINE],...\nsuch as 32K:8:64 (LINE: the profile's "
         "block)"},
        {"machine", 0, CLI_FLAG, &options.machine, NULL, "this machine's caches too, besides named sizes"},
        {"no-machine", 0, CLI_FLAG, &options.no_machine, NULL, "leave this machine's caches out"},
        CLI_SELECT_OPTION(&options.granularity),
        {"quiet", 'q', CLI_FLAG, &cli_quiet, NULL, "no notes on standard error"},
        {NULL, 0, CLI_FLAG, NULL, NULL, NULL},
    };
    const cli_command command = {
        .usage = "fathom mrc [options] PROFILE",
        .about = "Shows the miss-ratio curve of a profile: which share of the references would miss in a\n"
                 "fully associative LRU cache of each size. Then the miss ratios at named caches; without\n"
                 "any, at those of this machine, read through hwloc. Where a cache's ways are known, its\n"
                 "sets are accounted for by an estimate (Hill & Smith's binomial model).",
        .options = table,
        .notes = "Sizes take the suffixes K, M, G, T = 2^10, 2^20, ... PROFILE may be - for standard input.\n"
                 "\n"
                 "Example:\n"
                 "  fathom mrc profile.json --size 32K,1M --cache 48K:12:64 --csv curve.csv\n",
        .least = 1,
        .most = 1,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if (options.machine && options.no_machine)
        return cli_misuse("--machine and --no-machine contradict each other");
    if (options.csv && options.json && strcmp(options.csv, "-") == 0 && strcmp(options.json, "-") == 0)
        return cli_misuse("--csv and --json cannot both go to standard output");
    fm_profile_list list;
    fm_error error;
    if (fm_profile_read(argv[1], &list, &error)) return cli_fail(&error);
    const fm_profile *profile = cli_profile_choose(&list, options.granularity, argv[1]);
    code = profile ? answer(profile, argv[1], &options) : CLI_USAGE;
    fm_profile_list_clear(&list);
    return cli_finish(code);
}
