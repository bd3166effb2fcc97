/* SPDX-License-Identifier: Apache-2.0 */
/* input.c - see input.h. */
#define _GNU_SOURCE
#include "base/input.h"

#include "base/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Interrupted reads are taken up again; nothing else is hidden. */

/* Linux reads at most this much at once; a larger request is cut so that the count fits everywhere. */
enum { READ_MOST = 1 << 30 };

static fm_status input_refuse(fm_input *input, fm_status status)
{
    fm_input_close(input);
    return status;
}

fm_status fm_input_open(fm_input *input, const char *path, fm_error *error)
{
    memset(input, 0, sizeof *input);
    input->descriptor = input->wake = -1;
    input->to = UINT64_MAX;
    if (strcmp(path, "-") == 0) {
        input->descriptor = STDIN_FILENO;
        input->name = "standard input";
        /* Closed, or what stands in for that so that no other file gets its number. */
        const int flags = fcntl(STDIN_FILENO, F_GETFL);
        if (flags < 0 || (flags & O_PATH)) {
            fm_fail(error, FM_E_IO, input->name, "cannot read: it is closed");
            return input_refuse(input, FM_E_IO);
        }
    } else {
        input->path = strdup(path);
        if (!input->path) return fm_fail_memory(error, strlen(path) + 1, "a file name");
        input->name = input->path;
        do input->descriptor = open(path, O_RDONLY | O_CLOEXEC);
        while (input->descriptor < 0 && errno == EINTR);
        if (input->descriptor < 0) {
            fm_fail_io(error, path, "open", errno);
            return input_refuse(input, FM_E_IO);
        }
        input->owned = true;
    }
    struct stat about;
    if (fstat(input->descriptor, &about) != 0) {
        fm_fail_io(error, input->name, "open", errno);
        return input_refuse(input, FM_E_IO);
    }
    if (S_ISDIR(about.st_mode)) {
        fm_fail(error, FM_E_IO, input->name, "is a directory, expected a file");
        return input_refuse(input, FM_E_IO);
    }
    /* Standard input may be a regular file that someone has read from already: its size says nothing then.
     */
    if (S_ISREG(about.st_mode) && lseek(input->descriptor, 0, SEEK_CUR) == 0) {
        input->seekable = true;
        input->total = (uint64_t)about.st_size;
        (void)posix_fadvise(input->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    return FM_OK;
}

fm_status fm_input_pass(fm_input *input, uint64_t offset, fm_error *error)
{
    if (lseek(input->descriptor, (off_t)offset, SEEK_SET) < 0)
        return fm_fail_io(error, input->name, "go to a part of the file", errno);
    input->taken = offset - input->from;
    return FM_OK;
}

fm_status fm_input_restrict(fm_input *input, uint64_t from, uint64_t to, fm_error *error)
{
    fm_status status = fm_input_pass(input, from, error);
    if (status != FM_OK) return status;
    input->from = from;
    input->to = to;
    input->taken = 0;
    return FM_OK;
}

fm_status fm_input_allow_interrupt(fm_input *input, fm_error *error)
{
    if (input->seekable || input->wake >= 0) return FM_OK; /* a regular file never lets us wait for long */
    input->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return input->wake >= 0 ? FM_OK : fm_fail_io(error, input->name, "prepare to read", errno);
}

void fm_input_interrupt(const fm_input *input)
{
    uint64_t one = 1;
    if (input->wake >= 0) (void)!write(input->wake, &one, sizeof one);
}

/* Waits until there is something to read; true: interrupted meanwhile. */
static bool input_is_interrupted(const fm_input *input)
{
    if (input->wake < 0) return false;
    struct pollfd watched[2] = {{.fd = input->descriptor, .events = POLLIN},
                                {.fd = input->wake, .events = POLLIN}};
    while (poll(watched, 2, -1) < 0 && errno == EINTR) continue;
    return watched[1].revents != 0;
}

fm_status fm_input_read(fm_input *input, void *to, size_t capacity, size_t *got, fm_error *error)
{
    uint64_t at = input->from + input->taken, left = input->to - at;
    if (capacity > READ_MOST) capacity = READ_MOST;
    if (capacity > left) capacity = (size_t)left;
    *got = 0;
    if (input_is_interrupted(input)) return FM_OK;
    ssize_t count;
    do count = read(input->descriptor, to, capacity);
    while (count < 0 && errno == EINTR);
    if (count < 0) {
        int cause = errno;
        return fm_fail_at(error, FM_E_IO, input->name, FM_PLACE_BYTE, at, "cannot read: %s", strerror(cause));
    }
    *got = (size_t)count;
    input->taken += (uint64_t)count;
    return FM_OK;
}

bool fm_input_read_at(const fm_input *input, void *to, size_t bytes, uint64_t offset)
{
    if (!input->seekable || offset > (uint64_t)INT64_MAX) return false;
    char *next = to;
    while (bytes > 0) {
        ssize_t count = pread(input->descriptor, next, bytes, (off_t)offset);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        next += count;
        bytes -= (size_t)count;
        offset += (uint64_t)count;
    }
    return true;
}

void fm_input_close(fm_input *input)
{
    if (input->owned && input->descriptor >= 0) close(input->descriptor);
    if (input->wake >= 0) close(input->wake);
    free(input->path);
    input->path = NULL;
    input->descriptor = input->wake = -1;
    input->owned = false;
}

/* ======== parts ======== */

static bool part_in(const char *directory, const char *between, const char *name, char *path, size_t size)
{
    int length = snprintf(path, size, "%s%s/%s", directory, between, name);
    return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

/* Beside a file (the program, the library) as it is built, or as it is installed. */
static bool part_beside(const char *file, const char *name, char *path, size_t size)
{
    static const char *const places[] = {
        "/lib/fathom", "/fathom", "/../lib/fathom", "/../lib/x86_64-linux-gnu/fathom", "/../lib64/fathom",
    };
    char directory[PATH_MAX];
    if (!realpath(file, directory)) return false;
    char *slash = strrchr(directory, '/');
    if (!slash) return false;
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (part_in(directory, places[i], name, path, size)) return true;
    return false;
}

bool fm_part_find(const char *directory, const char *name, char *path, size_t size)
{
    static const char here[] = "somewhere in the library";
    Dl_info library;
    if (!directory) directory = getenv("FATHOM_PARTS");
    if (directory && directory[0]) return part_in(directory, "", name, path, size);
    if (part_beside("/proc/self/exe", name, path, size)) return true;
    if (dladdr(here, &library) && library.dli_fname && part_beside(library.dli_fname, name, path, size))
        return true;
    path[0] = '\0';
    return false;
}

const void *fm_part_load(const char *path, const char *symbol, unsigned interface, bool global,
                         fm_error *error)
{
    void *handle = dlopen(path, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    const unsigned *functions = handle ? dlsym(handle, symbol) : NULL;
    if (functions && *functions == interface) return functions;
    if (!handle)
        fm_fail(error, FM_E_UNSUPPORTED, path, "cannot be loaded: %s", dlerror());
    else
        fm_fail(error, FM_E_UNSUPPORTED, path, "belongs to another version of fathom");
    if (handle) dlclose(handle);
    return NULL;
}
