/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_page.c - a diff as a page: the report of the two profiles (report.c), and before them what web/diff.js
 * draws: the verdict, the caches, what got better and worse, and the two sources side by side with the misses
 * of each line.
 *
 *   diff {verdict, sentence, references, notes, before, after,
 *         conditions [{text, found, holds}], levels [[change, cell, …], …],
 *         tables [{title, head, rows [[change, place, before, after], …]}, …],
 *         files [{before, after, why, rows [row, or 0 for a gap]}, …]}
 *   row  [line, misses, text, changed] of before, then of after: [] for a side that has no such line; text
 * null: not kept
 *
 * The text of before may be gone: then a line that is equal on both sides is taken from after, and of the
 * others there is only the number.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "profile/attribution_parts.h"
#include "view/diff/diff_parts.h"
#include "view/report/report_parts.h"
#include "view/source_files.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 20, MOST_ROWS = 30, AROUND = 4, LONGEST_LINE = 400 };

static const char *const change_words[] = {"same", "better", "worse"};

/* One side of a source: its text, where there is some, and the misses of its lines at the judged level. */
typedef struct side_source {
    fm_source_text text;
    size_t count; /* lines */
    double *misses;
} side_source;

typedef struct page_file {
    const fm_diff *diff;
    const fm_file_match *match;
    side_source side[2];
    const char *sums[2]; /* of lines; NULL: not known */
    size_t sum_count[2];
} page_file;

/* ---- texts ---- */

static void string_write(FILE *out, const char *text)
{
    fm_json_write_string(out, text, FM_JSON_IN_HTML);
}

static void string_field(FILE *out, const char *key, const char *text)
{
    fprintf(out, "\"%s\":", key);
    string_write(out, text);
    putc(',', out);
}

/* One array of strings. */
static void strings_write(FILE *out, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        putc(i ? ',' : '[', out);
        string_write(out, texts[i]);
    }
    putc(']', out);
}

/* ---- tables ---- */

static void write_levels(FILE *out, const fm_diff *diff)
{
    fputs("\"levels\":[", out);
    for (size_t i = 0; i < diff->level_count; i++) {
        const fm_cache_fit *was = &diff->fits[0][i], *is = &diff->fits[1][i];
        const fm_text name = fm_text_cache_name(&diff->caches[i]),
                      size = fm_text_cache_size(diff->profile[0], diff->caches[i].bytes),
                      before = fm_text_short(was->misses.expected),
                      after = fm_text_short(is->misses.expected);
        char percent[32], ratios[128];
        fm_diff_percent(was->misses.expected, is->misses.expected, percent, sizeof percent);
        snprintf(ratios, sizeof ratios, "%.40s → %.40s%s", fm_text_short_percent(was->ratio).text,
                 fm_text_short_percent(is->ratio).text, diff->within[i] ? " (within the bands)" : "");
        if (i) putc(',', out);
        strings_write(out,
                      (const char *const[]){change_words[diff->change[i]], name.text, size.text, before.text,
                                            after.text, percent, ratios},
                      7);
    }
    fputs("],", out);
}

static void write_table(FILE *out, const fm_diff *diff, fm_by by)
{
    static const char *const heads[] = {"Line (after)", "Function", "Object"};
    static const char *const titles[] = {"Lines", "Functions", "Data objects"};
    const fm_diff_table *table = &diff->tables[by];
    size_t shown = 0;
    fprintf(out, "{\"title\":\"%s\",\"head\":\"%s\",\"rows\":[", titles[by], heads[by]);
    for (size_t i = 0; i < table->count && shown < MOST_ROWS; i++) {
        const fm_diff_row *row = &table->rows[i];
        char place[700];
        if (row->what == FM_CHANGE_NONE) continue;
        if (shown++) putc(',', out);
        fm_miss_row_text(row->after ? row->after : row->before, place, sizeof place);
        const fm_text was = fm_text_short(fm_diff_misses(row->before, diff->judged)),
                      is = fm_text_short(fm_diff_misses(row->after, diff->judged));
        strings_write(out,
                      (const char *const[]){change_words[row->what], place, row->before ? was.text : "–",
                                            row->after ? is.text : "–"},
                      4);
    }
    fputs("]}", out);
}

/* ---- sources ---- */

static void side_clear(side_source *side)
{
    fm_source_text_clear(&side->text);
    free(side->misses);
    *side = (side_source){0};
}

