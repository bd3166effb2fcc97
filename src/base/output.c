/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c - see fathom/output.h.
 *
 * The target's directory is held open from the start, and everything happens relative to it: the file
 * ends up where its name pointed when it was opened, even if the program changes its working directory.
 * The stream writes through a function of ours instead of a descriptor: it goes on after interrupted
 * writes, and it keeps the reason of the first failure, which stdio forgets.
 */
#define _GNU_SOURCE
#include <fathom/output.h>

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 64 << 10, MOST_LINKS = 40, MOST_NAMES = 100 };

struct fm_output {
    FILE *stream;
    int descriptor;     /* -1: standard output */
    int directory;      /* of the target; -1: written in place */
    int existing;       /* the file to copy into at the commit, which cannot be replaced as it is; -1: none */
    bool unnamed;       /* an O_TMPFILE: no name before the commit */
    bool abandoned;     /* what is still buffered is of no interest */
    int failure;        /* errno of the first failed write */
    char temporary[32]; /* name in directory that must not stay; "" when there is none */
    char *target;       /* the path, links followed; NULL: written in place */
    const char *base;   /* target's last component */
    const char *name;   /* for messages */
    char buffer[BUFFER_BYTES];
    char path[]; /* as given */
};

static fm_status fail_system(fm_error *error, const char *path, const char *verb, int errno_value)
{
    fm_fail_io(error, path, verb, errno_value);
    if (errno_value != ENOMEM) return FM_E_IO;
    if (error) error->status = FM_E_NOMEM;
    return FM_E_NOMEM;
}

/* ---- where it goes ---- */

static bool starts_with(const char *path, const char *start)
{
    return strncmp(path, start, strlen(start)) == 0;
}

static bool names_descriptor(const char *path)
{
    return starts_with(path, "/proc/") || (starts_with(path, "/dev/") && !starts_with(path, "/dev/shm/"));
}

/*
 * Follows the symbolic links at the end of *path, which is replaced; unlike realpath, also a link to what
 * is not there yet. Stops at a path of a descriptor in /proc. Returns 0 or an errno value.
 */
static int follow_links(char **path)
{
    char link[PATH_MAX];
    for (int hops = 0; hops < MOST_LINKS && !names_descriptor(*path); hops++) {
        ssize_t length = readlink(*path, link, sizeof link - 1);
        if (length < 0) return errno == EINVAL || errno == ENOENT ? 0 : errno;
        link[length] = '\0';
        const char *slash = strrchr(*path, '/');
        int before = link[0] != '/' && slash ? (int)(slash + 1 - *path) : 0;
        char *next;
        if (asprintf(&next, "%.*s%s", before, *path, link) < 0) return ENOMEM;
        free(*path);
        *path = next;
    }
    return names_descriptor(*path) ? 0 : ELOOP;
}

/* Holds the directory of output->target and finds the base. Returns 0 or an errno value. */
static int open_directory(fm_output *output)
{
    char *slash = strrchr(output->target, '/');
    output->base = slash ? slash + 1 : output->target;
    if (output->base[0] == '\0') return slash ? EISDIR : ENOENT;
    int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    if (!slash) {
        output->directory = open(".", flags);
    } else if (slash == output->target) {
        output->directory = open("/", flags);
    } else {
        *slash = '\0';
        output->directory = open(output->target, flags);
    }
    return output->directory < 0 ? errno : 0;
}

/* ---- the file ---- */

/* The name under which the kernel shows a descriptor: the way to a file that has no other. */
static const char *descriptor_path(int descriptor, char proc_path[32])
{
    snprintf(proc_path, 32, "/proc/self/fd/%d", descriptor);
    return proc_path;
}

/*
 * Gives the file a temporary name: an unnamed one gets a link, otherwise a new file is made. The number in
 * the name only has to be unlikely: the kernel decides, and another is tried. Returns 0 or an errno value.
 */
