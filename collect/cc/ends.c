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

static void program_ends(int code)
{
    fm_cc_process *process = fm_process_active();
    if (process) fm_process_end(process, code);
}

static _Noreturn void program_leave(int code)
{
    program_ends(code);
    for (;;) fm_syscall_plain(__NR_exit_group, code, 0, 0, 0, 0, 0);
}

INTERPOSED(void, _exit, (int status))
{
    program_leave(status);
}

INTERPOSED(void, _Exit, (int status))
{
    program_leave(status);
}

INTERPOSED(void, quick_exit, (int status))
{
    program_ends(status);
    NEXT(quick_exit)(status);
    __builtin_unreachable();
}

INTERPOSED(pid_t, _Fork, (void))
{
    pid_t child = NEXT(_Fork)();
    if (child == 0) fm_process_forked();
    return child;
}

/* ---- exec ---- */

static void program_execs(const char *path)
{
    fm_cc_process *process = fm_process_active();
    if (process) fm_process_execs(process, path);
}

INTERPOSED(int, execve, (const char *path, char *const argv[], char *const envp[]))
{
    program_execs(path);
    return NEXT(execve)(path, argv, envp);
}

INTERPOSED(int, execv, (const char *path, char *const argv[]))
{
    program_execs(path);
    return NEXT(execv)(path, argv);
}

INTERPOSED(int, execvp, (const char *file, char *const argv[]))
{
    program_execs(file);
    return NEXT(execvp)(file, argv);
}

INTERPOSED(int, execvpe, (const char *file, char *const argv[], char *const envp[]))
{
    program_execs(file);
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
    program_execs(path);
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

/* Gathers them into `argv`; the list stands behind the NULL afterwards. A macro, as the array is the
 * caller's. */
#define GATHER(arguments)                                                                                    \
    va_list arguments;                                                                                       \
    va_start(arguments, arg);                                                                                \
    size_t count = count_arguments(arg, arguments);                                                          \
    va_end(arguments);                                                                                       \
    char *argv[count];                                                                                       \
    argv[0] = (char *)(uintptr_t)arg;                                                                        \
    va_start(arguments, arg);                                                                                \
    for (size_t i = 1; i < count; i++) argv[i] = va_arg(arguments, char *)

INTERPOSED(int, execl, (const char *path, const char *arg, ...))
{
    GATHER(arguments);
    va_end(arguments);
    program_execs(path);
    return NEXT(execv)(path, argv);
}

INTERPOSED(int, execlp, (const char *file, const char *arg, ...))
{
    GATHER(arguments);
    va_end(arguments);
    program_execs(file);
    return NEXT(execvp)(file, argv);
}

INTERPOSED(int, execle, (const char *path, const char *arg, ...))
{
    GATHER(arguments);
    char *const *environment = va_arg(arguments, char *const *);
    va_end(arguments);
    program_execs(path);
    return NEXT(execve)(path, argv, environment);
}
