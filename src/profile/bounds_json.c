/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_json.c - the field "bounds" of a profile: the least times on a machine (docs/PROFILE.md). */
#include "profile/attribution/attribution_json.h"

#include "base/json.h"

#include <stdlib.h>

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
