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

static fm_status check_cache(fm_json_scan *scan, const char *what, void *object)
{
    if (((const fm_cache *)object)->bytes) return FM_OK;
    return fm_json_refuse(scan, "%.*s.bytes\": expected the size of a cache, found none",
                          (int)strlen(what) - 1, what);
}

#define AT(field) offsetof(fm_cache, field)
_Static_assert(sizeof(((fm_cache *)NULL)->name) == FM_JSON_NAME_SIZE, "names of caches");
static const fm_json_member cache_members[] = {
    FM_JSON_FIELD(fm_cache, name, NAME),
    FM_JSON_ALWAYS(fm_cache, bytes, WHOLE),
    FM_JSON_FIELD(fm_cache, line, WHOLE),
    FM_JSON_FIELD(fm_cache, ways, WHOLE),
    {"shared_by", FM_JSON_WHOLE32, AT(shared_by), .too_large = "there are not so many"},
};
#undef AT
const fm_json_table fm_cache_json = {"a profile's caches", sizeof(fm_cache), FM_JSON_LIST(cache_members),
                                     .check = check_cache};

/* An array of structs, each in a line. */
static void write_lines(fm_json_fields *of, const char *name, const fm_json_table *table, const void *objects,
                        size_t count)
{
    fm_json_begin_field(of, name);
    putc('[', of->out);
    for (size_t i = 0; i < count; i++) {
        fprintf(of->out, "%s\n%s    ", i ? "," : "", of->indent);
        fm_json_write_fields(of->out, table, (const char *)objects + i * table->size, NULL);
    }
    fprintf(of->out, "\n%s  ]", of->indent);
}

void fm_caches_write(fm_json_fields *of, const char *name, const void *profile)
{
    const fm_profile *of_profile = profile;
    write_lines(of, name, &fm_cache_json, of_profile->caches, of_profile->cache_count);
}

typedef struct cache_list {
    fm_profile *profile;
    size_t room;
} cache_list;

static fm_status read_cache(fm_json_scan *scan, const char *what, void *context)
{
    cache_list *to = context;
    fm_profile *profile = to->profile;
    fm_cache cache = {0};
    void *grown = profile->caches;
    char name[128];
    if (profile->cache_count == FM_MOST_STORED_CACHES)
        return fm_json_refuse(scan, "%s: expected at most %d caches, found more", what,
                              (int)FM_MOST_STORED_CACHES);
    snprintf(name, sizeof name, "%.*s[%zu]\"", (int)strlen(what) - 1, what, profile->cache_count);
    fm_status status = fm_json_read_fields(scan, name, &fm_cache_json, &cache);
    if (status) return status;
    if (fm_array_reserve(&grown, &to->room, profile->cache_count + 1, sizeof cache))
        return fm_fail_memory(scan->error, sizeof cache, "a profile's caches");
    profile->caches = grown;
    profile->caches[profile->cache_count++] = cache;
    return FM_OK;
}

