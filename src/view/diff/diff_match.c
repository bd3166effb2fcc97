/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_match.c - what of before is what of after: files by their paths (or names, or lines, where only those
 * agree), lines through the edit, functions and objects by their names.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "base/table.h"
#include "profile/attribution_parts.h"
#include "view/diff/diff_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ======== line match ======== */

enum { MOST_DIFFERENCES = 1500 };

/* The lines between a common beginning and a common end. */
typedef struct middle {
    const uint32_t *a, *b;
    size_t n, m;
    int32_t **furthest; /* by differences d: for each diagonal -d, -d + 2, … d how far along a one comes */
} middle;

static void match_lines(fm_line_match *match, size_t before, size_t after)
{
    match->to_after[before] = (uint32_t)after;
    match->to_before[after] = (uint32_t)before;
}

/* How far one comes on a diagonal k with d differences; d - 1 is known. */
static int32_t diagonal_step(const middle *of, int32_t d, int32_t k)
{
    int32_t x = 0;
    if (d > 0) {
        const int32_t *before = of->furthest[d - 1];
        const bool down = k == -d || (k != d && before[(k - 1 + d - 1) / 2] < before[(k + 1 + d - 1) / 2]);
        x = down ? before[(k + 1 + d - 1) / 2] : before[(k - 1 + d - 1) / 2] + 1;
    }
    while (x >= 0 && (size_t)x < of->n && x - k >= 0 && (size_t)(x - k) < of->m && of->a[x] == of->b[x - k])
        x++;
    return x;
}

/* Back from the end: along equal lines, then over the difference that was made there. */
static void trace_back(const middle *of, int32_t d, size_t offset, fm_line_match *match)
{
    int32_t x = (int32_t)of->n, y = (int32_t)of->m;
    for (; d >= 0; d--) {
        const int32_t k = x - y;
        int32_t from = 0, from_y = 0;
        if (d > 0) {
            const int32_t *before = of->furthest[d - 1];
            const bool down =
                k == -d || (k != d && before[(k - 1 + d - 1) / 2] < before[(k + 1 + d - 1) / 2]);
            from = down ? before[(k + 1 + d - 1) / 2] : before[(k - 1 + d - 1) / 2];
            from_y = from - (down ? k + 1 : k - 1);
        }
        while (x > from && y > from_y && of->a[x - 1] == of->b[y - 1]) {
            match_lines(match, offset + (size_t)--x, offset + (size_t)--y);
        }
        x = from;
        y = from_y;
    }
}

/* Returns 0, 1 where there are too many differences, -1 without memory. */
static int match_middle(middle *of, size_t offset, fm_line_match *match)
{
    int result = 1;
    int32_t d = 0;
    of->furthest = fm_calloc(MOST_DIFFERENCES + 1, sizeof *of->furthest);
    if (!of->furthest) return -1;
    for (; d <= MOST_DIFFERENCES && result == 1; d++) {
        of->furthest[d] = fm_calloc((size_t)d + 1, sizeof **of->furthest);
        if (!of->furthest[d]) {
            result = -1;
            break;
        }
        for (int32_t k = -d; k <= d; k += 2) {
            const int32_t x = diagonal_step(of, d, k);
            of->furthest[d][(k + d) / 2] = x;
            if (x >= (int32_t)of->n && x - k >= (int32_t)of->m) {
                result = 0;
                break;
            }
        }
        if (result == 0) break;
    }
    if (result == 0) trace_back(of, d, offset, match);
    for (int32_t i = 0; i <= MOST_DIFFERENCES; i++) free(of->furthest[i]);
    free(of->furthest);
    return result;
}

/* As many taken out as put in, between two matched lines: changed ones. */
static void match_changed(fm_line_match *match)
{
    size_t a = 0, b = 0;
    while (a < match->before_count && b < match->after_count) {
        size_t a_end = a, b_end = b;
        while (a_end < match->before_count && match->to_after[a_end] == UINT32_MAX) a_end++;
        while (b_end < match->after_count && match->to_before[b_end] == UINT32_MAX) b_end++;
        if (a_end - a == b_end - b)
            while (a < a_end) match_lines(match, a++, b++);
        a = a_end;
        b = b_end;
        if (a < match->before_count && b < match->after_count) a++, b++;
    }
}

