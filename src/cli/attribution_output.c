/* SPDX-License-Identifier: Apache-2.0 */
/* attribution_output.c - see attribution_output.h. It joins pairs, symbols and views; it computes nothing
 * itself but which cache to judge by. */
#include "attribution_output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- options ---- */

int cli_parse_by(const char *text, fm_by *by)
{
    static const char *const names[] = {"line", "function", "object"};
    *by = FM_BY_LINE;
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            *by = (fm_by)i;
            return -1;
        }
    return text ? cli_misuse("--by: expected line, function or object, found '%s'", text) : -1;
}

int cli_try_outputs(const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct stat about;
        fm_output *output;
        fm_error error;
        if (!paths[i] || cli_is_stdout(paths[i])) continue;
        if (stat(paths[i], &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) continue;
        if (fm_output_open(&output, paths[i], &error)) return cli_fail(&error);
        fm_output_abandon(output);
    }
    return -1;
}

int cli_split_folders(char *text, const char **folders, size_t most, size_t *count)
{
    while (text) {
        const char *folder = strsep(&text, ":");
        if (!*folder) continue;
        if (*count == most) return cli_misuse("--source: at most %zu folders", most);
        folders[(*count)++] = folder;
    }
    return -1;
}

int cli_attribution_check(const cli_attribution_options *options, const char *json)
{
    const char *file = options->callgrind ? "callgrind" : options->csv ? "csv" : NULL;
    if (options->no_sites && file)
        return cli_misuse("--%s tells code sites apart, which --no-sites turns off", file);
    if (options->no_sites && options->embed_source)
        return cli_misuse("--embed-source is about the code, which --no-sites leaves out");
    if (options->embed_source && !json)
        return cli_misuse("--embed-source is about the profile that --json writes");
    if (cli_is_stdout(options->callgrind) + cli_is_stdout(options->csv) + cli_is_stdout(json) > 1)
        return cli_misuse("only one of --json, --csv and --callgrind can go to standard output");
    fm_by by;
    return cli_parse_by(options->by, &by);
}

bool cli_attribution_takes_stdout(const cli_attribution_options *options)
{
    return cli_is_stdout(options->callgrind) || cli_is_stdout(options->csv);
}

/* ---- caches ---- */

/* -1, or an exit code after a message. */
static int add_size(fm_cache *caches, size_t *count, const char *text, bool zero_is_fine)
{
    uint64_t bytes;
    if (!cli_parse_size(text, &bytes) || (bytes == 0 && !zero_is_fine))
        return cli_misuse("--size: expected sizes in bytes such as 32K,1M, found '%s'", text);
    if (*count == CLI_MOST_CACHES) return cli_misuse("--size: at most %d sizes", CLI_MOST_CACHES);
    for (size_t i = 0; i < *count; i++)
        if (caches[i].bytes == bytes) return cli_misuse("--size: %s is named twice", text);
    fm_cache *cache = &caches[(*count)++];
    *cache = (fm_cache){.bytes = bytes};
    snprintf(cache->name, sizeof cache->name, "%s", text);
    return -1;
}

int cli_parse_sizes(const char *list, fm_cache *caches, size_t *count, bool zero_is_fine)
{
    char *copy = strdup(list), *rest = copy;
    if (!copy) return cli_out_of_memory();
    int code = -1;
    *count = 0;
    while (code < 0 && rest) code = add_size(caches, count, strsep(&rest, ","), zero_is_fine);
    free(copy);
    return code;
}

int cli_attribution_find_caches(const cli_attribution_options *options, cli_attribution_caches *found)
{
    found->count = 0;
    if (options->sizes) return cli_parse_sizes(options->sizes, found->caches, &found->count, false);
    fm_error error;
    if (fm_machine_caches(found->caches, CLI_MOST_CACHES, &found->count, &error)) {
        found->count = 0;
        cli_note("this machine's caches are left out: %s", error.reason);
    }
    return -1;
}

size_t cli_attribution_edges(const cli_attribution_caches *found, uint64_t granularity,
                             uint64_t edges[CLI_MOST_EDGES])
{
    return fm_cache_edges(found->caches, found->count, granularity, edges, CLI_MOST_EDGES);
}

