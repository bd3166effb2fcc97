/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_files.c - see source_files.h.
 *
 * A small file is shown whole. Of a large one (an amalgamated database has 250,000 lines), the lines that the
 * page refers to and some around them.
 */
#define _GNU_SOURCE
#include "view/source_files.h"

#include "base/error.h"
#include "base/memory.h"
#include "profile/json_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LARGEST_FILE = 32 << 20, /* bytes that are read of one file */
    WHOLE_LINES = 3000,      /* up to here a file is shown whole */
    AROUND = 20,             /* lines of context in larger ones */
    LONGEST_LINE = 500,      /* bytes */
    TEXT_OF_ALL = 6 << 20,   /* bytes of text on one page */
};

/* ---- which files, which lines ---- */

uint32_t fm_source_files_add(fm_source_files *files, const char *path)
{
    size_t before = files->paths.count;
    if (fm_array_reserve((void **)&files->files, &files->room, before + 1, sizeof *files->files))
        return UINT32_MAX;
    uint32_t number = fm_numbering_add_text(&files->paths, path);
    if (number == before) files->files[number] = (fm_source_file){0};
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
    for (size_t i = 0; i < files->paths.count; i++) free(files->files[i].wanted);
    free(files->files);
    fm_numbering_clear(&files->paths);
    files->files = NULL;
    files->room = 0;
}

/* ---- their text ---- */

typedef struct source_text {
    char found[PATH_MAX]; /* the name that was opened */
    char why[160];        /* there is no text because …; "": there is */
    int64_t modified;     /* seconds since 1970 */
    char *bytes;
    size_t size;
    size_t line_count;
    size_t *lines; /* where each begins; one more for the end */
} source_text;

