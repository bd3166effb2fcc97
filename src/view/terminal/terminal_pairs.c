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
#include "base/plain_text.h"
#include "profile/attribution_parts.h"
#include "view/miss_table.h"
#include "view/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/*
 * ======== places ========
 * Places in code for the terminal: "function (file.c:12)", in as many columns as there are. File name and
 * line always stay; what is too long of the rest gives way.
 */

typedef struct fm_place_style {
    const fm_attribution *of;
    bool unicode;
    bool base_names;   /* files without their folders */
    char folder[4096]; /* paths below it are written from it on; ends with a slash; "": none */
} fm_place_style;

/* Where the lines go: no wider than `width`, behind `indent` blanks. */
typedef struct fm_chain_page {
    FILE *out;
    const fm_place_style *style;
    const fm_view_options *options;
    unsigned width, indent;
} fm_chain_page;

/* ======== place text ======== */

/* What a place is called, in two pieces: "function (where)", "symbol+0x1f in where". Either may be empty. */
typedef struct place {
    char function[2048];
    char where[4200];
    const char *base; /* in where: the file's name, without folders */
    bool in_brackets;
} place;

static void place_style_set(fm_place_style *style, const fm_attribution *of, bool unicode)
{
    style->of = of;
    style->unicode = unicode;
    style->base_names = false;
    style->folder[0] = '\0';
    if (!getcwd(style->folder, sizeof style->folder - 1)) {
        style->folder[0] = '\0';
        return;
    }
    size_t length = strlen(style->folder);
    if (length && style->folder[length - 1] != '/') memcpy(style->folder + length, "/", 2);
}

/* The path as it is shown. One that is longer than any path keeps its end. */
static const char *shown_path(const fm_place_style *style, const char *path)
{
    enum { LONGEST = 4096 };
    size_t length = strlen(path), folder = strlen(style->folder);
    if (style->base_names)
        path = fm_base_name(path);
    else if (folder > 1 && length > folder && memcmp(path, style->folder, folder) == 0)
        path += folder;
    length = strlen(path);
    return length > LONGEST ? path + (length - LONGEST) : path;
}

static void place_of_frame(const fm_place_style *style, const fm_frame *frame, const char *function,
                           place *made)
{
    made->in_brackets = true;
    made->where[0] = '\0';
    snprintf(made->function, sizeof made->function, "%s", function ? function : "");
    if (frame->file && frame->line)
        snprintf(made->where, sizeof made->where, "%s:%" PRIu32, shown_path(style, frame->file), frame->line);
    else if (frame->file)
        snprintf(made->where, sizeof made->where, "%s", shown_path(style, frame->file));
    made->base = fm_base_name(made->where);
}

static void place_of_site(const fm_place_style *style, uint32_t number, place *made)
{
    *made = (place){.base = made->where};
    if (number >= style->of->site_count) {
        strcpy(made->function, "unknown code");
        return;
    }
    const fm_site *site = &style->of->sites[number];
    if (site->frame_count && (site->frames[0].line || site->frames[0].function)) {
        const fm_frame *frame = &site->frames[0];
        place_of_frame(style, frame, frame->function ? frame->function : site->symbol, made);
        if (frame->line) return;
    } else if (site->symbol && site->symbol_offset) {
        snprintf(made->function, sizeof made->function, "%.2000s+0x%" PRIx64, site->symbol,
                 site->symbol_offset);
    } else if (site->symbol) {
        snprintf(made->function, sizeof made->function, "%.2000s", site->symbol);
    }
    const char *module =
        site->module < style->of->module_count ? style->of->modules[site->module].path : NULL;
    char *where = made->where;
    if (made->function[0] && made->in_brackets) /* a function whose line is not known */
        snprintf(where, sizeof made->where, "0x%" PRIx64 "%s%.4000s", site->address, module ? " in " : "",
                 module ? fm_base_name(module) : "");
    else if (made->function[0])
        snprintf(where, sizeof made->where, "%.4000s",
                 module && !fm_function_names_module(site->symbol, module) ? fm_base_name(module) : "");
    else if (module)
        snprintf(made->function, sizeof made->function, "0x%" PRIx64, site->address),
            snprintf(where, sizeof made->where, "%.4000s", fm_base_name(module));
    else if (site->address)
        snprintf(made->function, sizeof made->function, "0x%" PRIx64 ", made at run time", site->address);
    else
        strcpy(made->function, "unknown code");
    made->base = made->where;
}