fm_status fm_line_match_make(fm_line_match *match, const uint32_t *before, size_t before_count,
                             const uint32_t *after, size_t after_count, fm_error *error)
{
    *match = (fm_line_match){before_count, after_count, fm_calloc(before_count, sizeof *match->to_after),
                             fm_calloc(after_count, sizeof *match->to_before), false};
    if (!match->to_after || !match->to_before) {
        fm_line_match_clear(match);
        return fm_fail_memory(error, (before_count + after_count) * sizeof *before, "matched lines");
    }
    memset(match->to_after, 0xFF, before_count * sizeof *before);
    memset(match->to_before, 0xFF, after_count * sizeof *before);
    size_t first = 0, last = 0;
    while (first < before_count && first < after_count && before[first] == after[first]) first++;
    while (last < before_count - first && last < after_count - first &&
           before[before_count - 1 - last] == after[after_count - 1 - last])
        last++;
    for (size_t i = 0; i < first; i++) match_lines(match, i, i);
    for (size_t i = 1; i <= last; i++) match_lines(match, before_count - i, after_count - i);
    middle between = {before + first, after + first, before_count - first - last, after_count - first - last,
                      NULL};
    const int result = between.n && between.m ? match_middle(&between, first, match) : 0;
    match->given_up = result == 1;
    if (result < 0) {
        fm_line_match_clear(match);
        return fm_fail_memory(error, (uint64_t)MOST_DIFFERENCES * MOST_DIFFERENCES * 2, "matched lines");
    }
    if (!match->given_up) match_changed(match);
    return FM_OK;
}

void fm_line_match_clear(fm_line_match *match)
{
    free(match->to_after);
    free(match->to_before);
    *match = (fm_line_match){0};
}

/* ======== diff match ======== */

static fm_status no_memory(fm_error *error)
{
    return fm_fail_memory(error, 1 << 16, "the matching of two profiles");
}

/* ---- files ---- */

/* Paths that lines of a side name, each once. */
typedef struct path_list {
    size_t count, room;
    const char **paths;
    bool *taken;
} path_list;

static bool add_path(path_list *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->paths[i] == path) return true;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->paths[i], path) == 0) return true;
    void *grown = list->paths;
    if (fm_array_reserve(&grown, &list->room, list->count + 1, sizeof *list->paths)) return false;
    list->paths = grown;
    list->paths[list->count++] = path;
    return true;
}

static bool list_paths(path_list *list, const fm_attribution *of)
{
    const char *last = NULL; /* sites of a file follow each other */
    for (size_t i = 0; i < of->site_count; i++)
        for (size_t j = 0; j < of->sites[i].frame_count; j++) {
            const char *file = of->sites[i].frames[j].file;
            if (!file || file == last) continue;
            if (!add_path(list, file)) return false;
            last = file;
        }
    list->taken = fm_calloc(list->count, sizeof *list->taken);
    return list->taken != NULL;
}

static size_t find_path(const path_list *list, const char *path, bool by_base)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < list->count; i++) {
        if (list->taken[i]) continue;
        if (strcmp(by_base ? fm_base_name(list->paths[i]) : list->paths[i],
                   by_base ? fm_base_name(path) : path) != 0)
            continue;
        if (found != SIZE_MAX) return SIZE_MAX; /* two of the name: nobody knows which */
        found = i;
    }
    return found;
}

/* Checksums of lines as numbers; NULL where nothing is known. */
static uint32_t *sums_of(const fm_attribution *of, const char *path, size_t *count, bool *failed)
{
    const char *text = fm_line_sums_of(of, path);
    if (!text) return NULL;
    *count = strlen(text) / FM_LINE_SUM;
    uint32_t *sums = fm_calloc(*count, sizeof *sums);
    *failed |= !sums;
    for (size_t i = 0; sums && i < *count; i++) {
        char digits[FM_LINE_SUM + 1] = "";
        memcpy(digits, text + i * FM_LINE_SUM, FM_LINE_SUM);
        sums[i] = (uint32_t)strtoul(digits, NULL, 16);
    }
    return sums;
}

