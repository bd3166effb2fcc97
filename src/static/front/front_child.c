/* SPDX-License-Identifier: Apache-2.0 */
/* front_child.c - see front_child.h. The child sends how it ended, the error and the text through a pipe. */
#define _GNU_SOURCE
#include "static/front/front_child.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct answer {
    fm_status status;
    size_t size; /* of the text behind it */
    fm_error error;
} answer;

static bool write_all(int to, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        const ssize_t wrote = write(to, at, size);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        at += wrote;
        size -= (size_t)wrote;
    }
    return true;
}

static bool read_all(int from, void *bytes, size_t size)
{
    for (char *at = bytes; size > 0;) {
        const ssize_t got = read(from, at, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static _Noreturn void work(const fm_clang_module *module, const fm_clang_request *request, int to)
{
    const struct rlimit no_core = {0, 0};
    answer made;
    char *text;
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGPIPE, SIG_DFL);
    memset(&made, 0, sizeof made);
    made.status = module->region(request, &text, &made.size, &made.error);
    const bool sent = write_all(to, &made, sizeof made) && write_all(to, text, made.size);
    _exit(sent ? 0 : 1);
}

static fm_status receive(int from, char **text, size_t *size, fm_error *error, bool *whole)
{
    answer made;
    *whole = read_all(from, &made, sizeof made);
    if (!*whole) return FM_OK;
    if (made.status != FM_OK) {
        if (error) *error = made.error;
        return made.status;
    }
    char *bytes = malloc(made.size + 1);
    if (!bytes) return fm_fail_memory(error, made.size + 1, "the text of a region");
    *whole = read_all(from, bytes, made.size);
    if (!*whole) {
        free(bytes);
        return FM_OK;
    }
    bytes[made.size] = '\0';
    *text = bytes;
    *size = made.size;
    return FM_OK;
}

fm_status fm_front_in_child(const fm_clang_module *module, const fm_clang_request *request, char **text,
                            size_t *size, fm_error *error)
{
    int ends[2], ended = 0;
    bool whole;
    *text = NULL;
    *size = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return module->region(request, text, size, error);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        work(module, request, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return module->region(request, text, size, error);
    }
    fm_status status = receive(ends[0], text, size, error, &whole);
    close(ends[0]);
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) continue;
    if (whole) return status;
    if (WIFSIGNALED(ended))
        return fm_fail(
            error, FM_E_UNSUPPORTED, request->path,
            "libclang ended by signal %d (%s) while it read this source: something in it is nested too "
            "deeply, or too long",
            WTERMSIG(ended), strsignal(WTERMSIG(ended)));
    return fm_fail(error, FM_E_UNSUPPORTED, request->path, "libclang ended before it had read this source");
}