/* What stands around the second piece. */
static const char *place_opening(const place *of)
{
    return !of->function[0] || !of->where[0] ? "" : of->in_brackets ? " (" : " in ";
}

static const char *place_ending(const place *of)
{
    return of->function[0] && of->where[0] && of->in_brackets ? ")" : "";
}

static unsigned columns_of(const place *of, bool unicode)
{
    return fm_text_columns(of->function, unicode) + (unsigned)strlen(place_opening(of)) +
           fm_text_columns(of->where, unicode) + (unsigned)strlen(place_ending(of));
}

static unsigned least_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* As many of the last folders as fit, whole. */
static unsigned write_where(FILE *out, const place *of, unsigned columns, bool unicode)
{
    unsigned gap = unicode ? 1 : 3;
    const char *where = of->where;
    if (fm_text_columns(where, unicode) > columns && columns > gap)
        for (const char *at = where; (at = strchr(at, '/')) && at < of->base; at++)
            if (gap + fm_text_columns(at, unicode) <= columns) {
                fputs(unicode ? "…" : "...", out);
                fm_text_write_name(out, at, unicode);
                return gap + fm_text_columns(at, unicode);
            }
    return fm_text_write_short(out, where, columns, FM_CUT_BEGINNING, unicode);
}

/* Folders go first, then parameters and template arguments, then the rest of the function's name. */
static unsigned write_text_of_place(FILE *out, place *of, unsigned columns, bool unicode)
{
    const char *function = of->function;
    char shortened[sizeof of->function];
    unsigned around = (unsigned)(strlen(place_opening(of)) + strlen(place_ending(of)));
    if (columns_of(of, unicode) > columns)
        function = fm_function_name_shorten(function, shortened, sizeof shortened);
    unsigned function_columns = fm_text_columns(function, unicode),
             where_columns = fm_text_columns(of->where, unicode);
    unsigned base_columns = fm_text_columns(of->base, unicode);
    if (function_columns + around + where_columns > columns) {
        /* The file's name and line need this much, with a mark that folders are missing. */
        unsigned needed = of->base == of->where ? base_columns : base_columns + (unicode ? 2 : 4);
        unsigned left = columns > function_columns + around ? columns - function_columns - around : 0;
        where_columns = least_of(where_columns, needed > left ? needed : left);
        where_columns = least_of(where_columns, columns > around + 1 ? columns - around - 1 : 0);
        left = columns > where_columns + around ? columns - where_columns - around : 0;
        function_columns = least_of(function_columns, left);
    }
    unsigned used = around;
    used += fm_text_write_short(out, function, function_columns, FM_CUT_MIDDLE, unicode);
    fputs(place_opening(of), out);
    used += write_where(out, of, where_columns, unicode);
    fputs(place_ending(of), out);
    return used;
}

static unsigned place_write_frame(FILE *out, const fm_place_style *style, const fm_frame *frame,
                                  unsigned columns)
{
    place made;
    place_of_frame(style, frame, frame->function, &made);
    if (!made.function[0] && !made.where[0]) strcpy(made.function, "unknown code");
    return write_text_of_place(out, &made, columns, style->unicode);
}

static unsigned place_write_site(FILE *out, const fm_place_style *style, uint32_t site, unsigned columns)
{
    place made;
    place_of_site(style, site, &made);
    return write_text_of_place(out, &made, columns, style->unicode);
}

