/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy.c - what an estimate says of itself: accuracy and sampling, and their JSON. */
#define _GNU_SOURCE
#include "profile/profile_parts.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ======== accuracy ======== */

/*
 * What a profile that is not exact promises: creating, merging and destroying it, and its field
 * in JSON (docs/PROFILE.md).
 */

void fm_accuracy_destroy(fm_accuracy *accuracy)
{
    if (!accuracy) return;
    free(accuracy->statement);
    free(accuracy->band);
    free(accuracy);
}

fm_status fm_accuracy_create(fm_accuracy **accuracy, fm_error *error, const char *format, ...)
{
    char statement[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(statement, sizeof statement, format, arguments);
    va_end(arguments);
    *accuracy = NULL;
    fm_accuracy *made = fm_calloc(1, sizeof *made);
    if (made) made->statement = strdup(statement);
    if (!made || !made->statement) {
        fm_accuracy_destroy(made);
        return fm_fail_memory(error, sizeof *made + sizeof statement, "a profile's accuracy");
    }
    *accuracy = made;
    return FM_OK;
}

fm_status fm_accuracy_add(fm_accuracy *accuracy, fm_error *error, const char *format, ...)
{
    char sentence[600], *longer;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (asprintf(&longer, "%s; %s", accuracy->statement, sentence) < 0)
        return fm_fail_memory(error, sizeof sentence, "a profile's accuracy");
    free(accuracy->statement);
    accuracy->statement = longer;
    return FM_OK;
}

/* NULL where either is not known: a sum then promises nothing. */
fm_status fm_accuracy_weaker(fm_accuracy **weaker, const fm_profile *a, const fm_profile *b, fm_error *error)
{
    *weaker = NULL;
    const fm_accuracy *of_a = a->accuracy, *of_b = b->accuracy;
    if ((!of_a && !a->exact) || (!of_b && !b->exact) || (!of_a && !of_b)) return FM_OK;
    const bool alike = of_a && of_b && strcmp(of_a->statement, of_b->statement) == 0;
    if (of_a && of_b && !alike) return FM_OK;
    const fm_accuracy *kept = of_a ? of_a : of_b;
    /* A band, and how much was sampled, hold for a whole run: they do not add up. */
    if (kept->confidence > 0 || kept->rate > 0 || kept->expected_overlap > 0 || kept->references_most > 0)
        return FM_OK;
    fm_status status = fm_accuracy_create(weaker, error, "%s", kept->statement);
    if (status != FM_OK) return status;
    (*weaker)->relative_error = kept->relative_error;
    (*weaker)->absolute_error = kept->absolute_error;
    (*weaker)->exact_below = kept->exact_below;
    return FM_OK;
}

/* ---- JSON ---- */

static void real_field(FILE *out, const char *key, double value, const char *indent)
{
    if (value <= 0) return;
    fprintf(out, ",\n%s  \"%s\": ", indent, key);
    fm_json_write_real(out, value);
}

static void whole_field(FILE *out, const char *key, uint64_t value, const char *indent)
{
    if (value > 0) fprintf(out, ",\n%s  \"%s\": %" PRIu64, indent, key, value);
}

static void write_band(FILE *out, const fm_accuracy *accuracy, const char *indent)
{
    fprintf(out, ",\n%s  \"band\": [", indent);
    for (size_t i = 0; i < accuracy->band_count; i++) {
        fprintf(out, "%s\n%s    [%" PRIu64 ", ", i ? "," : "", indent, accuracy->band[i].blocks);
        fm_json_write_real(out, accuracy->band[i].least);
        fputs(", ", out);
        fm_json_write_real(out, accuracy->band[i].most);
        putc(']', out);
    }
    fprintf(out, "\n%s  ]", indent);
}

void fm_accuracy_write(FILE *out, const fm_accuracy *accuracy, const char *indent)
{
    fprintf(out, "{\n%s  \"statement\": ", indent);
    fm_json_write_string(out, accuracy->statement, FM_JSON_PLAIN);
    real_field(out, "relative_error", accuracy->relative_error, indent);
    whole_field(out, "absolute_error", accuracy->absolute_error, indent);
    whole_field(out, "exact_below", accuracy->exact_below, indent);
    real_field(out, "rate", accuracy->rate, indent);
    whole_field(out, "samples", accuracy->samples, indent);
    real_field(out, "expected_overlap", accuracy->expected_overlap, indent);
    /* A prediction that expects nothing says so. */
    if (accuracy->expected_overlap <= 0 && accuracy->references_most > 0)
        fprintf(out, ",\n%s  \"expected_overlap\": 0", indent);
    whole_field(out, "references_least", accuracy->references_least, indent);
    whole_field(out, "references_most", accuracy->references_most, indent);
    real_field(out, "confidence", accuracy->confidence, indent);
    if (accuracy->band_count > 0) write_band(out, accuracy, indent);
    fprintf(out, "\n%s}", indent);
}

static fm_status read_share(fm_json_scan *scan, const char *what, double *value)
{
    fm_status status = fm_json_real(scan, what, value);
    if (!status && !(*value >= 0 && *value <= 1))
        return fm_json_refuse(scan, "%s: expected a number from 0 to 1, found another", what);
    return status;
}

static fm_status read_point(fm_json_scan *scan, const char *what, fm_band_point *point)
{
    fm_json_list list;
    fm_status status = fm_json_enter_array(scan, what, &list);
    for (int i = 0; i < 4 && !status; i++) {
        bool more;
        status = fm_json_more(scan, &list, &more);
        if (status) break;
        if (more != (i < 3)) return fm_json_refuse(scan, "%s: expected [blocks, least, most]", what);
        if (i == 0) status = fm_json_whole(scan, what, &point->blocks);
        if (i == 1) status = read_share(scan, what, &point->least);
        if (i == 2) status = read_share(scan, what, &point->most);
    }
    return status;
}

typedef struct band_list {
    fm_accuracy *accuracy;
    size_t capacity;
} band_list;

static fm_status read_band_point(fm_json_scan *scan, const char *what, void *context)
{
    band_list *to = context;
    fm_accuracy *accuracy = to->accuracy;
    void *grown = accuracy->band;
    if (fm_array_reserve(&grown, &to->capacity, accuracy->band_count + 1, sizeof *accuracy->band))
        return fm_fail_memory(scan->error, (accuracy->band_count + 1) * sizeof *accuracy->band, "a band");
    accuracy->band = grown;
    fm_band_point *point = &accuracy->band[accuracy->band_count];
    fm_status status = read_point(scan, what, point);
    if (status) return status;
    if (accuracy->band_count && point->blocks <= point[-1].blocks)
        return fm_json_refuse(scan, "%s: expected ascending sizes, found %" PRIu64 " after %" PRIu64, what,
                              point->blocks, point[-1].blocks);
    if (point->least > point->most)
        return fm_json_refuse(scan, "%s: expected least <= most, found another order", what);
    accuracy->band_count++;
    return FM_OK;
}

static fm_status read_accuracy_field(fm_json_scan *scan, const char *what, const char *key, void *context)
{
    fm_accuracy *accuracy = context;
    if (strcmp(key, "statement") == 0) return fm_json_text(scan, what, &accuracy->statement);
    if (strcmp(key, "relative_error") == 0) return read_share(scan, what, &accuracy->relative_error);
    if (strcmp(key, "absolute_error") == 0) return fm_json_whole(scan, what, &accuracy->absolute_error);
    if (strcmp(key, "exact_below") == 0) return fm_json_whole(scan, what, &accuracy->exact_below);
    if (strcmp(key, "rate") == 0) return read_share(scan, what, &accuracy->rate);
    if (strcmp(key, "samples") == 0) return fm_json_whole(scan, what, &accuracy->samples);
    if (strcmp(key, "expected_overlap") == 0) return read_share(scan, what, &accuracy->expected_overlap);
    if (strcmp(key, "references_least") == 0) return fm_json_whole(scan, what, &accuracy->references_least);
    if (strcmp(key, "references_most") == 0) return fm_json_whole(scan, what, &accuracy->references_most);
    if (strcmp(key, "confidence") == 0) return read_share(scan, what, &accuracy->confidence);
    if (strcmp(key, "band") != 0) return fm_json_skip(scan);
    if (accuracy->band) return fm_json_refuse(scan, "%s is given twice", what);
    return fm_json_read_elements(scan, what, read_band_point, &(band_list){accuracy, 0});
}

fm_status fm_accuracy_read(fm_json_scan *scan, const char *where, fm_accuracy **accuracy)
{
    fm_accuracy *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(scan->error, sizeof *made, "a profile's accuracy");
    fm_status status = fm_json_read_object(scan, where, "accuracy", read_accuracy_field, made);
    if (!status && !made->statement)
        status = fm_json_refuse(scan, "\"%saccuracy\": expected a \"statement\", found none", where);
    if (status) {
        fm_accuracy_destroy(made);
        return status;
    }
    fm_accuracy_destroy(*accuracy);
    *accuracy = made;
    return FM_OK;
}

/* ======== sampling ======== */

/*
 * How a profile was sampled: creating, merging and destroying it, and its field in JSON
 * (docs/PROFILE.md).
 */

void fm_sampling_destroy(fm_sampling *sampling)
{
    if (!sampling) return;
    free(sampling->method);
    free(sampling->estimator);
    free(sampling->conversion);
    free(sampling);
}

fm_status fm_sampling_create(fm_sampling **sampling, const char *method, const char *estimator,
                             const char *conversion, fm_error *error)
{
    *sampling = NULL;
    fm_sampling *made = fm_calloc(1, sizeof *made);
    if (made) {
        made->method = strdup(method);
        made->estimator = strdup(estimator);
        made->conversion = strdup(conversion);
    }
    if (!made || !made->method || !made->estimator || !made->conversion) {
        fm_sampling_destroy(made);
        return fm_fail_memory(error, sizeof *made, "how a profile was sampled");
    }
    *sampling = made;
    return FM_OK;
}

/* The numbers, by their names: those that count, then those that say how far it was seen. */
enum { COUNTS = 7, NUMBERS = 10 };
typedef struct number {
    const char *name;
    uint64_t *value;
} number;

static void numbers_of(fm_sampling *sampling, number *all)
{
    const number made[NUMBERS] = {{"bursts", &sampling->bursts},
                                  {"burst_uses", &sampling->burst_uses},
                                  {"used", &sampling->used},
                                  {"replaced", &sampling->replaced},
                                  {"never", &sampling->never},
                                  {"not_armed", &sampling->not_armed},
                                  {"again", &sampling->again},
                                  {"burst_time", &sampling->burst_time},
                                  {"measured_time", &sampling->measured_time},
                                  {"measured", &sampling->measured}};
    memcpy(all, made, sizeof made);
}

static bool sampling_alike(const fm_sampling *a, const fm_sampling *b)
{
    return strcmp(a->method, b->method) == 0 && strcmp(a->estimator, b->estimator) == 0 &&
           strcmp(a->conversion, b->conversion) == 0;
}

fm_status fm_sampling_sum(fm_sampling **sum, const fm_profile *a, const fm_profile *b, fm_error *error)
{
    *sum = NULL;
    fm_sampling *of_a = a->sampling, *of_b = b->sampling;
    if (!of_a && a->references == 0) of_a = of_b;
    if (!of_b && b->references == 0) of_b = of_a;
    if (!of_a || !of_b || !sampling_alike(of_a, of_b)) return FM_OK;
    fm_status status = fm_sampling_create(sum, of_a->method, of_a->estimator, of_a->conversion, error);
    if (status) return status;
    number to[NUMBERS], from_a[NUMBERS], from_b[NUMBERS];
    numbers_of(*sum, to);
    numbers_of(of_a, from_a);
    numbers_of(of_b, from_b);
    for (size_t i = 0; i < NUMBERS; i++) {
        const uint64_t x = *from_a[i].value, y = *from_b[i].value;
        if (of_a == of_b)
            *to[i].value = x;
        else if (i >= COUNTS) /* measured in the sum is what is measured in both */
            *to[i].value = x < y ? x : y;
        else if (__builtin_add_overflow(x, y, to[i].value))
            *to[i].value = UINT64_MAX;
    }
    return FM_OK;
}

/* ---- JSON ---- */

void fm_sampling_write(FILE *out, const fm_sampling *sampling, const char *indent)
{
    fm_json_fields of = {out, indent, false};
    fm_sampling copy = *sampling;
    number all[NUMBERS];
    numbers_of(&copy, all);
    putc('{', out);
    fm_json_text_field(&of, "method", sampling->method);
    fm_json_text_field(&of, "estimator", sampling->estimator);
    fm_json_text_field(&of, "conversion", sampling->conversion);
    for (size_t i = 0; i < NUMBERS; i++) fm_json_number_field(&of, all[i].name, *all[i].value);
    fprintf(out, "\n%s}", indent);
}

static fm_status read_sampling_field(fm_json_scan *scan, const char *what, const char *key,
                                     fm_sampling *sampling)
{
    if (strcmp(key, "method") == 0) return fm_json_text(scan, what, &sampling->method);
    if (strcmp(key, "estimator") == 0) return fm_json_text(scan, what, &sampling->estimator);
    if (strcmp(key, "conversion") == 0) return fm_json_text(scan, what, &sampling->conversion);
    number all[NUMBERS];
    numbers_of(sampling, all);
    for (size_t i = 0; i < NUMBERS; i++)
        if (strcmp(key, all[i].name) == 0) return fm_json_whole(scan, what, all[i].value);
    return fm_json_skip(scan);
}

fm_status fm_sampling_read(fm_json_scan *scan, const char *where, fm_sampling **sampling)
{
    char what[128];
    fm_json_list list;
    snprintf(what, sizeof what, "\"%ssampling\"", where);
    fm_status status = fm_json_enter_object(scan, what, &list);
    if (status) return status;
    fm_sampling *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(scan->error, sizeof *made, "how a profile was sampled");
    while (!status) {
        bool more;
        char key[24];
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        snprintf(what, sizeof what, "\"%ssampling.%s\"", where, key);
        status = read_sampling_field(scan, what, key, made);
    }
    if (!status && (!made->method || !made->estimator || !made->conversion))
        status = fm_json_refuse(scan,
                                "\"%ssampling\": expected \"method\", \"estimator\" and \"conversion\", "
                                "found not all of them",
                                where);
    if (status) {
        fm_sampling_destroy(made);
        return status;
    }
    fm_sampling_destroy(*sampling);
    *sampling = made;
    return FM_OK;
}