static fm_status match_file_lines(const fm_diff *diff, fm_file_match *file, fm_error *error)
{
    const fm_source *before = fm_attribution_source(diff->profile[0]->attribution, file->before),
                    *after = fm_attribution_source(diff->profile[1]->attribution, file->after);
    if (before && after && before->sha256 && after->sha256 && strcmp(before->sha256, after->sha256) == 0) {
        file->same = true;
        return FM_OK;
    }
    bool failed = false;
    size_t a_count = 0, b_count = 0;
    uint32_t *a = sums_of(diff->profile[0]->attribution, file->before, &a_count, &failed),
             *b = sums_of(diff->profile[1]->attribution, file->after, &b_count, &failed);
    fm_status status = failed ? no_memory(error) : FM_OK;
    file->by_number = !a || !b;
    if (!status && !file->by_number) status = fm_line_match_make(&file->lines, a, a_count, b, b_count, error);
    free(a);
    free(b);
    return status;
}

static fm_status add_match(fm_diff *diff, size_t *room, const char *before, const char *after,
                           fm_error *error)
{
    if (fm_array_reserve((void **)&diff->files, room, diff->file_count + 1, sizeof *diff->files))
        return no_memory(error);
    fm_file_match *file = &diff->files[diff->file_count++];
    *file = (fm_file_match){.before = before, .after = after};
    return before && after ? match_file_lines(diff, file, error) : FM_OK;
}

/* Equal paths; then equal names, where there is one of it on each side. */
static fm_status match_paths(fm_diff *diff, path_list *before, path_list *after, size_t *room, bool by_base,
                             fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < before->count && !status; i++) {
        if (before->taken[i]) continue;
        const size_t found = find_path(after, before->paths[i], by_base);
        if (found == SIZE_MAX || (by_base && find_path(before, before->paths[i], true) != i)) continue;
        before->taken[i] = after->taken[found] = true;
        status = add_match(diff, room, before->paths[i], after->paths[found], error);
    }
    return status;
}

/* Whether at least half of the lines of each of two files are lines of the other, in any order. */
static bool files_alike(const fm_diff *diff, const char *before, const char *after, bool *failed)
{
    size_t a_count = 0, b_count = 0, common = 0;
    uint32_t *a = sums_of(diff->profile[0]->attribution, before, &a_count, failed),
             *b = sums_of(diff->profile[1]->attribution, after, &b_count, failed);
    if (a && b) {
        fm_numbers_sort(a, a_count);
        fm_numbers_sort(b, b_count);
        for (size_t i = 0, j = 0; i < a_count && j < b_count;) {
            common += a[i] == b[j];
            const bool next_a = a[i] <= b[j], next_b = b[j] <= a[i];
            i += next_a;
            j += next_b;
        }
    }
    free(a);
    free(b);
    return common > 0 && 2 * common >= a_count && 2 * common >= b_count;
}

/* Files that have another name now: their lines tell. */
static fm_status match_renamed(fm_diff *diff, path_list *before, path_list *after, size_t *room,
                               fm_error *error)
{
    fm_status status = FM_OK;
    bool failed = false;
    for (size_t i = 0; i < before->count && !status; i++)
        for (size_t j = 0; j < after->count && !before->taken[i] && !status; j++) {
            if (after->taken[j] || !files_alike(diff, before->paths[i], after->paths[j], &failed)) continue;
            before->taken[i] = after->taken[j] = true;
            status = add_match(diff, room, before->paths[i], after->paths[j], error);
        }
    return failed && !status ? no_memory(error) : status;
}

