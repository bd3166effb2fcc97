/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_write.c - profiles to JSON, schema fathom-profile-1 (docs/PROFILE.md).
 *
 * The text is streamed: no tree in memory, whatever the number of bins and pairs.
 */
#include <fathom/output.h>
#include <fathom/profile.h>

#include "base/error.h"
#include "base/json.h"
#include "profile/attribution_parts.h"
#include "profile/profile_parts.h"

#include <inttypes.h>

/* A profile that breaks its invariant would be refused by every reader: say so where it is made. */
static fm_status check_before_writing(const char *path, const fm_profile *profile, unsigned depth,
                                      fm_error *error)
{
    uint64_t total, sum;
    if (!fm_histogram_total(&profile->distances, &total) ||
        __builtin_add_overflow(total, profile->cold, &sum) ||
        __builtin_add_overflow(sum, profile->beyond, &sum) || sum != profile->references)
        return fm_fail(error, FM_E_ARGUMENT, path,
                       "the profile does not add up: %" PRIu64 " references, but %" PRIu64 " cold, %" PRIu64
                       " beyond, and the histogram holds the rest wrongly",
                       profile->references, profile->cold, profile->beyond);
    char why[300];
    if (profile->attribution && !fm_attribution_sound(profile, why, sizeof why))
        return fm_fail(error, FM_E_ARGUMENT, path, "the profile's attribution is unsound: %s", why);
    const fm_law *law = fm_law_broken(profile, FM_LAWS_ANY, why, sizeof why);
    if (law)
        return fm_fail(error, FM_E_ARGUMENT, path, "the profile breaks the law \"%s\" (%s): %s", law->name,
                       law->says, why);
    if (profile->part_count && depth == FM_DEEPEST_PART)
        return fm_fail(error, FM_E_ARGUMENT, path, "the profile has parts of parts deeper than %d",
                       (int)FM_DEEPEST_PART);
    for (size_t i = 0; i < profile->part_count; i++) {
        fm_status status = check_before_writing(path, profile->parts[i], depth + 1, error);
        if (status) return status;
    }
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

static const char *writer_truth(bool value)
{
    return value ? "true" : "false";
}

static void write_text(FILE *out, const char *key, const char *text, const char *indent)
{
    if (!text) return;
    fprintf(out, "%s\"%s\": ", indent, key);
    fm_json_write_string(out, text, FM_JSON_PLAIN);
    fputs(",\n", out);
}

/* Counts and histograms, which every profile has. Without the braces and without a comma at the end. */
static void write_counts(FILE *out, const fm_profile *profile, const char *indent)
{
    fprintf(out, "%s\"schema\": \"fathom-profile-1\",\n", indent);
    write_text(out, "name", profile->name, indent);
    write_text(out, "engine", profile->engine ? profile->engine : "", indent);
    fprintf(out, "%s\"exact\": %s,\n", indent, writer_truth(profile->exact));
    if (profile->accuracy) {
        fprintf(out, "%s\"accuracy\": ", indent);
        fm_accuracy_write(out, profile->accuracy, indent);
        fputs(",\n", out);
    }
    if (profile->sampling) {
        fprintf(out, "%s\"sampling\": ", indent);
        fm_sampling_write(out, profile->sampling, indent);
        fputs(",\n", out);
    }
    fprintf(out, "%s\"granularity\": %" PRIu64 ",\n", indent, profile->granularity);
    if (profile->elements) fprintf(out, "%s\"elements\": true,\n", indent);
    fprintf(out, "%s\"references\": %" PRIu64 ",\n", indent, profile->references);
    fprintf(out, "%s\"distinct\": %" PRIu64 ",\n", indent, profile->distinct);
    fprintf(out, "%s\"cold\": %" PRIu64 ",\n", indent, profile->cold);
    if (profile->bound) {
        fprintf(out, "%s\"bound\": %" PRIu64 ",\n", indent, profile->bound);
        fprintf(out, "%s\"beyond\": %" PRIu64 ",\n", indent, profile->beyond);
        fprintf(out, "%s\"cold_known\": %s,\n", indent, writer_truth(profile->cold_known));
    }
    fprintf(out, "%s\"complete\": %s,\n", indent, writer_truth(profile->complete));
    fprintf(out, "%s\"lost\": %" PRIu64 ",\n", indent, profile->lost);
    write_text(out, "what_missing", profile->what_missing, indent);
    write_histogram(out, "histogram", &profile->distances, indent);
    if (profile->has_times) write_histogram(out, "times", &profile->times, indent);
    if (profile->stage_count) {
        fprintf(out, "%s\"stages\": [", indent);
        for (size_t i = 0; i < profile->stage_count; i++)
            fprintf(out, "%s{\"name\": \"%s\", \"seconds\": %.6f}", i ? ", " : "", profile->stages[i].name,
                    profile->stages[i].seconds);
        fputs("],\n", out);
    }
    fprintf(out, "%s\"bins\": \"%s\"", indent, fm_bins_name(profile->bins));
    if (profile->phases) {
        fprintf(out, ",\n%s\"phases\": ", indent);
        fm_phases_write(out, profile->phases, indent);
    }
    if (profile->run) {
        fprintf(out, ",\n%s\"run\": ", indent);
        fm_run_write(out, profile->run, indent);
    }
    if (profile->kernel) fm_kernel_write(out, profile->kernel, indent);
    if (profile->cache_count) fm_caches_write(out, profile, indent);
    if (profile->bounds) fm_bounds_write(out, profile->bounds, indent);
    if (profile->set_count) fm_set_misses_write(out, profile, indent);
}

static fm_status write_fields(FILE *out, const fm_profile *profile, const char *indent, fm_error *error);

/* An array of profiles, each with all its fields. */
static fm_status write_profiles(FILE *out, const char *key, const fm_profile *const *profiles, size_t count,
                                const char *indent, fm_error *error)
{
    char inner[40]; /* as deep as anyone can read; deeper ones are not indented further */
    snprintf(inner, sizeof inner, "%s    ", indent);
    fm_status status = FM_OK;
    fprintf(out, ",\n%s\"%s\": [", indent, key);
    for (size_t i = 0; i < count && !status && !ferror(out); i++) {
        fprintf(out, "%s\n%s  {\n", i ? "," : "", indent);
        status = write_fields(out, profiles[i], inner, error);
        fprintf(out, "\n%s  }", indent);
    }
    fprintf(out, "\n%s]", indent);
    return status;
}

static fm_status write_fields(FILE *out, const fm_profile *profile, const char *indent, fm_error *error)
{
    fm_status status = FM_OK;
    write_counts(out, profile, indent);
    if (profile->attribution) {
        fprintf(out, ",\n%s\"attribution\": ", indent);
        status = fm_attribution_write(out, profile->attribution, indent, error);
    }
    if (!status && profile->part_count)
        status = write_profiles(out, "parts", (const fm_profile *const *)profile->parts, profile->part_count,
                                indent, error);
    return status;
}

fm_status fm_profile_write(const char *path, const fm_profile *const *profiles, size_t count, fm_error *error)
{
    if (count == 0) return fm_fail(error, FM_E_ARGUMENT, path, "no profile to write");
    for (size_t i = 0; i < count; i++) {
        fm_status status = check_before_writing(path, profiles[i], 0, error);
        if (status) return status;
    }
    fm_output *output;
    fm_status status = fm_output_open(&output, path, error);
    if (status) return status;
    FILE *out = fm_output_stream(output);
    fputs("{\n", out);
    if (count == 1) {
        status = write_fields(out, profiles[0], "  ", error);
    } else {
        /* Attribution and parts, which may be large, only where all fields are. */
        write_counts(out, profiles[0], "  ");
        status = write_profiles(out, "profiles", profiles, count, "  ", error);
    }
    fputs("\n}\n", out);
    if (status) {
        fm_output_abandon(output);
        return status;
    }
    return fm_output_commit(output, error);
}
