/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_files.c - see source_files.h.
 *
 * A small file is shown whole. Of a large one (an amalgamated database has 250,000 lines), the lines that the
 * page refers to and some around them.
 */
#define _GNU_SOURCE
#include "view/source_files.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "base/table.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ======== numbering ======== */

uint32_t fm_numbering_add(fm_numbering *numbering, const void *bytes, size_t length)
{
    bool fresh;
    if (!numbering->bytes) {
        numbering->table = FM_TABLE_OF_BYTES(fm_bytes);
        numbering->bytes = fm_arena_create();
    }
    fm_bytes *entry =
        numbering->bytes ? fm_table_put(&numbering->table, &(fm_bytes){bytes, length}, &fresh) : NULL;
    if (!entry) return UINT32_MAX;
    if (!fresh) return fm_table_number(&numbering->table, entry);
    char *copy = fm_arena_allocate(numbering->bytes, length + 1, 1);
    if (!copy) {
        fm_table_truncate(&numbering->table, numbering->table.count - 1);
        return UINT32_MAX;
    }
    memcpy(copy, bytes, length);
    entry->at = copy;
    return fm_table_number(&numbering->table, entry);
}

uint32_t fm_numbering_add_text(fm_numbering *numbering, const char *text)
{
    return fm_numbering_add(numbering, text, strlen(text));
}

fm_bytes fm_numbering_bytes(const fm_numbering *numbering, size_t number)
{
    FM_ASSERT(number < numbering->table.count);
    return ((const fm_bytes *)numbering->table.entries)[number];
}

const char *fm_numbering_text(const fm_numbering *numbering, size_t number)
{
    return fm_numbering_bytes(numbering, number).at;
}

void fm_numbering_clear(fm_numbering *numbering)
{
    fm_table_clear(&numbering->table);
    fm_arena_destroy(numbering->bytes);
    *numbering = (fm_numbering){0};
}

/* ======== source text ======== */

static void text_refuse(fm_source_text *text, fm_source_lack what, const char *why)
{
    text->what = what;
    snprintf(text->why, sizeof text->why, "%s", why);
}

/* Takes the file where it is the one of the profile; else text->why says what it is. */
static fm_status try_file(fm_source_text *text, const fm_source *source, const char *path, fm_error *error)
{
    static const char changed[] = "it has changed since the run";
    char sum[FM_SHA256_TEXT];
    fm_text_file file;
    fm_status status = fm_text_file_read(&file, path, source->size, error);
    if (status == FM_OK && !*file.why) {
        fm_sha256_text(file.bytes, file.size, sum);
        if (strcmp(sum, source->sha256) != 0) {
            text_refuse(text, FM_SOURCE_CHANGED, changed);
        } else {
            text->why[0] = '\0';
            text->bytes = text->owned = file.bytes;
            text->size = file.size;
            file.bytes = NULL;
            snprintf(text->found, sizeof text->found, "%s", path);
        }
    } else if (status == FM_OK) {
        fm_source_lack what = file.missing   ? FM_SOURCE_MISSING
                              : file.resized ? FM_SOURCE_CHANGED
                                             : FM_SOURCE_UNREADABLE;
        text_refuse(text, what, what == FM_SOURCE_CHANGED ? changed : file.why);
    }
    fm_text_file_clear(&file);
    return status;
}

/* In one of the folders under as much of its path as possible, else under its own name. A file that is not
 * the one of the profile is passed over. */
static fm_status source_find(fm_source_text *text, const fm_report_options *options, const fm_source *source,
                             fm_error *error)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < options->source_folder_count; i++)
        for (const char *rest = source->path; rest; rest = strchr(rest, '/')) {
            while (*rest == '/') rest++;
            if (*rest == 0) break;
            int length = snprintf(path, PATH_MAX, "%s/%s", options->source_folders[i], rest);
            if (length <= 0 || length >= PATH_MAX) continue;
            fm_status status = try_file(text, source, path, error);
            if (status != FM_OK || !*text->why) return status;
        }
    const fm_source_text in_folders = *text;
    fm_status status = try_file(text, source, source->path, error);
    /* One that has changed says more than one that is not there. */
    if (status == FM_OK && text->what == FM_SOURCE_MISSING && *text->why && *in_folders.why &&
        in_folders.what == FM_SOURCE_CHANGED)
        *text = in_folders;
    return status;
}