fm_status fm_diff_match_files(fm_diff *diff, fm_error *error)
{
    path_list before = {0}, after = {0};
    size_t room = 0;
    fm_status status = list_paths(&before, diff->profile[0]->attribution) &&
                               list_paths(&after, diff->profile[1]->attribution)
                           ? FM_OK
                           : no_memory(error);
    if (!status) status = match_paths(diff, &before, &after, &room, false, error);
    if (!status) status = match_paths(diff, &before, &after, &room, true, error);
    if (!status) status = match_renamed(diff, &before, &after, &room, error);
    free(before.paths);
    free(before.taken);
    free(after.paths);
    free(after.taken);
    return status;
}

static fm_file_match *match_of(const fm_diff *diff, const char *file)
{
    for (size_t i = 0; i < diff->file_count; i++)
        if (diff->files[i].before && strcmp(diff->files[i].before, file) == 0) return &diff->files[i];
    return NULL;
}

/* The line of after that a line of before became; 0: none. file: of before. */
static uint32_t diff_line_after(const fm_diff *diff, const char *file, uint32_t line, const char **after_file)
{
    const fm_file_match *match = match_of(diff, file);
    *after_file = match ? match->after : NULL;
    if (!match || !match->after || line == 0) return 0;
    if (match->same || match->by_number) return line;
    if (line > match->lines.before_count) return 0;
    const uint32_t found = match->lines.to_after[line - 1];
    return found == UINT32_MAX ? 0 : found + 1;
}

/* ---- names that hold a line: "heap block from main (blur.c:33)" ---- */

/* The name as it would be after the edit. */
static void name_after(const fm_diff *diff, const char *name, char *text, size_t size)
{
    snprintf(text, size, "%s", name);
    const char *bracket = strrchr(name, '('), *colon = bracket ? strrchr(bracket, ':') : NULL;
    if (!colon || !isdigit((unsigned char)colon[1])) return;
    char *end;
    const unsigned long line = strtoul(colon + 1, &end, 10);
    const size_t base = (size_t)(colon - bracket) - 1;
    if (*end != ')' || line > UINT32_MAX) return;
    for (size_t i = 0; i < diff->file_count; i++) {
        const char *path = diff->files[i].before, *after;
        if (!path || strncmp(fm_base_name(path), bracket + 1, base) != 0 || fm_base_name(path)[base] != '\0')
            continue;
        const uint32_t became = diff_line_after(diff, path, (uint32_t)line, &after);
        if (became)
            snprintf(text, size, "%.*s(%s:%" PRIu32 "%s", (int)(bracket - name), name, fm_base_name(after),
                     became, end);
        return;
    }
}

/* ---- groups ---- */

static bool texts_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether a group of after is what `before` became. line, file, name: what they are after the edit. */
static bool is_same(const fm_miss_row *before, const fm_miss_row *after, const char *file, uint32_t line,
                    const char *name)
{
    if (before->kind != after->kind) return false;
    switch (before->kind) {
    case FM_ROW_LINE:
        return line == after->line && texts_equal(file, after->file);
    case FM_ROW_FUNCTION:
        return texts_equal(before->function, after->function) &&
               (before->file ? texts_equal(file, after->file)
                             : !after->file &&
                                   (!before->module || !after->module ||
                                    texts_equal(fm_base_name(before->module), fm_base_name(after->module))));
    case FM_ROW_MODULE:
        return texts_equal(fm_base_name(before->module), fm_base_name(after->module));
    case FM_ROW_OBJECT:
        return texts_equal(name, after->name);
    case FM_ROW_UNKNOWN:
    case FM_ROW_PLACE:
        return true;
    }
    return false;
}

/* Groups of after by a hash of what they are found by. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

typedef struct rows_of_hash {
    uint64_t hash;
    uint32_t first; /* number + 1 of the first row with that hash */
    uint32_t unused;
} rows_of_hash;

static uint64_t row_hash(const fm_miss_row *group, uint32_t line, const char *name)
{
    uint64_t hash = 14695981039346656037u ^ (uint64_t)group->kind;
    if (group->kind == FM_ROW_LINE) return (hash ^ line) * 1099511628211u;
    if (group->kind == FM_ROW_FUNCTION) return hash_text(hash, group->function);
    if (group->kind == FM_ROW_MODULE) return hash_text(hash, fm_base_name(group->module));
    return hash_text(hash, name);
}

