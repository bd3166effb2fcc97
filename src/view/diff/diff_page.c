/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_page.c - a diff as one page without scripts: the verdict, the caches, what got better and worse, and
 * the two sources side by side with the misses of each line.
 *
 * The text of before may be gone: then a line that is equal on both sides is taken from after, and of the
 * others there is only the number.
 */
#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution/line_sums.h"
#include "view/diff/diff_parts.h"
#include "view/source_files.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 20, AROUND = 4, LONGEST_LINE = 400 };

static const char style[] =
    ":root{color-scheme:light dark;--edge:#d0d5dc;--quiet:#5a6572;--good:#14713a;--bad:#b3261e;--in:#e3f4e6;"
    "--out:#fbe6e4}\n"
    "@media(prefers-color-scheme:dark){:root{--edge:#3a424c;--quiet:#9aa5b1;--good:#6fcf8e;--bad:#ff8a80;"
    "--in:#14301d;--out:#3b1917}}\n"
    "body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1400px;padding:12px 16px 40px}\n"
    "h1{font-size:1.25rem;margin:.3em 0}h2{font-size:1.05rem;margin:1.4em 0 .4em}\n"
    "p{margin:.3em 0}.quiet{color:var(--quiet)}.better{color:var(--good)}.worse{color:var(--bad)}\n"
    "table{border-collapse:collapse}th,td{padding:2px "
    "10px;text-align:right;white-space:nowrap;border-bottom:1px solid "
    "var(--edge)}\n"
    "th:first-child,td:first-child,.l{text-align:left}th{font-weight:600;color:var(--quiet)}\n"
    ".scroll{overflow-x:auto}.code{font:12.5px/1.4 ui-monospace,monospace}\n"
    ".side{width:100%;table-layout:fixed}.side td{border:0;padding:0 "
    "6px;vertical-align:top;white-space:pre-wrap;"
    "overflow-wrap:anywhere}\n"
    ".side .n{width:3.2em;color:var(--quiet);text-align:right}.side .m{width:4.6em;text-align:right}\n"
    ".side .t{text-align:left}.in{background:var(--in)}.out{background:var(--out)}.gap "
    "td{color:var(--quiet)}\n"
    "@media(max-width:700px){th,td{padding:2px 5px}.side,.side tbody,.side tr{display:block}.side "
    "tr{border-bottom:1px solid "
    "var(--edge)}"
    ".side td{display:inline-block;width:auto!important}.side .t{display:block;padding-left:1.2em}}\n";

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

/* ---- tables ---- */

static void write_number(FILE *out, const char *text)
{
    fprintf(out, "<td>%s</td>", text);
}

static void write_levels(FILE *out, const fm_diff *diff)
{
    static const char *const classes[] = {"", "better", "worse"};
    char percent[32];
    fputs("<div class=\"scroll\"><table><thead><tr><th>cache</th><th>size</th><th>misses "
          "before</th><th>after</th>"
          "<th>change</th><th>per reference</th></tr></thead><tbody>\n",
          out);
    for (size_t i = 0; i < diff->level_count; i++) {
        const fm_cache_fit *was = &diff->fits[0][i], *is = &diff->fits[1][i];
        const fm_text name = fm_text_cache_name(&diff->caches[i]);
        fm_diff_percent(was->misses.expected, is->misses.expected, percent, sizeof percent);
        fprintf(out, "<tr class=\"%s\"><td>", classes[diff->change[i]]);
        fm_html_write_text(out, name.text);
        fputs("</td>", out);
        write_number(out, fm_text_cache_size(diff->profile[0], diff->caches[i].bytes).text);
        write_number(out, fm_text_short(was->misses.expected).text);
        write_number(out, fm_text_short(is->misses.expected).text);
        write_number(out, percent);
        fprintf(out, "<td>%s → %s%s</td></tr>\n", fm_text_short_percent(was->ratio).text,
                fm_text_short_percent(is->ratio).text, diff->within[i] ? " (within the bands)" : "");
    }
    fputs("</tbody></table></div>\n", out);
}

