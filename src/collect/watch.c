/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - looks after what was started: which processes live, how they ended, signals from the user, limits
 * of time. It reads no references.
 *
 * A process that was started by another is not our child. Its end is seen through a handle (pidfd), its exit
 * status in /proc while it is a zombie, or from the handle (Linux 6.15 on); orphans become our children,
 * because we ask for them.
 */
#define _GNU_SOURCE
#include "collect/collection.h"

#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long one of our children may take to become known as a traced process. */
static const double grace = 1.0, kill_after = 2.0;

double fm_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- signals: one collection at a time has them ---- */

enum { INT, TERM, HUP, CHLD, SIGNALS };
static const int numbers[SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
static struct {
    int taken;      /* by a collection */
    uint32_t *wake; /* its futex */
    struct sigaction before[SIGNALS];
    bool set[SIGNALS];
    atomic_int from_terminal[SIGNALS], from_process[SIGNALS]; /* how many came */
} watched;

static void on_signal(int number, siginfo_t *information, void *unused)
{
    (void)unused;
    for (int i = 0; i < SIGNALS; i++) {
        if (numbers[i] != number) continue;
        /* What the terminal sends goes to the program as well; what another process sends is for us alone. */
        atomic_int *count = information->si_code == SI_KERNEL ? watched.from_terminal : watched.from_process;
        atomic_fetch_add(&count[i], 1);
    }
    uint32_t *wake = watched.wake; /* we may be about to sleep on it */
    if (wake) __atomic_add_fetch(wake, 1, __ATOMIC_SEQ_CST);
}

bool fm_watch_children_changed(void)
{
    return atomic_exchange(&watched.from_terminal[CHLD], 0) +
               atomic_exchange(&watched.from_process[CHLD], 0) >
           0;
}

fm_status fm_watch_begin(fm_collection *collection, fm_error *error)
{
    if (__atomic_exchange_n(&watched.taken, 1, __ATOMIC_SEQ_CST))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "another collection is open in this process");
    collection->watching = true;
    watched.wake = &collection->receiver->session->wake;
    for (int i = 0; i < SIGNALS; i++) {
        atomic_store(&watched.from_terminal[i], 0);
        atomic_store(&watched.from_process[i], 0);
        struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigemptyset(&action.sa_mask);
        watched.set[i] = false;
        if (i != CHLD && !collection->options.signals) continue;
        if (sigaction(numbers[i], NULL, &watched.before[i]) != 0) continue;
        /* What is ignored (nohup, a job in the background) stays so. */
        if (i != CHLD && watched.before[i].sa_handler == SIG_IGN) continue;
        watched.set[i] = sigaction(numbers[i], &action, NULL) == 0;
    }
    int reaper = 0;
    collection->subreaper =
        prctl(PR_GET_CHILD_SUBREAPER, &reaper) != 0 || reaper || !collection->options.follow_children;
    if (!collection->subreaper) prctl(PR_SET_CHILD_SUBREAPER, 1);
    return FM_OK;
}

void fm_watch_end(fm_collection *collection)
{
    if (!collection->watching) return;
    if (!collection->subreaper) prctl(PR_SET_CHILD_SUBREAPER, 0);
    for (int i = 0; i < SIGNALS; i++)
        if (watched.set[i]) sigaction(numbers[i], &watched.before[i], NULL);
    watched.wake = NULL;
    collection->watching = false;
    __atomic_store_n(&watched.taken, 0, __ATOMIC_SEQ_CST);
}

static void send_signal(fm_collection *collection, int number)
{
    if (collection->child > 0 && !collection->child_gone) kill(collection->child, number);
    for (size_t i = 0; i < collection->process_count; i++) {
        const fm_process *process = collection->processes[i];
        if (process->gone || !process->ours || (pid_t)process->pid == collection->child) continue;
        /* The child passes on what it wants passed on; but it may be gone, and SIGKILL cannot be passed on.
         */
        if (number != SIGKILL && !collection->child_gone) continue;
        if (process->handle < 0 || syscall(SYS_pidfd_send_signal, process->handle, number, NULL, 0) != 0)
            kill((pid_t)process->pid, number);
    }
}

