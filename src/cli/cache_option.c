/* SPDX-License-Identifier: Apache-2.0 */
/* cache_option.c - caches with sets, as --cache names them. */
#include "cli.h"

#include <string.h>

int cli_parse_cache(const char *text, uint64_t granularity, fm_cache *cache)
{
    char copy[100];
    *cache = (fm_cache){.line = granularity};
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy;
    const char *size = strsep(&rest, ":"), *ways = strsep(&rest, ":"), *line = strsep(&rest, ":");
    if (rest || !ways || !cli_parse_size(size, &cache->bytes) || !cli_parse_count(ways, &cache->ways) ||
        (line && !cli_parse_bytes(line, &cache->line)))
        return cli_misuse("--cache: expected SIZE:WAYS or SIZE:WAYS:LINE such as 32K:8:64, found '%s'", text);
    if (cache->ways == 0 || cache->line == 0)
        return cli_misuse("--cache: '%s': ways and line must not be 0", text);
    uint64_t set;
    if (__builtin_mul_overflow(cache->ways, cache->line, &set) || cache->bytes == 0 ||
        cache->bytes % set != 0)
        return cli_misuse("--cache: '%s': the size is not a multiple of one set, ways times line bytes",
                          text);
    snprintf(cache->name, sizeof cache->name, "%s", text);
    return -1;
}
