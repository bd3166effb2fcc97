/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_verdict.c - the first screen: the answer, then why.
 *
 *     blur exited with 0: 54.9 M references to 48 MiB, every one seen, exact
 *
 *     cache       size   misses  of refs    late   first   most of them at
 *     L1d       48 KiB   9.16 M   16.7 %    91 %     9 %   blur.c:25, blur.c:26
 *     L2         2 MiB   1.31 M    2.4 %    40 %    60 %   blur.c:37
 *
 *     L1d: two lines make 86 % of the misses
 *                    L1d       L2  of L1d
 *       blur.c:25  3.93 M        0   43 %  sum += from[y + d][x];
 *           in blur_columns, on heap block from main (blur.c:33)
 *
 * Numbers and words are those of verdict.c; this file only lays them out. No line is wider than the
 * terminal.
 */
#include <fathom/view.h>

#include "base/error.h"
#include "base/memory.h"
#include "profile/profile_parts.h"
#include "view/miss_table.h"
#include "view/source_files.h"
#include "view/text.h"

#include <string.h>

enum {
    MOST_COLUMNS = 4, /* of the list */
    WIDEST_PLACE = 34,
};

typedef struct verdict_screen {
    FILE *out;
    const fm_verdict *of;
    const fm_view_options *options;
    unsigned width;
} verdict_screen;

static void screen_ink(const verdict_screen *to, fm_ink which)
{
    fm_text_ink(to->out, to->options, which);
}

/* ---- what it covers, and what limits it ---- */

static void write_sentence(FILE *out, const char *text, unsigned indent, const fm_view_options *options)
{
    fm_text_write_wrapped(out, text, strlen(text), indent, options);
    putc('\n', out);
}

/* How sure a profile of source code is. */
static void write_certainty(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    const fm_kernel *kernel = profile->kernel;
    char how[2000];
    const char *method = profile->exact ? kernel->method : NULL; /* else it is in the accuracy */
    snprintf(how, sizeof how, "%s%s%s; %s rows; %.2f s", kernel->certainty ? kernel->certainty : "exact",
             method ? ": " : "", method ? method : "", kernel->layout ? kernel->layout : "contiguous",
             kernel->seconds);
    write_sentence(out, how, 0, options);
}

static void write_warning(FILE *out, const char *word, const char *text, const fm_view_options *options)
{
    fm_text_ink(out, options, FM_INK_WARNING);
    fputs(word, out);
    fm_text_ink(out, options, FM_INK_NONE);
    putc(' ', out);
    write_sentence(out, text, (unsigned)strlen(word) + 1, options);
}

static void write_notes(FILE *out, const char *notes, const fm_view_options *options)
{
    while (notes && *notes) {
        size_t length = strcspn(notes, "\n");
        if (strspn(notes, " ") < length) {
            fm_text_ink(out, options, FM_INK_DIM);
            fputs("note ", out);
            fm_text_ink(out, options, FM_INK_NONE);
            fm_text_write_wrapped(out, notes, length, 5, options);
            putc('\n', out);
        }
        notes += length + (notes[length] == '\n');
    }
}

/* What is covered in a sentence, and a line for each thing that limits it. */
static void write_covered(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    char text[FM_SENTENCE];
    fm_verdict_covers(profile, text);
    fm_text_ink(out, options, FM_INK_BOLD);
    fm_text_write_wrapped(out, text, strlen(text), 0, options);
    fm_text_ink(out, options, FM_INK_NONE);
    putc('\n', out);
    if (profile->kernel) write_certainty(out, profile, options);
    if (!profile->exact)
        write_warning(out, "APPROXIMATE",
                      profile->accuracy ? profile->accuracy->statement : "nothing is promised", options);
    if (!profile->complete) {
        snprintf(text, sizeof text, "%s%s%s%s",
                 profile->lost ? fm_text_count(profile->lost).text
                               : "an unknown number of references is missing",
                 profile->lost ? " references are known to be missing" : "",
                 profile->what_missing ? ": " : "", profile->what_missing ? profile->what_missing : "");
        write_warning(out, "INCOMPLETE", text, options);
    }
    if (!profile->cold_known)
        write_warning(out, "UNKNOWN",
                      "first touches among the references beyond the bound: memory to tell them ran out",
                      options);
    if (profile->run && !options->notes_shown) write_notes(out, profile->run->notes, options);
    if (profile->kernel) write_notes(out, profile->kernel->notes, options);
}

/* ---- misses at every cache ---- */

static bool has_band(const fm_profile *profile)
{
    return profile->accuracy && profile->accuracy->band_count > 0;
}