static fm_status split_lines(fm_source_text *text, fm_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < text->size; i++) count += text->bytes[i] == '\n';
    text->lines = fm_calloc(count + 2, sizeof *text->lines);
    if (!text->lines)
        return fm_fail_memory(error, (count + 2) * sizeof *text->lines, "the lines of a source file");
    for (size_t i = 0; i < text->size; i++)
        if (text->bytes[i] == '\n') text->lines[++text->line_count] = i + 1;
    if (text->size && text->bytes[text->size - 1] != '\n') text->lines[++text->line_count] = text->size + 1;
    return FM_OK;
}

fm_status fm_source_text_read(fm_source_text *text, const fm_report_options *options, const fm_source *source,
                              bool recorded, fm_error *error)
{
    fm_status status = FM_OK;
    if (options->no_source) {
        text_refuse(text, FM_SOURCE_UNTOLD, "source text was not wanted on this page");
    } else if (!source && !recorded) {
        text_refuse(text, FM_SOURCE_UNRECORDED, "the profile has no checksums of source files");
    } else if (!source) {
        text_refuse(text, FM_SOURCE_UNTOLD, "it could not be read when the profile was made");
    } else if (!source->sha256) {
        text_refuse(text, FM_SOURCE_DIFFERENT,
                    "it was not the same in all runs that the profile is the sum of");
    } else if (source->text) {
        text->bytes = source->text;
        text->size = strlen(source->text);
    } else {
        status = source_find(text, options, source, error);
    }
    if (!status && !*text->why) status = split_lines(text, error);
    return status;
}

void fm_source_text_clear(fm_source_text *text)
{
    free(text->owned);
    free(text->lines);
    *text = (fm_source_text){0};
}

const char *fm_source_text_line(const fm_source_text *text, size_t line, size_t *length)
{
    const char *from = text->bytes + text->lines[line];
    *length = text->lines[line + 1] - text->lines[line] - 1;
    if (*length && from[*length - 1] == '\r') --*length;
    return from;
}

fm_status fm_source_line(char text[FM_SOURCE_LINE], const fm_report_options *options,
                         const fm_attribution *of, const char *path, uint32_t line, fm_error *error)
{
    fm_source_text *file = fm_calloc(1, sizeof *file);
    text[0] = '\0';
    if (!file) return fm_fail_memory(error, sizeof *file, "the text of a source file");
    fm_status status =
        fm_source_text_read(file, options, fm_attribution_source(of, path), of->sources != NULL, error);
    if (!status && !*file->why && line > 0 && line <= file->line_count) {
        size_t length;
        const char *bytes = fm_source_text_line(file, line - 1, &length);
        for (; length && (*bytes == ' ' || *bytes == '\t'); length--) bytes++;
        snprintf(text, FM_SOURCE_LINE, "%.*s", (int)(length < FM_SOURCE_LINE ? length : FM_SOURCE_LINE - 1),
                 bytes);
        for (char *tab = text; (tab = strchr(tab, '\t'));) *tab = ' ';
    }
    fm_source_text_clear(file);
    free(file);
    return status;
}

/* ======== source files ======== */

enum {
    WHOLE_LINES = 3000,    /* up to here a file is shown whole */
    AROUND = 20,           /* lines of context in larger ones */
    LONGEST_LINE = 500,    /* bytes */
    TEXT_OF_ALL = 6 << 20, /* bytes of text on one page */
};

/* ---- which files, which lines ---- */

/* The key of a file: its path, a 0 byte, and its sum, if it has one. The text of a key is then its path. */
static uint32_t number_of(fm_numbering *paths, const char *path, const char *sum)
{
    size_t length = strlen(path) + 1, of_sum = sum ? strlen(sum) : 0;
    char *key = fm_calloc(length + of_sum, 1);
    if (!key) return UINT32_MAX;
    memcpy(key, path, length);
    if (of_sum) memcpy(key + length, sum, of_sum);
    uint32_t number = fm_numbering_add(paths, key, length + of_sum);
    free(key);
    return number;
}

