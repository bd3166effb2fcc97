/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_views.c - a diff on the terminal:
 *
 *     better: 5.76 M fewer misses in L1d (9.16 M -> 3.40 M, -63 %); L2, L3 unchanged
 *     references fell from 54.9 M to 23.5 M: misses per reference in L1d 16.7 % -> 14.4 %
 *
 *     L1d      line (after)     before    after
 *     better   blur.c:26        4.18 M    261 k  to[y][x] = sum / (2 * REACH + 1);
 *     same     4 lines           787 k    787 k
 *     worse    none
 */
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "view/diff/diff_parts.h"
#include "view/source_files.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WIDEST_PLACE = 36 };

typedef struct diff_screen {
    FILE *out;
    const fm_diff *diff;
    const fm_diff_table *table;
    fm_by by;
    const fm_view_options *options;
    unsigned width, place;
} diff_screen;

static void write_sentence(const diff_screen *to, const char *text, fm_ink ink)
{
    fm_text_ink(to->out, to->options, ink);
    fm_text_write_wrapped(to->out, text, strlen(text), 0, to->options);
    fm_text_ink(to->out, to->options, FM_INK_NONE);
    putc('\n', to->out);
}

static void write_levels(const diff_screen *to)
{
    const fm_diff *diff = to->diff;
    char percent[32];
    fm_text_ink(to->out, to->options, FM_INK_DIM);
    fprintf(to->out, "\n%-8s %8s %10s %10s %10s   %s\n", "cache", "size", "before", "after", "change",
            "misses per reference");
    fm_text_ink(to->out, to->options, FM_INK_NONE);
    for (size_t i = 0; i < diff->level_count; i++) {
        const fm_cache_fit *was = &diff->fits[0][i], *is = &diff->fits[1][i];
        unsigned used = fm_text_write_short(to->out, fm_text_cache_name(&diff->caches[i]).text, 8, FM_CUT_END,
                                            to->options->unicode);
        fprintf(to->out, "%*s %8s", (int)(8 - used), "",
                fm_text_cache_size(diff->profile[0], diff->caches[i].bytes).text);
        if (!was->misses.known || !is->misses.known) {
            fputs("  unknown: larger than a bound\n", to->out);
            continue;
        }
        fm_diff_percent(was->misses.expected, is->misses.expected, percent, sizeof percent);
        fprintf(to->out, " %10s %10s %10s   %s -> %s%s\n", fm_text_short(was->misses.expected).text,
                fm_text_short(is->misses.expected).text, percent, fm_text_short_percent(was->ratio).text,
                fm_text_short_percent(is->ratio).text, diff->within[i] ? " (within the bands)" : "");
    }
}

/* The text of the line after the edit, where the file is still that of the profile. */
static void write_source(const diff_screen *to, const fm_diff_row *row)
{
    const fm_miss_row *group = row->after ? row->after : row->before;
    const fm_attribution *of = to->diff->profile[row->after ? 1 : 0]->attribution;
    const unsigned used = 9 + to->place + 18;
    if (group->kind != FM_ROW_LINE || to->width < used + 12) return;
    const fm_report_options options = {.source_folders = to->diff->source_folders,
                                       .source_folder_count = to->diff->source_folder_count};
    char line[FM_SOURCE_LINE];
    fm_error error;
    if (fm_source_line(line, &options, of, group->file, group->line, &error) != FM_OK || !line[0]) return;
    fputs("  ", to->out);
    fm_text_write_short(to->out, line, to->width - used - 2, FM_CUT_END, to->options->unicode);
}

static void write_row(const diff_screen *to, const fm_diff_row *row)
{
    static const char *const words[] = {"same", "better", "worse"};
    char place[700];
    fm_text_ink(to->out, to->options, row->what == FM_CHANGE_WORSE ? FM_INK_WARNING : FM_INK_BOLD);
    fprintf(to->out, "%-8s", words[row->what]);
    fm_text_ink(to->out, to->options, FM_INK_NONE);
    putc(' ', to->out);
    const unsigned used = fm_text_write_short(
        to->out, fm_miss_row_text(row->after ? row->after : row->before, place, sizeof place), to->place,
        FM_CUT_MIDDLE, to->options->unicode);
    fprintf(to->out, "%*s", (int)(to->place - used), "");
    const size_t level = to->diff->judged;
    fprintf(to->out, " %8s", row->before ? fm_text_short(row->before->misses[level]).text : "-");
    fprintf(to->out, " %8s", row->after ? fm_text_short(row->after->misses[level]).text : "-");
    write_source(to, row);
    putc('\n', to->out);
}

