/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_write.c - profiles to JSON, schema fathom-profile-1 (docs/PROFILE.md).
 *
 * The text is streamed: no tree in memory, whatever the number of bins.
 */
#include <fathom/output.h>
#include <fathom/profile.h>

#include "base/error.h"
#include "profile/histogram.h"
#include "profile/json_text.h"

#include <inttypes.h>

/* A profile that breaks its invariant would be refused by every reader: say so where it is made. */
static fm_status check_before_writing(const char *path, const fm_profile *profile, fm_error *error)
{
    uint64_t total, sum;
    if (!fm_histogram_total(&profile->distances, &total) ||
        __builtin_add_overflow(total, profile->cold, &sum) ||
        __builtin_add_overflow(sum, profile->beyond, &sum) || sum != profile->references)
        return fm_fail(error, FM_E_ARGUMENT, path,
                       "the profile does not add up: %" PRIu64 " references, but %" PRIu64 " cold, %" PRIu64
                       " beyond, and the histogram holds the rest wrongly",
                       profile->references, profile->cold, profile->beyond);
    return FM_OK;
}

static void write_histogram(FILE *out, const char *key, const fm_histogram *histogram, const char *indent)
{
    fprintf(out, "%s\"%s\": [", indent, key);
    for (size_t i = 0; i < histogram->count && !ferror(out); i++) {
        const fm_bin *bin = &histogram->bins[i];
        fprintf(out, "%s\n%s  [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", i ? "," : "", indent, bin->lo,
                bin->hi, bin->count);
    }
    if (histogram->count) fprintf(out, "\n%s", indent);
    fputs("],\n", out);
}

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

/* The fields of one profile, without the braces and without a comma at the end. */
static void write_fields(FILE *out, const fm_profile *profile, const char *indent)
{
    fprintf(out, "%s\"schema\": \"fathom-profile-1\",\n", indent);
    if (profile->name) {
        fprintf(out, "%s\"name\": ", indent);
        fm_json_write_string(out, profile->name, FM_JSON_PLAIN);
        fputs(",\n", out);
    }
    fprintf(out, "%s\"engine\": ", indent);
    fm_json_write_string(out, profile->engine ? profile->engine : "", FM_JSON_PLAIN);
    fprintf(out, ",\n%s\"exact\": %s,\n", indent, truth(profile->exact));
    fprintf(out, "%s\"granularity\": %" PRIu64 ",\n", indent, profile->granularity);
    fprintf(out, "%s\"references\": %" PRIu64 ",\n", indent, profile->references);
    fprintf(out, "%s\"distinct\": %" PRIu64 ",\n", indent, profile->distinct);
    fprintf(out, "%s\"cold\": %" PRIu64 ",\n", indent, profile->cold);
    if (profile->bound) {
        fprintf(out, "%s\"bound\": %" PRIu64 ",\n", indent, profile->bound);
        fprintf(out, "%s\"beyond\": %" PRIu64 ",\n", indent, profile->beyond);
        fprintf(out, "%s\"cold_known\": %s,\n", indent, truth(profile->cold_known));
    }
    fprintf(out, "%s\"complete\": %s,\n", indent, truth(profile->complete));
    fprintf(out, "%s\"lost\": %" PRIu64 ",\n", indent, profile->lost);
    if (profile->what_missing) {
        fprintf(out, "%s\"what_missing\": ", indent);
        fm_json_write_string(out, profile->what_missing, FM_JSON_PLAIN);
        fputs(",\n", out);
    }
    write_histogram(out, "histogram", &profile->distances, indent);
    if (profile->has_times) write_histogram(out, "times", &profile->times, indent);
    fprintf(out, "%s\"bins\": \"%s\"", indent, fm_bins_name(profile->bins));
}

fm_status fm_profile_write(const char *path, const fm_profile *const *profiles, size_t count, fm_error *error)
{
    if (count == 0) return fm_fail(error, FM_E_ARGUMENT, path, "no profile to write");
    for (size_t i = 0; i < count; i++) {
        fm_status status = check_before_writing(path, profiles[i], error);
        if (status) return status;
    }
    fm_output *output;
    fm_status status = fm_output_open(&output, path, error);
    if (status) return status;
    FILE *out = fm_output_stream(output);
    fputs("{\n", out);
    write_fields(out, profiles[0], "  ");
    if (count > 1) {
        fputs(",\n  \"profiles\": [", out);
        for (size_t i = 0; i < count && !ferror(out); i++) {
            fputs(i ? ",\n    {\n" : "\n    {\n", out);
            write_fields(out, profiles[i], "      ");
            fputs("\n    }", out);
        }
        fputs("\n  ]", out);
    }
    fputs("\n}\n", out);
    return fm_output_commit(output, error);
}
