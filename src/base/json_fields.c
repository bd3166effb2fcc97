/* SPDX-License-Identifier: Apache-2.0 */
/* json_fields.c - see json.h: structs whose fields are read and written by a table. */
#include "base/json.h"

#include "base/error.h"
#include "base/memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

void fm_json_begin_field(fm_json_fields *of, const char *key)
{
    if (of->begun) fputs(of->indent ? "," : ", ", of->out);
    if (of->indent) fprintf(of->out, "\n%s  ", of->indent);
    fprintf(of->out, "\"%s\": ", key);
    of->begun = true;
}

void fm_json_text_field(fm_json_fields *of, const char *key, const char *text)
{
    if (!text) return;
    fm_json_begin_field(of, key);
    fm_json_write_string(of->out, text, FM_JSON_PLAIN);
}

void fm_json_number_field(fm_json_fields *of, const char *key, uint64_t value)
{
    fm_json_begin_field(of, key);
    fprintf(of->out, "%" PRIu64, value);
}

void fm_json_real_field(fm_json_fields *of, const char *key, double value)
{
    fm_json_begin_field(of, key);
    fm_json_write_real(of->out, value);
}

static void write_struct(fm_json_fields *of, const fm_json_member *member, const void *at)
{
    char inner[48];
    const void *object;
    memcpy(&object, at, sizeof object);
    if (!object) return;
    snprintf(inner, sizeof inner, "%s  ", of->indent);
    fm_json_begin_field(of, member->name);
    fm_json_write_fields(of->out, member->table, object, inner);
}

static void write_int(fm_json_fields *of, const fm_json_member *member, int value)
{
    if (value > 0 || (member->always && value == 0)) fm_json_number_field(of, member->name, (uint64_t)value);
}

static void write_share(fm_json_fields *of, const fm_json_member *member, double value)
{
    const bool none = value <= 0; /* -0, too */
    if (!none || member->always || member->given) fm_json_real_field(of, member->name, none ? 0 : value);
}

static void write_bool(fm_json_fields *of, const char *name, bool value)
{
    fm_json_begin_field(of, name);
    fputs(value ? "true" : "false", of->out);
}

static void write_member(fm_json_fields *of, const fm_json_member *member, const void *object)
{
    const void *at = (const char *)object + member->offset;
    const char *name = member->name;
    const bool always = member->always || member->given;
    char text[FM_JSON_NAME_SIZE + 1] = "";
    switch (member->type) {
    case FM_JSON_OTHER:
        break;
    case FM_JSON_WHOLE:
        if (always || *(const uint64_t *)at) fm_json_number_field(of, name, *(const uint64_t *)at);
        break;
    case FM_JSON_WHOLE32:
        if (always || *(const uint32_t *)at) fm_json_number_field(of, name, *(const uint32_t *)at);
        break;
    case FM_JSON_INT:
        write_int(of, member, *(const int *)at);
        break;
    case FM_JSON_SHARE:
        write_share(of, member, *(const double *)at);
        break;
    case FM_JSON_SECONDS:
        fm_json_real_field(
            of, name, isfinite(*(const double *)at) && *(const double *)at > 0 ? *(const double *)at : 0);
        break;
    case FM_JSON_BOOL:
        if (always || *(const bool *)at) write_bool(of, name, *(const bool *)at);
        break;
    case FM_JSON_NAME:
        fm_json_text_field(of, name, memcpy(text, at, FM_JSON_NAME_SIZE));
        break;
    case FM_JSON_TEXT:
        fm_json_text_field(of, name, *(char *const *)at ? *(char *const *)at : "");
        break;
    case FM_JSON_NOTES:
        if (!*(char *const *)at || !**(char *const *)at) break;
        /* fallthrough */
    case FM_JSON_OPTIONAL_TEXT:
        fm_json_text_field(of, name, *(char *const *)at);
        break;
    case FM_JSON_STRUCT:
        write_struct(of, member, at);
    }
}

void fm_json_write_members(fm_json_fields *of, const fm_json_table *table, const void *object)
{
    for (size_t i = 0; i < table->count; i++) {
        const fm_json_member *member = &table->members[i];
        if (member->given && !member->given(object)) continue;
        if (member->write)
            member->write(of, member->name, (const char *)object + member->offset);
        else
            write_member(of, member, object);
    }
}

void fm_json_write_fields(FILE *out, const fm_json_table *table, const void *object, const char *indent)
{
    fm_json_fields of = {out, indent, false};
    putc('{', out);
    fm_json_write_members(&of, table, object);
    if (indent) fprintf(out, "\n%s", indent);
    putc('}', out);
}

/* ---- reading ---- */

/* Of the whole numbers that a struct holds in fewer bits. */
static fm_status read_limited(fm_json_scan *scan, const char *what, uint64_t most, const char *too_large,
                              uint64_t *value)
{
    fm_status status = fm_json_whole(scan, what, value);
    if (status || *value <= most) return status;
    if (too_large) return fm_json_refuse(scan, "%s: %s", what, too_large);
    return fm_json_refuse(scan, "%s: expected a number up to %" PRIu64 ", found %" PRIu64, what, most,
                          *value);
}

