/* SPDX-License-Identifier: Apache-2.0 */
/* text_file.c - see text_file.h. */
#define _GNU_SOURCE
#include "base/text_file.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static fm_status refuse(fm_text_file *file, const char *why)
{
    snprintf(file->why, sizeof file->why, "%s", why);
    return FM_OK;
}

static fm_status read_bytes(fm_text_file *file, int descriptor, size_t room, fm_error *error)
{
    file->bytes = fm_calloc(room + 1, 1);
    if (!file->bytes) return fm_fail_memory(error, room + 1, "the text of a source file");
    while (file->size < room) {
        ssize_t got = read(descriptor, file->bytes + file->size, room - file->size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return refuse(file, strerror(errno));
        if (got == 0) break; /* it has become shorter: its checksum will show it */
        file->size += (size_t)got;
    }
    return memchr(file->bytes, 0, file->size) ? refuse(file, "it is no text") : FM_OK;
}

static fm_status read_open(fm_text_file *file, int descriptor, uint64_t size, fm_error *error)
{
    struct stat about;
    if (fstat(descriptor, &about)) return refuse(file, strerror(errno));
    if (!S_ISREG(about.st_mode)) return refuse(file, "it is no regular file");
    file->modified = about.st_mtim;
    if (size != UINT64_MAX && (uint64_t)about.st_size != size) {
        file->resized = true;
        return refuse(file, "it has another size");
    }
    if (about.st_size > FM_LARGEST_TEXT) {
        snprintf(file->why, sizeof file->why, "it is too large: %jd bytes, %d are read at most",
                 (intmax_t)about.st_size, FM_LARGEST_TEXT);
        return FM_OK;
    }
    return read_bytes(file, descriptor, (size_t)about.st_size, error);
}

fm_status fm_text_file_read(fm_text_file *file, const char *path, uint64_t size, fm_error *error)
{
    *file = (fm_text_file){0};
    /* Never waits for a pipe, never becomes a terminal's. */
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) {
        file->missing = errno == ENOENT || errno == ENOTDIR;
        return refuse(file, strerror(errno));
    }
    fm_status status = read_open(file, descriptor, size, error);
    close(descriptor);
    return status;
}

void fm_text_file_clear(fm_text_file *file)
{
    free(file->bytes);
    *file = (fm_text_file){0};
}