/* The places with most misses at a level, as many as there is room. */
static fm_status write_places(const verdict_screen *to, size_t level, unsigned room, fm_error *error)
{
    const fm_verdict *of = to->of;
    const fm_miss_row *places[FM_VERDICT_PLACES];
    size_t count;
    fm_status status = fm_verdict_places(of, level, places, &count, error);
    if (status) return status;
    for (size_t i = 0; i < count; i++) {
        char text[600];
        unsigned columns =
            fm_text_columns(fm_miss_row_text(places[i], text, sizeof text), to->options->unicode);
        if (i && columns + 2 > room) break;
        fputs(i ? ", " : "   ", to->out);
        room -= i ? 2 : 0;
        room -= fm_text_write_short(to->out, text, room, FM_CUT_MIDDLE, to->options->unicode);
    }
    if (count == 0 || of->fits[level].late > 0) return FM_OK;
    char mark[32];
    const char *short_mark = of->profile->sampling ? " (never)" : " (first)";
    snprintf(mark, sizeof mark, " (%s)", fm_text_cold(of->profile));
    if (room >= strlen(mark))
        fputs(mark, to->out);
    else if (room >= strlen(short_mark))
        fputs(short_mark, to->out);
    return FM_OK;
}

static fm_status write_level(const verdict_screen *to, size_t level, fm_error *error)
{
    enum { BEFORE_PLACES = 55 };
    const fm_verdict *of = to->of;
    const fm_level_text text = fm_verdict_level_text(of, level);
    unsigned used = fm_text_write_short(to->out, fm_text_cache_name(&of->caches[level]).text, 8, FM_CUT_END,
                                        to->options->unicode);
    fprintf(to->out, "%*s %8s", used < 8 ? (int)(8 - used) : 0, "", text.size.text);
    if (!of->fits[level].misses.known) {
        fprintf(to->out, "  unknown: larger than the profile's bound\n");
        return FM_OK;
    }
    fprintf(to->out, " %8s %8s", text.misses.text, text.ratio.text);
    if (has_band(of->profile))
        fprintf(to->out, of->order ? " %-15s" : " %s", text.band.text);
    else
        fprintf(to->out, " %7s %7s", text.late.text, text.first.text);
    fm_status status = FM_OK;
    if (of->order && !of->few)
        status =
            write_places(to, level, to->width > BEFORE_PLACES + 12 ? to->width - BEFORE_PLACES : 12, error);
    putc('\n', to->out);
    return status;
}

static fm_status write_levels(const verdict_screen *to, fm_error *error)
{
    const fm_verdict *of = to->of;
    screen_ink(to, FM_INK_DIM);
    fprintf(to->out, "\n%-8s %8s %8s %8s", "cache", "size", "misses", "of refs");
    if (has_band(of->profile)) {
        char band[32];
        snprintf(band, sizeof band, "(%.0f %% band)", of->profile->accuracy->confidence * 100);
        fprintf(to->out, of->order ? " %-15s" : " %s", band);
    } else {
        fprintf(to->out, " %7s %7s", "late", "first");
    }
    fprintf(to->out, "%s\n", of->order && !of->few ? "   most of them at" : "");
    screen_ink(to, FM_INK_NONE);
    fm_status status = FM_OK;
    for (size_t i = 0; i < of->count && !status; i++) status = write_level(to, i, error);
    screen_ink(to, FM_INK_DIM);
    if (of->profile->elements)
        fputs("fully associative LRU, sizes in elements; late: used before, and lost since\n", to->out);
    else
        fprintf(to->out, "fully associative LRU, %s-byte blocks; late: used before, and lost since\n",
                fm_text_count(of->profile->granularity).text);
    screen_ink(to, FM_INK_NONE);
    return status;
}

/* ---- the list ---- */

/* The caches that have a column: the judged one, and the others in their order as far as there is room. */
static size_t choose_columns(const fm_verdict *of, size_t columns[MOST_COLUMNS])
{
    size_t count = 0;
    const size_t last = of->judged < MOST_COLUMNS ? MOST_COLUMNS : MOST_COLUMNS - 1;
    for (size_t i = 0; i < of->count && count < last; i++) columns[count++] = i;
    if (of->judged >= last) columns[count++] = of->judged;
    return count;
}

static void write_detail(const verdict_screen *to, const char *text)
{
    if (!text[0]) return;
    screen_ink(to, FM_INK_DIM);
    fputs("      ", to->out);
    fm_text_write_short(to->out, text, to->width > 26 ? to->width - 6 : 20, FM_CUT_END, to->options->unicode);
    screen_ink(to, FM_INK_NONE);
    putc('\n', to->out);
}