/* Rows of one kind, at most `most`; what is left of them in one line. */
static void write_kind(const diff_screen *to, fm_change what, size_t most)
{
    static const char *const nouns[][2] = {
        {"line", "lines"}, {"function", "functions"}, {"object", "objects"}};
    static const char *const words[] = {"same", "better", "worse"};
    size_t shown = 0, rest = 0;
    double before = 0, after = 0;
    for (size_t i = 0; i < to->table->count; i++) {
        const fm_diff_row *row = &to->table->rows[i];
        if (row->what != what) continue;
        if (what != FM_CHANGE_NONE && shown < most) {
            write_row(to, row);
            shown++;
            continue;
        }
        const double was = fm_diff_misses(row->before, to->diff->judged),
                     is = fm_diff_misses(row->after, to->diff->judged);
        before += was;
        after += is;
        rest += was > 0 || is > 0;
    }
    if (rest) {
        char text[64];
        snprintf(text, sizeof text, "%zu%s %s", rest, shown ? " more" : "", nouns[to->by][rest != 1]);
        fprintf(to->out, "%-8s %-*.*s %8s", words[what], (int)to->place, (int)to->place, text,
                fm_text_short(before).text);
        fprintf(to->out, " %8s\n", fm_text_short(after).text);
    } else if (!shown && what != FM_CHANGE_NONE) {
        fprintf(to->out, "%-8s none\n", words[what]);
    }
}

static void write_rows(diff_screen *to, size_t most)
{
    static const char *const heads[] = {"line (after)", "function", "object"};
    char text[700];
    size_t looked = 0;
    to->place = 14;
    for (size_t i = 0; i < to->table->count && looked < 2 * most; i++) {
        const fm_diff_row *row = &to->table->rows[i];
        if (row->what == FM_CHANGE_NONE) continue;
        looked++;
        unsigned columns = fm_text_columns(
            fm_miss_row_text(row->after ? row->after : row->before, text, sizeof text), to->options->unicode);
        if (columns > to->place) to->place = columns < WIDEST_PLACE ? columns : WIDEST_PLACE;
    }
    fm_text_ink(to->out, to->options, FM_INK_DIM);
    putc('\n', to->out);
    const unsigned used =
        fm_text_write_short(to->out, fm_text_cache_name(&to->diff->caches[to->diff->judged]).text, 8,
                            FM_CUT_END, to->options->unicode);
    fprintf(to->out, "%*s %-*s %8s %8s\n", (int)(8 - used), "", (int)to->place, heads[to->by], "before",
            "after");
    fm_text_ink(to->out, to->options, FM_INK_NONE);
    write_kind(to, FM_CHANGE_BETTER, most);
    write_kind(to, FM_CHANGE_NONE, most);
    write_kind(to, FM_CHANGE_WORSE, most);
}

void fm_view_diff_sized(size_t given_size, FILE *out, const fm_diff *diff, fm_by by, size_t most,
                        const fm_view_options *given)
{
    const fm_view_options known = fm_text_options(given, given_size);
    diff_screen to = {.out = out, .diff = diff, .table = &diff->tables[by], .by = by, .options = &known};
    char text[4000];
    to.width = known.width ? known.width : 80;
    fm_diff_sentence(diff, text, sizeof text);
    write_sentence(&to, text, FM_INK_BOLD);
    fm_diff_references(diff, text, sizeof text);
    write_sentence(&to, text, FM_INK_NONE);
    for (size_t i = 0; fm_diff_note(diff, i, text, sizeof text); i++) write_sentence(&to, text, FM_INK_DIM);
    write_levels(&to);
    if (diff->coded && most && fm_diff_is_comparable(diff)) write_rows(&to, most);
    if (diff->condition_count) putc('\n', out);
    for (size_t i = 0; i < diff->condition_count; i++) {
        const fm_diff_condition_result *condition = &diff->conditions[i];
        fm_text_ink(out, &known, condition->holds ? FM_INK_WARNING : FM_INK_NONE);
        fputs(condition->holds ? "FAILED: " : "kept: ", out);
        fm_text_ink(out, &known, FM_INK_NONE);
        fm_text_write_name(out, condition->text, known.unicode);
        fputs(" (", out);
        fm_text_write_name(out, condition->met_by, known.unicode);
        fputs(")\n", out);
    }
}