static bool is_regular(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* In one of the folders under as much of its path as possible, else under its own name. */
static void find(const fm_report_options *options, const char *path, char found[PATH_MAX])
{
    for (size_t i = 0; i < options->source_folder_count; i++)
        for (const char *rest = path; rest; rest = strchr(rest, '/')) {
            while (*rest == '/') rest++;
            if (*rest == 0) break;
            int length = snprintf(found, PATH_MAX, "%s/%s", options->source_folders[i], rest);
            if (length > 0 && length < PATH_MAX && is_regular(found)) return;
        }
    snprintf(found, PATH_MAX, "%s", path);
}

static void refuse(source_text *text, const char *why)
{
    snprintf(text->why, sizeof text->why, "%s", why);
}

/* The whole file into memory. FM_OK also where there is none to read: then text->why says so. */
static fm_status read_whole(source_text *text, int file, fm_error *error)
{
    struct stat about;
    if (fstat(file, &about)) {
        refuse(text, strerror(errno));
        return FM_OK;
    }
    if (!S_ISREG(about.st_mode)) {
        refuse(text, "it is no regular file");
        return FM_OK;
    }
    text->modified = (int64_t)about.st_mtim.tv_sec;
    if (about.st_size > LARGEST_FILE) {
        snprintf(text->why, sizeof text->why, "it is too large: %jd bytes, %d are read at most",
                 (intmax_t)about.st_size, LARGEST_FILE);
        return FM_OK;
    }
    size_t room = (size_t)about.st_size;
    text->bytes = fm_calloc(room + 1, 1);
    if (!text->bytes) return fm_fail_memory(error, room + 1, "the text of a source file");
    while (text->size < room) {
        ssize_t got = read(file, text->bytes + text->size, room - text->size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) refuse(text, strerror(errno));
        if (got <= 0) break;
        text->size += (size_t)got;
    }
    if (!*text->why && memchr(text->bytes, 0, text->size)) refuse(text, "it is no text");
    return FM_OK;
}

static fm_status split_lines(source_text *text, fm_error *error)
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

static fm_status read_source(source_text *text, const fm_report_options *options, const char *path,
                             fm_error *error)
{
    if (options->no_source) {
        refuse(text, "source text was not wanted on this page");
        return FM_OK;
    }
    find(options, path, text->found);
    int file = open(text->found, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); /* never waits for a pipe */
    if (file < 0) {
        refuse(text, strerror(errno));
        return FM_OK;
    }
    fm_status status = read_whole(text, file, error);
    close(file);
    if (!status && !*text->why) status = split_lines(text, error);
    return status;
}

static void source_text_clear(source_text *text)
{
    free(text->bytes);
    free(text->lines);
    *text = (source_text){0};
}

/* ---- onto the page ---- */

/* One line, without its end; a cut one ends in an ellipsis. Returns the bytes of text. */
static size_t write_line(FILE *out, const source_text *text, size_t line)
{
    char copy[LONGEST_LINE + 8];
    const char *from = text->bytes + text->lines[line];
    size_t length = text->lines[line + 1] - text->lines[line] - 1;
    if (length && from[length - 1] == '\r') length--;
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

static int compare_lines(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Lines [from, to), from 0, as one piece. Ends early when there is no room left. */
static void write_piece(FILE *out, const source_text *text, size_t from, size_t to, size_t *room)
{
    fprintf(out, "[%zu,[", from + 1);
    for (size_t line = from; line < to && *room; line++) {
        if (line > from) putc(',', out);
        size_t bytes = write_line(out, text, line);
        *room -= bytes < *room ? bytes : *room;
    }
    fputs("]]", out);
}

static void write_pieces(FILE *out, const source_text *text, const fm_source_file *file, size_t *room)
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

static fm_status write_file(FILE *out, const fm_source_files *files, uint32_t number, size_t *room,
                            fm_error *error)
{
    source_text text = {0};
    fm_source_file *file = &files->files[number];
    const char *path = fm_numbering_text(&files->paths, number);
    fm_status status = FM_OK;
    if (*room == 0)
        snprintf(text.why, sizeof text.why, "the page has room for %d MiB of source text, which is used up",
                 TEXT_OF_ALL >> 20);
    else
        status = read_source(&text, files->options, path, error);
    if (!status) {
        if (file->wanted_count) qsort(file->wanted, file->wanted_count, sizeof *file->wanted, compare_lines);
        fputs("{\"path\":", out);
        fm_json_write_string(out, path, FM_JSON_IN_HTML);
        fprintf(out, ",\"number\":%" PRIu32, number);
        if (*text.why) {
            fputs(",\"why\":", out);
            fm_json_write_string(out, text.why, FM_JSON_IN_HTML);
        } else {
            if (strcmp(text.found, path) != 0) {
                fputs(",\"found\":", out);
                fm_json_write_string(out, text.found, FM_JSON_IN_HTML);
            }
            fprintf(out, ",\"modified\":%" PRId64 ",\"lines\":%zu,\"text\":[", text.modified,
                    text.line_count);
            write_pieces(out, &text, file, room);
            fprintf(out, "]%s", *room ? "" : ",\"cut\":true");
        }
        putc('}', out);
    }
    source_text_clear(&text);
    return status;
}

typedef struct ranked {
    double weight;
    uint32_t number;
} ranked;

static int compare_ranks(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

fm_status fm_source_files_write(FILE *out, const fm_source_files *files, fm_error *error)
{
    size_t count = files->paths.count;
    ranked *order = fm_calloc(count, sizeof *order);
    if (!order) return fm_fail_memory(error, count * sizeof *order, "the order of source files");
    for (size_t i = 0; i < count; i++) order[i] = (ranked){files->files[i].weight, (uint32_t)i};
    if (count) qsort(order, count, sizeof *order, compare_ranks);
    size_t room = TEXT_OF_ALL;
    fm_status status = FM_OK;
    putc('[', out);
    for (size_t i = 0; i < count && !status; i++) {
        if (i) putc(',', out);
        status = write_file(out, files, order[i].number, &room, error);
    }
    putc(']', out);
    free(order);
    return status;
}