static int make_temporary_name(fm_output *output)
{
    char proc_path[32];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t salt = (uint64_t)now.tv_nsec * 0x9E3779B97F4A7C15u + (uint64_t)getpid();
    int why = EEXIST;
    for (int attempt = 0; attempt < MOST_NAMES && why == EEXIST; attempt++, salt += 0x9E3779B97F4A7C15u) {
        snprintf(output->temporary, sizeof output->temporary, ".fathom-%08" PRIx32 ".tmp",
                 (uint32_t)(salt >> 32));
        int result;
        if (output->unnamed)
            result = linkat(AT_FDCWD, descriptor_path(output->descriptor, proc_path), output->directory,
                            output->temporary, AT_SYMLINK_FOLLOW);
        else
            result = output->descriptor =
                openat(output->directory, output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        why = result < 0 ? errno : 0;
    }
    if (why) output->temporary[0] = '\0';
    return why;
}

/* A new file in the directory, without a name where possible. Returns 0 or an errno value. */
static int create_file(fm_output *output)
{
    char proc_path[32];
    output->descriptor = openat(output->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (output->descriptor >= 0) {
        output->unnamed = access(descriptor_path(output->descriptor, proc_path), F_OK) == 0;
        if (output->unnamed) return 0;
        close(output->descriptor); /* without /proc it could never get a name */
        output->descriptor = -1;
    } else if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) {
        return errno;
    }
    return make_temporary_name(output);
}

static ssize_t write_through(void *cookie, const char *from, size_t bytes)
{
    fm_output *output = cookie;
    if (output->abandoned) return (ssize_t)bytes;
    size_t done = 0;
    while (done < bytes) {
        ssize_t count = write(output->descriptor, from + done, bytes - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            if (!output->failure) output->failure = errno;
            break;
        }
        done += (size_t)count;
    }
    return (ssize_t)done; /* less than asked for is a failure to stdio */
}

/* Whether the new file can be made such that nobody sees a difference: owner, group, permissions, and no
 * other name that would still lead to the old one. Where permissions cannot be changed, all files of that
 * file system have the same. */
static bool take_after(const fm_output *output, const struct stat *old)
{
    struct stat made;
    if (old->st_nlink > 1 || fstat(output->descriptor, &made) != 0) return false;
    if ((made.st_uid != old->st_uid || made.st_gid != old->st_gid) &&
        fchown(output->descriptor, old->st_uid, old->st_gid) != 0)
        return false;
    if (getxattr(output->path, "system.posix_acl_access", NULL, 0) > 0) return false;
    (void)!fchmod(output->descriptor, old->st_mode & 0777);
    return true;
}

static fm_status open_target(fm_output *output, fm_error *error)
{
    struct stat there = {0};
    bool exists = stat(output->path, &there) == 0;
    if (!exists && errno != ENOENT) return fail_system(error, output->name, "create", errno);
    if (exists && S_ISDIR(there.st_mode)) return fail_system(error, output->name, "create", EISDIR);
    output->target = strdup(output->path);
    int why = output->target ? follow_links(&output->target) : ENOMEM;
    if (why) return fail_system(error, output->name, "create", why);
    if (names_descriptor(output->target) || (exists && !S_ISREG(there.st_mode))) {
        do output->descriptor = open(output->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        while (output->descriptor < 0 && errno == EINTR);
        return output->descriptor < 0 ? fail_system(error, output->name, "open", errno) : FM_OK;
    }
    /* What is read-only stays as it is, though its directory would allow to replace it. */
    if (exists && access(output->path, W_OK) != 0) return fail_system(error, output->name, "write", errno);
    why = open_directory(output);
    if (!why) why = create_file(output);
    if (why) return fail_system(error, output->name, "create", why);
    if (!exists || take_after(output, &there)) return FM_OK;
    do output->existing = open(output->path, O_WRONLY | O_CLOEXEC);
    while (output->existing < 0 && errno == EINTR);
    return output->existing < 0 ? fail_system(error, output->name, "write", errno) : FM_OK;
}

/* ---- the calls ---- */

fm_status fm_output_open(fm_output **output_out, const char *path, fm_error *error)
{
    *output_out = NULL;
    size_t room = sizeof(fm_output) + strlen(path) + 1;
    fm_output *output = fm_calloc(1, room);
    if (!output) return fm_fail_memory(error, room, "an output file");
    output->descriptor = output->directory = output->existing = -1;
    memcpy(output->path, path, strlen(path) + 1);
    output->name = output->path;
    fm_status status = FM_OK;
    if (strcmp(path, "-") == 0) {
        output->name = "standard output";
        output->stream = stdout;
    } else {
        status = open_target(output, error);
        if (status == FM_OK) {
            output->stream = fopencookie(output, "w", (cookie_io_functions_t){.write = write_through});
            if (output->stream)
                setvbuf(output->stream, output->buffer, _IOFBF, sizeof output->buffer);
            else
                status = fail_system(error, output->name, "create", errno);
        }
    }
    if (status == FM_OK)
        *output_out = output;
    else
        fm_output_abandon(output);
    return status;
}

FILE *fm_output_stream(const fm_output *output)
{
    return output->stream;
}

const char *fm_output_name(const fm_output *output)
{
    return output->name;
}

fm_status fm_output_write(fm_output *output, const void *from, size_t bytes, fm_error *error)
{
    FM_REQUIRE(output, error);
    errno = 0;
    if (fwrite(from, 1, bytes, output->stream) == bytes) return FM_OK;
    if (!output->failure) output->failure = errno ? errno : EIO;
    return fail_system(error, output->name, "write", output->failure);
}

/* Some file systems report lost writes only when a descriptor is closed: a second one is, because the
 * first is still needed to give the file its name. Returns 0 or an errno value. */
static int close_checked(int descriptor)
{
    int second = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (second < 0) return errno;
    return close(second) != 0 && errno != EINTR ? errno : 0;
}

/* Returns 0 or an errno value. */
static int move_into_place(fm_output *output)
{
    char proc_path[32];
    if (output->unnamed) {
        if (linkat(AT_FDCWD, descriptor_path(output->descriptor, proc_path), output->directory, output->base,
                   AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST) return errno;
        /* A link never replaces anything; a rename does, but needs a name to start from. */
        int why = make_temporary_name(output);
        if (why) return why;
    }
    if (renameat(output->directory, output->temporary, output->directory, output->base) != 0) return errno;
    output->temporary[0] = '\0';
    return 0;
}

/*
 * Puts the whole content into the file that is there, from its beginning. Room on the disk is asked for
 * first: what is there is not touched unless all of it fits. Returns 0 or an errno value.
 */
static int copy_into_existing(fm_output *output)
{
    struct stat made, old;
    if (fstat(output->descriptor, &made) != 0 || fstat(output->existing, &old) != 0) return errno;
    if (made.st_size > old.st_size) {
        const off_t more = made.st_size - old.st_size;
        const int why = fallocate(output->existing, 0, old.st_size, more) == 0 ? 0 : errno;
        if (why && why != EOPNOTSUPP && why != ENOSYS && why != EINVAL) return why;
    }
    for (off_t at = 0; at < made.st_size;) {
        const ssize_t got = pread(output->descriptor, output->buffer, sizeof output->buffer, at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 ? errno : EIO;
        for (ssize_t done = 0; done < got;) {
            const ssize_t put =
                pwrite(output->existing, output->buffer + done, (size_t)(got - done), at + done);
            if (put < 0 && errno == EINTR) continue;
            if (put <= 0) return put < 0 ? errno : EIO;
            done += put;
        }
        at += got;
    }
    if (ftruncate(output->existing, made.st_size) != 0) return errno;
    return close_checked(output->existing);
}

/* A failed write to stdout that left nothing to flush: its reason is what errno was, if nothing was called
 * since that changed it. */
static int reason_before(int errno_value)
{
    const bool of_writes =
        errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG || errno_value == EPIPE;
    return of_writes ? errno_value : EIO;
}

fm_status fm_output_commit(fm_output *output, fm_error *error)
{
    FM_REQUIRE(output, error);
    const int before = errno;
    errno = 0;
    int why = 0;
    if (fflush(output->stream) != 0 || ferror(output->stream))
        why = output->failure ? output->failure : errno ? errno : reason_before(before);
    if (!why && output->descriptor >= 0) why = close_checked(output->descriptor);
    fm_status status = why ? fail_system(error, output->name, "write", why) : FM_OK;
    if (!why && output->directory >= 0) {
        const bool copied = output->existing >= 0;
        why = copied ? copy_into_existing(output) : move_into_place(output);
        if (why) status = fail_system(error, output->name, copied ? "write" : "create", why);
    }
    fm_output_abandon(output);
    return status;
}

void fm_output_abandon(fm_output *output)
{
    if (!output) return;
    output->abandoned = true;
    if (output->stream && output->stream != stdout) fclose(output->stream);
    if (output->descriptor >= 0) close(output->descriptor);
    if (output->existing >= 0) close(output->existing);
    if (output->temporary[0]) unlinkat(output->directory, output->temporary, 0);
    if (output->directory >= 0) close(output->directory);
    free(output->target);
    free(output);
}
