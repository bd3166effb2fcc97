/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.c - for other programs: every pair of sites as a line of CSV; curves as CSV and JSON; comparisons as
 * JSON, and as text. callgrind.c has the costs by line.
 */
#include <fathom/view.h>

#include "base/error.h"
#include "base/json.h"
#include "base/plain_text.h"
#include "profile/attribution_parts.h"
#include "profile/profile_parts.h"
#include "view/miss_table.h"
#include "view/text.h"

#include <inttypes.h>
#include <string.h>

/* A text behind `before`, which is "" for the first one of a cell. */
static void write_next(FILE *out, const char *before, const char *text)
{
    fputs(before, out);
    if (before[0] == '\0')
        fm_csv_write_first(out, text);
    else
        fm_csv_write_part(out, text);
}

/* "function (file.c:12)" as a piece of a quoted cell. */
static void write_frame(FILE *out, const fm_frame *frame, const char *before)
{
    write_next(out, before, frame->function ? frame->function : "?");
    if (!frame->file) return;
    fputs(" (", out);
    fm_csv_write_part(out, fm_base_name(frame->file));
    if (frame->line) fprintf(out, ":%" PRIu32, frame->line);
    putc(')', out);
}

static void write_inlined(FILE *out, const fm_site *site)
{
    if (site->frame_count < 2) return;
    fm_csv_begin_cell(out);
    for (size_t i = 1; i < site->frame_count; i++) write_frame(out, &site->frames[i], i > 1 ? " < " : "");
    fm_csv_end_cell(out);
}

static void write_path(FILE *out, const fm_attribution *of, uint32_t path)
{
    if (path == FM_NONE) return;
    const char *before = "";
    fm_csv_begin_cell(out);
    for (; path != FM_NONE; path = of->paths[path].parent) {
        const fm_site *call = &of->sites[of->paths[path].call];
        for (size_t i = 0; i < call->frame_count; i++, before = " < ")
            write_frame(out, &call->frames[i], before);
        if (call->frame_count == 0) {
            char text[512];
            write_next(out, before, fm_site_text(of, of->paths[path].call, text, sizeof text));
            before = " < ";
        }
    }
    fm_csv_end_cell(out);
}

/* Seven cells, all empty where the site is not known, and a comma behind each. */
static void write_site(FILE *out, const fm_attribution *of, uint32_t number)
{
    if (number == FM_NONE) {
        fputs(",,,,,,,", out);
        return;
    }
    const fm_site *site = &of->sites[number];
    const fm_frame *frame = site->frame_count ? &site->frames[0] : NULL;
    fm_csv_write_cell(out, frame && frame->function ? frame->function : site->symbol);
    putc(',', out);
    fm_csv_write_cell(out, frame ? frame->file : NULL);
    putc(',', out);
    if (frame && frame->line) fprintf(out, "%" PRIu32, frame->line);
    putc(',', out);
    write_inlined(out, site);
    putc(',', out);
    fm_csv_write_cell(out, site->module == FM_NONE ? NULL : of->modules[site->module].path);
    putc(',', out);
    if (!fm_site_is_place(site)) fprintf(out, "0x%" PRIx64, site->address);
    putc(',', out);
    write_path(out, of, site->path);
    putc(',', out);
}

static void write_header(FILE *out, const fm_cache *caches, size_t count)
{
    static const char *const cells[] = {"function", "file",    "line",       "inlined_into",
                                        "module",   "address", "called_from"};
    for (size_t i = 0; i < 14; i++) fprintf(out, "%s_%s,", i < 7 ? "use" : "reuse", cells[i % 7]);
    fputs("count,cold,beyond", out);
    for (size_t i = 0; i < count; i++) {
        char name[sizeof caches[i].name + 8];
        snprintf(name, sizeof name, "misses_%.*s", (int)sizeof caches[i].name, caches[i].name);
        putc(',', out);
        fm_csv_write_cell(out, name);
    }
    putc('\n', out);
}

/* With three decimals where it is an estimate; a point before them in every locale. */
static void write_misses(FILE *out, double misses)
{
    uint64_t whole = misses < 1.8e19 ? (uint64_t)misses : UINT64_MAX;
    fprintf(out, "%" PRIu64, whole);
    unsigned thousandths = (unsigned)((misses - (double)whole) * 1000);
    if (thousandths > 0 && thousandths < 1000) fprintf(out, ".%03u", thousandths);
}

