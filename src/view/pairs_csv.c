/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs_csv.c - every pair of sites as a line of CSV (RFC 4180, but for the line ends, which are those of
 * Unix). Names are written as they are: a comma, a quote or a newline in one is quoted, bytes that are no
 * UTF-8 become U+FFFD.
 */
#include <fathom/view.h>

#include "base/error.h"
#include "profile/attribution/attribution_check.h"
#include "profile/attribution/places.h"
#include "profile/utf8.h"

#include <inttypes.h>
#include <string.h>

/* Quotes are doubled, which is right in quoted cells; others have none. */
static void write_text(FILE *out, const char *text)
{
    size_t left = strlen(text);
    while (left) {
        size_t plain = 0; /* most names are nothing else */
        while (plain < left && (signed char)text[plain] > 0 && text[plain] != '"') plain++;
        fwrite(text, 1, plain, out);
        text += plain;
        left -= plain;
        if (left == 0) break;
        uint32_t character;
        size_t length = fm_utf8_decode((const unsigned char *)text, left, &character);
        if (length)
            fwrite(text, 1, length, out);
        else
            fputs("\xEF\xBF\xBD", out); /* U+FFFD, the replacement character */
        if (*text == '"') putc('"', out);
        text += length ? length : 1;
        left -= length ? length : 1;
    }
}

static void write_cell(FILE *out, const char *text)
{
    if (!text) return;
    size_t length = strlen(text);
    bool quoted = strpbrk(text, ",\"\r\n") || (length && (text[0] == ' ' || text[length - 1] == ' '));
    if (quoted) putc('"', out);
    write_text(out, text);
    if (quoted) putc('"', out);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* "function (file.c:12)" as a piece of a quoted cell. */
static void write_frame(FILE *out, const fm_frame *frame, const char *before)
{
    fputs(before, out);
    write_text(out, frame->function ? frame->function : "?");
    if (!frame->file) return;
    fputs(" (", out);
    write_text(out, base_of(frame->file));
    if (frame->line) fprintf(out, ":%" PRIu32, frame->line);
    putc(')', out);
}

static void write_inlined(FILE *out, const fm_site *site)
{
    if (site->frame_count < 2) return;
    putc('"', out);
    for (size_t i = 1; i < site->frame_count; i++) write_frame(out, &site->frames[i], i > 1 ? " < " : "");
    putc('"', out);
}

static void write_path(FILE *out, const fm_attribution *of, uint32_t path)
{
    if (path == FM_NONE) return;
    const char *before = "";
    putc('"', out);
    for (; path != FM_NONE; path = of->paths[path].parent) {
        const fm_site *call = &of->sites[of->paths[path].call];
        for (size_t i = 0; i < call->frame_count; i++, before = " < ")
            write_frame(out, &call->frames[i], before);
        if (call->frame_count == 0) {
            char text[512];
            fputs(before, out);
            write_text(out, fm_site_text(of, of->paths[path].call, text, sizeof text));
            before = " < ";
        }
    }
    putc('"', out);
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
    write_cell(out, frame && frame->function ? frame->function : site->symbol);
    putc(',', out);
    write_cell(out, frame ? frame->file : NULL);
    putc(',', out);
    if (frame && frame->line) fprintf(out, "%" PRIu32, frame->line);
    putc(',', out);
    write_inlined(out, site);
    putc(',', out);
    write_cell(out, site->module == FM_NONE ? NULL : of->modules[site->module].path);
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
        write_cell(out, name);
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
