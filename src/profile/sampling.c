/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.c - how a profile was sampled: creating, merging and destroying it, and its field in JSON
 * (docs/PROFILE.md).
 */
#define _GNU_SOURCE
#include "profile/sampling.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

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
