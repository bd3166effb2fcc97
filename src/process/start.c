/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - see start.h. */
#define _GNU_SOURCE
#include "process/start.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Do both begin with the same name, which ends at '=' or with the text? */
static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return strcspn(b, "=") == length && memcmp(a, b, length) == 0;
}

/* Sets a variable, or takes it away; room for one more is there. */
static void change(char **environment, const char *variable)
{
    size_t kept = 0;
    for (char **at = environment; *at; at++)
        if (!same_name(*at, variable)) environment[kept++] = *at;
    if (strchr(variable, '=')) environment[kept++] = (char *)(uintptr_t)variable;
    environment[kept] = NULL;
}

/* Ours, with what is asked for; *preload is to be freed, too. NULL: no memory. */
static char **make_environment(const fm_start *start, char **preload)
{
    size_t count = 2, more = 0;
    for (char **at = environ; at && *at; at++) count++;
    while (start->variables && start->variables[more]) more++;
    char **made = fm_calloc(count + more, sizeof *made);
    if (!made) return NULL;
    if (count > 2) memcpy(made, environ, (count - 2) * sizeof *made);
    for (size_t i = 0; i < more; i++) change(made, start->variables[i]);
    if (!start->preload) return made;
    static const char name[] = "LD_PRELOAD";
    const char *others = "";
    for (char **at = made; *at; at++)
        if (same_name(*at, name)) others = *at + strcspn(*at, "=");
    if (asprintf(preload, "%s=%s%s%s", name, start->preload, others[0] && others[1] ? ":" : "",
                 others[0] ? others + 1 : "") < 0) {
        *preload = NULL;
        free(made);
        return NULL;
    }
    change(made, *preload);
    return made;
}

/* What the child does: nothing but system calls, as another thread may have held any lock. */
static void become(const fm_start *start, char *const *environment, const sigset_t *mask, int report)
{
    int highest = STDERR_FILENO;
    for (size_t i = 0; i < start->descriptor_count; i++)
        if (start->descriptors[i].theirs > highest) highest = start->descriptors[i].theirs;
    int apart = report > highest ? report : fcntl(report, F_DUPFD_CLOEXEC, highest + 1);
    bool ready = apart >= 0;
    if (ready) report = apart;
    for (size_t i = 0; i < start->descriptor_count && ready; i++) {
        const fm_start_descriptor *one = &start->descriptors[i];
        ready = one->ours == one->theirs ? fcntl(one->ours, F_SETFD, 0) == 0
                                         : dup2(one->ours, one->theirs) == one->theirs;
    }
    if (ready) {
        struct sigaction action;
        const struct sigaction usual = {.sa_handler = SIG_DFL};
        for (int i = 1; i < NSIG; i++)
            if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_IGN) sigaction(i, &usual, NULL);
        sigprocmask(SIG_SETMASK, mask, NULL);
        execve(start->path, start->arguments, environment);
    }
    int why = errno;
    (void)!write(report, &why, sizeof why);
}

fm_status fm_program_start(const fm_start *start, pid_t *child, fm_error *error)
{
    int report[2]; /* of what went wrong: a successful execve closes it */
    char *preload = NULL, **environment = make_environment(start, &preload);
    if (!environment) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the environment");
    int why = pipe2(report, O_CLOEXEC) == 0 ? 0 : errno;
    if (why) {
        free(environment);
        free(preload);
        return fm_fail_io(error, start->path, "make a pipe to start it", why);
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* our handlers are not for the child */
    pid_t pid = fork();
    if (pid == 0) {
        become(start, environment, &before, report[1]);
        _exit(127);
    }
    why = pid < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    if (pid > 0) {
        int cause;
        ssize_t got;
        do got = read(report[0], &cause, sizeof cause);
        while (got < 0 && errno == EINTR);
        if (got == (ssize_t)sizeof cause) {
            why = cause;
            while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
            }
        }
    }
    close(report[0]);
    free(environment);
    free(preload);
    if (why) return fm_fail_io(error, start->path, "execute", why);
    *child = pid;
    return FM_OK;
}
