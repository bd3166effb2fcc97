/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipe_end.c - a broken pipe: quiet, and visible to the shell, but only after the verb cleaned up.
 *
 * Dying at once by SIGPIPE would leave unfinished files beside their names; ignoring the signal would
 * print a message for every `| head`. So the signal is caught, the write fails with EPIPE, the verb
 * takes its ordinary error path, and the signal is raised again when everything is put away.
 */
#include "pipe_end.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t broken;

static void remember_signal(int number)
{
    (void)number;
    broken = 1;
}

void cli_pipe_watch(void)
{
    struct sigaction current;
    if (sigaction(SIGPIPE, NULL, &current) != 0 || current.sa_handler != SIG_DFL) return;
    struct sigaction action = {.sa_handler = remember_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPIPE, &action, NULL);
}

bool cli_pipe_broken(void)
{
    return broken != 0;
}

void cli_pipe_leave(void)
{
    if (!broken) return;
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}
