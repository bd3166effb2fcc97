/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_file.c - a result file appears under its name when it is whole, or not at all.
 *
 * It is written beside its name and moved there at the end. What cannot be moved is written in place:
 * standard output, devices, pipes, and everything in /dev and /proc, where a name is a door to a
 * descriptor (/dev/stdout may be a regular file that others write to as well). A symbolic link is
 * followed: its target is replaced, not the link.
 */
#include "cli.h"
#include "pipe_end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool refuse(const char *path, const char *action, int why)
{
    if (why != EPIPE || !cli_pipe_broken()) cli_complain("%s: cannot %s: %s", path, action, strerror(why));
    return false;
}

static bool in_place(const char *path, const struct stat *status, bool exists)
{
    if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) return true;
    return exists && !S_ISREG(status->st_mode);
}

static mode_t usual_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Creates output->temporary beside output->target and opens it. */
static bool open_beside(cli_output *output, mode_t mode)
{
    static const char ending[] = ".XXXXXX";
    size_t length = strlen(output->target);
    output->temporary = malloc(length + sizeof ending);
    if (!output->temporary) return refuse(output->path, "open", ENOMEM);
    memcpy(output->temporary, output->target, length);
    memcpy(output->temporary + length, ending, sizeof ending);
    int descriptor = mkstemp(output->temporary);
    if (descriptor < 0) {
        int why = errno;
        free(output->temporary);
        output->temporary = NULL;
        return refuse(output->path, "create", why);
    }
    if (fchmod(descriptor, mode) == 0) output->file = fdopen(descriptor, "w");
    if (!output->file) {
        int why = errno;
        close(descriptor);
        return refuse(output->path, "create", why);
    }
    return true;
}

bool cli_output_open(cli_output *output, const char *path)
{
    *output = (cli_output){.path = path};
    if (strcmp(path, "-") == 0) {
        output->path = "standard output";
        output->file = stdout;
        return true;
    }
    struct stat status = {0};
    bool exists = stat(path, &status) == 0;
    if (!exists && errno != ENOENT) return refuse(path, "open", errno);
    if (exists && S_ISDIR(status.st_mode)) return refuse(path, "write", EISDIR);
    if (in_place(path, &status, exists)) {
        output->file = fopen(path, "we");
        return output->file ? true : refuse(path, "open", errno);
    }
    /* An existing file that may not be written is not replaced either. */
    if (exists && access(path, W_OK) != 0) return refuse(path, "open", errno);
    output->target = exists ? realpath(path, NULL) : strdup(path);
    if (!output->target) return refuse(path, "open", errno);
    if (open_beside(output, exists ? status.st_mode & 0777 : usual_mode())) return true;
    cli_output_abandon(output);
    return false;
}

bool cli_output_commit(cli_output *output)
{
    errno = 0;
    bool written = fflush(output->file) == 0 && !ferror(output->file);
    int why = errno;
    if (output->file != stdout) {
        if (fclose(output->file) != 0 && written) {
            written = false;
            why = errno;
        }
    } else if (!written) {
        clearerr(stdout); /* said here, not again by cli_finish */
    }
    output->file = NULL;
    bool whole = written || refuse(output->path, "write", why ? why : EIO);
    if (whole && output->temporary) {
        if (rename(output->temporary, output->target) == 0) {
            free(output->temporary);
            output->temporary = NULL;
        } else {
            whole = refuse(output->path, "create", errno);
        }
    }
    cli_output_abandon(output);
    return whole;
}

void cli_output_abandon(cli_output *output)
{
    if (output->file && output->file != stdout) fclose(output->file);
    output->file = NULL;
    if (output->temporary) unlink(output->temporary);
    free(output->temporary);
    free(output->target);
    output->temporary = NULL;
    output->target = NULL;
}