/*
 * ======== diff markdown ========
 * A diff as Markdown, for a comment on a change. Text from profiles stands in code spans,
 * with what would end them replaced.
 */

/* In a code span, inside a table: no backticks, no bars, no ends of lines. */
static void write_code(FILE *out, const char *text)
{
    putc('`', out);
    char shown[4000];
    fm_visible_text(text, false, shown, sizeof shown);
    for (const char *at = shown; *at; at++)
        if (*at == '`')
            putc('\'', out);
        else if (*at == '|')
            fputs("\\|", out);
        else
            putc(*at, out);
    putc('`', out);
}

/* Plain text: what Markdown or HTML would read as markup is escaped. */
static void write_plain(FILE *out, const char *text)
{
    char shown[4000];
    fm_visible_text(text, false, shown, sizeof shown);
    for (const char *at = shown; *at; at++) {
        if (strchr("\\`*_[]<>#|", *at)) {
            if (*at == '<')
                fputs("&lt;", out);
            else if (*at == '>' && at > shown && at[-1] == '-')
                putc('>', out);
            else
                fprintf(out, "\\%c", *at);
        } else {
            putc(*at, out);
        }
    }
}

static void markdown_levels(FILE *out, const fm_diff *diff)
{
    char percent[32];
    fputs("\n| cache | size | misses before | after | change | per reference "
          "|\n|---|---:|---:|---:|---:|---|\n",
          out);
    for (size_t i = 0; i < diff->level_count; i++) {
        const fm_cache_fit *was = &diff->fits[0][i], *is = &diff->fits[1][i];
        const fm_text name = fm_text_cache_name(&diff->caches[i]);
        fm_diff_percent(was->misses.expected, is->misses.expected, percent, sizeof percent);
        fputs("| ", out);
        write_plain(out, name.text);
        fprintf(out, " | %s", fm_text_cache_size(diff->profile[0], diff->caches[i].bytes).text);
        fprintf(out, " | %s", fm_text_short(was->misses.expected).text);
        fprintf(out, " | %s", fm_text_short(is->misses.expected).text);
        fprintf(out, " | %s | %s -> %s%s |\n", percent, fm_text_short_percent(was->ratio).text,
                fm_text_short_percent(is->ratio).text, diff->within[i] ? " (within the bands)" : "");
    }
}

static void markdown_rows(FILE *out, const fm_diff *diff, fm_by by, size_t most)
{
    static const char *const heads[] = {"line (after)", "function", "object"};
    static const char *const words[] = {"same", "better", "worse"};
    const fm_diff_table *table = &diff->tables[by];
    size_t shown = 0, left = 0;
    for (size_t i = 0; i < table->count; i++) {
        const fm_diff_row *row = &table->rows[i];
        char text[700];
        if (row->what == FM_CHANGE_NONE) continue;
        if (shown == most) {
            left++;
            continue;
        }
        if (shown++ == 0) fprintf(out, "\n| | %s | before | after |\n|---|---|---:|---:|\n", heads[by]);
        fprintf(out, "| %s | ", words[row->what]);
        write_code(out, fm_miss_row_text(row->after ? row->after : row->before, text, sizeof text));
        fprintf(out, " | %s", row->before ? fm_text_short(row->before->misses[diff->judged]).text : "-");
        fprintf(out, " | %s |\n", row->after ? fm_text_short(row->after->misses[diff->judged]).text : "-");
    }
    if (left) fprintf(out, "\n%zu more changed.\n", left);
}

