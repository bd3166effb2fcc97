/* SPDX-License-Identifier: Apache-2.0 */
/* sources.c - see sources.h. Reads no files: src/symbols/source_record.c does. */
#include "profile/attribution/sources.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/plain_text.h"
#include "base/table.h"
#include "profile/attribution/line_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool fm_source_is_sum(const char *text)
{
    size_t length = strspn(text, "0123456789abcdef");
    return length == FM_SHA256_TEXT - 1 && text[length] == '\0';
}

static int compare_sources(const void *a, const void *b)
{
    return strcmp(((const fm_source *)a)->path, ((const fm_source *)b)->path);
}

void fm_sources_sort(fm_source *sources, size_t count)
{
    if (count > 1) qsort(sources, count, sizeof *sources, compare_sources);
}

const fm_source *fm_attribution_source(const fm_attribution *attribution, const char *path)
{
    const fm_source key = {.path = path};
    if (attribution->source_count == 0) return NULL;
    return bsearch(&key, attribution->sources, attribution->source_count, sizeof key, compare_sources);
}

/* Whether the text is that of the sum. Where bytes of it were no UTF-8, nobody can know any more. */
static bool is_text_of(const fm_source *source)
{
    char sum[FM_SHA256_TEXT];
    size_t length = strlen(source->text);
    if (strstr(source->text, "\xEF\xBF\xBD")) return true;
    fm_sha256_text(source->text, length, sum);
    return length == source->size && strcmp(sum, source->sha256) == 0;
}

static const char *trouble_of(const fm_source *source, const fm_source *before)
{
    if (!source->path) return "expected a path, found none";
    if (before && strcmp(before->path, source->path) == 0) return "the same path is given twice";
    if (before && strcmp(before->path, source->path) > 0) return "expected ascending paths";
    if (!source->sha256) return source->text ? "a text needs its sha256" : NULL;
    if (!fm_source_is_sum(source->sha256)) return "expected a sha256 of 64 digits 0-9 a-f, found another";
    if (!source->text) return NULL;
    if (strlen(source->text) > FM_LARGEST_TEXT)
        return "expected a text of at most 32 MiB, found a longer one";
    return is_text_of(source) ? NULL : "its text has another sha256 or size than it says";
}

bool fm_sources_sound(const fm_attribution *attribution, char *why, size_t size)
{
    for (size_t i = 0; i < attribution->source_count; i++) {
        const fm_source *source = &attribution->sources[i];
        const char *trouble = trouble_of(source, i ? source - 1 : NULL);
        if (!trouble) continue;
        snprintf(why, size, "\"sources\", '%.160s': %s", source->path ? source->path : "", trouble);
        return false;
    }
    return true;
}

/* ---- sums of two ---- */

/* Files that the frames of an attribution name, in the memory of another. */
static bool list_files(fm_table *files, fm_attribution *in, const fm_attribution *of)
{
    for (size_t i = 0; i < of->site_count; i++)
        for (size_t j = 0; j < of->sites[i].frame_count; j++) {
            if (!of->sites[i].frames[j].file) continue;
            const char *file = fm_attribution_intern(in, of->sites[i].frames[j].file);
            if (!file) return false;
            if (!fm_table_put(files, &file, NULL)) return false;
        }
    return true;
}

static bool source_own(fm_attribution *sum, fm_source *source)
{
    source->path = fm_attribution_intern(sum, source->path);
    if (!source->path) return false;
    if (source->sha256 && !(source->sha256 = fm_attribution_intern(sum, source->sha256))) return false;
    if (source->text) {
        size_t length = strlen(source->text);
        char *copy = fm_attribution_allocate(sum, length + 1, 1);
        if (!copy) return false;
        memcpy(copy, source->text, length);
        source->text = copy;
    }
    return true;
}

/* What is known of a file that both have. */
static fm_source source_joined(const fm_source *a, const fm_source *b)
{
    if (!a->sha256 || !b->sha256 || strcmp(a->sha256, b->sha256) != 0 || a->size != b->size)
        return (fm_source){.path = a->path};
    fm_source both = *a;
    if (!both.text) both.text = b->text;
    both.newer |= b->newer;
    return both;
}

/* What is known of a file that only one has, the other naming the files in the list. */
static fm_source source_alone(fm_attribution *sum, const fm_source *source, const fm_table *files)
{
    const char *path = fm_attribution_intern(sum, source->path); /* NULL: own() will say so */
    const bool named = path && fm_table_find(files, &path);
    return named ? (fm_source){.path = source->path} : *source;
}

static fm_status no_memory_for_sources(fm_error *error)
{
    return fm_fail_memory(error, 1 << 16, "the source files of two profiles");
}

fm_status fm_sources_add_up(fm_attribution *sum, const fm_attribution *a, const fm_attribution *b,
                            fm_error *error)
{
    const size_t a_count = a->source_count, b_count = b ? b->source_count : 0;
    fm_table a_files = FM_TABLE_OF(char *), b_files = FM_TABLE_OF(char *); /* interned names */
    if (!a->sources && !(b && b->sources)) return FM_OK;
    sum->source_count = 0;
    sum->sources = fm_attribution_allocate(sum, a_count + b_count, sizeof *sum->sources);
    bool made = sum->sources && list_files(&a_files, sum, a) && (!b || list_files(&b_files, sum, b));
    for (size_t i = 0, j = 0; made && (i < a_count || j < b_count);) {
        const fm_source *x = i < a_count ? &a->sources[i] : NULL, *y = j < b_count ? &b->sources[j] : NULL;
        const int order = !x ? 1 : !y ? -1 : strcmp(x->path, y->path);
        fm_source *next = &sum->sources[sum->source_count++];
        if (x && y && order == 0)
            *next = source_joined(x, y);
        else if (x && order < 0)
            *next = source_alone(sum, x, &b_files);
        else if (y)
            *next = source_alone(sum, y, &a_files);
        i += order <= 0;
        j += order >= 0;
        made = source_own(sum, next);
    }
    for (size_t i = 0, room = 0; made && i < sum->source_count; i++) {
        const char *path = sum->sources[i].path,
                   *sums = sum->sources[i].sha256 ? fm_line_sums_of(a, path) : NULL;
        if (!sums && b && sum->sources[i].sha256) sums = fm_line_sums_of(b, path);
        if (!sums) continue;
        char *copy = fm_attribution_allocate(sum, strlen(sums) + 1, 1);
        if (copy) memcpy(copy, sums, strlen(sums));
        made = copy && fm_line_sums_add(sum, &room, path, copy);
    }
    fm_table_clear(&a_files);
    fm_table_clear(&b_files);
    return made ? FM_OK : no_memory_for_sources(error);
}
