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
    free(accuracy->band);
    fm_json_destroy(&fm_accuracy_json, accuracy);
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

static void write_band(fm_json_fields *of, const char *name, const void *at)
{
    const fm_accuracy *accuracy = at;
    fm_json_begin_field(of, name);
    putc('[', of->out);
    for (size_t i = 0; i < accuracy->band_count; i++) {
        fprintf(of->out, "%s\n%s    [%" PRIu64 ", ", i ? "," : "", of->indent, accuracy->band[i].blocks);
        fm_json_write_real(of->out, accuracy->band[i].least);
        fputs(", ", of->out);
        fm_json_write_real(of->out, accuracy->band[i].most);
        putc(']', of->out);
    }
    fprintf(of->out, "\n%s  ]", of->indent);
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
        if (i == 1) status = fm_json_share(scan, what, &point->least);
        if (i == 2) status = fm_json_share(scan, what, &point->most);
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

static fm_status read_band(fm_json_scan *scan, const char *what, void *at)
{
    fm_accuracy *accuracy = at;
    if (accuracy->band) return fm_json_refuse(scan, "%s is given twice", what);
    return fm_json_read_elements(scan, what, read_band_point, &(band_list){accuracy, 0});
}

static fm_status check_accuracy(fm_json_scan *scan, const char *what, void *object)
{
    const fm_accuracy *accuracy = object;
    if (accuracy->statement) return FM_OK;
    return fm_json_refuse(scan, "%s: expected a \"statement\", found none", what);
}

/* A prediction that expects nothing says so. */
static bool overlap_given(const void *object)
{
    const fm_accuracy *accuracy = object;
    return accuracy->expected_overlap > 0 || accuracy->references_most > 0;
}

static bool band_given(const void *object)
{
    return ((const fm_accuracy *)object)->band_count > 0;
}

#define AT(field) offsetof(fm_accuracy, field)
static const fm_json_member accuracy_members[] = {
    FM_JSON_FIELD(fm_accuracy, statement, TEXT),
    FM_JSON_FIELD(fm_accuracy, relative_error, SHARE),
    FM_JSON_FIELD(fm_accuracy, absolute_error, WHOLE),
    FM_JSON_FIELD(fm_accuracy, exact_below, WHOLE),
    FM_JSON_FIELD(fm_accuracy, rate, SHARE),
    FM_JSON_FIELD(fm_accuracy, samples, WHOLE),
    {"expected_overlap", FM_JSON_SHARE, AT(expected_overlap), .given = overlap_given},
    FM_JSON_FIELD(fm_accuracy, references_least, WHOLE),
    FM_JSON_FIELD(fm_accuracy, references_most, WHOLE),
    FM_JSON_FIELD(fm_accuracy, confidence, SHARE),
    {"band", FM_JSON_OTHER, 0, .read = read_band, .write = write_band, .given = band_given},
};
#undef AT
const fm_json_table fm_accuracy_json = {"a profile's accuracy", sizeof(fm_accuracy),
                                        FM_JSON_LIST(accuracy_members), .check = check_accuracy};

/* ======== sampling ======== */

/*
 * How a profile was sampled: creating, merging and destroying it, and its field in JSON
 * (docs/PROFILE.md).
 */

void fm_sampling_destroy(fm_sampling *sampling)
{
    fm_json_destroy(&fm_sampling_json, sampling);
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

static fm_status check_sampling(fm_json_scan *scan, const char *what, void *object)
{
    const fm_sampling *sampling = object;
    if (sampling->method && sampling->estimator && sampling->conversion) return FM_OK;
    return fm_json_refuse(
        scan, "%s: expected \"method\", \"estimator\" and \"conversion\", found not all of them", what);
}

/* Texts, numbers that count, then those that say how far it was seen. */
static const fm_json_member sampling_members[] = {
    FM_JSON_FIELD(fm_sampling, method, TEXT),       FM_JSON_FIELD(fm_sampling, estimator, TEXT),
    FM_JSON_FIELD(fm_sampling, conversion, TEXT),   FM_JSON_ALWAYS(fm_sampling, bursts, WHOLE),
    FM_JSON_ALWAYS(fm_sampling, burst_uses, WHOLE), FM_JSON_ALWAYS(fm_sampling, used, WHOLE),
    FM_JSON_ALWAYS(fm_sampling, replaced, WHOLE),   FM_JSON_ALWAYS(fm_sampling, never, WHOLE),
    FM_JSON_ALWAYS(fm_sampling, not_armed, WHOLE),  FM_JSON_ALWAYS(fm_sampling, again, WHOLE),
    FM_JSON_ALWAYS(fm_sampling, burst_time, WHOLE), FM_JSON_ALWAYS(fm_sampling, measured_time, WHOLE),
    FM_JSON_ALWAYS(fm_sampling, measured, WHOLE),
};
enum { FIRST_COUNT = 3, FIRST_MEASURE = 10 };
const fm_json_table fm_sampling_json = {"how a profile was sampled", sizeof(fm_sampling),
                                        FM_JSON_LIST(sampling_members), .check = check_sampling};

static uint64_t *sampling_number(fm_sampling *sampling, size_t member)
{
    return (uint64_t *)((char *)sampling + sampling_members[member].offset);
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
    for (size_t i = FIRST_COUNT; i < fm_sampling_json.count; i++) {
        const uint64_t x = *sampling_number(of_a, i), y = *sampling_number(of_b, i);
        uint64_t *to = sampling_number(*sum, i);
        if (of_a == of_b)
            *to = x;
        else if (i >= FIRST_MEASURE) /* measured in the sum is what is measured in both */
            *to = x < y ? x : y;
        else if (__builtin_add_overflow(x, y, to))
            *to = UINT64_MAX;
    }
    return FM_OK;
}
