/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_diff.c - a diff on the terminal:
 *
 *     better: 5.76 M fewer misses in L1d (9.16 M -> 3.40 M, -63 %); L2, L3 unchanged
 *     references fell from 54.9 M to 23.5 M: misses per reference in L1d 16.7 % -> 14.4 %
 *
 *     L1d      line (after)     before    after
 *     better   blur.c:26        4.18 M    261 k  to[y][x] = sum / (2 * REACH + 1);
 *     same     4 lines           787 k    787 k
 *     worse    none
 */
#include "base/memory.h"
#include "base/sized.h"
#include "view/diff/diff_parts.h"
#include "view/source_text.h"
#include "view/text.h"

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

static const char *cache_name(const fm_diff *diff, size_t level, char name[sizeof diff->caches->name + 1])
{
    memcpy(name, diff->caches[level].name, sizeof diff->caches->name);
    name[sizeof diff->caches->name] = '\0';
    return name;
}

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
    char name[sizeof diff->caches->name + 1], percent[32];
    fm_text_ink(to->out, to->options, FM_INK_DIM);
    fprintf(to->out, "\n%-8s %8s %10s %10s %10s   %s\n", "cache", "size", "before", "after", "change",
            "misses per reference");
    fm_text_ink(to->out, to->options, FM_INK_NONE);
    for (size_t i = 0; i < diff->level_count; i++) {
        const fm_cache_fit *was = &diff->fits[0][i], *is = &diff->fits[1][i];
        unsigned used =
            fm_text_write_short(to->out, cache_name(diff, i, name), 8, FM_CUT_END, to->options->unicode);
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
    const fm_code_group *group = row->after ? row->after : row->before;
    const fm_attribution *of = to->diff->profile[row->after ? 1 : 0]->attribution;
    const unsigned used = 9 + to->place + 18;
    if (group->kind != FM_GROUP_LINE || to->width < used + 12) return;
    fm_source_text *text = fm_calloc(1, sizeof *text);
    const fm_report_options options = {.source_folders = to->diff->source_folders,
                                       .source_folder_count = to->diff->source_folder_count};
    fm_error error;
    if (text &&
        fm_source_text_read(text, &options, fm_attribution_source(of, group->file), of->sources != NULL,
                            &error) == FM_OK &&
        !*text->why && group->line <= text->line_count) {
        size_t length;
        char line[400];
        const char *bytes = fm_source_text_line(text, group->line - 1, &length);
        for (; length && (*bytes == ' ' || *bytes == '\t'); length--) bytes++;
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), bytes);
        for (char *tab = line; (tab = strchr(tab, '\t'));) *tab = ' ';
        fputs("  ", to->out);
        fm_text_write_short(to->out, line, to->width - used - 2, FM_CUT_END, to->options->unicode);
    }
    if (text) fm_source_text_clear(text);
    free(text);
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
        to->out, fm_code_group_text(row->after ? row->after : row->before, place, sizeof place), to->place,
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
    char name[sizeof to->diff->caches->name + 1], text[700];
    size_t looked = 0;
    to->place = 14;
    for (size_t i = 0; i < to->table->count && looked < 2 * most; i++) {
        const fm_diff_row *row = &to->table->rows[i];
        if (row->what == FM_CHANGE_NONE) continue;
        looked++;
        unsigned columns =
            fm_text_columns(fm_code_group_text(row->after ? row->after : row->before, text, sizeof text),
                            to->options->unicode);
        if (columns > to->place) to->place = columns < WIDEST_PLACE ? columns : WIDEST_PLACE;
    }
    fm_text_ink(to->out, to->options, FM_INK_DIM);
    putc('\n', to->out);
    const unsigned used = fm_text_write_short(to->out, cache_name(to->diff, to->diff->judged, name), 8,
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