static fm_status read_side(page_file *file, int which, fm_error *error)
{
    const fm_diff *diff = file->diff;
    side_source *side = &file->side[which];
    const char *path = which ? file->match->after : file->match->before;
    const fm_attribution *of = diff->profile[which]->attribution;
    const fm_report_options options = {.source_folders = diff->source_folders,
                                       .source_folder_count = diff->source_folder_count};
    fm_status status = fm_source_text_read(&side->text, &options, fm_attribution_source(of, path),
                                           of->sources != NULL, error);
    if (status) return status;
    file->sums[which] = fm_line_sums_of(of, path);
    file->sum_count[which] = file->sums[which] ? strlen(file->sums[which]) / FM_LINE_SUM : 0;
    side->count = *side->text.why ? file->sum_count[which] : side->text.line_count;
    side->misses = fm_calloc(side->count, sizeof *side->misses);
    if (!side->misses)
        return fm_fail_memory(error, side->count * sizeof *side->misses, "the lines of a page");
    const fm_miss_table *groups = &diff->tables[FM_BY_LINE].sides[which];
    for (size_t i = 0; i < groups->count; i++) {
        const fm_miss_row *group = &groups->rows[i];
        if (group->kind == FM_ROW_LINE && strcmp(group->file, path) == 0 && group->line <= side->count)
            side->misses[group->line - 1] += group->misses[diff->judged];
    }
    return FM_OK;
}

/* A row of the two: lines from 0; SIZE_MAX: none. */
static void write_side(FILE *out, const page_file *file, int which, size_t line, size_t other, bool matched)
{
    const side_source *side = &file->side[which], *across = &file->side[1 - which];
    if (line == SIZE_MAX) {
        fputs("[]", out);
        return;
    }
    fprintf(out, "[%zu,\"%s\",", line + 1,
            side->misses[line] > 0 ? fm_text_short(side->misses[line]).text : "");
    size_t length = 0;
    const char *bytes = NULL;
    if (!*side->text.why && line < side->text.line_count)
        bytes = fm_source_text_line(&side->text, line, &length);
    else if (matched && other != SIZE_MAX && !*across->text.why && other < across->text.line_count)
        bytes = fm_source_text_line(&across->text, other, &length);
    if (bytes) {
        char text[LONGEST_LINE + 1];
        snprintf(text, sizeof text, "%.*s", (int)(length < LONGEST_LINE ? length : LONGEST_LINE), bytes);
        string_write(out, text);
    } else {
        fputs("null", out);
    }
    fputs(matched ? "]" : ",true]", out);
}

/* Whether lines are the same, not only matched. */
static bool are_equal(const page_file *file, size_t before, size_t after)
{
    if (file->match->same) return true;
    return before < file->sum_count[0] && after < file->sum_count[1] &&
           memcmp(file->sums[0] + before * FM_LINE_SUM, file->sums[1] + after * FM_LINE_SUM, FM_LINE_SUM) ==
               0;
}

typedef struct page_row {
    size_t before, after;
    bool matched, wanted;
} page_row;

