/* SPDX-License-Identifier: Apache-2.0 */
/* front_child.c - a front end in a process of its own: see front.h. The child sends how it ended, the error
 * and the text through a pipe. */
#define _GNU_SOURCE
#include "static/front/front.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

/* ---- in the parent: looking after the child ---- */

typedef enum child_fault { FAULT_NONE, FAULT_TIME, FAULT_MEMORY } child_fault;

typedef struct child_watch {
    pid_t child;
    int from; /* what it writes to */
    uint64_t bytes_before, bytes_most;
    double deadline;
    child_fault fault;
} child_watch;

/* Bytes that are a process's own, in memory; 0: nobody knows. */
static uint64_t own_memory(pid_t process)
{
    char name[64];
    unsigned long resident = 0, shared = 0;
    snprintf(name, sizeof name, "/proc/%ld/statm", (long)process);
    FILE *file = fopen(name, "re");
    const bool known = file && fscanf(file, "%*u %lu %lu", &resident, &shared) == 2 && resident > shared;
    if (file) fclose(file);
    return known ? (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* False: it is over a limit, and was killed. */
static bool wait_for_child(child_watch *watch)
{
    enum { LOOK_EVERY = 20 }; /* milliseconds: a compiler takes some hundred MiB a second at most */
    struct pollfd end = {.fd = watch->from, .events = POLLIN};
    while (poll(&end, 1, LOOK_EVERY) <= 0) {
        if (own_memory(watch->child) > watch->bytes_before + watch->bytes_most)
            watch->fault = FAULT_MEMORY;
        else if (fm_now() > watch->deadline)
            watch->fault = FAULT_TIME;
        if (watch->fault == FAULT_NONE) continue;
        kill(watch->child, SIGKILL);
        return false;
    }
    return true;
}

static bool read_all(child_watch *watch, void *bytes, size_t size)
{
    for (char *at = bytes; size > 0;) {
        if (!wait_for_child(watch)) return false;
        const ssize_t got = read(watch->from, at, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static fm_status child_receive(child_watch *watch, char **text, size_t *size, fm_error *error, bool *whole)
{
    answer made;
    *whole = read_all(watch, &made, sizeof made);
    if (!*whole) return FM_OK;
    if (made.status != FM_OK) {
        if (error) *error = made.error;
        return made.status;
    }
    char *bytes = fm_malloc_array(made.size + 1, 1);
    if (!bytes) return fm_fail_memory(error, made.size + 1, "the text of a region");
    *whole = read_all(watch, bytes, made.size);
    if (!*whole) {
        free(bytes);
        return FM_OK;
    }
    bytes[made.size] = '\0';
    *text = bytes;
    *size = made.size;
    return FM_OK;
}

static fm_status fail_for(const child_watch *watch, const fm_front_limits *limits, const char *path,
                          int ended, fm_error *error)
{
    if (watch->fault == FAULT_TIME)
        return fm_fail(
            error, FM_E_LIMIT, path,
            "libclang has not read this source in %g s, the time that it may take: perhaps it includes a "
            "pipe or a device, or has macros that grow without an end; otherwise allow more time",
            limits->seconds);
    if (watch->fault == FAULT_MEMORY)
        return fm_fail(
            error, FM_E_LIMIT, path,
            "libclang needs more than %" PRIu64
            " MiB of memory for this source, as much as it may take here: perhaps it includes a device, or "
            "has macros that grow without an end; otherwise it takes a machine with more memory",
            limits->bytes >> 20);
    if (WIFSIGNALED(ended))
        return fm_fail(
            error, FM_E_UNSUPPORTED, path,
            "libclang ended by signal %d (%s) while it read this source: something in it is nested too "
            "deeply, or too long",
            WTERMSIG(ended), strsignal(WTERMSIG(ended)));
    return fm_fail(error, FM_E_UNSUPPORTED, path, "libclang ended before it had read this source");
}

/* ---- in the child ---- */

/* What holds where the parent does not look: it may have been stopped, or killed. */
static void bound_myself(const fm_front_limits *limits, pid_t parent)
{
    const struct rlimit no_core = {0, 0};
    const double seconds = limits->seconds < 1e6 ? limits->seconds : 1e6;
    const struct rlimit time = {(rlim_t)seconds + 2, (rlim_t)seconds + 2};
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_CPU, &time);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
}

static _Noreturn void child_work(const fm_clang_module *module, const fm_clang_request *request, int to)
{
    answer made;
    char *text;
    memset(&made, 0, sizeof made);
    made.status = module->region(request, &text, &made.size, &made.error);
    const bool sent = write_all(to, &made, sizeof made) && write_all(to, text, made.size);
    _exit(sent ? 0 : 1);
}

/* ---- both ---- */

fm_front_limits fm_front_limits_choose(double seconds, uint64_t bytes)
{
    enum { SECONDS = 60 };
    const uint64_t most = UINT64_C(4) << 30, there = fm_free_memory() / 4 * 3;
    if (!bytes) bytes = there && there < most ? there : most;
    return (fm_front_limits){seconds > 0 ? seconds : SECONDS, bytes};
}

fm_status fm_front_in_child(const fm_clang_module *module, const fm_clang_request *request,
                            const fm_front_limits *limits, char **text, size_t *size, fm_error *error)
{
    int ends[2], ended = 0;
    bool whole;
    *text = NULL;
    *size = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fm_fail_io(error, request->path, "make a pipe for libclang", errno);
    const pid_t parent = getpid();
    child_watch watch = {.from = ends[0],
                         .bytes_before = own_memory(parent),
                         .bytes_most = limits->bytes,
                         .deadline = fm_now() + limits->seconds};
    watch.child = fork();
    if (watch.child == 0) {
        close(ends[0]);
        bound_myself(limits, parent);
        child_work(module, request, ends[1]);
    }
    const int cause = errno;
    close(ends[1]);
    if (watch.child < 0) {
        close(ends[0]);
        return fm_fail_io(error, request->path, "start a process for libclang", cause);
    }
    const fm_status status = child_receive(&watch, text, size, error, &whole);
    close(ends[0]);
    while (waitpid(watch.child, &ended, 0) < 0 && errno == EINTR) continue;
    return whole ? status : fail_for(&watch, limits, request->path, ended, error);
}
