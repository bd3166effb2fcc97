/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_mrc.c - fathom mrc: the miss-ratio curve of a profile, and miss ratios at named caches.
 *
 * Named sizes, what-if caches and this machine's caches end up in one table. It joins the profile, the
 * model and the views; it computes nothing itself.
 */
#include "results.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CACHES = 256, MOST_MACHINE = 16, MOST_PROFILES = 8 };

typedef struct cache_table {
    fm_cache caches[MOST_CACHES];
    size_t count;
} cache_table;

typedef struct mrc_options {
    const char *csv, *json, *sizes, *blocks, *caches;
    bool machine, no_machine;
    double hit_ratio; /* negative: not asked for */
    uint64_t granularity;
} mrc_options;

/* What is shown: a profile, or several over each other. */
typedef struct chosen {
    size_t count;
    fm_profile_list files[MOST_PROFILES];
    const fm_profile *profiles[MOST_PROFILES];
    char names[MOST_PROFILES][4200];
} chosen;

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
    (void)granularity; /* looked at before */
    fm_cache *cache = &table->caches[table->count];
    *cache = (fm_cache){0};
    if (!cli_parse_size(part, &cache->bytes) || cache->bytes == 0)
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
    if (!cli_parse_count(part, &blocks) || blocks == 0)
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

/* Sizes of --cache of keys or elements, which have no bytes. */
static int check_what_if(const char *list, uint64_t granularity, const char *noun)
{
    int code = -1;
    for (const char *part = list; part && code < 0;) {
        char size[40];
        snprintf(size, sizeof size, "%.*s", (int)strcspn(part, ":,"), part);
        code = cli_check_size("cache", size, granularity, noun);
        part = strchr(part, ',');
        if (part) part++;
    }
    return code;
}

