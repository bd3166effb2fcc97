/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ends.c - the ways out of a program that run no handler of exit: _exit, quick_exit, exec; and the fork
 * that runs no handler of pthread_atfork. Built into programs only (interpose.h).
 */
#define _GNU_SOURCE
#include "interpose.h"
#include "system.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

static void ends(int code)
{
    fm_process *process = fm_process_active();
    if (process) fm_process_end(process, code);
}

static _Noreturn void leave(int code)
{
    ends(code);
    for (;;) fm_syscall(__NR_exit_group, code, 0, 0, 0, 0, 0);
}

INTERPOSED(void, _exit, (int code))
{
    leave(code);
}

INTERPOSED(void, _Exit, (int code))
{
    leave(code);
}

INTERPOSED(void, quick_exit, (int code))
{
    ends(code);
    NEXT(quick_exit)(code);
    __builtin_unreachable();
}

INTERPOSED(pid_t, _Fork, (void))
{
    pid_t child = NEXT(_Fork)();
    if (child == 0) fm_process_forked();
    return child;
}

/* ---- exec ---- */

static void execs(const char *path)
{
    fm_process *process = fm_process_active();
    if (process) fm_process_execs(process, path);
}

INTERPOSED(int, execve, (const char *path, char *const argv[], char *const envp[]))
{
    execs(path);
    return NEXT(execve)(path, argv, envp);
}

INTERPOSED(int, execv, (const char *path, char *const argv[]))
{
    execs(path);
    return NEXT(execv)(path, argv);
}

INTERPOSED(int, execvp, (const char *file, char *const argv[]))
{
    execs(file);
    return NEXT(execvp)(file, argv);
}

INTERPOSED(int, execvpe, (const char *file, char *const argv[], char *const envp[]))
{
    execs(file);
    return NEXT(execvpe)(file, argv, envp);
}

INTERPOSED(int, fexecve, (int fd, char *const argv[], char *const envp[]))
{
    char path[32] = "/proc/self/fd/";
    char digits[12];
    size_t count = 0, at = 14;
    unsigned rest = fd < 0 ? 0 : (unsigned)fd;
    do digits[count++] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    while (count > 0) path[at++] = digits[--count];
    path[at] = 0;
    execs(path);
    return NEXT(fexecve)(fd, argv, envp);
}

/* The arguments of execl… as an array: `first` and what follows, up to and with NULL. */
static size_t count_arguments(const char *first, va_list arguments)
{
    size_t count = 1;
    if (first) do
            count++;
        while (va_arg(arguments, char *));
    return count;
}

#define GATHER(argv, first, last)                                                                            \
    va_list arguments;                                                                                       \
    va_start(arguments, first);                                                                              \
    size_t count = count_arguments(first, arguments);                                                        \
    va_end(arguments);                                                                                       \
    char *argv[count];                                                                                       \
    va_start(arguments, first);                                                                              \
    argv[0] = (char *)(uintptr_t)first;                                                                      \
    for (size_t i = 1; i < count; i++) argv[i] = va_arg(arguments, char *);                                  \
    last;                                                                                                    \
    va_end(arguments)

INTERPOSED(int, execl, (const char *path, const char *first, ...))
{
    GATHER(argv, first, );
    execs(path);
    return NEXT(execv)(path, argv);
}

INTERPOSED(int, execlp, (const char *file, const char *first, ...))
{
    GATHER(argv, first, );
    execs(file);
    return NEXT(execvp)(file, argv);
}

INTERPOSED(int, execle, (const char *path, const char *first, ...))
{
    GATHER(argv, first, char *const *environment = va_arg(arguments, char *const *));
    execs(path);
    return NEXT(execve)(path, argv, environment);
}
