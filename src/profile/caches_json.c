/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caches_json.c - JSON of what a profile has beside its histogram: caches, bounds, caches with sets,
 * kernels, runs.
 */
#include "profile/profile_parts.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "profile/attribution_parts.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ======== caches ======== */

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

/* ======== bounds ======== */

/* The field "bounds" of a profile: the least times on a machine (docs/PROFILE.md). */

static void clear_part(fm_bounds_part *part)
{
    free(part->work.file);
    free(part->work.ranges);
    free(part->bounds);
}

void fm_bounds_destroy(fm_bounds *bounds)
{
    if (!bounds) return;
    clear_part(&bounds->whole);
    for (size_t i = 0; i < bounds->count; i++) clear_part(&bounds->nests[i]);
    free(bounds->nests);
    free(bounds->machine);
    free(bounds);
}

static void real_field(fm_json_fields *of, const char *key, double value)
{
    fm_json_begin_field(of, key);
    fm_json_write_real(of->out, value);
}

/* The slowest resource, what it takes, and the share of the peak that it leaves. */
static void write_slowest(fm_json_fields *of, const fm_bounds_part *part, size_t index, double peak,
                          bool proved)
{
    if (index >= part->count) return;
    const fm_bound *bound = &part->bounds[index];
    real_field(of, proved ? "least_seconds" : "model_seconds", bound->seconds);
    fm_json_text_field(of, proved ? "bound_by" : "model_bound_by", bound->resource);
    if (peak > 0 && part->work.flops > 0)
        real_field(of, proved ? "peak_share" : "model_peak_share",
                   (double)part->work.flops / bound->seconds / peak);
}

static void write_part(FILE *out, const fm_bounds_part *part, double peak, const char *indent)
{
    const fm_nest *work = &part->work;
    fm_json_fields of = {out, indent, false};
    putc('{', out);
    fm_json_text_field(&of, "file", work->file);
    if (work->first_line) fm_json_number_field(&of, "first_line", work->first_line);
    if (work->last_line) fm_json_number_field(&of, "last_line", work->last_line);
    fm_json_number_field(&of, "loads", work->loads);
    fm_json_number_field(&of, "stores", work->stores);
    fm_json_number_field(&of, "flops", work->flops);
    fm_json_number_field(&of, "integer_operations", work->integer_operations);
    fm_json_number_field(&of, "loaded_bytes", work->loaded_bytes);
    fm_json_number_field(&of, "stored_bytes", work->stored_bytes);
    fm_json_number_field(&of, "first_touches", work->first_touches);
    write_slowest(&of, part, part->slowest_proved, peak, true);
    write_slowest(&of, part, part->slowest, peak, false);
    fm_json_begin_field(&of, "resources");
    putc('[', out);
    for (size_t i = 0; i < part->count; i++) {
        const fm_bound *bound = &part->bounds[i];
        fprintf(out, "%s\n%s    {\"resource\": ", i ? "," : "", indent);
        fm_json_write_string(out, bound->resource, FM_JSON_PLAIN);
        fprintf(out, ", \"unit\": \"%s\", \"proved\": %s, \"work\": ", bound->bytes ? "bytes" : "operations",
                bound->proved ? "true" : "false");
        fm_json_write_real(out, bound->work);
        fputs(", \"rate\": ", out);
        fm_json_write_real(out, bound->rate);
        fputs(", \"seconds\": ", out);
        fm_json_write_real(out, bound->seconds);
        putc('}', out);
    }
    fprintf(out, "%s%s%s]\n%s}", part->count ? "\n" : "", part->count ? indent : "", part->count ? "  " : "",
            indent);
}