static int most_first(const void *a, const void *b)
{
    const fm_diff_row *x = a, *y = b;
    if (fabs(x->change) != fabs(y->change)) return fabs(x->change) > fabs(y->change) ? -1 : 1;
    const fm_miss_row *p = x->after ? x->after : x->before, *q = y->after ? y->after : y->before;
    if (!x->after != !y->after) return x->after ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

/* What counts: more than the threshold, more than a thousandth of all misses, and more than the bands of the
 * whole leave open. */
static fm_change row_judge(const fm_diff *diff, double before, double after)
{
    const fm_cache_fit *a = &diff->fits[0][diff->judged], *b = &diff->fits[1][diff->judged];
    const double all = a->misses.expected > b->misses.expected ? a->misses.expected : b->misses.expected;
    double open = 0;
    for (int side = 0; side < 2; side++) {
        const fm_cache_fit *fit = &diff->fits[side][diff->judged];
        if (fit->has_band) open += (fit->most - fit->least) / 2 * (double)diff->profile[side]->references;
    }
    const double change = fabs(after - before);
    if (!fm_diff_counts(before, after) || change < all * 0.001 || change <= open) return FM_CHANGE_NONE;
    return after < before ? FM_CHANGE_BETTER : FM_CHANGE_WORSE;
}

fm_status fm_diff_match_rows(fm_diff *diff, fm_by by, fm_error *error)
{
    fm_diff_table *table = &diff->tables[by];
    const fm_miss_table *before = &table->sides[0], *after = &table->sides[1];
    fm_table found = FM_TABLE(rows_of_hash, first);
    uint32_t *next = fm_calloc(after->count, sizeof *next); /* number + 1 of the next row with that hash */
    bool *taken = fm_calloc(after->count, sizeof *taken);
    table->rows = fm_calloc(before->count + after->count, sizeof *table->rows);
    bool made = next && taken && table->rows;
    for (size_t i = after->count; made && i-- > 0;) {
        const fm_miss_row *row = &after->rows[i];
        rows_of_hash *same =
            fm_table_put(&found, &(rows_of_hash){.hash = row_hash(row, row->line, row->name)}, NULL);
        made = same != NULL;
        if (!made) break;
        next[i] = same->first;
        same->first = (uint32_t)i + 1;
    }
    for (size_t i = 0; made && i < before->count; i++) {
        const fm_miss_row *group = &before->rows[i];
        const char *file = NULL;
        char name[600] = "";
        uint32_t line = group->file ? diff_line_after(diff, group->file, group->line, &file) : 0;
        if (group->kind == FM_ROW_LINE && match_of(diff, group->file))
            match_of(diff, group->file)->named = true;
        if (group->name) name_after(diff, group->name, name, sizeof name);
        fm_diff_row *row = &table->rows[table->count++];
        row->before = group;
        if (group->kind == FM_ROW_LINE && line == 0) continue;
        const rows_of_hash *same =
            fm_table_find(&found, &(rows_of_hash){.hash = row_hash(group, line, name)});
        for (uint32_t number = same ? same->first : 0; number; number = next[number - 1]) {
            if (taken[number - 1] || !is_same(group, &after->rows[number - 1], file, line, name)) continue;
            taken[number - 1] = true;
            row->after = &after->rows[number - 1];
            break;
        }
    }
    for (size_t i = 0; made && i < after->count; i++)
        if (!taken[i]) table->rows[table->count++] = (fm_diff_row){.after = &after->rows[i]};
    FM_ASSERT(table->count <= before->count + after->count);
    for (size_t i = 0; made && i < table->count; i++) {
        const double was = fm_diff_misses(table->rows[i].before, diff->judged),
                     is = fm_diff_misses(table->rows[i].after, diff->judged);
        table->rows[i].change = is - was;
        table->rows[i].what = row_judge(diff, was, is);
    }
    if (made && table->count) qsort(table->rows, table->count, sizeof *table->rows, most_first);
    fm_table_clear(&found);
    free(next);
    free(taken);
    return made ? FM_OK : no_memory(error);
}
