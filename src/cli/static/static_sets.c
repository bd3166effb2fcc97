/* SPDX-License-Identifier: Apache-2.0 */
/* static_sets.c - caches with sets (--cache): their misses for the addresses that arrays are given. */
#define _GNU_SOURCE
#include "static/static_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int add_cache(cli_static_run *run, const char *text)
{
    fm_cache cache;
    if (run->set_count == CLI_MOST_SET_CACHES)
        return cli_misuse("--cache: at most %d caches", CLI_MOST_SET_CACHES);
    int code = cli_parse_cache(text, run->options->granularity, &cache);
    if (code >= 0) return code;
    if (cache.line != run->options->granularity)
        return cli_misuse("--cache: '%s': lines must be blocks of --granularity bytes, %" PRIu64, text,
                          run->options->granularity);
    fm_set_misses *one = &run->set_misses[run->set_count++];
    *one = (fm_set_misses){
        .sets = cache.bytes / cache.line / cache.ways, .ways = cache.ways, .line = cache.line};
    snprintf(one->name, sizeof one->name, "%s", cache.name);
    return -1;
}

int cli_static_check_caches(cli_static_run *run)
{
    if (!run->options->caches) return -1;
    char *copy = strdup(run->options->caches), *rest = copy;
    if (!copy) return cli_out_of_memory();
    int code = -1;
    while (code < 0 && rest) code = add_cache(run, strsep(&rest, ","));
    free(copy);
    return code;
}

/* "A at 65536, B at 131072" */
static char *list_addresses(const cli_static_run *run)
{
    char *text = NULL;
    size_t size;
    uint64_t address;
    const char *name;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return NULL;
    for (size_t i = 0; fm_region_array_at(run->region, run->options->granularity, run->layout, i, &name,
                                          &address, NULL) == FM_OK;
         i++)
        fprintf(stream, "%s%s at %" PRIu64, i ? ", " : "", name, address);
    if (fclose(stream) == 0) return text;
    free(text);
    return NULL;
}

int cli_static_set_misses(cli_static_run *run)
{
    const fm_static_options how = {
        .granularity = run->options->granularity,
        .layout = run->layout,
        .limit_seconds = run->options->limit,
        .samples = run->options->samples,
        .seed = 1,
        .method = run->options->method,
    };
    fm_profile *profile = run->profile;
    fm_error error;
    if (run->set_count == 0) return -1;
    if (fm_region_set_misses(run->region, &how, run->set_misses, run->set_count, &error))
        return cli_fail(&error);
    profile->set_misses = calloc(run->set_count, sizeof *profile->set_misses);
    profile->addresses = list_addresses(run);
    if (!profile->set_misses || !profile->addresses) return cli_out_of_memory();
    memcpy(profile->set_misses, run->set_misses, run->set_count * sizeof *profile->set_misses);
    profile->set_count = run->set_count;
    return -1;
}

void cli_static_show_set_misses(FILE *out, const fm_profile *profile)
{
    if (profile->set_count == 0) return;
    fprintf(out, "\n%-16s %8s %6s %16s %12s  %s\n", "cache with sets", "sets", "ways", "misses", "miss ratio",
            "certainty");
    for (size_t i = 0; i < profile->set_count; i++) {
        const fm_set_misses *one = &profile->set_misses[i];
        fprintf(out, "%-16s %8" PRIu64 " %6" PRIu64 " %16" PRIu64 " %10.2f %%  %s\n", one->name, one->sets,
                one->ways, one->misses,
                one->references ? 100 * (double)one->misses / (double)one->references : 0, one->certainty);
        if (one->least != one->most)
            fprintf(out, "%-32s between %" PRIu64 " and %" PRIu64 " with 95 %% confidence\n", "", one->least,
                    one->most);
    }
    fputs("LRU in each set, for these addresses: ", out);
    fm_view_options view = cli_view_options();
    fm_view_text(out, profile->addresses, &view);
    putc('\n', out);
}