/* ---- making it ---- */

/* Symbols, and a note for each line that the resolver has to say. */
static fm_status resolve(fm_attribution *attribution, bool quiet, fm_error *error)
{
    cli_notes notes = {0};
    if (!quiet) cli_notes_open(&notes);
    fm_status status = fm_symbols_resolve(attribution, notes.stream, error);
    cli_notes_close(&notes, status == FM_OK);
    return status;
}

int cli_attribution_record_sources(const cli_attribution_options *options, fm_profile *profile)
{
    int code = -1;
    if (!profile->attribution) {
        for (size_t i = 0; i < profile->part_count && code < 0; i++)
            code = cli_attribution_record_sources(options, profile->parts[i]);
        return code;
    }
    fm_error error;
    cli_notes notes;
    cli_notes_open(&notes);
    fm_status status =
        fm_attribution_record_sources(profile->attribution, options->embed_source, notes.stream, &error);
    cli_notes_close(&notes, status == FM_OK);
    return status == FM_OK ? -1 : cli_fail(&error);
}

size_t cli_attribution_late_range(const cli_attribution_caches *found, uint64_t granularity,
                                  const uint64_t *edges, size_t edge_count)
{
    uint64_t smallest = UINT64_MAX;
    for (size_t i = 0; i < found->count; i++) {
        const uint64_t blocks = found->caches[i].bytes / granularity;
        if (blocks > 0 && blocks < smallest) smallest = blocks;
    }
    if (smallest == UINT64_MAX) smallest = 512;
    size_t range = 0;
    while (range + 1 < edge_count && edges[range] < smallest) range++;
    return range;
}

int cli_attribution_attach(fm_profile *profile, const fm_raw_pair *pairs, size_t pair_count,
                           const uint64_t *edges, size_t edge_count, uint64_t late_from,
                           cli_attribution_describe describe, void *context, bool quiet_symbols)
{
    fm_error error;
    fm_attribution *attribution = NULL;
    const uint32_t *map = NULL;
    size_t map_count = 0;
    fm_status status = fm_attribution_create(&attribution, &error);
    if (status == FM_OK) status = fm_attribution_set_edges(attribution, edges, edge_count, late_from, &error);
    if (status == FM_OK) status = describe(context, attribution, &map, &map_count, &error);
    if (status == FM_OK)
        status = fm_attribution_add_pairs(attribution, pairs, pair_count, map, map_count, &error);
    if (status == FM_OK) status = fm_attribution_drop_unused(attribution, &error);
    if (status == FM_OK) status = resolve(attribution, quiet_symbols, &error);
    if (status != FM_OK) {
        fm_attribution_destroy(attribution);
        return cli_fail(&error);
    }
    fm_attribution_destroy(profile->attribution);
    profile->attribution = attribution;
    return -1;
}

/* ---- showing it ---- */

typedef fm_status (*view_function)(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                                   fm_error *error);

static int write_file(const char *path, view_function view, const fm_profile *profile,
                      const cli_attribution_caches *found)
{
    if (!path) return -1;
    fm_output *output;
    fm_error error;
    if (fm_output_open(&output, path, &error)) return cli_fail(&error);
    if (view(fm_output_stream(output), profile, found->caches, found->count, &error)) {
        fm_output_abandon(output);
        return cli_fail(&error);
    }
    return fm_output_commit(output, &error) ? cli_fail(&error) : -1;
}

int cli_attribution_write(const cli_attribution_options *options, const fm_profile *profile,
                          const cli_attribution_caches *found)
{
    int code = write_file(options->callgrind, fm_view_callgrind, profile, found);
    return code < 0 ? write_file(options->csv, fm_view_pairs_csv, profile, found) : code;
}

int cli_write_page(const char *path, const fm_report_options *page, const fm_profile *const *profiles,
                   size_t count, const cli_attribution_caches *found)
{
    fm_output *output;
    fm_error error;
    if (fm_output_open(&output, path, &error)) return cli_fail(&error);
    if (fm_report_write_page(fm_output_stream(output), page, profiles, count, found->caches, found->count,
                             &error)) {
        fm_output_abandon(output);
        return cli_fail(&error);
    }
    return fm_output_commit(output, &error) ? cli_fail(&error) : -1;
}

