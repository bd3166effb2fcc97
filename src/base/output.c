/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h. */
#define _GNU_SOURCE
#include "base/output.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a new file beside path. The name says whose it is, should a crash leave it behind. */
static fm_status open_temporary(fm_output *output, mode_t mode, bool keep_mode, fm_error *error)
{
    size_t room = strlen(output->path) + 32;
    output->temporary = malloc(room);
    if (!output->temporary) return fm_fail_memory(error, room, "a file name");
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        snprintf(output->temporary, room, "%s.%ld-%u.tmp", output->path, (long)getpid(), attempt);
        output->descriptor = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->descriptor >= 0 || (errno != EEXIST && errno != EINTR)) break;
    }
    if (output->descriptor < 0) {
        int cause = errno;
        free(output->temporary);
        output->temporary = NULL;
        return fm_fail_io(error, output->name, "create", cause);
    }
    output->owned = true;
    /* A file that is replaced keeps its permissions; where that is refused, the defaults are fine. */
    if (keep_mode) (void)!fchmod(output->descriptor, mode & 07777);
    return FM_OK;
}

fm_status fm_output_open(fm_output *output, const char *path, fm_error *error)
{
    memset(output, 0, sizeof *output);
    output->descriptor = -1;
    if (strcmp(path, "-") == 0) {
        output->descriptor = STDOUT_FILENO;
        output->name = "standard output";
        return FM_OK;
    }
    struct stat about;
    bool exists = stat(path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode))
        return fm_fail(error, FM_E_IO, path, "is a directory, expected a file to write");
    /* Through a symbolic link the file it points to is replaced, not the link. */
    if (exists && S_ISREG(about.st_mode)) output->path = realpath(path, NULL);
    if (!output->path) output->path = strdup(path);
    if (!output->path) return fm_fail_memory(error, strlen(path) + 1, "a file name");
    output->name = output->path;
    fm_status status;
    if (exists && S_ISREG(about.st_mode) && access(path, W_OK) != 0) {
        status = fm_fail_io(error, path, "write", errno);
    } else if (exists && !S_ISREG(about.st_mode)) {
        do output->descriptor = open(path, O_WRONLY | O_CLOEXEC);
        while (output->descriptor < 0 && errno == EINTR);
        output->owned = output->descriptor >= 0;
        status = output->owned ? FM_OK : fm_fail_io(error, path, "open", errno);
    } else {
        status = open_temporary(output, about.st_mode, exists, error);
    }
    if (status != FM_OK) fm_output_abandon(output);
    return status;
}

fm_status fm_output_write(fm_output *output, const void *from, size_t bytes, fm_error *error)
{
    const char *next = from;
    while (bytes > 0) {
        ssize_t count = write(output->descriptor, next, bytes > (1U << 30) ? (1U << 30) : bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fm_fail_io(error, output->name, "write", errno);
        next += count;
        bytes -= (size_t)count;
        output->written += (uint64_t)count;
    }
    return FM_OK;
}

fm_status fm_output_commit(fm_output *output, fm_error *error)
{
    fm_status status = FM_OK;
    if (output->owned) {
        output->owned = false;
        /* Full network disks tell only here. */
        if (close(output->descriptor) != 0) status = fm_fail_io(error, output->name, "write", errno);
        output->descriptor = -1;
    }
    if (status == FM_OK && output->temporary) {
        if (rename(output->temporary, output->path) != 0)
            status = fm_fail_io(error, output->name, "rename the finished file", errno);
        else {
            free(output->temporary);
            output->temporary = NULL;
        }
    }
    if (status == FM_OK) {
        free(output->path);
        output->path = NULL;
        output->name = "";
    } else {
        fm_output_abandon(output);
    }
    return status;
}

void fm_output_abandon(fm_output *output)
{
    if (output->owned && output->descriptor >= 0) close(output->descriptor);
    output->owned = false;
    output->descriptor = -1;
    if (output->temporary) {
        unlink(output->temporary);
        free(output->temporary);
        output->temporary = NULL;
    }
    free(output->path);
    output->path = NULL;
    output->name = "";
}