uint32_t fm_source_files_add(fm_source_files *files, const fm_attribution *of, const char *path)
{
    const fm_source *source = fm_attribution_source(of, path);
    if (!source && files->whole) source = fm_attribution_source(files->whole, path);
    size_t before = files->paths.table.count;
    if (fm_array_reserve((void **)&files->files, &files->room, before + 1, sizeof *files->files))
        return UINT32_MAX;
    uint32_t number = number_of(&files->paths, path, source ? source->sha256 : NULL);
    if (number == UINT32_MAX) return number;
    fm_source_file *file = &files->files[number];
    if (number == before) *file = (fm_source_file){0};
    file->recorded |= of->sources || (files->whole && files->whole->sources);
    if (source && (!file->source || !file->source->text)) file->source = source;
    return number;
}

int fm_source_files_want(fm_source_files *files, uint32_t file, uint32_t line)
{
    fm_source_file *of = &files->files[file];
    if (line == 0) return 0;
    if (of->wanted_count && of->wanted[of->wanted_count - 1] == line) return 0;
    if (fm_array_reserve((void **)&of->wanted, &of->wanted_room, of->wanted_count + 1, sizeof *of->wanted))
        return -1;
    of->wanted[of->wanted_count++] = line;
    return 0;
}

void fm_source_files_weigh(fm_source_files *files, uint32_t file, double weight)
{
    files->files[file].weight += weight;
}

void fm_source_files_clear(fm_source_files *files)
{
    for (size_t i = 0; i < files->paths.table.count; i++) free(files->files[i].wanted);
    free(files->files);
    fm_numbering_clear(&files->paths);
    files->files = NULL;
    files->room = 0;
}

/* ---- onto the page ---- */

/* One line, without its end; a cut one ends in an ellipsis. Returns the bytes of text. */
static size_t write_line(FILE *out, const fm_source_text *text, size_t line)
{
    char copy[LONGEST_LINE + 8];
    size_t length;
    const char *from = fm_source_text_line(text, line, &length);
    bool cut = length > LONGEST_LINE;
    if (cut) {
        length = LONGEST_LINE;
        while (length && ((unsigned char)from[length] & 0xC0) == 0x80) length--; /* not within a character */
    }
    memcpy(copy, from, length);
    snprintf(copy + length, sizeof copy - length, "%s", cut ? " …" : "");
    fm_json_write_string(out, copy, FM_JSON_IN_HTML);
    return length + 1;
}

/* Lines [from, to), from 0, as one piece. Ends early when there is no room left. */
static void write_piece(FILE *out, const fm_source_text *text, size_t from, size_t to, size_t *room)
{
    fprintf(out, "[%zu,[", from + 1);
    for (size_t line = from; line < to && *room; line++) {
        if (line > from) putc(',', out);
        size_t bytes = write_line(out, text, line);
        *room -= bytes < *room ? bytes : *room;
    }
    fputs("]]", out);
}

static void write_pieces(FILE *out, const fm_source_text *text, const fm_source_file *file, size_t *room)
{
    if (text->line_count <= WHOLE_LINES && text->size <= *room) {
        if (text->line_count) write_piece(out, text, 0, text->line_count, room);
        return;
    }
    bool first = true;
    for (size_t i = 0; i < file->wanted_count && *room;) {
        if (file->wanted[i] > text->line_count) break;
        size_t from = file->wanted[i] > AROUND ? file->wanted[i] - 1 - AROUND : 0;
        size_t to = file->wanted[i] + AROUND;
        while (i < file->wanted_count && file->wanted[i] <= to + AROUND) to = file->wanted[i++] + AROUND;
        if (!first) putc(',', out);
        first = false;
        write_piece(out, text, from, to < text->line_count ? to : text->line_count, room);
    }
}

/* Files without text, for the notes. */
typedef struct lacking {
    size_t of[FM_SOURCE_TOLD_LACKS];
    const char *example[FM_SOURCE_TOLD_LACKS];
} lacking;