static unsigned place_site_columns(const fm_place_style *style, uint32_t site)
{
    place made;
    place_of_site(style, site, &made);
    return columns_of(&made, style->unicode);
}

static unsigned place_frame_columns(const fm_place_style *style, const fm_frame *frame)
{
    place made;
    place_of_frame(style, frame, frame->function, &made);
    return columns_of(&made, style->unicode);
}

/* ======== place chain ======== */

enum { CHAIN_LINES = 3 };

/*
 * Places one behind the other, " < " between them, broken into lines where they do not fit. What the reader
 * did not write (the system's headers and libraries) is passed over with "..." where something else follows.
 */
typedef struct chain {
    const fm_chain_page *page;
    unsigned used, lines;
    size_t left_out; /* no room */
    bool begun, gap;
} chain;

static chain chain_begin(const fm_chain_page *page, const char *word)
{
    fprintf(page->out, "%*s", (int)page->indent, "");
    fm_text_ink(page->out, page->options, FM_INK_DIM);
    fprintf(page->out, "%s ", word);
    fm_text_ink(page->out, page->options, FM_INK_NONE);
    return (chain){.page = page, .used = page->indent + (unsigned)strlen(word) + 1};
}

static void chain_add(chain *to, const fm_frame *frame, uint32_t site)
{
    enum { MORE = 12 }; /* columns for "... 12 more" at the end of the last line */
    if (to->left_out) {
        to->left_out++;
        return;
    }
    const fm_chain_page *page = to->page;
    fm_place_style style = *page->style;
    style.base_names = true;
    bool unicode = page->options->unicode;
    const char *before = unicode ? (to->gap     ? (to->begun ? " ← … ← " : "… ← ")
                                    : to->begun ? " ← "
                                                : "")
                                 : (to->gap     ? (to->begun ? " < ... < " : "... < ")
                                    : to->begun ? " < "
                                                : "");
    unsigned between = fm_text_columns(before, unicode);
    unsigned columns =
        between + (frame ? place_frame_columns(&style, frame) : place_site_columns(&style, site));
    bool last = to->lines == CHAIN_LINES - 1;
    if (last && to->begun && to->used + columns + MORE > page->width) {
        to->left_out++;
        return;
    }
    if (to->begun && to->used + columns > page->width) {
        fprintf(page->out, "\n%*s", (int)(page->indent - 1), "");
        to->used = page->indent - 1;
        last = ++to->lines == CHAIN_LINES - 1;
    }
    fputs(before, page->out);
    to->used += between + (last ? MORE : 0);
    unsigned left = page->width > to->used + 12 ? page->width - to->used : 12;
    to->used += frame ? place_write_frame(page->out, &style, frame, left)
                      : place_write_site(page->out, &style, site, left);
    to->used -= last ? MORE : 0;
    to->begun = true;
    to->gap = false;
}

static void chain_end(const chain *of)
{
    if (of->left_out)
        fprintf(of->page->out, "%s %zu more", of->page->options->unicode ? " …" : " ...", of->left_out);
    putc('\n', of->page->out);
}

static bool is_own_frame(const fm_frame *frame)
{
    return frame->file && !fm_place_is_system(frame->file);
}

static void chain_write_inlined(const fm_chain_page *page, const fm_site *site)
{
    size_t shown = fm_place_own_frame(site), own = 0;
    if (shown > 0) { /* the functions of a library have many more inside: the one that was called is enough */
        chain through = chain_begin(page, "through");
        chain_add(&through, &site->frames[shown - 1], FM_NONE);
        chain_end(&through);
    }
    for (size_t i = shown + 1; i < site->frame_count; i++) own += is_own_frame(&site->frames[i]);
    if (own == 0 || site->frames[0].line == 0) return;
    chain into = chain_begin(page, "inlined in");
    for (size_t i = shown + 1; i < site->frame_count; i++)
        if (is_own_frame(&site->frames[i]))
            chain_add(&into, &site->frames[i], FM_NONE);
        else
            into.gap = true;
    chain_end(&into);
}

