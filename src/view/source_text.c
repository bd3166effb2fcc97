/* SPDX-License-Identifier: Apache-2.0 */
/* source_text.c - see source_text.h. */
#define _GNU_SOURCE
#include "view/source_text.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/text_file.h"

#include <stdlib.h>
#include <string.h>

static void refuse(fm_source_text *text, fm_source_lack what, const char *why)
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
            refuse(text, FM_SOURCE_CHANGED, changed);
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
        refuse(text, what, what == FM_SOURCE_CHANGED ? changed : file.why);
    }
    fm_text_file_clear(&file);
    return status;
}

/* In one of the folders under as much of its path as possible, else under its own name. A file that is not
 * the one of the profile is passed over. */
static fm_status find(fm_source_text *text, const fm_report_options *options, const fm_source *source,
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
        refuse(text, FM_SOURCE_UNTOLD, "source text was not wanted on this page");
    } else if (!source && !recorded) {
        refuse(text, FM_SOURCE_UNRECORDED, "the profile has no checksums of source files");
    } else if (!source) {
        refuse(text, FM_SOURCE_UNTOLD, "it could not be read when the profile was made");
    } else if (!source->sha256) {
        refuse(text, FM_SOURCE_DIFFERENT, "it was not the same in all runs that the profile is the sum of");
    } else if (source->text) {
        text->bytes = source->text;
        text->size = strlen(source->text);
    } else {
        status = find(text, options, source, error);
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
