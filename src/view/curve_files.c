/* SPDX-License-Identifier: Apache-2.0 */
/* curve_files.c - the miss-ratio curve for other programs: CSV and JSON, every edge of it. */
#include <fathom/view.h>

#include "base/error.h"
#include "base/json_text.h"
#include "profile/accuracy.h"
#include "view/cache_fit.h"
#include "view/text.h"

#include <inttypes.h>

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
        fm_accuracy_write(out, profile->accuracy, "  ");
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