void fm_view_diff_markdown(FILE *out, const fm_diff *diff, fm_by by, size_t most)
{
    char text[4000];
    fm_diff_sentence(diff, text, sizeof text);
    fputs("**", out);
    write_plain(out, text);
    fputs("**\n\n", out);
    fm_diff_references(diff, text, sizeof text);
    write_plain(out, text);
    putc('\n', out);
    for (size_t i = 0; fm_diff_note(diff, i, text, sizeof text); i++) {
        fputs("\n> ", out);
        write_plain(out, text);
        putc('\n', out);
    }
    markdown_levels(out, diff);
    if (diff->coded && most && fm_diff_is_comparable(diff)) markdown_rows(out, diff, by, most);
    for (size_t i = 0; i < diff->condition_count; i++) {
        fprintf(out, "%s- %s: ", i ? "" : "\n", diff->conditions[i].holds ? "**FAILED**" : "kept");
        write_code(out, diff->conditions[i].text);
        fputs(" (", out);
        write_plain(out, diff->conditions[i].met_by);
        fputs(")\n", out);
    }
}

/*
 * ======== diff json ========
 * A diff for programs: schema fathom-diff-1 (docs/PROFILE.md).
 */

static const char *change_of(const fm_diff *diff, fm_change change)
{
    static const char *const words[] = {"same", "better", "worse"};
    return fm_diff_is_comparable(diff) ? words[change] : "not comparable";
}

/* Why the two cannot be compared, and what of that is allowed. */
static void write_reasons(FILE *out, const fm_diff *diff)
{
    fputs("  \"incomparable\": [", out);
    for (size_t i = 0; i < diff->reason_count; i++) {
        const fm_diff_reason *reason = &diff->reasons[i];
        fprintf(out, "%s\n    {\"kind\": \"%s\", \"allowed\": %s, \"reason\": ", i ? "," : "",
                fm_diff_reason_name(reason->kind), diff->allowed[reason->kind] ? "true" : "false");
        fm_json_write_string(out, reason->text, FM_JSON_PLAIN);
        putc('}', out);
    }
    fputs(diff->reason_count ? "\n  ],\n" : "],\n", out);
}

static void write_side(FILE *out, const char *key, const fm_diff *diff, int side)
{
    const fm_profile *profile = diff->profile[side];
    fprintf(out, "  \"%s\": {\"file\": ", key);
    fm_json_write_string(out, diff->names[side], FM_JSON_PLAIN);
    fputs(", \"name\": ", out);
    fm_json_write_string(out, profile->name ? profile->name : "", FM_JSON_PLAIN);
    fprintf(out,
            ", \"references\": %" PRIu64 ", \"distinct\": %" PRIu64 ", \"cold\": %" PRIu64
            ", \"exact\": %s, \"complete\": %s},\n",
            profile->references, profile->distinct, profile->cold, profile->exact ? "true" : "false",
            profile->complete ? "true" : "false");
}

static void write_caches(FILE *out, const fm_diff *diff)
{
    fputs("  \"caches\": [", out);
    for (size_t i = 0; i < diff->level_count; i++) {
        const fm_text name = fm_text_cache_name(&diff->caches[i]);
        fprintf(out, "%s\n    {\"name\": ", i ? "," : "");
        fm_json_write_string(out, name.text, FM_JSON_PLAIN);
        fprintf(out, ", \"bytes\": %" PRIu64 ", \"before\": ", diff->caches[i].bytes);
        fm_json_write_real(out, diff->fits[0][i].misses.expected);
        fputs(", \"after\": ", out);
        fm_json_write_real(out, diff->fits[1][i].misses.expected);
        fprintf(out, ", \"change\": \"%s\", \"within_bands\": %s, \"known\": %s}",
                change_of(diff, diff->change[i]), diff->within[i] ? "true" : "false",
                diff->fits[0][i].misses.known && diff->fits[1][i].misses.known ? "true" : "false");
    }
    fputs("\n  ],\n", out);
}