void fm_bounds_write(FILE *out, const fm_bounds *bounds, const char *indent)
{
    char inner[48];
    snprintf(inner, sizeof inner, "%s  ", indent);
    fm_json_fields of = {out, indent, false};
    fprintf(out, ",\n%s\"bounds\": {", indent);
    fm_json_text_field(&of, "machine", bounds->machine);
    if (bounds->flops > 0) real_field(&of, "peak_flops", bounds->flops);
    fm_json_begin_field(&of, "whole");
    write_part(out, &bounds->whole, bounds->flops, inner);
    fm_json_begin_field(&of, "nests");
    putc('[', out);
    for (size_t i = 0; i < bounds->count; i++) {
        fputs(i ? ", " : "", out);
        write_part(out, &bounds->nests[i], bounds->flops, inner);
    }
    fprintf(out, "]\n%s}", indent);
}

/* ======== caches with sets ======== */

/* The fields "set_associative" and "addresses" of a profile (docs/PROFILE.md). */

void fm_set_misses_write(FILE *out, const fm_profile *profile, const char *indent)
{
    fprintf(out, ",\n%s\"set_associative\": [", indent);
    for (size_t i = 0; i < profile->set_count; i++) {
        const fm_set_misses *one = &profile->set_misses[i];
        fprintf(out, "%s\n%s  {\"name\": ", i ? "," : "", indent);
        fm_json_write_string(out, one->name, FM_JSON_PLAIN);
        fprintf(out,
                ", \"sets\": %" PRIu64 ", \"ways\": %" PRIu64 ", \"line\": %" PRIu64
                ", \"references\": %" PRIu64 ", \"misses\": %" PRIu64 ", \"least\": %" PRIu64
                ", \"most\": %" PRIu64 ", \"certainty\": ",
                one->sets, one->ways, one->line, one->references, one->misses, one->least, one->most);
        fm_json_write_string(out, one->certainty, FM_JSON_PLAIN);
        putc('}', out);
    }
    fprintf(out, "\n%s]", indent);
    if (!profile->addresses) return;
    fprintf(out, ",\n%s\"addresses\": ", indent);
    fm_json_write_string(out, profile->addresses, FM_JSON_PLAIN);
}

/* ======== kernels ======== */

/*
 * The fields "kernel" and "counts" of a profile: the source code that it was computed from,
 * and how often that does something (docs/PROFILE.md).
 */

void fm_kernel_destroy(fm_kernel *kernel)
{
    if (!kernel) return;
    free(kernel->function);
    free(kernel->file);
    free(kernel->parameters);
    free(kernel->layout);
    free(kernel->certainty);
    free(kernel->method);
    free(kernel->notes);
    free(kernel->loads);
    free(kernel->stores);
    free(kernel->flops);
    free(kernel->integer_operations);
    free(kernel);
}

/* ---- writing ---- */

static bool is_number(const char *text)
{
    size_t length = strspn(text, "0123456789");
    return length > 0 && length < 20 && text[length] == '\0' && (length == 1 || text[0] != '0');
}

/* A number where it is one, a text where it is a formula. */
static void count_field(fm_json_fields *of, const char *key, const char *count)
{
    if (!count) return;
    if (!is_number(count)) {
        fm_json_text_field(of, key, count);
        return;
    }
    fm_json_begin_field(of, key);
    fputs(count, of->out);
}

void fm_kernel_write(FILE *out, const fm_kernel *kernel, const char *indent)
{
    fm_json_fields of = {out, indent, false};
    fprintf(out, ",\n%s\"kernel\": {", indent);
    fm_json_text_field(&of, "function", kernel->function);
    fm_json_text_field(&of, "file", kernel->file);
    if (kernel->first_line) fm_json_number_field(&of, "first_line", kernel->first_line);
    if (kernel->last_line) fm_json_number_field(&of, "last_line", kernel->last_line);
    fm_json_text_field(&of, "parameters", kernel->parameters);
    fm_json_text_field(&of, "layout", kernel->layout);
    fm_json_text_field(&of, "certainty", kernel->certainty);
    fm_json_text_field(&of, "method", kernel->method);
    fm_json_begin_field(&of, "seconds");
    fm_json_write_real(out, isfinite(kernel->seconds) && kernel->seconds > 0 ? kernel->seconds : 0);
    fm_json_text_field(&of, "notes", kernel->notes && kernel->notes[0] ? kernel->notes : NULL);
    fprintf(out, "\n%s}", indent);
    if (!kernel->loads && !kernel->stores && !kernel->flops && !kernel->integer_operations) return;
    of.begun = false;
    fprintf(out, ",\n%s\"counts\": {", indent);
    count_field(&of, "loads", kernel->loads);
    count_field(&of, "stores", kernel->stores);
    count_field(&of, "flops", kernel->flops);
    count_field(&of, "integer_operations", kernel->integer_operations);
    fprintf(out, "\n%s}", indent);
}

