/* SPDX-License-Identifier: Apache-2.0 */
/* report_names.c - see report_names.h. */
#include "view/report/report_names.h"

#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "view/function_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void write_module(FILE *out, const fm_module *module)
{
    fputs("{\"path\":", out);
    fm_json_write_string(out, module->path, FM_JSON_IN_HTML);
    fputs(",\"buildId\":", out);
    fm_json_write_string(out, module->build_id, FM_JSON_IN_HTML);
    if (module->unseen) fputs(",\"unseen\":true", out);
    putc('}', out);
}

/* Names of functions without parameters and template arguments; the whole ones where they differ. Those that
 * no place on the page has are 0. */
static fm_status write_functions(FILE *out, const fm_places *places, const fm_selection *selection,
                                 fm_error *error)
{
    const fm_numbering *names = &places->names;
    size_t longest = 0;
    for (size_t i = 0; i < names->count; i++)
        if (names->items[i].length > longest) longest = names->items[i].length;
    char *name = fm_calloc(longest + 1, 1);
    bool *used = fm_calloc(names->count, sizeof *used);
    if (!name || !used) {
        free(name);
        free(used);
        return fm_fail_memory(error, longest + 1 + names->count, "the names of functions");
    }
    for (size_t i = 0; i < selection->places.count; i++)
        fm_places_mark_names(places, selection->places.indices[i], used);
    fputs("\"names\":[", out);
    for (size_t i = 0; i < names->count; i++) {
        if (i) putc(',', out);
        if (!used[i]) {
            putc('0', out);
            continue;
        }
        fm_json_write_string(out, fm_function_name_shorten(fm_numbering_text(names, i), name, longest + 1),
                             FM_JSON_IN_HTML);
    }
    fputs("],\"fullNames\":[", out);
    bool first = true;
    for (size_t i = 0; i < names->count; i++) {
        const char *whole = fm_numbering_text(names, i);
        if (!used[i]) continue;
        if (strcmp(fm_function_name_shorten(whole, name, longest + 1), whole) == 0) continue;
        fprintf(out, "%s[%zu,", first ? "" : ",", i);
        fm_json_write_string(out, whole, FM_JSON_IN_HTML);
        putc(']', out);
        first = false;
    }
    fputs("],", out);
    free(name);
    free(used);
    return FM_OK;
}

fm_status fm_report_write_names(FILE *out, const fm_places *places, const fm_selection *selection,
                                fm_error *error)
{
    const fm_attribution *attribution = places->attribution;
    fputs("\"modules\":[", out);
    for (size_t i = 0; i < attribution->module_count; i++) {
        if (i) putc(',', out);
        write_module(out, &attribution->modules[i]);
    }
    fputs("],", out);
    return write_functions(out, places, selection, error);
}
