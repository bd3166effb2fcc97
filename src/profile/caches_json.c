/* SPDX-License-Identifier: Apache-2.0 */
/* caches_json.c - see caches_json.h. */
#include "profile/caches_json.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

void fm_caches_write(FILE *out, const fm_profile *profile, const char *indent)
{
    fprintf(out, ",\n%s\"caches\": [", indent);
    for (size_t i = 0; i < profile->cache_count; i++) {
        const fm_cache *cache = &profile->caches[i];
        char name[sizeof cache->name + 1];
        memcpy(name, cache->name, sizeof cache->name);
        name[sizeof cache->name] = '\0';
        fprintf(out, "%s\n%s  {\"name\": ", i ? "," : "", indent);
        fm_json_write_string(out, name, FM_JSON_PLAIN);
        fprintf(out, ", \"bytes\": %" PRIu64, cache->bytes);
        if (cache->line) fprintf(out, ", \"line\": %" PRIu64, cache->line);
        if (cache->ways) fprintf(out, ", \"ways\": %" PRIu64, cache->ways);
        if (cache->shared_by) fprintf(out, ", \"shared_by\": %u", cache->shared_by);
        putc('}', out);
    }
    fprintf(out, "\n%s]", indent);
}

/* ---- reading ---- */

static fm_status read_name(fm_json_scan *scan, const char *what, fm_cache *cache)
{
    char *text = NULL;
    fm_status status = fm_json_text(scan, what, &text);
    if (status) return status;
    const size_t length = strlen(text);
    if (length >= sizeof cache->name)
        status = fm_json_refuse(scan, "%s: expected at most %zu bytes, found %zu", what,
                                sizeof cache->name - 1, length);
    else
        memcpy(cache->name, text, length + 1);
    free(text);
    return status;
}

static fm_status read_cache_field(fm_json_scan *scan, const char *what, const char *key, fm_cache *cache)
{
    uint64_t sharing = 0;
    if (strcmp(key, "name") == 0) return read_name(scan, what, cache);
    if (strcmp(key, "bytes") == 0) return fm_json_whole(scan, what, &cache->bytes);
    if (strcmp(key, "line") == 0) return fm_json_whole(scan, what, &cache->line);
    if (strcmp(key, "ways") == 0) return fm_json_whole(scan, what, &cache->ways);
    if (strcmp(key, "shared_by") != 0) return fm_json_skip(scan);
    fm_status status = fm_json_whole(scan, what, &sharing);
    if (!status && sharing > UINT_MAX) return fm_json_refuse(scan, "%s: there are not so many", what);
    cache->shared_by = (unsigned)sharing;
    return status;
}

static fm_status read_cache(fm_json_scan *scan, const char *where, size_t number, fm_cache *cache)
{
    char what[128];
    fm_json_list list;
    snprintf(what, sizeof what, "\"%scaches[%zu]\"", where, number);
    fm_status status = fm_json_enter_object(scan, what, &list);
    while (!status) {
        bool more;
        char key[16];
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        snprintf(what, sizeof what, "\"%scaches[%zu].%s\"", where, number, key);
        status = read_cache_field(scan, what, key, cache);
    }
    if (!status && cache->bytes == 0)
        return fm_json_refuse(scan, "\"%scaches[%zu].bytes\": expected the size of a cache, found none",
                              where, number);
    return status;
}

fm_status fm_caches_read(fm_json_scan *scan, const char *where, fm_profile *profile)
{
    char what[128];
    fm_json_list list;
    size_t room = 0;
    bool more;
    snprintf(what, sizeof what, "\"%scaches\"", where);
    fm_status status = fm_json_enter_array(scan, what, &list);
    while (!status && (status = fm_json_more(scan, &list, &more)) == FM_OK && more) {
        fm_cache cache = {0};
        void *grown = profile->caches;
        if (profile->cache_count == FM_MOST_STORED_CACHES)
            return fm_json_refuse(scan, "%s: expected at most %d caches, found more", what,
                                  (int)FM_MOST_STORED_CACHES);
        status = read_cache(scan, where, profile->cache_count, &cache);
        if (status) break;
        if (fm_array_reserve(&grown, &room, profile->cache_count + 1, sizeof cache))
            return fm_fail_memory(scan->error, sizeof cache, "a profile's caches");
        profile->caches = grown;
        profile->caches[profile->cache_count++] = cache;
    }
    return status;
}