/* All rows in their order; those that matter, and some around them, are wanted. */
static size_t make_rows(const page_file *file, page_row *rows)
{
    const fm_line_match *lines = &file->match->lines;
    const bool by_number = file->match->same || file->match->by_number;
    const size_t n = file->side[0].count, m = file->side[1].count;
    size_t count = 0, a = 0, b = 0;
    while (a < n || b < m) {
        const size_t to = by_number ? (a < m ? a : SIZE_MAX)
                          : a < n && a < lines->before_count && lines->to_after[a] != UINT32_MAX
                              ? lines->to_after[a]
                              : SIZE_MAX;
        if (a < n && to == SIZE_MAX)
            rows[count++] = (page_row){.before = a++, .after = SIZE_MAX};
        else if (b < m && (a >= n || b < to))
            rows[count++] = (page_row){.before = SIZE_MAX, .after = b++};
        else {
            rows[count] = (page_row){.before = a, .after = b};
            rows[count].matched = are_equal(file, a++, b++);
            count++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const double was = rows[i].before == SIZE_MAX ? 0 : file->side[0].misses[rows[i].before],
                     is = rows[i].after == SIZE_MAX ? 0 : file->side[1].misses[rows[i].after];
        if (rows[i].matched && !(was > 0) && !(is > 0)) continue;
        for (size_t j = i > AROUND ? i - AROUND : 0; j <= i + AROUND && j < count; j++) rows[j].wanted = true;
    }
    return count;
}

static fm_status write_file(FILE *out, page_file *file, fm_error *error)
{
    page_row *rows = fm_calloc(file->side[0].count + file->side[1].count, sizeof *rows);
    if (!rows) return fm_fail_memory(error, sizeof *rows, "the lines of a page");
    const size_t count = make_rows(file, rows);
    bool begun = false, gap = false;
    putc('{', out);
    string_field(out, "before", file->match->before);
    string_field(out, "after", file->match->after);
    if (*file->side[0].text.why && !file->match->same) string_field(out, "why", file->side[0].text.why);
    fputs("\"rows\":[", out);
    for (size_t i = 0; i < count && !ferror(out); i++) {
        if (!rows[i].wanted) {
            gap = true;
            continue;
        }
        fputs(begun ? ",\n" : "\n", out);
        if (gap) fputs("0,\n", out);
        gap = false;
        begun = true;
        putc('[', out);
        write_side(out, file, 0, rows[i].before, rows[i].after, rows[i].matched);
        putc(',', out);
        write_side(out, file, 1, rows[i].after, rows[i].before, rows[i].matched);
        putc(']', out);
    }
    fputs("\n]}", out);
    free(rows);
    return FM_OK;
}

/* Files with rows that changed, those of the largest changes first. */
static fm_status write_files(FILE *out, const fm_diff *diff, fm_error *error)
{
    const fm_diff_table *table = &diff->tables[FM_BY_LINE];
    const fm_file_match *shown[MOST_FILES];
    size_t count = 0;
    for (size_t i = 0; i < table->count && count < MOST_FILES; i++) {
        const fm_diff_row *row = &table->rows[i];
        const fm_miss_row *group = row->before ? row->before : row->after;
        if (row->what == FM_CHANGE_NONE || group->kind != FM_ROW_LINE) continue;
        for (size_t j = 0; j < diff->file_count; j++) {
            const fm_file_match *match = &diff->files[j];
            const char *path = row->before ? match->before : match->after;
            bool known = !match->before || !match->after || !path || strcmp(path, group->file) != 0;
            for (size_t k = 0; k < count; k++) known |= shown[k] == match;
            if (!known && count < MOST_FILES) shown[count++] = match;
        }
    }
    page_file *file = fm_calloc(1, sizeof *file);
    if (!file) return fm_fail_memory(error, sizeof *file, "the sources of a page");
    fm_status status = FM_OK;
    size_t written = 0;
    for (size_t i = 0; i < count && !status; i++) {
        *file = (page_file){.diff = diff, .match = shown[i]};
        status = read_side(file, 0, error);
        if (!status) status = read_side(file, 1, error);
        if (!status && file->side[0].count && file->side[1].count) {
            if (written++) putc(',', out);
            status = write_file(out, file, error);
        }
        side_clear(&file->side[0]);
        side_clear(&file->side[1]);
    }
    free(file);
    return status;
}

static fm_status write_diff(FILE *out, const void *of, fm_error *error)
{
    const fm_diff *diff = of;
    char text[4000];
    fm_status status = FM_OK;
    fputs("\"diff\":{", out);
    string_field(out, "verdict", fm_diff_verdict(diff));
    fm_diff_sentence(diff, text, sizeof text);
    string_field(out, "sentence", text);
    fm_diff_references(diff, text, sizeof text);
    string_field(out, "references", text);
    fputs("\"notes\":[", out);
    for (size_t i = 0; fm_diff_note(diff, i, text, sizeof text); i++) {
        if (i) putc(',', out);
        string_write(out, text);
    }
    fputs("],\"conditions\":[", out);
    for (size_t i = 0; i < diff->condition_count; i++) {
        fputs(i ? ",{" : "{", out);
        string_field(out, "text", diff->conditions[i].text);
        string_field(out, "found", diff->conditions[i].met_by);
        fprintf(out, "\"holds\":%s}", diff->conditions[i].holds ? "true" : "false");
    }
    fputs("],", out);
    write_levels(out, diff);
    fputs("\"tables\":[", out);
    const bool coded = diff->coded && fm_diff_is_comparable(diff);
    for (int by = 0; coded && by < FM_DIFF_TABLES; by++) {
        if (by) putc(',', out);
        write_table(out, diff, (fm_by)by);
    }
    fputs("],\"files\":[", out);
    if (coded) status = write_files(out, diff, error);
    fputs("],", out);
    string_field(out, "before", diff->names[0]);
    fputs("\"after\":", out);
    string_write(out, diff->names[1]);
    fputs("},\n", out);
    return status;
}

fm_status fm_view_diff_page(FILE *out, const fm_diff *diff, const char *title, fm_error *error)
{
    FM_REQUIRE(diff, error);
    const fm_report_options options = {.title = title ? title : "Before and after",
                                       .source_folders = diff->source_folders,
                                       .source_folder_count = diff->source_folder_count};
    const fm_page_extra extra = {write_diff, diff};
    return fm_report_write_whole(out, &options, diff->profile, 2, diff->caches, diff->level_count, &extra,
                                 error);
}
