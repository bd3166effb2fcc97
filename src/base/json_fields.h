/* SPDX-License-Identifier: Apache-2.0 */
/* json_fields.h - the fields of an object, written one after the other, each in a line. */
#ifndef FATHOM_BASE_JSON_FIELDS_H
#define FATHOM_BASE_JSON_FIELDS_H

#include "base/json_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct fm_json_fields {
    FILE *out;
    const char *indent; /* of the object */
    bool begun;         /* there is a field already */
} fm_json_fields;

static inline void fm_json_begin_field(fm_json_fields *of, const char *key)
{
    fprintf(of->out, "%s\n%s  \"%s\": ", of->begun ? "," : "", of->indent, key);
    of->begun = true;
}

/* Nothing for NULL. */
static inline void fm_json_text_field(fm_json_fields *of, const char *key, const char *text)
{
    if (!text) return;
    fm_json_begin_field(of, key);
    fm_json_write_string(of->out, text, FM_JSON_PLAIN);
}

static inline void fm_json_number_field(fm_json_fields *of, const char *key, uint64_t value)
{
    fm_json_begin_field(of, key);
    fprintf(of->out, "%" PRIu64, value);
}

#endif
