/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_pairs.c - the code that re-uses data too late, for the terminal:
 *
 *      #            misses     share      late  distance        data in between
 *      1         4,194,304   33.97 %  100.00 %  [32Ki, 64Ki)    2 MiB to 4 MiB
 *         used at       multiply (src/matmul.c:12)
 *         re-used at    multiply (src/matmul.c:14)
 *         data            98.20 %  global `b`
 *
 * Numbers are late_pairs.c's; this file only lays them out. No line is wider than the terminal.
 */
#include <fathom/view.h>

#include "base/error.h"
#include "base/sized.h"
#include "profile/attribution/attribution_check.h"
#include "profile/attribution/module_name.h"
#include "view/late_pairs.h"
#include "view/place_chain.h"
#include "view/place_text.h"
#include "view/text.h"

#include <math.h>
#include <string.h>

enum {
    INDENT = 5,
    LABEL = 14,        /* "both uses at  " */
    LEAST_SHARE = 100, /* objects below 1/100 are left out, unless nothing else is there */
    MOST_OBJECTS = 3,
};

/* Everything that the lines of the list need. */
typedef struct list_view {
    FILE *out;
    const fm_profile *profile;
    const fm_cache *cache;
    const fm_view_options *options;
    fm_place_style style;
    unsigned width;
    fm_late_pairs late;
} list_view;

static double misses_of(const list_view *view)
{
    return view->late.late + (double)view->late.cold;
}

static fm_text count_text(double value)
{
    return fm_text_count(value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX);
}

static fm_text share_text(double part, double all)
{
    return fm_text_percent(all > 0 ? part / all : 0);
}

static void ink(const list_view *view, fm_ink which)
{
    fm_text_ink(view->out, view->options, which);
}

static void label(const list_view *view, const char *text)
{
    ink(view, FM_INK_DIM);
    fprintf(view->out, "%*s%-*s", (int)INDENT, "", (int)LABEL, text);
    ink(view, FM_INK_NONE);
}

/* Columns that are left behind a label. */
static unsigned room(const list_view *view)
{
    return view->width > INDENT + LABEL + 20 ? view->width - INDENT - LABEL : 20;
}

static void write_own(const list_view *view, uint32_t number, unsigned columns)
{
    const fm_site *site = &view->late.of->sites[number];
    const char *module, *function = fm_code_system_function(view->late.of, site, &module);
    size_t own = fm_place_own_frame(site);
    if (function) {
        char text[1200];
        if (fm_function_names_module(function, module))
            snprintf(text, sizeof text, "%s", function);
        else
            snprintf(text, sizeof text, "%s in %s", function, fm_base_name(module));
        fm_text_write_short(view->out, text, columns, FM_CUT_MIDDLE, view->options->unicode);
    } else if (own > 0)
        fm_place_write_frame(view->out, &view->style, &site->frames[own], columns);
    else
        fm_place_write_site(view->out, &view->style, number, columns);
}

/* ---- what all of it is about ---- */

static void write_cache(const list_view *view)
{
    size_t length = strnlen(view->cache->name, sizeof view->cache->name);
    char name[sizeof view->cache->name + 1];
    memcpy(name, view->cache->name, length);
    name[length] = '\0';
    ink(view, FM_INK_BOLD);
    fputs("late re-use at ", view->out);
    if (length)
        fm_text_write_name(view->out, name, view->options->unicode);
    else
        fputs("a cache", view->out);
    ink(view, FM_INK_NONE);
    fprintf(view->out, ": %s, %s blocks", fm_text_cache_size(view->profile, view->cache->bytes).text,
            fm_text_count(view->late.blocks).text);
    if (view->profile->granularity > 1)
        fprintf(view->out, " of %s bytes", fm_text_count(view->profile->granularity).text);
    fputs(", fully associative\n", view->out);
}

static void write_total(const list_view *view, const char *what, double count, const char *share,
                        const char *of)
{
    ink(view, FM_INK_DIM);
    fprintf(view->out, "%-8s", what);
    ink(view, FM_INK_NONE);
    fprintf(view->out, " %17s %9s %s\n", count_text(count).text, share, of);
}