/* Whether a call was made in code of the reader's own; that may have no debug information. */
static bool is_own_call(const fm_attribution *of, const fm_site *call)
{
    const char *module = call->module == FM_NONE ? NULL : of->modules[call->module].path;
    if (module && fm_module_is_system(module)) return false;
    for (size_t i = 0; i < call->frame_count; i++)
        if (is_own_frame(&call->frames[i])) return true;
    return call->frame_count == 0 && !(call->symbol && strcmp(call->symbol, "_start") == 0);
}

static bool chain_write_path(const fm_chain_page *page, uint32_t path)
{
    const fm_attribution *of = page->style->of;
    bool own = false;
    for (uint32_t at = path; at != FM_NONE && !own; at = of->paths[at].parent)
        own = is_own_call(of, &of->sites[of->paths[at].call]);
    if (!own) return false;
    chain calls = chain_begin(page, "called from");
    for (; path != FM_NONE; path = of->paths[path].parent) {
        const fm_site *call = &of->sites[of->paths[path].call];
        if (!is_own_call(of, call))
            calls.gap = true;
        else if (call->frame_count == 0 || call->frames[0].line == 0)
            chain_add(&calls, NULL, of->paths[path].call);
        else
            for (size_t i = 0; i < call->frame_count; i++)
                if (is_own_frame(&call->frames[i]))
                    chain_add(&calls, &call->frames[i], FM_NONE);
                else
                    calls.gap = true;
    }
    chain_end(&calls);
    return true;
}

/* ======== terminal pairs ======== */

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

static void list_ink(const list_view *view, fm_ink which)
{
    fm_text_ink(view->out, view->options, which);
}

static void list_label(const list_view *view, const char *text)
{
    list_ink(view, FM_INK_DIM);
    fprintf(view->out, "%*s%-*s", (int)INDENT, "", (int)LABEL, text);
    list_ink(view, FM_INK_NONE);
}

/* Columns that are left behind a label. */
static unsigned list_room(const list_view *view)
{
    return view->width > INDENT + LABEL + 20 ? view->width - INDENT - LABEL : 20;
}

static void write_own(const list_view *view, uint32_t number, unsigned columns)
{
    const fm_site *site = &view->late.of->sites[number];
    const char *module, *function = fm_system_function(view->late.of, site, &module);
    size_t own = fm_place_own_frame(site);
    if (function) {
        char text[1200];
        if (fm_function_names_module(function, module))
            snprintf(text, sizeof text, "%s", function);
        else
            snprintf(text, sizeof text, "%s in %s", function, fm_base_name(module));
        fm_text_write_short(view->out, text, columns, FM_CUT_MIDDLE, view->options->unicode);
    } else if (own > 0)
        place_write_frame(view->out, &view->style, &site->frames[own], columns);
    else
        place_write_site(view->out, &view->style, number, columns);
}

/* ---- what all of it is about ---- */

static void write_cache(const list_view *view)
{
    const fm_text name = fm_text_cache_name(view->cache);
    list_ink(view, FM_INK_BOLD);
    fputs("late re-use at ", view->out);
    if (name.text[0])
        fm_text_write_name(view->out, name.text, view->options->unicode);
    else
        fputs("a cache", view->out);
    list_ink(view, FM_INK_NONE);
    fprintf(view->out, ": %s, %s blocks", fm_text_cache_size(view->profile, view->cache->bytes).text,
            fm_text_count(view->late.blocks).text);
    if (view->profile->granularity > 1)
        fprintf(view->out, " of %s bytes", fm_text_count(view->profile->granularity).text);
    fputs(", fully associative\n", view->out);
}