static fm_status write_rows(const verdict_screen *to, fm_error *error)
{
    const fm_verdict *of = to->of;
    size_t columns[MOST_COLUMNS], column_count = choose_columns(of, columns);
    unsigned place = 4;
    char text[FM_SENTENCE];
    for (size_t i = 0; i < of->listed; i++) {
        unsigned needed =
            fm_text_columns(fm_miss_row_text(fm_verdict_row(of, i), text, sizeof text), to->options->unicode);
        if (needed > place) place = needed < WIDEST_PLACE ? needed : WIDEST_PLACE;
    }
    screen_ink(to, FM_INK_DIM);
    fprintf(to->out, "  %*s", (int)place, "");
    for (size_t i = 0; i < column_count; i++) {
        putc(' ', to->out);
        fm_text_write_right(to->out, fm_text_cache_name(&of->caches[columns[i]]).text, 8,
                            to->options->unicode);
    }
    fputs("  of ", to->out);
    fm_text_write_short(to->out, fm_text_cache_name(&of->caches[of->judged]).text, 8, FM_CUT_END,
                        to->options->unicode);
    putc('\n', to->out);
    screen_ink(to, FM_INK_NONE);
    const unsigned used = 2 + place + 9 * (unsigned)column_count + 7;
    const fm_report_options sources = {0};
    fm_status status = FM_OK;
    for (size_t i = 0; i < of->listed && !status; i++) {
        const fm_miss_row *row = fm_verdict_row(of, i);
        fputs("  ", to->out);
        unsigned wrote = fm_text_write_short(to->out, fm_miss_row_text(row, text, sizeof text), place,
                                             FM_CUT_MIDDLE, to->options->unicode);
        fprintf(to->out, "%*s", (int)(place - wrote), "");
        for (size_t c = 0; c < column_count; c++)
            fprintf(to->out, " %8s", fm_text_short(row->misses[columns[c]]).text);
        fprintf(to->out, " %6s", fm_text_whole_percent(row->misses[of->judged] / fm_verdict_total(of)).text);
        if (row->kind == FM_ROW_LINE && to->width >= used + 12) {
            char line[FM_SOURCE_LINE];
            status = fm_source_line(line, &sources, of->table.of, row->file, row->line, error);
            if (line[0]) fputs("  ", to->out);
            fm_text_write_short(to->out, line, to->width - used - 2, FM_CUT_END, to->options->unicode);
        }
        putc('\n', to->out);
        fm_verdict_detail(of, row, text);
        write_detail(to, text);
        write_detail(to, fm_text_sure(row->uses, row->error, row->samples, to->options).text);
    }
    return status;
}

static fm_status write_list(const verdict_screen *to, fm_error *error)
{
    const fm_verdict *of = to->of;
    char text[FM_SENTENCE];
    if (!(fm_verdict_total(of) > 0)) {
        fputs("\nno misses at all: every re-use comes in time for these caches\n", to->out);
        return FM_OK;
    }
    putc('\n', to->out);
    if (fm_verdict_too_few(of, text)) {
        fprintf(to->out, "%s\n", text);
        return FM_OK;
    }
    if (!fm_verdict_heading(of, text)) {
        fputs("the profile does not tell which data its references are to\n", to->out);
        return FM_OK;
    }
    screen_ink(to, FM_INK_BOLD);
    fm_text_write_name(to->out, text, to->options->unicode);
    putc('\n', to->out);
    screen_ink(to, FM_INK_NONE);
    fm_status status = write_rows(to, error);
    if (status) return status;
    if (!(of->fits[of->judged].late > 0)) {
        fprintf(to->out, "  %s only: no re-use comes too late for any of these caches\n",
                fm_text_cold(of->profile));
    } else if (fm_verdict_distance(of, text)) {
        fputs("  ", to->out);
        write_sentence(to->out, text, 2, to->options);
    }
    return FM_OK;
}

/* ---- all of it ---- */

fm_status fm_view_verdict_sized(size_t given_size, FILE *out, const fm_profile *profile,
                                const fm_cache *caches, size_t count, fm_by by, size_t most,
                                const fm_view_options *given, fm_error *error)
{
    FM_REQUIRE(profile, error);
    fm_view_options known;
    char why[300];
    fm_status status = fm_sized_read(&known, sizeof known, given, given_size, "fm_view_options", error);
    if (status != FM_OK) return status;
    status = fm_miss_table_check(profile, false, NULL, error);
    if (status) return status;
    const fm_law *law = fm_law_broken(profile, FM_LAWS_ANY, why, sizeof why);
    if (law)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the profile breaks the law \"%s\" (%s): %s", law->name,
                       law->says, why);
    write_covered(out, profile, &known);
    if (profile->references == 0) {
        fputs("no references: nothing to show\n", out);
        return FM_OK;
    }
    if (count == 0) return FM_OK;
    fm_verdict verdict;
    status = fm_verdict_make(&verdict, profile, caches, count, by, most, error);
    if (status) return status;
    const verdict_screen to = {out, &verdict, &known, known.width ? known.width : 80};
    status = write_levels(&to, error);
    if (!status && profile->attribution && most) status = write_list(&to, error);
    fm_verdict_clear(&verdict);
    return status;
}
