/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result_file.c - see result_file.h.
 *
 * A symbolic link is followed first, so that the file it points to is replaced and not the link.
 * There is no fsync: a crash of the machine may lose the result, a crash of the program may not leave
 * half of it.
 */
#define _GNU_SOURCE
#include "profile/result_file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static fm_status fail_system(fm_error *error, const char *path, const char *verb, int errno_value)
{
    fm_fail_io(error, path, verb, errno_value);
    if (errno_value != ENOMEM) return FM_E_IO;
    if (error) error->status = FM_E_NOMEM;
    return FM_E_NOMEM;
}

/* In /dev and /proc a name is a door to a descriptor: /dev/stdout may well be a regular file that
 * others write to as well, and must not be replaced. */
static bool names_descriptor(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

static void forget(fm_result_file *result)
{
    free(result->final);
    free(result->temporary);
    *result = (fm_result_file){0};
}

/* Makes a new file beside result->final. The number in its name only has to be unlikely: O_EXCL
 * decides, and another is tried. */
static int create_temporary(fm_result_file *result, mode_t mode)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t salt = (uint64_t)now.tv_nsec * 0x9E3779B97F4A7C15u + (uint64_t)getpid();
    for (int attempt = 0; attempt < 100; attempt++, salt += 0x9E3779B97F4A7C15u) {
        char *name;
        if (asprintf(&name, "%s.%08" PRIx32 ".tmp", result->final, (uint32_t)(salt >> 32)) < 0) {
            errno = ENOMEM;
            return -1;
        }
        int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (descriptor >= 0) {
            result->temporary = name;
            return descriptor;
        }
        int failure = errno;
        free(name);
        errno = failure;
        if (failure != EEXIST) return -1;
    }
    return -1;
}

fm_status fm_result_file_open(fm_result_file *result, const char *path, fm_error *error)
{
    *result = (fm_result_file){.path = path};
    if (strcmp(path, "-") == 0) {
        result->path = "standard output";
        result->file = stdout;
        return FM_OK;
    }
    int descriptor;
    struct stat there;
    if (names_descriptor(path) || (stat(path, &there) == 0 && !S_ISREG(there.st_mode))) {
        descriptor = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    } else {
        bool exists = access(path, F_OK) == 0;
        /* What is read-only stays as it is, though its directory would allow to replace it. */
        if (exists && access(path, W_OK) != 0) return fail_system(error, path, "write", errno);
        result->final = exists ? realpath(path, NULL) : strdup(path);
        if (!result->final) return fail_system(error, path, "create", errno);
        descriptor = create_temporary(result, 0666);
        /* The new file keeps the old one's permissions where that is allowed. */
        if (descriptor >= 0 && exists) (void)!fchmod(descriptor, there.st_mode & 0777);
    }
    if (descriptor >= 0) result->file = fdopen(descriptor, "w");
    if (result->file) return FM_OK;
    int failure = errno;
    if (descriptor >= 0) close(descriptor);
    if (result->temporary) unlink(result->temporary);
    forget(result);
    return fail_system(error, path, "create", failure);
}

fm_status fm_result_file_commit(fm_result_file *result, fm_error *error)
{
    const char *path = result->path;
    errno = 0;
    bool failed = fflush(result->file) != 0 || ferror(result->file);
    int failure = errno;
    if (result->file != stdout && fclose(result->file) != 0 && !failed) {
        failed = true;
        failure = errno;
    }
    fm_status status = FM_OK;
    if (failed) {
        status = fail_system(error, path, "write", failure ? failure : EIO);
    } else if (result->temporary && rename(result->temporary, result->final) != 0) {
        status = fail_system(error, path, "create", errno);
    }
    if (status && result->temporary) unlink(result->temporary);
    forget(result);
    return status;
}

void fm_result_file_abandon(fm_result_file *result)
{
    if (result->file && result->file != stdout) fclose(result->file);
    if (result->temporary) unlink(result->temporary);
    forget(result);
}