static void write_total(const list_view *view, const char *what, double count, const char *share,
                        const char *of)
{
    list_ink(view, FM_INK_DIM);
    fprintf(view->out, "%-8s", what);
    list_ink(view, FM_INK_NONE);
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
    if (late->cold_place == FM_NONE || view->profile->sampling) return;
    fm_text most = share_text((double)late->cold_most, (double)late->cold);
    unsigned around = INDENT + (unsigned)strlen("most at , ") + (unsigned)strlen(most.text);
    fprintf(view->out, "%*smost at ", (int)INDENT, "");
    write_own(view, late->places.rows[late->cold_place].site,
              view->width > around + 20 ? view->width - around : 20);
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
    list_label(view, what);
    if (line == FM_NONE) {
        fputs("not known\n", view->out);
        return false;
    }
    uint32_t number = view->late.places.rows[line].site;
    const fm_site *site = &view->late.of->sites[number];
    write_own(view, number, list_room(view));
    putc('\n', view->out);
    fm_chain_page page = {view->out, &view->style, view->options, view->width, INDENT + LABEL};
    const char *module;
    if (!fm_system_function(view->late.of, site, &module)) chain_write_inlined(&page, site);
    return chain_write_path(&page, path);
}

static void write_objects(const list_view *view, uint32_t line)
{
    const fm_late_object *objects;
    double all;
    size_t count = fm_late_pairs_objects(&view->late, line, &objects, &all);
    for (size_t i = 0; i < count && i < MOST_OBJECTS; i++) {
        if (i && objects[i].late * LEAST_SHARE < all) break;
        char text[512];
        list_label(view, i ? "" : "data");
        fprintf(view->out, "%9s  ", share_text(objects[i].late, all).text);
        fm_text_write_short(view->out, fm_object_text(view->late.of, objects[i].object, text, sizeof text),
                            list_room(view) > 31 ? list_room(view) - 11 : 20, FM_CUT_MIDDLE,
                            view->options->unicode);
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
    list_ink(view, FM_INK_BOLD);
    fprintf(view->out, "%3zu %17s", rank + 1, count_text(pair->late).text);
    list_ink(view, FM_INK_NONE);
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
        list_label(view, "");
        fprintf(view->out, "on these calls: %s of the misses of the pair\n",
                fm_text_percent(paths.share).text);
    }
    write_objects(view, pair->reuse);
    const fm_error_sum *sure = &pair->sure;
    if (sure->samples) {
        list_label(view, "estimated");
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
static bool pair_matters(const list_view *view, const fm_late_pair *pair, double passed)
{
    return passed < view->late.late * 0.99 || pair->late >= misses_of(view) * 0.001;
}

static fm_status write_list(const list_view *view, fm_error *error)
{
    list_ink(view, FM_INK_DIM);
    fprintf(view->out, "\n%3s %17s %9s %9s  ", "#", "misses", "share", "late");
    fprintf(view->out, view->profile->granularity > 1 ? "%-15s data in between\n" : "%s\n", "distance");
    list_ink(view, FM_INK_NONE);
    fm_status status = FM_OK;
    double passed = 0;
    size_t listed = 0;
    while (listed < view->late.top && !status && !ferror(view->out)) {
        const fm_late_pair *pair = &view->late.pairs[listed];
        if (!pair_matters(view, pair, passed)) break;
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
    if (!profile->attribution) {
        fputs("no code to show: this profile does not say where its references come from\n", out);
        return FM_OK;
    }
    status = fm_miss_table_check(profile, true, NULL, error);
    if (status) return status;
    if (profile->references == 0) {
        fputs("no code to show: there are no references\n", out);
        return FM_OK;
    }
    uint64_t asked = cache->bytes / (profile->granularity ? profile->granularity : 1);
    bool bounded = profile->bound && profile->beyond && asked > profile->bound;
    list_view view = {.out = out, .profile = profile, .cache = cache, .options = options};
    view.width = options->width ? options->width : 80;
    place_style_set(&view.style, profile->attribution, options->unicode);
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
