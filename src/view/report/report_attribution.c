/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_attribution.c - which code re-uses data too late, as JSON: writes what report_selection.c has
 * chosen.
 *
 * Everything is streamed; sums over places are made one place at a time, from pairs sorted by place.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "profile/attribution_parts.h"
#include "view/miss_table.h"
#include "view/report/report_parts.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ======== report names ======== */

static void write_module(FILE *out, const fm_module *module)
{
    fputs("{\"path\":", out);
    fm_json_write_string(out, module->path, FM_JSON_IN_HTML);
    fputs(",\"buildId\":", out);
    fm_json_write_string(out, module->build_id, FM_JSON_IN_HTML);
    if (module->unseen) fputs(",\"unseen\":true", out);
    putc('}', out);
}

/* Names of functions without parameters and template arguments; the whole ones where they differ. Those that
 * no place on the page has are 0. */
static fm_status write_functions(FILE *out, const fm_places *places, const fm_selection *selection,
                                 fm_error *error)
{
    const fm_numbering *names = &places->names;
    size_t longest = 0;
    for (size_t i = 0; i < names->table.count; i++)
        if (fm_numbering_bytes(names, i).length > longest) longest = fm_numbering_bytes(names, i).length;
    char *name = fm_calloc(longest + 1, 1);
    bool *used = fm_calloc(names->table.count, sizeof *used);
    if (!name || !used) {
        free(name);
        free(used);
        return fm_fail_memory(error, longest + 1 + names->table.count, "the names of functions");
    }
    for (size_t i = 0; i < selection->places.count; i++)
        fm_places_mark_names(places, selection->places.indices[i], used);
    fputs("\"names\":[", out);
    for (size_t i = 0; i < names->table.count; i++) {
        if (i) putc(',', out);
        if (!used[i]) {
            putc('0', out);
            continue;
        }
        fm_json_write_string(out, fm_function_name_shorten(fm_numbering_text(names, i), name, longest + 1),
                             FM_JSON_IN_HTML);
    }
    fputs("],\"fullNames\":[", out);
    bool first = true;
    for (size_t i = 0; i < names->table.count; i++) {
        const char *whole = fm_numbering_text(names, i);
        if (!used[i]) continue;
        if (strcmp(fm_function_name_shorten(whole, name, longest + 1), whole) == 0) continue;
        fprintf(out, "%s[%zu,", first ? "" : ",", i);
        fm_json_write_string(out, whole, FM_JSON_IN_HTML);
        putc(']', out);
        first = false;
    }
    fputs("],", out);
    free(name);
    free(used);
    return FM_OK;
}

/* The fields modules, names and fullNames of report_attribution.h, each with a comma behind it.
 */
static fm_status report_write_names(FILE *out, const fm_places *places, const fm_selection *selection,
                                    fm_error *error)
{
    const fm_attribution *attribution = places->attribution;
    fputs("\"modules\":[", out);
    for (size_t i = 0; i < attribution->module_count; i++) {
        if (i) putc(',', out);
        write_module(out, &attribution->modules[i]);
    }
    fputs("],", out);
    return write_functions(out, places, selection, error);
}

/* ======== report attribution ======== */

typedef struct writer {
    FILE *out;
    const fm_attribution *attribution;
    const fm_places *places;
    const fm_selection *selection;
    fm_edges edges;
    uint64_t *sum; /* cold, beyond, then a count for each range */
} writer;

/* ---- histograms ---- */

static void sum_clear(const writer *w)
{
    memset(w->sum, 0, (w->edges.count + 2) * sizeof *w->sum);
}

static void sum_add(const writer *w, const fm_counts *counts)
{
    w->sum[0] += counts->cold;
    w->sum[1] += counts->beyond;
    for (size_t i = 0; i < counts->bin_count; i++)
        w->sum[2 + fm_edges_index(w->edges, counts->bins[i].lo)] += counts->bins[i].count;
}

/* A page has hundreds of thousands of numbers: fprintf would be most of the time. */
static void digits_write(FILE *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    fwrite(digits + at, 1, sizeof digits - at, out);
}

/* Without brackets. */
static void sum_write(const writer *w)
{
    digits_write(w->out, w->sum[0]);
    putc(',', w->out);
    digits_write(w->out, w->sum[1]);
    for (size_t i = 0; i < w->edges.count; i++)
        if (w->sum[2 + i]) {
            putc(',', w->out);
            digits_write(w->out, i);
            putc(',', w->out);
            digits_write(w->out, w->sum[2 + i]);
        }
}

static void sum_field(const writer *w, const char *key)
{
    fprintf(w->out, "\"%s\":[", key);
    sum_write(w);
    fputs("],", w->out);
}