fm_status fm_json_share(fm_json_scan *scan, const char *what, double *value)
{
    fm_status status = fm_json_real(scan, what, value);
    if (!status && !(*value >= 0 && *value <= 1))
        return fm_json_refuse(scan, "%s: expected a number from 0 to 1, found another", what);
    return status;
}

fm_status fm_json_seconds(fm_json_scan *scan, const char *what, double *value)
{
    fm_status status = fm_json_real(scan, what, value);
    if (!status && !(*value >= 0 && isfinite(*value)))
        return fm_json_refuse(scan, "%s: expected a time from 0 on, found another", what);
    return status;
}

static fm_status read_name(fm_json_scan *scan, const char *what, char *name)
{
    char *text = NULL;
    fm_status status = fm_json_text(scan, what, &text);
    if (status) return status;
    const size_t length = strlen(text);
    if (length >= FM_JSON_NAME_SIZE)
        status = fm_json_refuse(scan, "%s: expected at most %d bytes, found %zu", what, FM_JSON_NAME_SIZE - 1,
                                length);
    else
        memcpy(name, text, length + 1);
    free(text);
    return status;
}

/* Into the struct that is there already, or a new one. */
static fm_status read_struct(fm_json_scan *scan, const char *what, const fm_json_table *table, void *at)
{
    char *object;
    memcpy(&object, at, sizeof object);
    if (!object) {
        object = fm_calloc(1, table->size);
        if (!object) return fm_fail_memory(scan->error, table->size, table->words);
        memcpy(at, &object, sizeof object);
        for (size_t i = 0; i < table->count; i++)
            if (table->members[i].type == FM_JSON_INT && table->members[i].always)
                *(int *)(object + table->members[i].offset) = -1;
    }
    return fm_json_read_fields(scan, what, table, object);
}

fm_status fm_json_read_member(fm_json_scan *scan, const char *what, const fm_json_member *member,
                              void *object)
{
    void *at = (char *)object + member->offset;
    uint64_t wide = 0;
    fm_status status = FM_OK;
    if (member->read) return member->read(scan, what, at);
    switch (member->type) {
    case FM_JSON_OTHER:
        return fm_json_skip(scan);
    case FM_JSON_WHOLE:
        return fm_json_whole(scan, what, at);
    case FM_JSON_WHOLE32:
        status = read_limited(scan, what, UINT32_MAX, member->too_large, &wide);
        if (!status) *(uint32_t *)at = (uint32_t)wide;
        return status;
    case FM_JSON_INT:
        status = read_limited(scan, what, INT_MAX, member->too_large, &wide);
        if (!status) *(int *)at = (int)wide;
        return status;
    case FM_JSON_SHARE:
        return fm_json_share(scan, what, at);
    case FM_JSON_SECONDS:
        return fm_json_seconds(scan, what, at);
    case FM_JSON_BOOL:
        return fm_json_truth(scan, what, at);
    case FM_JSON_NAME:
        return read_name(scan, what, at);
    case FM_JSON_TEXT:
        return fm_json_text(scan, what, at);
    case FM_JSON_OPTIONAL_TEXT:
    case FM_JSON_NOTES:
        return fm_json_optional_text(scan, what, at);
    case FM_JSON_STRUCT:
        break;
    }
    return read_struct(scan, what, member->table, at);
}

const fm_json_member *fm_json_find_member(const fm_json_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->members[i].name, name) == 0)
            return table->members[i].only_written ? NULL : &table->members[i];
    return NULL;
}

fm_status fm_json_read_fields(fm_json_scan *scan, const char *what, const fm_json_table *table, void *object)
{
    fm_json_list list;
    bool more = true;
    char key[32], name[128];
    fm_status status = fm_json_enter_object(scan, what, &list);
    while (!status && !(status = fm_json_field(scan, &list, key, sizeof key, &more)) && more) {
        const fm_json_member *member = fm_json_find_member(table, key);
        snprintf(name, sizeof name, "%.*s.%s\"", (int)strlen(what) - 1, what, key);
        status = member ? fm_json_read_member(scan, table->plain ? what : name, member, object)
                        : fm_json_skip(scan);
    }
    return status || !table->check ? status : table->check(scan, what, object);
}

/* ---- releasing ---- */

void fm_json_clear_fields(const fm_json_table *table, void *object)
{
    for (size_t i = 0; i < table->count; i++) {
        char **text = (char **)((char *)object + table->members[i].offset);
        if (table->members[i].type < FM_JSON_TEXT || table->members[i].type > FM_JSON_NOTES) continue;
        free(*text);
        *text = NULL;
    }
}

void fm_json_destroy(const fm_json_table *table, void *object)
{
    if (!object) return;
    fm_json_clear_fields(table, object);
    free(object);
}
