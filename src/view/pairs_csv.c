/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs_csv.c - every pair of sites as a line of CSV (csv_cell.h).
 */
#include <fathom/view.h>

#include "base/base_name.h"
#include "base/error.h"
#include "profile/attribution/attribution_check.h"
#include "profile/attribution/places.h"
#include "view/csv_cell.h"

#include <inttypes.h>
#include <string.h>

/* A text behind `before`, which is "" for the first one of a cell. */
static void write_next(FILE *out, const char *before, const char *text)
{
    fputs(before, out);
    if (before[0] == '\0')
        fm_csv_write_first(out, text);
    else
        fm_csv_write_part(out, text);
}

/* "function (file.c:12)" as a piece of a quoted cell. */
static void write_frame(FILE *out, const fm_frame *frame, const char *before)
{
    write_next(out, before, frame->function ? frame->function : "?");
    if (!frame->file) return;
    fputs(" (", out);
    fm_csv_write_part(out, fm_base_name(frame->file));
    if (frame->line) fprintf(out, ":%" PRIu32, frame->line);
    putc(')', out);
}

static void write_inlined(FILE *out, const fm_site *site)
{
    if (site->frame_count < 2) return;
    fm_csv_begin_cell(out);
    for (size_t i = 1; i < site->frame_count; i++) write_frame(out, &site->frames[i], i > 1 ? " < " : "");
    fm_csv_end_cell(out);
}

static void write_path(FILE *out, const fm_attribution *of, uint32_t path)
{
    if (path == FM_NONE) return;
    const char *before = "";
    fm_csv_begin_cell(out);
    for (; path != FM_NONE; path = of->paths[path].parent) {
        const fm_site *call = &of->sites[of->paths[path].call];
        for (size_t i = 0; i < call->frame_count; i++, before = " < ")
            write_frame(out, &call->frames[i], before);
        if (call->frame_count == 0) {
            char text[512];
            write_next(out, before, fm_site_text(of, of->paths[path].call, text, sizeof text));
            before = " < ";
        }
    }
    fm_csv_end_cell(out);
}

/* Seven cells, all empty where the site is not known, and a comma behind each. */
static void write_site(FILE *out, const fm_attribution *of, uint32_t number)
{
    if (number == FM_NONE) {
        fputs(",,,,,,,", out);
        return;
    }
    const fm_site *site = &of->sites[number];
    const fm_frame *frame = site->frame_count ? &site->frames[0] : NULL;
    fm_csv_write_cell(out, frame && frame->function ? frame->function : site->symbol);
    putc(',', out);
    fm_csv_write_cell(out, frame ? frame->file : NULL);
    putc(',', out);
    if (frame && frame->line) fprintf(out, "%" PRIu32, frame->line);
    putc(',', out);
    write_inlined(out, site);
    putc(',', out);
    fm_csv_write_cell(out, site->module == FM_NONE ? NULL : of->modules[site->module].path);
    putc(',', out);
    if (!fm_site_is_place(site)) fprintf(out, "0x%" PRIx64, site->address);
    putc(',', out);
    write_path(out, of, site->path);
    putc(',', out);
}

static void write_header(FILE *out, const fm_cache *caches, size_t count)
{
    static const char *const cells[] = {"function", "file",    "line",       "inlined_into",
                                        "module",   "address", "called_from"};
    for (size_t i = 0; i < 14; i++) fprintf(out, "%s_%s,", i < 7 ? "use" : "reuse", cells[i % 7]);
    fputs("count,cold,beyond", out);
    for (size_t i = 0; i < count; i++) {
        char name[sizeof caches[i].name + 8];
        snprintf(name, sizeof name, "misses_%.*s", (int)sizeof caches[i].name, caches[i].name);
        putc(',', out);
        fm_csv_write_cell(out, name);
    }
    putc('\n', out);
}

/* With three decimals where it is an estimate; a point before them in every locale. */
static void write_misses(FILE *out, double misses)
{
    uint64_t whole = misses < 1.8e19 ? (uint64_t)misses : UINT64_MAX;
    fprintf(out, "%" PRIu64, whole);
    unsigned thousandths = (unsigned)((misses - (double)whole) * 1000);
    if (thousandths > 0 && thousandths < 1000) fprintf(out, ".%03u", thousandths);
}

fm_status fm_view_pairs_csv(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                            fm_error *error)
{
    FM_REQUIRE(profile, error);
    const fm_attribution *of = profile->attribution;
    char why[300];
    if (!of)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "the profile does not say which code its references come from");
    if (!fm_attribution_sound(profile, why, sizeof why))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the profile's attribution is unsound: %s", why);
    write_header(out, caches, count);
    for (size_t i = 0; i < of->pair_count && !ferror(out); i++) {
        const fm_pair *pair = &of->pairs[i];
        write_site(out, of, pair->use);
        write_site(out, of, pair->reuse);
        fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, pair->count, pair->cold, pair->beyond);
        for (size_t j = 0; j < count; j++) {
            putc(',', out);
            double misses =
                fm_pair_misses(pair, caches[j].bytes / (profile->granularity ? profile->granularity : 1));
            write_misses(out, misses);
        }
        putc('\n', out);
    }
    return FM_OK;
}