static void counts_write(const writer *w, const fm_counts *counts)
{
    sum_clear(w);
    sum_add(w, counts);
    sum_write(w);
}

/* ---- places ---- */

static uint32_t place_of(const writer *w, uint32_t site)
{
    return site == FM_NONE ? FM_NONE : w->places->of_site[site];
}

/* The histograms of all places, of the pairs' one end or the other: pairs by place, then place by place. */
static fm_status write_place_sums(const writer *w, const char *key, bool reuse, fm_error *error)
{
    const fm_attribution *from = w->attribution;
    size_t place_count = w->places->keys.table.count;
    size_t *begin = fm_calloc(place_count + 2, sizeof *begin);
    uint32_t *order = fm_calloc(from->pair_count, sizeof *order);
    if (!begin || !order) {
        free(begin);
        free(order);
        return fm_fail_memory(error, from->pair_count * sizeof *order, "pairs by place");
    }
    for (size_t i = 0; i < from->pair_count; i++) {
        uint32_t place = place_of(w, reuse ? from->pairs[i].reuse : from->pairs[i].use);
        if (place != FM_NONE) begin[place + 2]++;
    }
    for (size_t i = 2; i < place_count + 2; i++) begin[i] += begin[i - 1];
    for (size_t i = 0; i < from->pair_count; i++) {
        uint32_t place = place_of(w, reuse ? from->pairs[i].reuse : from->pairs[i].use);
        if (place != FM_NONE) order[begin[place + 1]++] = (uint32_t)i;
    }
    fprintf(w->out, "\"%s\":[", key);
    for (size_t i = 0; i < w->selection->places.count; i++) {
        uint32_t place = w->selection->places.indices[i];
        sum_clear(w);
        for (size_t at = begin[place]; at < begin[place + 1]; at++) {
            fm_counts counts = fm_pair_counts(&from->pairs[order[at]]);
            sum_add(w, &counts);
        }
        fputs(i ? ",[" : "[", w->out);
        sum_write(w);
        putc(']', w->out);
    }
    fputs("],", w->out);
    free(begin);
    free(order);
    return FM_OK;
}

static fm_status write_places(const writer *w, fm_error *error)
{
    fputs("\"places\":[", w->out);
    for (size_t i = 0; i < w->selection->places.count; i++) {
        if (i) putc(',', w->out);
        fm_places_write(w->out, w->places, w->selection->places.indices[i]);
    }
    fputs("],\"own\":[", w->out);
    for (size_t i = 0; i < w->selection->places.count; i++) {
        const uint32_t site = w->places->example[w->selection->places.indices[i]];
        fprintf(w->out, "%s%zu", i ? "," : "", fm_place_own_frame(&w->attribution->sites[site]));
    }
    fputs("],", w->out);
    fm_status status = write_place_sums(w, "reuse", true, error);
    if (!status) status = write_place_sums(w, "use", false, error);
    return status;
}

/* ---- sites, paths, pairs ---- */

static void write_number(FILE *out, uint32_t number)
{
    if (number == FM_NONE)
        fputs("-1", out);
    else
        digits_write(out, number);
}

static uint32_t mapped_index(const fm_subset *subset, uint32_t index)
{
    return index == FM_NONE ? FM_NONE : subset->map[index];
}

static void write_sites(const writer *w)
{
    fputs("\"sites\":[", w->out);
    for (size_t i = 0; i < w->selection->sites.count; i++) {
        uint32_t number = w->selection->sites.indices[i];
        const fm_site *site = &w->attribution->sites[number];
        fputs(i ? ",[" : "[", w->out);
        write_number(w->out, mapped_index(&w->selection->places, w->places->of_site[number]));
        putc(',', w->out);
        write_number(w->out, site->module);
        fprintf(w->out, ",\"%" PRIx64 "\",", site->address);
        write_number(w->out, mapped_index(&w->selection->paths, site->path));
        if (site->frame_count && site->frames[0].column) fprintf(w->out, ",%" PRIu32, site->frames[0].column);
        putc(']', w->out);
    }
    fputs("],\"paths\":[", w->out);
    for (size_t i = 0; i < w->selection->paths.count; i++) {
        const fm_call_path *path = &w->attribution->paths[w->selection->paths.indices[i]];
        fputs(i ? ",[" : "[", w->out);
        write_number(w->out, mapped_index(&w->selection->paths, path->parent));
        putc(',', w->out);
        write_number(w->out, mapped_index(&w->selection->sites, path->call));
        putc(']', w->out);
    }
    fputs("],", w->out);
}

