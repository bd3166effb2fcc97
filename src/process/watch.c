/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - see watch.h. */
#define _GNU_SOURCE
#include "process/watch.h"
#include "base/error.h"
#include "base/memory.h"
#include "process/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
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

/* ---- start ---- */

/* Do both begin with the same name, which ends at '=' or with the text? */
static bool same_name(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return strcspn(b, "=") == length && memcmp(a, b, length) == 0;
}

/* Sets a variable, or takes it away; room for one more is there. */
static void change_environment(char **environment, const char *variable)
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
    for (size_t i = 0; i < more; i++) change_environment(made, start->variables[i]);
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
    change_environment(made, *preload);
    return made;
}

/* What the child does: nothing but system calls, as another thread may have held any lock. */
static void become_program(const fm_start *start, char *const *environment, const sigset_t *mask, int report)
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
        become_program(start, environment, &before, report[1]);
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

/* ---- watch ---- */

/*
 * See watch.h.
 *
 * A process that was started by another is not our child. Its end is seen through a handle (pidfd), its exit
 * status in /proc while it is a zombie, or from the handle (Linux 6.15 on); orphans become our children,
 * because we ask for them.
 */

/* In seconds. Processes that are not our children are looked at so often; what cannot be seen from here is
 * taken for gone so long after the program. */
static const double look_every = 0.02, wait_most = 0.1, unseen_for = 1.0;

/* ---- signals: one watch at a time has them ---- */

enum { INT, TERM, HUP, CHLD, SIGNALS };
static const int numbers[SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
static struct {
    int taken;              /* by a watch */
    uint32_t *_Atomic wake; /* its futex */
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
    uint32_t *wake = atomic_load(&watched.wake); /* we may be about to sleep on it */
    if (wake) __atomic_add_fetch(wake, 1, __ATOMIC_SEQ_CST);
}

/* How many came, and no more. */
static int fetch_status(int i, int *from_process)
{
    *from_process = atomic_exchange(&watched.from_process[i], 0);
    return atomic_exchange(&watched.from_terminal[i], 0) + *from_process;
}

static bool signal_came(int i)
{
    return atomic_load(&watched.from_process[i]) + atomic_load(&watched.from_terminal[i]) > 0;
}

bool fm_watch_children_changed(void)
{
    return signal_came(CHLD);
}

fm_status fm_watch_begin(fm_watch *watch, const fm_watch_options *options, fm_error *error)
{
    *watch = (fm_watch){.options = *options, .kill_after = 2.0};
    if (__atomic_exchange_n(&watched.taken, 1, __ATOMIC_SEQ_CST))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "this process watches another program");
    watch->begun = true;
    if (!watch->options.wake) watch->options.wake = &watch->own_wake;
    atomic_store(&watched.wake, watch->options.wake);
    for (int i = 0; i < SIGNALS; i++) {
        atomic_store(&watched.from_terminal[i], 0);
        atomic_store(&watched.from_process[i], 0);
        struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigemptyset(&action.sa_mask);
        watched.set[i] = false;
        if (i != CHLD && !options->signals) continue;
        if (sigaction(numbers[i], NULL, &watched.before[i]) != 0) continue;
        /* What is ignored (nohup, a job in the background) stays so. */
        if (i != CHLD && watched.before[i].sa_handler == SIG_IGN) continue;
        watched.set[i] = sigaction(numbers[i], &action, NULL) == 0;
    }
    int reaper = 0;
    watch->reaper = options->orphans && prctl(PR_GET_CHILD_SUBREAPER, &reaper) == 0 && !reaper &&
                    prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
    return FM_OK;
}