static void write_rows(FILE *out, const fm_diff *diff, fm_by by)
{
    static const char *const heads[] = {"line (after)", "function", "object"};
    static const char *const titles[] = {"Lines", "Functions", "Data objects"};
    static const char *const words[] = {"same", "better", "worse"};
    enum { MOST_ROWS = 30 };
    const fm_diff_table *table = &diff->tables[by];
    size_t shown = 0;
    for (size_t i = 0; i < table->count && shown < MOST_ROWS; i++) {
        const fm_diff_row *row = &table->rows[i];
        char text[700];
        if (row->what == FM_CHANGE_NONE) continue;
        if (shown++ == 0)
            fprintf(out,
                    "<h2>%s</h2>\n<div class=\"scroll\"><table><thead><tr><th></th><th class=\"l\">%s</th>"
                    "<th>before</th><th>after</th></tr></thead><tbody>\n",
                    titles[by], heads[by]);
        fprintf(out, "<tr><td class=\"%s\">%s</td><td class=\"l code\">", words[row->what], words[row->what]);
        fm_html_write_text(out, fm_miss_row_text(row->after ? row->after : row->before, text, sizeof text));
        fputs("</td>", out);
        write_number(out, row->before ? fm_text_short(row->before->misses[diff->judged]).text : "–");
        write_number(out, row->after ? fm_text_short(row->after->misses[diff->judged]).text : "–");
        fputs("</tr>\n", out);
    }
    if (shown) fputs("</tbody></table></div>\n", out);
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
        fputs("<td class=\"n\"></td><td class=\"m\"></td><td class=\"t\"></td>", out);
        return;
    }
    const char *class = matched ? "" : which ? " in" : " out";
    fprintf(out, "<td class=\"n\">%zu</td><td class=\"m\">%s</td><td class=\"t%s\">", line + 1,
            side->misses[line] > 0 ? fm_text_short(side->misses[line]).text : "", class);
    size_t length = 0;
    const char *bytes = NULL;
    if (!*side->text.why && line < side->text.line_count)
        bytes = fm_source_text_line(&side->text, line, &length);
    else if (matched && other != SIZE_MAX && !*across->text.why && other < across->text.line_count)
        bytes = fm_source_text_line(&across->text, other, &length);
    if (bytes)
        fm_html_write_bytes(out, bytes, length < LONGEST_LINE ? length : LONGEST_LINE);
    else
        fputs("<span class=\"quiet\">(text not kept)</span>", out);
    fputs("</td>", out);
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
    fputs("<h2 class=\"code\">", out);
    fm_html_write_text(out, file->match->before);
    if (strcmp(file->match->before, file->match->after) != 0) {
        fputs(" → ", out);
        fm_html_write_text(out, file->match->after);
    }
    fputs("</h2>\n", out);
    if (*file->side[0].text.why && !file->match->same) {
        fputs("<p class=\"quiet\">The text of before is not there (", out);
        fm_html_write_text(out, file->side[0].text.why);
        fputs("): lines that did not change are taken from after. A profile with embedded source keeps "
              "it.</p>\n",
              out);
    }
    fputs("<table class=\"side code\"><tbody>\n<tr><th class=\"n\"></th><th class=\"m\">before</th><th "
          "class=\"t\"></th>"
          "<th class=\"n\"></th><th class=\"m\">after</th><th class=\"t\"></th></tr>\n",
          out);
    bool gap = false;
    for (size_t i = 0; i < count && !ferror(out); i++) {
        if (!rows[i].wanted) {
            gap = true;
            continue;
        }
        if (gap) fputs("<tr class=\"gap\"><td class=\"n\"></td><td colspan=\"5\">…</td></tr>\n", out);
        gap = false;
        fputs("<tr>", out);
        write_side(out, file, 0, rows[i].before, rows[i].after, rows[i].matched);
        write_side(out, file, 1, rows[i].after, rows[i].before, rows[i].matched);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table>\n", out);
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
    for (size_t i = 0; i < count && !status; i++) {
        *file = (page_file){.diff = diff, .match = shown[i]};
        status = read_side(file, 0, error);
        if (!status) status = read_side(file, 1, error);
        if (!status && file->side[0].count && file->side[1].count) status = write_file(out, file, error);
        side_clear(&file->side[0]);
        side_clear(&file->side[1]);
    }
    free(file);
    return status;
}

fm_status fm_view_diff_page(FILE *out, const fm_diff *diff, const char *title, fm_error *error)
{
    FM_REQUIRE(diff, error);
    char text[4000];
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; "
          "img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
          out);
    fm_html_write_text(out, title ? title : "Before and after");
    fprintf(out, "</title>\n<style>\n%s</style></head><body>\n", style);
    fm_diff_sentence(diff, text, sizeof text);
    fprintf(out, "<h1 class=\"%s\">", fm_diff_is_comparable(diff) ? fm_diff_verdict(diff) : "worse");
    fm_html_write_text(out, text);
    fputs("</h1>\n<p>", out);
    fm_diff_references(diff, text, sizeof text);
    fm_html_write_text(out, text);
    fputs("</p>\n", out);
    for (size_t i = 0; fm_diff_note(diff, i, text, sizeof text); i++) {
        fputs("<p class=\"quiet\">", out);
        fm_html_write_text(out, text);
        fputs("</p>\n", out);
    }
    for (size_t i = 0; i < diff->condition_count; i++) {
        fprintf(out, "<p class=\"%s\">%s: ", diff->conditions[i].holds ? "worse" : "better",
                diff->conditions[i].holds ? "FAILED" : "kept");
        fm_html_write_text(out, diff->conditions[i].text);
        fputs(" (", out);
        fm_html_write_text(out, diff->conditions[i].met_by);
        fputs(")</p>\n", out);
    }
    write_levels(out, diff);
    fm_status status = FM_OK;
    if (diff->coded && fm_diff_is_comparable(diff)) {
        write_rows(out, diff, FM_BY_LINE);
        status = write_files(out, diff, error);
        if (!status) write_rows(out, diff, FM_BY_FUNCTION);
        if (!status) write_rows(out, diff, FM_BY_OBJECT);
    }
    fputs("<p class=\"quiet\">before: ", out);
    fm_html_write_text(out, diff->names[0]);
    fputs("; after: ", out);
    fm_html_write_text(out, diff->names[1]);
    fprintf(out,
            ". Made by fathom %s. Fully associative LRU, blocks of %" PRIu64 " bytes.</p>\n</body></html>\n",
            FATHOM_VERSION, diff->profile[0]->granularity);
    return status;
}