fm_status fm_view_pairs_csv(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                            fm_error *error)
{
    FM_REQUIRE(profile, error);
    const fm_attribution *of = profile->attribution;
    fm_status status = fm_miss_table_check(profile, true, NULL, error);
    if (status) return status;
    write_header(out, caches, count);
    for (size_t i = 0; i < of->pair_count && !ferror(out); i++) {
        const fm_pair *pair = &of->pairs[i];
        write_site(out, of, pair->use);
        write_site(out, of, pair->reuse);
        fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, pair->count, pair->cold, pair->beyond);
        for (size_t j = 0; j < count; j++) {
            putc(',', out);
            double misses =
                fm_pair_misses(pair, caches[j].bytes / (profile->granularity ? profile->granularity : 1));
            write_misses(out, misses);
        }
        putc('\n', out);
    }
    return FM_OK;
}

/*
 * ======== curve files ========
 * The miss-ratio curve for other programs: CSV and JSON, every edge of it.
 */

fm_status fm_view_curve_csv(FILE *out, const fm_profile *profile, fm_error *error)
{
    FM_REQUIRE(profile, error);
    fm_curve curve;
    fm_status status = fm_curve_create(&curve, profile, error);
    if (status) return status;
    fputs("cache_blocks,cache_bytes,misses,miss_ratio\n", out);
    for (size_t i = 0; i < curve.count && !ferror(out); i++) {
        const fm_curve_point *point = &curve.points[i];
        fprintf(out, "%" PRIu64 ",%s,%.0f,", point->blocks,
                fm_text_exact_bytes(point->blocks, profile->granularity).text, point->misses);
        fm_json_write_real(out, point->ratio);
        putc('\n', out);
    }
    fm_curve_clear(&curve);
    return FM_OK;
}

static void write_cache(FILE *out, const fm_profile *profile, const fm_cache *cache)
{
    fm_cache_fit fit = fm_cache_fit_make(profile, cache);
    fputs("{\"name\": ", out);
    fm_json_write_string(out, cache->name, FM_JSON_PLAIN);
    fprintf(out, ", \"bytes\": %" PRIu64 ", \"blocks\": %" PRIu64, cache->bytes, fit.blocks);
    if (cache->line) fprintf(out, ", \"line\": %" PRIu64, cache->line);
    if (cache->ways) fprintf(out, ", \"ways\": %" PRIu64, cache->ways);
    if (cache->shared_by) fprintf(out, ", \"shared_by\": %u", cache->shared_by);
    fprintf(out, ", \"known\": %s, \"misses\": ", fit.misses.known ? "true" : "false");
    fm_json_write_real(out, fit.misses.expected);
    fprintf(out, ", \"misses_least\": %" PRIu64 ", \"misses_most\": %" PRIu64 ", \"miss_ratio\": ",
            fit.misses.least, fit.misses.most);
    fm_json_write_real(out, fit.ratio);
    if (fit.has_band) {
        fputs(", \"miss_ratio_band\": [", out);
        fm_json_write_real(out, fit.least);
        fputs(", ", out);
        fm_json_write_real(out, fit.most);
        putc(']', out);
    }
    if (fit.estimated) {
        fprintf(out, ", \"sets\": %" PRIu64 ", \"miss_ratio_set_associative_estimate\": ", fit.sets);
        fm_json_write_real(out, fit.estimate);
    }
    putc('}', out);
}

