/* SPDX-License-Identifier: Apache-2.0 */
/* diff_markdown.c - a diff as Markdown, for a comment on a change. Text from profiles stands in code spans,
 * with what would end them replaced. */
#include "view/diff/diff_parts.h"
#include "view/text.h"

#include <string.h>

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

static void write_levels(FILE *out, const fm_diff *diff)
{
    char percent[32];
    fputs("\n| cache | size | misses before | after | change | per reference "
          "|\n|---|---:|---:|---:|---:|---|\n",
          out);
    for (size_t i = 0; i < diff->level_count; i++) {
        const fm_cache_fit *was = &diff->fits[0][i], *is = &diff->fits[1][i];
        char name[sizeof diff->caches->name + 1];
        memcpy(name, diff->caches[i].name, sizeof diff->caches->name);
        name[sizeof diff->caches->name] = '\0';
        fm_diff_percent(was->misses.expected, is->misses.expected, percent, sizeof percent);
        fputs("| ", out);
        write_plain(out, name);
        fprintf(out, " | %s", fm_text_cache_size(diff->profile[0], diff->caches[i].bytes).text);
        fprintf(out, " | %s", fm_text_short(was->misses.expected).text);
        fprintf(out, " | %s", fm_text_short(is->misses.expected).text);
        fprintf(out, " | %s | %s -> %s%s |\n", percent, fm_text_short_percent(was->ratio).text,
                fm_text_short_percent(is->ratio).text, diff->within[i] ? " (within the bands)" : "");
    }
}

static void write_rows(FILE *out, const fm_diff *diff, fm_by by, size_t most)
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
        write_code(out, fm_code_group_text(row->after ? row->after : row->before, text, sizeof text));
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
    write_levels(out, diff);
    if (diff->coded && most && fm_diff_is_comparable(diff)) write_rows(out, diff, by, most);
    for (size_t i = 0; i < diff->condition_count; i++) {
        fprintf(out, "%s- %s: ", i ? "" : "\n", diff->conditions[i].holds ? "**FAILED**" : "kept");
        write_code(out, diff->conditions[i].text);
        fputs(" (", out);
        write_plain(out, diff->conditions[i].met_by);
        fputs(")\n", out);
    }
}
