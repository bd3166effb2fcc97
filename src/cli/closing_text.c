/* SPDX-License-Identifier: Apache-2.0 */
/* closing_text.c - see closing_text.h. */
#define _GNU_SOURCE /* O_PATH */
#include "closing_text.h"
#include "pipe_end.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Standard error has no buffer: a stream of its own has. NULL, and errno. */
static FILE *open_standard_error(void)
{
    const int flags = fcntl(STDERR_FILENO, F_GETFL);
    if (flags < 0) return NULL;
    if ((flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY) { /* closed by the caller, or not for writing */
        errno = EBADF;
        return NULL;
    }
    const int descriptor = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (descriptor < 0) return NULL;
    FILE *stream = fdopen(descriptor, "w");
    if (!stream) close(descriptor);
    return stream;
}

static int say_lost(const char *why)
{
    if (!cli_pipe_broken()) cli_complain("standard error: cannot write: %s", why);
    return CLI_FAILED;
}

int cli_closing_text_open(cli_closing_text *text, const char *path, unsigned file_width)
{
    fm_error error;
    *text = (cli_closing_text){0};
    if (!path) {
        text->view = cli_view_after_notes(STDERR_FILENO);
        text->stream = open_standard_error();
        return text->stream ? -1 : say_lost(strerror(errno));
    }
    if (cli_is_stdout(path)) {
        text->view = cli_view_after_notes(STDOUT_FILENO);
        text->stream = stdout;
        return -1;
    }
    text->view = (fm_view_options){.width = file_width, .unicode = cli_view_options().unicode};
    if (fm_output_open(&text->file, path, &error)) return cli_fail(&error);
    text->stream = fm_output_stream(text->file);
    return -1;
}

static int close_standard_error(FILE *stream, int code)
{
    const bool lost = ferror(stream) != 0; /* by an earlier write, whose reason is gone */
    errno = 0;
    const bool closed = fclose(stream) == 0;
    if (code >= 0 || (closed && !lost)) return code;
    return say_lost(errno ? strerror(errno) : "output was lost");
}

int cli_closing_text_close(cli_closing_text *text, int code)
{
    fm_error error;
    if (!text->file) return text->stream == stdout ? code : close_standard_error(text->stream, code);
    if (code < 0) return fm_output_commit(text->file, &error) ? cli_fail(&error) : -1;
    fm_output_abandon(text->file);
    return code;
}