fm_status fm_view_curve_json(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                             fm_error *error)
{
    FM_REQUIRE(profile, error);
    fm_curve curve;
    fm_status status = fm_curve_create(&curve, profile, error);
    if (status) return status;
    fputs("{\n  \"schema\": \"fathom-mrc-1\",\n  \"name\": ", out);
    fm_json_write_string(out, profile->name, FM_JSON_PLAIN);
    fputs(",\n  \"engine\": ", out);
    fm_json_write_string(out, profile->engine, FM_JSON_PLAIN);
    fprintf(out, ",\n  \"exact\": %s", profile->exact ? "true" : "false");
    if (profile->accuracy) {
        fputs(",\n  \"accuracy\": ", out);
        fm_json_write_fields(out, &fm_accuracy_json, profile->accuracy, "  ");
    }
    fprintf(out,
            ",\n  \"granularity\": %" PRIu64 ",\n  \"references\": %" PRIu64 ",\n  \"distinct\": %" PRIu64
            ",\n  \"cold\": %" PRIu64 ",\n",
            profile->granularity, profile->references, profile->distinct, profile->cold);
    if (profile->bound)
        fprintf(out, "  \"bound\": %" PRIu64 ",\n  \"beyond\": %" PRIu64 ",\n", profile->bound,
                profile->beyond);
    fprintf(out, "  \"complete\": %s,\n  \"lost\": %" PRIu64 ",\n  \"caches\": [",
            profile->complete ? "true" : "false", profile->lost);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        write_cache(out, profile, &caches[i]);
    }
    fputs(count ? "\n  ],\n" : "],\n", out);
    fputs("  \"curve_columns\": [\"cache_blocks\", \"misses\", \"miss_ratio\"],\n  \"curve\": [", out);
    for (size_t i = 0; i < curve.count && !ferror(out); i++) {
        const fm_curve_point *point = &curve.points[i];
        fprintf(out, "%s\n    [%" PRIu64 ", %.0f, %.9g]", i ? "," : "", point->blocks, point->misses,
                point->ratio);
    }
    fputs("\n  ]\n}\n", out);
    fm_curve_clear(&curve);
    return FM_OK;
}

/*
 * ======== comparison ========
 * How alike two profiles are, for people and for programs.
 */

void fm_view_comparison_sized(size_t given_size, FILE *out, const fm_comparison *given, const char *name_a,
                              const char *name_b)
{
    fm_comparison known;
    fm_sized_copy(&known, sizeof known, given, given_size);
    const fm_comparison *comparison = &known;
    fputs("A  ", out);
    fm_text_write_name(out, name_a, false);
    fputs("\nB  ", out);
    fm_text_write_name(out, name_b, false);
    fputs("\n\n1 is alike:\n", out);
    fprintf(out, "  overlap        %.6f  1 - E/2 of Ding & Zhong; all references, finest common bins\n",
            comparison->overlap);
    fprintf(out, "  overlap, log2  %.6f  the same on power-of-two bins, as fathom predict expects it\n",
            comparison->overlap_log2);
    fprintf(out, "  similarity     %.6f  S of RDX; reuses, power-of-two bins\n", comparison->similarity);
    fprintf(out, "  smoothed       %.6f  S^ of RDX; the same over pairs of adjacent bins\n",
            comparison->similarity_smoothed);
    fputs("0 is alike:\n", out);
    fprintf(out, "  average error  %.6f  of HP-RDA; mean difference of the power-of-two bins' shares\n",
            comparison->average_error);
    fprintf(out, "  curve, largest %.6f  difference of the miss ratios, at %s blocks\n",
            comparison->curve_largest, fm_text_count(comparison->curve_largest_at).text);
    fprintf(out, "  curve, mean    %.6f  over log-spaced sizes from 1 block to the larger footprint\n",
            comparison->curve_mean);
}

void fm_view_comparison_json_sized(size_t given_size, FILE *out, const fm_comparison *given,
                                   const char *name_a, const char *name_b)
{
    fm_comparison known;
    fm_sized_copy(&known, sizeof known, given, given_size);
    const fm_comparison *comparison = &known;
    fputs("{\n  \"schema\": \"fathom-comparison-1\",\n  \"a\": ", out);
    fm_json_write_string(out, name_a, FM_JSON_PLAIN);
    fputs(",\n  \"b\": ", out);
    fm_json_write_string(out, name_b, FM_JSON_PLAIN);
    fprintf(out, ",\n  \"a_exact\": %s,\n  \"b_exact\": %s", comparison->a_exact ? "true" : "false",
            comparison->b_exact ? "true" : "false");
    const struct {
        const char *key;
        double value;
    } fields[] = {{"overlap", comparison->overlap},
                  {"overlap_log2", comparison->overlap_log2},
                  {"similarity", comparison->similarity},
                  {"similarity_smoothed", comparison->similarity_smoothed},
                  {"average_error", comparison->average_error},
                  {"curve_largest", comparison->curve_largest},
                  {"curve_mean", comparison->curve_mean}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        fprintf(out, ",\n  \"%s\": ", fields[i].key);
        fm_json_write_real(out, fields[i].value);
    }
    fprintf(out, ",\n  \"curve_largest_at\": %" PRIu64 "\n}\n", comparison->curve_largest_at);
}
