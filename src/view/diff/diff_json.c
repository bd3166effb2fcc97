/* SPDX-License-Identifier: Apache-2.0 */
/* diff_json.c - a diff for programs: schema fathom-diff-1 (docs/PROFILE.md). */
#include "base/json_text.h"
#include "view/diff/diff_parts.h"

#include <inttypes.h>
#include <string.h>

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
        char name[sizeof diff->caches->name + 1];
        memcpy(name, diff->caches[i].name, sizeof diff->caches->name);
        name[sizeof diff->caches->name] = '\0';
        fprintf(out, "%s\n    {\"name\": ", i ? "," : "");
        fm_json_write_string(out, name, FM_JSON_PLAIN);
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

static void write_place(FILE *out, const char *key, const fm_code_group *group)
{
    fprintf(out, "\"%s\": ", key);
    if (!group) {
        fputs("null", out);
        return;
    }
    char text[700];
    fputs("{\"text\": ", out);
    fm_json_write_string(out, fm_code_group_text(group, text, sizeof text), FM_JSON_PLAIN);
    if (group->file) {
        fputs(", \"file\": ", out);
        fm_json_write_string(out, group->file, FM_JSON_PLAIN);
    }
    if (group->line && group->kind == FM_GROUP_LINE) fprintf(out, ", \"line\": %" PRIu32, group->line);
    if (group->function) {
        fputs(", \"function\": ", out);
        fm_json_write_string(out, group->function, FM_JSON_PLAIN);
    }
    if (group->kind != FM_GROUP_OBJECT) fprintf(out, ", \"references\": %" PRIu64, group->references);
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