static void write_pairs(const writer *w)
{
    sum_clear(w);
    for (size_t i = 0; i < w->attribution->pair_count; i++) {
        fm_counts counts = fm_pair_counts(&w->attribution->pairs[i]);
        sum_add(w, &counts);
    }
    sum_field(w, "all");
    fputs("\"pairs\":[", w->out);
    for (size_t i = 0; i < w->selection->pairs.count; i++) {
        const fm_pair *pair = &w->attribution->pairs[w->selection->pairs.indices[i]];
        fm_counts counts = fm_pair_counts(pair);
        fputs(i ? ",[" : "[", w->out);
        write_number(w->out, mapped_index(&w->selection->sites, pair->use));
        putc(',', w->out);
        write_number(w->out, mapped_index(&w->selection->sites, pair->reuse));
        putc(',', w->out);
        counts_write(w, &counts);
        putc(']', w->out);
    }
    fputs("],", w->out);
}

/* How sure they are: [pair, error, samples] of those on the page that are estimated. */
static void write_pair_errors(const writer *w)
{
    if (w->attribution->pair_error_count == 0) return;
    bool first = true;
    fputs("\"pairErrors\":[", w->out);
    for (size_t i = 0; i < w->selection->pairs.count; i++) {
        const fm_pair_error *error =
            fm_pair_error_of(w->attribution, &w->attribution->pairs[w->selection->pairs.indices[i]]);
        if (!error) continue;
        fprintf(w->out, "%s[%zu,%" PRIu64 ",%" PRIu64 "]", first ? "" : ",", i, error->error, error->samples);
        first = false;
    }
    fputs("],", w->out);
}

/* ---- objects ---- */

static void write_object(const writer *w, const fm_object *object)
{
    static const char *const kinds[] = {"global", "heap",         "stack", "module",
                                        "other",  "thread-local", "array"};
    size_t kind =
        (size_t)object->kind < sizeof kinds / sizeof *kinds ? (size_t)object->kind : FM_OBJECT_OTHER;
    fprintf(w->out, "{\"kind\":\"%s\",\"name\":", kinds[kind]);
    fm_json_write_string(w->out, object->name, FM_JSON_IN_HTML);
    fputs(",\"module\":", w->out);
    write_number(w->out, object->module);
    fprintf(w->out, ",\"address\":\"%" PRIx64 "\",\"size\":%" PRIu64 ",\"blocks\":%" PRIu64 ",\"path\":",
            object->address, object->size, object->blocks);
    write_number(w->out, mapped_index(&w->selection->paths, object->allocation));
    fprintf(w->out, ",\"thread\":%" PRIu32 ",", object->thread);
    if (object->samples)
        fprintf(w->out, "\"error\":%" PRIu64 ",\"samples\":%" PRIu64 ",", object->error, object->samples);
}

/* The uses of all objects, by object, for sums of all of them. */
static fm_status write_objects(const writer *w, fm_error *error)
{
    const fm_attribution *from = w->attribution;
    size_t columns = w->edges.count + 2;
    uint64_t *sums = fm_calloc(from->object_count + 1, columns * sizeof *sums);
    if (!sums)
        return fm_fail_memory(error, (from->object_count + 1) * columns * sizeof *sums, "objects' misses");
    for (size_t i = 0; i < from->object_use_count; i++) {
        fm_counts counts = fm_use_counts(&from->object_uses[i]);
        uint32_t kept = w->selection->objects.map[from->object_uses[i].object];
        writer one = *w;
        one.sum = sums + (kept == FM_NONE ? from->object_count : from->object_uses[i].object) * columns;
        sum_add(&one, &counts);
    }
    fputs("\"objects\":[", w->out);
    for (size_t i = 0; i < w->selection->objects.count; i++) {
        writer one = *w;
        one.sum = sums + w->selection->objects.indices[i] * columns;
        if (i) putc(',', w->out);
        write_object(w, &from->objects[w->selection->objects.indices[i]]);
        fputs("\"all\":[", w->out);
        sum_write(&one);
        fputs("]}", w->out);
    }
    fputs("],", w->out);
    writer rest = *w;
    rest.sum = sums + from->object_count * columns;
    sum_field(&rest, "otherObjects");
    free(sums);

    fputs("\"uses\":[", w->out);
    for (size_t i = 0; i < w->selection->uses.count; i++) {
        const fm_object_use *use = &from->object_uses[w->selection->uses.indices[i]];
        fm_counts counts = fm_use_counts(use);
        fputs(i ? ",[" : "[", w->out);
        write_number(w->out, mapped_index(&w->selection->objects, use->object));
        putc(',', w->out);
        write_number(w->out, mapped_index(&w->selection->sites, use->site));
        putc(',', w->out);
        counts_write(w, &counts);
        putc(']', w->out);
    }
    fputs("],", w->out);
    return FM_OK;
}

/* ---- latencies ---- */

enum { LATENCY_COLUMNS = 3 + FM_MEMORY_LEVELS };