/* -1, or an exit code after a message. Not finding the machine's caches only matters when asked for. */
static int add_machine(cache_table *table, const mrc_options *options, const fm_profile *profile)
{
    if (cli_block_noun(profile) && !options->machine) {
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

/* Elements have no bytes: nothing of this machine, which has, is put beside them. */
static int leave_machine_out(mrc_options *options, const fm_profile *profile)
{
    if (!profile || !profile->elements) return -1;
    if (options->machine)
        return cli_misuse("--machine: the profile counts elements, and this machine's caches hold bytes");
    if (profile->cache_count) return -1; /* its own are shown */
    if (!options->sizes && !options->blocks && !options->caches)
        cli_note("the profile counts elements, not bytes: this machine's caches are left out");
    options->no_machine = true;
    return -1;
}

/* Where no caches are named: those of the profile (docs/PROFILE.md), else this machine's. */
static int add_default(cache_table *table, const mrc_options *options, const chosen *all)
{
    const bool named = options->sizes || options->blocks || options->caches;
    if (options->no_machine || (named && !options->machine)) return -1;
    if (!options->machine)
        table->count = fm_profiles_caches(all->profiles, all->count, table->caches, MOST_CACHES);
    return table->count ? -1 : add_machine(table, options, all->profiles[0]);
}

static int fill_table(cache_table *table, const mrc_options *options, const chosen *all)
{
    const uint64_t granularity = all->profiles[0]->granularity;
    int code = add_default(table, options, all);
    if (code < 0) code = each_part(options->sizes, "size", table, granularity, add_size);
    if (code < 0) code = each_part(options->blocks, "blocks", table, granularity, add_blocks);
    if (code < 0) code = check_what_if(options->caches, granularity, cli_block_noun(all->profiles[0]));
    if (code < 0) code = each_part(options->caches, "cache", table, granularity, add_what_if);
    return code;
}

/* Writes CSV or JSON to its file. -1, or an exit code after a message. */
static int write_file(const char *path, bool json, const chosen *all, const cache_table *table)
{
    if (!path) return -1;
    fm_output *output;
    fm_error error;
    if (fm_output_open(&output, path, &error)) return cli_fail(&error);
    FILE *out = fm_output_stream(output);
    fm_status status = FM_OK;
    if (json && all->count > 1) fputs("{\"schema\": \"fathom-mrc-set-1\", \"profiles\": [\n", out);
    for (size_t i = 0; i < all->count && !status; i++) {
        if (json && i > 0) fputs(",\n", out);
        status = json ? fm_view_curve_json(out, all->profiles[i], table->caches, table->count, &error)
                      : fm_view_curve_csv(out, all->profiles[i], &error);
    }
    if (json && all->count > 1) fputs("]}\n", out);
    if (status) {
        fm_output_abandon(output);
        return cli_fail(&error);
    }
    return fm_output_commit(output, &error) ? cli_fail(&error) : -1;
}

/* The smallest cache with the hit ratio that is asked for. */
static void show_hit_ratio(const fm_profile *profile, const char *name, double ratio)
{
    uint64_t least, blocks;
    double most;
    const fm_view_options view = cli_view_options();
    putchar('\n');
    fm_view_text(stdout, name, &view);
    printf("%shit ratio of %g %%: ", *name ? ": " : "", ratio * 100);
    if (!fm_profile_smallest_cache(profile, ratio, &least, &blocks, &most)) {
        printf("out of reach%s: at most %.2f %%\n", profile->bound ? " below the bound" : "", most * 100);
        return;
    }
    printf("%" PRIu64 " blocks", blocks);
    if (profile->granularity > 1)
        printf(" of %" PRIu64 " bytes, %.0f bytes", profile->granularity,
               (double)blocks * (double)profile->granularity);
    printf("%s\n", profile->exact ? "" : ", estimated");
    if (least < blocks)
        printf("  (%" PRIu64 " to %" PRIu64 " blocks: the profile counts ranges of distances there)\n", least,
               blocks);
}

static int show_curves(const chosen *all, const cache_table *table, double hit_ratio)
{
    fm_view_options view = cli_view_options();
    fm_error error;
    const char *names[MOST_PROFILES];
    for (size_t i = 0; i < all->count; i++) names[i] = all->names[i];
    fm_status status = all->count > 1 ? fm_view_curves(stdout, all->profiles, names, all->count,
                                                       table->caches, table->count, &view, &error)
                                      : fm_view_curve(stdout, all->profiles[0], &view, &error);
    if (status) return cli_fail(&error);
    if (table->count && all->count == 1) {
        putchar('\n');
        fm_view_caches(stdout, all->profiles[0], table->caches, table->count, &view);
    }
    for (size_t i = 0; hit_ratio >= 0 && i < all->count; i++)
        show_hit_ratio(all->profiles[i], all->count > 1 ? all->names[i] : "", hit_ratio);
    return -1;
}

static int answer_question(const chosen *all, char **paths, const mrc_options *options)
{
    cache_table *table = calloc(1, sizeof *table);
    if (!table) return cli_out_of_memory();
    mrc_options used = *options;
    int code = leave_machine_out(&used, all->profiles[0]);
    if (code < 0) code = cli_check_profile_sizes(options->sizes, all->profiles, all->count);
    if (code < 0) code = fill_table(table, &used, all);
    if (code < 0 && !cli_is_stdout(options->csv) && !cli_is_stdout(options->json))
        code = show_curves(all, table, options->hit_ratio);
    if (code < 0) code = write_file(options->csv, false, all, table);
    if (code < 0) code = write_file(options->json, true, all, table);
    free(table);
    int completeness = CLI_COMPLETE;
    for (size_t i = 0; code < 0 && i < all->count; i++)
        if (cli_profile_completeness(all->profiles[i], paths[i])) completeness = CLI_INCOMPLETE;
    return code < 0 ? completeness : code;
}

/* -1, or an exit code after a message. */
static int read_profiles(chosen *all, char **paths, size_t count, uint64_t granularity)
{
    for (size_t i = 0; i < count; i++) {
        fm_error error;
        if (fm_profile_read(paths[i], &all->files[i], &error)) return cli_fail(&error);
        all->count++;
        all->profiles[i] = cli_profile_choose(&all->files[i], granularity, paths[i]);
        if (!all->profiles[i]) return CLI_USAGE;
        const char *name = all->profiles[i]->name;
        snprintf(all->names[i], sizeof all->names[i], "%s%s%s", paths[i], name ? ": " : "", name ? name : "");
    }
    return -1;
}

static int check_options(const mrc_options *options, char **paths, size_t count)
{
    size_t from_standard_input = 0;
    for (size_t i = 0; i < count; i++) from_standard_input += cli_is_stdout(paths[i]);
    if (from_standard_input > 1) return cli_misuse("only one profile can come from standard input");
    if (options->machine && options->no_machine)
        return cli_misuse("--machine and --no-machine contradict each other");
    if (cli_is_stdout(options->csv) && cli_is_stdout(options->json))
        return cli_misuse("--csv and --json cannot both go to standard output");
    if (options->csv && count > 1) return cli_misuse("--csv takes one profile, not %zu", count);
    if (options->hit_ratio > 1 || (options->hit_ratio < 0 && options->hit_ratio > -2))
        return cli_misuse("--hit-ratio: expected a share from 0 to 1, such as 0.9");
    return -1;
}

int cli_verb_mrc(int argc, char **argv)
{
    mrc_options options = {.hit_ratio = -2};
    const cli_option table[] = {
        {"csv", CLI_TO(&options.csv), .help = "write the curve as CSV"},
        {"json", CLI_TO(&options.json), .help = "write the curve and the caches as JSON"},
        {"size", CLI_TO(&options.sizes), .help = "cache sizes in bytes, or keys: 32K,1M 30Mkeys",
         .usual = ""},
        {"blocks", CLI_TO(&options.blocks)},
        {"cache", CLI_TO(&options.caches)},
        {"hit-ratio", CLI_TO(&options.hit_ratio)},
        {"machine", CLI_TO(&options.machine)},
        {"no-machine", CLI_TO(&options.no_machine)},
        CLI_SELECT_OPTION(&options.granularity),
        {"quiet", CLI_TO(&cli_quiet), .help = "no notes"},
        {0},
    };
    const cli_command command = {
        .usage = "fathom mrc [options] PROFILE...",
        .about = "Shows the miss-ratio curve of a profile: the share of references that miss in a\n"
                 "fully associative LRU cache of each size. Then the miss ratios of named caches;\n"
                 "without any, of those that the profile was made for, else of this machine's.\n"
                 "Sets and ways are accounted for by an estimate. Several profiles are laid over\n"
                 "each other. PROFILE may be - for standard input.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete input",
        .notes = "Example:\n"
                 "  fathom mrc profile.json --size 32K,1M --cache 48K:12:64 --csv curve.csv\n",
        .least = 1,
        .reads = CLI_READS_PROFILES,
        .most = MOST_PROFILES,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if ((code = check_options(&options, argv + 1, count)) >= 0) return code;
    chosen *all = calloc(1, sizeof *all);
    if (!all) return cli_out_of_memory();
    code = read_profiles(all, argv + 1, count, options.granularity);
    if (code < 0) code = answer_question(all, argv + 1, &options);
    for (size_t i = 0; i < all->count; i++) fm_profile_list_clear(&all->files[i]);
    free(all);
    return cli_finish(code);
}