fm_status fm_caches_read(fm_json_scan *scan, const char *what, void *profile)
{
    return fm_json_read_elements(scan, what, read_cache, &(cache_list){.profile = profile});
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

/* The slowest resource, what it takes, and the share of the peak that it leaves. */
static void write_slowest(fm_json_fields *of, const fm_bounds_part *part, size_t index, double peak,
                          bool proved)
{
    if (index >= part->count) return;
    const fm_bound *bound = &part->bounds[index];
    fm_json_real_field(of, proved ? "least_seconds" : "model_seconds", bound->seconds);
    fm_json_text_field(of, proved ? "bound_by" : "model_bound_by", bound->resource);
    if (peak > 0 && part->work.flops > 0)
        fm_json_real_field(of, proved ? "peak_share" : "model_peak_share",
                           (double)part->work.flops / bound->seconds / peak);
}

static const fm_json_member nest_members[] = {
    FM_JSON_FIELD(fm_nest, file, OPTIONAL_TEXT),
    FM_JSON_FIELD(fm_nest, first_line, WHOLE32),
    FM_JSON_FIELD(fm_nest, last_line, WHOLE32),
    FM_JSON_ALWAYS(fm_nest, loads, WHOLE),
    FM_JSON_ALWAYS(fm_nest, stores, WHOLE),
    FM_JSON_ALWAYS(fm_nest, flops, WHOLE),
    FM_JSON_ALWAYS(fm_nest, integer_operations, WHOLE),
    FM_JSON_ALWAYS(fm_nest, loaded_bytes, WHOLE),
    FM_JSON_ALWAYS(fm_nest, stored_bytes, WHOLE),
    FM_JSON_ALWAYS(fm_nest, first_touches, WHOLE),
};
const fm_json_table fm_nest_json = {.size = sizeof(fm_nest), FM_JSON_LIST(nest_members)};

static void write_part(FILE *out, const fm_bounds_part *part, double peak, const char *indent)
{
    fm_json_fields of = {out, indent, false};
    putc('{', out);
    fm_json_write_members(&of, &fm_nest_json, &part->work);
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

void fm_bounds_write(fm_json_fields *outer, const char *name, const void *at)
{
    const fm_bounds *bounds = *(fm_bounds *const *)at;
    FILE *out = outer->out;
    char indent[48], inner[48];
    snprintf(indent, sizeof indent, "%s  ", outer->indent);
    snprintf(inner, sizeof inner, "%s    ", outer->indent);
    fm_json_begin_field(outer, name);
    fm_json_fields of = {out, indent, false};
    putc('{', out);
    fm_json_text_field(&of, "machine", bounds->machine);
    if (bounds->flops > 0) fm_json_real_field(&of, "peak_flops", bounds->flops);
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

_Static_assert(sizeof(((fm_set_misses *)NULL)->name) == FM_JSON_NAME_SIZE, "names of caches with sets");
static const fm_json_member set_members[] = {
    FM_JSON_FIELD(fm_set_misses, name, NAME),         FM_JSON_ALWAYS(fm_set_misses, sets, WHOLE),
    FM_JSON_ALWAYS(fm_set_misses, ways, WHOLE),       FM_JSON_ALWAYS(fm_set_misses, line, WHOLE),
    FM_JSON_ALWAYS(fm_set_misses, references, WHOLE), FM_JSON_ALWAYS(fm_set_misses, misses, WHOLE),
    FM_JSON_ALWAYS(fm_set_misses, least, WHOLE),      FM_JSON_ALWAYS(fm_set_misses, most, WHOLE),
    FM_JSON_FIELD(fm_set_misses, certainty, TEXT),
};
const fm_json_table fm_set_misses_json = {.size = sizeof(fm_set_misses), FM_JSON_LIST(set_members)};

void fm_set_misses_write(fm_json_fields *of, const char *name, const void *profile)
{
    const fm_profile *of_profile = profile;
    write_lines(of, name, &fm_set_misses_json, of_profile->set_misses, of_profile->set_count);
}

/* ======== kernels ======== */

/*
 * The fields "kernel" and "counts" of a profile: the source code that it was computed from,
 * and how often that does something (docs/PROFILE.md).
 */

void fm_kernel_destroy(fm_kernel *kernel)
{
    if (kernel) fm_json_clear_fields(&fm_counts_json, kernel);
    fm_json_destroy(&fm_kernel_json, kernel);
}

static bool is_number(const char *text)
{
    size_t length = strspn(text, "0123456789");
    return length > 0 && length < 20 && text[length] == '\0' && (length == 1 || text[0] != '0');
}

/* A number where it is one, a text where it is a formula. */
static void write_count(fm_json_fields *of, const char *name, const void *at)
{
    const char *count = *(char *const *)at;
    if (!count || !is_number(count)) {
        fm_json_text_field(of, name, count);
        return;
    }
    fm_json_begin_field(of, name);
    fputs(count, of->out);
}

static fm_status read_count(fm_json_scan *scan, const char *what, void *at)
{
    char **count = at;
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

#define AT(field) offsetof(fm_kernel, field)
#define COUNT(field)                                                                                         \
    {                                                                                                        \
#field, FM_JSON_OPTIONAL_TEXT, AT(field), .read = read_count, .write = write_count                   \
    }
static const fm_json_member kernel_members[] = {
    FM_JSON_FIELD(fm_kernel, function, OPTIONAL_TEXT),
    FM_JSON_FIELD(fm_kernel, file, OPTIONAL_TEXT),
    {"first_line", FM_JSON_WHOLE32, AT(first_line), .too_large = "there are not so many lines"},
    {"last_line", FM_JSON_WHOLE32, AT(last_line), .too_large = "there are not so many lines"},
    FM_JSON_FIELD(fm_kernel, parameters, OPTIONAL_TEXT),
    FM_JSON_FIELD(fm_kernel, layout, OPTIONAL_TEXT),
    FM_JSON_FIELD(fm_kernel, certainty, OPTIONAL_TEXT),
    FM_JSON_FIELD(fm_kernel, method, OPTIONAL_TEXT),
    FM_JSON_FIELD(fm_kernel, seconds, SECONDS),
    FM_JSON_FIELD(fm_kernel, notes, NOTES),
};
static const fm_json_member count_members[] = {COUNT(loads), COUNT(stores), COUNT(flops),
                                               COUNT(integer_operations)};
#undef COUNT
#undef AT
const fm_json_table fm_kernel_json = {"a profile's kernel", sizeof(fm_kernel), FM_JSON_LIST(kernel_members)};
const fm_json_table fm_counts_json = {"a profile's kernel", sizeof(fm_kernel), FM_JSON_LIST(count_members)};

/* ======== runs ======== */

/* The field "run" of a profile: the run of a program that it describes (docs/PROFILE.md). */

void fm_run_destroy(fm_run *run)
{
    fm_json_destroy(&fm_run_json, run);
}

static const fm_json_member run_members[] = {
    FM_JSON_FIELD(fm_run, command, OPTIONAL_TEXT), FM_JSON_FIELD(fm_run, collector, OPTIONAL_TEXT),
    FM_JSON_FIELD(fm_run, what, OPTIONAL_TEXT),    FM_JSON_FIELD(fm_run, ending, OPTIONAL_TEXT),
    FM_JSON_ALWAYS(fm_run, exit_code, INT),        FM_JSON_FIELD(fm_run, signal, INT),
    FM_JSON_FIELD(fm_run, process, WHOLE32),       FM_JSON_FIELD(fm_run, parent, WHOLE32),
    FM_JSON_FIELD(fm_run, by_exec, BOOL),          FM_JSON_FIELD(fm_run, thread, WHOLE32),
    FM_JSON_FIELD(fm_run, seconds, SECONDS),       FM_JSON_FIELD(fm_run, notes, NOTES),
};
const fm_json_table fm_run_json = {"a profile's run", sizeof(fm_run), FM_JSON_LIST(run_members)};