static void send_signal(fm_watch *watch, int number)
{
    if (watch->child > 0 && !watch->child_gone) kill(watch->child, number);
    for (size_t i = 0; i < watch->live_count; i++) {
        const fm_watched_process *process = watch->live[i];
        if (!process->ours || (pid_t)process->pid == watch->child || (pid_t)process->pid == watch->adopted)
            continue;
        /* The child passes on what it wants passed on; but it may be gone, and SIGKILL cannot be passed on.
         */
        if (number != SIGKILL && !watch->child_gone) continue;
        if (process->handle < 0 || syscall(SYS_pidfd_send_signal, process->handle, number, NULL, 0) != 0)
            kill((pid_t)process->pid, number);
    }
}

void fm_watch_terminate(fm_watch *watch, int number)
{
    send_signal(watch, number);
    if (watch->kill_at == 0) watch->kill_at = fm_now() + watch->kill_after;
}

void fm_watch_kill(fm_watch *watch)
{
    send_signal(watch, SIGKILL);
}

void fm_watch_attend(fm_watch *watch)
{
    double now = fm_now();
    for (int i = INT; i <= HUP; i++) {
        int from_process, count = fetch_status(i, &from_process);
        if (count == 0) continue;
        watch->interrupted = true;
        if (from_process) send_signal(watch, numbers[i]);
        if (i == INT) {
            watch->interrupts += count;
            if (watch->interrupts > 1) fm_watch_kill(watch);
        } else if (watch->kill_at == 0) {
            watch->kill_at = now + watch->kill_after;
        }
    }
    if (watch->options.limit_seconds > 0 && now - watch->started >= watch->options.limit_seconds)
        watch->time_over = true;
    if (watch->kill_at > 0 && now >= watch->kill_at) {
        watch->kill_at = now + watch->kill_after; /* until nothing is left */
        fm_watch_kill(watch);
    }
}

/* Is there one whose end no signal tells? */
static bool any_is_not_ours(const fm_watch *watch)
{
    for (size_t i = 0; i < watch->live_count; i++)
        if ((pid_t)watch->live[i]->pid != watch->child) return true;
    return false;
}

void fm_watch_wait(fm_watch *watch, double seconds)
{
    uint32_t seen = __atomic_load_n(watch->options.wake, __ATOMIC_SEQ_CST);
    for (int i = 0; i < SIGNALS; i++)
        if (signal_came(i)) return;
    const double most = any_is_not_ours(watch) ? look_every : wait_most;
    if (seconds > most) seconds = most;
    struct timespec time = {.tv_nsec = (long)(seconds * 1e9)};
    syscall(SYS_futex, watch->options.wake, FUTEX_WAIT, seen, &time, NULL, 0);
}

/* ---- processes ---- */

/* It is watched no more. */
static void leave_process(fm_watch *watch, fm_watched_process *process)
{
    process->gone = true;
    if (process->handle >= 0) close(process->handle);
    process->handle = -1;
    for (size_t i = 0; i < watch->live_count; i++)
        if (watch->live[i] == process) {
            watch->live[i] = watch->live[--watch->live_count];
            return;
        }
}

static fm_watched_process *find_live(const fm_watch *watch, uint32_t pid)
{
    for (size_t i = 0; i < watch->live_count; i++)
        if (watch->live[i]->pid == pid) return watch->live[i];
    return NULL;
}

fm_status fm_watch_add(fm_watch *watch, fm_watched_process *process, fm_watched_process **same,
                       fm_error *error)
{
    process->handle = -1;
    *same = NULL;
    if (fm_array_reserve((void **)&watch->live, &watch->live_capacity, watch->live_count + 1,
                         sizeof *watch->live) != 0)
        return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for another process");
    *same = find_live(watch, process->pid);
    watch->live[watch->live_count++] = process;
    if (*same) { /* they need not have been seen in their order */
        fm_watched_process *before = (*same)->order < process->order ? *same : process;
        before->replaced = true;
        leave_process(watch, before);
    }
    uint32_t pid = process->pid;
    if (process->gone || pid == 0 || pid > INT32_MAX || pid == (uint32_t)getpid()) return FM_OK;
    process->ours = (pid_t)pid == watch->child || (pid_t)pid == watch->adopted;
    for (int tries = 0; tries < 3 && !process->ours; tries++) /* ancestors may change while we look */
        process->ours = fm_proc_is_descendant(pid);
    if (process->ours)
        process->handle = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    else if (kill((pid_t)pid, 0) != 0 && errno == ESRCH) /* it was quick */
        leave_process(watch, process);
    return FM_OK;
}