/* ---- reading ---- */

static fm_status read_line(fm_json_scan *scan, const char *what, uint32_t *line)
{
    uint64_t wide = 0;
    fm_status status = fm_json_whole(scan, what, &wide);
    if (!status && wide > UINT32_MAX) return fm_json_refuse(scan, "%s: there are not so many lines", what);
    *line = (uint32_t)wide;
    return status;
}

static fm_status read_seconds(fm_json_scan *scan, const char *what, double *seconds)
{
    fm_status status = fm_json_real(scan, what, seconds);
    if (!status && !(*seconds >= 0 && isfinite(*seconds)))
        return fm_json_refuse(scan, "%s: expected a time from 0 on, found another", what);
    return status;
}

/* A number, or a formula. */
static fm_status read_count(fm_json_scan *scan, const char *what, char **count)
{
    fm_json_kind kind = FM_JSON_NUMBER;
    uint64_t number;
    char text[24];
    fm_status status = fm_json_peek(scan, &kind);
    if (!status && kind != FM_JSON_NUMBER) return fm_json_optional_text(scan, what, count);
    if (!status) status = fm_json_whole(scan, what, &number);
    if (status) return status;
    snprintf(text, sizeof text, "%" PRIu64, number);
    free(*count);
    *count = strdup(text);
    return *count ? FM_OK : fm_fail_memory(scan->error, sizeof text, "a count");
}

static fm_status read_kernel_field(fm_json_scan *scan, const char *what, const char *key, bool counts,
                                   fm_kernel *kernel)
{
    struct {
        const char *name;
        char **text;
    } const texts[] = {{"function", &kernel->function},
                       {"file", &kernel->file},
                       {"parameters", &kernel->parameters},
                       {"layout", &kernel->layout},
                       {"certainty", &kernel->certainty},
                       {"method", &kernel->method},
                       {"notes", &kernel->notes},
                       {"loads", &kernel->loads},
                       {"stores", &kernel->stores},
                       {"flops", &kernel->flops},
                       {"integer_operations", &kernel->integer_operations}};
    enum { COUNTS_FROM = 7, TEXTS = 11 };
    for (size_t i = counts ? COUNTS_FROM : 0; i < (counts ? TEXTS : COUNTS_FROM); i++)
        if (strcmp(key, texts[i].name) == 0)
            return counts ? read_count(scan, what, texts[i].text)
                          : fm_json_optional_text(scan, what, texts[i].text);
    if (!counts && strcmp(key, "first_line") == 0) return read_line(scan, what, &kernel->first_line);
    if (!counts && strcmp(key, "last_line") == 0) return read_line(scan, what, &kernel->last_line);
    if (!counts && strcmp(key, "seconds") == 0) return read_seconds(scan, what, &kernel->seconds);
    return fm_json_skip(scan);
}

fm_status fm_kernel_read(fm_json_scan *scan, const char *where, bool counts, fm_kernel **kernel)
{
    const char *name = counts ? "counts" : "kernel";
    char what[128];
    fm_json_list list;
    snprintf(what, sizeof what, "\"%s%s\"", where, name);
    fm_status status = fm_json_enter_object(scan, what, &list);
    if (status) return status;
    if (!*kernel) *kernel = fm_calloc(1, sizeof **kernel); /* the profile's, whatever comes */
    if (!*kernel) return fm_fail_memory(scan->error, sizeof **kernel, "a profile's kernel");
    while (!status) {
        bool more;
        char key[32];
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        snprintf(what, sizeof what, "\"%s%s.%s\"", where, name, key);
        status = read_kernel_field(scan, what, key, counts, *kernel);
    }
    return status;
}

