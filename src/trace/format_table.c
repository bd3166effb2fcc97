/* SPDX-License-Identifier: Apache-2.0 */
/* format_table.c - the table of trace formats: one line each. Names and endings are looked up here. */
#include "trace/format.h"

#include <stdio.h>
#include <string.h>

static const fm_format *const formats[] = {
    &fm_format_u64, &fm_format_text,   &fm_format_csv,    &fm_format_lackey,
    &fm_format_din, &fm_format_oracle, &fm_format_fathom,
};
enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

const fm_format_info *fm_format_at(size_t index)
{
    return index < FORMAT_COUNT ? &formats[index]->info : NULL;
}

const fm_format *fm_format_find(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(formats[i]->info.name, name) == 0) return formats[i];
    return NULL;
}

/* Whether name[0, length) ends in one of the space-separated endings and has something before it. */
static bool ends_in(const char *name, size_t length, const char *endings)
{
    while (*endings) {
        size_t size = strcspn(endings, " ");
        if (size < length && memcmp(name + length - size, endings, size) == 0) return true;
        endings += size;
        endings += strspn(endings, " ");
    }
    return false;
}

const fm_format *fm_format_of_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length;
    fm_compression_of_name(name, &length);
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (ends_in(name, length, formats[i]->info.endings)) return formats[i];
    return NULL;
}

const fm_format_info *fm_format_of_name(const char *path)
{
    const fm_format *format = fm_format_of_path(path);
    return format ? &format->info : NULL;
}

char *fm_format_names(char *buffer, size_t size, bool writable_only)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (writable_only && !formats[i]->info.can_write) continue;
        int more = snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", formats[i]->info.name);
        if (more < 0 || (size_t)more >= size - used) break;
        used += (size_t)more;
    }
    return buffer;
}
