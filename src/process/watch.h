/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - a program is started, and looked after until its end, with all that it starts. */
#ifndef FATHOM_PROCESS_WATCH_H
#define FATHOM_PROCESS_WATCH_H

#include "base/crew.h"

#include <fathom/status.h>
#include <sys/types.h>

/* ---- start ---- */

/* Starts a program. What becomes of it is for watch.h. */

/* A descriptor of ours and its number in the program. */
typedef struct fm_start_descriptor {
    int ours, theirs;
} fm_start_descriptor;

typedef struct fm_start {
    const char *path;             /* as execve wants it: fm_program_file.path */
    char *const *arguments;       /* from the 0th on, NULL at the end */
    const char *const *variables; /* of its environment, beside ours: "NAME=VALUE", or "NAME", which it shall
                                     not have; NULL at the end; NULL: none */
    const char *preload;          /* shared object that is linked before all others; NULL: none */
    const fm_start_descriptor *descriptors; /* that it gets, one after the other, beside those that are not
                                               closed by exec */
    size_t descriptor_count;
} fm_start;

/*
 * Its number goes to *child. FM_E_IO when it cannot be executed: nothing is left of it then. Signals that are
 * handled here have their default effect on it from its first moment on; what is ignored or blocked stays so.
 */
fm_status fm_program_start(const fm_start *start, pid_t *child, fm_error *error);

/* ---- watch ---- */

/*
 * Looks after a program that was started, and after the processes that it starts: which of them
 * live, how they ended; signals from the user; a limit of time; ending them.
 *
 *     fm_watch watch;
 *     if (fm_watch_begin(&watch, &(fm_watch_options){.signals = true}, &error)) return;
 *     if (fm_watch_start(&watch, &start, &error) == FM_OK)
 *         while (!watch.child_gone) {
 *             fm_watch_wait(&watch, 1);
 *             fm_watch_attend(&watch);
 *             fm_watch_look(&watch);
 *         }
 *     fm_watch_end(&watch);
 *
 * The program is watched by itself. Other processes are watched when somebody tells of them (fm_watch_add),
 * or when they are looked for (fm_watch_discover). Nothing but a descendant of this process is ever sent a
 * signal. A watch is used by one thread, and a process has one at a time: while it is there, SIGCHLD is its
 * own, as are SIGINT, SIGTERM and SIGHUP where they are asked for, and orphans.
 */

/* A process that is watched. Its memory is the caller's. */
typedef struct fm_watched_process {
    uint32_t pid;
    uint32_t order;  /* of programs that have the same pid, by exec: the later one has the greater */
    void *owner;     /* the caller's */
    bool ours;       /* a descendant of this process: may be killed; or the one that was adopted */
    bool gone;       /* it does not exist any more, or is another program now */
    bool replaced;   /* is another program now */
    bool ended;      /* wait_status is known */
    int wait_status; /* as of waitpid */
    int handle;      /* pidfd while it is watched, -1: none */
} fm_watched_process;

typedef struct fm_watch_options {
    bool signals;         /* pass SIGINT, SIGTERM and SIGHUP on to the program; what does not end is killed */
    bool orphans;         /* of the program become children of this process */
    double limit_seconds; /* from the start to fm_watch.time_over; 0: none */
    uint32_t *wake;       /* raised by one with every signal: the futex that the caller sleeps on; NULL: it
                             sleeps in fm_watch_wait */
} fm_watch_options;

typedef struct fm_watch {
    fm_watch_options options;
    /* The program. */
    pid_t child;   /* 0: none was started */
    pid_t adopted; /* a program of somebody else that is watched instead; 0: none */
    int adopted_handle;
    double started; /* fm_now() */
    bool child_gone;
    bool child_unknown; /* then: nobody told how it ended */
    int child_status;   /* then: as of waitpid */
    double child_ended;
    /* What came from outside. */
    bool interrupted;  /* by SIGINT, SIGTERM or SIGHUP */
    bool time_over;    /* limit_seconds */
    double kill_after; /* seconds between asking to end and SIGKILL: 2 */

    /* Of watch.c. */
    bool begun;
    bool reaper; /* we have become the reaper of orphans */
    int interrupts;
    double kill_at; /* 0: not planned */
    long born;      /* when the program was started, as /proc tells it */
    uint32_t own_wake;
    fm_watched_process **live; /* not gone */
    size_t live_count, live_capacity;
    fm_watched_process **found; /* made by fm_watch_discover */
    size_t found_count, found_capacity;
} fm_watch;

/* Signal handlers, and the care of orphans. FM_E_ARGUMENT: this process has another watch. */
fm_status fm_watch_begin(fm_watch *watch, const fm_watch_options *options, fm_error *error);
/* Ends what still runs (SIGKILL); the handlers are those from before. Also where begin failed. */
void fm_watch_end(fm_watch *watch);

/* Starts the program. */
fm_status fm_watch_start(fm_watch *watch, const fm_start *start, fm_error *error);

/* Watches a program that runs already instead of starting one. It is never sent a signal. FM_E_IO: it has
 * ended. */
fm_status fm_watch_adopt(fm_watch *watch, pid_t pid, fm_error *error);

/* Watches a process of which pid, order and owner are filled in. *same: one with the same pid that was
 * watched until now, or NULL; it is the same process: of both, the earlier program is gone. */
fm_status fm_watch_add(fm_watch *watch, fm_watched_process *process, fm_watched_process **same,
                       fm_error *error);
/* Watches children of what is watched, and orphans (also those of other children that this process may have
 * started since), as watch->found. One that begins and ends between two calls may be missed. */
fm_status fm_watch_discover(fm_watch *watch, fm_error *error);

/* Acts on signals that came, on the limit of time, and kills where that is due. */
void fm_watch_attend(fm_watch *watch);
/* Finds out which processes are gone. */
void fm_watch_look(fm_watch *watch);
/* Has a child changed its state since fm_watch_look? */
bool fm_watch_children_changed(void);
/* Is there a child of this process, alive, that is not watched? */
bool fm_watch_has_strangers(fm_watch *watch);
/* Sleeps until there may be something to attend to or to look at, or for so long. */
void fm_watch_wait(fm_watch *watch, double seconds);

/* Asks the program to end, or where it is gone, all others; what has not ended kill_after seconds later is
 * killed, by fm_watch_attend. */
void fm_watch_terminate(fm_watch *watch, int number);
void fm_watch_kill(fm_watch *watch);

/* ---- how a process ended ---- */

/* Of a status as of waitpid: one of the two, the other is 0. */
void fm_wait_status_read(int status, int *exit_code, int *signal);
/* Does a program get this signal by its own fault, rather than from outside? */
bool fm_signal_is_crash(int number);

#endif
