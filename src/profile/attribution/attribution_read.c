/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribution_read.c - an attribution from JSON (docs/PROFILE.md): its tables, and what in them refers to
 * others.
 */
#include "profile/attribution/attribution_json.h"

#include "base/error.h"
#include "profile/attribution/attribution_rows.h"
#include "profile/attribution/latencies.h"
#include "profile/attribution/line_sums.h"
#include "profile/attribution/pair_errors.h"
#include "profile/attribution/sources.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const table_names[FM_TABLES] = {"late_from",   "edges",   "strings",   "modules",
                                                   "sites",       "paths",   "pairs",     "objects",
                                                   "object_uses", "sources", "latencies", "pair_errors"};

static fm_status read_table(fm_table_reader *from, fm_attribution_table which)
{
    int length =
        snprintf(from->what, sizeof from->what, "\"%sattribution.%s\"", from->where, table_names[which]);
    if (from->seen & 1u << which) return fm_json_refuse(from->scan, "%s is given twice", from->what);
    from->seen |= 1u << which;
    if (which == FM_TABLE_LATE_FROM) return fm_json_whole(from->scan, from->what, &from->made->late_from);
    fm_json_list list;
    fm_status status = fm_json_enter_array(from->scan, from->what, &list);
    if (!status && which == FM_TABLE_SOURCES) status = fm_table_begin_sources(from);
    for (size_t row = 0; !status; row++) {
        bool more;
        status = fm_json_more(from->scan, &list, &more);
        if (status || !more) break;
        if (length > 0 && (size_t)length < sizeof from->what)
            snprintf(from->what + length, sizeof from->what - (size_t)length, "[%zu]", row);
        status = fm_table_read_row(from, which);
    }
    return status;
}

/* ---- what was kept as numbers ---- */

static bool resolve_string(const fm_table_reader *from, const char **text)
{
    uintptr_t number = (uintptr_t)*text;
    if (number == 0) return true;
    if (number > from->string_count) return false;
    *text = from->strings[number - 1];
    return true;
}

static fm_status resolve_sites(const fm_table_reader *from)
{
    fm_attribution *made = from->made;
    for (size_t i = 0; i < made->site_count; i++) {
        fm_site *site = &made->sites[i];
        bool found = resolve_string(from, &site->symbol);
        fm_frame *frames = (fm_frame *)site->frames;
        for (size_t j = 0; j < site->frame_count && found; j++)
            found = resolve_string(from, &frames[j].function) && resolve_string(from, &frames[j].file);
        if (!found)
            return fm_fail(from->scan->error, FM_E_FORMAT, from->scan->path,
                           "\"%sattribution.sites\"[%zu]: expected strings below %zu, found another",
                           from->where, i, from->string_count);
    }
    return FM_OK;
}

static fm_status resolve_ranges(const fm_table_reader *from, const char *name, size_t row, const fm_bin *bins,
                                size_t count)
{
    const fm_attribution *made = from->made;
    fm_bin *ours = (fm_bin *)bins;
    for (size_t i = 0; i < count; i++) {
        uint64_t range = ours[i].lo;
        if (range >= made->edge_count)
            return fm_fail(
                from->scan->error, FM_E_FORMAT, from->scan->path,
                "\"%sattribution.%s\"[%zu]: expected ranges below %zu, as many as there are edges, found "
                "%" PRIu64,
                from->where, name, row, made->edge_count, range);
        ours[i].lo = made->edges[range];
        ours[i].hi = range + 1 < made->edge_count ? made->edges[range + 1] - 1 : UINT64_MAX;
    }
    return FM_OK;
}

static int larger_first(const void *a, const void *b)
{
    const fm_pair *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    if (x->reuse != y->reuse) return x->reuse < y->reuse ? -1 : 1;
    return x->use < y->use ? -1 : x->use > y->use;
}

static fm_status reader_resolve(fm_table_reader *from)
{
    fm_attribution *made = from->made;
    fm_status status = resolve_sites(from);
    bool sorted = true;
    for (size_t i = 0; i < made->pair_count && !status; i++) {
        status = resolve_ranges(from, "pairs", i, made->pairs[i].bins, made->pairs[i].bin_count);
        sorted &= i == 0 || made->pairs[i - 1].count >= made->pairs[i].count;
    }
    for (size_t i = 0; i < made->object_use_count && !status; i++)
        status =
            resolve_ranges(from, "object_uses", i, made->object_uses[i].bins, made->object_uses[i].bin_count);
    if (!status) fm_sources_sort(made->sources, made->source_count);
    if (!status) fm_line_sums_sort(made);
    if (!status) fm_site_latencies_sort(made);
    if (!status) fm_pair_errors_sort(made);
    if (!status && !sorted) qsort(made->pairs, made->pair_count, sizeof *made->pairs, larger_first);
    return status;
}

fm_status fm_attribution_read(fm_json_scan *scan, const char *where, fm_attribution **attribution)
{
    fm_table_reader from = {.scan = scan, .where = where};
    fm_json_list list;
    snprintf(from.what, sizeof from.what, "\"%sattribution\"", where);
    fm_status status = fm_json_enter_object(scan, from.what, &list);
    if (!status) status = fm_attribution_create(&from.made, scan->error);
    while (!status) {
        bool more;
        char key[16];
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        size_t which = 0;
        while (which < FM_TABLES && strcmp(table_names[which], key) != 0) which++;
        status = which < FM_TABLES ? read_table(&from, (fm_attribution_table)which) : fm_json_skip(scan);
    }
    if (!status) status = reader_resolve(&from);
    free(from.frames);
    if (status) {
        fm_attribution_destroy(from.made);
        return status;
    }
    fm_attribution_destroy(*attribution);
    *attribution = from.made;
    return FM_OK;
}
