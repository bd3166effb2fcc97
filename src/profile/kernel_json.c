/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_json.c - the fields "kernel" and "counts" of a profile: the source code that it was computed from,
 * and how often that does something (docs/PROFILE.md).
 */
#include "profile/attribution/attribution_json.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void fm_kernel_destroy(fm_kernel *kernel)
{
    if (!kernel) return;
    free(kernel->function);
    free(kernel->file);
    free(kernel->parameters);
    free(kernel->layout);
    free(kernel->certainty);
    free(kernel->method);
    free(kernel->notes);
    free(kernel->loads);
    free(kernel->stores);
    free(kernel->flops);
    free(kernel->integer_operations);
    free(kernel);
}

/* ---- writing ---- */

static bool is_number(const char *text)
{
    size_t length = strspn(text, "0123456789");
    return length > 0 && length < 20 && text[length] == '\0' && (length == 1 || text[0] != '0');
}

/* A number where it is one, a text where it is a formula. */
static void count_field(fm_json_fields *of, const char *key, const char *count)
{
    if (!count) return;
    if (!is_number(count)) {
        fm_json_text_field(of, key, count);
        return;
    }
    fm_json_begin_field(of, key);
    fputs(count, of->out);
}

void fm_kernel_write(FILE *out, const fm_kernel *kernel, const char *indent)
{
    fm_json_fields of = {out, indent, false};
    fprintf(out, ",\n%s\"kernel\": {", indent);
    fm_json_text_field(&of, "function", kernel->function);
    fm_json_text_field(&of, "file", kernel->file);
    if (kernel->first_line) fm_json_number_field(&of, "first_line", kernel->first_line);
    if (kernel->last_line) fm_json_number_field(&of, "last_line", kernel->last_line);
    fm_json_text_field(&of, "parameters", kernel->parameters);
    fm_json_text_field(&of, "layout", kernel->layout);
    fm_json_text_field(&of, "certainty", kernel->certainty);
    fm_json_text_field(&of, "method", kernel->method);
    fm_json_begin_field(&of, "seconds");
    fm_json_write_real(out, isfinite(kernel->seconds) && kernel->seconds > 0 ? kernel->seconds : 0);
    fm_json_text_field(&of, "notes", kernel->notes && kernel->notes[0] ? kernel->notes : NULL);
    fprintf(out, "\n%s}", indent);
    if (!kernel->loads && !kernel->stores && !kernel->flops && !kernel->integer_operations) return;
    of.begun = false;
    fprintf(out, ",\n%s\"counts\": {", indent);
    count_field(&of, "loads", kernel->loads);
    count_field(&of, "stores", kernel->stores);
    count_field(&of, "flops", kernel->flops);
    count_field(&of, "integer_operations", kernel->integer_operations);
    fprintf(out, "\n%s}", indent);
}

/* ---- reading ---- */

static fm_status read_line(fm_json_scan *scan, const char *what, uint32_t *line)
{
    uint64_t wide = 0;
    fm_status status = fm_json_whole(scan, what, &wide);
    if (!status && wide > UINT32_MAX) return fm_json_refuse(scan, "%s: there are not so many lines", what);
    *line = (uint32_t)wide;
    return status;
}

static fm_status read_seconds(fm_json_scan *scan, const char *what, double *seconds)
{
    fm_status status = fm_json_real(scan, what, seconds);
    if (!status && !(*seconds >= 0 && isfinite(*seconds)))
        return fm_json_refuse(scan, "%s: expected a time from 0 on, found another", what);
    return status;
}

/* A number, or a formula. */
static fm_status read_count(fm_json_scan *scan, const char *what, char **count)
{
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

static fm_status read_kernel_field(fm_json_scan *scan, const char *what, const char *key, bool counts,
                                   fm_kernel *kernel)
{
    struct {
        const char *name;
        char **text;
    } const texts[] = {{"function", &kernel->function},
                       {"file", &kernel->file},
                       {"parameters", &kernel->parameters},
                       {"layout", &kernel->layout},
                       {"certainty", &kernel->certainty},
                       {"method", &kernel->method},
                       {"notes", &kernel->notes},
                       {"loads", &kernel->loads},
                       {"stores", &kernel->stores},
                       {"flops", &kernel->flops},
                       {"integer_operations", &kernel->integer_operations}};
    enum { COUNTS_FROM = 7, TEXTS = 11 };
    for (size_t i = counts ? COUNTS_FROM : 0; i < (counts ? TEXTS : COUNTS_FROM); i++)
        if (strcmp(key, texts[i].name) == 0)
            return counts ? read_count(scan, what, texts[i].text)
                          : fm_json_optional_text(scan, what, texts[i].text);
    if (!counts && strcmp(key, "first_line") == 0) return read_line(scan, what, &kernel->first_line);
    if (!counts && strcmp(key, "last_line") == 0) return read_line(scan, what, &kernel->last_line);
    if (!counts && strcmp(key, "seconds") == 0) return read_seconds(scan, what, &kernel->seconds);
    return fm_json_skip(scan);
}

fm_status fm_kernel_read(fm_json_scan *scan, const char *where, bool counts, fm_kernel **kernel)
{
    const char *name = counts ? "counts" : "kernel";
    char what[128];
    fm_json_list list;
    snprintf(what, sizeof what, "\"%s%s\"", where, name);
    fm_status status = fm_json_enter_object(scan, what, &list);
    if (status) return status;
    if (!*kernel) *kernel = fm_calloc(1, sizeof **kernel); /* the profile's, whatever comes */
    if (!*kernel) return fm_fail_memory(scan->error, sizeof **kernel, "a profile's kernel");
    while (!status) {
        bool more;
        char key[32];
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        snprintf(what, sizeof what, "\"%s%s.%s\"", where, name, key);
        status = read_kernel_field(scan, what, key, counts, *kernel);
    }
    return status;
}