/* ======== runs ======== */

/* The field "run" of a profile: the run of a program that it describes (docs/PROFILE.md). */

void fm_run_destroy(fm_run *run)
{
    if (!run) return;
    free(run->command);
    free(run->collector);
    free(run->what);
    free(run->ending);
    free(run->notes);
    free(run);
}

/* ---- writing ---- */

void fm_run_write(FILE *out, const fm_run *run, const char *indent)
{
    fm_json_fields of = {out, indent, false};
    putc('{', out);
    fm_json_text_field(&of, "command", run->command);
    fm_json_text_field(&of, "collector", run->collector);
    fm_json_text_field(&of, "what", run->what);
    fm_json_text_field(&of, "ending", run->ending);
    if (run->exit_code >= 0) fm_json_number_field(&of, "exit_code", (uint64_t)run->exit_code);
    if (run->signal > 0) fm_json_number_field(&of, "signal", (uint64_t)run->signal);
    if (run->process) fm_json_number_field(&of, "process", run->process);
    if (run->parent) fm_json_number_field(&of, "parent", run->parent);
    if (run->by_exec) {
        fm_json_begin_field(&of, "by_exec");
        fputs("true", out);
    }
    if (run->thread) fm_json_number_field(&of, "thread", run->thread);
    fm_json_begin_field(&of, "seconds");
    fm_json_write_real(out, isfinite(run->seconds) && run->seconds > 0 ? run->seconds : 0);
    fm_json_text_field(&of, "notes", run->notes && run->notes[0] ? run->notes : NULL);
    fprintf(out, "\n%s}", indent);
}

/* ---- reading ---- */

static fm_status read_number(fm_json_scan *scan, const char *what, uint64_t most, uint64_t *value)
{
    fm_status status = fm_json_whole(scan, what, value);
    if (!status && *value > most)
        return fm_json_refuse(scan, "%s: expected a number up to %" PRIu64 ", found %" PRIu64, what, most,
                              *value);
    return status;
}

static fm_status read_small(fm_json_scan *scan, const char *what, uint32_t *value)
{
    uint64_t wide = 0;
    fm_status status = read_number(scan, what, UINT32_MAX, &wide);
    *value = (uint32_t)wide;
    return status;
}

static fm_status read_int(fm_json_scan *scan, const char *what, int *value)
{
    uint64_t wide = 0;
    fm_status status = read_number(scan, what, INT_MAX, &wide);
    *value = (int)wide;
    return status;
}

static fm_status read_run_field(fm_json_scan *scan, const char *what, const char *key, void *context)
{
    fm_run *run = context;
    struct {
        const char *name;
        char **text;
    } const texts[] = {{"command", &run->command},
                       {"collector", &run->collector},
                       {"what", &run->what},
                       {"ending", &run->ending},
                       {"notes", &run->notes}};
    struct {
        const char *name;
        uint32_t *number;
    } const numbers[] = {{"process", &run->process}, {"parent", &run->parent}, {"thread", &run->thread}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].name) == 0) return fm_json_optional_text(scan, what, texts[i].text);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].name) == 0) return read_small(scan, what, numbers[i].number);
    if (strcmp(key, "exit_code") == 0) return read_int(scan, what, &run->exit_code);
    if (strcmp(key, "signal") == 0) return read_int(scan, what, &run->signal);
    if (strcmp(key, "by_exec") == 0) return fm_json_truth(scan, what, &run->by_exec);
    if (strcmp(key, "seconds") == 0) return read_seconds(scan, what, &run->seconds);
    return fm_json_skip(scan);
}

fm_status fm_run_read(fm_json_scan *scan, const char *where, fm_run **run)
{
    fm_run *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(scan->error, sizeof *made, "a profile's run");
    made->exit_code = -1;
    fm_status status = fm_json_read_object(scan, where, "run", read_run_field, made);
    if (status) {
        fm_run_destroy(made);
        return status;
    }
    fm_run_destroy(*run);
    *run = made;
    return FM_OK;
}