/* [place, samples, timed, cycles, levels…] of each place that is on the page; place -1: all others. */
static fm_status write_latencies(const writer *w, fm_error *error)
{
    const fm_attribution *from = w->attribution;
    const size_t rest = w->selection->places.count;
    if (from->latency_count == 0) return FM_OK;
    uint64_t *sums = fm_calloc(rest + 1, LATENCY_COLUMNS * sizeof *sums);
    if (!sums) return fm_fail_memory(error, (rest + 1) * LATENCY_COLUMNS * sizeof *sums, "latencies");
    for (size_t i = 0; i < from->latency_count; i++) {
        const fm_site_latency *one = &from->latencies[i];
        const uint32_t kept = mapped_index(&w->selection->places, place_of(w, one->site));
        uint64_t *sum = sums + (kept == FM_NONE ? rest : kept) * LATENCY_COLUMNS;
        sum[0] += one->samples;
        sum[1] += one->timed;
        sum[2] += one->cycles;
        for (size_t level = 0; level < FM_MEMORY_LEVELS; level++) sum[3 + level] += one->levels[level];
    }
    fputs("\"latencies\":[", w->out);
    bool first = true;
    for (size_t i = 0; i <= rest; i++) {
        const uint64_t *sum = sums + i * LATENCY_COLUMNS;
        if (sum[0] == 0) continue;
        fputs(first ? "[" : ",[", w->out);
        first = false;
        write_number(w->out, i < rest ? (uint32_t)i : FM_NONE);
        for (size_t k = 0; k < LATENCY_COLUMNS; k++) fprintf(w->out, ",%" PRIu64, sum[k]);
        putc(']', w->out);
    }
    fputs("],", w->out);
    free(sums);
    return FM_OK;
}

/* ---- what was left out ---- */

static void write_left(const writer *w)
{
    const fm_attribution *from = w->attribution;
    const fm_selection *chosen = w->selection;
    size_t at = 0;
    sum_clear(w);
    for (size_t i = 0; i < from->pair_count; i++) {
        if (at < chosen->pairs.count && chosen->pairs.indices[at] == i) {
            at++;
            continue;
        }
        fm_counts counts = fm_pair_counts(&from->pairs[i]);
        sum_add(w, &counts);
    }
    fprintf(w->out, "\"left\":{\"pairs\":%zu,", from->pair_count - chosen->pairs.count);
    sum_field(w, "rest");
    fputs("\"covered\":", w->out);
    fm_json_write_real(w->out, chosen->pairs.covered);
    fprintf(w->out,
            ",\"places\":%zu,\"placeReferences\":%" PRIu64 ",\"objects\":%zu,\"uses\":%zu,\"usesCovered\":",
            chosen->left_places, chosen->left_references, chosen->left_objects,
            from->object_use_count - chosen->uses.count);
    fm_json_write_real(w->out, chosen->uses.covered);
    putc('}', w->out);
}

static fm_status write_all(const writer *w, fm_error *error)
{
    putc('{', w->out);
    fputs("\"edges\":[", w->out);
    for (size_t i = 0; i < w->edges.count; i++)
        fprintf(w->out, "%s%" PRIu64, i ? "," : "", w->edges.edges[i]);
    fprintf(w->out, "],\"lateFrom\":%" PRIu64 ",", w->attribution->late_from);
    fm_status status = report_write_names(w->out, w->places, w->selection, error);
    if (!status) status = write_places(w, error);
    if (status) return status;
    write_sites(w);
    write_pairs(w);
    write_pair_errors(w);
    status = write_objects(w, error);
    if (!status) status = write_latencies(w, error);
    if (status) return status;
    write_left(w);
    putc('}', w->out);
    return FM_OK;
}

fm_status fm_report_write_attribution(FILE *out, const fm_attribution *attribution, fm_source_files *files,
                                      size_t most, fm_error *error)
{
    static const uint64_t none[] = {0};
    fm_edges edges = {attribution->edge_count, attribution->edges};
    if (edges.count == 0) edges = (fm_edges){1, none};
    fm_places places;
    fm_status status = fm_places_make(&places, attribution, files, error);
    if (status) return status;
    fm_selection selection;
    status = fm_selection_make(&selection, &places, files, edges, most, error);
    if (status == FM_OK) {
        writer w = {out,        attribution, &places,
                    &selection, edges,       fm_calloc(edges.count + 2, sizeof(uint64_t))};
        status = w.sum ? write_all(&w, error)
                       : fm_fail_memory(error, (edges.count + 2) * sizeof(uint64_t), "a histogram");
        free(w.sum);
        fm_selection_clear(&selection);
    }
    fm_places_clear(&places);
    return status;
}