/* ---- the first screen ---- */

int cli_profiles_check(fm_profile *const *profiles, size_t count)
{
    fm_error error;
    return fm_profile_check((const fm_profile *const *)profiles, count, &error) ? cli_fail(&error) : -1;
}

int cli_attribution_keep_caches(const cli_attribution_caches *found, fm_profile *const *profiles,
                                size_t count)
{
    for (size_t i = 0; i < count && found->count; i++) {
        fm_cache *kept = malloc(found->count * sizeof *kept);
        if (!kept) return cli_out_of_memory();
        memcpy(kept, found->caches, found->count * sizeof *kept);
        free(profiles[i]->caches);
        profiles[i]->caches = kept;
        profiles[i]->cache_count = found->count;
    }
    return -1;
}

int cli_attribution_stored_caches(const cli_attribution_options *options, const fm_profile *const *profiles,
                                  size_t count, cli_attribution_caches *found)
{
    found->count = 0;
    for (size_t i = 0; i < count && !options->sizes; i++)
        for (size_t j = 0; j < profiles[i]->cache_count && found->count < CLI_MOST_CACHES; j++) {
            const fm_cache *cache = &profiles[i]->caches[j];
            bool known = false;
            for (size_t k = 0; k < found->count; k++) known |= found->caches[k].bytes == cache->bytes;
            if (!known) found->caches[found->count++] = *cache;
        }
    for (size_t i = 0; i < count && !options->sizes; i++)
        if (profiles[i]->elements) return -1; /* no bytes, and so none of this machine's */
    return found->count ? -1 : cli_attribution_find_caches(options, found);
}

static void show_histograms(FILE *out, const fm_view_options *view, const fm_profile *const *profiles,
                            size_t count, const cli_attribution_caches *found)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0) fputc('\n', out);
        fm_view_histogram(out, profiles[i], view);
        if (found->count == 0) continue;
        fputc('\n', out);
        fm_view_caches(out, profiles[i], found->caches, found->count, view);
    }
}

static fm_status show_pairs(FILE *out, const fm_view_options *view, const cli_attribution_options *options,
                            const fm_profile *profile, const cli_attribution_caches *found, fm_error *error)
{
    if (!profile->attribution || found->count == 0 || options->top == 0) return FM_OK;
    fputc('\n', out);
    const size_t level = fm_verdict_level(profile, found->caches, found->count);
    return fm_view_pairs(out, profile, &found->caches[level], options->top, view, error);
}

int cli_attribution_show(FILE *out, const fm_view_options *view, const cli_attribution_options *options,
                         const fm_profile *const *profiles, size_t count, const cli_attribution_caches *found,
                         const char *also)
{
    fm_by by;
    fm_error error;
    fm_status status = FM_OK;
    int code = cli_parse_by(options->by, &by);
    if (code >= 0) return code;
    if (!profiles[0]->attribution && !profiles[0]->run && !profiles[0]->kernel) {
        show_histograms(out, view, profiles, count, found);
        return -1;
    }
    for (size_t i = 0; i < count && !status; i++) {
        if (i > 0) fputc('\n', out);
        status =
            fm_view_verdict(out, profiles[i], found->caches, found->count, by, options->top, view, &error);
    }
    if (!status && profiles[0]->part_count > 0) {
        fputc('\n', out);
        fm_view_parts(out, profiles[0], found->caches, found->count, view);
    }
    if (!status && options->histogram) {
        fputc('\n', out);
        show_histograms(out, view, profiles, count, found);
    }
    if (!status && options->pairs) status = show_pairs(out, view, options, profiles[0], found, &error);
    if (status) return cli_fail(&error);
    if (also && !cli_quiet && profiles[0]->references > 0 && !options->pairs && !options->histogram &&
        !options->by)
        fprintf(out, "\n%s", also);
    return -1;
}