static void write_totals(const list_view *view)
{
    const fm_late_pairs *late = &view->late;
    double misses = misses_of(view);
    write_total(view, "misses", misses, share_text(misses, (double)view->profile->references).text,
                "of all references");
    if (!(misses > 0)) return;
    write_total(view, "  late", late->late, share_text(late->late, misses).text,
                "of the misses: used before, too long ago");
    write_total(view, "  cold", (double)late->cold, share_text((double)late->cold, misses).text,
                view->profile->sampling ? "of the misses: never used again" : "of the misses: first touches");
    /* Whose data is never used again is not known. */
    if (late->cold_line == FM_NONE || view->profile->sampling) return;
    fm_text most = share_text((double)late->cold_most, (double)late->cold);
    unsigned around = INDENT + (unsigned)strlen("most at , ") + (unsigned)strlen(most.text);
    fprintf(view->out, "%*smost at ", (int)INDENT, "");
    write_own(view, late->lines.site[late->cold_line], view->width > around + 20 ? view->width - around : 20);
    fprintf(view->out, ", %s\n", most.text);
}

/* What the numbers do not say. */
static void write_limits(const list_view *view, uint64_t asked)
{
    bool cut = false;
    for (size_t i = 0; i < view->late.of->edge_count; i++)
        cut |= view->late.of->edges[i] == view->late.blocks;
    if (asked != view->late.blocks)
        fprintf(view->out, "the cache is larger than the profile's bound: misses are those at %s blocks\n",
                fm_text_count(view->late.blocks).text);
    else if (!cut && view->late.late > 0)
        fputs("misses are estimates: the profile does not count distances up to this size apart\n",
              view->out);
}

/* ---- places ---- */

/* Returns whether calls were shown. */
static bool write_place(const list_view *view, const char *what, uint32_t line, uint32_t path)
{
    label(view, what);
    if (line == FM_NONE) {
        fputs("not known\n", view->out);
        return false;
    }
    uint32_t number = view->late.lines.site[line];
    const fm_site *site = &view->late.of->sites[number];
    write_own(view, number, room(view));
    putc('\n', view->out);
    fm_chain_page page = {view->out, &view->style, view->options, view->width, INDENT + LABEL};
    const char *module;
    if (!fm_code_system_function(view->late.of, site, &module)) fm_chain_write_inlined(&page, site);
    return fm_chain_write_path(&page, path);
}

static void write_objects(const list_view *view, uint32_t line)
{
    const fm_late_object *objects;
    double all;
    size_t count = fm_late_pairs_objects(&view->late, line, &objects, &all);
    for (size_t i = 0; i < count && i < MOST_OBJECTS; i++) {
        if (i && objects[i].late * LEAST_SHARE < all) break;
        char text[512];
        label(view, i ? "" : "data");
        fprintf(view->out, "%9s  ", share_text(objects[i].late, all).text);
        fm_text_write_short(view->out, fm_object_text(view->late.of, objects[i].object, text, sizeof text),
                            room(view) > 31 ? room(view) - 11 : 20, FM_CUT_MIDDLE, view->options->unicode);
        putc('\n', view->out);
    }
}

/* ---- the list ---- */

static void write_distance(const list_view *view, size_t rank)
{
    uint64_t lo, hi;
    char range[128];
    uint64_t unit = view->profile->granularity;
    if (!fm_late_pairs_median(&view->late, rank, &lo, &hi)) {
        snprintf(range, sizeof range, "from %s", fm_text_scaled(view->profile->bound).text);
        fprintf(view->out, "%-15s", range);
        if (unit > 1) fprintf(view->out, " from %s", fm_text_bytes(view->profile->bound, unit).text);
    } else if (hi == UINT64_MAX) {
        snprintf(range, sizeof range, "from %s", fm_text_scaled(lo).text);
        fprintf(view->out, "%-15s", range);
        if (unit > 1) fprintf(view->out, " from %s", fm_text_bytes(lo, unit).text);
    } else if (lo == hi) {
        fprintf(view->out, "%-15s", fm_text_scaled(lo).text);
        if (unit > 1) fprintf(view->out, " %s", fm_text_bytes(lo, unit).text);
    } else {
        snprintf(range, sizeof range, "[%s, %s)", fm_text_scaled(lo).text, fm_text_scaled(hi + 1).text);
        fprintf(view->out, "%-15s", range);
        if (unit > 1)
            fprintf(view->out, " %s to %s", fm_text_bytes(lo, unit).text, fm_text_bytes(hi + 1, unit).text);
    }
}