static void write_place(FILE *out, const char *key, const fm_miss_row *group)
{
    fprintf(out, "\"%s\": ", key);
    if (!group) {
        fputs("null", out);
        return;
    }
    char text[700];
    fputs("{\"text\": ", out);
    fm_json_write_string(out, fm_miss_row_text(group, text, sizeof text), FM_JSON_PLAIN);
    if (group->file) {
        fputs(", \"file\": ", out);
        fm_json_write_string(out, group->file, FM_JSON_PLAIN);
    }
    if (group->line && group->kind == FM_ROW_LINE) fprintf(out, ", \"line\": %" PRIu32, group->line);
    if (group->function) {
        fputs(", \"function\": ", out);
        fm_json_write_string(out, group->function, FM_JSON_PLAIN);
    }
    if (group->kind != FM_ROW_OBJECT) fprintf(out, ", \"references\": %" PRIu64, group->references);
    putc('}', out);
}

static bool is_empty(const fm_diff *diff, const fm_diff_row *row)
{
    for (size_t i = 0; i < diff->level_count; i++)
        if (fm_diff_misses(row->before, i) > 0 || fm_diff_misses(row->after, i) > 0) return false;
    return true;
}

static void write_table(FILE *out, const char *key, const fm_diff *diff, const fm_diff_table *table)
{
    bool begun = false;
    fprintf(out, ",\n  \"%s\": [", key);
    for (size_t i = 0; i < table->count && !ferror(out); i++) {
        const fm_diff_row *row = &table->rows[i];
        if (is_empty(diff, row)) continue;
        fprintf(out, "%s\n    {\"change\": \"%s\", ", begun ? "," : "", change_of(diff, row->what));
        begun = true;
        write_place(out, "before", row->before);
        fputs(", ", out);
        write_place(out, "after", row->after);
        fputs(", \"misses\": [", out);
        for (size_t level = 0; level < diff->level_count; level++) {
            fputs(level ? ", [" : "[", out);
            fm_json_write_real(out, fm_diff_misses(row->before, level));
            fputs(", ", out);
            fm_json_write_real(out, fm_diff_misses(row->after, level));
            putc(']', out);
        }
        fputs("]}", out);
    }
    fputs(begun ? "\n  ]" : "]", out);
}

void fm_view_diff_json(FILE *out, const fm_diff *diff)
{
    char text[4000];
    fputs("{\n  \"schema\": \"fathom-diff-1\",\n", out);
    fprintf(out, "  \"verdict\": \"%s\",\n  \"sentences\": [", fm_diff_verdict(diff));
    fm_diff_sentence(diff, text, sizeof text);
    fm_json_write_string(out, text, FM_JSON_PLAIN);
    fputs(", ", out);
    fm_diff_references(diff, text, sizeof text);
    fm_json_write_string(out, text, FM_JSON_PLAIN);
    fputs("],\n  \"notes\": [", out);
    for (size_t i = 0; fm_diff_note(diff, i, text, sizeof text); i++) {
        if (i) fputs(", ", out);
        fm_json_write_string(out, text, FM_JSON_PLAIN);
    }
    fputs("],\n", out);
    write_reasons(out, diff);
    write_side(out, "before", diff, 0);
    write_side(out, "after", diff, 1);
    write_caches(out, diff);
    fprintf(out, "  \"judged\": %zu,\n  \"conditions\": [", diff->judged);
    for (size_t i = 0; i < diff->condition_count; i++) {
        fprintf(out, "%s\n    {\"condition\": ", i ? "," : "");
        fm_json_write_string(out, diff->conditions[i].text, FM_JSON_PLAIN);
        fprintf(out, ", \"holds\": %s, \"found\": ", diff->conditions[i].holds ? "true" : "false");
        fm_json_write_string(out, diff->conditions[i].met_by, FM_JSON_PLAIN);
        putc('}', out);
    }
    fputs(diff->condition_count ? "\n  ]" : "]", out);
    if (diff->coded) {
        write_table(out, "lines", diff, &diff->tables[FM_BY_LINE]);
        write_table(out, "functions", diff, &diff->tables[FM_BY_FUNCTION]);
        write_table(out, "objects", diff, &diff->tables[FM_BY_OBJECT]);
    }
    fputs("\n}\n", out);
}