void fm_watch_terminate(fm_collection *collection, int number)
{
    send_signal(collection, number);
    if (collection->kill_at == 0) collection->kill_at = fm_now() + kill_after;
}

void fm_watch_kill(fm_collection *collection)
{
    send_signal(collection, SIGKILL);
}

void fm_watch_orders(fm_collection *collection)
{
    double now = fm_now();
    const fm_collect_options *options = &collection->options;
    for (int i = INT; i <= HUP; i++) {
        int terminal = atomic_exchange(&watched.from_terminal[i], 0),
            other = atomic_exchange(&watched.from_process[i], 0);
        if (terminal + other == 0) continue;
        collection->interrupted = true;
        if (other) send_signal(collection, numbers[i]);
        if (i == INT) {
            collection->interrupts += terminal + other;
            if (collection->interrupts > 1) fm_watch_kill(collection);
        } else if (collection->kill_at == 0) {
            collection->kill_at = now + kill_after;
        }
    }
    if (options->limit_seconds > 0 && !collection->limit_reached && !collection->stopped &&
        now - collection->started >= options->limit_seconds) {
        collection->limit_reached = true;
        fm_receiver_order_detach(collection->receiver);
        if (options->stop_at_limit) fm_watch_terminate(collection, SIGTERM);
    }
    if (collection->kill_at > 0 && now >= collection->kill_at) {
        collection->kill_at = now + kill_after; /* until nothing is left */
        fm_watch_kill(collection);
    }
}

/* ---- processes ---- */

/* A field of /proc/<pid>/stat behind the command, by its number in proc(5). */
static bool stat_field(uint32_t pid, int field, long *value)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got <= 0) return false;
    text[got] = '\0';
    char *at = strrchr(text, ')'); /* the command may have blanks and parentheses */
    if (!at) return false;
    at += 2; /* field 3 */
    for (int i = 3; i < field; i++) {
        at = strchr(at, ' ');
        if (!at) return false;
        at++;
    }
    if (field == 3) {
        *value = (unsigned char)*at;
        return true;
    }
    *value = strtol(at, NULL, 10);
    return true;
}

/* A pid that a producer told may be anything: nothing but a descendant is ever sent a signal. */
static bool is_descendant(uint32_t pid)
{
    long parent = (long)pid, us = (long)getpid();
    for (int steps = 0; steps < 4096 && parent > 1; steps++) {
        if (!stat_field((uint32_t)parent, 4, &parent)) return false;
        if (parent == us) return true;
    }
    return false;
}

void fm_watch_process(fm_collection *collection, fm_process *process)
{
    for (size_t i = 0; i < collection->process_count; i++) {
        fm_process *other = collection->processes[i];
        if (other == process || other->pid != process->pid || other->gone) continue;
        /* exec: the same process, another program. They need not have been seen in their order. */
        fm_process *before = other->serial < process->serial ? other : process;
        fm_process *after = before == other ? process : other;
        before->gone = before->replaced = true;
        after->by_exec = true;
        after->parent = before->index;
    }
    if (process->gone || process->pid == 0 || process->pid > INT32_MAX || process->pid == (uint32_t)getpid())
        return;
    process->ours = (pid_t)process->pid == collection->child;
    for (int tries = 0; tries < 3 && !process->ours; tries++) /* ancestors may change while we look */
        process->ours = is_descendant(process->pid);
    if (process->ours)
        process->handle = (int)syscall(SYS_pidfd_open, (pid_t)process->pid, 0);
    else
        process->gone = kill((pid_t)process->pid, 0) != 0 && errno == ESRCH; /* it was quick */
}