static void write_text(FILE *out, const fm_source_text *text, const char *path, const fm_source_file *file,
                       size_t *room)
{
    if (!*text->found)
        fputs(",\"embedded\":true", out);
    else if (strcmp(text->found, path) != 0) {
        fputs(",\"found\":", out);
        fm_json_write_string(out, text->found, FM_JSON_IN_HTML);
    }
    if (file->source->newer) fputs(",\"newer\":true", out);
    fprintf(out, ",\"lines\":%zu,\"text\":[", text->line_count);
    write_pieces(out, text, file, room);
    fprintf(out, "]%s", *room ? "" : ",\"cut\":true");
}

static fm_status write_file(FILE *out, const fm_source_files *files, uint32_t number, size_t *room,
                            lacking *without, fm_error *error)
{
    fm_source_text text = {0};
    fm_source_file *file = &files->files[number];
    const char *path = fm_numbering_text(&files->paths, number);
    fm_status status = FM_OK;
    if (*room == 0) {
        text.what = FM_SOURCE_UNTOLD;
        snprintf(text.why, sizeof text.why, "the page has room for %d MiB of source text, which is used up",
                 TEXT_OF_ALL >> 20);
    } else {
        status = fm_source_text_read(&text, files->options, file->source, file->recorded, error);
    }
    if (!status) {
        fm_numbers_sort(file->wanted, file->wanted_count);
        fputs("{\"path\":", out);
        fm_json_write_string(out, path, FM_JSON_IN_HTML);
        fprintf(out, ",\"number\":%" PRIu32, number);
        if (*text.why) {
            fputs(",\"why\":", out);
            fm_json_write_string(out, text.why, FM_JSON_IN_HTML);
        } else {
            write_text(out, &text, path, file, room);
        }
        putc('}', out);
        if (*text.why && text.what < FM_SOURCE_TOLD_LACKS && without->of[text.what]++ == 0)
            without->example[text.what] = path;
    }
    fm_source_text_clear(&text);
    return status;
}

/* Notes are lines, whatever the name of a file is. */
static void write_example(FILE *notes, const char *path)
{
    for (; *path; path++) putc(*path == '\n' ? ' ' : *path, notes);
}

static void write_notes(FILE *notes, const lacking *without)
{
    static const struct {
        const char *one, *several;
    } what[FM_SOURCE_UNRECORDED] = {
        [FM_SOURCE_CHANGED] = {"has changed since the run: its text is",
                               "have changed since the run: their text is"},
        [FM_SOURCE_MISSING] = {"is not found: its text is", "are not found: their text is"},
        [FM_SOURCE_UNREADABLE] = {"cannot be read: its text is", "cannot be read: their text is"},
        [FM_SOURCE_DIFFERENT] = {"was not the same in all runs of a profile: its text is",
                                 "were not the same in all runs of a profile: their text is"},
    };
    if (!notes) return;
    for (size_t i = 0; i < FM_SOURCE_UNRECORDED; i++) {
        if (without->of[i] == 0) continue;
        write_example(notes, without->example[i]);
        if (without->of[i] > 1)
            fprintf(notes, " and %zu other source file%s", without->of[i] - 1, without->of[i] > 2 ? "s" : "");
        fprintf(notes, " %s not on the page\n", without->of[i] > 1 ? what[i].several : what[i].one);
    }
    if (without->of[FM_SOURCE_UNRECORDED])
        fputs("the profile has no checksums of source files (earlier versions recorded none): no text of "
              "them is "
              "on the page\n",
              notes);
}

fm_status fm_source_files_write(FILE *out, const fm_source_files *files, fm_error *error)
{
    size_t count = files->paths.table.count;
    fm_ranked *order = fm_calloc(count, sizeof *order);
    if (!order) return fm_fail_memory(error, count * sizeof *order, "the order of source files");
    for (size_t i = 0; i < count; i++) order[i] = (fm_ranked){files->files[i].weight, (uint32_t)i};
    fm_ranked_sort(order, count);
    size_t room = TEXT_OF_ALL;
    lacking without = {0};
    fm_status status = FM_OK;
    putc('[', out);
    for (size_t i = 0; i < count && !status; i++) {
        if (i) putc(',', out);
        status = write_file(out, files, order[i].number, &room, &without, error);
    }
    putc(']', out);
    if (!status) write_notes(files->options->notes, &without);
    free(order);
    return status;
}