static fm_status write_pair(const list_view *view, size_t rank, fm_error *error)
{
    const fm_late_pair *pair = &view->late.pairs[rank];
    fm_late_paths paths;
    fm_status status = fm_late_pairs_paths(&view->late, rank, &paths, error);
    if (status) return status;
    ink(view, FM_INK_BOLD);
    fprintf(view->out, "%3zu %17s", rank + 1, count_text(pair->late).text);
    ink(view, FM_INK_NONE);
    fprintf(view->out, " %9s %9s  ", share_text(pair->late, misses_of(view)).text,
            share_text(pair->late, (double)pair->reuses).text);
    write_distance(view, rank);
    putc('\n', view->out);
    bool calls = false;
    if (pair->use == pair->reuse && paths.use == paths.reuse) {
        calls = write_place(view, "both uses at", pair->reuse, paths.reuse);
    } else {
        calls = write_place(view, "used at", pair->use, paths.use);
        calls |= write_place(view, "re-used at", pair->reuse, paths.reuse);
    }
    if (calls && paths.share < 1 - 1e-9) {
        label(view, "");
        fprintf(view->out, "on these calls: %s of the misses of the pair\n",
                fm_text_percent(paths.share).text);
    }
    write_objects(view, pair->reuse);
    const fm_error_sum *sure = &pair->sure;
    if (sure->samples) {
        label(view, "estimated");
        fprintf(view->out, "%s\n", fm_text_sure(sure->late, sure->error, sure->samples, view->options).text);
    }
    return FM_OK;
}

/* What was not listed: how much it is, and what the columns are. */
static void write_rest(const list_view *view, size_t listed, double passed)
{
    size_t more = view->late.count - listed;
    double rest = view->late.late > passed ? view->late.late - passed : 0;
    if (more)
        fprintf(view->out, "%s %17s %9s %9s  %zu more pair%s of lines\n",
                view->options->unicode ? "  …" : "...", count_text(rest).text,
                share_text(rest, misses_of(view)).text, "", more, more == 1 ? "" : "s");
    fputs("share: of all misses. late: of the pair's re-uses. distance: the median of the\n"
          "late ones, in blocks. data: what is missed on at the second place.\n",
          view->out);
    if (view->late.of->pair_error_count)
        fputs("estimated: the standard error of the pair's late re-uses, and what they rest on.\n",
              view->out);
}

/* Whether a pair is worth its lines: not one of the many small ones that are left when nearly all are shown.
 */
static bool matters(const list_view *view, const fm_late_pair *pair, double passed)
{
    return passed < view->late.late * 0.99 || pair->late >= misses_of(view) * 0.001;
}

static fm_status write_list(const list_view *view, fm_error *error)
{
    ink(view, FM_INK_DIM);
    fprintf(view->out, "\n%3s %17s %9s %9s  ", "#", "misses", "share", "late");
    fprintf(view->out, view->profile->granularity > 1 ? "%-15s data in between\n" : "%s\n", "distance");
    ink(view, FM_INK_NONE);
    fm_status status = FM_OK;
    double passed = 0;
    size_t listed = 0;
    while (listed < view->late.top && !status && !ferror(view->out)) {
        const fm_late_pair *pair = &view->late.pairs[listed];
        if (!matters(view, pair, passed)) break;
        status = write_pair(view, listed++, error);
        passed += pair->late;
    }
    if (!status) write_rest(view, listed, passed);
    return status;
}

fm_status fm_view_pairs_sized(size_t given_size, FILE *out, const fm_profile *profile, const fm_cache *cache,
                              size_t most, const fm_view_options *given, fm_error *error)
{
    FM_REQUIRE(profile, error);
    fm_view_options known;
    fm_status status = fm_sized_read(&known, sizeof known, given, given_size, "fm_view_options", error);
    if (status != FM_OK) return status;
    const fm_view_options *options = &known;
    char why[300];
    if (!profile->attribution) {
        fputs("no code to show: this profile does not say where its references come from\n", out);
        return FM_OK;
    }
    if (!fm_attribution_sound(profile, why, sizeof why))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the profile's attribution is unsound: %s", why);
    if (profile->references == 0) {
        fputs("no code to show: there are no references\n", out);
        return FM_OK;
    }
    uint64_t asked = cache->bytes / (profile->granularity ? profile->granularity : 1);
    bool bounded = profile->bound && profile->beyond && asked > profile->bound;
    list_view view = {.out = out, .profile = profile, .cache = cache, .options = options};
    view.width = options->width ? options->width : 80;
    fm_place_style_set(&view.style, profile->attribution, options->unicode);
    status =
        fm_late_pairs_make(&view.late, profile->attribution, bounded ? profile->bound : asked, most, error);
    if (status) return status;
    write_cache(&view);
    if (view.late.count && most)
        fputs("data used at one place comes back at another when the cache has lost it\n", out);
    write_totals(&view);
    write_limits(&view, asked);
    if (view.late.count == 0 && view.late.cold)
        fprintf(out, "no re-use comes too late for this cache: %s\n",
                profile->sampling ? "what misses was never used again" : "it misses on first touches only");
    else if (view.late.count == 0)
        fputs("no misses at all: every re-use comes in time for this cache\n", out);
    else if (most)
        status = write_list(&view, error);
    fm_late_pairs_clear(&view.late);
    return status;
}