/* The exit status of a process that is not our child. */
static bool status_from_elsewhere(const fm_process *process, int *status)
{
    /* struct pidfd_info of linux/pidfd.h, version 0, and PIDFD_GET_INFO: not in every header yet. */
    struct {
        uint64_t mask, cgroup;
        uint32_t ids[11];
        int32_t exit_code;
    } info = {.mask = 1 << 3 /* PIDFD_INFO_EXIT */};
    _Static_assert(sizeof info == 64, "PIDFD_INFO_SIZE_VER0");
    long value;
    if (stat_field(process->pid, 3, &value) && value == 'Z' && stat_field(process->pid, 52, &value)) {
        *status = (int)value;
        return true;
    }
    if (process->handle >= 0 && ioctl(process->handle, _IOWR(0xFF, 11, info), &info) == 0 &&
        (info.mask & 1 << 3)) {
        *status = info.exit_code;
        return true;
    }
    return false;
}

static bool reap(pid_t pid, int *status)
{
    pid_t got;
    do got = waitpid(pid, status, WNOHANG);
    while (got < 0 && errno == EINTR);
    return got == pid;
}

static void look_at(fm_collection *collection, fm_process *process)
{
    if ((pid_t)process->pid == collection->child) {
        if (!collection->child_gone) return;
        process->ended = true;
        process->wait_status = collection->child_status;
        process->gone = true;
        return;
    }
    if (!process->ours) { /* not to be seen from here: it is gone when everything else is */
        process->gone = collection->child_gone && fm_now() - collection->child_ended > grace;
        return;
    }
    if (reap((pid_t)process->pid, &process->wait_status)) { /* an orphan that we adopted */
        process->ended = process->gone = true;
        return;
    }
    struct pollfd handle = {.fd = process->handle, .events = POLLIN};
    bool over = process->handle >= 0 ? poll(&handle, 1, 0) > 0 && (handle.revents & POLLIN)
                                     : kill((pid_t)process->pid, 0) != 0 && errno == ESRCH;
    if (!over) return;
    if (reap((pid_t)process->pid, &process->wait_status) ||
        status_from_elsewhere(process, &process->wait_status))
        process->ended = true;
    process->gone = true;
}

void fm_watch_processes(fm_collection *collection)
{
    if (!collection->child_gone && reap(collection->child, &collection->child_status)) {
        collection->child_gone = true;
        collection->child_ended = fm_now();
    }
    for (size_t i = 0; i < collection->process_count; i++)
        if (!collection->processes[i]->gone) look_at(collection, collection->processes[i]);
    fm_receiver *receiver = collection->receiver;
    for (size_t i = 0; i < receiver->active_count; i++) {
        fm_reception *channel = &receiver->channels[receiver->active[i]];
        if (channel->process && channel->process->gone) channel->dead = true;
    }
}

/* Is there a child of ours that no producer has told of? */
static bool strangers(const fm_collection *collection)
{
    char path[64];
    bool found = false;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && !found && (task = readdir(tasks));) {
        snprintf(path, sizeof path, "/proc/self/task/%.20s/children", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "re");
        unsigned pid;
        while (file && !found && fscanf(file, "%u", &pid) == 1) {
            long state;
            found = stat_field(pid, 3, &state) && state != 'Z';
            for (size_t i = 0; i < collection->process_count; i++)
                if (collection->processes[i]->pid == pid) found = false;
        }
        if (file) fclose(file);
    }
    if (tasks) closedir(tasks);
    return found;
}

bool fm_watch_all_gone(fm_collection *collection)
{
    if (!collection->child_gone || collection->receiver->active_count > 0) return false;
    for (size_t i = 0; i < collection->process_count; i++)
        if (!collection->processes[i]->gone) return false;
    /* A child that was just started may not have claimed its channel yet. */
    return !collection->options.follow_children || fm_receiver_detaching(collection->receiver) ||
           fm_now() - collection->child_ended > grace || !strangers(collection);
}
