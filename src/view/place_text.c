/* SPDX-License-Identifier: Apache-2.0 */
/* place_text.c - see place_text.h. */
#include "view/place_text.h"
#include "base/base_name.h"

#include "profile/attribution/module_name.h"
#include "view/function_name.h"
#include "view/text.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* What a place is called, in two pieces: "function (where)", "symbol+0x1f in where". Either may be empty. */
typedef struct place {
    char function[2048];
    char where[4200];
    const char *base; /* in where: the file's name, without folders */
    bool in_brackets;
} place;

void fm_place_style_set(fm_place_style *style, const fm_attribution *of, bool unicode)
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

bool fm_place_is_system(const char *file)
{
    return strncmp(file, "/usr/include/", 13) == 0 || strncmp(file, "/usr/lib", 8) == 0 ||
           strstr(file, "/c++/");
}

bool fm_module_is_system(const char *path)
{
    return strncmp(path, "/usr/lib", 8) == 0 || strncmp(path, "/lib", 4) == 0;
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
static const char *opening(const place *of)
{
    return !of->function[0] || !of->where[0] ? "" : of->in_brackets ? " (" : " in ";
}

static const char *ending(const place *of)
{
    return of->function[0] && of->where[0] && of->in_brackets ? ")" : "";
}

static unsigned columns_of(const place *of, bool unicode)
{
    return fm_text_columns(of->function, unicode) + (unsigned)strlen(opening(of)) +
           fm_text_columns(of->where, unicode) + (unsigned)strlen(ending(of));
}

static unsigned least(unsigned a, unsigned b)
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
static unsigned write_place(FILE *out, place *of, unsigned columns, bool unicode)
{
    const char *function = of->function;
    char shortened[sizeof of->function];
    unsigned around = (unsigned)(strlen(opening(of)) + strlen(ending(of)));
    if (columns_of(of, unicode) > columns)
        function = fm_function_name_shorten(function, shortened, sizeof shortened);
    unsigned function_columns = fm_text_columns(function, unicode),
             where_columns = fm_text_columns(of->where, unicode);
    unsigned base_columns = fm_text_columns(of->base, unicode);
    if (function_columns + around + where_columns > columns) {
        /* The file's name and line need this much, with a mark that folders are missing. */
        unsigned needed = of->base == of->where ? base_columns : base_columns + (unicode ? 2 : 4);
        unsigned left = columns > function_columns + around ? columns - function_columns - around : 0;
        where_columns = least(where_columns, needed > left ? needed : left);
        where_columns = least(where_columns, columns > around + 1 ? columns - around - 1 : 0);
        left = columns > where_columns + around ? columns - where_columns - around : 0;
        function_columns = least(function_columns, left);
    }
    unsigned used = around;
    used += fm_text_write_short(out, function, function_columns, FM_CUT_MIDDLE, unicode);
    fputs(opening(of), out);
    used += write_where(out, of, where_columns, unicode);
    fputs(ending(of), out);
    return used;
}

unsigned fm_place_write_frame(FILE *out, const fm_place_style *style, const fm_frame *frame, unsigned columns)
{
    place made;
    place_of_frame(style, frame, frame->function, &made);
    if (!made.function[0] && !made.where[0]) strcpy(made.function, "unknown code");
    return write_place(out, &made, columns, style->unicode);
}

unsigned fm_place_write_site(FILE *out, const fm_place_style *style, uint32_t site, unsigned columns)
{
    place made;
    place_of_site(style, site, &made);
    return write_place(out, &made, columns, style->unicode);
}

unsigned fm_place_site_columns(const fm_place_style *style, uint32_t site)
{
    place made;
    place_of_site(style, site, &made);
    return columns_of(&made, style->unicode);
}

unsigned fm_place_frame_columns(const fm_place_style *style, const fm_frame *frame)
{
    place made;
    place_of_frame(style, frame, frame->function, &made);
    return columns_of(&made, style->unicode);
}