/* The exit status of a process that is not our child. */
static bool status_from_elsewhere(const fm_watched_process *process, int *status)
{
    /* struct pidfd_info of linux/pidfd.h, version 0, and PIDFD_GET_INFO: not in every header yet. */
    struct {
        uint64_t mask, cgroup;
        uint32_t ids[11];
        int32_t exit_code;
    } info = {.mask = 1 << 3 /* PIDFD_INFO_EXIT */};
    _Static_assert(sizeof info == 64, "PIDFD_INFO_SIZE_VER0");
    long value;
    if (fm_proc_is_zombie(process->pid) && fm_proc_stat(process->pid, FM_PROC_EXIT_CODE, &value)) {
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

static bool reap_children(pid_t pid, int *status)
{
    pid_t got;
    do got = waitpid(pid, status, WNOHANG);
    while (got < 0 && errno == EINTR);
    return got == pid;
}

static void look_at(fm_watch *watch, fm_watched_process *process)
{
    pid_t pid = (pid_t)process->pid;
    if (pid == watch->child || pid == watch->adopted) {
        if (!watch->child_gone) return;
        process->ended = !watch->child_unknown;
        process->wait_status = watch->child_status;
        leave_process(watch, process);
        return;
    }
    if (!process->ours) { /* not to be seen from here: it is gone when everything else is */
        if (watch->child_gone && fm_now() - watch->child_ended > unseen_for) leave_process(watch, process);
        return;
    }
    if (reap_children(pid, &process->wait_status)) { /* an orphan that we adopted */
        process->ended = true;
        leave_process(watch, process);
        return;
    }
    struct pollfd handle = {.fd = process->handle, .events = POLLIN};
    bool over = process->handle >= 0 ? poll(&handle, 1, 0) > 0 && (handle.revents & POLLIN)
                                     : kill(pid, 0) != 0 && errno == ESRCH;
    if (!over) return;
    process->ended =
        reap_children(pid, &process->wait_status) || status_from_elsewhere(process, &process->wait_status);
    leave_process(watch, process);
}

static void look_at_adopted(fm_watch *watch)
{
    struct pollfd handle = {.fd = watch->adopted_handle, .events = POLLIN};
    if (watch->child_gone || poll(&handle, 1, 0) <= 0 || !(handle.revents & POLLIN)) return;
    const fm_watched_process process = {.pid = (uint32_t)watch->adopted, .handle = watch->adopted_handle};
    watch->child_unknown = !reap_children(watch->adopted, &watch->child_status) &&
                           !status_from_elsewhere(&process, &watch->child_status);
    watch->child_gone = true;
    watch->child_ended = fm_now();
}

void fm_watch_look(fm_watch *watch)
{
    int unused;
    fetch_status(CHLD, &unused); /* one that comes from here on is looked at next time */
    if (watch->child > 0 && !watch->child_gone && reap_children(watch->child, &watch->child_status)) {
        watch->child_gone = true;
        watch->child_ended = fm_now();
    }
    if (watch->adopted > 0) look_at_adopted(watch);
    for (size_t i = watch->live_count; i-- > 0;) look_at(watch, watch->live[i]); /* what leaves: see leave */
}

/* ---- children that nobody has reported ---- */

/* Is the program among them, or what is watched? */
static bool is_known(const fm_watch *watch, uint32_t pid)
{
    return (pid_t)pid == watch->child || find_live(watch, pid);
}

static bool is_stranger(void *context, uint32_t parent, uint32_t pid)
{
    (void)parent;
    return !is_known(context, pid) && !fm_proc_is_zombie(pid);
}

bool fm_watch_has_strangers(fm_watch *watch)
{
    return fm_proc_any_child((uint32_t)getpid(), is_stranger, watch);
}

/* Watches a child of what is watched, or an orphan. True: there was no memory for it. */
static bool discover_children(void *context, uint32_t parent, uint32_t pid)
{
    fm_watch *watch = context;
    long born;
    if (is_known(watch, pid)) return false;
    if (parent != (uint32_t)getpid()) {
        if (fm_proc_is_zombie(pid)) return false; /* its parent will hear of it */
    } else if (!fm_proc_stat(pid, FM_PROC_BORN, &born) || born < watch->born) {
        return false; /* not the program's */
    }
    if (fm_array_reserve((void **)&watch->found, &watch->found_capacity, watch->found_count + 1,
                         sizeof *watch->found) != 0)
        return true;
    fm_watched_process *same, *process = fm_calloc(1, sizeof *process);
    if (!process) return true;
    process->pid = pid;
    watch->found[watch->found_count++] = process;
    return fm_watch_add(watch, process, &same, NULL) != FM_OK;
}

fm_status fm_watch_discover(fm_watch *watch, fm_error *error)
{
    bool failed = !watch->child_gone && fm_proc_any_child((uint32_t)watch->child, discover_children, watch);
    failed = failed || fm_proc_any_child((uint32_t)getpid(), discover_children, watch);
    for (size_t i = 0; i < watch->live_count && !failed; i++) /* there are more and more of them */
        failed = watch->live[i]->ours && fm_proc_any_child(watch->live[i]->pid, discover_children, watch);
    if (failed) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for another process");
    return FM_OK;
}

/* ---- the beginning and the end ---- */

fm_status fm_watch_start(fm_watch *watch, const fm_start *start, fm_error *error)
{
    fm_status status = fm_program_start(start, &watch->child, error);
    watch->started = fm_now();
    if (status == FM_OK) (void)fm_proc_stat((uint32_t)watch->child, FM_PROC_BORN, &watch->born);
    return status;
}

fm_status fm_watch_adopt(fm_watch *watch, pid_t pid, fm_error *error)
{
    watch->adopted_handle = (int)syscall(SYS_pidfd_open, pid, 0);
    if (watch->adopted_handle < 0) {
        if (errno == ESRCH) return fm_fail(error, FM_E_IO, NULL, "process %ld has ended", (long)pid);
        return fm_fail_io(error, NULL, "watch a process", errno);
    }
    watch->adopted = pid;
    watch->started = fm_now();
    return FM_OK;
}

void fm_watch_end(fm_watch *watch)
{
    if (!watch->begun) return;
    if (watch->adopted > 0) close(watch->adopted_handle);
    if (watch->child > 0) fm_watch_look(watch);
    if (watch->child > 0 && (!watch->child_gone || watch->live_count > 0)) {
        fm_watch_kill(watch);
        /* It dies at once, unless it hangs in the kernel. */
        for (int tries = 0; tries < 500 && !watch->child_gone; tries++) {
            fm_watch_look(watch);
            if (!watch->child_gone) usleep(tries < 10 ? 1000 : 10000);
        }
    }
    if (watch->reaper) prctl(PR_SET_CHILD_SUBREAPER, 0);
    for (int i = 0; i < SIGNALS; i++)
        if (watched.set[i]) sigaction(numbers[i], &watched.before[i], NULL);
    atomic_store(&watched.wake, NULL);
    while (watch->live_count > 0) leave_process(watch, watch->live[0]);
    for (size_t i = 0; i < watch->found_count; i++) free(watch->found[i]);
    free(watch->found);
    free(watch->live);
    watch->begun = false;
    __atomic_store_n(&watched.taken, 0, __ATOMIC_SEQ_CST);
}

/* ---- how a process ended ---- */

void fm_wait_status_read(int status, int *exit_code, int *signal)
{
    *signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    *exit_code = *signal ? 0 : WEXITSTATUS(status);
}

bool fm_signal_is_crash(int number)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i] == number) return true;
    return false;
}
